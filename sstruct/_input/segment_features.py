"""Validate `segment_features`, and compute features of segments with a user-defined function."""

import numpy as np

from sstruct._checks.arrays import LARGEST, array_of, first_beyond, listed
from sstruct._checks.shown import shortened
from sstruct._problems.segment.segment_arguments import FEATURE_KINDS, SegmentRows

# Maximum number of segments of all samples for which a function is called.
MAX_SEGMENTS = 2**26


def segment_features(value):
    """Validate the parameter `segment_features`.

    Parameters
    ----------
    value : None, str, callable, or list of these with at most one callable

    Returns
    -------
    names : tuple of str
        In the order of their weights.
    function : callable or None
    """
    if value is None:
        return (), None
    expected = f"one of {FEATURE_KINDS}, a function, or a list of these"
    single = isinstance(value, str) or callable(value)
    items = [value] if single else listed(value, "segment_features", expected)
    names = [item for item in items if not callable(item)]
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"segment_features must be {expected}, found {shortened(name)}")
        if name not in FEATURE_KINDS:
            raise ValueError(f"segment_features must be {expected}, found {shortened(name)}")
    if len(set(names)) < len(names) or len(items) - len(names) > 1:
        raise ValueError(
            "segment_features must be different names and at most one function, found "
            f"{shortened(value)}"
        )
    functions = [item for item in items if callable(item)]
    kinds = tuple(name for name in FEATURE_KINDS if name in names)
    return kinds, functions[0] if functions else None


def segment_rows(function, flat, offsets, longest, n_expected=None):
    """Return the features of all segments of samples, as SegmentRows.

    Parameters
    ----------
    function : callable
    flat : ndarray or CSR matrix of shape (n_nodes, n_features)
    offsets : ndarray of int64 of shape (n + 1,)
        First node of each sample, and the number of nodes.
    longest : int
        Maximum duration of a segment.
    n_expected : int or None
        Number of features of the fitted model, or None in a fit.
    """
    n_nodes = int(offsets[-1])
    position = np.arange(n_nodes) - np.repeat(offsets[:-1], np.diff(offsets))
    reach = np.minimum(np.repeat(np.diff(offsets), np.diff(offsets)) - position, longest)
    n_segments = int(reach.sum())
    if n_segments > MAX_SEGMENTS:
        raise ValueError(
            f"segment_features has a function, and the samples have {n_segments} segments, "
            f"expected at most {MAX_SEGMENTS}: set or reduce max_duration, or pass fewer samples"
        )
    at = np.cumsum(reach) - reach
    values = []
    for i, (a, b) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist())):
        if a == b:
            continue
        start = np.repeat(position[a:b], reach[a:b])
        stop = start + 1 + np.arange(len(start)) - np.repeat(at[a:b] - at[a], reach[a:b])
        values.append(_values(function(flat[a:b], start, stop), i, len(start), n_expected))
        n_expected = values[-1].shape[1]
    joined = np.concatenate(values) if values else np.empty((0, n_expected or 1))
    return SegmentRows(joined, at, reach)


def _values(values, i, n_segments, n_expected):
    """Validate the result of the function for sample i."""
    name = f"the result of the function in segment_features for X[{i}]"
    values = array_of(values, name, "an array of numbers")
    if values.ndim == 1:
        values = values[:, np.newaxis]
    if values.ndim != 2 or len(values) != n_segments or values.shape[1] == 0:
        raise ValueError(
            f"{name} has shape {values.shape}, expected ({n_segments}, n_outputs): a row for each "
            "segment"
        )
    if n_expected is not None and values.shape[1] != n_expected:
        raise ValueError(
            f"{name} has {values.shape[1]} columns, but {n_expected} are expected, as for other "
            "samples"
        )
    if values.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {values.dtype}, expected numbers")
    values = np.ascontiguousarray(values, dtype=np.float64)
    if (wrong := first_beyond(values)) is not None:
        raise ValueError(
            f"{name} contains {wrong[1]:g} in row {wrong[0]}, expected finite numbers of at most "
            f"{LARGEST:g} in absolute value"
        )
    return values
