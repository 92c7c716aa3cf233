# Design:
# (a) The distribution of the labelings of a block is p(y) = exp(scale * score(y)) / Z. Blocks are processed
#     by several threads.
# (b) Each block has a separate random generator and separate entries of the results, which therefore do
#     not depend on the number of threads.
"""Log partition functions, marginals and samples of all blocks."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint64_t

from sstruct._kernels._random cimport Random, random_seed
from sstruct._problems.core._block_problem cimport BlockProblem
from sstruct._problems.core._thread_pool cimport ThreadPool

import numpy as np


cdef struct Request:
    const double* weights
    double scale
    const int32_t* known            # label of each node, or -1; NULL: all are free
    const Py_ssize_t* first_node    # of each block
    const Py_ssize_t* first_value   # position of the marginals of each block
    double* log_partition           # of each block
    double* marginals               # or NULL
    int32_t* draws                  # n_draws labelings per block, or NULL
    Py_ssize_t n_draws
    const uint64_t* seed            # of each block


cdef int sum_block(
        void* context, BlockProblem problem, Py_ssize_t thread, Py_ssize_t i) except -1 nogil:
    cdef Request* request = <Request*> context
    cdef Py_ssize_t r, n_nodes = problem.code_size(i), at = request.first_node[i]
    cdef Random random
    cdef const int32_t* known = request.known
    if known != NULL:
        known = known + at
    request.log_partition[i] = problem.log_partition(i, request.weights, request.scale, known)
    if request.log_partition[i] == -INFINITY:
        return 0
    if request.marginals != NULL:
        problem.probabilities(request.marginals + request.first_value[i])
    if request.draws != NULL:
        random_seed(&random, request.seed[i])
        for r in range(request.n_draws):
            problem.sample(&random, request.draws + at * request.n_draws + r * n_nodes)
    return 0


def sum_blocks(
        BlockProblem problem not None, const double[::1] w, double scale, n_threads=1, *,
        known=None, marginals=False, n_draws=None, seeds=None):
    """Compute sums over the labelings of every block.

    Parameters
    ----------
    problem : BlockProblem
        A problem without labels, whose decoder computes exact sums.
    w : ndarray of shape (n_weights,)
    scale : float
        Factor of the scores, the inverse temperature.
    n_threads : int
        Number of threads; the results do not depend on it.
    known : ndarray of int32 of shape (n_nodes,), optional
        Label that each node must have, or -1 if it is free.
    marginals : bool
        Whether to compute the marginals of all nodes.
    n_draws, seeds : int and ndarray of uint64 of shape (n_blocks,), optional
        Number of labelings to draw for each block, and seeds.

    Returns
    -------
    log_partition : ndarray of shape (n_blocks,)
        -inf if no labeling agrees with the known labels; the other results of such a block are undefined.
    result : ndarray or None
        The marginals of all blocks, concatenated, if `marginals` is true; otherwise the codes of `n_draws`
        labelings of each block, concatenated; or None if `n_draws` is None.
    """
    problem._check_weights(w)
    if problem.has_labels:
        raise ValueError("sums require a problem without labels")
    cdef Py_ssize_t i, n = problem.n_blocks
    cdef ThreadPool pool = ThreadPool(problem, n_threads)
    cdef Request request
    cdef Py_ssize_t[::1] node = problem.code_starts()
    cdef Py_ssize_t[::1] value = np.zeros(n + 1, dtype=np.intp)
    for i in range(n):
        value[i + 1] = value[i] + problem.n_values(i)
    log_partition = np.empty(n)
    cdef double[::1] values = log_partition
    cdef double[::1] table
    cdef int32_t[::1] codes
    cdef const int32_t[::1] given
    cdef const uint64_t[::1] seed
    request.weights, request.scale = &w[0], scale
    request.first_node, request.first_value = &node[0], &value[0]
    request.log_partition = &values[0]
    request.known, request.marginals, request.draws, request.n_draws = NULL, NULL, NULL, 0
    if known is not None:
        given = np.ascontiguousarray(known, dtype=np.int32).ravel()
        if given.shape[0] != node[n]:
            raise ValueError(f"known has {given.shape[0]} entries, expected {node[n]}")
        request.known = &given[0]
    out = None
    if marginals:
        out = np.empty(value[n])
        table = out
        request.marginals = &table[0]
    elif n_draws is not None:
        seed = np.ascontiguousarray(seeds, dtype=np.uint64)
        if seed.shape[0] != n or n_draws < 1:
            raise ValueError(
                f"expected {n} seeds and n_draws of at least 1, found {seed.shape[0]} and {n_draws}")
        out = np.empty(node[n] * n_draws, dtype=np.int32)
        codes = out
        request.n_draws, request.draws, request.seed = n_draws, &codes[0], &seed[0]
    pool.run_blocks(sum_block, &request, &w[0], 0, n)
    return log_partition, out
