# Design:
# (a) One decoder for graphs and grids, a method each: "cut", "expansion", "max-sum". The methods
#     are those of the other files; here one is chosen, and its workspace kept from call to call.
# (b) The answer depends on costs, start and seed alone: the label order is drawn afresh in each
#     call. So it does not matter which fork decodes what.
"""Decoders of labelled graphs by name."""

from libc.stdint cimport int32_t

import numpy as np

METHODS = ("cut", "expansion", "max-sum")


cdef class GraphDecoder:
    """Finds labellings of low cost, one graph after another; each thread needs its own (`fork`).

    Parameters
    ----------
    method : {"cut", "expansion", "max-sum"}
        "cut": two labels, attractive edges: exact. "expansion": any labels and costs, from a start
        that is never made worse: approximate (exact with two attractive labels, with two where
        roof duality decides every node, with one, or without edges). "max-sum": any labels and
        costs on a graph without cycles: exact.
    random_state : int
        Seed of the label order of "expansion", not negative.

    Raises
    ------
    ValueError
        For another method.
    """

    def __cinit__(self, method, random_state):
        if method not in METHODS:
            raise ValueError(f"method must be one of {METHODS}; found {method!r}")
        self.method = method
        self.random_state = random_state
        self.kind = METHODS.index(method)
        if self.kind < 2:
            self.moves = AlphaExpansion()
        else:
            self.forest = Forest()

    cdef int decode(
            self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil:
        """Find labels of low cost.

        labels : n_nodes    IN where "expansion" starts (always valid labels)    OUT
        ValueError: "cut" of other than two labels or of a repulsive edge; "max-sum" of a cycle.
        """
        if self.kind == 0:
            return self.moves.cut(costs, labels, answer)
        if self.kind == 1:
            return self.moves.minimize(costs, self.random_state, labels, answer)
        return self.forest.minimize(costs, labels, answer)

    cdef GraphDecoder fork(self):
        """A decoder of the same method and seed with a workspace of its own."""
        return GraphDecoder(self.method, self.random_state)

    def py_fork(self):
        """`fork`, for tests."""
        return self.fork()

    def py_decode(self, node_costs, edges, edge_weights, tables, labels, grid=None):
        """Decode arrays (V, K), (E, 2), (E, G), (G, K, K) or None: (labels, cost, work, exact).

        `grid` = (height, width, connectivity) says what grid the edges are. Indices and
        shapes are trusted: for the door `alpha_expansion`, which checks them, and tests.
        """
        cdef const double[:, ::1] node = node_costs
        cdef const int32_t[:, ::1] pairs = edges
        cdef const double[:, ::1] weights = edge_weights
        cdef const double[:, :, ::1] table = tables
        cdef GraphCosts costs
        cdef GraphAnswer answer
        out = np.array(labels, dtype=np.int32)
        cdef int32_t[::1] out_view = out
        costs.n_nodes, costs.n_labels, costs.stride = node.shape[0], node.shape[1], node.shape[1]
        costs.n_edges, costs.n_features = pairs.shape[0], weights.shape[1]
        costs.node_costs = &node[0, 0]
        costs.edges = &pairs[0, 0] if costs.n_edges else NULL
        costs.edge_weights = &weights[0, 0] if costs.n_edges else NULL
        costs.tables = &table[0, 0, 0] if tables is not None else NULL
        costs.height, costs.width, costs.connectivity = (0, 0, 0) if grid is None else grid
        with nogil:
            self.decode(&costs, &out_view[0], &answer)
        return out, answer.cost, answer.work, bool(answer.exact)
