"""How many visits may be under way at once, by what their moves gain together."""

from sstruct._problems.core.kept_arrays import MOST_COUNTED
from sstruct._solvers.core.checkpoint import note

# A visit does not see the moves of those before it that are under way, too (`_visits`): its lag is
# how many. Where blocks have much in common such visits gain less together than each expects. On
# OCR letters and EWT tags 0.95, 0.89 and 0.85 of it with a lag of one, two and three, on CoNLL-2000
# 0.97, 0.93 and 0.91, on Yeast 0.73, 0.45 and less than nothing. Fits then take 1.00, 1.01 to 1.05
# and 1.04 to 1.10 of the work that visits in order take, on CoNLL-2000 1.01 with three, on Yeast
# 1.00 with one and many times as much with more (benchmarks/notes/machines.md).
MOST = 3
# Fits with fewer blocks, or with less work of oracles in a pass, go in order: each of 40 images is
# much of w, and digits (1,797 blocks, 77,000) take 1.05 to 1.11 times the work with a lag of one,
# for passes that are too short to be shared. EWT tags have 485,000.
FEWEST_BLOCKS = 100
LEAST_WORK = 3e5
# What is lost of the expected gains is an average over looks in which the last one counts so much.
NEWEST = 0.25
# With more of it, one visit fewer is let off: at a lag of one, and beyond. With less, foreseen for
# one visit more, that one is let off too.
MOST_ALONE = 0.45
MOST_LOSS = 0.12
LITTLE_LOSS = 0.08
# A look at the dual reads v once: when so many times the work of that has been done.
LOOK_EVERY = 4


def may_be_at_once(problem):
    """Whether a fit may have visits under way at once."""
    n = problem.n_blocks
    return not problem.in_order and n >= FEWEST_BLOCKS and n * problem.oracle_work >= LEAST_WORK


class Lag:
    """The lag of a fit's passes, 0 to `MOST`.

    Parameters
    ----------
    state : DualState
    most : int
        0: visits in order, always.
    """

    def __init__(self, state, most=MOST):
        self.state, self.most = state, most
        self._set(min(1, most))

    def begin(self):
        """Take the dual as it is, exact, for what gains are counted from."""
        self.dual, self.work = self.state.dual, self.state.work

    def look(self, at_once=False):
        """Compute the dual where it is an estimate, and learn from it.

        Not yet, where too little has been done since for it to be worth while, unless it is to be
        at once.
        """
        state = self.state
        if not state.estimated:
            self.begin()
        elif at_once or state.work - self.work >= LOOK_EVERY * state.problem.n_weights:
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
        elif self.loss > (MOST_ALONE if self.now == 1 else MOST_LOSS):
            self._set(self.now - 1)
        elif self.now < self.most and self.loss * (self.now + 1) < LITTLE_LOSS * self.now:
            self._set(self.now + 1)

    def _set(self, now):
        self.now, self.loss, self.n_seen = now, 0.0, 0

    def notes(self):
        """Return what a checkpoint keeps."""
        return {"lag": self.now, "lag_loss": float(self.loss), "lag_seen": self.n_seen}

    def resume(self, notes):
        """Undo `notes`."""
        self.now = note(notes, "lag", int, self.most)
        self.loss = note(notes, "lag_loss", float)
        self.n_seen = note(notes, "lag_seen", int, MOST_COUNTED)
