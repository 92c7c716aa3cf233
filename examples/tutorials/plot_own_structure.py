"""
Train a model of rankings
=========================

This tutorial trains a model of a structure that the package does not
contain, in 60 lines. The same steps apply to matchings, parse trees or
routes.

A query has documents of different relevance; the model ranks them. The
number of rankings is exponential. But if each document has a score, the
best ranking can be computed without enumeration, which is the
requirement for a structured SVM.
"""

from itertools import permutations

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment

from sstruct import StructuredSVM

# %%
# Write three methods
# -------------------
#
# The prediction for a sample is called a :term:`labeling`; here it is a
# tuple with the rank of each document, 0 for the best.
# :class:`~sstruct.StructuredSVM` requires an object with three methods:
#
# * ``joint_feature(x, y)`` returns a feature vector of a sample and a
#   labeling; its product with the weights is the score of the labeling;
# * ``loss(y_true, y)`` returns the cost of a labeling, 0 for the true one;
# * ``argmax(x, w, y_true, loss_weight)`` returns the labeling with the
#   highest score or, if ``y_true`` is given (in training), the highest
#   sum of the score and ``loss_weight`` times the loss. This is the
#   :term:`max-oracle`.


def gains(m):
    """Return the gains of ranks 0 to m - 1, as in the NDCG score."""
    return 1 / np.log2(2 + np.arange(m))


class Ranking:
    """Samples are documents (m, d); labelings are their ranks, 0 for the best."""

    def joint_feature(self, x, y):
        return gains(len(x))[list(y)] @ x

    def loss(self, y_true, y):
        """Return the lost gain, divided by the lost gain of the worst ranking."""
        gain, relevance = gains(len(y)), gains(len(y))[list(y_true)]
        lost = (relevance - gain[list(y)]) @ relevance
        return float(max(lost, 0) / self.worst(gain))

    def worst(self, gain):
        return gain @ gain - gain @ gain[::-1]

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        gain, value = gains(len(x)), x @ w
        if y_true is not None:
            value = value - loss_weight * gain[list(y_true)] / self.worst(gain)
        # Score and loss are sums of gain times value: an assignment problem.
        _, ranks = linear_sum_assignment(np.outer(value, gain), maximize=True)
        return tuple(int(rank) for rank in ranks)


# %%
# Test the max-oracle
# -------------------
#
# The certificate of a fit is only valid if ``argmax`` is correct. Five
# documents have 120 rankings, which can be enumerated.

oracle, rng = Ranking(), np.random.default_rng(0)
for _ in range(20):
    x, w = rng.standard_normal((5, 3)), rng.standard_normal(3)
    y_true = tuple(rng.permutation(5))

    def value(y, x=x, w=w, y_true=y_true):
        return w @ oracle.joint_feature(x, y) + oracle.loss(y_true, y)

    assert np.isclose(
        value(oracle.argmax(x, w, y_true)), max(map(value, permutations(range(5))))
    )
print("correct in 20 of 20 cases")

# %%
# Fit
# ---
#
# The data are queries of six documents with eight features each, ranked
# by a hidden score with noise. X and y are lists of arguments of the
# three methods.

hidden = rng.standard_normal(8)
X = [rng.standard_normal((6, 8)) for _ in range(580)]
y = [
    tuple(np.argsort(np.argsort(-(x @ hidden + rng.standard_normal(6))))) for x in X
]

model = StructuredSVM(Ranking(), lam=0.1, random_state=0).fit(X[:80], y[:80])
print("predicted:", model.predict(X[80:81])[0], " true:", tuple(map(int, y[80])))
print(f"{model.status_} after {model.n_oracle_calls_} calls of argmax")
print(f"relative gap {model.dual_gap_ / model.objective_:.4f}")
print(f"1 - mean loss of 500 test queries: {model.score(X[80:], y[80:]):.3f}")

# %%
# ``GridSearchCV``, ``clone``, pickles and ``n_jobs``, for several
# processes, are supported as for other estimators. The results of the
# methods are validated, and errors name the sample and the method.
#
# Learning curve
# --------------
#
# The scores of fits with few queries vary. Therefore, the 80 queries are
# split into parts of 5, 10 and more queries, and a model is trained on
# each part.


def score_of_part(first, size):
    part = slice(first, first + size)
    fitted = StructuredSVM(Ranking(), lam=0.1, tol=0.02, random_state=0)
    return fitted.fit(X[part], y[part]).score(X[80:], y[80:])


sizes = [5, 10, 20, 40, 80]
parts = [
    [score_of_part(first, size) for first in range(0, 80, size)] for size in sizes
]
scores = [np.mean(of_size) for of_size in parts]
noise = np.mean(
    [oracle.loss(b, oracle.argmax(a, hidden)) for a, b in zip(X[80:], y[80:])]
)

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for size, of_size in zip(sizes, parts):
    ax.plot([size] * len(of_size), of_size, "o", color="tab:blue", alpha=0.3)
ax.plot(sizes, scores, "o-", color="tab:blue", label="learned (mean of the dots)")
ax.axhline(1 - noise, color="grey", linestyle="--", label="hidden score")
ax.set(
    xlabel="training queries", ylabel="score of 500 test queries", xscale="log",
    ylim=(0.4, 1),
)  # fmt: skip
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.spines[["top", "right"]].set_visible(False)
ax.legend()
plt.show()

# %%
# Random rankings have a score of 0.4, the lower end of the axis. With 20
# or more queries, the model is nearly as good as the hidden score, which
# is limited by the noise.
#
# See :doc:`/how_to/own_oracle` for sparse features, several processes and
# slack rescaling, :doc:`/how_to/compiled_oracle` for faster oracles in
# compiled code, and :doc:`/how_to/cluster` for several machines.
