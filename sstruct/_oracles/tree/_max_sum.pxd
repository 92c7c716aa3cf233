from libc.stdint cimport int32_t, int64_t


cdef Py_ssize_t best_sum(
    const double* a, const double* b, Py_ssize_t n, double* value) noexcept nogil

cdef double tree_labels(
    Py_ssize_t n_nodes, const int32_t* order, const int32_t* parents, const int64_t* start,
    const double* belief, const int32_t* origin, const int64_t* origin_at,
    int32_t* labels) noexcept nogil

cdef double tree_max_sum_labels(
    Py_ssize_t n_nodes, const int32_t* order, const int32_t* parents, const int64_t* start,
    const double* tables, const int64_t* table_at, double* belief, int32_t* origin,
    const int64_t* origin_at, int32_t* labels) except? -1 nogil
