from libc.stdint cimport int32_t, int64_t

from sstruct._oracles.core._graph_costs cimport GraphCosts
from sstruct._oracles.graph._forest cimport Forest
from sstruct._oracles.tree._tree_sums cimport TreeSums


cdef class ForestSums(TreeSums):
    cdef Forest forest
    cdef const GraphCosts* costs
    cdef int32_t* parent_of      # (n_nodes,) -1 at a root
    cdef int64_t* first          # (n_nodes + 1,) multiples of K
    cdef double* theta           # (n_nodes, K) minus the node costs
    cdef double* pair            # (K,) a row of scores
    # Of the current edge: its table multiplied by `factor`, with strides of the parent and of the node.
    cdef double factor
    cdef const double* table
    cdef Py_ssize_t of_parent, of_node

    cdef double log_sum(
        self, const GraphCosts* costs, const int32_t* counts, const int32_t* known,
        double scale) except? -1 nogil
    cdef bint is_simple(self, Py_ssize_t v) noexcept nogil
