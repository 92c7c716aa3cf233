from libc.stdint cimport int32_t, uint64_t

from sstruct._oracles._graph_costs cimport GraphCosts


cdef struct GraphAnswer:
    double cost         # of the labels
    double work         # units of about one scalar multiply-add
    bint exact          # the labels are known to be a minimum


cdef class GraphDecoder:
    cdef readonly str method
    cdef readonly uint64_t random_state

    cdef int decode(
        self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil
    cdef GraphDecoder fork(self)
