from libc.stdint cimport int32_t

from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer


cdef class CostlyProblem(BlockProblem):
    cdef readonly BlockProblem problem    # the wrapped problem
    cdef readonly double seconds
    cdef Py_ssize_t own_calls
    cdef double own_seconds, own_work
    cdef list forks
