from libc.stdint cimport int32_t

from sstruct._oracles.core._graph_costs cimport GraphAnswer, GraphCosts
from sstruct._oracles.graph._decoder cimport GraphDecoder


cdef class GraphEnumeration(GraphDecoder):
    cdef int32_t[::1] labels
    cdef bint attractive

    cdef int check_attraction(self, const GraphCosts* costs) except -1 nogil
    cdef int decode(
        self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil
    cpdef GraphDecoder fork(self)
