from libc.stdint cimport int32_t

from sstruct._kernels._storage cimport Storage
from sstruct._oracles.core._graph_costs cimport GraphCosts


cdef class Hub(Storage):
    cdef Py_ssize_t node             # joined to most of the others; -1 if there is none
    cdef GraphCosts rest             # of the other nodes, given the label of the hub
    cdef int32_t* degree             # (n_nodes,)
    cdef int32_t* labels             # (n_nodes - 1,) of the other nodes
    cdef int32_t* ends               # (n_edges, 2) of edges between the others
    cdef double* node_costs          # (n_nodes - 1, K)
    cdef double* edge_weights        # (n_edges, G)

    cdef int find(self, const GraphCosts* costs) except -1 nogil
    cdef double condition(
        self, const GraphCosts* costs, Py_ssize_t label, const int32_t* labels) except? -1 nogil
    cdef void give(self, Py_ssize_t label, int32_t* labels) noexcept nogil
