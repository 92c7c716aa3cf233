"""Generated signals with change points."""

from __future__ import annotations

from typing import Literal

import numpy as np

from sstruct._checks.parameters import check_choice, random_of
from sstruct.datasets._synthetic import Arrays, RandomState, _check_counts, _check_lengths

KINDS = ("mean", "variance", "trend")


def make_change_points(
    n_samples: int = 100,
    *,
    kind: Literal["mean", "variance", "trend"] = "mean",
    max_segments: int = 9,
    min_length: int = 20,
    max_length: int = 79,
    random_state: RandomState = None,
) -> tuple[Arrays, Arrays]:
    """Generate signals that consist of segments, each signal at a different scale.

    Each segment of a signal is drawn independently, with Gaussian noise. The signal is then
    multiplied by a scale that has a log-normal distribution. Some changes are too small to be
    detected.

    Parameters
    ----------
    n_samples : int, default=100
        The number of signals.
    kind : {"mean", "variance", "trend"}, default="mean"
        What changes. In units of the noise, the means of segments have a standard deviation of 2,
        and slopes of 0.3; ``"trend"`` changes both. With ``"variance"``, the mean is 0 and the
        standard deviation of each segment has a log-normal distribution.
    max_segments : int, default=9
        The number of segments is drawn uniformly from 1 to `max_segments`.
    min_length, max_length : int, default=20 and 79
        Lengths of segments are drawn uniformly from this range, including both ends.
    random_state : int, RandomState instance or None, default=None
        Pass an int for reproducible output.

    Returns
    -------
    X : list of n_samples arrays of shape (L_i,)
        Signals.
    y : list of n_samples int arrays
        Change points: the indices at which the segments after the first one start.

    See Also
    --------
    sstruct.ChangePointSSVM : Learn to detect the changes.

    Examples
    --------
    >>> from sstruct.datasets import make_change_points
    >>> X, y = make_change_points(3, random_state=0)
    >>> [x.shape for x in X]
    [(233,), (224,), (166,)]
    >>> y[1]
    array([ 26,  55, 102, 169])
    """
    _check_counts(n_samples=n_samples, max_segments=max_segments)
    check_choice("kind", kind, KINDS)
    _check_lengths(min_length, max_length)
    rng = random_of(random_state)
    X, y = [], []
    for _ in range(n_samples):
        lengths = rng.randint(min_length, max_length + 1, size=rng.randint(1, max_segments + 1))
        segments = [_segment(kind, length, rng) for length in lengths]
        X.append(np.exp(rng.standard_normal()) * np.concatenate(segments))
        y.append(np.cumsum(lengths)[:-1])
    return X, y


def _segment(kind: str, length: int, rng: np.random.RandomState) -> np.ndarray:
    noise = rng.standard_normal(length)
    if kind == "variance":
        return np.exp(rng.standard_normal()) * noise
    slope = 0.3 * rng.standard_normal() if kind == "trend" else 0.0
    return 2 * rng.standard_normal() + slope * np.arange(length) + noise
