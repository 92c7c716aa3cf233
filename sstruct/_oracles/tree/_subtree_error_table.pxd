from libc.stdint cimport int32_t, int64_t, uint16_t

from sstruct._kernels._storage cimport Storage


cdef class TreeErrorTable(Storage):
    cdef double* best            # best[d]: the best score with d errors, -inf if there is none
    cdef Py_ssize_t n_nodes, n_errors
    cdef const int32_t* order
    cdef const int32_t* parents
    cdef const int64_t* start
    cdef const int64_t* origin_at
    cdef double* belief
    cdef double* message
    cdef double* merged
    cdef int32_t* origin
    cdef int32_t* size
    cdef int32_t* left
    cdef uint16_t* share
    cdef uint16_t* root_share

    cdef int reserve(
        self, Py_ssize_t n_labels, Py_ssize_t most, Py_ssize_t n_origins) except -1 nogil
    cdef int fill(
        self, Py_ssize_t n_nodes, const int32_t* order, const int32_t* parents,
        const int64_t* start, const int64_t* origin_at, const double* scores, const double* tables,
        const int64_t* table_at, const int32_t* truth) except -1 nogil
    cdef void labels(self, Py_ssize_t d, int32_t* labels) noexcept nogil
