from libc.stdint cimport int32_t, int64_t

from sstruct._problems.core._block_problem cimport WrappedProblem


cdef class CoupledProblem(WrappedProblem):
    # Data, shared by forks. An end is a copy or its node, in the block that contains it: each copy has
    # two ends, which are sorted by block.
    cdef dict arguments
    cdef const int64_t[::1] start    # (n_blocks + 1,) first end of each block
    cdef const int32_t[::1] position  # position of each end in the labeling of its block
    cdef const int64_t[::1] copy     # index of the copy that each end belongs to
    cdef const double[::1] sign      # 1 if the end is the copy, -1 if it is the node
    cdef const double[::1] scale     # (n_copies,) size of the features of a copy
    cdef double[:, ::1] center       # (n_copies, n_labels), of the multipliers
    cdef readonly Py_ssize_t n_model_weights, n_labels
    # Scratch memory of this object.
    cdef double[:, ::1] offsets      # scores that multipliers add to the labels of each end of a block
    cdef int32_t[::1] true_labeling

    cdef double multiplier(
        self, Py_ssize_t end, Py_ssize_t label, const double* w) noexcept nogil
    cdef bint end_differs(
        self, Py_ssize_t end, const int32_t** codes, Py_ssize_t count) noexcept nogil
