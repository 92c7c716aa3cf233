# Design:
# (a) One decoder for graphs and grids with the methods "cut", "expansion" and "max-sum", which are
#     implemented in other files; this one selects a method and keeps its workspace between calls.
#     "expansion" of Potts costs first determines labels that all minima share
#     (_partial_optimality): on images with few labels this halves the time, and otherwise costs 5 %.
# (b) If edges are repulsive, moves of single labels are weak; moves of forests (_forest_moves)
#     follow. A node joined to half of the nodes or more is moved together with the others (_subgraph).
# (c) Decoders with dependencies of higher layers, such as a solver, are subclasses there.
# (d) The result depends only on costs, start, seed and `stops_early`: each call draws the order of labels
#     from the seed again. It does therefore not matter which fork decodes a graph. Subclasses with
#     additional state have a `memory`, which checkpoints store.
"""Decoders of labeled graphs by name."""

from libc.math cimport fabs
from libc.stdint cimport int32_t

import numpy as np

from sstruct._checks.shown import shortened
from sstruct._kernels._constants cimport ROUNDING
from sstruct._oracles.core._graph_costs cimport labeling_cost
from sstruct._oracles.graph._min_marginals cimport flip_marginals

METHODS = ("cut", "expansion", "max-sum")
EXACT = ("cut", "max-sum")
# Limit on the work of all forest moves in one decoding, reached if n_nodes * n_labels is about 300,000.
# On an image of 360 x 480 pixels and 11 labels, moves without a limit take 16 s and gain 0.04 %.
cdef double WORK_OF_FORESTS = 2.0 ** 28


cdef class GraphDecoder:
    """Finds labelings of low cost for one graph at a time; each thread requires its own (`fork`).

    Parameters
    ----------
    method : {"cut", "expansion", "max-sum"}
        "cut": two labels, attractive edges; exact. "expansion": any labels and costs; approximate,
        but never worse than the start (exact with two attractive labels, with two labels if roof
        duality determines every node, with one label, or without edges). "max-sum": any labels and
        costs on a graph without cycles; exact.
    random_state : int
        Nonnegative seed of the label order and the forests of "expansion".
    partial_optimality : bool, default=True
        Whether "expansion" of Potts costs >= 0 with more than two labels first determines nodes whose
        label is the same in every minimum and, if these are at least an eighth of all nodes, moves only
        the other nodes. The result is then exact if no edge joins two of the other nodes.

    Attributes
    ----------
    bounded : bool
        Whether every answer is exact or has a lower bound on the costs of all labelings.

    Raises
    ------
    ValueError
        If the method is unknown.
    """

    # Not in __init__, which a subclass may not call. It also prevents copies of decoders, which would
    # share the workspaces.
    def __cinit__(self, *_, **__):
        self.moves, self.partial = AlphaExpansion(), PartialOptimality()
        self.trees, self.forest, self.rest = ForestMoves(), Forest(), SubGraph()

    def __init__(self, method, random_state, *, partial_optimality=True):
        if method not in METHODS:
            raise ValueError(f"method must be one of {METHODS}; found {shortened(method)}")
        self.method = method
        self.random_state = random_state
        self.kind = METHODS.index(method)
        self.bounded = method in EXACT
        self.has_partial = partial_optimality

    cdef int decode(
            self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil:
        """Find labels of low cost.

        labels : n_nodes    IN: the start of "expansion" (always valid labels)    OUT
        ValueError: "cut" without two labels or with a repulsive edge; "max-sum" with a cycle.
        """
        if self.kind == 0:
            return self.moves.cut(costs, labels, answer)
        if self.kind == 1:
            return self.expand(costs, labels, answer)
        return self.forest.minimize(costs, labels, answer)

    cdef int expand(
            self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil:
        """Run expansion moves, only for undetermined nodes if that is worth the copy."""
        cdef Py_ssize_t v, e, n_known
        cdef bint decides = self.has_partial and costs.n_labels > 2 and costs.tables == NULL
        cdef double work = 0, cost
        cdef int32_t* known
        for e in range(costs.n_edges if decides else 0):
            decides = decides and costs.edge_weights[e] >= 0
        if decides and costs.n_edges:
            n_known = self.partial.decide(costs, &work)
            if 8 * n_known >= costs.n_nodes:
                known = self.partial.known
                self.partial.reduce(costs)
                for v in range(costs.n_nodes):
                    if known[v] < 0:
                        self.partial.labels[self.partial.place[v]] = labels[v]
                self.moves.stops_early = self.stops_early
                self.moves.minimize(
                    &self.partial.rest, self.random_state, self.partial.labels, answer)
                for v in range(costs.n_nodes):
                    if known[v] < 0:
                        known[v] = self.partial.labels[self.partial.place[v]]
                cost = labeling_cost(costs, labels)
                answer.cost = labeling_cost(costs, known)
                answer.work += work
                if answer.cost <= cost:          # otherwise the start is as good, up to rounding
                    for v in range(costs.n_nodes):
                        labels[v] = known[v]
                else:
                    answer.cost = cost
                return 0
        self.move(costs, labels, answer)
        answer.work += work
        if not answer.exact:
            self.move_around_hub(costs, labels, answer)
        return 0

    cdef int move(
            self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil:
        """Alternate expansion moves with forest moves if roof duality leaves nodes undetermined."""
        cdef double work = 0, left = WORK_OF_FORESTS, cost
        self.moves.stops_early = self.stops_early
        self.moves.minimize(costs, self.random_state, labels, answer)
        # Alternate until neither kind of move improves the labels.
        while self.moves.is_energy_set and not answer.exact and left > 0:
            cost = answer.cost
            left += answer.work
            self.trees.minimize(costs, self.random_state, labels, left, answer)
            left -= answer.work
            if answer.cost >= cost:
                break
            work += answer.work
            cost = answer.cost
            self.moves.minimize(costs, self.random_state, labels, answer)
            if answer.cost >= cost:
                break
        answer.work += work
        return 0

    cdef int move_around_hub(
            self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil:
        """If there is a hub (see `fix_hub`), decode the other nodes given each of its other labels, too."""
        cdef Py_ssize_t k, v, hub = self.rest.fix_hub(costs)
        cdef int32_t start, best
        cdef double cost
        cdef GraphAnswer given
        if hub < 0:
            return 0
        start = best = labels[hub]
        for k in range(costs.n_labels):
            if k == start:
                continue
            labels[hub] = <int32_t> k
            self.rest.condition(costs, labels)
            cost = costs.node_costs[hub * costs.stride + k]
            self.move(&self.rest.costs, self.rest.labels, &given)
            answer.work += given.work + costs.n_nodes * costs.n_labels
            if cost + given.cost < answer.cost - ROUNDING * (fabs(answer.cost) + fabs(given.cost)):
                best = <int32_t> k
                for v in range(costs.n_nodes):
                    if v != hub:
                        labels[v] = self.rest.labels[self.rest.place[v]]
                answer.cost = labeling_cost(costs, labels)
            labels[hub] = best
        return 0

    cdef int marginals(
            self, const GraphCosts* costs, const int32_t* labels, double* out) except -1 nogil:
        """Set out[v, k] to the least cost found of labels that have label k at node v: (V, K).

        labels : n_nodes    a decoding of the same costs    IN
        """
        flip_marginals(costs, labels, out)
        return 0

    cpdef GraphDecoder fork(self):
        """Return a decoder of the same method and seed with a separate workspace."""
        return GraphDecoder(
            self.method, self.random_state, partial_optimality=self.has_partial)

    def counts(self):
        """Return counts of calls in training by name, as columns of a fit's history."""
        return {}

    def begin_certificate(self, slack):
        """Begin a certificate whose bounds may be below the costs found by at most `slack`, or end it.

        See ``BlockProblem.set_tolerance``. Only decoders with a bound that may be inexact use it.
        """

    def memory(self, n_graphs):
        """Return the state that calls keep for later ones as a dict of arrays; empty here."""
        return {}

    def restore_memory(self, kept, graphs):
        """Restore the result of `memory`.

        graphs : list of (n_nodes, edges, n_labels)
        """

    def decode_arrays(self, node_costs, edges, edge_weights, tables, labels, grid=None):
        """Decode costs given as arrays; return (labels, cost, work, exact).

        node_costs : (V, K)    edges : (E, 2)    edge_weights : (E, G)    tables : (G, K, K) or None
        grid : (height, width, connectivity) if the edges form a grid. Indices and shapes
        are not validated: for `alpha_expansion`, which validates them, and for tests.
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
