"""Shards of memory-mapped data, which passes visit one after another."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np


@dataclass(frozen=True)
class Shard:
    """Consecutive blocks, and the rows of features that their visits read.

    Attributes
    ----------
    first, last : int
        Range [first, last) of its blocks.
    rows : list of (FeatureRows, int, int)
        Ranges [first, last) of rows.
    n_bytes : int
        Size of these rows.
    """

    first: int
    last: int
    rows: list
    n_bytes: int

    def preload(self):
        """Read the rows from disk, in order, if they are memory-mapped."""
        for features, first, last in self.rows:
            features.preload(first, last)


def shards_of(problem, most):
    """Divide the blocks of a problem into shards of about equal size.

    Parameters
    ----------
    problem : BlockProblem
    most : float
        Largest size of a shard's features in bytes, if blocks are small.

    Returns
    -------
    list of Shard
        In order, covering all blocks. A single shard if there are no rows of features in the order
        of the blocks. O(n_blocks).
    """
    n = problem.n_blocks
    features = problem.feature_rows()
    if any((np.diff(start) < 0).any() for _, start in features):
        features = []
    ends = [np.append(start, rows.n_rows) for rows, start in features]
    before = np.zeros(n + 1, dtype=np.int64)
    for (rows, _), end in zip(features, ends, strict=True):
        before += rows.bytes_before(end)
    total = int(before[n] - before[0])
    count = int(min(max(np.ceil(total / most), 1), n))
    cuts = np.searchsorted(before, before[0] + total * np.arange(1, count) / count)
    cuts = np.unique(np.concatenate([[0], cuts, [n]]))
    return [
        Shard(
            first,
            last,
            [
                (rows, int(end[first]), int(end[last]))
                for (rows, _), end in zip(features, ends, strict=True)
            ],
            int(before[last] - before[first]),
        )
        for first, last in pairwise(cuts.tolist())
    ]
