from libc.stdint cimport int32_t

from sstruct._oracles.core._graph_costs cimport GraphCosts


cdef enum PairwiseKind:
    FIXED
    POTTS
    CONTRAST
    FULL
    DIRECTED


cdef class PairwiseModel:
    # Shared by forks.
    cdef readonly str name
    cdef readonly Py_ssize_t n_labels, n_features, n_weights, n_rows
    cdef readonly tuple shape                   # shape of the weights, () if there are none
    cdef readonly double strength
    cdef const double[:, ::1] features
    cdef PairwiseKind kind
    # Scratch memory of this object.
    cdef double[::1] weight, table

    cdef int reserve(self, Py_ssize_t n_edges) except -1
    cdef void price(
        self, Py_ssize_t first, Py_ssize_t n_edges, const double* w,
        GraphCosts* costs) noexcept nogil
    cdef double score(
        self, Py_ssize_t row, int32_t a, int32_t b, const double* w) noexcept nogil
    cdef void add(
        self, Py_ssize_t row, Py_ssize_t u, Py_ssize_t v, const int32_t** codes,
        const double* coefficient, Py_ssize_t count, double* out) noexcept nogil
