from libc.stdint cimport int32_t

from sstruct._oracles.core._graph_costs cimport GraphCosts
from sstruct._oracles.mrf._branch_and_bound cimport SearchNode


cdef class GraphRoot(SearchNode):
    cdef double magnitude      # upper bound on the sum of the magnitudes of all costs

    cdef int load(
        self, const GraphCosts* costs, const double* multipliers, double* work) except -1 nogil
    cdef double set_nodes(self, const GraphCosts* costs) noexcept nogil
    cdef double set_edges(self, const GraphCosts* costs) except? -1 nogil
    cdef bint may_use(self, const GraphCosts* costs, const double* multipliers) noexcept nogil
    cdef double shift_nodes(self, const GraphCosts* costs, const double* multipliers) noexcept nogil
    cdef double least_of_edge(self, Py_ssize_t e, const double* multipliers) noexcept nogil
