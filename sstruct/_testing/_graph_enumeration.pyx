# Design:
# (a) Enumerates all K^V labelings of a graph, for tests.
"""The best labeling of a tiny graph, by enumeration."""

from libc.math cimport pow
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from sstruct._oracles.core._graph_costs cimport GraphAnswer, GraphCosts, edge_cost
from sstruct._oracles.graph._decoder cimport GraphDecoder

import numpy as np

# More labelings are treated as a mistake.
cdef double MOST = 1e8


def graph_enumeration(attractive=False):
    """Return a GraphEnumeration.

    Parameters
    ----------
    attractive : bool
        Whether to raise for edges that a cut does not support: those that prefer different labels.
    """
    cdef GraphEnumeration decoder = GraphEnumeration()
    decoder.attractive = attractive
    return decoder


cdef class GraphEnumeration(GraphDecoder):
    """An exact decoder that enumerates all labelings.

    Raises
    ------
    ValueError
        When decoding, if there are more than 10^8 labelings, or an edge is not attractive.
    """

    cdef int32_t[::1] labels
    cdef bint attractive

    def __init__(self):
        self.labels = np.zeros(1, dtype=np.int32)

    cpdef GraphDecoder fork(self):
        return graph_enumeration(self.attractive)

    cdef int check_attraction(self, const GraphCosts* costs) except -1 nogil:
        """Check cost(a, a) + cost(b, b) <= cost(a, b) + cost(b, a) at every edge, for all labels."""
        cdef Py_ssize_t e, a, b
        for e in range(costs.n_edges):
            for a in range(costs.n_labels):
                for b in range(a):
                    if edge_cost(costs, e, a, a) + edge_cost(costs, e, b, b) > (
                            edge_cost(costs, e, a, b) + edge_cost(costs, e, b, a)):
                        with gil:
                            raise ValueError(f"edge {e} is repulsive")
        return 0

    cdef int decode(
            self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil:
        cdef Py_ssize_t v, e, n = costs.n_nodes, K = costs.n_labels
        cdef double cost, count = pow(<double> K, <double> n)
        cdef int32_t a, b
        cdef int32_t* y
        if count > MOST:
            with gil:
                raise ValueError(f"a graph of {n} nodes has too many labelings to enumerate")
        if self.attractive:
            self.check_attraction(costs)
        if self.labels.shape[0] < n:
            with gil:
                self.labels = np.zeros(n, dtype=np.int32)
        y = &self.labels[0]
        for v in range(n):
            y[v] = 0
        answer.cost = 0
        answer.work = count * (n + costs.n_edges * costs.n_features)
        answer.exact = True
        while True:
            cost = 0
            for v in range(n):
                cost += costs.node_costs[v * costs.stride + y[v]]
            for e in range(costs.n_edges):
                a, b = y[costs.edges[2 * e]], y[costs.edges[2 * e + 1]]
                cost += edge_cost(costs, e, a, b)
            if count > 0 or cost < answer.cost:     # count > 0: this is the first labeling
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
