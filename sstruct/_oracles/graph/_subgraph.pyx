# Design:
# (a) Some nodes of a graph are free, the others are fixed to their labels. The edges between a free and
#     a fixed node become node costs, so the free nodes form an ordinary graph.
# (b) A hub is joined to half of the nodes or more, such as a node for a whole image among its cells. It
#     tends to keep its label in moves of single labels and of forests: these change the others while it is
#     fixed, and vice versa. Therefore, the others are decoded given each of its labels in turn.
"""Costs of the free nodes of a graph, given the labels of the others."""

from libc.stdint cimport int32_t
from libc.string cimport memcpy, memset

from sstruct._oracles.core._graph_costs cimport edge_cost

# Other moves handle hubs of smaller degree well.
cdef Py_ssize_t MIN_DEGREE = 8


cdef class SubGraph:
    """Conditions one graph at a time: set `place`, then call `condition`; not shared by threads."""

    cdef int reserve(self, const GraphCosts* costs) except -1 nogil:
        cdef Py_ssize_t V = costs.n_nodes, E = costs.n_edges
        self.grow(<void**> &self.place, V, sizeof(int32_t))
        self.grow(<void**> &self.labels, V, sizeof(int32_t))
        self.grow(<void**> &self.ends, 2 * E, sizeof(int32_t))
        self.grow(<void**> &self.node_costs, V * costs.n_labels, sizeof(double))
        self.grow(<void**> &self.edge_weights, E * costs.n_features, sizeof(double))
        return 0

    cdef Py_ssize_t fix_hub(self, const GraphCosts* costs) except -2 nogil:
        """Fix the node of highest degree if it has at least max(8, V // 2) edges.

        Returns this node, or -1. O(V + E).
        """
        cdef Py_ssize_t V = costs.n_nodes, e, v, hub = 0
        cdef int32_t* degree
        if V <= MIN_DEGREE or 2 * costs.n_edges < V:
            return -1
        self.reserve(costs)
        degree = self.place
        memset(degree, 0, V * sizeof(int32_t))
        for e in range(2 * costs.n_edges):
            degree[costs.edges[e]] += 1
        for v in range(V):
            if degree[v] > degree[hub]:
                hub = v
        if degree[hub] < max(MIN_DEGREE, V // 2):
            return -1
        for v in range(V):
            self.place[v] = <int32_t> (v - (v > hub))
        self.place[hub] = -1
        return hub

    cdef void condition(self, const GraphCosts* costs, const int32_t* labels) noexcept nogil:
        """Fill in the costs, up to a constant, and the labels of the free nodes. O(V K + E K G)."""
        cdef Py_ssize_t K = costs.n_labels, G = costs.n_features, e, k, v, n_nodes = 0, n_edges = 0
        cdef int32_t a, b
        cdef double* node
        for v in range(costs.n_nodes):
            a = self.place[v]
            if a >= 0:
                memcpy(&self.node_costs[a * K], &costs.node_costs[v * costs.stride], K * sizeof(double))
                self.labels[a] = labels[v]
                n_nodes += 1
        for e in range(costs.n_edges):
            a, b = self.place[costs.edges[2 * e]], self.place[costs.edges[2 * e + 1]]
            if a >= 0 and b >= 0:
                self.ends[2 * n_edges], self.ends[2 * n_edges + 1] = a, b
                memcpy(&self.edge_weights[n_edges * G], &costs.edge_weights[e * G], G * sizeof(double))
                n_edges += 1
            elif a >= 0:
                node = &self.node_costs[a * K]
                for k in range(K):
                    node[k] += edge_cost(costs, e, k, labels[costs.edges[2 * e + 1]])
            elif b >= 0:
                node = &self.node_costs[b * K]
                for k in range(K):
                    node[k] += edge_cost(costs, e, labels[costs.edges[2 * e]], k)
        self.costs = costs[0]
        self.costs.n_nodes, self.costs.n_edges, self.costs.stride = n_nodes, n_edges, K
        self.costs.node_costs, self.costs.edges = self.node_costs, self.ends
        self.costs.edge_weights = self.edge_weights
        self.costs.height = self.costs.width = self.costs.connectivity = 0
