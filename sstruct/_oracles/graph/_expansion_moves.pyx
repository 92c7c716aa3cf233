# Design:
# (a) An expansion move of label alpha: every node keeps its label (0) or takes alpha (1), an energy
#     of binary labels. Edge (u, v) of labels a, b costs cost(a, b), cost(a, alpha), cost(alpha, b)
#     and cost(alpha, alpha). If all edges are attractive (00 + 11 <= 01 + 10: always if the costs
#     are metrics), a cut finds the best move. Otherwise roof duality finds a part of it;
#     undetermined nodes keep their labels, and by persistency the energy does not increase.
# (b) A node that has label alpha already is isolated by the formulas: the terms of its edges apply
#     to the other end. One graph, set once, therefore serves all moves of a decoding.
# (c) A move is accepted if it lowers the energy by more than rounding, computed from the costs that
#     change. Labels are tried in a random order, shuffled in each cycle, until no label is left to
#     try: a label is not tried again while nothing has changed since its last try. With
#     `stops_early`, as in training, moves stop after a cycle of little gain.
# (d) Two labels: the first move, from all 0 to 1, is the problem itself. It is exact if it is a cut
#     or if roof duality determines every node.
# (e) The cut of a label continues from the flow of the label's previous cut, stored for the edges: any
#     flow within the capacities is a valid start, and little changes after the first cycle. Node
#     costs that are due to rounding are set to 0; otherwise the search would propagate them.
# (f) The result depends only on costs, start, seed and `stops_early`, never on earlier calls.
"""Approximate minimization of energies of many labels by expansion moves."""

from libc.math cimport fabs
from libc.stdint cimport int32_t, uint64_t

from sstruct._kernels._constants cimport ROUNDING
from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.core._graph_costs cimport edge_cost, edge_table, labeling_cost
from sstruct._oracles.cut._workspace cimport set_flow
from sstruct._kernels._splitmix cimport next_random

# Relative to the flow through a node or the capacity of an arc: smaller values are rounding.
cdef double SATURATED = 1e-14
# Flows are kept between moves if they take at most this memory (128 MB).
cdef Py_ssize_t MAX_FLOWS = 2 ** 24
# With `stops_early`, moves stop after a cycle that gains at most this fraction of all gains so far.
# On images of 128 x 128 pixels and 8 labels, fits took 17.5 s without, 13.9 s with 0.1 and 17.3 s
# with 1, a single cycle (CPU seconds of one run each on a busy machine).
cdef double LITTLE = 0.1


cdef inline double pair_cost(
        AlphaExpansion moves, Py_ssize_t e, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    """Return the cost of edge e with label a at its first and b at its second node."""
    if moves.costs.tables == NULL:
        return moves.costs.edge_weights[e] if a != b else 0
    return moves.edge[e].weight * moves.edge[e].table[a * moves.costs.n_labels + b]


cdef class AlphaExpansion:
    """Lowers the energy of one labeled graph at a time; each thread requires its own object."""

    def __cinit__(self):
        self.flow = MaxFlow()
        self.energy = BinaryEnergy()

    cdef int reserve(self) except -1 nogil:
        """Allocate memory for the costs."""
        cdef Py_ssize_t V = self.costs.n_nodes, K = self.costs.n_labels
        self.grow(<void**> &self.move, V, sizeof(int32_t))
        self.grow(<void**> &self.start, V, sizeof(int32_t))
        self.grow(<void**> &self.sent, V, sizeof(double))
        self.grow(<void**> &self.order, K, sizeof(Py_ssize_t))
        self.grow(<void**> &self.tried, K, sizeof(Py_ssize_t))
        if self.costs.tables != NULL:
            self.grow(<void**> &self.edge, self.costs.n_edges, sizeof(EdgeTable))
        return 0

    cdef int set_costs(self, const GraphCosts* costs) except -1 nogil:
        """Set the costs, and find the table of each edge."""
        cdef Py_ssize_t e, n_sums = 0, square = costs.n_labels * costs.n_labels
        self.costs = costs
        self.is_flow_set = self.is_energy_set = self.keeps_flows = False
        self.reserve()
        if costs.tables == NULL:
            return 0
        for e in range(costs.n_edges):
            self.edge[e].table = edge_table(costs, e, &self.edge[e].weight, NULL)
            if self.edge[e].table == NULL:
                n_sums += 1
        self.grow(<void**> &self.sums, n_sums * square, sizeof(double))
        n_sums = 0
        for e in range(costs.n_edges):
            if self.edge[e].table == NULL:
                self.edge[e].table = edge_table(
                    costs, e, &self.edge[e].weight, self.sums + n_sums * square)
                n_sums += 1
        return 0

    cdef int minimize(
            self, const GraphCosts* costs, uint64_t seed, int32_t* labels, GraphAnswer* answer
            ) except -1 nogil:
        """Lower the energy of the labels until no move lowers it, or `stops_early` ends the search."""
        cdef Py_ssize_t V = costs.n_nodes, K = costs.n_labels, k, j, alpha, n_moves = 0
        cdef Py_ssize_t repulsive
        cdef bint changed = True
        cdef double cost, before
        cdef const double* row
        self.set_costs(costs)
        self.gain = 0
        answer.work = 0
        answer.exact = False
        for j in range(V):
            self.start[j] = labels[j]
        cost = labeling_cost(costs, labels)
        if K == 1 or costs.n_edges == 0:
            for j in range(V):
                row = costs.node_costs + j * costs.stride
                for k in range(K):
                    if row[k] < row[labels[j]]:
                        labels[j] = <int32_t> k
            answer.exact = True
            answer.work = <double> (V * K)
            changed = False
        elif K == 2:
            answer.exact = self.binary(labels, &answer.work)
            changed = not answer.exact
        if changed:
            self.forget_flows()
        for k in range(K):
            self.order[k] = k
            self.tried[k] = -1
        while changed:
            changed, before = False, self.gain
            for k in range(K):
                j = k + <Py_ssize_t> (next_random(&seed) % <uint64_t> (K - k))
                alpha = self.order[j]
                self.order[j] = self.order[k]
                self.order[k] = alpha
                if self.tried[alpha] == n_moves:
                    continue
                repulsive = self.find_move(labels, alpha, &answer.work)
                self.tried[alpha] = n_moves
                poll_signals(<double> V + self.costs.n_edges)
                if self.make_move(labels, alpha):
                    n_moves += 1
                    changed = True
                    if repulsive < 0:      # the best move: another one of this label cannot gain
                        self.tried[alpha] = n_moves
            if self.stops_early and self.gain - before <= LITTLE * self.gain:
                break
        answer.cost = labeling_cost(costs, labels)
        if answer.cost > cost:             # due to rounding
            for j in range(V):
                labels[j] = self.start[j]
            answer.cost = cost
        return 0

    cdef int forget_flows(self) except -1 nogil:
        """Reset the flow of every label."""
        cdef Py_ssize_t i, n_flows = self.costs.n_labels * self.costs.n_edges
        self.keeps_flows = n_flows <= MAX_FLOWS
        if self.keeps_flows:
            self.grow(<void**> &self.flows, n_flows, sizeof(double))
            for i in range(n_flows):
                self.flows[i] = 0
        return 0

    cdef bint binary(self, int32_t* labels, double* work) except -1 nogil:
        """Set the labels that are known to be optimal, for two labels; return whether all nodes are known."""
        cdef Py_ssize_t v
        cdef bint exact = True
        for v in range(self.costs.n_nodes):
            labels[v] = 0
        self.find_move(labels, 1, work)
        for v in range(self.costs.n_nodes):
            labels[v] = self.move[v] if self.move[v] >= 0 else self.start[v]
            exact = exact and self.move[v] >= 0
        return exact

    cdef int cut(
            self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil:
        """Find the minimum of two labels; raise ValueError if an edge is repulsive."""
        cdef Py_ssize_t v, e
        if costs.n_labels != 2:
            raise ValueError(f"a cut requires two labels; found {costs.n_labels}")
        self.set_costs(costs)
        answer.work = 0
        for v in range(costs.n_nodes):
            labels[v] = 0
        e = self.find_cut(labels, 1, &answer.work)
        if e >= 0:
            with gil:
                table = [edge_cost(costs, e, v // 2, v % 2) for v in range(4)]
                raise ValueError(
                    f"edge {e} = ({costs.edges[2 * e]}, {costs.edges[2 * e + 1]}) is repulsive: its costs "
                    f"00 + 11 = {table[0] + table[3]:g} exceed 01 + 10 = {table[1] + table[2]:g}, so a cut "
                    "does not minimize the cost")
        for v in range(costs.n_nodes):
            labels[v] = self.move[v]
        answer.cost = labeling_cost(costs, labels)
        answer.exact = True
        return 0

    cdef Py_ssize_t find_cut(
            self, const int32_t* labels, Py_ssize_t alpha, double* work) except -2 nogil:
        """Write the best move of alpha and return -1, or return the first repulsive edge."""
        cdef const GraphCosts* costs = self.costs
        cdef Py_ssize_t repulsive, v
        cdef double flow
        if not self.is_flow_set:
            set_flow(self.flow, costs)
            self.is_flow_set = True
        repulsive = self.fill_cut(labels, alpha)
        work[0] += <double> (costs.n_nodes + costs.n_edges)
        if repulsive >= 0:
            return repulsive
        if not self.keeps_flows:
            self.flow.solve(&flow, work)
            self.flow.sides(self.move)
        elif self.send_again(self.flows + alpha * costs.n_edges):
            self.flow.solve(&flow, work)
            self.flow.sides(self.move)
            self.flow.add_flows(self.flows + alpha * costs.n_edges)
        else:
            for v in range(costs.n_nodes):
                self.move[v] = 0
        return -1

    cdef bint send_again(self, double* flow) noexcept nogil:
        """Push the flow of the last move of a label again, as far as the capacities of this move
        allow; return whether a node still lacks flow.

        A flow f along (u, v), f <= capacity, is the identity f ((1 - x_u) x_v - x_u (1 - x_v)) =
        f (x_v - x_u): it is subtracted from one capacity and added to the other and the terminals.
        """
        cdef const int32_t* ends = self.costs.edges
        cdef double* terminal = self.flow.terminal
        cdef double* capacity = self.flow.capacity
        cdef Py_ssize_t v, e
        cdef double most, f
        cdef bint lacking = False
        for v in range(self.costs.n_nodes):
            self.sent[v] = fabs(terminal[v])
        for e in range(self.costs.n_edges):
            f, most = flow[e], capacity[2 * e]
            if f == 0:
                continue
            if fabs(f) >= (1 - SATURATED) * most:
                f = most if f > 0 else -most
            flow[e] = f
            capacity[2 * e] = most - f
            capacity[2 * e + 1] = most + f
            terminal[ends[2 * e]] -= f
            terminal[ends[2 * e + 1]] += f
            self.sent[ends[2 * e]] += fabs(f)
            self.sent[ends[2 * e + 1]] += fabs(f)
        for v in range(self.costs.n_nodes):
            if fabs(terminal[v]) <= SATURATED * self.sent[v]:
                terminal[v] = 0
            lacking = lacking or terminal[v] < 0
        return lacking

    cdef Py_ssize_t find_move(
            self, const int32_t* labels, Py_ssize_t alpha, double* work) except -2 nogil:
        """Write the best known move of alpha; return its first repulsive edge, or -1 if it is optimal."""
        cdef const GraphCosts* costs = self.costs
        cdef Py_ssize_t repulsive = self.find_cut(labels, alpha, work)
        cdef double bound
        if repulsive < 0:
            return -1
        if not self.is_energy_set:
            self.energy.set_graph(costs.n_nodes, costs.n_edges, costs.edges)
            self.is_energy_set = True
        self.fill_energy(labels, alpha)
        self.energy.roof_duality(self.move, &bound, work)
        return repulsive

    cdef Py_ssize_t fill_cut(self, const int32_t* labels, Py_ssize_t alpha) noexcept nogil:
        """Write the cut of a move, or return its first repulsive edge.

        With costs A, B, C, D of 00, 01, 10, 11: A + (C - A - B + D) / 2 x_u + (D - C + B - A) / 2 x_v
        + capacity [x_u != x_v], capacity = (B + C - A - D) / 2.
        """
        cdef const GraphCosts* costs = self.costs
        cdef const int32_t* ends = costs.edges
        cdef const double* node = costs.node_costs
        cdef double* terminal = self.flow.terminal
        cdef double* capacity = self.flow.capacity
        cdef Py_ssize_t v, e, K = costs.n_labels
        cdef int32_t a, b
        cdef bint a_differs, b_differs
        cdef double weight, A, B, C, D, attraction
        cdef const double* table
        for v in range(costs.n_nodes):
            terminal[v] = node[alpha] - node[labels[v]]
            node += costs.stride
        if costs.tables == NULL:
            for e in range(costs.n_edges):
                a, b = labels[ends[2 * e]], labels[ends[2 * e + 1]]
                weight = 0.5 * costs.edge_weights[e]
                a_differs, b_differs = a != alpha, b != alpha
                A, B, C = weight * (a != b), weight * a_differs, weight * b_differs
                attraction = B + C - A
                if attraction < 0:
                    return e
                terminal[ends[2 * e]] += C - A - B
                terminal[ends[2 * e + 1]] += B - A - C
                capacity[2 * e] = capacity[2 * e + 1] = attraction
            return -1
        for e in range(costs.n_edges):
            a, b = labels[ends[2 * e]], labels[ends[2 * e + 1]]
            weight, table = 0.5 * self.edge[e].weight, self.edge[e].table
            A, B = weight * table[a * K + b], weight * table[a * K + alpha]
            C, D = weight * table[alpha * K + b], weight * table[alpha * K + alpha]
            attraction = (B - D) + (C - A)
            if attraction < 0:
                if attraction < -ROUNDING * (fabs(A) + fabs(B) + fabs(C) + fabs(D)):
                    return e
                attraction = 0
            terminal[ends[2 * e]] += (C - A) + (D - B)
            terminal[ends[2 * e + 1]] += (D - C) + (B - A)
            capacity[2 * e] = capacity[2 * e + 1] = attraction
        return -1

    cdef void fill_energy(self, const int32_t* labels, Py_ssize_t alpha) noexcept nogil:
        """Write the binary energy of a move."""
        cdef const GraphCosts* costs = self.costs
        cdef const double* row = costs.node_costs
        cdef double* edge = self.energy.edge
        cdef Py_ssize_t v, e
        cdef int32_t a, b
        for v in range(costs.n_nodes):
            self.energy.node[2 * v] = row[labels[v]]
            self.energy.node[2 * v + 1] = row[alpha]
            row += costs.stride
        for e in range(costs.n_edges):
            a, b = labels[costs.edges[2 * e]], labels[costs.edges[2 * e + 1]]
            edge[0], edge[1] = pair_cost(self, e, a, b), pair_cost(self, e, a, alpha)
            edge[2], edge[3] = pair_cost(self, e, alpha, b), pair_cost(self, e, alpha, alpha)
            edge += 4

    cdef bint make_move(self, int32_t* labels, Py_ssize_t alpha) noexcept nogil:
        """Accept the move if it lowers the energy by more than rounding; return whether it does."""
        cdef const GraphCosts* costs = self.costs
        cdef const double* row = costs.node_costs
        cdef Py_ssize_t v, e, n_changes = 0
        cdef int32_t a, b, c, d, taken = <int32_t> alpha
        cdef double old, new, change = 0, size = 0
        for v in range(costs.n_nodes):
            if self.move[v] == 1 and labels[v] != taken:
                change += row[taken] - row[labels[v]]
                size += fabs(row[taken]) + fabs(row[labels[v]])
                n_changes += 1
            else:
                self.move[v] = 0
            row += costs.stride
        if n_changes == 0:
            return False
        for e in range(costs.n_edges):
            if self.move[costs.edges[2 * e]] | self.move[costs.edges[2 * e + 1]]:
                a, b = labels[costs.edges[2 * e]], labels[costs.edges[2 * e + 1]]
                c = taken if self.move[costs.edges[2 * e]] else a
                d = taken if self.move[costs.edges[2 * e + 1]] else b
                old, new = pair_cost(self, e, a, b), pair_cost(self, e, c, d)
                change += new - old
                size += fabs(new) + fabs(old)
        if not change < -ROUNDING * size:
            return False
        self.gain -= change
        for v in range(costs.n_nodes):
            if self.move[v]:
                labels[v] = taken
        return True
