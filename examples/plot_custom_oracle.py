"""
================================================
How do I train a structure of my own: a ranking?
================================================

A query lists documents, of which some matter more than others; the model is to put them into
order. There are as many rankings as permutations, but for a linear score of documents the best
one is found by sorting, also after the loss is added: all that a structured SVM needs to know.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment

from sstruct import StructuredSVM


class Ranking:
    """x: documents (m, d); a labeling: the rank of each, 0 the best."""

    def gains(self, m):
        return 1 / np.log2(2 + np.arange(m))

    def joint_feature(self, x, y):
        return self.gains(len(x))[list(y)] @ x

    def loss(self, y_true, y):
        """How much discounted gain is lost, as a share of the largest possible loss."""
        gain, relevance = self.gains(len(y)), self.gains(len(y))[list(y_true)]
        best, worst = np.sort(gain) @ np.sort(relevance), np.sort(gain) @ np.sort(relevance)[::-1]
        return float(max(best - gain[list(y)] @ relevance, 0) / (best - worst))

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        gain, value = self.gains(len(x)), x @ w
        if y_true is not None:
            relevance = gain[list(y_true)]
            spread = np.sort(gain) @ np.sort(relevance) - np.sort(gain) @ np.sort(relevance)[::-1]
            value = value - loss_weight * relevance / spread
        # Score and loss are sums over documents of gain times value: an assignment.
        _, ranks = linear_sum_assignment(np.outer(value, gain), maximize=True)
        return tuple(int(rank) for rank in ranks)


# %%
# Queries of six documents with eight features, ranked by a hidden score with noise.

rng = np.random.default_rng(0)
hidden = rng.standard_normal(8)
X = [rng.standard_normal((6, 8)) for _ in range(160)]
y = [tuple(np.argsort(np.argsort(-(x @ hidden + rng.standard_normal(6))))) for x in X]

sizes, scores, models = [5, 10, 20, 40, 80], [], []
for size in sizes:
    models.append(StructuredSVM(Ranking(), lam=0.1, tol=0.02, random_state=0))
    models[-1].fit(X[:size], y[:size])
    scores.append(models[-1].score(X[80:], y[80:]))
bound = np.mean(
    [1 - Ranking().loss(b, Ranking().argmax(a, hidden)) for a, b in zip(X[80:], y[80:])]
)

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.plot(sizes, scores, "o-", label="learned")
ax.axhline(bound, color="grey", linestyle="--", label="the hidden score itself")
ax.set(xlabel="Queries to learn from", ylabel="1 - mean loss on 80 others", xscale="log")
ax.set_ylim(0.8, 0.9)
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.set_title(f"Rankings: {models[-1].status_} after {models[-1].n_oracle_calls_} oracle calls")
ax.spines[["top", "right"]].set_visible(False)
ax.legend()
plt.show()

# %%
# Three short methods are enough: from some ten queries on the learned order is about as good as
# the noise allows, and the fit says how far from its optimum it stopped.
