"""Passes over the blocks of one partition of a distributed fit."""

from functools import partial

import numpy as np

from sstruct._cluster.weight_changes import ReceivedWeights
from sstruct._kernels.compact import compact, expand
from sstruct._problems.core.kept_arrays import MAX_COUNT, kept_array
from sstruct._solvers.core._full_pass import full_pass
from sstruct._solvers.core._snapshot import resume, snapshot
from sstruct._solvers.core._state import DualState, aligned_zeros
from sstruct._solvers.frank_wolfe._approximate_pass import approximate_pass
from sstruct._solvers.frank_wolfe._exact_pass import exact_pass
from sstruct._solvers.frank_wolfe.block_coordinate import FrankWolfeFit
from sstruct._solvers.rounds._changes import compact_change
from sstruct._solvers.rounds._placing import blend, dual_weights, mix, place


class PartitionFit(FrankWolfeFit):
    """The blocks of one partition, with their dual state.

    Between two rounds, v includes the moves of all partitions. In a round, the partition starts
    from it and multiplies the effect of its own changes by `caution`, since other partitions make
    similar changes. Its change of v is its move; the next call receives the share of it that was
    applied. Each call depends only on previous calls, so a partition recreated from `keep` and
    later calls is bitwise identical.

    Parameters
    ----------
    setup : Setup
        Setup of the partition's blocks; block weights are shares of the sum over all partitions.
    caution : float
        The factor sigma' of CoCoA: 1 treats the partition as the only one; with the number of
        partitions, moves may be added in all cases (Ma et al., ICML 2015, Lemma 4).
    """

    # A partition has one thread, and the caller needs its exact dual.
    max_lag = 0

    def __init__(self, setup, caution=1.0):
        # This is equivalent to changes of v at a lambda divided by `caution`.
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
        # Function that scales the dual weights back to a share of the last move, or None if no
        # share is pending.
        self.scale_back = None

    def advance(self, share, news, dual, turn):
        """Apply the share of the last move, then make a pass over the partition's blocks.

        Parameters
        ----------
        share : float
            Share of the partition's last move that was applied, from 0 to 1.
        news : tuple
            Arguments of `ReceivedWeights.update`, for the current v.
        dual : float
            The current dual value.
        turn : int
            0 for an exact pass; k for the k-th approximate pass after it.

        Returns
        -------
        index : ndarray of int32 or None
            Indices of changed entries of v, or None for all.
        value : ndarray
            Their changes.
        numbers : ndarray of float64
            Changes of the dual's linear part, of counted work and of the numbers of steps and
            oracle calls, and the sum of block gaps.
        """
        self._apply_share(share, news, dual)
        state = self.state
        counts = self._counts()
        if turn == 0:
            self.scale_back = partial(blend, state, state.export())
            self.n_passes += 1
            exact_pass(state, self.pool, self._plan(), False)
        else:
            self.scale_back = partial(mix, state, dual_weights(state))
            is_full = (turn - 1) % self.constants.full_pass_every == 0
            approximate_pass(state, self._plan(), is_full)
        numbers = self._counts() - counts
        numbers[-1] = state.estimated_gap
        return *compact_change(state.live_v, self.received.w, self.caution), numbers

    def measure(self, share, news, dual, average=None):
        """Apply the share of the last move; return the values that certificates need.

        Parameters
        ----------
        share, news, dual : as in `advance`
        average : tuple of (ndarray or None, ndarray), optional
            Another w to measure at, as index and value.

        Returns
        -------
        hinges : list of (float, bool)
            At w and, if given, at the average: the sum of hinge losses, and whether all oracles
            were exact.
        n_labelings : int
            Number of cached labelings.
        """
        self._apply_share(share, news, dual)
        hinges = [full_pass(self.pool, self.state.live_w, self.block_weight)]
        if average is not None:
            w = expand(average, aligned_zeros(len(self.state.live_w)))
            hinges.append(full_pass(self.pool, w, self.block_weight, self.state))
        return hinges, self.state.n_labelings

    def rebuild(self, share):
        """Return the contribution to v and to the dual's linear part, from the dual weights.

        As index (None for all), value, and an array of one number. The next call must send v.
        """
        self._scale_back(share)
        self.state.rebuild()
        v = self.state.v() / self.caution
        self.received = ReceivedWeights(in_place=True)
        return *compact(v), np.array([self.state.linear])

    def keep(self, share, news, dual):
        """Apply the share of the last move; return the state for `restore_state`, without v."""
        self._apply_share(share, news, dual)
        kept = snapshot(self.state)
        del kept["weights"], kept["hidden"]
        return {**kept, "rounds": np.array([self.n_passes, self.received.version])}

    def export_state(self, share, news, dual):
        """Apply the share of the last move; return the state for a later fit."""
        self._apply_share(share, news, dual)
        return self.state.export()

    def restore_state(self, kept, v):
        """Restore the state of `keep`, of a partition with the same blocks, and its v.

        Raises
        ------
        ValueError
            If the arrays, which may come from a file, are invalid; names the field.
        """
        state = self.state
        weights = {"weights": state.w, "hidden": np.zeros(state.n_boxed)}
        rounds = kept_array(kept, "rounds", np.int64, 2, least=0, most=MAX_COUNT)
        resume(state, {**kept, **weights})
        place(state, v, state.dual)
        self.n_passes, version = rounds.tolist()
        self.received.update(version, 0, None, v)

    def _counts(self):
        state = self.state
        return np.array([state.linear, state.work, state.n_steps, state.n_oracle_calls, 0])

    def _scale_back(self, share):
        """Scale the dual weights back to the applied share of the last move."""
        if self.scale_back is not None and share != 1:
            self.scale_back(share)
        self.scale_back = None

    def _apply_share(self, share, news, dual):
        self._scale_back(share)
        if not self.received.update(*news):
            raise RuntimeError("the partition has missed previous changes of v")
        place(self.state, self.received.w, dual)
