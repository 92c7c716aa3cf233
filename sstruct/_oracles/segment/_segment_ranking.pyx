# Design:
# (a) Compute the k best segmentations of a sequence, by the lazy algorithm 3 of Huang and Chiang (2005) on
#     an acyclic graph whose paths are the segmentations. For each label and node s there is a leaf,
#     "a segment starts at s", whose inputs are the ends of segments that it may follow; and for each end e,
#     "a segment ends before e", whose inputs are the starts that durations allow. The starts of a range
#     of durations are consecutive leaves; a binary tree over the leaves of a label has O(log L) nodes
#     that cover them, so that an end has few inputs; with scores of whole segments, all starts are its
#     inputs. One final node follows the ends of all labels.
# (b) Each node has a linked list of the best ways to reach it, in order. Way n is the best one of node n.
#     The next one is the best on the front of the node, which has for each input the first way that the
#     node does not extend yet. It requires at most one more way of one input, so that each further
#     segmentation costs a pass down and up a path.
# (c) Values of ways contain differences of sums over nodes. The scores of the results are added up along
#     them, and sorted again, since rounding might have exchanged those that are nearly equal.
# (d) A segment has one duration range: all paths are different segmentations, with different codes.
"""The k best segmentations of a sequence."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

import numpy as np

from sstruct._kernels._interruption cimport poll_signals


cdef class SegmentRanking(SegmentRanges):
    """Ranks the segmentations of one sequence at a time; owns the scratch memory."""

    cdef Py_ssize_t rank(self, const SegmentScores* scores, Py_ssize_t k) except -1 nogil:
        """Find the k best allowed segmentations, or all if there are fewer; return their number.

        Use `write` to obtain their codes.
        """
        cdef Py_ssize_t count = 1
        self.load(scores, 1.0)
        self.start()
        if not self.ways[self.n_labels * self.block].value > -INFINITY:
            return 0
        while count < k and self.advance():
            count += 1
        return count

    cdef int write(self, int32_t* code, double* values) except -1 nogil:
        """Write the codes of the ranked segmentations, as rows of length L, and their scores; see (c)."""
        cdef Py_ssize_t way = self.n_labels * self.block, at, node, k, l, end
        while way >= 0:
            at = self.ways[way].before
            end = self.L
            while at >= 0:
                k = self.ways[at].node // self.block
                node = self.ways[at].node - k * self.block
                if self.width <= node < 2 * self.width:     # a segment starts here
                    for l in range(node - self.width, end):
                        code[l] = <int32_t> k
                    if end < self.L and code[end] == k:
                        code[end] += <int32_t> self.n_labels
                    end = node - self.width
                at = self.ways[at].before
            values[0] = self.score(code)
            code += self.L
            values += 1
            way = self.ways[way].next
            poll_signals(5.0 * self.L)
        return 0

    cdef double score(self, const int32_t* code) noexcept nogil:
        """Return the score of a segmentation, given its code."""
        cdef Py_ssize_t l, k, r, before = 0, start = 0
        cdef double value = 0
        for l in range(self.L):
            k = code[l] % self.n_labels
            value += self.theta[l * self.KP + k]
            if code[l] >= self.n_labels:
                value += self.step[k * self.n_labels + k]
            elif l > 0 and self.edge != NULL:
                value += self.edge[before * self.KP + k]
            before = k
            if l + 1 < self.L and code[l + 1] == k:
                continue
            for r in range(self.range_at[k], self.range_at[k + 1]):
                if self.least[r] <= l + 1 - start <= self.most[r]:
                    value += self.duration_score(k, r)
            value += self.term(start, l + 1, k)
            start = l + 1
        return value

    cdef int start(self) except -1 nogil:
        """Find the best way of each node, and of the final one."""
        cdef Py_ssize_t L = self.L, K = self.n_labels, k, l, node, end
        self.width = 1
        while self.width < L:
            self.width *= 2
        # The nodes of a label: those of the tree, 1 to 2 width - 1, and the ends 2 width + 1 ... + L.
        self.block = 2 * self.width + L + 1
        self.n_ways = K * self.block + 1
        self.grow(<void**> &self.lowest, K * (L + 1), sizeof(int32_t))
        self.grow(<void**> &self.ways, self.n_ways, sizeof(Way))
        self.grow(<void**> &self.last, self.n_ways, sizeof(Py_ssize_t))
        self.grow(<void**> &self.front, self.n_ways, sizeof(Py_ssize_t))
        self.grow(<void**> &self.front_size, self.n_ways, sizeof(Py_ssize_t))
        self.grow(<void**> &self.path, self.n_ways, sizeof(Py_ssize_t))
        self.way_room = max(self.way_room, self.n_ways)
        self.front_stop = 0
        for node in range(self.n_ways):
            self.ways[node].value, self.ways[node].before = -INFINITY, -1
            self.ways[node].node, self.ways[node].next = node, -1
            self.last[node], self.front[node] = node, -1
        for k in range(K):
            self.lowest[k * (L + 1)] = 0
        for l in range(L):
            for k in range(K):
                self.find_best(k * self.block + self.width + l)
                # Inner nodes of the tree whose last leaf is l.
                node = self.width + l
                while node % 2 == 1 and node > 1:
                    node //= 2
                    self.find_best(k * self.block + node)
                end = k * (L + 1) + l + 1
                self.lowest[end] = self.lowest[end - 1]
                if self.is_forbidden(l, k):
                    self.lowest[end] = <int32_t> l + 1
                elif self.must_start(l, k):
                    self.lowest[end] = <int32_t> l
            for k in range(K):
                self.find_best(k * self.block + 2 * self.width + l + 1)
        self.find_best(K * self.block)
        return 0

    cdef int find_best(self, Py_ssize_t node) except -1 nogil:
        """Set the best way of a node, whose inputs have theirs, without keeping a front."""
        cdef Py_ssize_t j, stop = self.front_stop, best = -1
        cdef double highest = -INFINITY
        cdef Py_ssize_t k = node // self.block
        if node == k * self.block + self.width and k < self.n_labels:   # the first segment
            self.ways[node].value = -self.total[k * (self.L + 1)] - self.stay[k]
            return 0
        self.add_inputs(node)
        for j in range(stop, self.front_stop):
            if self.front_value[j] > highest:
                highest, best = self.front_value[j], self.front_way[j]
        self.ways[node].value, self.ways[node].before = highest, best
        poll_signals(10.0 + 5.0 * (self.front_stop - stop))
        self.front_stop = stop
        return 0

    cdef bint advance(self) except -1 nogil:
        """Find the next best segmentation; return whether there is one."""
        cdef Py_ssize_t node = self.n_labels * self.block, end = self.last[node], depth = 0, before
        # Descend to the first node whose last way extends one with a known successor.
        while True:
            before = self.ways[self.last[node]].before
            if before < 0:        # the first segment starts in one way only
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
        return self.ways[end].next >= 0

    cdef int find_next(self, Py_ssize_t node) except -1 nogil:
        """Find one more way of a node, if there is one."""
        cdef Py_ssize_t last = self.last[node], at = self.open_front(node), size = self.front_size[node]
        cdef Py_ssize_t j, best = 0, successor = self.ways[self.ways[last].before].next
        cdef Way* way
        # The successor replaces the last extended way on the front.
        for j in range(size):
            if self.front_way[at + j] == self.ways[last].before:
                self.front_value[at + j] = -INFINITY
                if successor >= 0:
                    self.front_way[at + j] = successor
                    self.front_value[at + j] = (
                        self.ways[successor].value + self.front_offset[at + j])
                break
        for j in range(size):
            if self.front_value[at + j] > self.front_value[at + best]:
                best = j
        poll_signals(2.0 * size)
        if not self.front_value[at + best] > -INFINITY:
            return 0
        if self.n_ways >= self.way_room:
            self.grow(<void**> &self.ways, 2 * self.n_ways, sizeof(Way))
            self.way_room = 2 * self.n_ways
        way = &self.ways[self.n_ways]
        way.value, way.before = self.front_value[at + best], self.front_way[at + best]
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

    cdef int add_inputs(self, Py_ssize_t node) except -1 nogil:
        """Append the inputs of a node, with their best ways, to the last front."""
        cdef Py_ssize_t j, k = node // self.block, K = self.n_labels, L = self.L, at = k * (L + 1), r, s
        cdef Py_ssize_t own = node - k * self.block
        cdef int64_t first, last
        cdef double offset
        if k == K:
            for j in range(K):
                self.add_input(j * self.block + 2 * self.width + L, 0)
        elif own < self.width:
            self.add_input(node + own, 0)
            self.add_input(node + own + 1, 0)
        elif own < 2 * self.width:
            s = own - self.width
            for j in range(K):
                if j != k or self.may_split(s):
                    self.add_input(
                        j * self.block + 2 * self.width + s,
                        self.step[k * K + j] - self.total[at + s] - self.stay[k])
        else:
            s = own - 2 * self.width
            for r in range(self.range_at[k], self.range_at[k + 1]):
                if self.least[r] > s:
                    break
                first = max(<int64_t> self.lowest[at + s], s - self.most[r])
                last = s - self.least[r]
                offset = self.total[at + s] + self.duration_score(k, r)
                if self.terms == NULL:
                    self.add_range(k, first, last, offset)
                else:
                    self.add_starts(k, first, s, last, offset)
        return 0

    cdef int add_starts(
            self, Py_ssize_t k, int64_t first, int64_t end, int64_t last,
            double offset) except -1 nogil:
        """Append the leaves first ... last, each with the score of its segment before node `end`."""
        cdef int64_t s
        for s in range(first, last + 1):
            self.add_input(k * self.block + self.width + s, offset + self.term(s, end, k))
        return 0

    cdef int add_range(
            self, Py_ssize_t k, int64_t first, int64_t last, double offset) except -1 nogil:
        """Append the nodes of a label's tree that cover the leaves first ... last, if there are any."""
        cdef int64_t low = first + self.width, high = last + self.width + 1
        while low < high:
            if low % 2 == 1:
                self.add_input(k * self.block + low, offset)
                low += 1
            if high % 2 == 1:
                high -= 1
                self.add_input(k * self.block + high, offset)
            low //= 2
            high //= 2
        return 0

    cdef int add_input(self, Py_ssize_t node, double offset) except -1 nogil:
        """Append an input with its best way to the last front."""
        cdef Py_ssize_t at = self.front_stop
        if at >= self.front_room:
            self.front_room = 2 * at + 64
            self.grow(<void**> &self.front_value, self.front_room, sizeof(double))
            self.grow(<void**> &self.front_offset, self.front_room, sizeof(double))
            self.grow(<void**> &self.front_way, self.front_room, sizeof(Py_ssize_t))
        self.front_value[at] = self.ways[node].value + offset
        self.front_offset[at], self.front_way[at] = offset, node
        self.front_stop += 1
        return 0


def ranked_arrays(SegmentRanking ranking not None, Py_ssize_t m):
    """Return the result of `rank` as arrays, best first: codes (m, L) and scores (m,)."""
    codes, values = np.empty((m, ranking.L), dtype=np.int32), np.empty(m)
    cdef int32_t[:, ::1] rows = codes
    cdef double[::1] scores = values
    if m > 0:
        ranking.write(&rows[0, 0], &scores[0])
    order = np.argsort(-values, kind="stable")
    return codes[order], values[order]
