from libc.stdint cimport int32_t, int64_t

from sstruct._kernels._storage cimport Storage
from sstruct._oracles.core._graph_costs cimport GraphCosts
from sstruct._oracles.graph._expansion_moves cimport AlphaExpansion


cdef class CutMarginals(Storage):
    cdef AlphaExpansion moves        # its first move, from all 0 to 1, is the minimum
    cdef const GraphCosts* costs
    cdef const int32_t* labels       # (n_nodes,) labels of the minimum
    cdef double* residual            # (n_edges, 2) residuals u -> v and v -> u
    cdef double* supply              # (n_nodes,) residual of a node's terminal
    cdef int32_t* first              # (n_nodes + 1,) arcs of a node: first[v] ... first[v + 1] - 1
    cdef int32_t* arc                # (2 n_edges,) edge of an arc
    cdef int32_t* queue              # (n_nodes,) nodes found by a search
    cdef int32_t* via                # (n_nodes,) index in `residual` of the arc to the previous node
    cdef int64_t* found              # (n_nodes,) number of the last search that found a node
    cdef int64_t n_searches
    cdef double* reach               # (n_nodes,) possible flow through a node; then its demand
    cdef double* carried             # (n_nodes,) capacity to the previous node; then its flow
    # The changes made by a forced label, and the previous values.
    cdef double* old_residual        # (n_edges, 2)
    cdef double* old_supply          # (n_nodes,)
    cdef int32_t* changed_edge       # (n_changed_edges,)
    cdef int32_t* changed_node       # (n_changed_nodes,)
    cdef unsigned char* is_edge_changed
    cdef unsigned char* is_node_changed
    cdef Py_ssize_t n_changed_edges, n_changed_nodes

    cdef bint fill(self, const GraphCosts* costs, double* out) except -1 nogil
    cdef int reserve(self) except -1 nogil
    cdef void set_residuals(self) noexcept nogil
    cdef double force(self, int32_t v) except? -1 nogil
    cdef Py_ssize_t grow_tree(self, int32_t v) except -1 nogil
    cdef double send_through_tree(self, Py_ssize_t n) noexcept nogil
    cdef void change_supply(self, int32_t x, double taken) noexcept nogil
    cdef void change_residual(self, int32_t at, double sent) noexcept nogil
    cdef void undo(self) noexcept nogil


cdef int flip_marginals(
    const GraphCosts* costs, const int32_t* labels, double* out) except -1 nogil
