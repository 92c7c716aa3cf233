# Design:
# (a) Eisner (1996): spans of tokens whose head is their first or their last one. A span with an arc
#     between its ends is two complete spans that meet; a complete span is a span with an arc and a
#     complete span that starts or ends in its dependent. O(n^3) time, O(n^2) memory.
# (b) With a single root, spans have only tokens. The root's child r is the token with the best sum of its
#     arc and the complete spans of the tokens up to r and from r on. Otherwise the root is
#     a token before the first one, whose span is the sentence.
# (c) -inf forbids arcs. It needs no special treatment, since there are only sums and maxima.
"""The best projective dependency tree of a sentence."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.dependency._spanning_tree cimport DependencyDecoder, tree_score


cdef class ProjectiveTreeDecoder(DependencyDecoder):
    """Finds the best projective tree."""

    # Scratch memory of this object. Tables (n + 1) x (n + 1) of scores of spans, from the row's token, the
    # head of the span, to the column's:
    cdef double* left                # complete spans to the left of the head
    cdef double* right               # and to the right
    cdef double* left_arc            # spans with an arc between their ends
    cdef double* right_arc
    # Where spans from the row's to the column's token are divided:
    cdef int32_t* left_split
    cdef int32_t* right_split
    cdef int32_t* arc_split          # of both kinds of spans with an arc
    cdef int32_t* stack

    cdef int fill(self, Py_ssize_t n, Py_ssize_t first, const double* scores) except -1 nogil:
        """Compute the best spans of tokens `first` to n, where token 0 is the root."""
        cdef Py_ssize_t N = n + 1, size = N * N, width, i, j, m, best
        cdef double value, highest
        self.grow(<void**> &self.left, size, sizeof(double))
        self.grow(<void**> &self.right, size, sizeof(double))
        self.grow(<void**> &self.left_arc, size, sizeof(double))
        self.grow(<void**> &self.right_arc, size, sizeof(double))
        self.grow(<void**> &self.left_split, size, sizeof(int32_t))
        self.grow(<void**> &self.right_split, size, sizeof(int32_t))
        self.grow(<void**> &self.arc_split, size, sizeof(int32_t))
        self.grow(<void**> &self.stack, 9 * N, sizeof(int32_t))
        # The row of an entry is the head of its span.
        for i in range(first, N):
            self.left[i * N + i] = self.right[i * N + i] = 0
        for width in range(1, N - first):
            for i in range(first, N - width):
                j = i + width
                highest, best = -INFINITY, i
                for m in range(i, j):
                    value = self.right[i * N + m] + self.left[j * N + m + 1]
                    if value > highest:
                        highest, best = value, m
                self.arc_split[i * N + j] = <int32_t> best
                self.right_arc[i * N + j] = highest + scores[(j - 1) * N + i]
                self.left_arc[j * N + i] = (
                    highest + scores[(i - 1) * N + j] if i > 0 else -INFINITY)
                highest, best = -INFINITY, j
                for m in range(i + 1, j + 1):
                    value = self.right_arc[i * N + m] + self.right[m * N + j]
                    if value > highest:
                        highest, best = value, m
                self.right[i * N + j], self.right_split[i * N + j] = highest, <int32_t> best
                highest, best = -INFINITY, i
                for m in range(i, j):
                    value = self.left[m * N + i] + self.left_arc[j * N + m]
                    if value > highest:
                        highest, best = value, m
                self.left[j * N + i], self.left_split[i * N + j] = highest, <int32_t> best
            poll_signals(4.0 * width * (N - width))
        return 0

    cdef int write(
            self, Py_ssize_t n, Py_ssize_t begin, Py_ssize_t end, bint to_right,
            int32_t* heads) except -1 nogil:
        """Write the heads in a complete span, whose head is its first token if `to_right`."""
        cdef Py_ssize_t N = n + 1, i, j, m, size = 0
        cdef int32_t* top = self.stack
        top[0], top[1], top[2] = <int32_t> begin, <int32_t> end, to_right
        size = 1
        while size > 0:
            size -= 1
            top = self.stack + 3 * size
            i, j, to_right = top[0], top[1], top[2]
            if i == j:
                continue
            # The arc of the span, and the complete span beyond its dependent.
            if to_right:
                m = self.right_split[i * N + j]
                heads[m - 1] = <int32_t> i
                top[0], top[1], top[2] = <int32_t> m, <int32_t> j, True
                j = m
            else:
                m = self.left_split[i * N + j]
                heads[m - 1] = <int32_t> j
                top[0], top[1], top[2] = <int32_t> i, <int32_t> m, False
                i = m
            m = self.arc_split[i * N + j]
            top[3], top[4], top[5] = <int32_t> i, <int32_t> m, True
            top[6], top[7], top[8] = <int32_t> (m + 1), <int32_t> j, False
            size += 3
        return 0

    cdef double decode(
            self, Py_ssize_t n, const double* scores, bint single_root,
            int32_t* heads) except? -1 nogil:
        cdef Py_ssize_t N = n + 1, r, best = 0
        cdef double value, highest = -INFINITY
        self.fill(n, 1 if single_root else 0, scores)
        if not single_root:
            highest = self.right[n]
        for r in range(1, N if single_root else 1):
            value = scores[(r - 1) * N] + self.left[r * N + 1] + self.right[r * N + n]
            if value > highest:
                highest, best = value, r
        if highest == -INFINITY:
            return -INFINITY
        if single_root:
            heads[best - 1] = 0
            self.write(n, 1, best, False, heads)
            self.write(n, best, n, True, heads)
        else:
            self.write(n, 0, n, True, heads)
        return tree_score(n, scores, heads)
