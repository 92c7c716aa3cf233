# Design:
# (a) Decoding of all blocks without loss, in threads; each thread writes to the entries of its blocks.
"""Prediction: the best labeling of every block."""

from libc.stdint cimport int32_t

from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems.core._thread_pool cimport ThreadPool, blocks_a_ticket

import numpy as np


cdef struct Decoding:
    Py_ssize_t chunk            # number of blocks per ticket
    const double* weights
    const Py_ssize_t* start
    int32_t* codes


cdef int decode_chunk(
        void* context, BlockProblem problem, Py_ssize_t thread, Py_ssize_t ticket) except -1 nogil:
    cdef Decoding* decoding = <Decoding*> context
    cdef OracleAnswer answer
    cdef Py_ssize_t i
    problem.track(decoding.weights)
    try:
        for i in range(
                ticket * decoding.chunk, min((ticket + 1) * decoding.chunk, problem.n_blocks)):
            problem.maximize(
                i, decoding.weights, 0.0, decoding.codes + decoding.start[i], &answer)
    finally:
        problem.track(NULL)
    return 0


def decode(BlockProblem problem not None, const double[::1] w, n_threads=1):
    """Find the best labeling of every block at w, without loss.

    Parameters
    ----------
    problem : BlockProblem
        True labelings of its blocks are not used.
    w : ndarray of shape (n_weights,)
        Weights, in the problem's layout.
    n_threads : int
        Number of threads; the codes do not depend on it.

    Returns
    -------
    codes : ndarray of int32
        The codes of all blocks, concatenated.

    Examples
    --------
    The ``predict`` of a structure whose codes are the two positions of an interval
    (``examples/compiled_problem``)::

        codes = decode(Problem(X), np.ascontiguousarray(w))
        return [tuple(pair) for pair in codes.reshape(-1, 2).tolist()]
    """
    problem._check_weights(w)
    cdef ThreadPool pool = ThreadPool(problem, n_threads)
    cdef Py_ssize_t i, n = problem.n_blocks, chunk = blocks_a_ticket(n)
    cdef Py_ssize_t n_chunks = (n + chunk - 1) // chunk
    cdef Py_ssize_t[::1] start = np.zeros(n + 1, dtype=np.intp)
    cdef Decoding decoding
    for i in range(n):
        start[i + 1] = start[i] + problem.code_size(i)
    out = np.empty(max(start[n], 1), dtype=np.int32)
    cdef int32_t[::1] codes = out
    decoding.weights, decoding.start, decoding.codes = &w[0], &start[0], &codes[0]
    decoding.chunk = chunk
    pool.run_once(decode_chunk, &decoding, n_chunks)
    return out[:start[n]]
