# Design:
# (a) Min-marginals: for each node and label, the minimum cost of a labeling with that label at the
#     node. _forest.pyx computes them for forests. This file computes them for two attractive labels by
#     cuts, and upper bounds from single changes of one labeling for all other costs.
# (b) A maximum flow finds the minimum, which is the entry of each node's own label. To force the
#     other label, the node is tied to the terminal of the other side with infinite capacity, and the
#     minimum cut increases by the additional flow: from its own terminal, and through residual arcs
#     from those of other nodes (Kohli and Torr). Then the changed residuals are restored.
# (c) A breadth-first search from the node finds the nearest terminals until their capacity is that of
#     the node's arcs, and then saturates the search tree; this is repeated while flow is found. No
#     residual arc leads from a node with label 0 to one with label 1, so all paths stay among the
#     nodes that have the label of the forced one. All paths are shortest ones, so the search terminates; it
#     terminates early if nearby terminals have residual capacity.
# (d) Residuals of saturated arcs or terminals that are due to rounding are set to 0; otherwise searches
#     would follow them.
"""Min-marginals of graphs by cuts, or bounds by single changes."""

from libc.math cimport fabs
from libc.stdint cimport int32_t

from sstruct._kernels._constants cimport ROUNDING
from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.core._graph_costs cimport edge_cost, labeling_cost
from sstruct._oracles.cut._workspace cimport list_arcs

# Work per node of a search; there may be V searches of V nodes.
cdef double NODE_WORK = 20


cdef class CutMarginals:
    """Computes min-marginals of one graph of two labels at a time; not shared by threads."""

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
        self.grow(<void**> &self.reach, V, sizeof(double))
        self.grow(<void**> &self.carried, V, sizeof(double))
        self.grow(<void**> &self.old_residual, 2 * E, sizeof(double))
        self.grow(<void**> &self.old_supply, V, sizeof(double))
        self.grow(<void**> &self.changed_edge, E, sizeof(int32_t))
        self.grow(<void**> &self.changed_node, V, sizeof(int32_t))
        self.grow(<void**> &self.is_edge_changed, E, 1)
        self.grow(<void**> &self.is_node_changed, V, 1)
        return 0

    cdef bint fill(self, const GraphCosts* costs, double* out) except -1 nogil:
        """Write out[v, k] for two labels, and return True; return False if an edge is repulsive.

        Solves a maximum flow, and one more in its residual graph for each node; O(E) per search.
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
            out[2 * v + self.labels[v]] = least
            out[2 * v + 1 - self.labels[v]] = least + self.force(<int32_t> v)
        return True

    cdef void set_residuals(self) noexcept nogil:
        """Compute `residual` and `supply` from the capacities of the last cut and its flow."""
        cdef const GraphCosts* costs = self.costs
        cdef const double* capacity = self.moves.flow.capacity
        cdef const double* terminal = self.moves.flow.terminal
        cdef double* flow = self.old_residual      # (n_edges,), used as scratch memory here
        cdef double* size = self.old_supply        # (n_nodes,) sum of the terms of a supply, likewise
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
            # From the source for nodes on its side (label 0), from the sink for the others.
            if self.labels[v]:
                self.supply[v] = -self.supply[v]
            if self.supply[v] <= ROUNDING * size[v]:
                self.supply[v] = 0
        self.n_searches = self.n_changed_edges = self.n_changed_nodes = 0

    cdef double force(self, int32_t v) except? -1 nogil:
        """Return the increase of the minimum if node v has the other label."""
        cdef Py_ssize_t n
        cdef double total = self.supply[v]
        while True:
            n = self.grow_tree(v)
            if n == 0:
                break
            total += self.send_through_tree(n)
        self.undo()
        return total

    cdef Py_ssize_t grow_tree(self, int32_t v) except -1 nogil:
        """Find the nearest terminals with as much capacity as the arcs of v.

        Fills `queue` with the nodes found, parents first, and `via` with their arcs towards v. They
        are on the side of v, where flow is directed towards v or away from it. Returns their number,
        or 0 if no more flow is possible.
        """
        cdef const int32_t* ends = self.costs.edges
        cdef Py_ssize_t head = 0, n = 1, i
        cdef int32_t x, y, e, at, side = self.labels[v]
        cdef double supply = 0, most = 0
        self.n_searches += 1
        self.queue[0] = v
        self.found[v] = self.n_searches
        while head < n and (head == 0 or supply < most):
            x = self.queue[head]
            head += 1
            for i in range(self.first[x], self.first[x + 1]):
                e = self.arc[i]
                y = ends[2 * e] + ends[2 * e + 1] - x
                # The arc y -> x, or x -> y on the sink side.
                at = 2 * e + ((ends[2 * e] == x) ^ side)
                if self.found[y] == self.n_searches or self.labels[y] != side:
                    continue
                if self.residual[at] <= 0:
                    continue
                if x == v:
                    most += self.residual[at]
                self.found[y], self.via[y] = self.n_searches, at
                self.queue[n] = y
                n += 1
                supply += self.supply[y]
        poll_signals(NODE_WORK * n)
        return n if supply > 0 else 0

    cdef double send_through_tree(self, Py_ssize_t n) noexcept nogil:
        """Push as much flow as possible through the tree of the first n nodes of `queue`; return it.

        Compute the possible flow through each node from the leaves up, and then the actual flow from
        the root down, first from a node's own terminal, then from its children. O(n).
        """
        cdef const int32_t* ends = self.costs.edges
        cdef double* reach = self.reach
        cdef double* carried = self.carried
        cdef double amount, own
        cdef Py_ssize_t i
        cdef int32_t x, parent, at
        reach[self.queue[0]] = 0
        for i in range(1, n):
            reach[self.queue[i]] = self.supply[self.queue[i]]
        for i in range(n - 1, 0, -1):
            x = self.queue[i]
            carried[x] = min(reach[x], self.residual[self.via[x]])
            at = self.via[x]
            reach[ends[at] + ends[at ^ 1] - x] += carried[x]
        amount = reach[self.queue[0]]
        # From here on, `reach` is the remaining demand of a node.
        for i in range(1, n):
            x, at = self.queue[i], self.via[self.queue[i]]
            parent = ends[at] + ends[at ^ 1] - x
            carried[x] = min(carried[x], reach[parent])
            reach[parent] -= carried[x]
            own = min(self.supply[x], carried[x])
            reach[x] = carried[x] - own
            if own > 0:
                self.change_supply(x, own)
            if carried[x] > 0:
                self.change_residual(at, carried[x])
        return amount

    cdef void change_supply(self, int32_t x, double taken) noexcept nogil:
        """Change the residual of a terminal; record the previous value."""
        if not self.is_node_changed[x]:
            self.is_node_changed[x], self.old_supply[x] = True, self.supply[x]
            self.changed_node[self.n_changed_nodes] = x
            self.n_changed_nodes += 1
        self.supply[x] -= taken
        if self.supply[x] <= ROUNDING * self.old_supply[x]:
            self.supply[x] = 0

    cdef void change_residual(self, int32_t at, double sent) noexcept nogil:
        """Push flow through an arc; record the previous residuals of its edge."""
        cdef int32_t e = at // 2
        if not self.is_edge_changed[e]:
            self.is_edge_changed[e] = True
            self.old_residual[2 * e] = self.residual[2 * e]
            self.old_residual[2 * e + 1] = self.residual[2 * e + 1]
            self.changed_edge[self.n_changed_edges] = e
            self.n_changed_edges += 1
        self.residual[at] -= sent
        self.residual[at ^ 1] += sent
        if self.residual[at] <= ROUNDING * self.residual[at ^ 1]:
            self.residual[at] = 0

    cdef void undo(self) noexcept nogil:
        """Restore the values before the last forced label."""
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


cdef int flip_marginals(
        const GraphCosts* costs, const int32_t* labels, double* out) except -1 nogil:
    """out[v, k] = the cost of the labels with v's changed to k, an upper bound on the min-marginal.

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
        poll_signals(2.0 * K * costs.n_features)
    return 0
