"""
Segment photographs by superpixels
==================================

This tutorial trains a model that segments flowers in a noisy photograph,
and predicts a label for each pixel of unseen images.

A photograph has many pixels, so it is first divided into small regions of
similar color, called superpixels. They are the :term:`nodes <node>` of a
graph, and an :term:`edge` connects two adjacent superpixels.
:class:`~sstruct.GraphCRFSSVM` predicts the labels of all nodes of a graph
jointly.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import binary_fill_holes, gaussian_filter
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image

from sstruct import GraphCRFSSVM
from sstruct.plotting import SegmentationDisplay
from sstruct.preprocessing import pixel_labels, superpixel_graph, superpixel_labels

photograph = load_sample_image("flower.jpg")[::3, ::3] / 255.0
# The flowers have more red than blue in the picture without noise.
redder = gaussian_filter(photograph[..., 0] - photograph[..., 2], 1) > 0.15
truth = np.where(binary_fill_holes(redder), "flower", "ground")
noisy = photograph + np.random.default_rng(0).normal(size=photograph.shape)

# Eight tiles, column by column: four on the left for training, four on
# the right for testing.
tiles = [np.s_[r : r + 71, c : c + 53] for c in range(0, 212, 53) for r in (0, 71)]
images, masks = ([noisy[tile] for tile in tiles], [truth[tile] for tile in tiles])
print(len(images), "images of shape", images[0].shape)

# %%
# Compute superpixels
# -------------------
#
# Superpixels are an array with an integer per pixel, the number of its
# region, for example the result of ``skimage.segmentation.slic``. Without
# scikit-image, k-means clustering of positions and colors is similar.


def cut(image, n_segments=150):
    """Return the superpixel of each pixel."""
    height, width, _ = image.shape
    side = np.sqrt(height * width / n_segments)
    places = np.stack(np.mgrid[:height, :width], axis=-1) / side
    colors = 8 * gaussian_filter(image, (2, 2, 0))
    pixels = np.concatenate([places, colors], axis=-1)
    # Start from a regular grid of pixels.
    rows, columns = (
        np.arange(side / 2, length, side).astype(int) for length in (height, width)
    )
    start = pixels[np.ix_(rows, columns)].reshape(-1, pixels.shape[-1])
    clusters = KMeans(len(start), init=start, n_init=1, max_iter=5)
    return clusters.fit_predict(pixels.reshape(-1, pixels.shape[-1])).reshape(
        height, width
    )


segments = [cut(image) for image in images]

# %%
# Convert superpixels to graphs
# -----------------------------
#
# :func:`~sstruct.preprocessing.superpixel_graph` returns a
# :term:`sample` of the estimator: the mean color of each superpixel, the
# edges between adjacent superpixels, the features of these edges (length
# of the border and similarity of the colors), and the number of pixels of
# each superpixel. :func:`~sstruct.preprocessing.superpixel_labels`
# returns the most frequent label of the pixels of each superpixel.

X = [superpixel_graph(image, cuts) for image, cuts in zip(images, segments)]
y = [superpixel_labels(cuts, mask) for cuts, mask in zip(segments, masks)]
node_features, edges, edge_features, node_sizes = X[0]
print(f"{len(node_features)} nodes, {len(edges)} edges")
print("labels:", *y[4][:5])

# %%
# Fit, with and without neighbors
# --------------------------------
#
# ``pairwise="contrast"`` learns the cost of different labels of
# neighbors, depending on the similarity of their colors.
# ``pairwise=0.0`` ignores the neighbors.

models = {
    "independent": GraphCRFSSVM(pairwise=0.0, random_state=0),
    "with neighbors": GraphCRFSSVM(pairwise="contrast", random_state=0),
}
for name, model in models.items():
    model.fit(X[:4], y[:4])
    print(f"{name}: {model.inference_}, {model.status_}")

# %%
# ``inference_`` describes the decoder. With two labels and attractive
# pairwise weights, minimum cuts are exact. ``CONVERGED`` means that the
# objective is within the relative tolerance ``tol`` of its optimum.
#
# Predict the other half
# ----------------------
#
# :func:`~sstruct.preprocessing.pixel_labels` converts labels of
# superpixels to labels of pixels.


def join(parts):
    """Return a half of the image from its four tiles."""
    return np.vstack([np.hstack(parts[0::2]), np.hstack(parts[1::2])])


predictions = {}
for name, model in models.items():
    labels = model.predict(X[4:])
    predictions[name] = join(
        [pixel_labels(cuts, part) for cuts, part in zip(segments[4:], labels)]
    )
    right = (predictions[name] == join(masks[4:])).mean()
    print(f"{name}: {100 * right:.1f} % of the pixels are correct")

SegmentationDisplay.from_predictions(
    join(masks[4:]),
    predictions,
    image=np.clip(join(images[4:]), 0, 1),
    classes=["ground", "flower"],
)
plt.show()

# %%
# The flower is yellow. Smoothing over neighbors corrects most of the
# errors of independent predictions. The remaining errors are mostly along
# borders, where the superpixels are not exact, and in the small flower at
# the lower right, which is smoothed away.
#
# :class:`~sstruct.GridCRFSSVM` labels pixels directly, without superpixels
# (:ref:`sphx_glr_gallery_plot_segmentation.py`). The code is the same for
# more than two labels. See :doc:`/how_to/class_imbalance` if one label is
# rare, and :doc:`/how_to/memory` for many images.
