from libc.stdint cimport int32_t

from sstruct._kernels._storage cimport Storage
from sstruct._oracles.core._graph_costs cimport GraphCosts
from sstruct._oracles.cut._maxflow cimport MaxFlow


cdef class PartialOptimality(Storage):
    cdef MaxFlow flow
    cdef GraphCosts rest             # the costs of the undetermined nodes
    cdef double* first               # (n_nodes,) minimum cost of a node
    cdef double* second              # (n_nodes,) second smallest cost
    cdef int32_t* best               # (n_nodes,) label of minimum cost
    cdef int32_t* known              # (n_nodes,) the label in every minimum, or -1
    cdef int32_t* labels             # (n_nodes,) scratch for labels of the rest
    cdef int32_t* place              # (n_nodes,) index among the undetermined nodes, or -1
    cdef double* node_costs          # (n, K) costs of the undetermined nodes
    cdef int32_t* edges
    cdef double* edge_weights

    cdef Py_ssize_t decide(self, const GraphCosts* costs, double* work) except -1 nogil
    cdef int reduce(self, const GraphCosts* costs) except -1 nogil
    cdef int reserve(self, const GraphCosts* costs) except -1 nogil
