# Design:
# (a) The seam between problems with graphs and the decoders of graphs; for now, enumeration.
"""Decoders of graphs."""

from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc

from sstruct._oracles._graph_costs cimport GraphCosts

cdef double _cost(const GraphCosts* c, const int32_t* y) noexcept nogil:
    cdef double total = 0
    cdef Py_ssize_t v, e, g, K = c.n_labels
    cdef int32_t a, b
    for v in range(c.n_nodes):
        total += c.node_costs[v * c.stride + y[v]]
    for e in range(c.n_edges):
        a, b = y[c.edges[2 * e]], y[c.edges[2 * e + 1]]
        if c.tables == NULL:
            total += c.edge_weights[e] if a != b else 0
        else:
            for g in range(c.n_features):
                total += c.edge_weights[e * c.n_features + g] * c.tables[(g * K + a) * K + b]
    return total


cdef class GraphDecoder:
    """A decoder of graphs."""

    def __init__(self, method="expansion", random_state=0):
        self.method = method

    cdef GraphDecoder fork(self):
        return GraphDecoder(self.method)

    cdef int decode(
            self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil:
        cdef Py_ssize_t v, n = costs.n_nodes
        cdef double cost, best = _cost(costs, labels)
        cdef int32_t* y = <int32_t*> malloc(n * sizeof(int32_t))
        for v in range(n):
            y[v] = 0
        while True:
            cost = _cost(costs, y)
            if cost < best:
                best = cost
                for v in range(n):
                    labels[v] = y[v]
            for v in range(n):
                y[v] += 1
                if y[v] < costs.n_labels:
                    break
                y[v] = 0
            else:
                break
        free(y)
        answer.cost, answer.work, answer.exact = best, 100, True
        return 0
