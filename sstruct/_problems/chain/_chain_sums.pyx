# Design:
# (a) The distribution p(y) = exp(scale * score(y)) / Z of the labelings of each block of a ChainProblem. The
#     class implements the methods that `sum_blocks` of _problems/core calls in threads. Each thread has a
#     ChainSums, which reuses the exponentials of the transition scores for later blocks.
"""Log partition functions, marginals, spans and samples of chains."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from sstruct._kernels._random cimport Random
from sstruct._oracles.chain._sum_product cimport ChainSums
from sstruct._problems.chain._chain_problem cimport ChainProblem
from sstruct._problems.core._block_problem cimport BlockProblem, WrappedProblem
from sstruct._problems.core._thread_pool cimport ThreadPool

import numpy as np


cdef class ChainLabelings(WrappedProblem):
    """The labelings of all blocks of a ChainProblem that agree with its known labels.

    Parameters
    ----------
    problem : ChainProblem
        Without windows.
    """

    cdef ChainProblem chains
    cdef ChainSums sums
    cdef double[::1] padded         # marginals of a block

    def __init__(self, ChainProblem problem not None):
        WrappedProblem.__init__(self, problem)
        self.chains, self.sums = problem, ChainSums()
        self.padded = np.empty(problem.max_code_size * problem.KP)

    cdef Py_ssize_t code_size(self, Py_ssize_t i) noexcept nogil:
        return self.chains.length[i]

    cdef Py_ssize_t n_values(self, Py_ssize_t i) noexcept nogil:
        return self.chains.length[i] * self.chains.n_labels

    cdef void track(self, const double* w) noexcept nogil:
        self.chains.track(w)
        self.sums.table_of = NULL

    cdef double log_partition(
            self, Py_ssize_t i, const double* w, double scale, const int32_t* known) except? -1 nogil:
        if known != NULL:
            with gil:
                raise ValueError("known labels of chains must be passed to ChainProblem")
        self.chains.potentials(i, w, 0.0)
        return self.sums.log_partition(
            &self.chains.theta[0], self.chains.length[i], self.chains.n_labels, self.chains.KP,
            self.chains.edge, self.chains.edge_step, scale)

    cdef int probabilities(self, double* out) except -1 nogil:
        cdef Py_ssize_t l, K = self.chains.n_labels
        self.sums.backward()
        self.sums.marginals(&self.padded[0])
        for l in range(self.sums.L):
            memcpy(out + l * K, &self.padded[l * self.chains.KP], K * sizeof(double))
        return 0

    cdef int sample(self, Random* random, int32_t* labels) except -1 nogil:
        return self.sums.sample(random, labels)


cdef struct Spans:
    const double* weights
    double scale
    double* log_partition       # of each block
    const int64_t* rows         # start, stop and number of the type of each span
    const int64_t* first        # span of each block, and the number of spans
    const unsigned char* inside     # n_types x K
    const unsigned char* continues  # K x K
    double* probability         # of each span


cdef int sum_spans(
        void* context, BlockProblem problem, Py_ssize_t thread, Py_ssize_t i) except -1 nogil:
    cdef Spans* spans = <Spans*> context
    cdef const int64_t* row
    cdef Py_ssize_t r
    spans.log_partition[i] = problem.log_partition(i, spans.weights, spans.scale, NULL)
    if spans.log_partition[i] == -INFINITY:
        return 0
    (<ChainLabelings> problem).sums.backward()
    for r in range(spans.first[i], spans.first[i + 1]):
        row = spans.rows + 3 * r
        spans.probability[r] = (<ChainLabelings> problem).sums.span(
            row[0], row[1], spans.inside + row[2] * (<ChainLabelings> problem).chains.n_labels,
            spans.continues)
    return 0


def span_probabilities(
        ChainLabelings labelings not None, const double[::1] w, double scale, n_threads, spans,
        kinds, within):
    """Compute the probability of each span.

    Parameters
    ----------
    labelings : ChainLabelings
    w : ndarray of shape (n_weights,)
    scale : float
        Factor of the scores, the inverse temperature.
    n_threads : int
        Number of threads; the results do not depend on it.
    spans : array-like of int of shape (n_spans, 4)
        Rows (block, start, stop, type) in the order of blocks.
    kinds : array-like of bool of shape (n_types, K)
        The labels inside spans of each type.
    within : array-like of bool of shape (K, K)
        The transitions within spans.

    Returns
    -------
    log_partition : ndarray of shape (n_blocks,)
        -inf if the known labels or masks forbid every labeling; the probabilities of the spans of such
        a block are 0.
    probability : ndarray of shape (n_spans,)
    """
    labelings._check_weights(w)
    cdef Py_ssize_t n = labelings.n_blocks, K = labelings.chains.n_labels
    cdef const unsigned char[:, ::1] inside = np.ascontiguousarray(kinds, dtype=np.uint8)
    cdef const unsigned char[:, ::1] continues = np.ascontiguousarray(within, dtype=np.uint8)
    given = np.ascontiguousarray(spans, dtype=np.int64).reshape(-1, 4)
    if inside.shape[1] != K or continues.shape[0] != K or continues.shape[1] != K:
        raise ValueError(
            f"kinds and within have shapes {inside.shape[0], inside.shape[1]} and "
            f"{continues.shape[0], continues.shape[1]}, expected (n_types, {K}) and {(K, K)}")
    block, counts = given[:, 0], np.asarray(labelings.chains.length)
    if ((block < 0) | (block >= n) | (np.diff(block, prepend=0) < 0)).any() or (
            (given[:, 1] < 0) | (given[:, 2] <= given[:, 1]) | (given[:, 2] > counts[block])
            | (given[:, 3] < 0) | (given[:, 3] >= inside.shape[0])).any():
        raise ValueError("spans must be rows (block, start, stop, type) in the order of blocks")
    # Never empty, so that the address of the first entry exists.
    cdef const int64_t[:, ::1] rows = np.append(given[:, 1:], [[0, 0, 0]], axis=0)
    cdef const int64_t[::1] first = np.searchsorted(block, np.arange(n + 1)).astype(np.int64)
    log_partition, probability = np.empty(n), np.zeros(len(given) + 1)
    cdef double[::1] sums = log_partition, shares = probability
    cdef Spans context
    context.weights, context.scale, context.log_partition = &w[0], scale, &sums[0]
    context.rows, context.first, context.probability = &rows[0, 0], &first[0], &shares[0]
    context.inside = &inside[0, 0] if inside.shape[0] else NULL
    context.continues = &continues[0, 0]
    cdef ThreadPool pool = ThreadPool(labelings, n_threads)
    pool.run_blocks(sum_spans, &context, &w[0], 0, n)
    return log_partition, probability[:len(given)]
