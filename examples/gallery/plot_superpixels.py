"""
==============================================
Segment an image by superpixels (GraphCRFSSVM)
==============================================

Superpixels are small regions of similar color. They are the nodes of a graph, and adjacent ones are
connected. The image is a generated map of three kinds of land whose colors overlap, so a single
superpixel is ambiguous. A GraphCRFSSVM also learns which kinds of land are neighbors, depending on
the contrast and the length of the border. Four maps are used for training, and one for testing.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.cluster import KMeans

from sstruct import GraphCRFSSVM
from sstruct.plotting import SegmentationDisplay
from sstruct.preprocessing import pixel_labels, superpixel_graph, superpixel_labels

KINDS = ["field", "forest", "water"]
COLORS = np.array([[0.75, 0.7, 0.35], [0.45, 0.6, 0.35], [0.4, 0.55, 0.65]])
rng = np.random.default_rng(0)


def land(size=96):
    """Return the kind of land of each pixel, and a noisy picture of it."""
    kinds = gaussian_filter(rng.normal(size=(3, size, size)), (0, 12, 12)).argmax(axis=0)
    spots = gaussian_filter(rng.normal(size=(size, size, 3)), (2, 2, 0))
    return kinds, np.clip(COLORS[kinds] + 0.9 * spots + rng.normal(0, 0.05, spots.shape), 0, 1)


def superpixels(picture, n=200):
    """Return the superpixel of each pixel: clusters of positions and colors."""
    places = np.stack(np.mgrid[: len(picture), : len(picture)], axis=-1) * np.sqrt(n) / len(picture)
    pixels = np.concatenate([places, 4 * picture], axis=-1).reshape(-1, 5)
    start = pixels[rng.choice(len(pixels), n, replace=False)]
    clusters = KMeans(n, init=start, n_init=1, max_iter=5).fit_predict(pixels)
    return clusters.reshape(picture.shape[:2])


maps = [land() for _ in range(5)]
regions = [superpixels(picture) for _, picture in maps]
X = [superpixel_graph(picture, cuts) for (_, picture), cuts in zip(maps, regions)]
y = [superpixel_labels(cuts, kinds) for (kinds, _), cuts in zip(maps, regions)]
print(f"{len(X[0][0])} superpixels, {len(X[0][1])} pairs of neighbors")

# %%
# ``pairwise=0.0`` ignores the neighbors.

truth, picture = maps[4]
predictions, scores = {}, {}
for name, pairwise in {"single superpixels": 0.0, "graph": "contrast"}.items():
    model = GraphCRFSSVM(pairwise=pairwise, random_state=0).fit(X[:4], y[:4])
    predictions[name] = pixel_labels(regions[4], model.predict(X[4:])[0])
    scores[name] = (predictions[name] == truth).mean()
    print(f"{name}: {100 * scores[name]:.1f} % of the pixels are correct, {model.inference_}")

SegmentationDisplay.from_predictions(truth, predictions, image=picture, classes=range(3))
plt.show()

# %%
# For photographs, compute superpixels with scikit-image (``skimage.segmentation.slic``), as in
# :doc:`/tutorials/plot_segment_photographs`. :doc:`/how_to/images` describes the formats.
