from libc.stdint cimport int32_t

from sstruct._kernels._storage cimport Storage
from sstruct._oracles.core._graph_costs cimport GraphCosts


cdef class SubGraph(Storage):
    cdef GraphCosts costs            # costs of the free nodes, given the labels of the others
    cdef int32_t* place              # (n_nodes,) index among the free nodes; -1: fixed
    cdef int32_t* labels             # (n_free,) labels of the free nodes
    cdef int32_t* ends               # (n_edges, 2) ends of the edges between free nodes
    cdef double* node_costs          # (n_free, K)
    cdef double* edge_weights        # (n_edges, G)

    cdef int reserve(self, const GraphCosts* costs) except -1 nogil
    cdef Py_ssize_t fix_hub(self, const GraphCosts* costs) except -2 nogil
    cdef void condition(self, const GraphCosts* costs, const int32_t* labels) noexcept nogil
