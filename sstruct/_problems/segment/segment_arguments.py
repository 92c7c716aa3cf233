"""Arguments of SegmentProblem, validated and converted to the layout of its compiled code."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sstruct._problems.chain.chain_arguments import ChainModel, chain_blocks, number_of_groups
from sstruct._problems.core._rows import padded_labels
from sstruct._problems.core.weight_layout import WeightBlock, WeightLayout

FIRST_BIN = np.ones(1, dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class SegmentModel(ChainModel):
    """Labels, weights, masks and durations of a model of segments.

    Attributes
    ----------
    bins : ndarray of int64 of shape (n_bins,), or None
        The smallest duration of each bin, increasing, the first one 1; None if durations have no
        weights.
    least, most : ndarray of int64 of shape (K,)
        The range of durations of each label.
    """

    bins: np.ndarray | None = None
    least: np.ndarray
    most: np.ndarray

    def layout(self, n_features, n_edge_features=0, scored=False):
        """Return the WeightLayout for a given number of node features."""
        terms = self.bias, self.boundaries, self.transitions
        n_bins, n_groups = number_of_bins(self.bins), number_of_groups(self.groups)
        return segment_layout(self.n_labels, n_features, *terms, n_bins, scored, n_groups)


@lru_cache
def segment_layout(n_labels, n_features, bias, boundaries, transitions, n_bins, scored, n_groups):
    """Return the WeightLayout of a model of segments, see `chain_blocks`; `n_bins` may be 0."""
    blocks = chain_blocks(
        n_labels, n_features, bias, boundaries, transitions, 0, scored, n_groups=n_groups
    )
    shape = n_labels, n_bins
    extent = padded_labels(n_labels * n_bins)
    duration = WeightBlock(("label", "duration"), shape, (n_bins, 1), extent)
    return WeightLayout(blocks | {"duration": duration if n_bins else shape})


def number_of_bins(bins):
    """Return the number of bins of durations with weights."""
    return 0 if bins is None else len(bins)


def runs_of(labels, start, length):
    """Find the runs of equal labels of blocks of rows.

    Returns
    -------
    first, stop : ndarray of shape (n_runs,)
        The rows of each run.
    block : ndarray of shape (n_runs,)
    """
    if len(start) == 0:
        return (np.empty(0, dtype=np.int64),) * 3
    n_before = np.cumsum(length) - length
    row = np.arange(n_before[-1] + length[-1]) + np.repeat(start - n_before, length)
    block = np.repeat(np.arange(len(start)), length)
    labels = labels[row]
    begins = np.r_[True, (labels[1:] != labels[:-1]) | (block[1:] != block[:-1])]
    at = np.flatnonzero(begins)
    return row[at], row[np.append(at[1:], len(row)) - 1] + 1, block[at]
