from libc.stdint cimport int32_t

from sstruct._kernels._storage cimport Storage
from sstruct._oracles.core._graph_costs cimport GraphAnswer, GraphCosts


cdef class Forest(Storage):
    cdef int32_t* first          # (n_nodes + 1,) arcs of a node: first[v] ... first[v + 1] - 1
    cdef int32_t* arc            # (2 n_edges,) edge of an arc
    cdef int32_t* order          # (n_nodes,) every node after its parent
    cdef int32_t* parent_edge    # (n_nodes,) -1 at a root
    cdef double* least           # (n_nodes, K) least cost of the subtree of a node, given its label
    cdef int32_t* choice         # (n_nodes, K) its best label, given the label of its parent
    cdef double* table           # (K, K) scratch
    cdef double* sent            # (n_nodes, K) of min-marginals: messages to the parents
    cdef double* row             # (K,) scratch for a message

    cdef int minimize(self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil
    cdef int reserve(self, const GraphCosts* costs) except -1 nogil
    cdef double message_work(self, const GraphCosts* costs) noexcept nogil
    cdef int sort_nodes(self, const GraphCosts* costs) except -1 nogil
    cdef int marginals(self, const GraphCosts* costs, double* out) except -1 nogil
    cdef void message(
        self, const GraphCosts* costs, Py_ssize_t e, bint forth, const double* of, double* out,
        int32_t* choice) noexcept nogil
