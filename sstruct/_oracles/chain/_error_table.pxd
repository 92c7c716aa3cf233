from libc.stdint cimport int32_t, uint16_t

from sstruct._kernels._storage cimport Storage


cdef class ErrorTable(Storage):
    cdef double* best            # best[d]: the best score with d errors, -inf if there is none
    cdef Py_ssize_t L, KP, most
    cdef const int32_t* errors
    cdef const int32_t* row
    cdef double* table
    cdef double* pair
    cdef double* no_edges
    cdef int32_t* last
    cdef int32_t* pair_origin
    cdef uint16_t* origin

    cdef int reserve(self) except -1 nogil
    cdef int fill(
        self, const double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP, const double* edge,
        Py_ssize_t edge_step, const int32_t* errors, const int32_t* row,
        Py_ssize_t most) except -1 nogil
    cdef void labels(self, Py_ssize_t d, int32_t* labels) noexcept nogil
