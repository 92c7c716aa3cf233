"""
Predict sets of labels that depend on each other
================================================

At the end of this page you have two models of the tags of photographs:
one that learns which tags come together, and one that knows which tag is
a kind of which. Both give a photograph any number of tags.

A classifier for each tag ignores that a beach often comes with the sea, and that
here a car never comes with a bus. :class:`~sstruct.MultilabelSSVM` learns a weight
for pairs of tags and decides on the set as a whole.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import f1_score

from sstruct import MultilabelSSVM
from sstruct.preprocessing import hierarchical_labels

names = "beach sea boat sun snow ski ice fir street car bus night".split()
scene = np.repeat(["coast", "winter", "town"], 4)  # of each tag
K, rng = len(names), np.random.default_rng(0)


def photographs(n):
    """Noisy evidence of each tag, and the tags of up to three scenes."""
    shown = np.repeat(rng.random((n, 3)) < 0.35, 4, axis=1)
    chance = np.where(shown, 0.95, 0.02)
    Y = (rng.random((n, K)) < chance).astype(int)
    # Car and bus exclude each other: if both occur, one of them, drawn anew for
    # each photograph, is removed. Each row of the permuted array is 9, 10 or 10, 9.
    first, second = rng.permuted(np.tile([9, 10], (n, 1)), axis=1).T
    Y[np.arange(n), first] &= 1 - Y[np.arange(n), second]
    return Y + rng.normal(scale=1.0, size=Y.shape), Y


X, Y = photographs(1500)
X_test, Y_test = photographs(1500)
print("X", X.shape, "Y", Y.shape)
print("first photograph:", *(name for name, on in zip(names, Y[0]) if on))

# %%
# Pairs of labels
# ---------------
#
# X and Y are what scikit-learn takes for multilabel problems: a row of
# features and a row of zeros and ones for each :term:`sample`. Each label
# is a :term:`node`, each pair with weights an :term:`edge`. ``edges`` says
# which pairs those are: None, all of them (``"full"``), a tree of the most
# informative pairs (``"tree"``), or pairs of your own. It also takes a
# hierarchy, further down. With ``pairwise="full"`` a pair has a weight for
# each of its four outcomes.

models = {
    "each alone": MultilabelSSVM(edges=None, random_state=0),
    "pairs": MultilabelSSVM(edges="full", pairwise="full", random_state=0),
}
for name, model in models.items():
    found = model.fit(X, Y).predict(X_test)
    f1 = f1_score(Y_test, found, average="micro")
    score = model.score(X_test, Y_test)
    print(f"{name}: micro-F1 {f1:.3f}, score {score:.3f}")
    print("   decoder:", model.inference_)

# %%
# ``score`` is strict: a set counts if all of its twelve labels are
# right. ``inference_`` says how the best set is found. Up to 20 labels
# all sets are looked at, which is exact. For more labels all pairs are
# decided by a relaxation, which is not; ``edges="tree"`` is exact for
# any number.
#
# A hierarchy
# -----------
#
# Sometimes it is known beforehand which label is a kind of which. A
# label then comes with all labels above it. Names with dots can say so:
# :func:`~sstruct.preprocessing.hierarchical_labels` adds the labels
# above and returns the parent of each label (-1: none), which is what
# ``edges`` takes.

paths = [f"{where}.{name}" for where, name in zip(scene, names)]
Y_tree, all_names, parents = hierarchical_labels(Y, paths)
print("added:", *all_names[K:])
print("parents:", *parents)

tree = MultilabelSSVM(edges=parents, random_state=0).fit(X, Y_tree)
found = tree.predict(X_test)
broken = found[:, :K] > found[:, parents[:K]]
print(f"{tree.inference_}; labels without their parent: {broken.sum()}")

# %%
# All predicted sets keep to the hierarchy. Your own parents work as
# well: ``edges=[2, 2, -1]`` puts labels 0 and 1 under label 2.
#
# What the pairs have learned
# ---------------------------
#
# The weights where the two labels agree, minus those where they differ,
# are the interaction: positive attracts, negative repels. That of car and
# bus is far larger than most, so colors end at 0.3 on either side.

weights = np.zeros((K, K))
for (u, v), weight in zip(models["pairs"].edges_, models["pairs"].edge_coef_):
    weights[u, v] = weights[v, u] = (
        weight[0, 0] + weight[1, 1] - weight[0, 1] - weight[1, 0]
    )

fig, (left, right) = plt.subplots(
    ncols=2, figsize=(8.5, 4.5), width_ratios=[2.5, 1], layout="constrained"
)
image = left.imshow(weights, cmap="RdBu_r", vmin=-0.3, vmax=0.3)
left.set_xticks(range(K), names, rotation=90)
left.set_yticks(range(K), names)
left.set_title("Learned interactions")
fig.colorbar(image, ax=left, extend="both")

predictions = {name: model.predict(X_test) for name, model in models.items()}
predictions["hierarchy"] = found[:, :K]
scores = [
    100 * (Y_found == Y_test).all(axis=1).mean() for Y_found in predictions.values()
]
bars = right.bar(list(predictions), scores, color=["0.7", "tab:blue", "tab:orange"])
right.bar_label(bars, fmt="%.0f")
right.set_title("New photographs with\nall tags right, in %")
right.set(ylim=(0, 100))
right.tick_params(axis="x", rotation=90)
right.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The three scenes show as three blocks of tags that attract each other;
# car and bus, which exclude each other, repel. The hierarchy knows
# nothing of that pair. What it adds is that its answers always fit
# together.
#
# Where to go from here: :doc:`/how_to/class_imbalance` for rare labels,
# :doc:`/how_to/read_weights` for names of weights.
