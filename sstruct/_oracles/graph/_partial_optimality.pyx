# Design:
# (a) Labels that every minimum of a Potts energy has (weights >= 0), by one cut for each label k: k
#     against the best of the others at each node, an energy of two labels with the same edges. The
#     smallest set of nodes that takes k in a minimum of it takes k in every minimum of the energy:
#     to give k to the rest of the set changes the energy by no more than that of two labels, whose
#     change is negative (submodularity, and the set is the smallest).
# (b) What is left is a smaller energy of the same kind: edges to decided nodes go into the node
#     costs. `rest` is that energy, its storage this workspace.
# (I. Kovtun. Partial optimal labeling search for a NP-hard subclass of (max,+) problems. DAGM 2003.)
"""Partial optimality of Potts energies."""

from libc.stdint cimport int32_t
from libc.stdlib cimport free

import numpy as np

from sstruct._kernels._memory cimport grow
from sstruct._oracles.core._graph_costs cimport GraphCosts
from sstruct._oracles.cut._workspace cimport set_flow


cdef class PartialOptimality:
    """Decides a part of one labeled graph after another; each thread needs its own."""

    def __cinit__(self):
        self.flow = MaxFlow()

    def __dealloc__(self):
        free(self.first)
        free(self.second)
        free(self.best)
        free(self.place)
        free(self.known)
        free(self.labels)
        free(self.node_costs)
        free(self.edges)
        free(self.edge_weights)

    cdef int reserve(self, const GraphCosts* costs) except -1 nogil:
        cdef Py_ssize_t V = costs.n_nodes, E = costs.n_edges, n_cells = V * costs.n_labels
        if V > self.node_room:
            V = max(V, self.node_room + self.node_room // 4)
            self.node_room = 0
            grow(<void**> &self.first, V, sizeof(double))
            grow(<void**> &self.second, V, sizeof(double))
            grow(<void**> &self.best, V, sizeof(int32_t))
            grow(<void**> &self.place, V, sizeof(int32_t))
            grow(<void**> &self.known, V, sizeof(int32_t))
            grow(<void**> &self.labels, V, sizeof(int32_t))
            self.node_room = V
        if E > self.edge_room:
            E = max(E, self.edge_room + self.edge_room // 4)
            self.edge_room = 0
            grow(<void**> &self.edges, 2 * E, sizeof(int32_t))
            grow(<void**> &self.edge_weights, E, sizeof(double))
            self.edge_room = E
        if n_cells > self.cell_room:
            n_cells = max(n_cells, self.cell_room + self.cell_room // 4)
            self.cell_room = 0
            grow(<void**> &self.node_costs, n_cells, sizeof(double))
            self.cell_room = n_cells
        return 0

    cdef Py_ssize_t decide(self, const GraphCosts* costs, double* work) except -1 nogil:
        """Fill in `known`; return how many labels are.

        Potts costs, weights >= 0, two labels at least. K cuts.
        """
        cdef Py_ssize_t V = costs.n_nodes, E = costs.n_edges, K = costs.n_labels, v, e, k, n = 0
        cdef const double* row = costs.node_costs
        cdef double other, flow
        cdef bint lacking
        self.reserve(costs)
        set_flow(self.flow, costs)
        for e in range(E):
            self.flow.capacity[2 * e] = self.flow.capacity[2 * e + 1] = costs.edge_weights[e]
        for v in range(V):
            self.known[v] = -1
            k = 1 if row[1] < row[0] else 0
            self.best[v], self.first[v], self.second[v] = <int32_t> k, row[k], row[1 - k]
            for k in range(2, K):
                if row[k] < self.first[v]:
                    self.second[v] = self.first[v]
                    self.best[v], self.first[v] = <int32_t> k, row[k]
                elif row[k] < self.second[v]:
                    self.second[v] = row[k]
            row += costs.stride
        for k in range(K):
            lacking = False
            for v in range(V):
                other = self.second[v] if self.best[v] == k else self.first[v]
                self.flow.terminal[v] = costs.node_costs[v * costs.stride + k] - other
                lacking = lacking or self.flow.terminal[v] < 0
            work[0] += <double> V
            if not lacking:
                continue
            self.flow.solve(&flow, work)
            for v in range(V):
                if self.known[v] < 0 and self.flow.on_sink_side(v):
                    self.known[v] = <int32_t> k
                    n += 1
        return n

    cdef int reduce(self, const GraphCosts* costs) except -1 nogil:
        """Fill in `rest`, the costs of the nodes that are not known, and their `place` in it."""
        cdef Py_ssize_t E = costs.n_edges, K = costs.n_labels, v, e, k, n = 0
        cdef int32_t u, w
        cdef double weight
        for v in range(costs.n_nodes):
            self.place[v] = -1
            if self.known[v] < 0:
                for k in range(K):
                    self.node_costs[n * K + k] = costs.node_costs[v * costs.stride + k]
                self.place[v] = <int32_t> n
                n += 1
        self.rest = costs[0]
        self.rest.n_nodes, self.rest.stride = n, K
        self.rest.node_costs, self.rest.edges = self.node_costs, self.edges
        self.rest.edge_weights = self.edge_weights
        self.rest.height = self.rest.width = 0
        self.rest.connectivity = 0
        n = 0
        for e in range(E):
            u, w = costs.edges[2 * e], costs.edges[2 * e + 1]
            weight = costs.edge_weights[e]
            if self.known[u] >= 0:
                u, w = w, u
            if self.known[u] >= 0:
                continue
            if self.known[w] < 0:
                self.edges[2 * n], self.edges[2 * n + 1] = self.place[u], self.place[w]
                self.edge_weights[n] = weight
                n += 1
            else:          # weight [y_u != y_w] = weight - weight [y_u = y_w]
                self.node_costs[self.place[u] * K + self.known[w]] -= weight
        self.rest.n_edges = n
        return 0

    def py_decide(self, node_costs, edges, edge_weights):
        """Decide arrays (V, K), (E, 2), (E,) >= 0: labels, -1 where not known, and the rest (node
        costs, edges, edge weights). For tests and benchmarks: indices are trusted."""
        cdef const double[:, ::1] node = node_costs
        cdef const int32_t[:, ::1] pairs = edges
        cdef const double[::1] weights = edge_weights
        cdef GraphCosts costs
        cdef double work = 0
        cdef Py_ssize_t v, n, E
        labels = np.empty(node.shape[0], dtype=np.int32)
        cdef int32_t[::1] out = labels
        costs.n_nodes, costs.n_labels, costs.stride = node.shape[0], node.shape[1], node.shape[1]
        costs.n_edges, costs.n_features = pairs.shape[0], 1
        costs.node_costs, costs.tables = &node[0, 0], NULL
        costs.edges = &pairs[0, 0] if costs.n_edges else NULL
        costs.edge_weights = &weights[0] if costs.n_edges else NULL
        costs.height = costs.width = 0
        costs.connectivity = 0
        with nogil:
            self.decide(&costs, &work)
            self.reduce(&costs)
            for v in range(costs.n_nodes):
                out[v] = self.known[v]
        n, E = self.rest.n_nodes, self.rest.n_edges
        rest = (
            np.array(<double[:n, :node.shape[1]]> self.node_costs) if n else node_costs[:0],
            np.array(<int32_t[:E, :2]> self.edges) if E else edges[:0],
            np.array(<double[:E]> self.edge_weights) if E else edge_weights[:0],
        )
        return labels, rest
