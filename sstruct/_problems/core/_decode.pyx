# Design:
# (a) Decoding of all blocks without loss, in threads; each thread writes to the entries of its blocks.
"""Prediction of the best labeling of each block."""

from libc.stdint cimport int32_t

from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems.core._thread_pool cimport ThreadPool

import numpy as np


cdef struct Decoding:
    const double* weights
    const Py_ssize_t* start
    int32_t* codes


cdef int decode_block(
        void* context, BlockProblem problem, Py_ssize_t thread, Py_ssize_t i) except -1 nogil:
    cdef Decoding* decoding = <Decoding*> context
    cdef OracleAnswer answer
    return problem.maximize(
        i, decoding.weights, 0.0, decoding.codes + decoding.start[i], &answer)


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
    cdef Py_ssize_t n = problem.n_blocks
    cdef Py_ssize_t[::1] start = problem.code_starts()
    cdef Decoding decoding
    out = np.empty(max(start[n], 1), dtype=np.int32)
    cdef int32_t[::1] codes = out
    decoding.weights, decoding.start, decoding.codes = &w[0], &start[0], &codes[0]
    pool.run_blocks(decode_block, &decoding, &w[0], 0, n)
    return out[:start[n]]
