# Design:
# (a) Labels that every minimum of a Potts energy has (weights >= 0), by a cut for each label k: k
#     against the best other label at each node, an energy of two labels with the same edges. The
#     smallest set of nodes that takes k in a minimum of this energy takes k in every minimum of the Potts
#     energy: assigning k to the rest of the set changes the energy by at most the change of the
#     energy of two labels, which is negative (submodularity and minimality of the set).
# (b) The remainder is a smaller energy of the same kind: edges to determined nodes become node costs.
#     `rest` is that energy, up to a constant, stored in this workspace.
# (I. Kovtun. Partial optimal labeling search for a NP-hard subclass of (max,+) problems. DAGM 2003.)
"""Partial optimality of Potts energies."""

from libc.stdint cimport int32_t

from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.core._graph_costs cimport GraphCosts
from sstruct._oracles.cut._workspace cimport set_flow


cdef class PartialOptimality:
    """Determines some labels of one graph at a time; each thread requires its own object."""

    def __cinit__(self):
        self.flow = MaxFlow()

    cdef int reserve(self, const GraphCosts* costs) except -1 nogil:
        cdef Py_ssize_t V = costs.n_nodes, E = costs.n_edges
        self.grow(<void**> &self.first, V, sizeof(double))
        self.grow(<void**> &self.second, V, sizeof(double))
        self.grow(<void**> &self.best, V, sizeof(int32_t))
        self.grow(<void**> &self.place, V, sizeof(int32_t))
        self.grow(<void**> &self.known, V, sizeof(int32_t))
        self.grow(<void**> &self.labels, V, sizeof(int32_t))
        self.grow(<void**> &self.edges, 2 * E, sizeof(int32_t))
        self.grow(<void**> &self.edge_weights, E, sizeof(double))
        self.grow(<void**> &self.node_costs, V * costs.n_labels, sizeof(double))
        return 0

    cdef Py_ssize_t decide(self, const GraphCosts* costs, double* work) except -1 nogil:
        """Fill in `known`; return the number of known labels.

        Requires Potts costs with weights >= 0 and at least two labels. Solves at most K cuts.
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
            poll_signals(<double> V)
            if not lacking:
                continue
            self.flow.solve(&flow, work)
            for v in range(V):
                if self.known[v] < 0 and self.flow.on_sink_side(v):
                    self.known[v] = <int32_t> k
                    n += 1
        return n

    cdef int reduce(self, const GraphCosts* costs) except -1 nogil:
        """Fill in `rest`, the costs of the undetermined nodes, and their `place` in it."""
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
