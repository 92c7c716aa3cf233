# Design:
# (a) Functions for tests and benchmarks: each calls a C method of a problem as solvers do, after
#     validating its arguments.
# (b) `best_code`, `true_code` and `code_loss` are methods of the problems, since production calls them.
"""Python access to the C methods of problems."""

from libc.stdint cimport int32_t
from libc.string cimport memcpy

from sstruct._oracles.core._interval cimport Interval
from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems.map._map_problem cimport MapProblem
from sstruct._problems.slack._slack_problem cimport SlackProblem
from sstruct._problems.slack._search cimport PRODUCT

import numpy as np


cdef object code_for(BlockProblem problem, Py_ssize_t i, const double[::1] w):
    """Validate block and weights, and return an array for an answer."""
    problem._check_block(i)
    problem._check_weights(w)
    return np.empty(problem.code_size(i), dtype=np.int32)


cdef int point_at(
        BlockProblem problem, Py_ssize_t i, const int32_t[:, ::1] table,
        const int32_t** rows) except -1:
    """Write pointers to the rows of a table of 1 to 64 codes."""
    cdef Py_ssize_t k
    if not 1 <= table.shape[0] <= 64:
        raise ValueError(f"found {table.shape[0]} labelings, expected 1 to 64")
    for k in range(table.shape[0]):
        problem.check_code(i, table[k])
        rows[k] = &table[k, 0]
    return 0


def maximize_product(
        BlockProblem problem not None, Py_ssize_t i, const double[::1] w, double margin=1.0):
    """Return (code, value, work, exact) of the labeling with the largest product of loss and margin."""
    code = code_for(problem, i, w)
    cdef int32_t[::1] out = code
    cdef OracleAnswer answer
    with nogil:
        problem.maximize_product(i, &w[0], margin, &out[0], &answer)
    return code, answer.value, answer.work, bool(answer.exact)


def maximize_between(
        BlockProblem problem not None, Py_ssize_t i, const double[::1] w, double loss_weight,
        double margin, interval):
    """Return (code, value, work, exact), or None if no labeling is in the interval.

    interval : lower, upper and, by default False, whether the inequality at lower (`above`) and at
        upper (`below`) is strict
    """
    code = code_for(problem, i, w)
    cdef int32_t[::1] out = code
    cdef OracleAnswer answer
    cdef Interval inside
    inside.lower, inside.upper, inside.above, inside.below = (*interval, False, False)[:4]
    with nogil:
        problem.maximize_between(i, &w[0], loss_weight, margin, &inside, &out[0], &answer)
    return (code, answer.value, answer.work, bool(answer.exact)) if answer.found else None


def scores(BlockProblem problem not None, Py_ssize_t i, w, codes, double loss_weight=1.0):
    """Return the scores of labelings.

    If w is None, use the potentials of the last oracle call, whose weights must still exist.
    """
    cdef const double[::1] weights
    cdef const double* pointer = NULL
    if w is not None:
        problem._check_weights(w)
        weights = w
        pointer = &weights[0]
    elif isinstance(problem, SlackProblem) and (<SlackProblem> problem).last_w == NULL:
        raise ValueError("there was no previous oracle call")
    cdef const int32_t[:, ::1] table = np.ascontiguousarray(codes, dtype=np.int32)
    cdef const int32_t* rows[64]
    point_at(problem, i, table, rows)
    cdef double[::1] values = np.empty(table.shape[0])
    cdef double work = 0
    with nogil:
        problem.scores(i, pointer, loss_weight, rows, table.shape[0], &values[0], &work)
    return np.asarray(values)


def squared_distance(
        BlockProblem problem not None, Py_ssize_t i, const int32_t[::1] a, const int32_t[::1] b):
    """Return |phi(x_i, a) - phi(x_i, b)|^2."""
    problem.check_code(i, a)
    problem.check_code(i, b)
    cdef double out = 0
    problem.squared_distance(i, &a[0], &b[0], &out)
    return out


def scatter(BlockProblem problem not None, Py_ssize_t i, codes, coefficients, double[::1] out):
    """Add the features phi(x_i, y) of labelings, times coefficients with sum zero, to `out`."""
    problem._check_weights(out)
    for code in codes:
        problem.check_code(i, code)
    cdef const int32_t[:, ::1] table = np.ascontiguousarray(codes, dtype=np.int32)
    cdef const double[::1] coefficient = np.ascontiguousarray(coefficients, dtype=np.float64)
    cdef const int32_t* rows[64]
    point_at(problem, i, table, rows)
    if len(coefficient) != len(table):
        raise ValueError(f"found {len(coefficient)} coefficients, expected {len(table)}")
    problem.scatter(i, rows, &coefficient[0], table.shape[0], &out[0])


def track(BlockProblem problem not None, const double[::1] w=None):
    """Track weights that only `scatter` changes until the next call; None stops tracking."""
    if w is not None:
        problem._check_weights(w)
    problem.track(NULL if w is None else &w[0])


def search(SlackProblem problem not None, Py_ssize_t i, const double[::1] w, double margin=1.0):
    """Return (code, value, bound, exact, number of queries) of a max-oracle call."""
    code = code_for(problem, i, w)
    cdef int32_t[::1] out = code
    cdef OracleAnswer answer
    with nogil:
        problem.maximize(i, &w[0], margin, &out[0], &answer)
    queries = 1 if problem.kind == PRODUCT else problem.searcher.n_queries
    bound = answer.value if answer.exact else answer.bound
    return code, answer.value, bound, bool(answer.exact), queries


def code_of(MapProblem problem not None, Py_ssize_t i, labels):
    """Return the code of the labels of a block's positions.

    It consists of the labels and the bytes of the sum of their free term and own cost.
    """
    problem._check_block(i)
    code = np.zeros(problem.code_size(i), dtype=np.int32)
    n = len(code) - sizeof(double) // sizeof(int32_t)
    code[:n] = labels
    cdef int32_t[::1] view = code
    cdef double free = problem.free_term(i, &view[0]) + problem.own_cost(i, &view[0])
    memcpy(&view[n], &free, sizeof(double))
    problem.check_code(i, code)
    return code
