# Design:
# (a) Maximize f(q) = constant + sum_k node[k] q_k + sum_e interaction[e] q_e(1, 1) over the local
#     polytope of labels that are on (1) or off (0): q_e has the marginals q_u, q_v. Other tables of an
#     edge are converted to this form (`load`). There is a maximum with all q_k in {0, 1/2, 1}; its
#     CODE is twice each q_k, then a bit for each edge: whether q_e(1, 1) = 1/2 if both labels are 1/2
#     (otherwise it is 0). For other values q_e(1, 1) = q_u q_v, and the bit is 0.
# (b) As x_u x_v = (x_u + x_v - [x_u != x_v]) / 2, an interaction t is a node term and a Potts edge of
#     weight |t| / 2, between x_u and x_v if it is attractive, or x_u and 1 - x_v if it is repulsive.
#     For any values of the others, the score of a label is therefore within `reach` = sum_e |t| / 2 of
#     its `middle` = node + sum_e t / 2. If that determines its sign, all maxima have that label (the
#     slope of the relaxed maximum in q_k lies in the same interval); it is fixed, and its neighbors
#     are checked again. During training this decides most labels, in O(K + E).
# (c) The remainder consists of components. One is balanced if complementing some labels makes all its
#     interactions attractive (true for trees and cycles with an even number of repulsive edges): it
#     has one node per label, and the cut is an integral maximum. The others have two nodes per label,
#     the label and its complement (roof duality), and are integral if the two are on different sides.
# (d) Persistency: some integral maximum has all labels that are 0 or 1 here. With the smallest sink
#     side, fixed labels and labels of components that are not balanced are those of all maxima; ties
#     in balanced components are broken. Nothing depends on the order of calls.
# (P. L. Hammer, P. Hansen and B. Simeone. Roof duality, complementation and persistency in quadratic
# 0-1 optimization. Mathematical Programming 28, 1984. F. Harary. On the notion of balance of a signed
# graph. Michigan Mathematical Journal 2, 1953.)
"""Maxima of pairwise scores of label sets over the local polytope, by one cut."""

from libc.math cimport fabs
from libc.stdint cimport int32_t, uint32_t

import numpy as np

from sstruct._kernels._constants cimport ROUNDING
from sstruct._oracles.core._graph_costs cimport GraphCosts
from sstruct._oracles.cut._workspace cimport list_arcs
from sstruct._oracles.label_set._codes cimport twice_both

cdef enum: OPEN = -1            # in a code: undecided


cdef class RelaxedLabels:
    """Maximizes one score of label sets at a time; each thread requires its own object.

    Set the graph first, then the scores (by `load`, or directly in `node`, `interaction` and
    `constant`), then call `maximize`. Memory is allocated only if graphs grow.
    """

    def __cinit__(self):
        self.cut = MaxFlow()

    cdef int reserve(self, Py_ssize_t n_labels, Py_ssize_t n_edges) except -1 nogil:
        """Allocate memory for a graph; previous contents are lost."""
        self.n_labels = self.n_edges = 0
        self.grow(<void**> &self.node, n_labels, sizeof(double))
        self.grow(<void**> &self.score, n_labels, sizeof(double))
        self.grow(<void**> &self.middle, n_labels, sizeof(double))
        self.grow(<void**> &self.reach, n_labels, sizeof(double))
        self.grow(<void**> &self.first, n_labels + 1, sizeof(int32_t))
        self.grow(<void**> &self.place, n_labels, sizeof(int32_t))
        self.grow(<void**> &self.twin, n_labels, sizeof(int32_t))
        self.grow(<void**> &self.flip, n_labels, sizeof(int32_t))
        self.grow(<void**> &self.queue, n_labels, sizeof(int32_t))
        self.grow(<void**> &self.interaction, n_edges, sizeof(double))
        self.grow(<void**> &self.edges, 2 * n_edges, sizeof(int32_t))
        self.grow(<void**> &self.arc, 2 * n_edges, sizeof(int32_t))
        self.grow(<void**> &self.cut_edges, 4 * n_edges, sizeof(int32_t))
        self.grow(<void**> &self.cut_weight, 2 * n_edges, sizeof(double))
        return 0

    cdef int set_graph(
            self, Py_ssize_t n_labels, Py_ssize_t n_edges, const int32_t* edges) except -1 nogil:
        """Copy the edges (n_edges, 2) of a graph and set all scores to 0. O(K + E)."""
        cdef Py_ssize_t e, k
        cdef int32_t u, v
        cdef GraphCosts graph
        self.reserve(n_labels, n_edges)
        self.cut.set_graph(n_labels, n_edges, edges)      # validates the edges
        for e in range(n_edges):
            u, v = edges[2 * e], edges[2 * e + 1]
            self.edges[2 * e], self.edges[2 * e + 1] = u, v
            self.cut_edges[4 * e], self.cut_edges[4 * e + 1] = u, v
            self.cut_edges[4 * e + 2] = u + <int32_t> n_labels
            self.cut_edges[4 * e + 3] = v + <int32_t> n_labels
            self.interaction[e] = 0
        # Allocate memory for the largest possible cut.
        self.cut.set_graph(2 * n_labels, 2 * n_edges, self.cut_edges)
        graph.n_nodes, graph.n_edges, graph.edges = n_labels, n_edges, self.edges
        list_arcs(&graph, self.first, self.arc)
        for k in range(n_labels):
            self.node[k] = 0
        self.constant = 0
        self.n_labels, self.n_edges = n_labels, n_edges
        return 0

    cdef void load(
            self, const double* node_scores, const double* edge_scores, bint tables) noexcept nogil:
        """Set the scores.

        node_scores : (n_labels,), score of each label that is on
        edge_scores : (n_edges,), score if both labels are on; with `tables`, (n_edges, 4)

        With `tables`, interactions that are zero up to rounding, relative to the scores of their edge, are
        ignored.
        """
        cdef Py_ssize_t e, k
        cdef const double* table
        cdef double t
        for k in range(self.n_labels):
            self.node[k] = node_scores[k]
        self.constant = 0
        if not tables:
            for e in range(self.n_edges):
                self.interaction[e] = edge_scores[e]
            return
        for e in range(self.n_edges):
            table = edge_scores + 4 * e
            self.constant += table[0]
            self.node[self.edges[2 * e]] += table[2] - table[0]
            self.node[self.edges[2 * e + 1]] += table[1] - table[0]
            t = (table[3] - table[1]) - (table[2] - table[0])
            if fabs(t) <= ROUNDING * (fabs(table[0]) + fabs(table[1]) + fabs(table[2]) + fabs(table[3])):
                t = 0
            self.interaction[e] = t

    cdef int maximize(self, int32_t* code, double* value, double* work) except -1 nogil:
        """Write the code of a maximum, `relaxed_code_size` entries, and its value."""
        cdef Py_ssize_t n_nodes
        self.fix(code, work)
        n_nodes = self.split(code)
        if n_nodes:
            self.cut_rest(n_nodes, code, work)
        self.write_bits(code)
        value[0] = self.value(code)
        work[0] += <double> (self.n_labels + self.n_edges)
        return 0

    cdef int maximize_again(
            self, bint again, int32_t* code, double* value, double* work) except -1 nogil:
        """As `maximize`, for a series of scores that differ only in `node`.

        No label is fixed beforehand, so that the cut stays the same and its flow is reused. `again`:
        this is not the first call, and only `node` has changed since the last one.
        """
        cdef Py_ssize_t k
        cdef double change
        if again:
            for k in range(self.n_labels):
                change = self.node[k] - self.score[k]
                self.cut.terminal[self.place[k]] = change if self.flip[k] else -change
                if self.twin[k] >= 0:
                    self.cut.terminal[self.twin[k]] = change
                code[k] = OPEN
            self.cut.solve_again(work)
            self.read_sides(code)
        else:
            for k in range(self.n_labels):
                code[k] = OPEN
                self.score[k] = self.node[k]
            self.cut_rest(self.split(code), code, work)
        for k in range(self.n_labels):
            self.score[k] = self.node[k]
        self.write_bits(code)
        value[0] = self.value(code)
        work[0] += <double> (self.n_labels + self.n_edges)
        return 0

    cdef void write_bits(self, int32_t* code) noexcept nogil:
        """Write the bits of a code whose labels are set."""
        cdef uint32_t* bits = <uint32_t*> code + self.n_labels
        cdef Py_ssize_t k, e
        cdef bint any_half = False
        for k in range((self.n_edges + 31) // 32):
            bits[k] = 0
        for k in range(self.n_labels):
            any_half = any_half or code[k] == 1
        if any_half:
            for e in range(self.n_edges):
                if (self.interaction[e] > 0 and code[self.edges[2 * e]] == 1
                        and code[self.edges[2 * e + 1]] == 1):
                    bits[e // 32] |= <uint32_t> 1 << (e % 32)

    cdef double value(self, const int32_t* code) noexcept nogil:
        """Return the score of a code."""
        cdef Py_ssize_t k, e
        cdef double total = 0
        for k in range(self.n_labels):
            total += self.node[k] * code[k]
        for e in range(self.n_edges):
            total += self.interaction[e] * twice_both(
                code, self.n_labels, e, self.edges[2 * e], self.edges[2 * e + 1])
        return self.constant + 0.5 * total

    cdef void fix(self, int32_t* code, double* work) noexcept nogil:
        """Fix labels by dominance, in sequence; `code` is OPEN for the others."""
        cdef Py_ssize_t k, e, i, v, w, n = 0, n_done = 0
        cdef double half
        for k in range(self.n_labels):
            self.score[k] = self.middle[k] = self.node[k]
            self.reach[k] = 0
            code[k] = OPEN
        for e in range(self.n_edges):
            half = 0.5 * self.interaction[e]
            v, w = self.edges[2 * e], self.edges[2 * e + 1]
            self.middle[v] += half
            self.middle[w] += half
            self.reach[v] += fabs(half)
            self.reach[w] += fabs(half)
        for k in range(self.n_labels):
            if fabs(self.middle[k]) > self.reach[k]:
                code[k] = 2 if self.middle[k] > 0 else 0
                self.queue[n] = <int32_t> k
                n += 1
        while n_done < n:
            v = self.queue[n_done]
            n_done += 1
            work[0] += <double> (self.first[v + 1] - self.first[v])
            for i in range(self.first[v], self.first[v + 1]):
                e = self.arc[i]
                w = self.edges[2 * e] + self.edges[2 * e + 1] - v
                if code[w] != OPEN:
                    continue
                half = 0.5 * self.interaction[e]
                if code[v] == 2:
                    self.score[w] += self.interaction[e]
                    self.middle[w] += half
                else:
                    self.middle[w] -= half
                self.reach[w] -= fabs(half)
                if fabs(self.middle[w]) > self.reach[w]:
                    code[w] = 2 if self.middle[w] > 0 else 0
                    self.queue[n] = <int32_t> w
                    n += 1
        self.n_open = self.n_labels - n
        work[0] += <double> (self.n_labels + self.n_edges)

    cdef Py_ssize_t split(self, const int32_t* code) noexcept nogil:
        """Assign nodes of the cut to the undecided labels, and return their number.

        Components are found by breadth-first search, with the colors `flip` that would balance them.
        """
        cdef Py_ssize_t k, i, v, w, e, n = 0, n_done = 0, begin, n_nodes = 0
        cdef int32_t color
        cdef bint balanced
        for k in range(self.n_labels):
            self.place[k] = -1
        for k in range(self.n_labels):
            if code[k] != OPEN or self.place[k] >= 0:
                continue
            begin = n
            balanced = True
            self.place[k] = self.flip[k] = 0
            self.queue[n] = <int32_t> k
            n += 1
            while n_done < n:
                v = self.queue[n_done]
                n_done += 1
                for i in range(self.first[v], self.first[v + 1]):
                    e = self.arc[i]
                    w = self.edges[2 * e] + self.edges[2 * e + 1] - v
                    if code[w] != OPEN or self.interaction[e] == 0:
                        continue
                    color = self.flip[v] ^ (self.interaction[e] < 0)
                    if self.place[w] < 0:
                        self.place[w] = 0
                        self.flip[w] = color
                        self.queue[n] = <int32_t> w
                        n += 1
                    elif self.flip[w] != color:
                        balanced = False
            for i in range(begin, n):
                v = self.queue[i]
                self.place[v] = <int32_t> n_nodes
                n_nodes += 1
                self.twin[v] = -1
                if not balanced:
                    self.flip[v] = 0
                    self.twin[v] = <int32_t> n_nodes
                    n_nodes += 1
        return n_nodes

    cdef int cut_rest(self, Py_ssize_t n_nodes, int32_t* code, double* work) except -1 nogil:
        """Decide the remaining labels by a minimum cut: 0, 2, or 1 if it is not decisive."""
        cdef Py_ssize_t k, e, v, w, n = 0
        cdef double half, flow
        for k in range(self.n_labels):
            self.middle[k] = self.score[k]
        for e in range(self.n_edges):
            v, w = self.edges[2 * e], self.edges[2 * e + 1]
            half = 0.5 * self.interaction[e]
            if half == 0 or code[v] != OPEN or code[w] != OPEN:
                continue
            self.middle[v] += half
            self.middle[w] += half
            self.cut_weight[n] = fabs(half)
            self.cut_edges[2 * n] = self.place[v]
            self.cut_edges[2 * n + 1] = self.place[w]
            n += 1
            if self.twin[v] < 0:
                continue
            if half < 0:
                self.cut_edges[2 * n - 1] = self.twin[w]
                w = self.place[w]
            else:
                w = self.twin[w]
            self.cut_weight[n] = fabs(half)
            self.cut_edges[2 * n] = self.twin[v]
            self.cut_edges[2 * n + 1] = <int32_t> w
            n += 1
        self.cut.set_graph(n_nodes, n, self.cut_edges)
        for k in range(self.n_labels):
            if code[k] != OPEN:
                continue
            self.cut.terminal[self.place[k]] = self.middle[k] if self.flip[k] else -self.middle[k]
            if self.twin[k] >= 0:
                self.cut.terminal[self.twin[k]] = self.middle[k]
        for e in range(n):
            self.cut.capacity[2 * e] = self.cut.capacity[2 * e + 1] = self.cut_weight[e]
        self.cut.solve(&flow, work)
        self.read_sides(code)
        work[0] += <double> (n_nodes + n)
        return 0

    cdef void read_sides(self, int32_t* code) noexcept nogil:
        """Set the remaining labels to the sides of the cut."""
        cdef Py_ssize_t k
        cdef bint on, off
        for k in range(self.n_labels):
            if code[k] != OPEN:
                continue
            on = self.cut.on_sink_side(self.place[k])
            if self.twin[k] < 0:
                code[k] = 2 * (on ^ self.flip[k])
            else:
                off = self.cut.on_sink_side(self.twin[k])
                code[k] = 1 if on == off else 2 * on


cdef int load_problem(RelaxedLabels relaxed, node_scores, edges, edge_scores) except -1:
    """Load a problem given as contiguous arrays."""
    cdef const double[::1] node = node_scores
    cdef const int32_t[:, ::1] pairs = edges
    cdef const double[::1] edge = np.ascontiguousarray(edge_scores).reshape(-1)
    cdef Py_ssize_t K = node.shape[0], E = pairs.shape[0]
    cdef bint tables = edge_scores.ndim == 2
    if pairs.shape[1] != 2 or edge.shape[0] != (4 * E if tables else E):
        raise ValueError(
            f"edges and edge_scores have inconsistent shapes: {edges.shape} and {edge_scores.shape}")
    with nogil:
        relaxed.set_graph(K, E, &pairs[0, 0] if E else NULL)
        relaxed.load(&node[0] if K else NULL, &edge[0] if E else NULL, tables)
    return 0
