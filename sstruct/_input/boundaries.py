"""Change points of signals, as passed by users, and their comparison."""

import numpy as np

from sstruct._checks.arrays import array_of, check_depth, check_given_target, is_ordered, items_of
from sstruct._checks.shown import shortened


def pack_changes(y, name, lengths=None, intervals=False):
    """Return a list of int64 arrays, the validated change points of each signal.

    Parameters
    ----------
    y : list of lists of integers
    name : str
        Name of y in errors.
    lengths : ndarray of int64 of shape (n,), or None
        Numbers of nodes of the signals; None if they are not known.
    intervals : bool
        Whether entries may be intervals, pairs of the first and the last possible change point. The
        arrays then have shape (n_changes, 2).
    """
    check_given_target(y, name, "This estimator" if name == "y" else "The score")
    check_depth(y, name)
    y = items_of(y)
    if not is_ordered(y):
        raise TypeError(
            f"{name} must be a list with the change points of each signal, found {type(y).__name__}"
        )
    y = list(y)
    if lengths is not None and len(y) != len(lengths):
        raise ValueError(f"X has {len(lengths)} signals, but {name} has {len(y)} entries")
    lengths = [None] * len(y) if lengths is None else lengths.tolist()
    convert = _intervals_of if intervals else _changes_of
    return [
        convert(item, f"{name}[{i}]", i, length) for i, (item, length) in enumerate(zip(y, lengths))
    ]


def _intervals_of(item, name, i, length):
    """Return the first and last change point of the intervals of signal i, (n, 2)."""
    kinds = list | tuple | np.ndarray
    if isinstance(item, list | tuple) and any(isinstance(each, kinds) for each in item):
        rows = [each if np.ndim(each) else (each, each) for each in item]
        if any(np.shape(row) != (2,) for row in rows):
            raise ValueError(
                f"{name} is {shortened(item)}, expected integers, or pairs of integers: the first "
                "and the last possible change point"
            )
        item = rows
    bounds = array_of(item, name, "an array of change points or intervals")
    if bounds.ndim != 2 or bounds.shape[1] != 2:
        places = _changes_of(item, name, i, length)
        return np.column_stack([places, places])
    first, last = (_changes_of(bounds[:, side], name, i, length) for side in range(2))
    if (first > last).any() or (first[1:] <= last[:-1]).any():
        raise ValueError(
            f"{name} has the intervals {shortened(bounds.tolist())}, expected increasing intervals "
            "that do not overlap"
        )
    return np.column_stack([first, last])


def _changes_of(item, name, i, length):
    """Return the change points of signal i; `length` is its number of nodes, or None."""
    changes = array_of(item, name, "an array of change points")
    if changes.ndim != 1:
        raise ValueError(f"{name} has {changes.ndim} dimensions, expected a list of change points")
    if len(changes) == 0:
        return np.empty(0, dtype=np.int64)
    if changes.dtype.kind not in "iu":
        raise TypeError(
            f"{name} has dtype {changes.dtype}, expected integers, the indices of nodes"
        )
    last = np.iinfo(np.int64).max if length is None else length - 1
    wrong = changes[(changes < 1) | (changes > last)]
    if len(wrong) and length is None:
        raise ValueError(f"{name} has the change point {wrong[0]}, expected at least 1")
    if len(wrong):
        end = "; leave out the end of the last segment" if wrong[0] == length else ""
        raise ValueError(
            f"{name} has the change point {wrong[0]}, but X[{i}] has {length} nodes; a change "
            f"point is the first node of a segment that is not the first segment{end}"
        )
    changes = changes.astype(np.int64)
    if (np.diff(changes) < 1).any():
        raise ValueError(f"{name} is {shortened(changes.tolist())}, expected increasing integers")
    return changes


def boundary_f1(true, predicted, tolerance, weights):
    """Return the F1 score of change points: lists of increasing arrays, and weights of signals.

    true : change points, or arrays (n, 2) of intervals
    """
    right = total = 0.0
    for a, b, weight in zip(true, predicted, weights):
        first, last = (a, a) if a.ndim == 1 else a.T
        right += weight * n_matches(first.tolist(), last.tolist(), b.tolist(), tolerance)
        total += weight * (len(a) + len(b))
    return float(2 * right / total) if right else 0.0


def n_matches(first, last, predicted, tolerance):
    """Return the largest number of pairs of true and predicted changes within the tolerance.

    first, last : increasing lists of integers, the intervals of the true changes
    predicted : increasing list of integers
    Each change belongs to at most one pair. The time is linear, since the lists are sorted: pairing
    the first entries that are close enough is optimal.
    """
    i = j = count = 0
    while i < len(first) and j < len(predicted):
        if first[i] - tolerance <= predicted[j] <= last[i] + tolerance:
            i, j, count = i + 1, j + 1, count + 1
        elif last[i] < predicted[j]:
            i += 1
        else:
            j += 1
    return count
