# Design:
# (a) A forest move frees nodes that form a forest, and computes their optimal labels, given the labels of
#     all other nodes, by max-sum. The cost never increases. Unlike expansion moves by roof duality, which
#     leave many nodes undetermined if edges are repulsive, these moves are exact for any edge costs.
# (b) Nodes are freed in random order, except for those that would close a cycle with free nodes (on a
#     grid, two thirds are free). The search stops when several consecutive moves do not improve the cost,
#     or at a limit on the moves or the work.
# (c) The result depends only on costs, start and seed.
"""Approximate minimization of the costs of labeled graphs by exact forest moves."""

from libc.math cimport fabs
from libc.stdint cimport int32_t, uint64_t

from sstruct._kernels._constants cimport ROUNDING
from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.core._graph_costs cimport labeling_cost
from sstruct._oracles.cut._workspace cimport list_arcs
from sstruct._kernels._splitmix cimport next_random

# Limits on consecutive moves without improvement, and on the total number of moves.
cdef Py_ssize_t MAX_IDLE = 6
cdef Py_ssize_t MAX_MOVES = 200


cdef class ForestMoves:
    """Lowers the cost of one labeled graph at a time; each thread requires its own object."""

    def __cinit__(self):
        self.forest, self.free = Forest(), SubGraph()

    cdef int reserve(self, const GraphCosts* costs) except -1 nogil:
        cdef Py_ssize_t V = costs.n_nodes
        self.grow(<void**> &self.first, V + 1, sizeof(int32_t))
        self.grow(<void**> &self.arc, 2 * costs.n_edges, sizeof(int32_t))
        self.grow(<void**> &self.order, V, sizeof(int32_t))
        self.grow(<void**> &self.freed, V, sizeof(int32_t))
        self.grow(<void**> &self.root, V, sizeof(int32_t))
        self.grow(<void**> &self.seen, V, sizeof(int32_t))
        self.grow(<void**> &self.new, V, sizeof(int32_t))
        return self.free.reserve(costs)

    cdef int32_t find(self, int32_t v) noexcept nogil:
        """Return the root of a free node's tree."""
        while self.root[v] != v:
            self.root[v] = self.root[self.root[v]]
            v = self.root[v]
        return v

    cdef void choose(self, const GraphCosts* costs, uint64_t* random) noexcept nogil:
        """Free nodes in random order, except for those that would close a cycle."""
        cdef Py_ssize_t i, j, c, n = 0, V = costs.n_nodes
        cdef int32_t u, v, r
        cdef int32_t* place = self.free.place
        cdef bint closes
        for i in range(V):
            j = i + <Py_ssize_t> (next_random(random) % <uint64_t> (V - i))
            v = self.order[j]
            self.order[j] = self.order[i]
            self.order[i] = v
            place[v] = self.seen[v] = -1
        for i in range(V):
            v = self.order[i]
            closes = False
            for c in range(self.first[v], self.first[v + 1]):
                u = costs.edges[2 * self.arc[c]] + costs.edges[2 * self.arc[c] + 1] - v
                if place[u] >= 0:
                    r = self.find(u)
                    if self.seen[r] == v:
                        closes = True
                        break
                    self.seen[r] = v
            if closes:
                continue
            place[v] = <int32_t> n
            self.freed[n] = v
            self.root[v] = v
            n += 1
            for c in range(self.first[v], self.first[v + 1]):
                u = costs.edges[2 * self.arc[c]] + costs.edges[2 * self.arc[c] + 1] - v
                if u != v and place[u] >= 0:
                    self.root[self.find(u)] = v

    cdef int minimize(
            self, const GraphCosts* costs, uint64_t seed, int32_t* labels, double max_work,
            GraphAnswer* answer) except -1 nogil:
        """Lower the cost of the labels by moves of randomly chosen forests; the cost never increases.

        max_work : limit on the work, including the work so far in `answer`
        answer : `work` is read and increased, `cost` is set, and `exact` is left unchanged
        """
        cdef Py_ssize_t i, idle = 0
        cdef double before
        cdef GraphAnswer best
        self.reserve(costs)
        list_arcs(costs, self.first, self.arc)
        for i in range(costs.n_nodes):
            self.order[i] = <int32_t> i
        for _ in range(MAX_MOVES):
            if idle == MAX_IDLE or answer.work >= max_work:
                break
            self.choose(costs, &seed)
            self.free.condition(costs, labels)
            before = labeling_cost(&self.free.costs, self.free.labels)
            self.forest.minimize(&self.free.costs, self.new, &best)
            answer.work += best.work + costs.n_nodes + costs.n_edges * costs.n_labels
            poll_signals(20.0 * (costs.n_nodes + costs.n_edges * costs.n_labels))
            idle += 1
            if best.cost < before - ROUNDING * (fabs(before) + fabs(best.cost)):
                idle = 0
                for i in range(self.free.costs.n_nodes):
                    labels[self.freed[i]] = self.new[i]
        answer.cost = labeling_cost(costs, labels)
        return 0
