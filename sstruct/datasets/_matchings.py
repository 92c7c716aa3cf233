"""Generated detections in two frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from sstruct._checks.parameters import check_number, random_of
from sstruct.datasets._synthetic import Arrays, RandomState, _as_size, _check_counts


def make_matchings(
    n_samples: int = 100,
    *,
    n_objects: int = 10,
    n_attributes: int = 3,
    missing: float = 0.1,
    noise: float = 0.05,
    max_distance: float | None = None,
    random_state: RandomState = None,
) -> tuple[list[Any], Arrays]:
    """Generate detections of objects in two frames, and their true matching.

    Objects have random positions in the unit square, and attributes such as color or size, uniform
    in [0, 1]. Each object is detected in each of two frames with probability 1 - `missing`. Noise
    is added to positions and attributes in each frame. The detections of the second frame are in
    random order.

    Parameters
    ----------
    n_samples : int, default=100
        The number of samples, pairs of frames.
    n_objects : int, default=10
        The number of objects in each sample.
    n_attributes : int, default=3
        The number of attributes of an object, at least 0.
    missing : float, default=0.1
        The probability that an object is not detected in a frame, from 0 to 1.
    noise : float, default=0.05
        The standard deviation of the noise in each coordinate and attribute.
    max_distance : float or None, default=None
        If given, only pairs with at most this distance are candidates, in addition to the true
        ones. Samples are then dicts.
    random_state : int, RandomState instance or None, default=None
        Determines the samples. Pass an int for reproducible output.

    Returns
    -------
    X : list of n_samples arrays of shape (n_rows, n_columns, 1 + n_attributes), or dicts
        Features of each pair of a detection in the first frame, a row, and one in the second, a
        column: their distance, and the absolute difference of each attribute. With `max_distance`,
        dicts with ``features`` (n_pairs, 1 + n_attributes), ``pairs`` (n_pairs, 2) and ``shape``.
    y : list of n_samples int arrays of shape (n_rows,)
        The column of each row, or -1 if the object is not detected in the second frame.

    See Also
    --------
    sstruct.MatchingSSVM : Learn to match.

    Examples
    --------
    >>> from sstruct.datasets import make_matchings
    >>> X, y = make_matchings(3, n_objects=4, missing=0.2, random_state=0)
    >>> [x.shape for x in X]
    [(3, 3, 4), (2, 4, 4), (2, 1, 4)]
    >>> y[0].tolist()
    [2, 1, 0]
    """
    _check_counts(n_samples=n_samples, n_objects=n_objects)
    _check_counts(0, n_attributes=n_attributes)
    missing, noise = _as_size("missing", missing, 1), _as_size("noise", noise)
    check_number("max_distance", max_distance, least=0, other=(None,))

    rng = random_of(random_state)
    X, y = [], []
    for _ in range(n_samples):
        objects = rng.uniform(size=(n_objects, 2 + n_attributes))
        frames, numbers = [], []
        for order in (np.arange(n_objects), rng.permutation(n_objects)):
            seen = order[rng.uniform(size=n_objects) >= missing]
            frames.append(
                objects[seen] + noise * rng.standard_normal((len(seen), 2 + n_attributes))
            )
            numbers.append(seen)
        same = numbers[0][:, np.newaxis] == numbers[1]
        y.append(np.where(same.any(axis=1), same @ np.arange(len(numbers[1])), -1).astype(np.intp))
        difference = frames[0][:, np.newaxis] - frames[1]
        distance = np.linalg.norm(difference[:, :, :2], axis=2)
        features = np.dstack([distance, np.abs(difference[:, :, 2:])])
        if max_distance is None:
            X.append(features)
        else:
            near = (distance <= max_distance) | same
            X.append({"features": features[near], "pairs": np.argwhere(near), "shape": near.shape})
    return X, y
