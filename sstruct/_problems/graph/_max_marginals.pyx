# Design:
# (a) Max-marginals of all graphs, in threads; each block has its own rows in the result.
"""For each node and label, the best score of a labeling that gives the node the label."""

from sstruct._problems.core._block_problem cimport BlockProblem
from sstruct._problems.core._thread_pool cimport ThreadPool
from sstruct._problems.graph._graph_problem cimport GraphProblem

import numpy as np


cdef struct Marginals:
    const double* weights
    const unsigned char* is_forest      # whether each block is a forest
    const Py_ssize_t* start             # first node of each block
    double* out


cdef int fill(
        void* context, BlockProblem problem, Py_ssize_t thread, Py_ssize_t i) except -1 nogil:
    cdef Marginals* work = <Marginals*> context
    return (<GraphProblem> problem).marginals(
        i, work.weights, work.is_forest[i],
        work.out + work.start[i] * (<GraphProblem> problem).n_labels)


def max_marginals(GraphProblem problem not None, const double[::1] w, is_forest, n_threads=1):
    """Compute the best score of a labeling through each label of each node, without loss.

    Parameters
    ----------
    problem : GraphProblem
        Without labels.
    w : ndarray of shape (n_weights,)
    is_forest : array-like of bool of shape (n_blocks,)
        Whether a graph has no cycles, so that it is decoded exactly. Must not be true for a graph
        with a cycle.
    n_threads : int
        Number of threads; the scores do not depend on it.

    Returns
    -------
    ndarray of shape (n_nodes, K)
        One row per node, concatenated over graphs. Exact for forests, and for two labels with attractive
        edges; with constraints, the best scores found by a decoding for each label; otherwise scores of the
        decoder's labeling with the label of the node changed.
    """
    problem._check_weights(w)
    if problem.has_labels:
        raise ValueError("max-marginals require a problem without labels")
    cdef ThreadPool pool = ThreadPool(problem, n_threads)
    cdef Py_ssize_t n = problem.n_blocks
    cdef const unsigned char[::1] forests = np.ascontiguousarray(is_forest, dtype=np.uint8)
    if forests.shape[0] != n:
        raise ValueError(f"is_forest has {forests.shape[0]} entries, expected {n}")
    cdef Py_ssize_t[::1] start = np.r_[0, np.cumsum(problem.length, dtype=np.intp)]
    out = np.empty((start[n], problem.n_labels))
    cdef double[:, ::1] scores = out
    cdef Marginals work
    work.weights, work.is_forest = &w[0], &forests[0]
    work.start, work.out = &start[0], &scores[0, 0]
    pool.run_blocks(fill, &work, NULL, 0, n)
    return out
