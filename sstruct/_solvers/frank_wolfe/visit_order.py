"""Order of visits: shards of memory-mapped data, and the number of concurrent visits."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sstruct._problems.core.kept_arrays import MAX_COUNT
from sstruct._solvers.core.checkpoint import note

# A visit does not see the moves of the visits before it that run concurrently (`_visits`); their
# number is its lag. If blocks are strongly coupled, the gain of concurrent visits is less than the
# sum of the gains that they expect: on OCR letters and EWT tags 0.95, 0.89 and 0.85 of the sum with
# a lag of one, two and three, on CoNLL-2000 0.97, 0.93 and 0.91, on Yeast 0.73, 0.45 and less than
# zero. Fits then take 1.00, 1.01 to 1.05 and 1.04 to 1.10 of the work of sequential visits, on
# CoNLL-2000 1.01 with a lag of three, on Yeast 1.00 with a lag of one and a large multiple with
# more (benchmarks/notes/machines.md).
MAX_LAG = 3
# Fits with fewer blocks, or with less oracle work per pass, use sequential visits: each of 40
# images determines a large part of w, and digits (1,797 blocks, 77,000) take 1.05 to 1.11 times the
# work with a lag of one, although their passes are too short for several threads. EWT tags have
# 485,000.
FEWEST_BLOCKS = 100
MIN_WORK = 3e5
# The loss of the expected gain is a moving average in which the last value has this weight.
NEWEST = 0.25
# Above these losses, at a lag of one and at larger lags, the lag is reduced by one. It is increased
# by one if the predicted loss is below LITTLE_LOSS.
MAX_LOSS_AT_ONE = 0.45
MAX_LOSS = 0.12
LITTLE_LOSS = 0.08
# Measuring the dual reads v once, so the dual is measured only after this many times as much work.
UPDATE_EVERY = 4


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
    if most == np.inf:
        return [Shard(0, n, [], 0)]
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


def allows_concurrent_visits(problem):
    """Whether a fit may have concurrent visits."""
    n = problem.n_blocks
    return not problem.in_order and n >= FEWEST_BLOCKS and n * problem.oracle_work >= MIN_WORK


class Lag:
    """The lag of the passes of a fit: number of previous visits whose moves a visit does not see.

    It is adapted to the share of the expected gain that concurrent visits lose.

    Parameters
    ----------
    state : DualState
    most : int
        Largest lag; 0 for sequential visits.
    """

    loss, n_seen = 0.0, 0

    def __init__(self, state, most=MAX_LAG):
        self.state, self.most, self.now = state, most, min(1, most)

    def begin(self):
        """Set the reference for gains to the current dual, which must be exact."""
        self.dual, self.work = self.state.dual, self.state.work

    def update(self, at_once=False):
        """Compute the dual if it is an estimate, and adapt the lag to the difference.

        Unless `at_once` is true, this is postponed until enough work has been done.
        """
        state = self.state
        if not state.estimated:
            self.begin()
        elif at_once or state.work - self.work >= UPDATE_EVERY * state.problem.n_weights:
            expected = state.dual - self.dual
            state.measure_dual()
            if expected > 0 and self.now > 0:
                self._learn((state.dual - self.dual) / expected)
            self.begin()

    def _learn(self, share):
        self.n_seen += 1
        self.loss += max(NEWEST, 1 / self.n_seen) * (max(1 - share, 0.0) - self.loss)
        if share <= 0:
            self._set(0)
        elif self.loss > (MAX_LOSS_AT_ONE if self.now == 1 else MAX_LOSS):
            self._set(self.now - 1)
        elif self.now < self.most and self.loss * (self.now + 1) < LITTLE_LOSS * self.now:
            self._set(self.now + 1)

    def _set(self, now):
        self.now, self.loss, self.n_seen = now, 0.0, 0

    def notes(self):
        """Return the state for a checkpoint."""
        return {"lag": self.now, "lag_loss": float(self.loss), "lag_seen": self.n_seen}

    def resume(self, notes):
        """Restore the state from `notes`."""
        self.now = note(notes, "lag", int, self.most)
        self.loss = note(notes, "lag_loss", float)
        self.n_seen = note(notes, "lag_seen", int, MAX_COUNT)
