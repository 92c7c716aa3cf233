# Design:
# (a) A PackedMRF has pointers to the arrays of a model, lists of the edges and factors of each node,
#     and operations shared by several decoders: costs of an edge given one label, messages along an edge,
#     local search.
# (b) A message is out(b) = min_a source(a) + cost(a, b), a min-plus product of a vector and a table
#     (min_plus.h). For Potts, truncated linear and truncated quadratic tables with nonnegative weights, the
#     time is linear in the number of labels: computing a minimum, two passes or a lower envelope,
#     respectively, is sufficient.
# (c) Local search (iterated conditional modes) visits nodes whose neighbors have changed. Each term of
#     +inf counts as the finite cost FORBIDDEN, so that the search can also leave forbidden labelings.
# (d) `JointMoves` changes two nodes at a time: for each edge, it finds the best labels of both ends
#     with all others fixed. In models of matchings, whose edges forbid equal labels, two nodes exchange
#     their labels, or one takes the label of the other, which gets a new label. The cost of the edge is
#     left out of the sums of its ends, because +inf could not be subtracted from them.
# (e) The arrays have been validated by sstruct.inference.MRF, and are read-only.
"""Costs of an MRF for compiled decoders, and local search."""

from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int32_t, int64_t

import numpy as np

from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.tree._distance_transform cimport Parabola, transform_line
from sstruct._oracles.core.incidence import by_node, edges_by_node

cdef extern from "sstruct/_oracles/mrf/min_plus.h":
    void sstruct_min_plus_rows(
        const double* source, int64_t n, const double* table, double weight, int64_t m,
        double* out) noexcept nogil
    void sstruct_min_plus_columns(
        const double* source, int64_t n, const double* table, double weight, int64_t m,
        double* out) noexcept nogil

FORBIDDEN = 1e200
# Required gain of a move, relative to the cost at its two nodes: smaller gains may be rounding errors.
cdef double MIN_GAIN = 1e-10
cdef Py_ssize_t LARGE_TABLE = 4096


cdef const double* _doubles(const double[::1] array) noexcept:
    return &array[0] if array.shape[0] else NULL


cdef const int64_t* _longs(const int64_t[::1] array) noexcept:
    return &array[0] if array.shape[0] else NULL


cdef const int32_t* _ints(const int32_t[::1] array) noexcept:
    return &array[0] if array.shape[0] else NULL


cdef class PackedMRF:
    """View of an `sstruct.inference.MRF` with scratch memory; each thread requires its own."""

    def __cinit__(self, model):
        cdef MRFCosts* costs = &self.costs
        cdef const int8_t[::1] forms = model.table_form
        self.model = model
        costs.n_nodes, costs.n_edges = model.n_nodes, model.n_edges
        costs.n_factors = model.n_factors
        costs.max_labels = model.n_labels.max()
        costs.n_labels = _ints(model.n_labels)
        costs.node_start, costs.node_costs = _longs(model.node_start), _doubles(model.node_costs)
        costs.edges = _ints(model.edges.reshape(-1))
        costs.weights, costs.edge_table = _doubles(model.weights), _ints(model.edge_table)
        costs.table_start, costs.tables = _longs(model.table_start), _doubles(model.tables)
        costs.table_form = &forms[0] if forms.shape[0] else NULL
        costs.table_parameters = _doubles(model.table_parameters.reshape(-1))
        costs.factor_start, costs.factor_nodes = _longs(model.factor_start), _ints(model.factor_nodes)
        costs.factor_table = _ints(model.factor_table)
        costs.factor_table_start = _longs(model.factor_table_start)
        costs.factor_tables = _doubles(model.factor_tables)
        self.arc_first, self.arc = edges_by_node(model.edges, model.n_nodes)
        self.factor_first, self.factor_arc = by_node(
            np.repeat(np.arange(model.n_factors), np.diff(model.factor_start)), model.factor_nodes,
            model.n_nodes)
        self.scratch = np.empty(costs.max_labels)
        self.place = np.empty(costs.max_labels, dtype=np.int32)
        self.site = np.empty(costs.max_labels, dtype=np.int32)

    cdef double edge_cost(self, Py_ssize_t e, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Return the cost of edge e with label a at its first and b at its second node."""
        cdef const MRFCosts* costs = &self.costs
        return costs.weights[e] * costs.tables[
            costs.table_start[costs.edge_table[e]] + a * costs.n_labels[costs.edges[2 * e + 1]] + b]

    cdef void add_edge_costs(
            self, Py_ssize_t e, Py_ssize_t v, Py_ssize_t label, double* out) noexcept nogil:
        """out[k] += cost of edge e with label k at v and `label` at the other node.

        out : n_labels[v]    INOUT; forbidden pairs add FORBIDDEN
        """
        cdef const MRFCosts* costs = &self.costs
        cdef const double* table = costs.tables + costs.table_start[costs.edge_table[e]]
        cdef Py_ssize_t k, step = 1
        cdef double weight = costs.weights[e]
        if costs.edges[2 * e] == v:
            table += label
            step = costs.n_labels[costs.edges[2 * e + 1]]
        else:
            table += label * costs.n_labels[v]
        for k in range(costs.n_labels[v]):
            out[k] += min(weight * table[k * step], FORBIDDEN)

    cdef int send(
            self, Py_ssize_t e, Py_ssize_t v, const double* source, double* out) except -1 nogil:
        """out[b] = min_a source[a] + cost of edge e with a at v and b at its other node.

        source : n_labels[v], finite or +inf    IN    out : n_labels of the other node    OUT
        """
        cdef const MRFCosts* costs = &self.costs
        cdef Py_ssize_t t = costs.edge_table[e], n = costs.n_labels[v], m, k
        cdef bint first = costs.edges[2 * e] == v
        cdef double weight = costs.weights[e], slope, most, least = INFINITY
        cdef const double* table = costs.tables + costs.table_start[t]
        cdef Parabola shape
        m = costs.n_labels[costs.edges[2 * e + 1 if first else 2 * e]]
        if weight < 0 or costs.table_form[t] == TABLE:
            if first:
                sstruct_min_plus_rows(source, n, table, weight, m, out)
            else:
                sstruct_min_plus_columns(source, n, table, weight, m, out)
            # The caller accounts for the work of small tables.
            return poll_signals(<double> n * m) if n * m >= LARGE_TABLE else 0
        slope = weight * costs.table_parameters[2 * t]
        most = weight * costs.table_parameters[2 * t + 1]
        for k in range(n):
            least = min(least, source[k])
        if costs.table_form[t] == POTTS:
            for k in range(n):
                out[k] = min(source[k] + slope, least + most)
            return 0
        if costs.table_form[t] == LINEAR:
            out[0] = source[0]
            for k in range(1, n):
                out[k] = min(source[k], out[k - 1] + slope)
            for k in range(n - 2, -1, -1):
                out[k] = min(out[k], out[k + 1] + slope)
        else:
            shape.quadratic, shape.linear = slope, 0
            transform_line(
                source, n, shape, out, &self.place[0], &self.site[0], &self.scratch[0])
        for k in range(n):
            out[k] = min(out[k], least + most)
        return 0

    cdef double energy(self, const int32_t* labels) noexcept nogil:
        """Return the energy of a labeling."""
        cdef const MRFCosts* costs = &self.costs
        cdef Py_ssize_t v, e, f, i, entry
        cdef double total = 0
        for v in range(costs.n_nodes):
            total += costs.node_costs[costs.node_start[v] + labels[v]]
        for e in range(costs.n_edges):
            total += self.edge_cost(e, labels[costs.edges[2 * e]], labels[costs.edges[2 * e + 1]])
        for f in range(costs.n_factors):
            entry = 0
            for i in range(costs.factor_start[f], costs.factor_start[f + 1]):
                v = costs.factor_nodes[i]
                entry = entry * costs.n_labels[v] + labels[v]
            total += costs.factor_tables[costs.factor_table_start[costs.factor_table[f]] + entry]
        return total

    cdef void conditional(
            self, Py_ssize_t v, Py_ssize_t without, const int32_t* labels,
            double* out) noexcept nogil:
        """out[k]: cost of all terms at v with label k there and the given labels of other nodes.

        without : an edge to exclude, or -1
        """
        cdef const MRFCosts* costs = &self.costs
        cdef Py_ssize_t k, i, j, e, f, u, entry, step
        cdef const double* table
        for k in range(costs.n_labels[v]):
            out[k] = min(costs.node_costs[costs.node_start[v] + k], FORBIDDEN)
        for i in range(self.arc_first[v], self.arc_first[v + 1]):
            e = self.arc[i]
            if e != without:
                self.add_edge_costs(
                    e, v, labels[costs.edges[2 * e] + costs.edges[2 * e + 1] - v], out)
        for i in range(self.factor_first[v], self.factor_first[v + 1]):
            f = self.factor_arc[i]
            # The entry with label 0 at v, and the stride of its labels.
            entry, step = 0, 1
            for j in range(costs.factor_start[f], costs.factor_start[f + 1]):
                u = costs.factor_nodes[j]
                entry *= costs.n_labels[u]
                step *= costs.n_labels[u]
                if u == v:
                    step = 1
                else:
                    entry += labels[u]
            table = costs.factor_tables + costs.factor_table_start[costs.factor_table[f]] + entry
            for k in range(costs.n_labels[v]):
                out[k] += min(table[k * step], FORBIDDEN)

    cdef double visit_work(self, Py_ssize_t v) noexcept nogil:
        """Return the approximate work of `conditional`."""
        cdef double n_terms = 1 + self.arc_first[v + 1] - self.arc_first[v] + 4 * (
            self.factor_first[v + 1] - self.factor_first[v])
        return n_terms * (20 + self.costs.n_labels[v])

    def improve(self, int32_t[::1] labels, Py_ssize_t max_visits):
        """Set each node in turn to its best label given the labels of all others, until no node changes.

        labels : validated by the caller    INOUT    max_visits : limit on the visited nodes
        Returns the energy, which does not increase, up to rounding.
        """
        cdef const MRFCosts* costs = &self.costs
        cdef Py_ssize_t v = 0, i, j, k, best, left = costs.n_nodes
        cdef int8_t[::1] waits = np.ones(costs.n_nodes, dtype=np.int8)
        cdef double* out = &self.scratch[0]
        with nogil:
            while left > 0 and max_visits > 0:
                if waits[v]:
                    waits[v] = 0
                    left -= 1
                    max_visits -= 1
                    self.conditional(v, -1, &labels[0], out)
                    poll_signals(self.visit_work(v))
                    best = labels[v]
                    for k in range(costs.n_labels[v]):
                        if out[k] < out[best]:
                            best = k
                    if best != labels[v]:
                        labels[v] = <int32_t> best
                        for i in range(self.arc_first[v], self.arc_first[v + 1]):
                            j = self.arc[i]
                            j = costs.edges[2 * j] + costs.edges[2 * j + 1] - v
                            left += not waits[j]
                            waits[j] = 1
                        for i in range(self.factor_first[v], self.factor_first[v + 1]):
                            k = self.factor_arc[i]
                            for j in range(costs.factor_start[k], costs.factor_start[k + 1]):
                                if costs.factor_nodes[j] != v:
                                    left += not waits[costs.factor_nodes[j]]
                                    waits[costs.factor_nodes[j]] = 1
                v = v + 1 if v + 1 < costs.n_nodes else 0
        return self.energy(&labels[0])


cdef class JointMoves:
    """Local search that changes two nodes at a time; it uses the scratch memory of the model.

    Parameters
    ----------
    model : PackedMRF
        Without factors of three or more nodes: the cost of a factor that contains both ends of an edge
        is not a sum of costs of each end.
    """

    cdef PackedMRF model
    cdef double[::1] first, second

    def __cinit__(self, PackedMRF model):
        self.model = model
        self.first = np.empty(model.costs.max_labels)
        self.second = np.empty(model.costs.max_labels)

    cdef bint exchange(self, Py_ssize_t e, int32_t* labels) noexcept nogil:
        """Set the ends of an edge to their best pair of labels; return whether the labels have changed."""
        cdef const MRFCosts* costs = &self.model.costs
        cdef Py_ssize_t u = costs.edges[2 * e], v = costs.edges[2 * e + 1], a, b
        cdef double* of_u = &self.first[0]
        cdef double* of_v = &self.second[0]
        cdef double least_v, cost, present, best
        cdef Py_ssize_t best_a = labels[u], best_b = labels[v]
        self.model.conditional(u, e, labels, of_u)
        self.model.conditional(v, e, labels, of_v)
        least_v = of_v[0]
        for b in range(1, costs.n_labels[v]):
            least_v = min(least_v, of_v[b])
        present = of_u[best_a] + of_v[best_b] + min(self.model.edge_cost(e, best_a, best_b), FORBIDDEN)
        best = present - MIN_GAIN * (1 + abs(present))
        for a in range(costs.n_labels[u]):
            if of_u[a] >= FORBIDDEN:
                continue
            for b in range(costs.n_labels[v]):
                cost = of_u[a] + of_v[b]
                if cost < FORBIDDEN:
                    cost += min(self.model.edge_cost(e, a, b), FORBIDDEN)
                    if cost < best:
                        best, best_a, best_b = cost, a, b
        if best_a == labels[u] and best_b == labels[v]:
            return False
        labels[u], labels[v] = <int32_t> best_a, <int32_t> best_b
        return True

    def search(self, int32_t[::1] labels, Py_ssize_t max_rounds):
        """Set the ends of each edge in turn to their best pair of labels, until no label changes.

        labels : validated by the caller    INOUT    max_rounds : limit on the passes over all edges
        Returns the energy, which does not increase, up to rounding.
        O(E (degrees K + K^2)) per pass.
        """
        cdef const MRFCosts* costs = &self.model.costs
        cdef Py_ssize_t left = costs.n_edges, at = 0, u, v
        with nogil:
            max_rounds *= costs.n_edges
            while left > 0 and max_rounds > 0:
                left = costs.n_edges if self.exchange(at, &labels[0]) else left - 1
                u, v = costs.edges[2 * at], costs.edges[2 * at + 1]
                poll_signals(
                    self.model.visit_work(u) + self.model.visit_work(v)
                    + <double> costs.n_labels[u] * costs.n_labels[v])
                max_rounds -= 1
                at = at + 1 if at + 1 < costs.n_edges else 0
        return self.model.energy(&labels[0])
