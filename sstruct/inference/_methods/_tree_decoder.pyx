# Design:
# (a) FWMAP as a decoder of graphs during training. The layer above passes it to GraphProblem,
#     because the engine that searches trees belongs to the solvers. Graphs are copied to NumPy
#     arrays for a Python callable, whose call takes far longer than the copy.
# (b) If the cost of the labels exceeds the bound, moves of "expansion" improve the labels.
# (c) The result depends on the memory of the search for each graph. Forks share it, so results
#     are the same as long as the calls for each graph are in the same order.
"""FWMAP as a decoder of labeled graphs."""

from libc.stdint cimport int32_t

import numpy as np

from sstruct._oracles.core._graph_costs cimport GraphAnswer, GraphCosts, labeling_cost
from sstruct._oracles.graph._decoder cimport GraphDecoder

# Tolerance, relative to 1 + abs(cost), within which bound and cost are equal up to rounding.
cdef double MEETS = 1e-10


cdef class TreeDecoder(GraphDecoder):
    """Decoder for any number of labels and any costs, with a lower bound.

    Parameters
    ----------
    search : callable, with `memory` and `restore_memory`
        Called with the index of a graph, node costs (V, K), edges (E, 2), edge weights (E, G),
        tables (G, K, K) or None (Potts), and initial labels, which it may modify. Returns labels
        (V,) int32, a lower bound and the work. Forks share the search.
    random_state : int
        Nonnegative seed of the label order of moves.
    """

    cdef readonly object search

    def __init__(self, search, random_state):
        GraphDecoder.__init__(self, "expansion", random_state)
        self.search, self.bounded = search, True

    cdef int decode(
            self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil:
        """Find labels and a bound by `search`, then run moves if the cost exceeds the bound."""
        cdef double bound, work
        if costs.n_edges == 0:
            self.expand(costs, labels, answer)    # exact
            answer.bound = answer.cost
            return 0
        with gil:
            bound, work = self.call(costs, labels)
        answer.cost, answer.work = labeling_cost(costs, labels), 0
        if answer.cost - bound > MEETS * (1 + abs(answer.cost)):
            self.expand(costs, labels, answer)
        answer.bound = min(bound, answer.cost)
        answer.exact = answer.cost - bound <= MEETS * (1 + abs(answer.cost))
        answer.work += work
        return 0

    cdef call(self, const GraphCosts* costs, int32_t* labels):
        """Call the search with copies of the graph; return the bound and the work."""
        cdef Py_ssize_t V = costs.n_nodes, E = costs.n_edges, K = costs.n_labels, G, stride, n_tables
        G, stride = costs.n_features, costs.stride
        n_tables = G if costs.tables != NULL else 0
        node = np.array(<double[:V, :stride]> <double*> costs.node_costs)[:, :K]
        edges = np.array(<int32_t[:E, :2]> <int32_t*> costs.edges)
        weights = np.array(<double[:E, :G]> <double*> costs.edge_weights)
        tables = None
        if n_tables:
            tables = np.array(<double[:n_tables, :K, :K]> <double*> costs.tables)
        start = np.array(<int32_t[:V]> labels)
        found, bound, work = self.search(self.block, node, edges, weights, tables, start)
        cdef const int32_t[::1] new = found
        for v in range(V):
            labels[v] = new[v]
        return bound, work

    cpdef GraphDecoder fork(self):
        return TreeDecoder(self.search, self.random_state)

    def memory(self, n_graphs):
        """Return the memory of the search for the graphs."""
        return self.search.memory(n_graphs)

    def restore_memory(self, kept, graphs):
        """Restore the result of `memory`, validated."""
        self.search.restore_memory(kept, graphs)
