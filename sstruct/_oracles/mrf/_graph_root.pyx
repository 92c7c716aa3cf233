# Design:
# (a) The root of a search (_branch_and_bound.pyx) with the costs of a graph. Its bound starts from any
#     multipliers m, such as those of an earlier search of the same graph with similar costs:
#         E = sum_v (costs_v + sum_e m_ev) + sum_e (cost_e - sum_v m_ev),
#     where the sum of the minima of all terms is a lower bound for any m.
# (b) Constraints (_hard_terms.pyx) forbid labels and pairs, by infinite costs, and add auxiliary nodes
#     without costs. Multipliers are finite, so forbidden labels and pairs remain forbidden.
# (c) Auxiliary nodes come first. Sweeps then choose the states of counters before the labels that have to
#     agree with them, and find allowed labels earlier. On grids of 100 nodes with four constraints,
#     searches visit a third as many nodes of the tree as with auxiliary nodes at the end.
# (d) A price p of a counter adds p to the costs of all counted labels, and subtracts p times the number
#     from the cost of the last auxiliary node. The multipliers of the links transfer p times the number
#     of earlier nodes along the chain, so the other terms do not change.
"""Roots of searches with the costs of graphs."""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from sstruct._oracles.core._graph_costs cimport edge_cost
from sstruct._oracles.core._hard_terms cimport HardTerms

# Multipliers are used if none is larger than this multiple of all costs; rounding errors of larger ones
# could make a bound invalid.
cdef double MAX_MULTIPLIER = 100


cdef class GraphRoot(SearchNode):
    """The root of the search of one graph at a time."""

    cdef int load(
            self, const GraphCosts* costs, const HardTerms* hard, const double* multipliers,
            double* work) except -1 nogil:
        """Set the costs, and use multipliers, if not NULL, unless 0 is a better start.

        hard : constraints, or NULL
        multipliers : of each edge and link, for the labels of the first and of the second end
        """
        cdef Py_ssize_t V = costs.n_nodes, K = costs.n_labels, e, k, n_states = 0
        cdef double least, bound, bound_at_zero
        self.n_extra, self.is_warm = 0 if hard == NULL else hard.n_extra, False
        for k in range(self.n_extra):
            n_states += hard.n_states[k]
        self.magnitude = 0
        self.reserve(self.n_extra + V, n_states + V * K)
        self.n_active = self.n_nodes
        self.first_label[0] = 0
        for k in range(self.n_nodes):
            self.n_labels[k] = hard.n_states[k] if k < self.n_extra else <int32_t> K
            self.first_label[k + 1] = self.first_label[k] + self.n_labels[k]
        bound_at_zero = self.set_nodes(costs, hard)
        bound_at_zero += self.set_edges(costs, hard)
        work[0] += 2 * self.first_entry[self.n_edges]
        if multipliers != NULL and self.may_use(multipliers):
            bound = self.shift_nodes(multipliers)
            for e in range(self.n_edges):
                bound += self.least_of_edge(e, multipliers + self.first_message[e])
            work[0] += self.first_entry[self.n_edges]
            self.is_warm = bound > bound_at_zero
            if self.is_warm:
                memcpy(self.messages, multipliers, self.first_message[self.n_edges] * sizeof(double))
            else:
                self.set_nodes(costs, hard)
        self.bound = 0
        for e in range(self.n_edges):
            # The remaining table has a minimum of 0.
            least = self.least_of_edge(e, self.messages + self.first_message[e])
            if least == INFINITY:
                continue       # no labeling is allowed
            self.bound += least
            for k in range(self.first_message[e], self.first_message[e] + self.n_labels[self.ends[2 * e]]):
                self.messages[k] += least
        return 0

    cdef double set_nodes(self, const GraphCosts* costs, const HardTerms* hard) noexcept nogil:
        """Copy the costs of nodes; return the sum of their minima."""
        cdef Py_ssize_t v, k, K = costs.n_labels
        cdef double least, largest, total = 0
        cdef const double* node
        cdef double* own
        for k in range(self.first_label[self.n_extra]):
            self.costs[k] = 0
        for v in range(costs.n_nodes):
            node, own = costs.node_costs + v * costs.stride, self.costs_of(v)
            least, largest = INFINITY, 0
            for k in range(K):
                own[k] = node[k]
                if hard != NULL and hard.is_forbidden[v * K + k]:
                    own[k] = INFINITY
                    continue
                least, largest = min(least, node[k]), max(largest, fabs(node[k]))
            total += least
            self.magnitude += largest
        return total

    cdef double* costs_of(self, Py_ssize_t v) noexcept nogil:
        """Return the costs of a node of the graph."""
        return self.costs + self.first_label[self.n_extra + v]

    cdef const int32_t* labels_found(self) noexcept nogil:
        """Return the best labels of the nodes of the graph after a search that found some."""
        return self.best + self.n_extra

    cdef double set_edges(self, const GraphCosts* costs, const HardTerms* hard) except? -1 nogil:
        """Copy the costs of edges; return the sum of their minima."""
        cdef Py_ssize_t e, a, b, K = costs.n_labels
        cdef double value, least, largest, total = 0
        cdef double* table
        cdef const unsigned char* forbidden
        for e in range(costs.n_edges):
            self.reserve_edge(
                self.n_extra + costs.edges[2 * e], self.n_extra + costs.edges[2 * e + 1])
            self.link(e)
            table = self.tables + self.first_entry[e]
            forbidden = NULL
            if hard != NULL and hard.edge_table[e] >= 0:
                forbidden = hard.tables + hard.first_entry[hard.edge_table[e]]
            if forbidden == NULL and costs.tables == NULL and costs.edge_weights[e] >= 0:
                value = self.potts[e] = costs.edge_weights[e]
                for a in range(K * K):
                    table[a] = value
                for a in range(K):
                    table[a * (K + 1)] = 0
                self.magnitude += value
                continue
            least, largest = INFINITY, 0
            for a in range(K):
                for b in range(K):
                    value = table[a * K + b] = edge_cost(costs, e, a, b)
                    if forbidden != NULL and forbidden[a * K + b]:
                        table[a * K + b] = INFINITY
                        continue
                    least, largest = min(least, value), max(largest, fabs(value))
            total += least
            self.magnitude += largest
        if hard != NULL:
            self.add_links(hard)
        return total

    cdef int add_links(self, const HardTerms* hard) except -1 nogil:
        """Add the edges to auxiliary nodes."""
        cdef Py_ssize_t e, k, i
        cdef const unsigned char* forbidden
        cdef double* table
        for k in range(hard.n_links):
            e = self.n_edges
            self.reserve_edge(self.place(hard.ends[2 * k]), self.place(hard.ends[2 * k + 1]))
            self.link(e)
            table = self.tables + self.first_entry[e]
            forbidden = hard.tables + hard.first_entry[hard.link_table[k]]
            for i in range(self.first_entry[e + 1] - self.first_entry[e]):
                table[i] = INFINITY if forbidden[i] else 0
        return 0

    cdef Py_ssize_t place(self, Py_ssize_t v) noexcept nogil:
        """Return the index in this model of a node of HardTerms, whose auxiliary nodes are the last."""
        cdef Py_ssize_t n_nodes = self.n_nodes - self.n_extra
        return v + self.n_extra if v < n_nodes else v - n_nodes

    cdef void add_price(self, const HardTerms* hard, Py_ssize_t c, double price) noexcept nogil:
        """Add a price to the costs of the labels that a counter counts, after `load`; see (d)."""
        cdef const int32_t* counter = hard.counters + 4 * c
        cdef const unsigned char* wanted = hard.wanted + c * self.n_labels[self.n_extra]
        cdef const unsigned char* chained
        cdef const unsigned char* counted
        cdef Py_ssize_t i, e, u, v, t, k, s, n_states, n = counter[1], most = counter[3]
        cdef double cap = most if most < n else max(counter[2], 1), before, is_on
        cdef double* number = self.star        # of each state of the chain; not in use before a search
        for i in range(n - 1):
            k = counter[0] + 2 * i
            e = self.n_edges - hard.n_links + k
            u, t = self.place(hard.ends[2 * k]), self.place(hard.ends[2 * k + 1])
            v = self.place(hard.ends[2 * k + 2])
            chained = hard.tables + hard.first_entry[hard.link_table[k]]
            counted = hard.tables + hard.first_entry[hard.link_table[k + 1]]
            n_states = self.n_labels[t]
            for k in range(self.n_labels[u]):
                if i == 0:
                    number[self.first_label[u] + k] = wanted[k]
                self.shift(e, u, 0, k, price * number[self.first_label[u] + k])
            for k in range(self.n_labels[v]):
                self.shift(e + 1, v, 0, k, price * wanted[k])
            for s in range(n_states):
                before = is_on = 0
                for k in range(self.n_labels[u]):
                    if not chained[k * n_states + s]:
                        before = number[self.first_label[u] + k]
                        break
                for k in range(self.n_labels[v]):
                    if not counted[k * n_states + s]:
                        is_on = wanted[k]
                        break
                self.shift(e, t, self.n_labels[u], s, -price * before)
                self.shift(e + 1, t, self.n_labels[v], s, -price * is_on)
                number[self.first_label[t] + s] = min(before + is_on, cap)

    cdef void shift(
            self, Py_ssize_t e, Py_ssize_t v, Py_ssize_t first, Py_ssize_t k, double amount) noexcept nogil:
        """Move an amount from the table of an edge to the cost of a label; `first` is 0 at the first end."""
        self.messages[self.first_message[e] + first + k] += amount
        self.costs[self.first_label[v] + k] += amount

    cdef void force(self, Py_ssize_t v, Py_ssize_t label) noexcept nogil:
        """Forbid all other labels of a node of the graph."""
        cdef double* own = self.costs_of(v)
        cdef Py_ssize_t k
        for k in range(self.n_labels[self.n_extra + v]):
            if k != label:
                own[k] = INFINITY

    cdef bint may_use(self, const double* multipliers) noexcept nogil:
        """Return True if rounding errors with these multipliers are small."""
        cdef Py_ssize_t k
        cdef double largest = 0
        for k in range(self.first_message[self.n_edges]):
            largest = max(largest, fabs(multipliers[k]))
        return largest <= MAX_MULTIPLIER * self.magnitude

    cdef double shift_nodes(self, const double* multipliers) noexcept nogil:
        """Add multipliers to the costs of nodes; return the sum of their minima."""
        cdef Py_ssize_t i, v, k, at = 0
        cdef double least, total = 0
        for i in range(2 * self.n_edges):
            v = self.ends[i]
            for k in range(self.n_labels[v]):
                self.costs[self.first_label[v] + k] += multipliers[at + k]
            at += self.n_labels[v]
        for v in range(self.n_nodes):
            least = INFINITY
            for k in range(self.first_label[v], self.first_label[v + 1]):
                least = min(least, self.costs[k])
            total += least
        return total

    cdef double least_of_edge(self, Py_ssize_t e, const double* multipliers) noexcept nogil:
        """Return the minimum of the table of an edge minus multipliers of both ends."""
        cdef Py_ssize_t a, b, K = self.n_labels[self.ends[2 * e]], L = self.n_labels[self.ends[2 * e + 1]]
        cdef const double* table = self.tables + self.first_entry[e]
        cdef double least = INFINITY, at_u = -INFINITY, at_v = -INFINITY
        if self.potts[e] >= 0:
            for a in range(K):
                least = min(least, -multipliers[a] - multipliers[K + a])
                at_u, at_v = max(at_u, multipliers[a]), max(at_v, multipliers[K + a])
            return min(least, self.potts[e] - at_u - at_v)
        for a in range(K):
            for b in range(L):
                least = min(least, table[a * L + b] - multipliers[a] - multipliers[K + b])
        return least
