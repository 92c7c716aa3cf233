# Design:
# (a) Visits of working sets only (MP-BCFW, [S15]): the approximate oracle returns the best cached
#     labeling, without a call of the real one.
# (b) The gaps of most blocks are small. Therefore, most passes visit only the blocks whose last gap was
#     above the mean.
"""A pass over cached labelings."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from sstruct._kernels._random cimport random_shuffle
from sstruct._problems.core._block_problem cimport BlockProblem
from sstruct._problems.core._thread_pool cimport ThreadPool
from sstruct._solvers.core._score_summary cimport above_rounding, summarize
from sstruct._solvers.core._scratch cimport Lane, Move, Scratch, reserve
from sstruct._solvers.core._state cimport DualState, sstruct_prefetch
from sstruct._solvers.frank_wolfe._steps cimport (
    CORRECTION, FW, MAX_CORRECTIONS, StepKind, correct, take_visit_step)
from sstruct._solvers.frank_wolfe._stretches cimport shuffle_in_stretches
from sstruct._solvers.frank_wolfe._visits cimport Visits, visit_all
from sstruct._solvers.core._watch cimport Watch, start_watch
from sstruct._solvers.core._working_set cimport WorkingSet, labeling

import sys

from sstruct._solvers.frank_wolfe.constants import Constants

# Concurrent visits do not see each other's moves: more of them would gain less per visit.
MAX_LAG = 8
# Work of deciding whether to visit a block.
cdef double CHECK_WORK = 1
DEFAULTS = Constants()


cdef class PassPlan:
    """Plan of exact and approximate passes.

    Parameters
    ----------
    kind : StepKind
        Approximate visits make corrective steps, or one Frank-Wolfe step if this is FW.
    sampling : Sampling
        Order of exact passes. If it is SEQUENTIAL, approximate passes use stretches of the data too.
    number : int
        Number of the pass, with which new labelings are stamped.
    keep : int
        Number of passes that an idle labeling of weight 0 survives.
    deadline : float
        Deadline on the clock of `seconds`.
    lag : int
        A visit does not see the moves of this many visits before it, so up to lag + 1 visits
        may run concurrently.
    blocks : tuple of int, optional
        Range [first, last) of blocks, for passes over a shard of the data that visit each of its
        blocks once (PERMUTATION). None means all blocks.
    part : tuple of int, optional
        Range of the visits of an exact pass to make now. Its parts are made in order, and the first
        one shuffles the blocks. None means all visits.
    constants : Constants
        Largest size of a working set, and thresholds of cache hits.
    """

    def __init__(
            self, StepKind kind, Sampling sampling, Py_ssize_t number, Py_ssize_t keep,
            double deadline, blocks=None, Py_ssize_t lag=0, constants=DEFAULTS,
            part=None):
        if not 0 <= lag <= MAX_LAG:
            raise ValueError(f"lag must be between 0 and {MAX_LAG}, found {lag}")
        self.lag, self.max_working_set = lag, constants.max_working_set
        self.cache_gap_share = constants.cache_gap_share
        self.cache_mean_gap_share = constants.cache_mean_gap_share
        self.kind, self.sampling = kind, sampling
        self.number, self.keep, self.deadline = number, keep, deadline
        self.first, self.last = (0, sys.maxsize) if blocks is None else blocks
        self.begin, self.end = (0, sys.maxsize) if part is None else part
        if blocks is not None and not (sampling == PERMUTATION and 0 <= self.first < self.last):
            raise ValueError(f"blocks={blocks} requires PERMUTATION and a nonempty range, found {sampling}")


def approximate_pass(
        DualState state not None, PassPlan plan not None, bint all_blocks, ThreadPool pool=None):
    """Visit working sets, without calls of the oracle; return whether the pass was complete.

    If `all_blocks` is false, blocks are skipped if their last gap over the working set was not above
    the mean of these gaps, unless their last visit was an exact one.

    pool : threads for the visits; None for the calling thread only
    """
    cdef Watch watch = start_watch(plan.deadline)
    cdef Visits visits
    if pool is not None and pool.problem is not state.problem:
        raise ValueError("the pool belongs to another problem")
    visits.find, visits.tidy, visits.context = approximate_visit, NULL, <void*> plan
    visits.lag, visits.average, visits.work = plan.lag, NULL, 0
    if state.approximate_average is not None:
        visits.average = <void*> state.approximate_average
    visits.count, visits.alike = plan_visits(state, plan, all_blocks), not all_blocks
    return visit_all(&visits, state, pool, &watch)


cdef Py_ssize_t plan_visits(DualState state, PassPlan plan, bint all_blocks) noexcept nogil:
    """Write the blocks of a pass to `state.visits`, in random order; return their number."""
    cdef Py_ssize_t n = state.problem.n_blocks, a, i, n_known = 0, n_visits = 0
    cdef double mean = 0
    if state.n_shared < 0:
        list_shared(state, plan)
    # Blocks that cache only the truth count as known, with gap 0.
    n_known = min(plan.last, n) - plan.first - state.n_shared
    for a in range(state.n_shared):
        i = state.shared[a]
        if state.working_gaps[i] != INFINITY:
            mean += state.working_gaps[i]
            n_known += 1
    mean = mean / n_known if n_known > 0 else 0
    for a in range(state.n_shared):
        i = state.shared[a]
        if all_blocks or state.working_gaps[i] > mean:
            state.visits[n_visits] = i
            n_visits += 1
    state.work += CHECK_WORK * state.n_shared
    if plan.sampling == SEQUENTIAL:
        shuffle_in_stretches(&state.random, &state.visits[0], n_visits, n)
    else:
        random_shuffle(&state.random, &state.visits[0], n_visits)
    state.n_planned = n_visits
    return n_visits


cdef void list_shared(DualState state, PassPlan plan) noexcept nogil:
    """List the blocks of the plan with more than one labeling."""
    cdef Py_ssize_t i
    state.n_shared = 0
    for i in range(plan.first, min(plan.last, state.problem.n_blocks)):
        if state.working_sets[i].size > 1:
            state.shared[state.n_shared] = i
            state.n_shared += 1


cdef void announce(DualState state, Py_ssize_t a) noexcept nogil:
    """Prefetch the memory of later visits, which are short and in random order."""
    if a + 8 < state.n_planned:
        sstruct_prefetch(&state.working_sets[state.visits[a + 8]], sizeof(WorkingSet))
    if a + 4 < state.n_planned:
        state.prefetch(state.visits[a + 4])


cdef int approximate_visit(
        void* context, DualState state, BlockProblem problem, Lane* lane,
        Py_ssize_t a) except -1 nogil:
    """Visit a working set without calling the oracle; the context is the plan."""
    cdef Py_ssize_t i = state.visits[a]
    cdef WorkingSet* working_set = &state.working_sets[i]
    cdef Scratch* scratch = lane.scratch
    cdef Move* move = lane.move
    cdef StepKind kind = (<PassPlan> context).kind
    cdef Py_ssize_t number = (<PassPlan> context).number, keep = (<PassPlan> context).keep
    cdef Py_ssize_t k, first = 0, count, best
    cdef double mean = 0, gap, size = 0
    announce(state, a)
    reserve(scratch, working_set.size)
    move.block = i
    # The truth is included while it is active or if it was the best labeling in recent passes.
    if working_set.alpha[0] <= 0 and number - working_set.last_active[0] >= keep:
        first = 1
    count = working_set.size - first
    state.working_gaps[i] = 0
    if count >= 2:
        for k in range(count):
            scratch.member[k] = first + k
            scratch.codes[k] = labeling(working_set, first + k)
        problem.scores(i, lane.weights, 1.0, scratch.codes, count, scratch.score, &move.work)
        best = summarize(working_set, scratch, count, &mean, &size)
        gap = scratch.score[best] - mean
        working_set.last_active[first + best] = <int32_t> number
        if above_rounding(gap, size):
            state.working_gaps[i] = gap
            if kind == FW:
                take_visit_step(state, problem, lane, i, FW, best, count, mean)
                move.work += 5.0 * count
            else:
                move.work += correct(
                    state, problem, lane, i, first, count, CORRECTION * gap, MAX_CORRECTIONS)
    return 0
