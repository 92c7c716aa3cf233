# Design:
# (a) Labels of single nodes change. First, each change decreases the sum of the violations of all
#     counters at the least cost; then, each change decreases the cost without violations.
# (b) Other constraints are ignored; the caller checks them.
# (c) A change takes time proportional to the size of the graph and of its counters. The work of a call
#     is limited, since labels of large graphs may require as many changes as there are nodes.
"""Labels of graphs that satisfy the bounds of counters, close to other labels."""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t

import numpy as np

from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.core._graph_costs cimport GraphCosts, edge_cost
from sstruct._oracles.core._hard_terms cimport HardTerms, counted_node

# Changes that decrease the cost by less, relative to the largest cost of a label, may be rounding errors.
cdef double ROUNDING = 1e-9
# Limit on the work of a call: about 20 ms.
cdef double MAX_WORK = 2.0**24


cdef inline Py_ssize_t outside(Py_ssize_t n, Py_ssize_t least, Py_ssize_t most) noexcept nogil:
    """Return the distance of a number from its bounds."""
    return max(least - n, n - most, 0)


cdef class CountRepair:
    """Workspace; `labels` are the result of the last call of `repair`."""

    def __cinit__(self):
        self.reserve(1, 1)

    cdef reserve(self, Py_ssize_t n_nodes, Py_ssize_t n_labels):
        """Make room for a graph."""
        self.labels = np.zeros(n_nodes, dtype=np.int32)
        self.given, self.changes = (
            np.zeros(n_nodes * n_labels, dtype=dtype) for dtype in (np.float64, np.int32))

    cdef bint repair(
            self, const GraphCosts* costs, const HardTerms* hard, const int32_t* start,
            double* work) except -1 nogil:
        """Set `labels` to labels close to `start`; return whether they satisfy all bounds."""
        cdef Py_ssize_t v, k, c, best, violation = 0, V = costs.n_nodes, K = costs.n_labels
        cdef double change, least, largest = 0, spent = 0, of_change = V * K + 3.0 * costs.n_edges
        for c in range(hard.n_counters):
            of_change += <double> hard.counters[4 * c + 1] * K
        for v in range(V):
            self.labels[v] = start[v]
            for k in range(K):
                self.given[v * K + k] = costs.node_costs[v * costs.stride + k]
                largest = max(largest, fabs(self.given[v * K + k]))
        self.add_edges(costs, -1, 1)
        for _ in range(2 * V):
            violation = self.find_changes(costs, hard)
            spent += of_change
            work[0] += of_change
            poll_signals(of_change)
            best, least = -1, INFINITY if violation else -ROUNDING * largest
            for v in range(V):
                for k in range(K):
                    if self.changes[v * K + k] > (-1 if violation else 0):
                        continue
                    change = self.given[v * K + k] - self.given[v * K + self.labels[v]]
                    if change < least and not hard.is_forbidden[v * K + k]:
                        best, least = v * K + k, change
            if best < 0 or spent > MAX_WORK:
                return violation == 0
            self.add_edges(costs, best // K, -1)
            self.labels[best // K] = <int32_t> (best % K)
            self.add_edges(costs, best // K, 1)
        return violation == 0

    cdef void add_edges(self, const GraphCosts* costs, Py_ssize_t v, double sign) noexcept nogil:
        """Add the costs of edges of a node, given its label, to those of the labels of its neighbors.

        v : node, or -1 for all nodes
        """
        cdef Py_ssize_t e, k, s, t, K = costs.n_labels
        for e in range(costs.n_edges):
            s, t = costs.edges[2 * e], costs.edges[2 * e + 1]
            if v == s or v < 0:
                for k in range(K):
                    self.given[t * K + k] += sign * edge_cost(costs, e, self.labels[s], k)
            if v == t or v < 0:
                for k in range(K):
                    self.given[s * K + k] += sign * edge_cost(costs, e, k, self.labels[t])

    cdef Py_ssize_t find_changes(
            self, const GraphCosts* costs, const HardTerms* hard) noexcept nogil:
        """Return the sum of violations; set `changes` to its change for each label of a single node."""
        cdef Py_ssize_t c, i, v, k, n, least, most, more, less, total = 0, K = costs.n_labels
        cdef const unsigned char* wanted
        for k in range(costs.n_nodes * K):
            self.changes[k] = 0
        for c in range(hard.n_counters):
            least, most, wanted = hard.counters[4 * c + 2], hard.counters[4 * c + 3], hard.wanted + c * K
            n = 0
            for i in range(hard.counters[4 * c + 1]):
                n += wanted[self.labels[counted_node(hard, c, i)]]
            total += outside(n, least, most)
            more = outside(n + 1, least, most) - outside(n, least, most)
            less = outside(n - 1, least, most) - outside(n, least, most)
            for i in range(hard.counters[4 * c + 1] if more or less else 0):
                v = counted_node(hard, c, i)
                for k in range(K):
                    if wanted[k] != wanted[self.labels[v]]:
                        self.changes[v * K + k] += <int32_t> (more if wanted[k] else less)
        return total
