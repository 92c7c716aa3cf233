# Design:
# (a) Compute the k best paths of an acyclic graph, by the lazy algorithm 3 of Huang and Chiang (2005).
#     Subclasses define the graph by the inputs of each node, find the best way to reach each node
#     themselves, and convert paths to codes.
# (b) Each node has a linked list of the best ways to reach it, in order. Way n is the best one of node n.
#     The next one is the best on the front of the node, which has for each input the first way that the
#     node does not extend yet. It requires at most one more way of one input, so each further path
#     costs a pass down and up a path.
# (c) Ties are resolved by the first input.
"""The k best paths of an acyclic graph."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

import numpy as np

from sstruct._kernels._interruption cimport poll_signals


cdef class PathRanking(Storage):
    """Ranks the paths of one graph at a time; owns the scratch memory."""

    cdef int add_inputs(self, Py_ssize_t node) except -1 nogil:
        """Append the inputs of a node, with their best ways, to the last front."""
        with gil:
            raise NotImplementedError(f"{type(self).__name__}.add_inputs")

    cdef double own_score(self, Py_ssize_t node) noexcept nogil:
        """Return the score that a node adds to each way to reach it, after the offset of the input."""
        return 0

    cdef double write_code(self, Py_ssize_t way, int32_t* code) except? -1 nogil:
        """Write the code of a path, L entries, given its way to the final node; return its score."""
        with gil:
            raise NotImplementedError(f"{type(self).__name__}.write_code")

    cdef int begin(self, Py_ssize_t n_nodes, Py_ssize_t longest) except -1 nogil:
        """Start with a new graph, whose final node is the last one.

        longest : largest number of nodes of a path
        """
        cdef Py_ssize_t node
        self.end, self.n_ways, self.front_stop = n_nodes - 1, n_nodes, 0
        self.grow(<void**> &self.ways, n_nodes, sizeof(Way))
        self.grow(<void**> &self.last, n_nodes, sizeof(Py_ssize_t))
        self.grow(<void**> &self.front, n_nodes, sizeof(Py_ssize_t))
        self.grow(<void**> &self.front_size, n_nodes, sizeof(Py_ssize_t))
        self.grow(<void**> &self.path, longest, sizeof(Py_ssize_t))
        self.way_room = max(self.way_room, n_nodes)
        for node in range(n_nodes):
            self.ways[node].value, self.ways[node].before = -INFINITY, -1
            self.ways[node].node, self.ways[node].next = node, -1
            self.last[node], self.front[node] = node, -1
            poll_signals(4)
        return 0

    cdef Py_ssize_t find(self, Py_ssize_t k) except -1 nogil:
        """Find the k best paths, or all if there are fewer, and return their number."""
        cdef Py_ssize_t count = 1
        if not self.ways[self.end].value > -INFINITY:
            return 0
        while count < k and self.advance():
            count += 1
        return count

    cdef bint advance(self) except -1 nogil:
        """Find the next best path; return whether there is one."""
        cdef Py_ssize_t node = self.end, last = self.last[node], depth = 0, before
        # Descend to the first node whose last way extends one with a known successor.
        while True:
            before = self.ways[self.last[node]].before
            if before < 0:        # the first node is reached in one way only
                break
            self.path[depth] = node
            depth += 1
            if self.ways[before].next >= 0:
                break
            node = self.ways[before].node
        while depth > 0:
            depth -= 1
            self.find_next(self.path[depth])
            poll_signals(20)
        return self.ways[last].next >= 0

    cdef int find_next(self, Py_ssize_t node) except -1 nogil:
        """Find one more way of a node, if there is one."""
        cdef Py_ssize_t last = self.last[node], at = self.open_front(node), size = self.front_size[node]
        cdef Py_ssize_t j, best = 0, successor = self.ways[self.ways[last].before].next
        cdef double* value = self.front_value + at
        cdef Way* way
        # The successor replaces the last extended way on the front.
        for j in range(size):
            if self.front_way[at + j] == self.ways[last].before:
                value[j] = -INFINITY
                if successor >= 0:
                    self.front_way[at + j] = successor
                    value[j] = self.ways[successor].value + self.front_offset[at + j]
                break
        for j in range(size):
            if value[j] > value[best]:
                best = j
        poll_signals(2.0 * size)
        if not value[best] > -INFINITY:
            return 0
        if self.n_ways >= self.way_room:
            self.grow(<void**> &self.ways, 2 * self.n_ways, sizeof(Way))
            self.way_room = 2 * self.n_ways
        way = &self.ways[self.n_ways]
        way.value, way.before = value[best] + self.own_score(node), self.front_way[at + best]
        way.node, way.next = node, -1
        self.ways[last].next = self.last[node] = self.n_ways
        self.n_ways += 1
        return 0

    cdef Py_ssize_t open_front(self, Py_ssize_t node) except -1 nogil:
        """Return the position of the front of a node; at first with the best way of each input."""
        if self.front[node] < 0:
            self.front[node] = self.front_stop
            self.add_inputs(node)
            self.front_size[node] = self.front_stop - self.front[node]
        return self.front[node]

    cdef int reserve_front(self, Py_ssize_t count) except -1 nogil:
        """Make room for `count` more inputs."""
        if self.front_stop + count > self.front_room:
            self.front_room = 2 * (self.front_stop + count) + 64
            self.grow(<void**> &self.front_value, self.front_room, sizeof(double))
            self.grow(<void**> &self.front_offset, self.front_room, sizeof(double))
            self.grow(<void**> &self.front_way, self.front_room, sizeof(Py_ssize_t))
        return 0


def ranked_arrays(PathRanking ranking not None, Py_ssize_t m):
    """Return the m paths that were found as arrays, best first: codes (m, L) and scores (m,)."""
    codes, values = np.empty((m, ranking.L), dtype=np.int32), np.empty(m)
    cdef int32_t[:, ::1] rows = codes
    cdef double[::1] scores = values
    cdef Py_ssize_t r, way = ranking.end
    cdef bint is_ordered = True
    with nogil:
        for r in range(m):
            scores[r] = ranking.write_code(way, &rows[r, 0])
            is_ordered = is_ordered and (r == 0 or scores[r] <= scores[r - 1])
            way = ranking.ways[way].next
    if is_ordered:
        return codes, values
    # The sums along paths may have another order than the values of ways, by rounding.
    order = np.argsort(-values, kind="stable")
    return codes[order], values[order]
