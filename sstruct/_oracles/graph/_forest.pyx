# Design:
# (a) Exact minimum of the costs of a graph without cycles (max-sum with negative costs as scores).
#     The roots are the lowest nodes of their trees. Nodes are sorted by breadth-first search, costs
#     are passed from the leaves to the roots, and labels back.
# (b) A message takes O(K^2), or O(K) for Potts: the best of all labels other than the parent's is the
#     best label or, if the parent has the best, the second best.
# (c) Ties: the lowest label of the root, then of each node given the label of its parent.
# (d) Min-marginals pass the messages of parents, without the child's part, back down.
"""Exact minimization of the costs of labeled forests."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.core._graph_costs cimport edge_table, labeling_cost
from sstruct._oracles.cut._workspace cimport list_arcs


cdef inline void find_two_least(
        const double* costs, Py_ssize_t n, Py_ssize_t* best, Py_ssize_t* second) noexcept nogil:
    """Find the first index of the minimum and that of the second smallest value; -1 if none."""
    cdef Py_ssize_t a
    best[0], second[0] = 0, -1
    for a in range(1, n):
        if costs[a] < costs[best[0]]:
            second[0], best[0] = best[0], a
        elif second[0] < 0 or costs[a] < costs[second[0]]:
            second[0] = a


cdef int pass_up(
        Forest forest, const GraphCosts* costs, double* belief, double* sent,
        Py_ssize_t step) except -1 nogil:
    """Compute the least costs of all subtrees given the labels of their roots, (n_nodes, K) in `belief`.

    sent + v step : the message of node v to its parent
    """
    cdef Py_ssize_t V = costs.n_nodes, K = costs.n_labels, i, v, k, e, parent
    forest.sort_nodes(costs)
    for v in range(V):
        for k in range(K):
            belief[v * K + k] = costs.node_costs[v * costs.stride + k]
    for i in range(V - 1, -1, -1):
        v = forest.order[i]
        e = forest.parent_edge[v]
        if e >= 0:
            forest.message(
                costs, e, costs.edges[2 * e] == v, belief + v * K, sent + v * step,
                forest.choice + v * K)
            parent = costs.edges[2 * e] + costs.edges[2 * e + 1] - v
            for k in range(K):
                belief[parent * K + k] += sent[v * step + k]
            poll_signals(20 + forest.message_work(costs))
    return 0


cdef class Forest:
    """Decodes one forest at a time; each thread requires its own object."""

    cdef int reserve(self, const GraphCosts* costs) except -1 nogil:
        cdef Py_ssize_t V = costs.n_nodes, K = costs.n_labels
        self.grow(<void**> &self.least, V * K, sizeof(double))
        self.grow(<void**> &self.choice, V * K, sizeof(int32_t))
        self.grow(<void**> &self.table, K * K, sizeof(double))
        self.grow(<void**> &self.row, K, sizeof(double))
        return 0

    cdef double message_work(self, const GraphCosts* costs) noexcept nogil:
        cdef double K = costs.n_labels
        return K if costs.tables == NULL else K * K * (1 + costs.n_features)

    cdef int sort_nodes(self, const GraphCosts* costs) except -1 nogil:
        """Fill in `order` and `parent_edge`; raise ValueError if there is a cycle. O(V + E)."""
        cdef Py_ssize_t V = costs.n_nodes, i, v, n = 0, n_done = 0
        cdef int32_t e, u
        self.grow(<void**> &self.first, V + 1, sizeof(int32_t))
        self.grow(<void**> &self.order, V, sizeof(int32_t))
        self.grow(<void**> &self.parent_edge, V, sizeof(int32_t))
        self.grow(<void**> &self.arc, 2 * costs.n_edges, sizeof(int32_t))
        list_arcs(costs, self.first, self.arc)
        for v in range(V):
            self.parent_edge[v] = -2
        for v in range(V):
            if self.parent_edge[v] != -2:
                continue
            self.parent_edge[v] = -1
            self.order[n] = <int32_t> v
            n += 1
            while n_done < n:
                u = self.order[n_done]
                n_done += 1
                for i in range(self.first[u], self.first[u + 1]):
                    e = self.arc[i]
                    if e == self.parent_edge[u]:
                        continue
                    u = costs.edges[2 * e] + costs.edges[2 * e + 1] - u
                    if self.parent_edge[u] != -2:
                        with gil:
                            raise ValueError(
                                f"max-sum requires a graph without cycles, but edge {e} = "
                                f"({costs.edges[2 * e]}, {costs.edges[2 * e + 1]}) closes one")
                    self.parent_edge[u] = e
                    self.order[n] = u
                    n += 1
                    u = self.order[n_done - 1]
        return 0

    cdef void message(
            self, const GraphCosts* costs, Py_ssize_t e, bint forth, const double* of, double* out,
            int32_t* choice) noexcept nogil:
        """out[b] = min_a of[a] + cost of edge e with label a at the sender and b at the receiver.

        forth : whether the sender is the first node of the edge    choice[b] : the lowest argmin a
        """
        cdef Py_ssize_t K = costs.n_labels, a, b, best, second
        cdef Py_ssize_t of_sender = K if forth else 1, of_receiver = 1 if forth else K
        cdef double weight, value, least
        cdef const double* table
        if costs.tables == NULL:
            weight = costs.edge_weights[e]
            find_two_least(of, K, &best, &second)
            for b in range(K):
                a = second if b == best else best
                if a >= 0 and (of[a] + weight < of[b] or (of[a] + weight == of[b] and a < b)):
                    out[b], choice[b] = of[a] + weight, <int32_t> a
                else:
                    out[b], choice[b] = of[b], <int32_t> b
            return
        table = edge_table(costs, e, &weight, self.table)
        for b in range(K):
            least = INFINITY
            choice[b] = 0
            for a in range(K):
                value = of[a] + weight * table[a * of_sender + b * of_receiver]
                if value < least:
                    least = value
                    choice[b] = <int32_t> a
            out[b] = least

    cdef int minimize(
            self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil:
        """Find a minimum; the labels need not be initialized. O(V K^2), or O(V K) for Potts."""
        cdef Py_ssize_t V = costs.n_nodes, K = costs.n_labels, i, v, k, e, best
        self.reserve(costs)
        pass_up(self, costs, self.least, self.row, 0)
        for i in range(V):
            v = self.order[i]
            e = self.parent_edge[v]
            if e >= 0:
                labels[v] = self.choice[v * K + labels[costs.edges[2 * e] + costs.edges[2 * e + 1] - v]]
                continue
            best = 0
            for k in range(1, K):
                if self.least[v * K + k] < self.least[v * K + best]:
                    best = k
            labels[v] = <int32_t> best
        answer.cost = labeling_cost(costs, labels)
        answer.work = <double> V * K + costs.n_edges * self.message_work(costs)
        answer.exact = True
        return 0

    cdef int marginals(self, const GraphCosts* costs, double* out) except -1 nogil:
        """out[v, k] = the minimum cost of a labeling with y_v = k, (n_nodes, K); time as for `minimize`."""
        cdef Py_ssize_t V = costs.n_nodes, K = costs.n_labels, i, v, k, e, parent
        cdef double total = 0, least, work = self.message_work(costs)
        cdef double* belief
        self.reserve(costs)
        self.grow(<void**> &self.sent, V * K, sizeof(double))
        pass_up(self, costs, out, self.sent, K)
        for i in range(V):
            poll_signals(20 + work)
            v = self.order[i]
            e = self.parent_edge[v]
            belief = out + v * K
            if e >= 0:
                parent = costs.edges[2 * e] + costs.edges[2 * e + 1] - v
                for k in range(K):
                    self.row[k] = out[parent * K + k] - self.sent[v * K + k]
                # The row of `sent` is no longer needed, so reuse it for the downward pass.
                self.message(
                    costs, e, costs.edges[2 * e] != v, self.row, self.sent + v * K, self.choice)
                for k in range(K):
                    belief[k] += self.sent[v * K + k]
                continue
            least = belief[0]
            for k in range(1, K):
                least = min(least, belief[k])
            # The root stores the cost of its tree, to be added for nodes of other trees.
            self.least[v] = least
            total += least
        for i in range(V):
            v = self.order[i]
            e = self.parent_edge[v]
            if e >= 0:
                self.least[v] = self.least[costs.edges[2 * e] + costs.edges[2 * e + 1] - v]
            for k in range(K):
                out[v * K + k] += total - self.least[v]
        return 0
