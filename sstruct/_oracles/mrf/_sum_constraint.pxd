from libc.stdint cimport int32_t

from sstruct._kernels._storage cimport Storage


cdef class SumConstraint(Storage):
    cdef Py_ssize_t max_places, max_labels, used
    cdef double* sums
    cdef const double** phi
    # Of the current call
    cdef const double* costs
    cdef Py_ssize_t n, K, total
    cdef int32_t* labels

    cdef Py_ssize_t lowest(self, Py_ssize_t size) noexcept nogil
    cdef Py_ssize_t highest(self, Py_ssize_t size) noexcept nogil
    cdef int fill(self, Py_ssize_t node, Py_ssize_t begin, Py_ssize_t end) except -1 nogil
    cdef int divide(
        self, Py_ssize_t node, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t total) except -1 nogil
    cdef int minimize(
        self, const double* costs, Py_ssize_t n, Py_ssize_t K, Py_ssize_t total,
        int32_t* labels) except -1 nogil
