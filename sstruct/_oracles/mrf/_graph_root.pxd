from libc.stdint cimport int32_t

from sstruct._oracles.core._graph_costs cimport GraphCosts
from sstruct._oracles.core._hard_terms cimport HardTerms
from sstruct._oracles.mrf._branch_and_bound cimport SearchNode


cdef class GraphRoot(SearchNode):
    cdef double magnitude      # upper bound on the sum of the magnitudes of all finite costs
    cdef Py_ssize_t n_extra    # number of auxiliary nodes
    cdef bint is_warm          # whether the multipliers passed to `load` are used

    cdef int load(
        self, const GraphCosts* costs, const HardTerms* hard, const double* multipliers,
        double* work) except -1 nogil
    cdef double set_nodes(self, const GraphCosts* costs, const HardTerms* hard) noexcept nogil
    cdef double set_edges(self, const GraphCosts* costs, const HardTerms* hard) except? -1 nogil
    cdef double* costs_of(self, Py_ssize_t v) noexcept nogil
    cdef const int32_t* labels_found(self) noexcept nogil
    cdef Py_ssize_t place(self, Py_ssize_t v) noexcept nogil
    cdef int add_links(self, const HardTerms* hard) except -1 nogil
    cdef void add_price(self, const HardTerms* hard, Py_ssize_t c, double price) noexcept nogil
    cdef void shift(
        self, Py_ssize_t e, Py_ssize_t v, Py_ssize_t first, Py_ssize_t k, double amount) noexcept nogil
    cdef void force(self, Py_ssize_t v, Py_ssize_t label) noexcept nogil
    cdef bint may_use(self, const double* multipliers) noexcept nogil
    cdef double shift_nodes(self, const double* multipliers) noexcept nogil
    cdef double least_of_edge(self, Py_ssize_t e, const double* multipliers) noexcept nogil
