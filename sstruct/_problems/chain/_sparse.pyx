# Design:
# (a) Prediction and hinge losses of chains whose transition weights are mostly 0: the nonzero weights
#     are stored as sparse rows once, and every block is decoded by _oracles/chain/_sparse_viterbi.pyx,
#     in threads. This is not part of _chain_problem.pyx, where weights change between blocks.
# (b) Requires that there are no masks, because forbidden transitions have scores but no weights, and
#     that there is one table for all transitions.
"""Decoding of chains with sparse transitions."""

from libc.stdint cimport int32_t, int64_t

from sstruct._oracles.chain._sparse_viterbi cimport (
    SparseScratch, SparseTransitions, sparse_viterbi_labels)
from sstruct._problems.core._block_problem cimport BlockProblem
from sstruct._problems.chain._chain_problem cimport ChainProblem
from sstruct._problems.core._thread_pool cimport ThreadPool

import numpy as np

from sstruct._checks.arrays import contiguous
from sstruct._oracles.chain._sparse_viterbi import row_maxima
from sstruct._problems.core._rows import csr_arrays

# Sparse decoding is faster for at least this many labels and at most this share of nonzero
# transitions: twice as fast with 200 labels and a share of 0.02, 60 times as fast with 3,000 labels and
# 0.03. With a share of 0.3, it is slower for up to 800 labels.
MIN_LABELS = 200
MAX_DENSITY = 0.1


cdef struct SparseDecoding:
    const double* weights
    double loss_weight
    const SparseTransitions* edge
    SparseScratch* scratches    # one per thread
    const Py_ssize_t* start
    int32_t* codes
    double* hinge               # of each block, or NULL


cdef int decode_chain(
        ChainProblem problem, Py_ssize_t i, SparseDecoding* decoding,
        SparseScratch* scratch) except -1 nogil:
    cdef double value, score = 0, work = 0
    cdef const int32_t* codes[1]
    problem.potentials(i, decoding.weights, decoding.loss_weight)
    value = sparse_viterbi_labels(
        &problem.theta[0], problem.length[i], problem.KP, decoding.edge, problem.n_labels,
        decoding.codes + decoding.start[i], &problem.best[0], &problem.origin[0], scratch)
    if decoding.hinge != NULL:
        codes[0] = &problem.labels[problem.start[i]]
        problem.scores(i, NULL, decoding.loss_weight, codes, 1, &score, &work)
        decoding.hinge[i] = max(value - score, 0)
    return 0


cdef int decode_block(
        void* context, BlockProblem problem, Py_ssize_t thread, Py_ssize_t i) except -1 nogil:
    cdef SparseDecoding* decoding = <SparseDecoding*> context
    return decode_chain(<ChainProblem> problem, i, decoding, &decoding.scratches[thread])


def sparse_transitions(table):
    """Return (indptr, indices, values) of the rows of a (K, K) table, or None if it is small or dense."""
    K = len(table)
    if K < MIN_LABELS or np.count_nonzero(table) > int(MAX_DENSITY * K * K):
        return None
    return csr_arrays(contiguous(table))


def decode_sparse(ChainProblem problem not None, const double[::1] w, transitions, n_threads=1):
    """Find the best labeling of every block at w, without loss.

    Parameters
    ----------
    problem : ChainProblem
        Without masks and edge features.
    w : ndarray of shape (n_weights,)
    transitions : result of `sparse_transitions`
        For these weights.
    n_threads : int

    Returns
    -------
    codes : ndarray of int32
        The labels of all blocks, concatenated.
    """
    return _decode(problem, w, transitions, n_threads, None)


def sparse_hinges(ChainProblem problem not None, const double[::1] w, n_threads=1):
    """Compute the hinge loss H_i(w) of every block, if few transitions have a weight.

    Returns
    -------
    hinges : ndarray of shape (n_blocks,), or None
        None if there are few labels, too many transitions have weights, or none can have one, or if there
        are masks, tied transitions or edge features; the problem's own oracle must then be used.
    """
    problem.need_labels()
    problem._check_weights(w)
    if problem.masked or problem.tied or not problem.transitions or problem.edge_step != 0:
        return None
    cdef Py_ssize_t K = problem.n_labels
    edges = np.asarray(w)[problem.edge_at:].reshape(K, problem.KP)[:, :K]
    transitions = sparse_transitions(edges)
    if transitions is None:
        return None
    hinges = np.empty(problem.n_blocks)
    _decode(problem, w, transitions, n_threads, hinges)
    return hinges


cdef object _decode(
        ChainProblem problem, const double[::1] w, transitions, n_threads, double[::1] hinges):
    """Find the best labeling of every block, with the loss if hinge losses are requested."""
    problem._check_weights(w)
    if problem.masked or problem.edge_step != 0:
        raise ValueError("sparse decoding does not support masks or features of transitions")
    cdef ThreadPool pool = ThreadPool(problem, n_threads)
    cdef Py_ssize_t i, n = problem.n_blocks, K = problem.n_labels
    cdef Py_ssize_t[::1] start = problem.code_starts()
    cdef const int64_t[::1] indptr
    cdef const int32_t[::1] indices
    cdef const double[::1] values
    indptr, indices, values = transitions
    cdef const double[::1] row_most = row_maxima(indptr, values)
    cdef SparseTransitions edge
    edge.n_labels, edge.indptr, edge.indices = K, &indptr[0], &indices[0]
    edge.values, edge.row_most = &values[0], &row_most[0]
    cdef int32_t[:, :, ::1] room = np.empty((pool.n_threads, 3, K), dtype=np.int32)
    cdef unsigned char[::1] records = np.empty(
        pool.n_threads * sizeof(SparseScratch), dtype=np.uint8)
    cdef SparseScratch* scratches = <SparseScratch*> &records[0]
    for i in range(pool.n_threads):
        scratches[i].heap, scratches[i].order = &room[i, 0, 0], &room[i, 1, 0]
        scratches[i].free_at = &room[i, 2, 0]
    out = np.empty(start[n], dtype=np.int32)
    cdef int32_t[::1] codes = out
    cdef SparseDecoding decoding
    decoding.weights, decoding.edge, decoding.scratches = &w[0], &edge, scratches
    decoding.start, decoding.codes = &start[0], &codes[0]
    decoding.loss_weight, decoding.hinge = 0, NULL
    if hinges is not None:
        decoding.loss_weight, decoding.hinge = 1, &hinges[0]
    pool.run_blocks(decode_block, &decoding, NULL, 0, n)
    return out
