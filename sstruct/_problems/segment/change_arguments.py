"""Sums of signals, costs of segments and windows of changes for ChangePointProblem."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sstruct._problems.core.weight_layout import WeightBlock, WeightLayout, dense_block
from sstruct._problems.segment.segment_arguments import number_of_bins

# Costs of segments by name, in the order of the codes in `_segment_costs.pxd`.
COSTS = ("mean", "variance", "normal", "trend")
TREND = COSTS.index("trend")
# Minimum variance of a segment, relative to the squared noise level of the signal.
VARIANCE_FLOOR = 1e-4


@dataclass(frozen=True)
class SignalSums:
    """Sums over the first nodes of signals, from which the costs of segments are computed.

    Attributes
    ----------
    sums : ndarray of shape (n_nodes + n_blocks, n_features, 2 or 3)
        For each signal of L nodes, L + 1 entries. Entry l has the sums over the nodes before node l
        of each feature, of its square and, if a cost requires it, of its product with the position.
    floor : ndarray of shape (n_blocks, n_features)
        Minimum variance of a segment.
    length : ndarray of int64 of shape (n_blocks,)
    """

    sums: np.ndarray
    floor: np.ndarray
    length: np.ndarray

    @classmethod
    def from_signals(cls, flat, length, floor, with_positions):
        """Compute the sums of signals.

        Parameters
        ----------
        flat : ndarray of shape (n_nodes, n_features)
            The nodes of all signals. Rounding errors are smallest if the values are around 0.
        length : ndarray of int64 of shape (n_blocks,)
            Numbers of nodes, at least 1.
        floor : ndarray of shape (n_blocks, n_features)
        with_positions : bool
            Whether to compute the sums of products with the position.
        """
        n_sums = 2 + with_positions
        sums = np.zeros((len(flat) + len(length), flat.shape[1], n_sums))
        first = 0
        for i, L in enumerate(length.tolist()):
            x, out = flat[first : first + L], sums[first + i + 1 : first + i + 1 + L]
            np.cumsum(x, axis=0, out=out[:, :, 0])
            np.cumsum(x * x, axis=0, out=out[:, :, 1])
            if with_positions:
                np.cumsum(x * np.arange(L)[:, np.newaxis], axis=0, out=out[:, :, 2])
            first += L
        return cls(sums, np.ascontiguousarray(floor), length)


@dataclass(frozen=True)
class ChangePointModel:
    """Costs and durations of segments.

    Attributes
    ----------
    kinds : ndarray of int32 of shape (n_costs,)
        Indices of COSTS.
    least, most : int
        The range of durations of a segment.
    bins : ndarray of int64 of shape (n_bins,), or None
        The smallest duration of each bin, increasing, the first one 1; None if durations have no
        weights.
    """

    kinds: np.ndarray
    least: int
    most: int
    bins: np.ndarray | None = None

    def layout(self, n_features):
        """Return the WeightLayout for a given number of features."""
        return change_layout(len(self.kinds), n_features, number_of_bins(self.bins))

    @property
    def bin_of_duration(self):
        """The bin of each duration, up to the smallest one of the last bin; empty without bins."""
        if self.bins is None:
            return np.empty(0, dtype=np.int32)
        return np.repeat(
            np.arange(len(self.bins)), np.diff(np.append(self.bins, self.bins[-1] + 1))
        )

    @property
    def with_positions(self):
        """Whether a cost requires sums of products with the position."""
        return bool((self.kinds == TREND).any())

    def largest_costs(self, signals):
        """Return upper bounds of the sum of magnitudes of all costs of each block."""
        ends = np.cumsum(signals.length + 1) - 1
        squares, out = signals.sums[ends, :, 1], np.zeros(len(ends))
        for kind in self.kinds:
            if COSTS[kind] in ("mean", "trend"):
                out += squares.sum(axis=1)  # the cost of the whole signal is the largest
                continue
            # A variance is at least the floor and at most the sum of squares.
            logs = np.log(signals.floor), np.log(np.maximum(squares, signals.floor))
            out += (signals.length[:, np.newaxis] * (np.abs(logs).max(axis=0) + 1)).sum(axis=1)
        return out


@lru_cache
def change_layout(n_costs, n_features, n_bins):
    """Return the WeightLayout: weights of costs and features, of durations, and the penalty."""
    return WeightLayout(
        {
            "coef": dense_block(("cost", "feature"), (n_costs, n_features)),
            "duration": dense_block(("duration",), (n_bins,)) if n_bins else (n_bins,),
            "penalty": WeightBlock((None,), (1,), (1,), 1),
        }
    )


def check_signals(signals, model):
    """Raise ValueError unless sums, lengths, kinds of costs and durations agree."""
    sums, floor, length = signals.sums, signals.floor, signals.length
    n_sums = 2 + model.with_positions
    if len(length) == 0 or (length < 1).any() or (length >= np.iinfo(np.int32).max).any():
        raise ValueError("expected at least one signal, each of 1 to 2^31 - 2 nodes")
    if sums.ndim != 3 or len(sums) != length.sum() + len(length) or sums.shape[2] < n_sums:
        raise ValueError(
            f"sums have shape {sums.shape}, expected ({length.sum() + len(length)}, n_features, "
            f"{n_sums} or more)"
        )
    if floor.shape != (len(length), sums.shape[1]) or not (floor > 0).all():
        raise ValueError("floor must have a positive entry for each block and feature")
    kinds = model.kinds
    if len(kinds) == 0 or (kinds < 0).any() or (kinds >= len(COSTS)).any():
        raise ValueError(f"kinds of costs must be 0 to {len(COSTS) - 1}, found {kinds}")
    if not 1 <= model.least <= model.most:
        raise ValueError(
            "durations must satisfy 1 <= least <= most, found "
            f"least={model.least} and most={model.most}"
        )


def check_intervals(intervals, signals):
    """Raise ValueError unless rows have valid interval numbers, 0 at the starts of blocks."""
    first = np.cumsum(signals.length) - signals.length
    if intervals.shape != (int(signals.length.sum()),) or intervals.dtype != np.int32:
        raise ValueError(f"intervals must be int32 of shape {(int(signals.length.sum()),)}")
    if intervals.min() < 0 or intervals.max() >= np.iinfo(np.int32).max or intervals[first].any():
        raise ValueError("intervals must be nonnegative, and 0 at the first node of each block")


def check_changes(changes, windows, signals, model):
    """Raise ValueError unless true changes have allowed durations, and windows contain them."""
    n_nodes, length = int(signals.length.sum()), signals.length
    if changes.shape != (n_nodes,) or windows.shape != (n_nodes,):
        raise ValueError(f"changes and windows must have {n_nodes} entries")
    first = np.cumsum(length) - length
    position = np.arange(n_nodes) - np.repeat(first, length)
    if ((changes != 0) & (changes != 1)).any() or changes[first].any():
        raise ValueError("changes must be 0 or 1, and 0 at the first node of each block")
    if (windows < 0).any() or (windows > position).any() or windows[first].any():
        raise ValueError("windows must be 0 or start at a position from 1 to that of the node")
    at = np.flatnonzero((position == 0) | (changes == 1))
    is_change = changes[at] == 1
    if (windows[at][is_change] <= position[at[:-1]][is_change[1:]]).any():
        raise ValueError("each true change must have a separate window")
    durations = np.diff(np.append(at, n_nodes))
    if (durations < model.least).any() or (durations > model.most).any():
        raise ValueError(
            f"true segments have durations of {durations.min()} to {durations.max()} nodes, "
            f"expected {model.least} to {model.most}"
        )
