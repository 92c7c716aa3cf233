from libc.stdint cimport int32_t, uint64_t

from sstruct._kernels._storage cimport Storage
from sstruct._oracles.graph._forest cimport Forest
from sstruct._oracles.graph._subgraph cimport SubGraph
from sstruct._oracles.core._graph_costs cimport GraphAnswer, GraphCosts


cdef class ForestMoves(Storage):
    cdef Forest forest
    cdef SubGraph free               # the free nodes of a move
    cdef int32_t* first              # (n_nodes + 1,) arcs of a node: first[v] ... first[v + 1] - 1
    cdef int32_t* arc                # (2 n_edges,) edge of an arc
    cdef int32_t* order              # (n_nodes,)
    cdef int32_t* freed              # (n_freed,) the node with an index
    cdef int32_t* root               # (n_nodes,) union-find of the trees of free nodes
    cdef int32_t* seen               # (n_nodes,) at a root: the last node adjacent to the tree
    cdef int32_t* new                # (n_freed,) labels after the move

    cdef int minimize(
        self, const GraphCosts* costs, uint64_t seed, int32_t* labels, double max_work,
        GraphAnswer* answer) except -1 nogil
    cdef int reserve(self, const GraphCosts* costs) except -1 nogil
    cdef int32_t find(self, int32_t v) noexcept nogil
    cdef void choose(self, const GraphCosts* costs, uint64_t* random) noexcept nogil
