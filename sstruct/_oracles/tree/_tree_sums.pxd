from libc.stdint cimport int32_t, int64_t

from sstruct._kernels._random cimport Random
from sstruct._kernels._storage cimport Storage


cdef class TreeSums(Storage):
    cdef Py_ssize_t n_nodes
    cdef double scale
    cdef const int32_t* order
    cdef const int32_t* parents
    cdef const int64_t* start
    cdef double* belief      # by label: log of the sum over the labelings of the tree below, up to a constant
    cdef double* room        # of the widest node, padded: scratch
    cdef double* share       # likewise

    cdef double log_partition(
        self, Py_ssize_t n_nodes, const int32_t* order, const int32_t* parents,
        const int64_t* start, const double* theta, const int32_t* known,
        double scale) except? -1 nogil
    cdef int marginals(self, double* out) except -1 nogil
    cdef int sample(self, Random* random, int32_t* labels) except -1 nogil
    cdef void begin_edge(self, Py_ssize_t v) noexcept nogil
    cdef const double* edge_row(self, Py_ssize_t v, Py_ssize_t j) noexcept nogil
    cdef double message(
        self, Py_ssize_t v, const double* above, Py_ssize_t n, double* out) noexcept nogil
    cdef void divide(
        self, Py_ssize_t v, const double* above, Py_ssize_t n, double* out) noexcept nogil
    cdef double weigh(self, Py_ssize_t v, const double* row, double* total) noexcept nogil


cdef class TableSums(TreeSums):
    cdef const double* tables
    cdef const int64_t* table_at
