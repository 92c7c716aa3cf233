"""Features of the pixels, superpixels and edges of images.

The features of a pixel of a photograph are its color, the mean and standard deviation of colors in
two windows, and its place. A fixed random expansion (Nystroem) of these features allows a linear
model to predict curved borders. Superpixels are clusters of neighboring pixels of similar colors.
"""

import numpy as np
from scipy.ndimage import uniform_filter
from sklearn.cluster import KMeans
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sstruct import preprocessing
from sstruct._problems.graph.grid_edges import grid_edges

WINDOWS = (5, 15)
# Weight of place relative to color in superpixels, in units of their side.
COMPACTNESS = 0.15


def describe(image):
    """Return (height, width, 17) features of the pixels of an RGB image."""
    colors = image / 255.0
    height, width = image.shape[:2]
    rows, columns = np.meshgrid(
        np.linspace(-1, 1, height), np.linspace(-1, 1, width), indexing="ij"
    )
    layers = [colors, rows[..., None], columns[..., None]]
    for side in WINDOWS:
        mean = uniform_filter(colors, (side, side, 1))
        square = uniform_filter(colors**2, (side, side, 1))
        layers += [mean, np.sqrt(np.maximum(square - mean**2, 0))]
    return np.concatenate(layers, axis=-1)


def expansion(images, n_components=100, n_pixels=20_000, random_state=0):
    """Fit a random expansion of pixel features on a sample of the pixels of `images`."""
    rng = np.random.default_rng(random_state)
    pixels = np.vstack([describe(image).reshape(-1, 17) for image in images])
    pixels = pixels[rng.permutation(len(pixels))[:n_pixels]]
    steps = make_pipeline(
        StandardScaler(),
        Nystroem(gamma=0.03, n_components=n_components, random_state=random_state),
    )
    return steps.fit(pixels)


def expanded(image, steps):
    """Return (height, width, n_components) expanded features of the pixels of an image."""
    raw = describe(image)
    return steps.transform(raw.reshape(-1, raw.shape[-1])).reshape(*image.shape[:2], -1)


def superpixels(image, side=8):
    """Cut an image into clusters of about side x side pixels; return (height, width) indices."""
    height, width = image.shape[:2]
    rows, columns = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    points = np.dstack(
        [image / 255.0, COMPACTNESS * rows / side, COMPACTNESS * columns / side]
    ).reshape(-1, 5)
    centers = points.reshape(height, width, 5)[side // 2 :: side, side // 2 :: side].reshape(-1, 5)
    found = KMeans(len(centers), init=centers, n_init=1, max_iter=5).fit(points).labels_
    return np.unique(found, return_inverse=True)[1].reshape(height, width)


def superpixel_graph(image, regions, features):
    """Return the graph of superpixels described by means of `features`, (height, width, F)."""
    return preprocessing.superpixel_graph(image, regions, features=features)


def snake_graph(image):
    """Return nodes, edges and edge features of a picture of the snakes.

    Node features: one of five colors; edge features: direction (right, down) times the colors at
    both ends.
    """
    height, width = image.shape[:2]
    # Colors are pure, so that the sum of powers of two for their channels identifies a color.
    codes = (image.reshape(-1, 3) > 127) @ np.array([4, 2, 1])
    colors = (codes[:, None] == np.array([1, 2, 3, 4, 6])).astype(float)
    edges = grid_edges(height, width)
    right = np.arange(len(edges)) < height * (width - 1)
    direction = np.stack([right, ~right], axis=1).astype(float)
    ends = colors[edges[:, 0], :, None] * colors[edges[:, 1], None, :]
    features = direction[:, :, None, None] * ends[:, None]
    return colors, edges, features.reshape(len(edges), -1)
