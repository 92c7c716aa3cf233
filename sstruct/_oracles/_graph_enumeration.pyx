# Design:
# (a) All K^V labellings of a graph, one after another: for tests and tiny graphs. It shares no code
#     with the decoders that it is held against.
"""The best labelling of a tiny graph, by enumeration."""

from libc.math cimport pow
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from sstruct._oracles._graph_costs cimport GraphCosts
from sstruct._oracles._graph_decoder cimport GraphAnswer, GraphDecoder

import numpy as np

# Beyond so many labellings it is a mistake.
cdef double MOST = 1e8


cdef class GraphEnumeration(GraphDecoder):
    """A decoder that looks at every labelling; exact.

    Raises
    ------
    ValueError
        When decoding, if there are more than 10^8 labellings.
    """

    def __init__(self):
        self.labels = np.zeros(1, dtype=np.int32)

    cdef GraphDecoder fork(self):
        return GraphEnumeration()

    cdef int decode(
            self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil:
        cdef Py_ssize_t v, e, g, n = costs.n_nodes, K = costs.n_labels, G = costs.n_features
        cdef double cost, table, count = pow(<double> K, <double> n)
        cdef int32_t a, b
        cdef int32_t* y
        if count > MOST:
            with gil:
                raise ValueError(f"a graph of {n} nodes has too many labellings to enumerate")
        if self.labels.shape[0] < n:
            with gil:
                self.labels = np.zeros(n, dtype=np.int32)
        y = &self.labels[0]
        for v in range(n):
            y[v] = 0
        answer.cost = 0
        answer.work = count * (n + costs.n_edges * G)
        answer.exact = True
        while True:
            cost = 0
            for v in range(n):
                cost += costs.node_costs[v * costs.stride + y[v]]
            for e in range(costs.n_edges):
                a, b = y[costs.edges[2 * e]], y[costs.edges[2 * e + 1]]
                for g in range(G):
                    table = costs.tables[(g * K + a) * K + b] if costs.tables != NULL else (
                        1.0 if a != b else 0.0)
                    cost += costs.edge_weights[e * G + g] * table
            if count > 0 or cost < answer.cost:     # count: whether this is the first
                count = 0
                answer.cost = cost
                memcpy(labels, y, n * sizeof(int32_t))
            for v in range(n):
                y[v] += 1
                if y[v] < K:
                    break
                y[v] = 0
            else:
                return 0
