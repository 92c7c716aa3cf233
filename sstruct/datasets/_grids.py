"""Synthetic pictures with known labels."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state


def make_grids(
    n_samples=20,
    *,
    shape=(24, 32),
    n_labels=2,
    n_features=3,
    n_shapes=4,
    noise=1.5,
    random_state=None,
):
    """Make pictures of overlapping shapes seen through noisy colours.

    Discs and rectangles of random place, size and label lie over each other on a background of
    label 0. The features of a pixel are the colour of its label, drawn once from a standard
    normal, plus noise; so its neighbours tell much about a pixel's label that its own features do
    not.

    Parameters
    ----------
    n_samples : int, default=20
        Number of pictures.
    shape : tuple of two int, default=(24, 32)
        Height and width.
    n_labels : int, default=2
        Number of labels K, the background's included.
    n_features : int, default=3
        Number of features F.
    n_shapes : int, default=4
        Shapes in each picture.
    noise : float, default=1.5
        Standard deviation of the noise in each feature.
    random_state : int, RandomState instance or None, default=None
        Determines colours and pictures. Pass an int for reproducible output.

    Returns
    -------
    X : ndarray of shape (n_samples, height, width, n_features)
        Features.
    y : int ndarray of shape (n_samples, height, width)
        Labels, 0 to K - 1.

    See Also
    --------
    make_sequences : Synthetic chains.

    Examples
    --------
    >>> from sstruct.datasets import make_grids
    >>> X, y = make_grids(3, shape=(10, 12), random_state=0)
    >>> X.shape, y.shape
    ((3, 10, 12, 3), (3, 10, 12))
    """
    counts = {
        "n_samples": n_samples,
        "n_labels": n_labels,
        "n_features": n_features,
        "n_shapes": n_shapes,
        **{f"shape[{axis}]": side for axis, side in enumerate(shape)},
    }
    for name, count in counts.items():
        if not isinstance(count, Integral) or count < 1:
            raise ValueError(f"{name} must be a positive integer, got {count!r}")
    if len(shape) != 2:
        raise ValueError(f"shape must be a height and a width, got {shape!r}")
    if not noise >= 0:
        raise ValueError(f"noise must be >= 0, got {noise!r}")

    rng = check_random_state(random_state)
    colours = rng.standard_normal((n_labels, n_features))
    rows, columns = np.ogrid[: shape[0], : shape[1]]
    y = np.zeros((n_samples, *shape), dtype=np.intp)
    for labels in y:
        for _ in range(n_shapes):
            centre = rng.uniform(size=2) * shape
            radius = rng.uniform(0.1, 0.35, size=2) * min(shape)
            down, across = (rows - centre[0]) / radius[0], (columns - centre[1]) / radius[1]
            if rng.randint(2):
                inside = down**2 + across**2 <= 1
            else:
                inside = np.maximum(np.abs(down), np.abs(across)) <= 1
            labels[inside] = rng.randint(n_labels)
    return colours[y] + noise * rng.standard_normal((*y.shape, n_features)), y
