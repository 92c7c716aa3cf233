from libc.stdint cimport int32_t

from sstruct._oracles.core._graph_costs cimport GraphAnswer, GraphCosts
from sstruct._oracles.core._hard_terms cimport HardTerms
from sstruct._oracles.graph._decoder cimport GraphDecoder
from sstruct._oracles.mrf._branch_and_bound cimport Limits
from sstruct._oracles.mrf._graph_root cimport GraphRoot


cdef class GraphSearchMemory:
    cdef readonly dict labels, multipliers, certified, searches, proofs
    cdef readonly double slack


cdef class ExactDecoder(GraphDecoder):
    cdef readonly GraphSearchMemory kept
    cdef readonly double max_time, max_work
    cdef readonly bint keeps
    cdef GraphRoot root
    cdef Py_ssize_t n_prices   # number of counters of the graph
    cdef double[::1] prices    # prices of its counters; stored after the multipliers
    cdef double time_spent     # seconds of the time limit that are spent before a search
    cdef Limits limits

    cdef int prove(
        self, const GraphCosts* costs, const HardTerms* hard, int32_t* labels,
        GraphAnswer* answer) except -1 nogil
    cdef int search_on(self, GraphAnswer* answer) except -1 nogil
    cdef int set_limits(self, double magnitude) noexcept nogil
    cdef int count(self, const GraphAnswer* answer) except -1 nogil
    cdef void add_prices(self, const HardTerms* hard, const double* last) noexcept nogil
    cdef last_search(self)
    cdef const double* last_of(
        self, const GraphCosts* costs, int32_t* labels, double* cost) except? NULL
    cdef finish(self, const GraphCosts* costs, const int32_t* labels)
