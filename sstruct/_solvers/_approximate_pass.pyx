# Design:
# (a) Visits of working sets alone (MP-BCFW, paper 000): the approximate oracle is the best cached
#     labeling, no call of the real one.
# (b) Most blocks have little left to gain: between passes over all of them come passes over those
#     whose last gap was above the mean.
"""A pass over cached labelings."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from sstruct._solvers._random cimport random_shuffle
from sstruct._solvers._scores cimport above_rounding, summarize
from sstruct._solvers._scratch cimport Scratch
from sstruct._solvers._state cimport DualState
from sstruct._solvers._steps cimport (
    CORRECTION, FW, MAX_CORRECTIONS, StepKind, correct, take_visit_step)
from sstruct._solvers._watch cimport Watch, look, start_watch
from sstruct._solvers._working_set cimport WorkingSet, labeling

cdef extern from "_kernels.h":
    void sstruct_prefetch(const void* memory, Py_ssize_t size) noexcept nogil

# Work of looking at a block and skipping it.
cdef double SKIP_WORK = 3


def approximate_pass(
        DualState state not None, StepKind kind, bint all_blocks, Py_ssize_t number, Py_ssize_t keep,
        double deadline):
    """Visit working sets alone, with corrective steps, or one Frank-Wolfe step where kind is FW.

    Unless `all_blocks`, blocks whose last gap over the working set is not above the mean of
    such gaps are skipped; blocks not visited so since their last exact visit never are.
    Returns whether the pass was complete.
    """
    cdef Py_ssize_t n = state.problem.n_blocks, a, i, n_known = 0
    cdef double mean = 0
    cdef Watch watch = start_watch(deadline)
    cdef bint late = False
    with nogil:
        for i in range(n):
            if state.working_gaps[i] != INFINITY:
                mean += state.working_gaps[i]
                n_known += 1
        mean = mean / n_known if n_known > 0 else 0
        random_shuffle(&state.random, &state.order[0], n)
        for a in range(n):
            i = state.order[a]
            state.work += SKIP_WORK
            announce(state, a, all_blocks, mean)
            if all_blocks or state.working_gaps[i] > mean:
                approximate_visit(state, i, kind, number, keep)
                if look(&watch, state.work):
                    late = True
                    break
    return not late


cdef void announce(DualState state, Py_ssize_t a, bint all_blocks, double mean) noexcept nogil:
    """Ask for the memory of visits to come: they are in random order, and short."""
    cdef Py_ssize_t n = state.problem.n_blocks, i
    if a + 8 < n:
        sstruct_prefetch(&state.working_sets[state.order[a + 8]], sizeof(WorkingSet))
    if a + 4 < n:
        i = state.order[a + 4]
        if all_blocks or state.working_gaps[i] > mean:
            state.prefetch(i)


cdef int approximate_visit(
        DualState state, Py_ssize_t i, StepKind kind, Py_ssize_t number,
        Py_ssize_t keep) except -1 nogil:
    cdef WorkingSet* working_set = &state.working_sets[i]
    cdef Scratch* scratch = state.scratch
    cdef Py_ssize_t k, first = 0, count, best
    cdef double mean = 0, gap, size = 0
    # The truth takes part while it is active or an oracle has lately returned it.
    if working_set.alpha[0] <= 0 and number - working_set.last_active[0] >= keep:
        first = 1
    count = working_set.size - first
    state.working_gaps[i] = 0
    if count >= 2:
        for k in range(count):
            scratch.member[k] = first + k
            scratch.codes[k] = labeling(working_set, first + k)
        state.problem.scores(
            i, &state.weights[0], 1.0, scratch.codes, count, scratch.score, &state.work)
        best = summarize(working_set, scratch, count, &mean, &size)
        gap = scratch.score[best] - mean
        working_set.last_active[first + best] = <int32_t> number
        if above_rounding(gap, size):
            state.working_gaps[i] = gap
            if kind == FW:
                take_visit_step(state, i, FW, best, count, mean)
                state.work += 5.0 * count
            else:
                state.work += correct(state, i, first, count, CORRECTION * gap, MAX_CORRECTIONS)
    if state.approximate_average is not None:
        state.approximate_average.follow(state.linear)
    return 0
