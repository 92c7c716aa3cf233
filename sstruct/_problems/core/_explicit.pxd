from libc.stdint cimport int32_t

from sstruct._problems.core._block_problem cimport WrappedProblem


cdef class ExplicitProblem(WrappedProblem):
    cdef double[::1] difference, last_w   # last_w: of the last oracle call, for `scores`
    cdef int32_t[::1] labeling, true_labeling
