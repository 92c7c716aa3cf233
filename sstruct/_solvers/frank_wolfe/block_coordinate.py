"""Schedule of passes and stopping of block-coordinate Frank-Wolfe and MP-BCFW.

The passes themselves are compiled; this module has no loop over blocks.
"""

import math
from typing import ClassVar

import numpy as np

from sstruct._kernels._clock import seconds
from sstruct._problems.core.kept_arrays import MAX_COUNT, kept_array
from sstruct._solvers.core._average import PassAverage
from sstruct._solvers.core._full_pass import full_pass
from sstruct._solvers.core._snapshot import resume, snapshot
from sstruct._solvers.core._state import DualState
from sstruct._solvers.core.checkpoint import note
from sstruct._solvers.core.solver import EXHAUSTED, Solver, gap, relative
from sstruct._solvers.core.status import Limit, Status
from sstruct._solvers.frank_wolfe._approximate_pass import PassPlan, Sampling, approximate_pass
from sstruct._solvers.frank_wolfe._exact_pass import exact_pass
from sstruct._solvers.frank_wolfe._steps import StepKind
from sstruct._solvers.frank_wolfe.constants import Constants
from sstruct._solvers.frank_wolfe.shards import Shard, shards_of

STEPS = {kind.name.lower(): kind for kind in StepKind}
SAMPLINGS = {sampling.name.lower(): sampling for sampling in Sampling}
# Samplings that visit every block in each pass.
EACH_ONCE = ("permutation", "sequential")

# New labelings of an exact pass also increase the cost of all later passes. Its work is therefore
# multiplied by this factor when approximate passes are compared with it. In one run each on OCR
# letters and CoNLL-2000, times to a gap of 0.01 varied by about a quarter for factors between 1 and
# 4, without a clear best one; the number of oracle calls falls as the factor grows.
EXACT_WEIGHT = 1.5
# Work of reading a byte of features of data that are visited shard by shard, for a disk of about
# 1 GB per second. With 0.15, 1.5 and 15, the chains of benchmarks/out_of_core.py (15,000) took 8, 7
# and 6 passes to a gap of 0.05 in 6 shards and 10, 9 and 9 in 12 (7 in memory), and 3.0, 3.8 and
# 4.6 s of CPU time in 6 shards (2.9 in memory; one run each).
READING_WORK = 1.0
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
# Largest number of sequential passes to recover a decrease of the dual by concurrent visits.
MAX_CLIMBS = 40
# Fraction of the gap, or of the tolerance if it is larger, by which the primal of a certificate may
# be too large because oracles stop early. On five sets of 60 graphs with 8 labels, times of fits
# for 0.2, 0.25 and 0.3 varied by up to a third, without a clear best one; 0.1 took up to a third
# longer than 0.2.
LOOSENESS = 0.3
# Estimated gaps are too small if oracles stop early, but less so after further passes: the excess
# of `gap_ratio` over 1 is multiplied by this factor after each pass.
FADING = 0.7
# Largest number of parts of an exact pass, see `Options`. On horses (60 graphs, 40 images), 10 and
# 20 parts took about the same time; 5 took up to a fifth longer, one for each block up to a third.
MAX_PARTS = 10
# A pass of cache hits calls no oracle. A fit ends after MAX_ROUNDS * max_iter passes in any case.
MAX_ROUNDS = 10
# With a cache, the gaps of blocks whose oracles were not called are old, so that estimates of the
# gap are often too small, while a certificate calls as many oracles as several passes. An early
# certificate therefore requires this many calls per block since the last one, or this many passes,
# since some passes call hardly any. With 1, 2 and 3 calls, fits to a gap of 0.01 called oracles
# 0.62 to 1.00, 0.56 to 1.02 and 0.56 to 1.00 times as often as without this condition, including
# certificates, and took 0.72 to 1.03, 0.67 to 1.02 and 0.69 to 1.07 of the CPU time (three seeds
# each of eight problems: grids, horses and snakes).
CALLS_BETWEEN = 2
PASSES_BETWEEN = 10


class FrankWolfeFit(Solver):
    """One fit: passes over a state until the certificate is good enough.

    Parameters
    ----------
    setup : Setup
    state : DualState, optional
        A new state, with ``draw`` for ``sampling="gap"`` and with ``average`` if iterates are
        averaged. By default, it is created here.
    """

    takes: ClassVar[dict] = {}
    has_dual_weights = True
    max_lag = MAX_LAG

    def __init__(self, setup, state=None):
        super().__init__(setup)
        options = setup.options
        self.constants = options.constants or Constants()
        if self.constants.sequential_visits:
            setup.problem.batch_size = 1
        setup.problem.begin_fit()
        if state is None:
            state = DualState(
                setup.problem,
                setup.lam,
                setup.block_weight,
                options.seed,
                bounds=setup.bounds,
                draw=options.sampling == "gap",
                average=options.average,
                prior=setup.prior,
            )
        if setup.warm is not None:
            try:
                setup.problem.restore_planes(setup.warm)
                state.restore(setup.warm)
            except ValueError as error:
                raise ValueError(f"cannot continue from the previous fit: {error}") from error
        self.state = state
        # Whether the last pass visited all blocks without a step.
        self.stalled = False
        # Drawing by gaps requires that all gaps are known.
        self.visits_all = options.sampling != "uniform"
        self.averaged = None
        self.shards = [Shard(0, setup.problem.n_blocks, [], 0)]
        if options.shard_bytes < math.inf:
            self.shards = shards_of(setup.problem, options.shard_bytes)
        self.lag = Lag(state, 0 if self.constants.sequential_visits else self.max_lag)
        # Order in which the last pass visited the shards.
        self.shard_order = list(range(len(self.shards)))
        # v and the linear term of the dual, computed from the working sets in this order, while
        # each shard was in memory; None if unknown or already used.
        self.rebuilt = None
        # Whether oracles may stop early in the certificate in progress.
        self.may_be_loose = False

    def export(self):
        """Return the state from which a later fit can continue, as arrays for ``Setup.warm``."""
        own = {"lam": self.lam, "block_weight": self.block_weight}
        return {**own, **self.problem.planes(), **self.state.export()}

    @property
    def w(self):
        """The last iterate, the average if that is better, or the best on held-out samples."""
        if isinstance(self.averaged, PassAverage):
            return self.state.clip(self.averaged.weights())
        return self.state.live_w if self.averaged is None else self.averaged

    def _best(self):
        # With a prior, the certificate requires all weights.
        short = isinstance(self.averaged, PassAverage) and self.prior is None
        return self.averaged.values if short else self.w

    def _expanded(self, solution):
        if not (isinstance(self.averaged, PassAverage) and self.prior is None):
            return solution
        w = self.state.live_w  # the last iterate is no longer needed
        self.averaged.copy_to(w)
        solution.w = self.state.clip(w)
        return solution

    @property
    def dual(self):
        """Dual value of the current dual weights."""
        return self.state.dual

    @property
    def n_oracle_calls(self):
        """Number of oracle calls, excluding certificates."""
        return self.state.n_oracle_calls

    @property
    def effective_passes(self):
        """Number of passes of n oracle calls each; cache hits do not count as calls."""
        if not self.options.cache:
            return self.n_passes
        return self.n_oracle_calls // self.problem.n_blocks

    @property
    def working_set_size(self):
        """Mean number of cached labelings of a block."""
        return self.state.n_labelings / self.problem.n_blocks

    def _iterate(self):
        """Make an exact pass and approximate ones; return the status, None if the fit continues."""
        options, state = self.options, self.state
        if self._spent():  # resumed after the last pass
            self._certify_unscheduled()
            unfinished = Status.STALLED if self.stalled else Status.MAX_ITER
            return Status.CONVERGED if self._converged() else unfinished
        n_steps = state.n_steps
        in_time = self._passes()
        self.n_passes += 1
        if self.pass_average is not None:
            self.pass_average.add(state.live_w)
        if self.held_out is not None and self._stops_early(self.points[-1]):
            return Status.EARLY_STOPPED
        # If blocks are drawn, a block that was not drawn may still have a gap.
        quiet = in_time and state.n_steps == n_steps
        self.stalled = stalled = quiet and self.visits_all
        self.visits_all = options.sampling in EACH_ONCE or quiet
        last = not in_time or stalled or self._spent()
        every = options.certificate_every
        if options.needs_gaps:
            every = min(every, self.constants.gap_refresh_every)
        due = stalled or self.n_passes % every == 0
        waits = options.cache and self._certified_recently()
        estimate = math.inf if waits else self._estimate()
        if not self.problem.may_be_hasty:
            due = due or estimate <= options.tol
        elif self.gap_ratio > 1:
            self.gap_ratio = 1 + FADING * (self.gap_ratio - 1)
        certified = due or estimate * self.gap_ratio <= options.tol
        self.is_loose = certified and self._certify_in_turn(due, in_time and not stalled)
        self._record(certified)
        if last and (self.is_loose or not due) and not (certified and self._converged()):
            self._certify_unscheduled()
            certified = True
        if certified:
            if self._converged():
                return Status.CONVERGED
            bounded = self.problem.bounded and not (self.exact or self.is_loose)
            if bounded and self._estimate() <= EXHAUSTED * options.tol:
                return Status.STALLED
        if not in_time:
            return Status.TIME_LIMIT
        if stalled:
            return Status.STALLED
        if last:
            return Status.MAX_ITER
        if self.checkpoint is not None and self.checkpoint.due():
            self._save()
        return None

    def _spent(self):
        """Whether max_iter passes of n oracle calls have been used up."""
        rounds = self.options.max_iter * (MAX_ROUNDS if self.options.cache else 1)
        return self._calls_spent() or self.n_passes >= rounds

    def _calls_spent(self):
        """Whether the oracle was called as often as in max_iter passes without a cache."""
        return self.state.n_oracle_calls >= self.options.max_iter * self.problem.n_blocks

    def _limit(self, status):
        if status is Status.MAX_ITER and self.options.cache:
            return Limit.CALLS if self._calls_spent() else Limit.ROUNDS
        return super()._limit(status)

    def _certified_recently(self):
        """Whether it is too soon after the last certificate for an early one."""
        calls = self.n_oracle_calls - self.history.at_certificate("oracle_calls")
        passes = self.n_passes - self.history.at_certificate("passes")
        return calls < CALLS_BETWEEN * self.problem.n_blocks and passes < PASSES_BETWEEN

    def _passes(self):
        """Make the passes over each shard of the data; return False if the deadline has passed."""
        state, self.rebuilt = self.state, None
        if len(self.shards) == 1:
            return self._passes_over(None)
        self.shard_order = state.permutation(len(self.shards))
        v, linear = np.zeros(self.problem.n_weights), 0.0
        for k in self.shard_order:
            shard = self.shards[k]
            if not self._passes_over(shard):
                return False
            linear += state.add_planes(v, shard.first, shard.last)
        self.rebuilt = v, linear
        return True

    def _rebuild(self):
        """Compute w and the dual from the working sets, against drift, always in the same order."""
        rebuilt, self.rebuilt = self.rebuilt, None
        if rebuilt is None:
            shards = [self.shards[k] for k in self.shard_order]
            self.state.rebuild([(shard.first, shard.last) for shard in shards])
        else:
            self.state.set_v(*rebuilt)

    def _passes_over(self, shard):
        """Make the passes over a shard or all data; return False if the deadline has passed."""
        dual = self.state.dual
        if shard is not None:
            shard.preload()
        self.lag.begin()
        with self.pool:
            in_time = self._exact_and_approximate(dual, shard)
        self._ensure_ascent(dual, shard)
        return in_time

    def _ensure_ascent(self, dual, shard=None):
        """Compute the dual exactly, and recover it if concurrent visits have lowered it."""
        self.lag.update(at_once=True)
        if self.lag.now == 0 and self.state.dual < dual:
            self._climb(dual, shard)

    def _exact_and_approximate(self, dual, shard):
        """Make an exact pass and approximate ones; return False if the deadline has passed."""
        options, state = self.options, self.state
        visits_all = self.visits_all and options.sampling not in EACH_ONCE
        for part in self._parts(shard):
            begin, plan = self._spending(), self._plan(visits_all, shard, part=part)
            if not exact_pass(state, self.pool, plan, options.cache):
                return False
            self.lag.update()
            if not options.multi_plane:
                return seconds() < self.deadline
            if options.schedule == "work":
                begin -= (EXACT_WEIGHT - 1) * (self._spending() - begin)
                begin -= 0.0 if shard is None else READING_WORK * shard.n_bytes
            if not self._approximate_passes(begin, dual, plan, shard):
                return False
            dual = state.dual
        return True

    def _parts(self, shard):
        """Return ranges of the visits of an exact pass, each followed by approximate passes."""
        n = self.problem.n_blocks
        if not self.options.in_parts or shard is not None:
            return [None]
        size = max(self.problem.batch_size, math.ceil(n / MAX_PARTS))
        return [(first, min(first + size, n)) for first in range(0, n, size)]

    def _climb(self, dual, shard=None):
        """Make sequential passes until the dual, lowered by concurrent visits, has recovered.

        Cached labelings, which include most of those with dual weight, need only a few passes.
        """
        state, plan = self.state, self._plan(shard=shard, in_order=True)
        for k in range(MAX_CLIMBS):
            if state.dual >= dual:  # may never hold if `dual` comes from a modified checkpoint
                break
            if k < MAX_CLIMBS // 2 and self.options.multi_plane:
                approximate_pass(state, plan, True)
            else:
                exact_pass(state, self.pool, plan, False)

    def _plan(self, visits_all=False, shard=None, in_order=False, part=None):
        """Return the plan of the next pass.

        visits_all : visit each block once, whatever the sampling
        in_order : visit one block at a time, without a deadline
        part : range of the visits of an exact pass; None for all
        """
        options = self.options
        in_turn = visits_all or shard is not None
        return PassPlan(
            STEPS[options.step],
            Sampling.PERMUTATION if in_turn else SAMPLINGS[options.sampling],
            self.n_passes + 1,
            self.constants.cache_lifetime if options.multi_plane or options.cache else 0,
            math.inf if in_order else self.deadline,
            None if shard is None else (shard.first, shard.last),
            0 if in_order else self.lag.now,
            self.constants,
            part,
        )

    def _approximate_passes(self, begin, dual, plan, shard=None):
        """Make passes while each gains more per unit of work than all since `begin` and `dual`.

        Return False if the deadline has passed.

        plan : of the first of these passes
        """
        state = self.state
        for k in range(self.constants.max_approximate_passes):
            if plan.lag != self.lag.now:
                plan = self._plan(shard=shard)
            before, dual_before = self._spending(), state.dual
            is_full = k % self.constants.full_pass_every == 0
            if not approximate_pass(state, plan, is_full, self.pool):
                return False
            if plan.lag > 0:
                self.lag.update()
            self.n_approximate += 1
            now = self._spending()
            if (state.dual - dual_before) * (now - begin) <= (state.dual - dual) * (now - before):
                break
        return seconds() < self.deadline

    def _spending(self):
        """Return the measure used by the rule for approximate passes: work, or time as in [S15]."""
        return self.state.work if self.options.schedule == "work" else seconds()

    def _end_early(self):
        if self.state.estimated:
            self.state.measure_dual()
        super()._end_early()

    def _estimate(self):
        """Return an estimate of the relative gap, from block gaps at different w."""
        estimate = self.state.estimated_gap
        return relative(estimate, self.state.dual + estimate)

    @property
    def points(self):
        """The last iterate and, if there is one, the average: the candidates for `w`."""
        average = self._average()
        return [self.state.live_w] + ([] if average is None else [average])

    def _average(self):
        """Return the averaged iterate, or None if there is none."""
        if self.pass_average is not None and self.pass_average.count > 0:
            return self.state.clip(self.pass_average.weights())  # rounding may violate the bounds
        return self.state.average() if self.options.average else None

    def _evaluate(self, last_iterate):
        """Rebuild w from the working sets, against drift, and compute the primal.

        The primal is computed at the average, if there is one, and at w if `last_iterate` is true
        or there is no average.
        """
        self.problem.set_tolerance(self._oracle_tolerance())
        try:
            self._evaluate_points(last_iterate)
        finally:
            self.problem.set_tolerance(0.0)
        return True

    def _certify_unscheduled(self):
        super()._certify_unscheduled()
        self.is_loose = False

    def _certify_in_turn(self, due, loosely):
        """Certify; if `loosely`, oracles may stop early, and a small gap is certified again.

        Return whether oracles may have stopped early in the last certificate. This must not depend
        on the limit of the passes, because later passes of a resumed fit use the gaps of blocks.
        """
        self.may_be_loose = loosely and self.problem.may_be_hasty
        try:
            self._certify(due)
            if not self.may_be_loose or self.exact:
                return False
            if seconds() >= self.deadline:
                return True
        finally:
            self.may_be_loose = False
        if self._converged():
            self._sharpen()
        elif self._estimate() <= EXHAUSTED * self.options.tol:
            self._certify(due)
        else:
            return True
        return False

    def _sharpen(self):
        """Compute the primal of the last certificate again, without letting oracles stop early."""
        begin = seconds()
        primal, exact = self._primal_at(self.w, self.state)
        if primal <= self.primal:  # oracles may have reached their limits
            self.primal, self.exact = primal, exact
        self.certificate_seconds += seconds() - begin

    def _oracle_tolerance(self):
        """Return the largest allowed error of an oracle's bound in a certificate."""
        if not self.may_be_loose:
            return 0.0
        wanted = self.options.tol * max(self.state.dual, 0.0)
        if self.state.estimated_gap < math.inf:
            wanted = max(wanted, self.state.estimated_gap)
        return LOOSENESS * wanted / sum(self.block_weight)

    def _evaluate_points(self, last_iterate):
        state = self.state
        estimate = self._estimate()
        self.primal, self.averaged = math.inf, None
        self._rebuild()
        if len(self.shards) > 1:
            self._evaluate_by_shards(estimate)
            return
        has_average = self._has_average()
        if last_iterate or not has_average:
            self.primal, self.exact = self._primal_at(
                state.live_w, state if self.options.needs_gaps else None
            )
        if has_average:  # after the primal, so that an interruption keeps it
            self._weigh_average(*self._at_average(), estimate)

    def _at_average(self):
        """Return the average, its primal, and whether the oracles were exact."""
        state = self.state
        if self.pass_average is None:
            average = self._average()
            return average, *self._primal_at(average, state)

        def primal():
            return self.pass_average, *self._primal_at(state.clip(state.live_w), state, gaps=False)

        return self.pass_average.evaluate(state.live_w, primal)

    def _has_average(self):
        """Whether there is an average of at least one iterate."""
        if self.pass_average is not None:
            return self.pass_average.count > 0
        return self.options.average and self.state.has_average

    def _evaluate_by_shards(self, estimate):
        """Compute the primal at w and at the average, reading each shard of the data once."""
        state, average = self.state, self._average()
        points = [(state.live_w, state if self.options.needs_gaps else None)]
        points += [] if average is None else [(average, state)]
        hinges, exact = np.zeros(len(points)), np.ones(len(points), dtype=bool)
        for shard in self.shards:
            for k, (w, point_state) in enumerate(points):
                hinge, sure = full_pass(
                    self.pool, w, self.block_weight, point_state, shard.first, shard.last
                )
                hinges[k] += hinge
                exact[k] &= sure
        primals = [
            self._objective(w, hinge) for (w, _), hinge in zip(points, hinges.tolist(), strict=True)
        ]
        self.primal, self.exact = primals[0], bool(exact[0])
        if average is not None:
            self._weigh_average(average, primals[1], bool(exact[1]), estimate)

    def _weigh_average(self, average, primal, exact, estimate):
        """Use the average as w if its primal is smaller."""
        if primal < self.primal:
            self.primal, self.exact, self.averaged = primal, exact, average
        if 0 < estimate < math.inf:
            self.gap_ratio = relative(gap(primal, self.state.dual), primal) / estimate

    def _evaluate_at(self, w):
        """Replace the current weights, and compute the primal against rebuilt dual weights."""
        self.averaged, self.primal, self.exact = w, math.inf, True
        self.problem.set_tolerance(0.0)
        self._rebuild()
        self.primal, self.exact = self._primal_at(w, self.state)

    def _rounding(self, w, primal, dual):
        return self.rounding.bound(self.lam, primal, dual, w, self.state.live_w)

    def _save(self):
        """Write a checkpoint at the end of a pass, so that no work is repeated after resuming."""
        columns, notes = self._record_kept()
        more = {"shard_order": np.array(self.shard_order, dtype=np.int64)}
        if self.held_out is not None:
            more["best_weights"] = self.held_out.w
        self.checkpoint.save(
            {**snapshot(self.state), **columns, **more},
            {
                **notes,
                "visits_all": bool(self.visits_all),
                "stalled": self.stalled,
                **self.lag.notes(),
            },
        )

    def _resume(self, arrays, notes):
        self._restore_record(arrays, notes)
        resume(self.state, arrays)
        order = kept_array(arrays, "shard_order", np.int64, len(self.shards)).tolist()
        if sorted(order) != list(range(len(order))):
            raise ValueError(f"shard_order: expected each of 0 to {len(order) - 1} once")
        self.shard_order = order
        if self.held_out is not None:
            self.held_out.resume(arrays, self.problem, self.state.clip)
        self.visits_all = note(notes, "visits_all", bool)
        self.stalled = note(notes, "stalled", bool)
        self.lag.resume(notes)


class Lag:
    """The lag of the passes of a fit: number of previous visits whose moves a visit does not see.

    It is adapted to the share of the expected gain that concurrent visits lose.

    Parameters
    ----------
    state : DualState
    most : int
        Largest lag; 0 for sequential visits, which small fits always use.
    """

    loss, n_seen = 0.0, 0

    def __init__(self, state, most=MAX_LAG):
        problem, n = state.problem, state.problem.n_blocks
        if problem.in_order or n < FEWEST_BLOCKS or n * problem.oracle_work < MIN_WORK:
            most = 0
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
