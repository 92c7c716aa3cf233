"""Validate signals and pack them into flat arrays; errors name the sample."""

from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from sstruct._checks.arrays import (
    LARGEST,
    NUMBERS,
    array_of,
    as_floats,
    check_depth,
    first_beyond,
    is_empty,
    is_sized,
    items_of,
)
from sstruct._input.completion import KnownOutputs
from sstruct._input.labels import object_array
from sstruct._input.ragged import Nodes, pack_nodes
from sstruct._problems.segment.change_arguments import VARIANCE_FLOOR, SignalSums
from sstruct.sequences import Sequences

# The median of the absolute value of a standard normal variable.
NORMAL_MEDIAN = 0.6744897501960817
SINGLE = "X must be a list of signals, but is a single signal; pass it as a list of one array, [X]"
# Upper bound on the distance of values from the median of their signal: costs are squares of these
# distances, and norms contain squares of costs.
MAX_DISTANCE = LARGEST**0.25


class Signals(Nodes):
    """Signals as flat rows, which are dense float64."""

    def sums(self, used, scale, with_positions):
        """Return the SignalSums of some signals, after subtracting the median of each feature.

        used : bool ndarray of shape (n,), False for empty signals
        scale : "noise" to divide each feature of each signal by its noise level, or None
        """
        rows, floors, offsets = [], [], self.offsets
        for i in np.flatnonzero(used):
            x = self.flat[offsets[i] : offsets[i + 1]]
            level = noise_level(x)
            x = x - np.median(x, axis=0)
            if scale == "noise":
                with np.errstate(over="ignore"):
                    x, level = x / level, np.ones_like(level)
            _check_magnitudes(x, i, scale)
            rows.append(x)
            floors.append(np.maximum(level, 1 / MAX_DISTANCE) ** 2)
        return SignalSums.from_signals(
            np.concatenate(rows),
            self.lengths[used],
            VARIANCE_FLOOR * np.array(floors),
            with_positions,
        )


def noise_level(x):
    """Estimate the standard deviation of the noise of each feature of a signal, (L, F).

    It is the median absolute difference of neighboring nodes, divided by its value for Gaussian
    noise of variance 1. If that is 0, as for counts, it is the root mean square difference divided
    by the square root of 2, and 1 for constant features and signals of one node.
    """
    steps = np.diff(x, axis=0)
    if len(steps) == 0:
        return np.ones(x.shape[1])
    level = np.median(np.abs(steps), axis=0) / (NORMAL_MEDIAN * np.sqrt(2))
    level = np.where(level > 0, level, np.sqrt((steps**2).mean(axis=0) / 2))
    return np.where(level > 0, level, 1.0)


def _check_magnitudes(x, i, scale):
    wrong = first_beyond(x, MAX_DISTANCE)
    if wrong is not None:
        unit = " times its noise level" if scale == "noise" else ""
        raise ValueError(
            f"X[{i}] at node {wrong[0]} differs by {wrong[1]:g}{unit} from the median of its "
            f"feature, expected at most {MAX_DISTANCE:g} so that squares of costs are finite"
            + ("; rescale the signal" if scale is None else "")
        )


def pack_signals(expected, X):
    """Validate X and return its Signals; 1-D signals have one feature."""
    nodes = Signals(**vars(pack_nodes(expected, _with_columns(X))))
    if nodes.form == "rows":  # a sparse matrix
        raise ValueError("X must be a list of signals, found a matrix; pass [X] if it is a signal")
    if sparse.issparse(nodes.flat):
        nodes.flat = nodes.flat.toarray()
    nodes.flat = np.ascontiguousarray(nodes.flat, dtype=np.float64)
    return nodes


def _with_columns(X):
    """Return X with 1-D signals as arrays with one column."""
    if isinstance(X, Sequences) or sparse.issparse(X):
        return X
    check_depth(X, "X")
    X = items_of(X)
    if isinstance(X, np.ndarray) and X.dtype != object:
        if X.ndim == 1 and len(X):
            raise ValueError(SINGLE)
        return X[:, :, np.newaxis] if X.ndim == 2 else X
    if not isinstance(X, list | tuple | np.ndarray) or getattr(X, "ndim", 1) == 0:
        return X
    if len(X) and np.ndim(X[0]) == 0 and isinstance(X[0], Real):
        raise ValueError(SINGLE)
    return [_column(item, i) for i, item in enumerate(X)]


def _column(item, i):
    """Return a signal, as an array with one column if it is a 1-D array or a list of numbers."""
    if sparse.issparse(item) or is_empty(item):
        return item
    if isinstance(item, list | tuple):
        is_flat = not is_sized(item[0]) and np.ndim(item[0]) == 0
    else:
        is_flat = len(getattr(item, "shape", ())) == 1
    if not is_flat:
        return item
    return as_floats(array_of(item, f"X[{i}]", NUMBERS), f"X[{i}]")[:, np.newaxis]


@dataclass(frozen=True)
class KnownIntervals(KnownOutputs):
    """The counterpart of KnownLabels for changes of which only an interval is known.

    Attributes
    ----------
    intervals : list of int64 ndarrays of shape (n_changes, 2)
        The first and the last possible change point of each change of each signal.
    lengths : ndarray of int64 of shape (n,)
    used : ndarray of bool of shape (n,)
        Whether signals have nodes and a positive weight.
    empty : ndarray of int
        Indices of the empty signals.
    """

    intervals: list
    lengths: np.ndarray
    used: np.ndarray
    empty: Any = ()

    @property
    def codes(self):
        """The middle of each interval, as codes of all nodes."""
        return flat_changes([pairs.sum(axis=1) // 2 for pairs in self.intervals], self.lengths)

    @property
    def n_hidden(self):
        """Number of changes of training samples whose interval has several nodes."""
        used_intervals = [pairs for pairs, used in zip(self.intervals, self.used) if used]
        return int(sum((first < last).sum() for first, last in (each.T for each in used_intervals)))

    def changed(self, codes, others):
        """Count the changes of training samples that differ between two completions."""
        differ = (codes != others) & (codes != 0)
        return int(differ[np.repeat(self.used, self.lengths)].sum())


def interval_numbers(intervals, length):
    """Return the number of the interval of each node, from 1 on, as int32; 0 if it has none."""
    out = np.zeros(length, dtype=np.int32)
    for number, (first, last) in enumerate(intervals.tolist(), 1):
        out[first : last + 1] = number
    return out


def flat_changes(changes, lengths):
    """Return an int32 array with 1 at nodes before which there is a change, else 0."""
    out = np.zeros(int(lengths.sum()), dtype=np.int32)
    first = np.cumsum(lengths) - lengths
    for start, places in zip(first.tolist(), changes):
        out[start + places] = 1
    return out


def changes_of_codes(codes, lengths):
    """Return the change points of each signal, given the codes of all nodes."""
    ends = [0, *np.cumsum(lengths).tolist()]
    return object_array(np.flatnonzero(codes[a:b]) for a, b in pairwise(ends))
