from libc.stdint cimport int32_t

from sstruct._oracles._graph_costs cimport GraphCosts


cdef struct GraphAnswer:
    double cost
    double work     # in units of about one scalar multiply-add
    bint exact      # whether no labelling costs less


cdef class GraphDecoder:
    cdef readonly str method

    cdef int decode(
        self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil
    cdef GraphDecoder fork(self)
