# Design:
# (a) Lower bound, computed only from the dual variables alpha of the labels, not from those of the edges,
#     beta (`_label_block.pxd`). For marginals q_u, q_v of the labels, the mass of an edge on (1, 1) lies
#     in [max(0, q_u + q_v - 1), min(q_u, q_v)]; it determines the other masses, and no loss depends on
#     them. The consistent beta with the largest dual therefore minimizes the squared weight v_e^2 of each
#     edge e separately. The least and largest contributions of each sample to v_e are summed over the
#     samples; v_e is the point of the resulting interval that is closest to 0 or, with a prior, to minus
#     the prior's weight. The result is the maximum of the dual over beta for given alpha, and converges
#     to the optimum if alpha does. Finally, all dual variables are multiplied by the best factor between
#     0, which corresponds to the true labels, and 1.
# (b) Upper bound: the primal of the relaxation at any weights, by one call of the max-oracle per
#     sample, which is exact over the local polytope.
# (c) The labeling returned by the oracle may contain labels, possibly with fractional values, that are
#     not admitted. Of these, the one with the highest score is admitted. Once the labelings of a sample
#     contain only admitted labels, optimizing these is sufficient. Only one label is admitted at a
#     time, because early labelings contain many labels: otherwise, 90 of the 159 labels of bibtex would
#     be admitted by the tenth pass.
"""Bounds of GDMM on label sets, computed from scratch."""

from libc.stdint cimport int32_t

from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems.core._thread_pool cimport ThreadPool
from sstruct._problems.label_set._multilabel cimport MultilabelProblem
from sstruct._problems.core._rows cimport sstruct_add_row
from sstruct._solvers.core._state cimport sstruct_squared_norm
from sstruct._solvers.gdmm._label_block cimport LabelBlock, admit, is_admitted
from sstruct._solvers.gdmm._label_pass cimport LabelFactors

import numpy as np

from sstruct._solvers.core._state import aligned_zeros


cdef struct OracleCalls:
    const double* weights
    LabelBlock* blocks
    void* factors
    double* hinge
    int32_t* codes                  # per thread: the labeling of the oracle and the true one
    unsigned char* exact


cdef int call_oracle(
        void* context, BlockProblem problem, Py_ssize_t thread, Py_ssize_t i) except -1 nogil:
    cdef OracleCalls* calls = <OracleCalls*> context
    cdef Py_ssize_t width = problem.max_code_size
    cdef int32_t k
    cdef int32_t* code = calls.codes + 2 * width * thread
    cdef int32_t* truth = code + width
    cdef const int32_t* codes[1]
    cdef int32_t best = -1
    cdef double score = 0, work = 0, gain, most = 0
    cdef OracleAnswer answer
    codes[0] = truth
    problem.maximize(i, calls.weights, 1.0, code, &answer)
    problem.truth(i, truth)
    problem.scores(i, NULL, 1.0, codes, 1, &score, &work)
    if not answer.exact:
        calls.exact[thread] = False
        if problem.bounded:
            answer.value = max(answer.value, answer.bound)
    calls.hinge[i] = max(answer.value - score, 0)
    for k in range((<MultilabelProblem> problem).n_labels):
        if code[k] != 0 and not is_admitted(&calls.blocks[i], k):
            gain = (<MultilabelProblem> problem).theta[k]
            if best < 0 or gain > most:
                best, most = k, gain
    if best >= 0:
        admit(&calls.blocks[i], best, &(<LabelFactors> calls.factors).index)
    return 0


def hinge_losses(LabelFactors factors not None, ThreadPool pool not None, const double[::1] w):
    """Call the max-oracle of each sample at w, and admit at most one new label per sample.

    Returns
    -------
    hinge : ndarray of shape (n_blocks,)
        H_i(w) of the relaxation.
    exact : bool
        Whether every oracle call was exact.
    """
    cdef BlockProblem problem = pool.problem
    cdef Py_ssize_t n = problem.n_blocks
    cdef OracleCalls calls
    if problem is not factors.problem:
        raise ValueError("the factors belong to another problem")
    problem._check_weights(w)
    hinges, exacts = np.empty(n), np.ones(pool.n_threads, dtype=np.uint8)
    cdef double[::1] hinge = hinges
    cdef unsigned char[::1] exact = exacts
    cdef int32_t[::1] codes = np.empty(
        2 * pool.n_threads * problem.max_code_size, dtype=np.int32)
    calls.weights, calls.hinge, calls.codes = &w[0], &hinge[0], &codes[0]
    calls.blocks, calls.factors = factors.blocks, <void*> factors
    calls.exact = &exact[0]
    pool.run_blocks(call_oracle, &calls, NULL, 0, n)
    return hinges, bool(exacts.all())


def consistent_point(LabelFactors factors not None):
    """Return the best consistent dual point for the current alphas of the labels.

    Returns
    -------
    w : ndarray of shape (n_weights,)
        The weights of the point.
    dual : float
        The dual value of the point, a lower bound of the optimum.
    """
    cdef MultilabelProblem problem = factors.problem
    cdef LabelBlock* block
    cdef Py_ssize_t i, e, E = problem.n_edges
    cdef int32_t at, p, k
    cdef double linear = 0, square, scale, C, q_u, q_v, truth
    cdef bint at_zero = factors.prior is None
    cdef const double[::1] prior = np.zeros(1) if at_zero else factors.prior
    out = aligned_zeros(problem.n_weights + 1)
    cdef double[::1] w = out
    cdef double[::1] low = np.zeros(E + 1), high = np.zeros(E + 1)
    with nogil:
        for i in range(problem.n_blocks):
            block, C = &factors.blocks[i], factors.factor[i]
            for at in range(block.n_labels):
                k = block.label[at]
                linear += block.alpha[at] * (
                    -problem.cost[1, k] if at < block.n_true else problem.cost[0, k])
                if problem.bias:
                    w[problem.bias_at + k] += block.alpha[at]
            sstruct_add_row(
                &problem.rows, i, block.label, block.alpha, block.n_labels, &w[0], problem.KP)
            for p in range(block.n_pairs):
                e, k, at = block.edge[p], block.end[2 * p], block.end[2 * p + 1]
                # C times the values of the labels.
                q_u = (C if k < block.n_true else 0) - block.alpha[k]
                q_v = (C if at < block.n_true else 0) - block.alpha[at]
                truth = C if k < block.n_true and at < block.n_true else 0
                low[e] += truth - min(q_u, q_v)
                high[e] += truth - max(q_u + q_v - C, 0)
        for e in range(E):
            q_u = 0.0 if at_zero else -prior[problem.edge_at + e]
            w[problem.edge_at + e] = min(max(low[e], q_u), max(high[e], low[e]))
    if not at_zero:
        linear += float(out[:problem.n_weights] @ factors.prior)
    # Scale by the best factor. Scaling towards 0, the true labels, preserves consistency.
    square = sstruct_squared_norm(&w[0], problem.n_weights)
    scale = min(-linear / square, 1.0) if square > 0 and linear < 0 else (square == 0) * 1.0
    out *= scale
    if not at_zero:
        out[:problem.n_weights] += factors.prior
    return out[:problem.n_weights], factors.lam * scale * (-linear - 0.5 * scale * square)


def measures(LabelFactors factors not None):
    """Return the mean numbers per sample of admitted labels, of labels with nonzero alpha and of edges,
    and the sum of the squared alphas over all ends of edges.
    """
    cdef Py_ssize_t i, labels = 0, edges = 0, active = 0
    cdef int32_t at
    cdef double square = 0
    for i in range(factors.n_blocks):
        for at in range(2 * factors.blocks[i].n_pairs):
            square += factors.blocks[i].alpha[factors.blocks[i].end[at]] ** 2
        labels += factors.blocks[i].n_labels
        edges += factors.blocks[i].n_pairs
        for at in range(factors.blocks[i].n_labels):
            active += factors.blocks[i].alpha[at] != 0
    cdef double n = factors.n_blocks
    return labels / n, active / n, edges / n, square
