# Design:
# (a) A node that is joined to most others, such as one for a whole image among its cells, keeps its
#     label in moves of single labels and of forests: these change the others while it is fixed, and
#     vice versa. Therefore, the others are decoded given each of its labels in turn.
# (b) Its edges become node costs of the others, which form an ordinary graph.
"""Conditioning of the costs of a graph on the label of a node that is joined to most others."""

from libc.stdint cimport int32_t
from libc.string cimport memcpy, memset

from sstruct._oracles.core._graph_costs cimport edge_cost

# Other moves handle smaller graphs well.
cdef Py_ssize_t LEAST_DEGREE = 8


cdef class Hub:
    """Finds a hub and conditions on its label, for one graph at a time; not shared by threads."""

    cdef int find(self, const GraphCosts* costs) except -1 nogil:
        """Find the node with the most edges, to at least half of the others, in O(V + E)."""
        cdef Py_ssize_t V = costs.n_nodes, e, v, best = 0
        self.node = -1
        if V <= LEAST_DEGREE or 2 * costs.n_edges < V:
            return 0
        self.grow(<void**> &self.degree, V, sizeof(int32_t))
        memset(self.degree, 0, V * sizeof(int32_t))
        for e in range(2 * costs.n_edges):
            self.degree[costs.edges[e]] += 1
        for v in range(V):
            if self.degree[v] > self.degree[best]:
                best = v
        if self.degree[best] >= max(LEAST_DEGREE, V // 2):
            self.node = best
        return 0

    cdef double condition(
            self, const GraphCosts* costs, Py_ssize_t label, const int32_t* labels) except? -1 nogil:
        """Fill in `rest` and the labels of the others; return the cost of the hub's label."""
        cdef Py_ssize_t V = costs.n_nodes, K = costs.n_labels, G = costs.n_features
        cdef Py_ssize_t e, k, v, n_edges = 0
        cdef int32_t a, b, hub = <int32_t> self.node
        cdef double* node
        self.grow(<void**> &self.labels, V, sizeof(int32_t))
        self.grow(<void**> &self.ends, 2 * costs.n_edges, sizeof(int32_t))
        self.grow(<void**> &self.node_costs, V * K, sizeof(double))
        self.grow(<void**> &self.edge_weights, costs.n_edges * G, sizeof(double))
        for v in range(V):
            if v != hub:
                node = &self.node_costs[(v - (v > hub)) * K]
                memcpy(node, &costs.node_costs[v * costs.stride], K * sizeof(double))
                self.labels[v - (v > hub)] = labels[v]
        for e in range(costs.n_edges):
            a, b = costs.edges[2 * e], costs.edges[2 * e + 1]
            if a == hub:
                node = &self.node_costs[(b - (b > hub)) * K]
                for k in range(K):
                    node[k] += edge_cost(costs, e, label, k)
            elif b == hub:
                node = &self.node_costs[(a - (a > hub)) * K]
                for k in range(K):
                    node[k] += edge_cost(costs, e, k, label)
            else:
                self.ends[2 * n_edges], self.ends[2 * n_edges + 1] = a - (a > hub), b - (b > hub)
                memcpy(&self.edge_weights[n_edges * G], &costs.edge_weights[e * G], G * sizeof(double))
                n_edges += 1
        self.rest = costs[0]
        self.rest.n_nodes, self.rest.n_edges, self.rest.stride = V - 1, n_edges, K
        self.rest.node_costs, self.rest.edges = self.node_costs, self.ends
        self.rest.edge_weights = self.edge_weights
        self.rest.height = self.rest.width = 0
        self.rest.connectivity = 0
        return costs.node_costs[hub * costs.stride + label]

    cdef void give(self, Py_ssize_t label, int32_t* labels) noexcept nogil:
        """Write the label of the hub and those of the others."""
        cdef Py_ssize_t v
        for v in range(self.rest.n_nodes + 1):
            if v != self.node:
                labels[v] = self.labels[v - (v > self.node)]
        labels[self.node] = <int32_t> label
