# Design:
# (a) The seam between problems with graphs and the decoders of graphs; for now, enumeration.
"""Decoders of graphs."""

from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc

from sstruct._oracles._graph_costs cimport GraphCosts, labelling_cost

cdef class GraphDecoder:
    """A decoder of graphs."""

    def __init__(self, method="expansion", random_state=0):
        self.random_state = random_state
        self.method = method

    cdef GraphDecoder fork(self):
        return GraphDecoder(self.method)

    cdef int decode(
            self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil:
        cdef Py_ssize_t v, n = costs.n_nodes
        cdef double cost, best = labelling_cost(costs, labels)
        cdef int32_t* y = <int32_t*> malloc(n * sizeof(int32_t))
        for v in range(n):
            y[v] = 0
        while True:
            cost = labelling_cost(costs, y)
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
