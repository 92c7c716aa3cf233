"""
=======================================================================
Can a tree of joints correct the errors of single detectors? (TreeSSVM)
=======================================================================

An image contains one stick figure. For each joint, there are maps of two detectors, which cannot
distinguish right from left and also respond at wrong positions. :class:`sstruct.TreeSSVM` learns
from 60 figures the weight of each detector, and the typical position of each joint relative to its
parent in the tree of the body.
"""

import matplotlib.pyplot as plt

from sstruct import TreeSSVM
from sstruct.datasets import make_stick_figures
from sstruct.metrics import mean_joint_distance

figures = make_stick_figures(100, random_state=0)
X, y, parents = figures.data, figures.target, figures.parents
X_test, y_test = X[60:], y[60:]

# %%
# The certificate bounds the distance of the fit from the optimum. Without the tree, each joint is
# placed at the highest response of its detectors.

model = TreeSSVM(parents=parents, lam=1e-3, random_state=0).fit(X[:60], y[:60])
print(f"{model.inference_}, relative gap {model.dual_gap_ / model.objective_:.3f}")
predictions = {
    "highest responses": [
        x["features"].mean(axis=-1).reshape(len(parents), -1).argmax(axis=1) for x in X_test
    ],
    "tree of joints": model.predict(X_test),
}

# %%
# Three test figures: the image, the response of the detector of the right hand, and the predicted
# joints.


def draw_skeleton(ax, states, size):
    """Draw the joints and the edges between them."""
    x, y = states % size, states // size
    for joint, parent in enumerate(parents):
        if parent >= 0:
            ax.plot(x[[joint, parent]], y[[joint, parent]], "-", color="tab:orange", linewidth=1.5)
    ax.plot(x, y, "o", color="tab:red", markersize=3)


size, hand = figures.images.shape[1], figures.joint_names.index("right hand")
fig, axes = plt.subplots(3, 4, figsize=(9, 7), layout="constrained")
for row, ax_row in enumerate(axes):
    image = figures.images[60 + row]
    ax_row[0].imshow(image, cmap="gray_r")
    ax_row[1].imshow(X_test[row]["features"][hand].mean(axis=-1), cmap="viridis")
    at = y_test[row][hand]
    ax_row[1].plot(at % size, at // size, "o", markersize=9, color="white", markerfacecolor="none")
    for ax, states in zip(ax_row[2:], predictions.values()):
        ax.imshow(image, cmap="gray_r", alpha=0.35)
        draw_skeleton(ax, states[row], size)
axes[0, 0].set_title("figure")
axes[0, 1].set_title("detector of the right hand\n(circle: true position)")
for ax, (name, states) in zip(axes[0, 2:], predictions.items()):
    # Distances are in units of the scale, a tenth of the image.
    pixels = mean_joint_distance(X_test, y_test, states) * X[0]["scale"]
    ax.set_title(f"{name}\n{pixels:.1f} pixels mean error")
for ax in axes.ravel():
    ax.set(xticks=[], yticks=[], xlim=(-0.5, size - 0.5), ylim=(size - 0.5, -0.5))
plt.show()
