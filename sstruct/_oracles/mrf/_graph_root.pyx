# Design:
# (a) The root of a search (_branch_and_bound.pyx) with the costs of a graph. Its bound starts from any
#     multipliers m, such as those of an earlier search of the same graph with similar costs:
#         E = sum_v (costs_v + sum_e m_ev) + sum_e (cost_e - sum_v m_ev),
#     where the sum of the minima of all terms is a lower bound for any m.
"""Roots of searches with the costs of graphs."""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from sstruct._oracles.core._graph_costs cimport edge_cost

# Multipliers are used if none is larger than this multiple of all costs; rounding errors of larger ones
# could make a bound invalid.
cdef double MOST_MULTIPLIER = 100


cdef class GraphRoot(SearchNode):
    """The root of the search of one graph at a time."""

    cdef int load(
            self, const GraphCosts* costs, const double* multipliers, double* work) except -1 nogil:
        """Set the costs, and use multipliers (E, 2, K), if not NULL, unless 0 is a better start."""
        cdef Py_ssize_t K = costs.n_labels, e, k
        cdef double least, bound, bound_at_zero
        self.magnitude = 0
        self.reserve(costs.n_nodes, costs.n_nodes * K)
        self.n_active = costs.n_nodes
        for k in range(costs.n_nodes + 1):
            self.first_label[k] = k * K
        for k in range(costs.n_nodes):
            self.n_labels[k] = <int32_t> K
        bound_at_zero = self.set_nodes(costs)
        bound_at_zero += self.set_edges(costs)
        work[0] += 2 * self.first_entry[costs.n_edges]
        if multipliers != NULL and self.may_use(costs, multipliers):
            bound = self.shift_nodes(costs, multipliers)
            for e in range(costs.n_edges):
                bound += self.least_of_edge(e, multipliers + 2 * e * K)
            work[0] += self.first_entry[costs.n_edges]
            if bound > bound_at_zero:
                memcpy(self.messages, multipliers, 2 * costs.n_edges * K * sizeof(double))
            else:
                self.set_nodes(costs)
        self.bound = 0
        for e in range(costs.n_edges):
            # The remaining table has a minimum of 0.
            least = self.least_of_edge(e, self.messages + self.first_message[e])
            self.bound += least
            for k in range(self.first_message[e], self.first_message[e] + K):
                self.messages[k] += least
        return 0

    cdef double set_nodes(self, const GraphCosts* costs) noexcept nogil:
        """Copy the costs of nodes; return the sum of their minima."""
        cdef Py_ssize_t v, k, K = costs.n_labels
        cdef double least, largest, total = 0
        cdef const double* node
        for v in range(costs.n_nodes):
            node = costs.node_costs + v * costs.stride
            least, largest = INFINITY, 0
            for k in range(K):
                self.costs[v * K + k] = node[k]
                least, largest = min(least, node[k]), max(largest, fabs(node[k]))
            total += least
            self.magnitude += largest
        return total

    cdef double set_edges(self, const GraphCosts* costs) except? -1 nogil:
        """Copy the costs of edges; return the sum of their minima."""
        cdef Py_ssize_t e, a, b, K = costs.n_labels
        cdef double value, least, largest, total = 0
        cdef double* table
        for e in range(costs.n_edges):
            self.reserve_edge(costs.edges[2 * e], costs.edges[2 * e + 1])
            self.link(e)
            table = self.tables + self.first_entry[e]
            if costs.tables == NULL and costs.edge_weights[e] >= 0:
                value = self.potts[e] = costs.edge_weights[e]
                for a in range(K * K):
                    table[a] = value
                for a in range(K):
                    table[a * (K + 1)] = 0
                self.magnitude += value
                continue
            least, largest = INFINITY, 0
            for a in range(K):
                for b in range(K):
                    value = table[a * K + b] = edge_cost(costs, e, a, b)
                    least, largest = min(least, value), max(largest, fabs(value))
            total += least
            self.magnitude += largest
        return total

    cdef bint may_use(self, const GraphCosts* costs, const double* multipliers) noexcept nogil:
        """Return True if rounding errors with these multipliers are small."""
        cdef Py_ssize_t k
        cdef double largest = 0
        for k in range(2 * costs.n_edges * costs.n_labels):
            largest = max(largest, fabs(multipliers[k]))
        return largest <= MOST_MULTIPLIER * self.magnitude

    cdef double shift_nodes(
            self, const GraphCosts* costs, const double* multipliers) noexcept nogil:
        """Add multipliers to the costs of nodes; return the sum of their minima."""
        cdef Py_ssize_t i, v, k, K = costs.n_labels
        cdef double least, total = 0
        for i in range(2 * costs.n_edges):
            v = costs.edges[i]
            for k in range(K):
                self.costs[v * K + k] += multipliers[i * K + k]
        for v in range(costs.n_nodes):
            least = INFINITY
            for k in range(K):
                least = min(least, self.costs[v * K + k])
            total += least
        return total

    cdef double least_of_edge(self, Py_ssize_t e, const double* multipliers) noexcept nogil:
        """Return the minimum of the table of an edge minus multipliers (2, K)."""
        cdef Py_ssize_t a, b, K = self.n_labels[0]
        cdef const double* table = self.tables + self.first_entry[e]
        cdef double least = INFINITY, at_u = -INFINITY, at_v = -INFINITY
        if self.potts[e] >= 0:
            for a in range(K):
                least = min(least, -multipliers[a] - multipliers[K + a])
                at_u, at_v = max(at_u, multipliers[a]), max(at_v, multipliers[K + a])
            return min(least, self.potts[e] - at_u - at_v)
        for a in range(K):
            for b in range(K):
                least = min(least, table[a * K + b] - multipliers[a] - multipliers[K + b])
        return least
