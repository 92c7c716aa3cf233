from libc.stdint cimport int32_t

from sstruct._problems.core._block_problem cimport WrappedProblem


cdef class LabelingsOfPlanes:
    cdef list of_block                    # one dict per block: a labeling of each plane in use
    cdef bint open


cdef class ExplicitProblem(WrappedProblem):
    cdef double[::1] difference, last_w   # last_w: weights of the last oracle call, for `scores`
    cdef int32_t[::1] labeling, true_labeling
    cdef LabelingsOfPlanes labelings      # or None

    cdef Py_ssize_t code_bytes(self) noexcept nogil
    cdef int keep_alone(self, Py_ssize_t i, const int32_t** codes, Py_ssize_t count) except -1
    cdef int keep(self, Py_ssize_t i, bytes plane) except -1
    cdef int write_plane(self, Py_ssize_t i, double* plane) except -1 nogil
