"""
Segment photographs by superpixels
==================================

At the end of this page you have a model that cuts flowers out of a noisy
photograph, and its answer for pictures that it has not seen, pixel by
pixel.

A photograph has many pixels, so it is first cut into small regions of
similar color, called superpixels. They are the :term:`nodes <node>` of
a graph, and an :term:`edge` joins two that touch.
:class:`~sstruct.GraphCRFSSVM` labels all nodes of a graph together.
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
# The flowers are where the clean picture has more red than blue.
redder = gaussian_filter(photograph[..., 0] - photograph[..., 2], 1) > 0.15
truth = np.where(binary_fill_holes(redder), "flower", "ground")
noisy = photograph + np.random.default_rng(0).normal(size=photograph.shape)

# Eight tiles, column by column: four on the left to learn from, four on
# the right to be labeled.
tiles = [np.s_[r : r + 71, c : c + 53] for c in range(0, 212, 53) for r in (0, 71)]
images, masks = ([noisy[tile] for tile in tiles], [truth[tile] for tile in tiles])
print(len(images), "images of shape", images[0].shape)

# %%
# Cut each image into superpixels
# -------------------------------
#
# Any array of integers, one number for each region, will do.
# ``skimage.segmentation.slic`` of scikit-image makes them; where that is
# not installed, k-means on places and colors does nearly the same.


def cut(image, n_segments=150):
    """Number the superpixels: near pixels of similar color."""
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
# Make graphs of them
# -------------------
#
# :func:`~sstruct.preprocessing.superpixel_graph` returns what the
# estimator takes as a :term:`sample`: the mean color of each
# superpixel, which of them touch, features of these edges (length of the
# border, and how alike the colors are), and how many pixels each
# superpixel has. :func:`~sstruct.preprocessing.superpixel_labels` gives
# each superpixel the label that most of its pixels have.

X = [superpixel_graph(image, cuts) for image, cuts in zip(images, segments)]
y = [superpixel_labels(cuts, mask) for cuts, mask in zip(segments, masks)]
node_features, edges, edge_features, node_sizes = X[0]
print(f"{len(node_features)} nodes, {len(edges)} edges")
print("labels:", *y[4][:5])

# %%
# Fit, with and without neighbors
# --------------------------------
#
# ``pairwise="contrast"`` learns how much it costs when neighbors
# differ, the more so where their colors are alike. ``pairwise=0.0``
# leaves the neighbors out.

models = {
    "each region alone": GraphCRFSSVM(pairwise=0.0, random_state=0),
    "with neighbors": GraphCRFSSVM(pairwise="contrast", random_state=0),
}
for name, model in models.items():
    model.fit(X[:4], y[:4])
    print(f"{name}: {model.inference_}, {model.status_}")

# %%
# ``inference_`` says how the best labels of a graph are found, and
# whether that is exact: for two labels whose neighbors attract each
# other it is, by a minimum cut. ``CONVERGED`` means that no other
# weights can be much better on the training data, where "much" is the
# parameter ``tol``.
#
# Look at the other half
# ----------------------
#
# :func:`~sstruct.preprocessing.pixel_labels` takes the labels of
# superpixels back to pixels.


def join(parts):
    """Put the four tiles of a half together."""
    return np.vstack([np.hstack(parts[0::2]), np.hstack(parts[1::2])])


found = {}
for name, model in models.items():
    labels = model.predict(X[4:])
    found[name] = join(
        [pixel_labels(cuts, part) for cuts, part in zip(segments[4:], labels)]
    )
    right = (found[name] == join(masks[4:])).mean()
    print(f"{name}: {100 * right:.1f} % of the pixels are right")

SegmentationDisplay.from_predictions(
    join(masks[4:]),
    found,
    image=np.clip(join(images[4:]), 0, 1),
    classes=["ground", "flower"],
)
plt.show()

# %%
# Yellow is flower. Neighbors mend most of what a region alone gets wrong. What is
# left lies mostly along borders, where the superpixels themselves are not exact,
# and in the small flower at the lower right, which its neighbors outvote.
#
# Where to go from here: :class:`~sstruct.GridCRFSSVM` labels each pixel
# and needs no superpixels
# (:ref:`sphx_glr_gallery_plot_segmentation.py`); with more than two
# labels the model is the same; :doc:`/how_to/class_imbalance` if one
# label is rare, :doc:`/how_to/memory` for many images.
