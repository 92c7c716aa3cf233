"""
Predict sets of labels that depend on each other
================================================

This tutorial trains two models of the tags of photographs: one learns
which tags occur together, and one knows which tag is a subclass of
which. Both predict any number of tags per photograph.

Independent classifiers of the tags ignore that a beach often occurs with
the sea, and that in these data a car never occurs with a bus.
:class:`~sstruct.MultilabelSSVM` learns weights of pairs of tags, and
predicts the best set.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import f1_score

from sstruct import MultilabelSSVM
from sstruct.preprocessing import hierarchical_labels

names = "beach sea boat sun snow ski ice fir street car bus night".split()
scene = np.repeat(["coast", "winter", "town"], 4)  # the scene of each tag
K, rng = len(names), np.random.default_rng(0)


def photographs(n):
    """Return noisy evidence of each tag, and the tags, of up to three scenes."""
    shown = np.repeat(rng.random((n, 3)) < 0.35, 4, axis=1)
    chance = np.where(shown, 0.95, 0.02)
    Y = (rng.random((n, K)) < chance).astype(int)
    # Car and bus exclude each other: if both occur, a random one is removed.
    # Each row of the permuted array is (9, 10) or (10, 9).
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
# X and Y have the format of multilabel problems in scikit-learn: a row of
# features and a row of zeros and ones for each :term:`sample`. Each label
# is a :term:`node`, and each pair with weights is an :term:`edge`.
# ``edges`` defines these pairs: None, all of them (``"full"``), a tree of
# the most informative pairs (``"tree"``), or an array of pairs. It also
# accepts a hierarchy (see below). With ``pairwise="full"``, a pair has a
# weight for each of its four outcomes.

models = {
    "independent": MultilabelSSVM(edges=None, random_state=0),
    "pairs": MultilabelSSVM(edges="full", pairwise="full", random_state=0),
}
for name, model in models.items():
    Y_pred = model.fit(X, Y).predict(X_test)
    f1 = f1_score(Y_test, Y_pred, average="micro")
    score = model.score(X_test, Y_test)
    print(f"{name}: micro-F1 {f1:.3f}, score {score:.3f}")
    print("   decoder:", model.inference_)

# %%
# ``score`` is the fraction of sets in which all twelve labels are
# correct. ``inference_`` describes the decoder. For at most 20 labels, all
# sets are enumerated, which is exact. For more labels, ``edges="full"``
# uses a relaxation, which is not exact; ``edges="tree"`` is exact for any
# number of labels.
#
# A hierarchy
# -----------
#
# If labels have a known hierarchy, each label implies all of its
# ancestors. The hierarchy can be encoded in names with dots:
# :func:`~sstruct.preprocessing.hierarchical_labels` adds the ancestors
# and returns the parent of each label (-1 for roots), in the format that
# ``edges`` accepts.

paths = [f"{where}.{name}" for where, name in zip(scene, names)]
Y_tree, all_names, parents = hierarchical_labels(Y, paths)
print("added:", *all_names[K:])
print("parents:", *parents)

tree = MultilabelSSVM(edges=parents, random_state=0).fit(X, Y_tree)
Y_tree_pred = tree.predict(X_test)
broken = Y_tree_pred[:, :K] > Y_tree_pred[:, parents[:K]]
print(f"{tree.inference_}; labels without their parent: {broken.sum()}")

# %%
# All predicted sets agree with the hierarchy. Parents can also be passed
# directly: ``edges=[2, 2, -1]`` makes label 2 the parent of labels 0 and 1.
#
# Learned interactions
# --------------------
#
# The interaction of two labels is the sum of the weights for equal values
# minus the sum of the weights for different values: labels attract each
# other if it is positive, and repel each other if it is negative. The
# color scale is limited to 0.3, since the interaction of car and bus is
# much larger than the others.

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
predictions["hierarchy"] = Y_tree_pred[:, :K]
scores = [
    100 * (Y_found == Y_test).all(axis=1).mean() for Y_found in predictions.values()
]
bars = right.bar(list(predictions), scores, color=["0.7", "tab:blue", "tab:orange"])
right.bar_label(bars, fmt="%.0f")
right.set_title("Test photographs with\nall tags correct (%)")
right.set(ylim=(0, 100))
right.tick_params(axis="x", rotation=90)
right.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The three scenes are visible as three blocks of tags that attract each
# other. Car and bus, which exclude each other, repel each other. The
# hierarchy has no weight for that pair, but its predictions are always
# consistent.
#
# See :doc:`/how_to/class_imbalance` for rare labels and
# :doc:`/how_to/read_weights` for names of weights.
