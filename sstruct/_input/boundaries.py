"""Change points of signals, as passed by users, and their comparison."""

from collections.abc import Iterable, Mapping, Set

import numpy as np

from sstruct._checks.arrays import array_of, check_depth, is_sized
from sstruct._checks.shown import shortened
from sstruct._input.frames import items_of


def pack_changes(y, name, lengths=None):
    """Return an int64 array with the validated change points of each signal.

    Parameters
    ----------
    y : list of lists of integers
    name : str
        Name of y in errors.
    lengths : ndarray of int64 of shape (n,), or None
        Numbers of nodes of the signals; None if they are not known.
    """
    if y is None:
        raise ValueError(f"requires {name} to be passed, but the target {name} is None")
    check_depth(y, name)
    y = items_of(y)
    if isinstance(y, str | bytes | Mapping | Set) or not isinstance(y, Iterable) or not is_sized(y):
        raise TypeError(
            f"{name} must be a list with the change points of each signal, found {type(y).__name__}"
        )
    y = list(y)
    if lengths is not None and len(y) != len(lengths):
        raise ValueError(f"X has {len(lengths)} signals, but {name} has {len(y)} entries")
    lengths = [None] * len(y) if lengths is None else lengths.tolist()
    return [
        _changes_of(item, f"{name}[{i}]", i, length)
        for i, (item, length) in enumerate(zip(y, lengths))
    ]


def _changes_of(item, name, i, length):
    """Return the change points of signal i; `length` is its number of nodes, or None."""
    found = array_of(item, name, "an array of change points")
    if found.ndim != 1:
        raise ValueError(f"{name} has {found.ndim} dimensions, expected a list of change points")
    if len(found) == 0:
        return np.empty(0, dtype=np.int64)
    if found.dtype.kind not in "iu":
        raise TypeError(f"{name} has dtype {found.dtype}, expected integers, the indices of nodes")
    last = np.iinfo(np.int64).max if length is None else length - 1
    wrong = found[(found < 1) | (found > last)]
    if len(wrong) and length is None:
        raise ValueError(f"{name} has the change point {wrong[0]}, expected at least 1")
    if len(wrong):
        end = "; leave out the end of the last segment" if wrong[0] == length else ""
        raise ValueError(
            f"{name} has the change point {wrong[0]}, but X[{i}] has {length} nodes; a change "
            f"point is the first node of a segment that is not the first segment{end}"
        )
    found = found.astype(np.int64)
    if (np.diff(found) < 1).any():
        raise ValueError(f"{name} is {shortened(found.tolist())}, expected increasing integers")
    return found


def boundary_f1(true, found, tolerance, weights):
    """Return the F1 score of change points: lists of increasing arrays, and weights of signals."""
    right = total = 0.0
    for a, b, weight in zip(true, found, weights):
        right += weight * n_matches(a.tolist(), b.tolist(), tolerance)
        total += weight * (len(a) + len(b))
    return float(2 * right / total) if right else 0.0


def n_matches(true, found, tolerance):
    """Return the largest number of pairs of a true and a found change, at most `tolerance` apart.

    true, found : increasing lists of integers
    Each change belongs to at most one pair. O(length): of two sorted lists, matching the first
    entries that are near enough is optimal.
    """
    i = j = count = 0
    while i < len(true) and j < len(found):
        if abs(true[i] - found[j]) <= tolerance:
            i, j, count = i + 1, j + 1, count + 1
        elif true[i] < found[j]:
            i += 1
        else:
            j += 1
    return count
