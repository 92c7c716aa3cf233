"""
============================
Which labels come together?
============================

Photographs carry tags, and tags come in company: where there is a beach there is often the sea, and
never snow. Here twelve tags are drawn from three kinds of scenes, features say only faintly which
of them are there, and a model of all pairs learns who comes with whom.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import f1_score

from sstruct import MultilabelSSVM

names = "beach sea boat sun snow ski ice fir street car bus night".split()
scene = np.repeat([0, 1, 2], 4)  # of each tag
K, rng = len(names), np.random.default_rng(0)


def photographs(n):
    """Noisy evidence of each tag, and the tags: mostly those of one scene."""
    of_photograph = rng.integers(3, size=n)
    chance = np.where(of_photograph[:, np.newaxis] == scene, 0.85, 0.01)
    Y = (rng.random((n, K)) < chance).astype(int)
    # Two tags of one scene that exclude each other: either may be the one that is left.
    first, second = rng.permuted(np.tile([9, 10], (n, 1)), axis=1).T
    Y[np.arange(n), first] &= 1 - Y[np.arange(n), second]
    return Y + rng.normal(scale=1.0, size=Y.shape), Y


X, Y = photographs(1500)
X_test, Y_test = photographs(1500)

alone = MultilabelSSVM(edges=None, lam=0.001, random_state=0).fit(X, Y)
together = MultilabelSSVM(edges="full", pairwise="full", lam=0.001, random_state=0).fit(X, Y)

# %%
# An edge has a weight for each of its four outcomes. What it adds if its labels agree, less what it
# adds if they differ, says whether they draw each other (above zero) or keep apart.

weights = np.zeros((K, K))
for (u, v), weight in zip(together.edges_, together.edge_coef_):
    weights[u, v] = weights[v, u] = weight[0, 0] + weight[1, 1] - weight[0, 1] - weight[1, 0]

fig, (left, right) = plt.subplots(
    ncols=2, figsize=(9, 4.5), width_ratios=[3, 1], layout="constrained"
)
limit = abs(weights).max()
image = left.imshow(weights, cmap="RdBu_r", vmin=-limit, vmax=limit)
left.set_xticks(range(K), names, rotation=90)
left.set_yticks(range(K), names)
left.set_title("Learned interactions")
fig.colorbar(image, ax=left, label="interaction")
scores = {"each alone": alone, "together": together}
right.bar(
    list(scores),
    [100 * f1_score(Y_test, m.predict(X_test), average="micro") for m in scores.values()],
    color=["0.7", "tab:blue"],
)
right.set(title="New photographs", ylabel="micro-F1 (%)", ylim=(50, 100))
right.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The three scenes are there as three blocks, and so is the pair that never comes together. Sets are
# right in all twelve labels more often than where each label is decided by itself:

for name, model in scores.items():
    print(f"{name}: {100 * model.score(X_test, Y_test):.0f} % of all sets are right")
