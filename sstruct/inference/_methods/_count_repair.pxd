from libc.stdint cimport int32_t

from sstruct._oracles.core._graph_costs cimport GraphCosts
from sstruct._oracles.core._hard_terms cimport HardTerms


cdef class CountRepair:
    cdef int32_t[::1] labels
    cdef double[::1] given
    cdef int32_t[::1] changes

    cdef reserve(self, Py_ssize_t n_nodes, Py_ssize_t n_labels)
    cdef bint repair(
        self, const GraphCosts* costs, const HardTerms* hard, const int32_t* start,
        double* work) except -1 nogil
    cdef void add_edges(self, const GraphCosts* costs, Py_ssize_t v, double sign) noexcept nogil
    cdef Py_ssize_t find_changes(
        self, const GraphCosts* costs, const HardTerms* hard) noexcept nogil
