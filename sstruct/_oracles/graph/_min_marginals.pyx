# Design:
# (a) Min-marginals: for each node and label the least cost of a labeling that gives the node the
#     label. Those of forests are in _forest.pyx; here are those of two attractive labels, by cuts,
#     and what single changes of one labeling tell of any others.
# (b) One maximum flow finds the minimum, which is the entry of each node's own label. To force the
#     other one, the node is tied to the terminal of the other side without limit, and the minimum
#     cut rises by what then flows on: from its own terminal, and through residual arcs from those of
#     others (Kohli and Torr). Afterwards the residuals that changed are put back.
# (c) The flow is augmented along shortest ways: a search in breadth from the node, that goes on as
#     long as what it meets are terminals that run dry, and begins anew where an arc does. From a node
#     that keeps to label 0 no way leaves the nodes of label 0 (else the flow was no maximum), and the
#     same holds for 1. Such a search ends early where terminals nearby have room left.
# (d) What rounding leaves of a saturated arc or terminal is taken as 0, else searches would follow it.
"""Min-marginals of graphs: by cuts, or bounds by single changes."""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport fabs
from libc.stdint cimport int32_t

from sstruct._kernels._constants cimport ROUNDING
from sstruct._oracles.core._graph_costs cimport edge_cost, labeling_cost
from sstruct._oracles.cut._workspace cimport list_arcs

# Where edges weigh much against the features each search may meet all nodes: a minute for a large
# image, which Ctrl-C is to end.
cdef enum:
    SEARCHES_A_SIGNAL = 128


cdef class CutMarginals:
    """Min-marginals of one graph of two labels after another; each thread needs its own."""

    def __cinit__(self):
        self.moves = AlphaExpansion()

    cdef int reserve(self) except -1 nogil:
        cdef Py_ssize_t V = self.costs.n_nodes, E = self.costs.n_edges
        self.grow(<void**> &self.residual, 2 * E, sizeof(double))
        self.grow(<void**> &self.supply, V, sizeof(double))
        self.grow(<void**> &self.first, V + 1, sizeof(int32_t))
        self.grow(<void**> &self.arc, 2 * E, sizeof(int32_t))
        self.grow(<void**> &self.queue, V, sizeof(int32_t))
        self.grow(<void**> &self.via, V, sizeof(int32_t))
        self.grow(<void**> &self.found, V, sizeof(int64_t))
        self.grow(<void**> &self.old_residual, 2 * E, sizeof(double))
        self.grow(<void**> &self.old_supply, V, sizeof(double))
        self.grow(<void**> &self.changed_edge, E, sizeof(int32_t))
        self.grow(<void**> &self.changed_node, V, sizeof(int32_t))
        self.grow(<void**> &self.is_edge_changed, E, 1)
        self.grow(<void**> &self.is_node_changed, V, 1)
        return 0

    cdef bint fill(self, const GraphCosts* costs, double* out) except -1 nogil:
        """Write out[v, k] for two labels, and return True; False if an edge is repulsive.

        One maximum flow, and for each node one more in what the first left: O(V E) each search.
        """
        cdef Py_ssize_t v, V = costs.n_nodes
        cdef double least, work = 0
        self.costs = costs
        self.reserve()
        self.moves.set_costs(costs)
        for v in range(V):
            self.queue[v] = 0
        if self.moves.find_cut(self.queue, 1, &work) >= 0:
            return False
        self.labels = self.moves.move
        self.set_residuals()
        least = labeling_cost(costs, self.labels)
        for v in range(V):
            if v % SEARCHES_A_SIGNAL == SEARCHES_A_SIGNAL - 1:
                with gil:
                    PyErr_CheckSignals()
            out[2 * v + self.labels[v]] = least
            out[2 * v + 1 - self.labels[v]] = least + self.force(<int32_t> v)
        return True

    cdef void set_residuals(self) noexcept nogil:
        """Fill `residual` and `supply` from the capacities of the last cut and its flow."""
        cdef const GraphCosts* costs = self.costs
        cdef const double* capacity = self.moves.flow.capacity
        cdef const double* terminal = self.moves.flow.terminal
        cdef double* flow = self.old_residual      # (n_edges,), until there is something to put back
        cdef double* size = self.old_supply        # (n_nodes,) of the terms of a supply, likewise
        cdef Py_ssize_t v, e, k
        cdef int32_t u, w
        list_arcs(costs, self.first, self.arc)
        for e in range(costs.n_edges):
            flow[e] = 0
            self.is_edge_changed[e] = False
        self.moves.flow.add_flows(flow)
        for v in range(costs.n_nodes):
            self.supply[v], size[v] = terminal[v], fabs(terminal[v])
            self.found[v], self.is_node_changed[v] = 0, False
        for e in range(costs.n_edges):
            u, w = costs.edges[2 * e], costs.edges[2 * e + 1]
            self.supply[u] -= flow[e]
            self.supply[w] += flow[e]
            size[u] += fabs(flow[e])
            size[w] += fabs(flow[e])
            self.residual[2 * e] = capacity[2 * e] - flow[e]
            self.residual[2 * e + 1] = capacity[2 * e + 1] + flow[e]
            for k in range(2 * e, 2 * e + 2):
                if self.residual[k] <= ROUNDING * (capacity[2 * e] + capacity[2 * e + 1]):
                    self.residual[k] = 0
        for v in range(costs.n_nodes):
            # The source's of nodes on its side, label 0; the sink's of the others.
            if self.labels[v]:
                self.supply[v] = -self.supply[v]
            if self.supply[v] <= ROUNDING * size[v]:
                self.supply[v] = 0
        self.n_searches = self.n_changed_edges = self.n_changed_nodes = 0

    cdef double force(self, int32_t v) noexcept nogil:
        """Return what the minimum rises by where node v has the other label."""
        cdef double total = self.supply[v]
        while self.find_terminals(v, &total):
            pass
        self.undo()
        return total

    cdef bint find_terminals(self, int32_t v, double* total) noexcept nogil:
        """Send what terminals near v can give or take; whether an arc ran dry, and more may be left.

        v, and what is found, is on one side. There what flows is towards v, or away from it.
        """
        cdef const int32_t* ends = self.costs.edges
        cdef Py_ssize_t head = 0, n = 1, i
        cdef int32_t x, y, e, at, side = self.labels[v]
        self.n_searches += 1
        self.queue[0] = v
        self.found[v] = self.n_searches
        while head < n:
            x = self.queue[head]
            head += 1
            for i in range(self.first[x], self.first[x + 1]):
                e = self.arc[i]
                y = ends[2 * e] + ends[2 * e + 1] - x
                if self.found[y] == self.n_searches or self.labels[y] != side:
                    continue
                # The arc y -> x, or x -> y on the sink's side.
                at = 2 * e + ((ends[2 * e] == x) ^ side)
                if self.residual[at] <= 0:
                    continue
                self.found[y], self.via[y] = self.n_searches, at
                if self.supply[y] > 0 and self.push(v, y, total):
                    return True
                self.queue[n] = y
                n += 1
        return False

    cdef bint push(self, int32_t v, int32_t x, double* total) noexcept nogil:
        """Send as much as can be between v and the terminal of x; whether an arc ran dry."""
        cdef const int32_t* ends = self.costs.edges
        cdef double most = self.supply[x]
        cdef bint is_dry = False
        cdef int32_t y = x, at, e
        while y != v:
            most = min(most, self.residual[self.via[y]])
            e = self.via[y] // 2
            y = ends[2 * e] + ends[2 * e + 1] - y
        if not self.is_node_changed[x]:
            self.is_node_changed[x], self.old_supply[x] = True, self.supply[x]
            self.changed_node[self.n_changed_nodes] = x
            self.n_changed_nodes += 1
        self.supply[x] -= most
        total[0] += most
        y = x
        while y != v:
            at = self.via[y]
            e = at // 2
            if not self.is_edge_changed[e]:
                self.is_edge_changed[e] = True
                self.old_residual[2 * e] = self.residual[2 * e]
                self.old_residual[2 * e + 1] = self.residual[2 * e + 1]
                self.changed_edge[self.n_changed_edges] = e
                self.n_changed_edges += 1
            self.residual[at] -= most
            self.residual[at ^ 1] += most
            is_dry = is_dry or self.residual[at] <= 0
            y = ends[2 * e] + ends[2 * e + 1] - y
        return is_dry

    cdef void undo(self) noexcept nogil:
        """Put back what the last forced label has changed."""
        cdef Py_ssize_t i
        cdef int32_t e, x
        for i in range(self.n_changed_edges):
            e = self.changed_edge[i]
            self.residual[2 * e] = self.old_residual[2 * e]
            self.residual[2 * e + 1] = self.old_residual[2 * e + 1]
            self.is_edge_changed[e] = False
        for i in range(self.n_changed_nodes):
            x = self.changed_node[i]
            self.supply[x] = self.old_supply[x]
            self.is_node_changed[x] = False
        self.n_changed_edges = self.n_changed_nodes = 0


cdef void flip_marginals(
        const GraphCosts* costs, const int32_t* labels, double* out) noexcept nogil:
    """out[v, k] = the cost of the labels where v's is changed to k: at least the min-marginal.

    out : (n_nodes, n_labels)    O(V K + E K G)
    """
    cdef Py_ssize_t v, e, k, K = costs.n_labels
    cdef int32_t a, b, u, w
    cdef double cost = labeling_cost(costs, labels), now
    cdef const double* row = costs.node_costs
    for v in range(costs.n_nodes):
        for k in range(K):
            out[v * K + k] = cost + (row[k] - row[labels[v]])
        row += costs.stride
    for e in range(costs.n_edges):
        u, w = costs.edges[2 * e], costs.edges[2 * e + 1]
        a, b = labels[u], labels[w]
        now = edge_cost(costs, e, a, b)
        for k in range(K):
            out[u * K + k] += edge_cost(costs, e, k, b) - now
            out[w * K + k] += edge_cost(costs, e, a, k) - now
