"""Ranges of durations of segments that share a score."""

import numpy as np


def duration_ranges(bins, least, most):
    """Validate bins and limits of durations; return them and the range of each label and bin.

    Parameters
    ----------
    bins : array-like of int of shape (n_bins,)
        The smallest duration of each bin, increasing, the first one 1. The last bin has no end.
    least, most : array-like of int of shape (K,)
        The range of durations of each label, ``1 <= least <= most``.

    Returns
    -------
    bins, least, most : int64 ndarrays
    first, last : int64 ndarrays of shape (K, n_bins)
        Smallest and largest duration of each label in each bin; ``first > last`` if it has none.

    Raises
    ------
    ValueError
        If bins or limits are invalid.
    """
    bins, least, most = (np.ascontiguousarray(each, dtype=np.int64) for each in (bins, least, most))
    if bins.ndim != 1 or len(bins) == 0 or bins[0] != 1 or (np.diff(bins) < 1).any():
        raise ValueError(f"bins must be increasing durations, the first one 1; found {bins}")
    if least.ndim != 1 or least.shape != most.shape or (least < 1).any() or (least > most).any():
        raise ValueError(f"durations must have 1 <= least <= most; found {least} and {most}")
    first = np.maximum(bins, least[:, np.newaxis])
    last = np.minimum(np.append(bins[1:] - 1, np.iinfo(np.int64).max), most[:, np.newaxis])
    return bins, least, most, first, last
