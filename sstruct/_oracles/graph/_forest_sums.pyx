# Design:
# (a) Sum-product on the graphs of _forest.pyx, with scores that are minus the costs. A node has all K
#     labels, or only the first ones.
# (b) The message of an edge with a Potts cost takes O(K) time, unless the cost is negative or extreme.
# (c) Tables of edges are not stored: a row is computed from the table or the weight of its edge.
"""Sum-product on graphs without cycles."""

from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, int64_t

from sstruct._oracles.core._graph_costs cimport GraphCosts, edge_table
from sstruct._oracles.graph._forest cimport Forest
from sstruct._oracles.tree._tree_sums cimport TreeSums


# Largest absolute exponent of a factor. Products with sums of shares, which are at least 1, cannot underflow.
cdef double MODERATE = 500


cdef class ForestSums(TreeSums):
    """Sums over the labelings of one forest at a time; each thread requires its own object."""

    def __cinit__(self):
        self.forest = Forest()

    cdef double log_sum(
            self, const GraphCosts* costs, const int32_t* counts, const int32_t* known,
            double scale) except? -1 nogil:
        """Return log Z, see `log_partition`; raise ValueError if there is a cycle.

        counts : (n_nodes,) a node only has this number of the first labels; NULL: all have K labels
        The costs must remain valid for the other methods.
        """
        cdef Py_ssize_t V = costs.n_nodes, K = costs.n_labels, v, k
        cdef int32_t e
        self.costs = costs
        self.grow(<void**> &self.parent_of, V, sizeof(int32_t))
        self.grow(<void**> &self.first, V + 1, sizeof(int64_t))
        self.grow(<void**> &self.theta, V * K, sizeof(double))
        self.grow(<void**> &self.pair, K, sizeof(double))
        self.forest.grow(<void**> &self.forest.table, K * K, sizeof(double))
        self.forest.sort_nodes(costs)
        for v in range(V):
            e = self.forest.parent_edge[v]
            self.parent_of[v] = -1 if e < 0 else costs.edges[2 * e] + costs.edges[2 * e + 1] - <int32_t> v
            self.first[v] = v * K
            for k in range(K):
                self.theta[v * K + k] = -INFINITY if counts != NULL and k >= counts[v] else (
                    -costs.node_costs[v * costs.stride + k])
        self.first[V] = V * K
        return self.log_partition(
            V, self.forest.order, self.parent_of, self.first, self.theta, known, scale)

    cdef void begin_edge(self, Py_ssize_t v) noexcept nogil:
        cdef Py_ssize_t e = self.forest.parent_edge[v], K = self.costs.n_labels
        cdef bint forth = self.costs.edges[2 * e] == v
        if self.costs.tables == NULL:
            self.factor = -self.costs.edge_weights[e]
            return
        self.table = edge_table(self.costs, e, &self.factor, self.forest.table)
        self.factor = -self.factor
        self.of_node, self.of_parent = K if forth else 1, 1 if forth else K

    cdef const double* edge_row(self, Py_ssize_t v, Py_ssize_t j) noexcept nogil:
        cdef Py_ssize_t s
        if self.costs.tables == NULL:
            for s in range(self.costs.n_labels):
                self.pair[s] = self.factor
            self.pair[j] = 0
        else:
            for s in range(self.costs.n_labels):
                self.pair[s] = self.factor * self.table[j * self.of_parent + s * self.of_node]
        return self.pair

    cdef bint is_simple(self, Py_ssize_t v) noexcept nogil:
        """Whether the edge of v has a Potts cost of moderate size; set `factor` if so.

        The terms of sums are then share[s] times `factor` if labels differ: O(K) for all of them.
        """
        cdef double exponent
        if self.costs.tables != NULL:
            return False
        exponent = -self.scale * self.costs.edge_weights[self.forest.parent_edge[v]]
        if not -MODERATE < exponent <= 0:
            return False
        self.factor = exp(exponent)
        return True

    cdef double message(
            self, Py_ssize_t v, const double* above, Py_ssize_t n, double* out) noexcept nogil:
        """out[j] = log(factor sum_s share[s] + (1 - factor) share[j]) + shift; all terms are >= 0."""
        cdef Py_ssize_t j
        cdef double total, shift, highest = -INFINITY
        if not self.is_simple(v):
            return TreeSums.message(self, v, above, n, out)
        shift = self.weigh(v, NULL, &total)
        if shift == -INFINITY:
            return shift
        for j in range(n):
            out[j] = shift + log(self.factor * total + (1 - self.factor) * self.share[j])
            highest = max(highest, out[j])
        return highest

    cdef void divide(
            self, Py_ssize_t v, const double* above, Py_ssize_t n, double* out) noexcept nogil:
        """out[s] = share[s] (factor sum_j q_j + (1 - factor) q_s), q_j = above[j] / sum of the terms of j."""
        cdef Py_ssize_t j
        cdef double total, of_all = 0
        if not self.is_simple(v):
            TreeSums.divide(self, v, above, n, out)
            return
        self.weigh(v, NULL, &total)
        for j in range(n):
            out[j] = above[j] / (self.factor * total + (1 - self.factor) * self.share[j])
            of_all += out[j]
        for j in range(n):
            out[j] = self.share[j] * (self.factor * of_all + (1 - self.factor) * out[j])
