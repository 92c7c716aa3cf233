"""A part's side of rounds: passes over its own blocks, at weights that all parts have moved."""

from functools import partial

import numpy as np

from sstruct._cluster.weight_changes import CHANGED, WHOLE, ReceivedWeights
from sstruct._problems.core.kept_arrays import MOST_COUNTED, kept_array
from sstruct._solvers.core._full_pass import full_pass
from sstruct._solvers.core._snapshot import resume, snapshot
from sstruct._solvers.core._state import DualState, aligned_zeros
from sstruct._solvers.frank_wolfe._approximate_pass import approximate_pass
from sstruct._solvers.frank_wolfe._exact_pass import exact_pass
from sstruct._solvers.frank_wolfe.block_coordinate import FrankWolfeFit
from sstruct._solvers.rounds._changes import compact_change
from sstruct._solvers.rounds._placing import blend, dual_weights, mix, place


class PartitionFit(FrankWolfeFit):
    """The blocks of one part, with their dual state.

    Between two rounds v is that of all parts. In a round the part goes on from it, and sees its own
    changes `caution` times as large as they are, since the other parts' are alike. What it changes
    in v is its move, of which it hears in the next call what share was taken. Each call depends on
    those before and on nothing else, so that a part made again from `keep` and later calls has the
    same bits.

    Parameters
    ----------
    setup : Setup
        Of the part's blocks; block weights are shares of all parts' sum.
    caution : float
        The factor that CoCoA calls sigma': 1 as if the part were alone, the number of parts where
        moves may be added up in any case (Ma et al., ICML 2015, Lemma 4).
    """

    # A part has one thread, and the caller knows of the dual what its parts tell.
    most_lag = 0

    def __init__(self, setup, caution=1.0):
        # Seen so, changes of v are those at a lambda that is so much smaller.
        self.caution = caution
        state = DualState(
            setup.problem,
            setup.lam / caution,
            setup.block_weight,
            setup.options.seed,
            bounds=setup.bounds,
        )
        super().__init__(setup, state)
        self.received = ReceivedWeights(in_place=True)
        # Function of a share: takes the dual weights back to that share of the last move. None:
        # there is no move whose share is still to come.
        self.go_back = None

    def advance(self, share, news, dual, turn):
        """Settle the last move, then make a pass over the part's blocks.

        Parameters
        ----------
        share : float
            How much of the part's last move is taken, from 0 to 1.
        news : tuple
            What `ReceivedWeights.update` takes: the v of now.
        dual : float
            The dual value of now.
        turn : int
            0: an exact pass; k: the k-th approximate one after it.

        Returns
        -------
        index : ndarray of int32 or None
            Entries of v that change; None: all.
        value : ndarray
            Their changes.
        numbers : ndarray of float64
            Changes of the dual's linear part, of counted work and of the numbers of steps and
            oracle calls, and the sum of block gaps.
        """
        self._settle(share, news, dual)
        state = self.state
        counts = self._counts()
        if turn == 0:
            self.go_back = partial(blend, state, state.export())
            self.n_passes += 1
            exact_pass(state, self.pool, self._plan(), False)
        else:
            self.go_back = partial(mix, state, dual_weights(state))
            of_all = (turn - 1) % self.constants.full_pass_every == 0
            approximate_pass(state, self._plan(), of_all)
        numbers = self._counts() - counts
        numbers[-1] = state.estimated_gap
        return *compact_change(state.live_v, self.received.w, self.caution), numbers

    def measure(self, share, news, dual, average=None):
        """Settle the last move; return what certificates are made of.

        Parameters
        ----------
        share, news, dual : as in `advance`
        average : tuple of (ndarray or None, ndarray), optional
            Another w to measure at: index and value.

        Returns
        -------
        hinges : list of (float, bool)
            At w, and at the average: the sum of hinge losses, and whether all oracles were exact.
        n_labelings : int
            Cached ones.
        """
        self._settle(share, news, dual)
        hinges = [full_pass(self.pool, self.state.live_w, self.block_weight)]
        if average is not None:
            w = dense(average, len(self.state.live_w))
            hinges.append(full_pass(self.pool, w, self.block_weight, self.state))
        return hinges, self.state.n_labelings

    def rebuild(self, share):
        """Return the part's own share of v, and of the dual's linear part, from its dual weights.

        As index (None: all), value, and an array of one number. The next call must bring v.
        """
        self._take(share)
        self.state.rebuild()
        v = self.state.v() / self.caution
        self.received = ReceivedWeights(in_place=True)
        return *compact(v), np.array([self.state.linear])

    def keep(self, share, news, dual):
        """Settle the last move; return what `take_up` takes: arrays by name, without v."""
        self._settle(share, news, dual)
        kept = snapshot(self.state)
        del kept["weights"], kept["hidden"]
        return {**kept, "rounds": np.array([self.n_passes, self.received.version])}

    def hand_over(self, share, news, dual):
        """Settle the last move; return what a later fit goes on from, as ``FrankWolfeFit`` does."""
        self._settle(share, news, dual)
        return self.state.export()

    def take_up(self, kept, v):
        """Go on from where `keep` was called, of a part of the same blocks; v: that of then.

        Raises
        ------
        ValueError
            If the arrays, which may come from a file, are none of such a part; names the field.
        """
        state = self.state
        weights = {"weights": state.w, "hidden": np.zeros(state.n_boxed)}
        rounds = kept_array(kept, "rounds", np.int64, 2, least=0, most=MOST_COUNTED)
        resume(state, {**kept, **weights})
        place(state, v, state.dual)
        self.n_passes, version = rounds.tolist()
        self.received.update(version, 0, None, v)

    def _counts(self):
        state = self.state
        return np.array([state.linear, state.work, state.n_steps, state.n_oracle_calls, 0])

    def _take(self, share):
        """Take dual weights to where the caller went along the last move."""
        if self.go_back is not None and share != 1:
            self.go_back(share)
        self.go_back = None

    def _settle(self, share, news, dual):
        self._take(share)
        if not self.received.update(*news):
            raise RuntimeError("a part has not heard of all changes of v before these")
        place(self.state, self.received.w, dual)


def compact(vector):
    """Return index and value of a vector's nonzeros; index None, value all, where that is less."""
    index = np.flatnonzero(vector).astype(np.int32)
    if CHANGED * len(index) >= WHOLE * len(vector):
        return None, vector
    return index, vector[index]


def dense(compacted, size):
    """Undo `compact`; a copy."""
    index, value = compacted
    vector = aligned_zeros(size)
    vector[slice(None) if index is None else index] = value
    return vector
