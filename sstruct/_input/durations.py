"""Bins and limits of the durations of segments, as passed by users."""

from collections.abc import Mapping

import numpy as np

from sstruct._checks.arrays import array_of, check_not_sparse, first_true, listed
from sstruct._checks.parameters import Range, is_integer
from sstruct._checks.shown import shortened

ANY_DURATION = int(np.iinfo(np.int64).max)
AUTO_BINS = 2 ** np.arange(11)


def duration_bins(bins):
    """Return the smallest duration of each bin as int64, or None; powers of 2 for "auto"."""
    if bins is None:
        return None
    if isinstance(bins, str) and bins == "auto":
        return AUTO_BINS.astype(np.int64)
    bins = array_of(bins, "duration_bins", "an array of integers")
    if bins.dtype.kind not in "iu":
        raise TypeError(f"duration_bins must be integers, found dtype {bins.dtype}")
    increasing = bins.ndim == 1 and len(bins) > 0 and bins[0] == 1 and (bins[1:] > bins[:-1]).all()
    if not increasing or bins[-1] > ANY_DURATION:
        raise ValueError(
            "duration_bins must be the smallest duration of each bin, increasing, the first one "
            f"1; found {shortened(bins)}"
        )
    return bins.astype(np.int64)


def duration_limits(least, most, labels):
    """Return the minimum and maximum durations of labels as int64, (2, K).

    Parameters
    ----------
    least, most : int, list of K integers, or dict by label
        None means no maximum. Labels that are missing in a dict have no limit.
    labels : list of K labels
    """
    limits = np.array([
        _limits("min_duration", least, labels, 1),
        _limits("max_duration", most, labels, ANY_DURATION),
    ])  # fmt: skip
    if (k := first_true(limits[0] > limits[1])) is not None:
        raise ValueError(
            f"min_duration is {limits[0, k]} but max_duration is {limits[1, k]} for label "
            f"{shortened(labels[k])}"
        )
    return limits


def check_limits(name, value):
    """Raise TypeError or ValueError for limits of durations that no labels can have."""
    if isinstance(value, Mapping):
        value = list(value.values())
    _limits(name, value, None, ANY_DURATION if name == "max_duration" else 1)


def _limits(name, value, labels, unlimited):
    """Return the limit of each label, or of all items if `labels` is None."""
    optional = name == "max_duration"
    expected = "an integer, None" if optional else "an integer"
    expected += ", a list with a number for each label or a dict of labels and numbers"
    if isinstance(value, Mapping):
        unknown = [label for label in value if label not in labels]
        if unknown:
            raise ValueError(
                f"{name} has label {shortened(unknown[0])}, which is not one of {shortened(labels)}"
            )
        values = [value.get(label, unlimited) for label in labels]
    elif is_integer(value) or (value is None and optional):
        values = [value] * (1 if labels is None else len(labels))
    else:
        check_not_sparse(value, name, expected)
        if isinstance(value, str):
            raise TypeError(f"{name} must be {expected}, found {shortened(value)}")
        values = listed(value, name, expected)
        if labels is not None and len(values) != len(labels):
            raise ValueError(f"{name} must have {len(labels)} entries, found {len(values)}")
    limit = Range(least=1, below=ANY_DURATION + 1, whole=True, other=(None,) if optional else ())
    for item in values:
        limit.check(name, item)
    return [unlimited if item is None else int(item) for item in values]
