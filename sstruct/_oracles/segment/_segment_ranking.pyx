# Design:
# (a) The k best segmentations of a sequence are the best paths of a graph (_path_ranking.pyx). For each
#     label and node s of the sequence, the graph has a leaf,
#     "a segment starts at s", whose inputs are the ends of segments that it may follow; and for each end e,
#     "a segment ends before e", whose inputs are the starts that durations allow. The starts of a range
#     of durations are consecutive leaves; a binary tree over the leaves of a label has O(log L) nodes
#     that cover them, so an end has few inputs; with scores of whole segments, all starts are its
#     inputs. One final node follows the ends of all labels.
# (b) Values of ways contain differences of sums over nodes. The scores of the results are added up along
#     them, and sorted again, since rounding might have exchanged those that are nearly equal.
# (c) A segment has one duration range: all paths are different segmentations, with different codes.
"""The k best segmentations of a sequence."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.core._path_ranking cimport PathRanking, add_input
from sstruct._oracles.segment._segment_ranges cimport SegmentRanges

# At least the number of nodes of a tree that cover a range of leaves: two of each depth.
cdef enum: MAX_COVERING = 128


cdef class SegmentRanking(PathRanking):
    """Ranks the segmentations of one sequence at a time; owns the scratch memory.

    Parameters
    ----------
    bins, least, most : as in SegmentRanges
    """

    def __init__(self, bins, least, most):
        self.ranges = SegmentRanges(bins, least, most)

    cdef Py_ssize_t rank(self, const SegmentScores* scores, Py_ssize_t k) except -1 nogil:
        """Find the k best allowed segmentations, or all if there are fewer; return their number.

        Use `ranked_arrays` to obtain their codes.
        """
        self.ranges.load(scores, 1.0)
        self.L = scores.L
        self.start()
        return self.find(k)

    cdef double write_code(self, Py_ssize_t way, int32_t* code) except? -1 nogil:
        """Write the code; return its score, added up along it, see (b)."""
        cdef Py_ssize_t at = self.ways[way].before, node, k, l, stop = self.L
        while at >= 0:
            k = self.ways[at].node // self.block
            node = self.ways[at].node - k * self.block
            if self.width <= node < 2 * self.width:     # a segment starts here
                for l in range(node - self.width, stop):
                    code[l] = <int32_t> k
                if stop < self.L and code[stop] == k:
                    code[stop] += <int32_t> self.ranges.n_labels
                stop = node - self.width
            at = self.ways[at].before
        poll_signals(5.0 * self.L)
        return self.score(code)

    cdef double score(self, const int32_t* code) noexcept nogil:
        """Return the score of a segmentation, given its code."""
        cdef Py_ssize_t l, k, r, before = 0, start = 0
        cdef double value = 0
        for l in range(self.L):
            k = code[l] % self.ranges.n_labels
            value += self.ranges.theta[l * self.ranges.KP + k]
            if code[l] >= self.ranges.n_labels:
                value += self.ranges.step[k * self.ranges.n_labels + k]
            elif l > 0 and self.ranges.edge != NULL:
                value += self.ranges.edge[before * self.ranges.KP + k]
            before = k
            if l + 1 < self.L and code[l + 1] == k:
                continue
            for r in range(self.ranges.range_at[k], self.ranges.range_at[k + 1]):
                if self.ranges.least[r] <= l + 1 - start <= self.ranges.most[r]:
                    value += self.ranges.duration_score(k, r)
            value += self.ranges.term(start, l + 1, k)
            start = l + 1
        return value

    cdef int start(self) except -1 nogil:
        """Find the best way of each node, and of the final one."""
        cdef Py_ssize_t L = self.L, K = self.ranges.n_labels, k, l, node, end
        self.width = 1
        while self.width < L:
            self.width *= 2
        # The nodes of a label: those of the tree, 1 to 2 width - 1, and the ends 2 width + 1 ... + L.
        self.block = 2 * self.width + L + 1
        self.grow(<void**> &self.lowest, K * (L + 1), sizeof(int32_t))
        self.begin(K * self.block + 1, K * self.block + 1)
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
                if self.ranges.is_forbidden(l, k):
                    self.lowest[end] = <int32_t> l + 1
                elif self.ranges.must_start(l, k):
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
        if node == k * self.block + self.width and k < self.ranges.n_labels:   # the first segment
            self.ways[node].value = -self.ranges.total[k * (self.L + 1)] - self.ranges.stay[k]
            return 0
        self.add_inputs(node)
        for j in range(stop, self.front_stop):
            if self.front_value[j] > highest:
                highest, best = self.front_value[j], self.front_way[j]
        self.ways[node].value, self.ways[node].before = highest, best
        poll_signals(10.0 + 5.0 * (self.front_stop - stop))
        self.front_stop = stop
        return 0

    cdef int add_inputs(self, Py_ssize_t node) except -1 nogil:
        cdef Py_ssize_t j, k = node // self.block, K = self.ranges.n_labels, L = self.L, r, s
        cdef Py_ssize_t own = node - k * self.block, at = k * (L + 1)
        cdef int64_t first, last
        cdef double offset
        self.reserve_front(max(K, 2))
        if k == K:
            for j in range(K):
                add_input(self, j * self.block + 2 * self.width + L, 0)
        elif own < self.width:
            add_input(self, node + own, 0)
            add_input(self, node + own + 1, 0)
        elif own < 2 * self.width:
            s = own - self.width
            for j in range(K):
                if j != k or self.ranges.may_split(s):
                    add_input(
                        self, j * self.block + 2 * self.width + s,
                        self.ranges.step[k * K + j] - self.ranges.total[at + s] - self.ranges.stay[k])
        else:
            s = own - 2 * self.width
            for r in range(self.ranges.range_at[k], self.ranges.range_at[k + 1]):
                if self.ranges.least[r] > s:
                    break
                first = max(<int64_t> self.lowest[at + s], s - self.ranges.most[r])
                last = s - self.ranges.least[r]
                offset = self.ranges.total[at + s] + self.ranges.duration_score(k, r)
                if self.ranges.terms == NULL:
                    self.add_range(k, first, last, offset)
                else:
                    self.add_starts(k, first, s, last, offset)
        return 0

    cdef int add_starts(
            self, Py_ssize_t k, int64_t first, int64_t end, int64_t last,
            double offset) except -1 nogil:
        """Append the leaves first ... last, each with the score of its segment before node `end`."""
        cdef int64_t s
        self.reserve_front(max(last + 1 - first, 0))
        for s in range(first, last + 1):
            add_input(self, k * self.block + self.width + s, offset + self.ranges.term(s, end, k))
        return 0

    cdef int add_range(
            self, Py_ssize_t k, int64_t first, int64_t last, double offset) except -1 nogil:
        """Append the nodes of a label's tree that cover the leaves first ... last, if there are any."""
        cdef int64_t low = first + self.width, high = last + self.width + 1
        self.reserve_front(MAX_COVERING)
        while low < high:
            if low % 2 == 1:
                add_input(self, k * self.block + low, offset)
                low += 1
            if high % 2 == 1:
                high -= 1
                add_input(self, k * self.block + high, offset)
            low //= 2
            high //= 2
        return 0
