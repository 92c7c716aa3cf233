from libc.stdint cimport int32_t, int64_t, uint16_t


cdef class TreeErrorTable:
    cdef double[::1] best        # best[d]: the best score with d errors, -inf where there is none
    cdef Py_ssize_t n_nodes, n_errors
    cdef const int32_t* order
    cdef const int32_t* parents
    cdef const int64_t* start
    cdef const int64_t* origin_at
    cdef double[::1] belief, message, merged
    cdef int32_t[::1] origin, size, left
    cdef uint16_t[::1] share, root_share

    cdef int reserve(
        self, Py_ssize_t n_labels, Py_ssize_t most, Py_ssize_t n_origins) except -1 nogil
    cdef int fill(
        self, Py_ssize_t n_nodes, const int32_t* order, const int32_t* parents,
        const int64_t* start, const int64_t* origin_at, const double* scores, const double* tables,
        const int64_t* table_at, const int32_t* truth) except -1 nogil
    cdef void labels(self, Py_ssize_t d, int32_t* labels) noexcept nogil
