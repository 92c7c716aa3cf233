"""
Train a model of rankings
=========================

At the end of this page you have a model of a structure that the package
does not have, in 60 lines. The same steps serve matchings, parse trees or
routes.

A query lists documents, of which some matter more than others; the model
puts them into order. There are as many rankings as permutations. But if
each document has a score, the best ranking is found without trying them
all, and that is what a structured SVM needs.
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
# What the model predicts is called a :term:`labeling`; here it is a
# tuple with the rank of each document, 0 the best.
# :class:`~sstruct.StructuredSVM` takes an object with three methods:
#
# * ``joint_feature(x, y)`` describes a sample and a labeling together by
#   a vector; its product with the weights is the score of the labeling;
# * ``loss(y_true, y)`` says how wrong a labeling is, 0 for the true one;
# * ``argmax(x, w, y_true, loss_weight)`` returns the labeling of the
#   highest score; in training, where ``y_true`` is given, the highest
#   sum of score and ``loss_weight`` times loss. This is the
#   :term:`max-oracle`.


def gains(m):
    """Gain of the ranks 0 to m - 1, as search engines are judged by."""
    return 1 / np.log2(2 + np.arange(m))


class Ranking:
    """x: documents (m, d); a labeling: the rank of each, 0 the best."""

    def joint_feature(self, x, y):
        return gains(len(x))[list(y)] @ x

    def loss(self, y_true, y):
        """Gain that is lost, as a share of what the worst ranking loses."""
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
# Check the max-oracle on something small
# ---------------------------------------
#
# The certificate of a fit rests on ``argmax`` being right. Five
# documents have 120 rankings, few enough to try them all.

oracle, rng = Ranking(), np.random.default_rng(0)
for _ in range(20):
    x, w = rng.standard_normal((5, 3)), rng.standard_normal(3)
    y_true = tuple(rng.permutation(5))

    def value(y, x=x, w=w, y_true=y_true):
        return w @ oracle.joint_feature(x, y) + oracle.loss(y_true, y)

    assert np.isclose(
        value(oracle.argmax(x, w, y_true)), max(map(value, permutations(range(5))))
    )
print("20 times the best of 120")

# %%
# Fit
# ---
#
# The data: queries of six documents with eight features each, ranked by
# a hidden score with noise. X and y are lists of whatever the three
# methods take.

hidden = rng.standard_normal(8)
X = [rng.standard_normal((6, 8)) for _ in range(580)]
y = [
    tuple(np.argsort(np.argsort(-(x @ hidden + rng.standard_normal(6))))) for x in X
]

model = StructuredSVM(Ranking(), lam=0.1, random_state=0).fit(X[:80], y[:80])
print("predicted:", model.predict(X[80:81])[0], " true:", tuple(map(int, y[80])))
print(f"{model.status_} after {model.n_oracle_calls_} calls of argmax")
print(f"relative gap {model.dual_gap_ / model.objective_:.4f}")
print(f"1 - mean loss of 500 new queries: {model.score(X[80:], y[80:]):.3f}")

# %%
# Everything else is as with other estimators: ``GridSearchCV``,
# ``clone``, pickles, ``n_jobs`` for several processes. What the methods
# return is checked, and errors name the sample and the call.
#
# How many samples does it take?
# ------------------------------
#
# Fits of a few queries vary with the queries. So the 80 queries are cut
# into parts of 5, of 10 and so on, and each part trains a model.


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
ax.axhline(1 - noise, color="grey", linestyle="--", label="the hidden score itself")
ax.set(
    xlabel="queries to learn from", ylabel="score of 500 new queries", xscale="log",
    ylim=(0.4, 1),
)  # fmt: skip
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.spines[["top", "right"]].set_visible(False)
ax.legend()
plt.show()

# %%
# A random order scores 0.4, where the axis begins. From twenty queries
# on the learned order is nearly as good as the noise allows.
#
# Where to go from here: :doc:`/how_to/own_oracle` for sparse features,
# several processes and slack rescaling; :doc:`/how_to/compiled_oracle`
# if Python is too slow; :doc:`/how_to/cluster` if one machine is.
