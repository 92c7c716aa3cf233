"""
============================
Which labels come together?
============================

Photographs have tags, and tags depend on each other: a beach often comes with the sea and never
with snow. Here twelve tags are drawn from three kinds of scenes, and the features are noisy. A
model of all pairs of tags learns which of them come together.
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
    # Car and bus exclude each other: where both were drawn, one of them goes.
    first, second = rng.permuted(np.tile([9, 10], (n, 1)), axis=1).T
    Y[np.arange(n), first] &= 1 - Y[np.arange(n), second]
    return Y + rng.normal(scale=1.0, size=Y.shape), Y


X, Y = photographs(1500)
X_test, Y_test = photographs(1500)

alone = MultilabelSSVM(edges=None, lam=0.001, random_state=0).fit(X, Y)
together = MultilabelSSVM(edges="full", pairwise="full", lam=0.001, random_state=0).fit(X, Y)

# %%
# A pair of labels has a weight for each of its four outcomes. The weights where the two labels
# agree, minus those where they differ, are the interaction: positive attracts, negative repels.

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
models = {"each alone": alone, "together": together}
scores = [100 * f1_score(Y_test, m.predict(X_test), average="micro") for m in models.values()]
bars = right.bar(list(models), scores, color=["0.7", "tab:blue"])
right.bar_label(bars, fmt="%.1f")
right.set(title="New photographs", ylabel="micro-F1 (%)", ylim=(0, 100))
right.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The three scenes show as three blocks, and car and bus, which exclude each other, as the darkest
# pair. Sets that are right in all twelve labels are more frequent than where each label is decided
# by itself:

for name, model in models.items():
    print(f"{name}: {100 * model.score(X_test, Y_test):.0f} % of all sets are right")
