# Design:
# (a) The distribution p(y) = exp(scale * score(y)) / Z of all blocks of a ChainProblem, in threads. Each
#     thread has a ChainSums, which keeps the exponentials of the transitions between blocks.
# (b) Each block has its own random numbers, and writes to its own entries of the results, so that they do
#     not depend on the number of threads.
"""Log partition functions, marginals, spans and samples of chains."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint64_t

from sstruct._kernels._random cimport Random, random_seed
from sstruct._oracles.chain._sum_product cimport ChainSums
from sstruct._problems.chain._chain_problem cimport ChainProblem
from sstruct._problems.core._block_problem cimport BlockProblem
from sstruct._problems.core._thread_pool cimport ThreadPool, blocks_a_ticket

import numpy as np


cdef struct Request:
    Py_ssize_t chunk            # number of blocks per ticket
    const double* weights
    double scale
    const Py_ssize_t* start     # first node of each block, and the number of nodes
    void* sums                  # list with the ChainSums of each thread
    double* log_partition       # of each block
    double* marginals           # K per node, or NULL
    int32_t* draws              # n_draws labelings per block, or NULL
    Py_ssize_t n_draws
    const uint64_t* seed        # of each block
    const int64_t* spans        # rows of start, stop and number of the type, or NULL
    const int64_t* first_span   # of each block, and the number of spans
    const unsigned char* inside     # n_types x K
    const unsigned char* continues  # K x K
    double* probability         # of each span


cdef int sum_block(
        ChainProblem problem, Py_ssize_t i, Request* request, ChainSums sums,
        double* padded) except -1 nogil:
    cdef Py_ssize_t l, k, K = problem.n_labels, KP = problem.KP, L = problem.length[i], at, r
    cdef const int64_t* span
    cdef Random random
    problem.potentials(i, request.weights, 0.0)
    request.log_partition[i] = sums.log_partition(
        &problem.theta[0], L, K, KP, problem.edge, problem.edge_step, request.scale)
    if request.log_partition[i] == -INFINITY:
        return 0
    at = request.start[i]
    if request.marginals != NULL or request.spans != NULL:
        sums.backward()
    if request.marginals != NULL:
        sums.marginals(padded)
        for l in range(L):
            for k in range(K):
                request.marginals[(at + l) * K + k] = padded[l * KP + k]
    if request.draws != NULL:
        random_seed(&random, request.seed[i])
        for r in range(request.n_draws):
            sums.sample(&random, request.draws + at * request.n_draws + r * L)
    if request.spans != NULL:
        for r in range(request.first_span[i], request.first_span[i + 1]):
            span = request.spans + 3 * r
            request.probability[r] = sums.span(
                span[0], span[1], request.inside + span[2] * K, request.continues)
    return 0


cdef int sum_chunk_of(
        Request* request, ChainProblem problem, Py_ssize_t thread, Py_ssize_t ticket) except -1 with gil:
    cdef ChainSums sums = (<list> request.sums)[thread]
    cdef double[::1] room = np.empty(
        problem.max_code_size * problem.KP if request.marginals != NULL else 1)
    cdef Py_ssize_t i
    with nogil:
        problem.track(request.weights)
        sums.table_of = NULL
        try:
            for i in range(
                    ticket * request.chunk, min((ticket + 1) * request.chunk, problem.n_blocks)):
                sum_block(problem, i, request, sums, &room[0])
        finally:
            problem.track(NULL)
    return 0


cdef int sum_chunk(
        void* context, BlockProblem problem, Py_ssize_t thread, Py_ssize_t ticket) except -1 nogil:
    return sum_chunk_of(<Request*> context, <ChainProblem> problem, thread, ticket)


def sum_blocks(
        ChainProblem problem not None, const double[::1] w, double scale, n_threads=1, *,
        marginals=False, n_draws=None, seeds=None, spans=None):
    """Compute sums over the labelings of every block.

    Parameters
    ----------
    problem : ChainProblem
        Without windows.
    w : ndarray of shape (n_weights,)
    scale : float
        Factor of the scores, the inverse temperature.
    marginals : bool
        Whether to compute the marginals of all nodes.
    n_draws, seeds : int and ndarray of uint64 of shape (n_blocks,), optional
        Number of labelings to draw for each block, and seeds.
    spans : tuple, optional
        Rows (block, start, stop, type) in the order of blocks, flags (n_types, K) of the labels inside
        spans of each type, and flags (K, K) of the transitions within spans.

    Returns
    -------
    log_partition : ndarray of shape (n_blocks,)
        -inf if the known labels or masks forbid every labeling; the other results of such a block are
        undefined.
    result : None, or as requested
        Marginals (n_nodes, K); codes, concatenated over blocks, of n_draws labelings each; or the
        probability of each span.
    """
    problem._check_weights(w)
    cdef Py_ssize_t i, n = problem.n_blocks, K = problem.n_labels
    cdef ThreadPool pool = ThreadPool(problem, n_threads)
    cdef Request request
    sums = [ChainSums() for _ in range(pool.n_threads)]
    cdef Py_ssize_t[::1] start = np.zeros(n + 1, dtype=np.intp)
    for i in range(n):
        start[i + 1] = start[i] + problem.length[i]
    log_partition = np.empty(n)
    cdef double[::1] values = log_partition
    request.weights, request.scale, request.start, request.sums = &w[0], scale, &start[0], <void*> sums
    request.log_partition, request.chunk = &values[0], blocks_a_ticket(n)
    request.marginals, request.draws, request.spans, request.n_draws = NULL, NULL, NULL, 0
    cdef double[:, ::1] table
    cdef int32_t[::1] codes
    cdef const uint64_t[::1] seed
    cdef const int64_t[:, ::1] rows
    cdef const int64_t[::1] first
    cdef const unsigned char[:, ::1] inside
    cdef const unsigned char[:, ::1] continues
    cdef double[::1] probability
    out = None
    if marginals:
        out = np.empty((start[n], K))
        table = out
        request.marginals = &table[0, 0]
    elif n_draws is not None:
        seed = np.ascontiguousarray(seeds, dtype=np.uint64)
        if seed.shape[0] != n or n_draws < 1:
            raise ValueError(f"expected {n} seeds and n_draws of at least 1")
        out = np.empty(start[n] * n_draws, dtype=np.int32)
        codes = out
        request.n_draws, request.draws, request.seed = n_draws, &codes[0], &seed[0]
    elif spans is not None:
        given, kinds, within = spans
        given = np.ascontiguousarray(given, dtype=np.int64).reshape(-1, 4)
        inside = np.ascontiguousarray(kinds, dtype=np.uint8)
        continues = np.ascontiguousarray(within, dtype=np.uint8)
        if inside.shape[1] != K or continues.shape[0] != K or continues.shape[1] != K:
            raise ValueError(f"flags of spans must have {K} labels")
        counts = np.diff(start)
        block = given[:, 0]
        if ((block < 0) | (block >= n) | (np.diff(block, prepend=0) < 0)).any() or (
                (given[:, 1] < 0) | (given[:, 2] <= given[:, 1]) | (given[:, 2] > counts[block])
                | (given[:, 3] < 0) | (given[:, 3] >= inside.shape[0])).any():
            raise ValueError("spans must be rows (block, start, stop, type) in the order of blocks")
        out = np.zeros(len(given))
        if len(given):
            rows = np.ascontiguousarray(given[:, 1:])
            first = np.searchsorted(block, np.arange(n + 1)).astype(np.int64)
            probability = out
            request.spans, request.first_span = &rows[0, 0], &first[0]
            request.inside, request.continues = &inside[0, 0], &continues[0, 0]
            request.probability = &probability[0]
    pool.run_once(sum_chunk, &request, (n + request.chunk - 1) // request.chunk)
    return log_partition, out
