# Design:
# (a) One oracle call per block at fixed weights, in threads; weights and dual weights do not change. The
#     hinge losses give the primal; the gaps between them and the working sets guide sampling and caching.
# (b) An approximate oracle may miss a labeling that is in the working set. If a state is given, the
#     better labeling is used. Gap and primal are still estimates, but no known labeling exceeds them.
# (c) If such an oracle returns an upper bound, the hinge loss is that bound and the primal is a valid
#     upper bound. Block gaps are still computed from the labelings found: visiting a block because of
#     a loose bound gains nothing.
# (d) Oracle calls store no state for later calls, so a full pass does not change other passes.
# (e) Threads write to separate entries, and sums run in the order of the blocks.
"""A pass that computes hinge losses and block gaps at fixed weights."""

from libc.stdint cimport int32_t

from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems.core._thread_pool cimport ThreadPool
from sstruct._solvers.core._score_summary cimport gather, summarize
from sstruct._solvers.core._scratch cimport Scratch, reserve
from sstruct._solvers.core._state cimport DualState
from sstruct._solvers.core._working_set cimport WorkingSet

import numpy as np


cdef struct Evaluation:
    const double* weights
    const WorkingSet* working_sets   # NULL: use the oracles only
    double* hinge
    double* gap                      # NULL: compute hinge losses only
    Scratch* scratches
    int32_t* codes                   # per thread: an answer and the truth
    unsigned char* exact


cdef int evaluate(
        void* context, BlockProblem problem, Py_ssize_t thread, Py_ssize_t i) except -1 nogil:
    """Compute the hinge loss, and the gap if requested, of a block."""
    cdef Evaluation* evaluation = <Evaluation*> context
    cdef Py_ssize_t width = problem.max_code_size, count, best
    cdef int32_t* code = evaluation.codes + 2 * width * thread
    cdef int32_t* truth = code + width
    cdef const int32_t* codes[1]
    cdef double score = 0, mean = 0, size = 0, work = 0
    cdef OracleAnswer answer
    cdef Scratch* scratch
    codes[0] = truth
    problem.maximize(i, evaluation.weights, 1.0, code, &answer)
    problem.truth(i, truth)
    problem.scores(i, NULL, 1.0, codes, 1, &score, &work)
    if not answer.exact:
        evaluation.exact[thread] = False
    if evaluation.gap != NULL or (evaluation.working_sets != NULL and not answer.exact):
        scratch = &evaluation.scratches[thread]
        reserve(scratch, evaluation.working_sets[i].size)
        count = gather(&evaluation.working_sets[i], scratch, not answer.exact, -1)
        problem.scores(i, NULL, 1.0, scratch.codes, count, scratch.score, &work)
        best = summarize(&evaluation.working_sets[i], scratch, count, &mean, &size)
        if not answer.exact:
            answer.value = max(answer.value, scratch.score[best])
        if evaluation.gap != NULL:
            evaluation.gap[i] = answer.value - mean
    if problem.bounded and not answer.exact:
        answer.value = max(answer.value, answer.bound)
    evaluation.hinge[i] = max(answer.value - score, 0)
    return 0


def full_pass(
        ThreadPool pool not None, const double[::1] w, const double[::1] block_weight,
        DualState state=None, Py_ssize_t first=0, last=None, bint gaps=True):
    """Compute the block hinge losses H_i(w) by one oracle call per block.

    If `state` is given, only its block gaps may change.

    Parameters
    ----------
    pool : ThreadPool
    w, block_weight : ndarray of shape (n_weights,) and (n_blocks,)
    state : DualState, optional
        Its labelings are used if an oracle is approximate. If its weights are w, its block gaps are
        computed too and replace the estimates.
    first, last : int, optional
        Range [first, last) of blocks, for one shard of the data. With a state, the shards must be
        passed in order.
    gaps : bool
        Whether block gaps may be computed. Pass False while the memory of the state's weights
        contains other weights.

    Returns
    -------
    total : float
        sum_i q_i H_i(w) over these blocks, summed in their order. If the oracle of a block is not
        exact but bounded, H_i is the bound.
    exact : bool
        Whether every oracle call was exact.
    """
    cdef BlockProblem problem = pool.problem
    cdef Py_ssize_t i, n = problem.n_blocks, end = n if last is None else last
    # Blocks of a run: all blocks, or those whose oracles are called together.
    cdef Py_ssize_t begin, stop, span = problem.ahead_size if problem.ahead_size > 0 else end - first
    cdef Py_ssize_t[::1] asked = np.arange(n, dtype=np.intp) if problem.ahead_size > 0 else None
    cdef double total = 0
    cdef Evaluation evaluation
    cdef bint has_gaps = gaps and state is not None and &state.weights[0] == &w[0]
    if w.shape[0] != problem.n_weights:
        raise ValueError(f"w has {w.shape[0]} entries, expected {problem.n_weights}")
    if block_weight.shape[0] != n:
        raise ValueError(f"block_weight has {block_weight.shape[0]} entries, expected {n}")
    if not 0 <= first < end <= n:
        raise ValueError(f"[{first}, {end}) is not a nonempty range of {n} blocks")
    cdef double[::1] hinge = np.empty(n), gap = hinge
    cdef unsigned char[::1] exact = np.empty(pool.n_threads, dtype=np.uint8)
    cdef bint all_exact = True
    cdef int32_t[::1] codes = np.empty(
        2 * pool.n_threads * problem.max_code_size, dtype=np.int32)
    evaluation.weights, evaluation.hinge, evaluation.codes = &w[0], &hinge[0], &codes[0]
    exact[:] = True
    evaluation.exact = &exact[0]
    evaluation.working_sets, evaluation.gap, evaluation.scratches = NULL, NULL, NULL
    if state is not None:
        if state.problem is not problem:
            raise ValueError("the state belongs to another problem")
        state.reserve_scratches(pool.n_threads)
        evaluation.working_sets, evaluation.scratches = state.working_sets, state.scratch
    if has_gaps:
        gap = np.empty(n)
        evaluation.gap = &gap[0]
    problem.remember(False)
    try:
        for begin in range(first, end, span):
            stop = min(begin + span, end)
            if problem.ahead_size > 0:
                problem.ask_ahead(&asked[begin], stop - begin, &w[0], 1.0)
            pool.run_blocks(evaluate, &evaluation, &w[0], begin, stop)
    finally:
        problem.remember(True)
    for i in range(first, end):
        total += block_weight[i] * hinge[i]
    if has_gaps:
        if first == 0:
            state.total_gap = 0
        for i in range(first, end):
            state.set_gap(i, gap[i])
            state.total_gap += block_weight[i] * state.gap_estimates[i]
    for i in range(pool.n_threads):
        all_exact &= exact[i]
    return total, all_exact
