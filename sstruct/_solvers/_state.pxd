from libc.stdint cimport int32_t

from sstruct._problems._block_problem cimport BlockProblem
from sstruct._solvers._random cimport Random
from sstruct._solvers._working_set cimport WorkingSet


cdef class DualState:
    cdef readonly BlockProblem problem
    cdef readonly double lam
    cdef readonly double dual             # D(alpha), kept up to date step by step
    cdef readonly Py_ssize_t n_oracle_calls
    cdef readonly Py_ssize_t n_steps      # of exact visits, those that rounding forbade left out
    cdef readonly double work             # counted by the passes
    cdef readonly Py_ssize_t n_labelings  # over all working sets
    cdef const double[::1] block_weight   # q_i: sample weight over the sum of sample weights
    cdef object weights_owner
    cdef double[::1] weights              # w, in the array `weights_owner`
    cdef WorkingSet* working_sets
    cdef double[::1] gap_estimates        # block gap at the last exact visit, before its step
    cdef double[::1] working_gaps         # gap over the working set alone; inf after an exact visit
    cdef Py_ssize_t[::1] order
    cdef Random random
    # Scratch of one visit, as long as the largest working set.
    cdef Py_ssize_t scratch_size
    cdef double* score
    cdef double* change
    cdef const int32_t** codes
    cdef Py_ssize_t* member

    cdef int reserve(self, Py_ssize_t size) except -1 nogil
    cdef double distance(self, Py_ssize_t i, Py_ssize_t a, Py_ssize_t b) except? -1 nogil
