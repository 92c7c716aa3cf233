# Design:
# (a) One pass over blocks of any BlockProblem, the GIL released: exact (an oracle call a visit),
#     approximate (working sets alone), certificate (an oracle call a block, nothing moves).
# (b) An exact pass draws batches. The oracles of a batch run at one w; its blocks are then stepped
#     in order, each scored at the current w: the dual rises with every step and the result does
#     not depend on who ran the oracles. With batches of 1 the oracle's own potentials are used.
# (c) Passes stop between two visits for a signal or a deadline; the state is then valid.
# (d) Policy (which pass next, when to stop) is in frank_wolfe.py.
"""One pass over the blocks."""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t

from sstruct._problems._block_problem cimport BlockProblem, OracleAnswer
from sstruct._solvers._random cimport random_below, random_shuffle
from sstruct._solvers._state cimport DualState
from sstruct._solvers._steps cimport CORRECTIVE, FW, StepKind, correct, take_visit_step
from sstruct._solvers._watch cimport Watch, look, sstruct_seconds, start_watch
from sstruct._solvers._working_set cimport WorkingSet, erase, find, insert, labeling

import numpy as np

# An approximate visit stops at this share of the gap it found, or after so many steps.
cdef double CORRECTION = 0.1
cdef Py_ssize_t MAX_CORRECTIONS = 20
# A block gap below this share of its scores is rounding, and no step follows it.
cdef double ROUNDING = 32 * 2.220446049250313e-16
# Work of looking at a block and skipping it.
cdef double SKIP_WORK = 3


def seconds():
    """The clock that deadlines refer to."""
    return sstruct_seconds()


cdef void drop_idle(DualState state, Py_ssize_t i, Py_ssize_t number, Py_ssize_t keep) noexcept nogil:
    """Erase labelings of weight 0 that nothing has found best for `keep` passes."""
    cdef WorkingSet* working_set = &state.working_sets[i]
    cdef Py_ssize_t k
    for k in range(working_set.size - 1, 0, -1):
        if working_set.alpha[k] <= 0 and number - working_set.last_active[k] >= keep:
            erase(working_set, k)
            state.n_labelings -= 1


cdef int step_exactly(
        DualState state, Py_ssize_t i, const int32_t* code, StepKind kind, bint fresh,
        Py_ssize_t number, Py_ssize_t keep) except -1 nogil:
    """Insert the oracle's answer, score at the current w, step, forget what is idle.

    fresh: the potentials of block i at the current w are in the problem's scratch.
    """
    cdef WorkingSet* working_set = &state.working_sets[i]
    cdef Py_ssize_t k, count = 0, s = find(working_set, code), at = 0
    cdef double mean = 0, gap, loss = 0, size = 0
    if s < 0:
        state.problem.loss(i, code, &loss)
        s = insert(working_set, code, loss)
        state.n_labelings += 1
        state.reserve(working_set.size)
    working_set.last_active[s] = <int32_t> number
    for k in range(working_set.size):
        if kind == CORRECTIVE or working_set.alpha[k] > 0 or k == s:
            if k == s:
                at = count
            state.member[count] = k
            state.codes[count] = labeling(working_set, k)
            count += 1
    state.problem.scores(
        i, NULL if fresh else &state.weights[0], 1.0, state.codes, count, state.score, &state.work)
    for k in range(count):
        mean += working_set.alpha[state.member[k]] * state.score[k]
        size = max(size, fabs(state.score[k]))
    gap = state.score[at] - mean
    if fresh:
        state.gap_estimates[i] = max(gap, 0)
    state.working_gaps[i] = INFINITY
    if gap > ROUNDING * size:
        state.n_steps += 1
        take_visit_step(state, i, kind, s, count, gap)
    drop_idle(state, i, number, keep)
    return 0


def exact_pass(
        DualState state not None, StepKind kind, bint permute, Py_ssize_t number, Py_ssize_t keep,
        double deadline):
    """Visit n blocks with their max-oracles, in batches.

    Parameters
    ----------
    state : DualState
    kind : StepKind
    permute : bool
        Every block once, in random order; otherwise n draws with replacement (no block twice
        in a batch).
    number : int
        Number of the pass, the stamp of labelings found.
    keep : int
        Passes that an idle labeling of weight 0 survives.
    deadline : float
        On the clock of `seconds`.

    Returns
    -------
    bool
        Whether the pass was complete.
    """
    cdef BlockProblem problem = state.problem
    cdef Py_ssize_t n = problem.n_blocks, B = max(min(problem.batch_size, n), 1)
    cdef Py_ssize_t done = 0, size, b, c, i, width = problem.max_code_size
    cdef OracleAnswer answer
    cdef Watch watch = start_watch(deadline)
    cdef int32_t[:, ::1] answers = np.empty((B, width), dtype=np.int32)
    cdef Py_ssize_t[::1] batch = np.empty(B, dtype=np.intp)
    cdef bint late = False, drawn
    with nogil:
        if permute:
            random_shuffle(&state.random, &state.order[0], n)
        while done < n and not late:
            size = min(B, n - done)
            for b in range(size):
                if permute:
                    batch[b] = state.order[done + b]
                    continue
                drawn = True
                while drawn:
                    batch[b] = random_below(&state.random, n)
                    drawn = False
                    for c in range(b):
                        drawn = drawn or batch[c] == batch[b]
            for b in range(size):
                i = batch[b]
                problem.maximize(i, &state.weights[0], 1.0, &answers[b, 0], &answer)
                state.work += answer.work
                if B > 1:
                    state.gap_estimates[i] = max(answer.value - mean_score(state, i), 0)
                    # Batches are for dear oracles: a signal does not wait for the last of them.
                    if look(&watch, state.work):
                        late = True
            state.n_oracle_calls += size
            for b in range(size):
                step_exactly(state, batch[b], &answers[b, 0], kind, B == 1, number, keep)
                if look(&watch, state.work):
                    late = True
            done += size
    return done >= n


cdef double mean_score(DualState state, Py_ssize_t i) except? -1 nogil:
    """sum_k alpha_k h_k from the potentials that the oracle has just left."""
    cdef WorkingSet* working_set = &state.working_sets[i]
    cdef Py_ssize_t k, count = 0
    cdef double mean = 0
    for k in range(working_set.size):
        if working_set.alpha[k] > 0:
            state.member[count] = k
            state.codes[count] = labeling(working_set, k)
            count += 1
    state.problem.scores(i, NULL, 1.0, state.codes, count, state.score, &state.work)
    for k in range(count):
        mean += working_set.alpha[state.member[k]] * state.score[k]
    return mean


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
            if all_blocks or state.working_gaps[i] > mean:
                approximate_visit(state, i, kind, number, keep)
                if look(&watch, state.work):
                    late = True
                    break
    return not late


cdef int approximate_visit(
        DualState state, Py_ssize_t i, StepKind kind, Py_ssize_t number,
        Py_ssize_t keep) except -1 nogil:
    cdef WorkingSet* working_set = &state.working_sets[i]
    cdef Py_ssize_t k, first = 0, count, best = 0
    cdef double mean = 0, gap, size = 0
    # The truth takes part while it is active or an oracle has lately returned it.
    if working_set.alpha[0] <= 0 and number - working_set.last_active[0] >= keep:
        first = 1
    count = working_set.size - first
    state.working_gaps[i] = 0
    if count < 2:
        return 0
    for k in range(count):
        state.member[k] = first + k
        state.codes[k] = labeling(working_set, first + k)
    state.problem.scores(
        i, &state.weights[0], 1.0, state.codes, count, state.score, &state.work)
    for k in range(count):
        if state.score[k] > state.score[best]:
            best = k
        mean += working_set.alpha[first + k] * state.score[k]
        size = max(size, fabs(state.score[k]))
    gap = state.score[best] - mean
    working_set.last_active[first + best] = <int32_t> number
    if gap > ROUNDING * size:
        state.working_gaps[i] = gap
        if kind == FW:
            take_visit_step(state, i, FW, first + best, count, gap)
            state.work += 2.0 * count * count
        else:
            state.work += correct(state, i, first, count, CORRECTION * gap, MAX_CORRECTIONS)
    return 0


def certificate_pass(
        BlockProblem problem not None, const double[::1] w, const double[::1] block_weight):
    """Compute the block hinge losses H_i(w), one oracle call each; nothing moves.

    Returns
    -------
    total : float
        sum_i q_i H_i(w), summed in the order of the blocks.
    exact : bool
        Whether every oracle call was.
    """
    cdef Py_ssize_t i, n = problem.n_blocks
    cdef double total = 0, work = 0, score = 0
    cdef bint exact = True
    cdef OracleAnswer answer
    cdef Watch watch = start_watch(INFINITY)
    cdef int32_t[::1] code = np.empty(problem.max_code_size, dtype=np.int32)
    cdef int32_t[::1] truth = np.empty(problem.max_code_size, dtype=np.int32)
    cdef const int32_t* codes[1]
    if w.shape[0] != problem.n_weights or block_weight.shape[0] != n:
        raise ValueError("w or block_weight does not fit the problem")
    codes[0] = &truth[0]
    with nogil:
        for i in range(n):
            problem.maximize(i, &w[0], 1.0, &code[0], &answer)
            problem.truth(i, &truth[0])
            problem.scores(i, NULL, 1.0, codes, 1, &score, &work)
            total += block_weight[i] * (answer.value - score if answer.value > score else 0)
            exact = exact and answer.exact
            work += answer.work
            look(&watch, work)
    return total, exact
