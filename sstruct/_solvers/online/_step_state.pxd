from libc.stdint cimport int32_t

from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer


cdef class StepState:
    cdef readonly Py_ssize_t n_steps
    cdef readonly bint exact
    cdef BlockProblem problem
    cdef const double[::1] factor               # of the step on each block
    cdef double[::1] total, weight_moment       # sum of the steps, and see (a)
    cdef double[::1] iterate                    # at which oracles are called; `total` by default
    cdef double loss_weight                     # with which they are called
    cdef int32_t[::1] code, truth               # of the current visit

    cdef int step(self, Py_ssize_t i, OracleAnswer* answer) except -1 nogil
