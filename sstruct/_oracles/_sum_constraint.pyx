# Design:
# (a) The least sum of costs of labels 0..k of n places whose sum is given (paper 003, section 3.2):
#     halves of halves down to single places, phi of a part by the sums that its places can have,
#     phi(l) = min phi_left(a) + phi_right(l - a); then sums are divided from the root down. The root
#     itself needs no array, and no argmins are kept: a division looks again.
# (b) A part of s places can only have sums from max(0, total - k (n - s)) to min(total, k s), or the
#     others could not make up the total.
# (c) Convolutions are plain (_min_plus_convolution.h), or, where both arrays are long, by pairs in
#     increasing order of their sum (Bussieck et al. 1994): the first that comes to an output is its
#     minimum. Pairs come from a heap over the sorted arrays. Where too many have come, plain.
"""Sums of labels that are given."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc, qsort

import numpy as np

cdef extern from "_min_plus_convolution.h":
    void sstruct_min_plus_convolution(
        const double* first, int64_t n, const double* second, int64_t m, int64_t low, int64_t high,
        double* out) noexcept nogil

# Length of the shorter array from which pairs are sorted.
cdef enum:
    LONG = 1000


cdef int _compare(const void* a, const void* b) noexcept nogil:
    cdef double x = (<const Ranked*> a).value, y = (<const Ranked*> b).value
    return (x > y) - (x < y)


cdef void _sift_down(Pair* heap, Py_ssize_t size) noexcept nogil:
    """Let the root sink to its place; the least is above."""
    cdef Pair moving = heap[0]
    cdef Py_ssize_t at = 0, child = 1
    while child < size:
        if child + 1 < size and heap[child + 1].value < heap[child].value:
            child += 1
        if moving.value <= heap[child].value:
            break
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = moving


cdef void _sift_up(Pair* heap, Py_ssize_t at) noexcept nogil:
    cdef Pair moving = heap[at]
    while at > 0 and moving.value < heap[(at - 1) // 2].value:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = moving


cdef class SumConstraint:
    """Scratch for minimisations of at most so many places and labels.

    Parameters
    ----------
    most_places, most_labels : int
        At least 1.
    convolution : {"auto", "plain", "sorted"}, default="auto"
        The last two for tests and measurements.

    Notes
    -----
    With n places and k = most_labels - 1: memory O(n k log n), time O(n^2 k^2) with plain convolutions.
    """

    def __cinit__(self, Py_ssize_t most_places, Py_ssize_t most_labels, convolution="auto"):
        cdef Py_ssize_t depth = 2
        if most_places < 1 or most_labels < 1:
            raise ValueError(f"{most_places} places of {most_labels} labels, expected 1 or more")
        self.most_places, self.most_labels = most_places, most_labels
        self.always_plain, self.never_plain = convolution == "plain", convolution == "sorted"
        while 1 << (depth - 2) < most_places:
            depth += 1
        self.sums_size = depth * (most_places * most_labels + most_places)
        self.sums = <double*> malloc(self.sums_size * sizeof(double))
        self.phi = <const double**> malloc((1 << depth) * sizeof(double*))
        # Both arrays of a convolution are of parts of the same places.
        self.ranked = <Ranked*> malloc((most_places * most_labels + 2) * sizeof(Ranked))
        self.heap = <Pair*> malloc((most_places * most_labels + 2) * sizeof(Pair))
        if self.sums == NULL or self.phi == NULL or self.ranked == NULL or self.heap == NULL:
            raise MemoryError("no memory left for sums of labels")

    def __dealloc__(self):
        free(self.sums)
        free(self.phi)
        free(self.ranked)
        free(self.heap)

    cdef Py_ssize_t lowest(self, Py_ssize_t size) noexcept nogil:
        return max(0, self.total - (self.K - 1) * (self.n - size))

    cdef Py_ssize_t highest(self, Py_ssize_t size) noexcept nogil:
        return min(self.total, (self.K - 1) * size)

    cdef void convolve(
            self, const double* first, Py_ssize_t n, const double* second, Py_ssize_t m,
            Py_ssize_t low, Py_ssize_t high, double* out) noexcept nogil:
        """out[l - low] = min over a + b = l of first[a] + second[b], low <= l <= high."""
        cdef bint is_long = not self.always_plain and (self.never_plain or min(n, m) >= LONG)
        if not is_long or not self.sorted_pairs(first, n, second, m, low, high, out):
            sstruct_min_plus_convolution(first, n, second, m, low, high, out)

    cdef bint sorted_pairs(
            self, const double* first, Py_ssize_t n, const double* second, Py_ssize_t m,
            Py_ssize_t low, Py_ssize_t high, double* out) noexcept nogil:
        """The same by pairs in increasing order; return whether they were few enough."""
        cdef Ranked* a = self.ranked
        cdef Ranked* b = self.ranked + n
        cdef Pair* heap = self.heap
        cdef Pair pair
        cdef Py_ssize_t i, at, size = 1, missing = high - low + 1, left = n * m // 32
        if self.never_plain:
            left = n * m
        for i in range(n):
            a[i].value, a[i].at = first[i], i
        for i in range(m):
            b[i].value, b[i].at = second[i], i
        qsort(a, n, sizeof(Ranked), _compare)
        qsort(b, m, sizeof(Ranked), _compare)
        for i in range(high - low + 1):
            out[i] = INFINITY
        heap[0].value, heap[0].first, heap[0].second = a[0].value + b[0].value, 0, 0
        while missing > 0:
            pair = heap[0]
            if left == 0 or not pair.value < INFINITY:
                # What has not come by now is forbidden, if the pairs were not too many.
                return left > 0
            left -= 1
            at = a[pair.first].at + b[pair.second].at - low
            if 0 <= at <= high - low and out[at] == INFINITY:
                out[at] = pair.value
                missing -= 1
            # Of each place of `a` one pair waits; the next place comes in with its first pair.
            if pair.second + 1 < m:
                heap[0].second += 1
                heap[0].value = a[pair.first].value + b[pair.second + 1].value
            else:
                size -= 1
                heap[0] = heap[size]
            if size > 0:
                _sift_down(heap, size)
            if pair.second == 0 and pair.first + 1 < n:
                heap[size].first, heap[size].second = pair.first + 1, 0
                heap[size].value = a[pair.first + 1].value + b[0].value
                _sift_up(heap, size)
                size += 1
            if size == 0:
                return True
        return True

    cdef void fill(self, Py_ssize_t node, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
        """phi of a part, from its lowest sum on."""
        cdef Py_ssize_t middle = (begin + end) // 2, size = end - begin
        cdef Py_ssize_t low = self.lowest(size), high = self.highest(size)
        cdef Py_ssize_t left, right
        cdef double* out
        if size == 1:
            self.phi[node] = self.costs + begin * self.K + low
            return
        self.fill(2 * node, begin, middle)
        self.fill(2 * node + 1, middle, end)
        if node == 1:
            return
        left, right = self.lowest(middle - begin), self.lowest(end - middle)
        out = self.sums + self.used
        self.used += high - low + 1
        self.phi[node] = out
        self.convolve(
            self.phi[2 * node], self.highest(middle - begin) - left + 1,
            self.phi[2 * node + 1], self.highest(end - middle) - right + 1,
            low - left - right, high - left - right, out)

    cdef void divide(
            self, Py_ssize_t node, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t total) noexcept nogil:
        """Labels of a part from its sum."""
        cdef Py_ssize_t middle = (begin + end) // 2, a, best, left, right
        cdef const double* first
        cdef const double* second
        if end - begin == 1:
            self.labels[begin] = <int32_t> total
            return
        left, right = self.lowest(middle - begin), self.lowest(end - middle)
        first, second = self.phi[2 * node] - left, self.phi[2 * node + 1] - right
        a = max(left, total - self.highest(end - middle))
        best = a
        for a in range(a + 1, min(self.highest(middle - begin), total - right) + 1):
            if first[a] + second[total - a] < first[best] + second[total - best]:
                best = a
        self.divide(2 * node, begin, middle, best)
        self.divide(2 * node + 1, middle, end, total - best)

    cdef void minimize(
            self, const double* costs, Py_ssize_t n, Py_ssize_t K, Py_ssize_t total,
            int32_t* labels) noexcept nogil:
        """Write labels of the least sum of costs, by the given sum of labels.

        costs : (n, K) float64, finite or +inf    IN    labels : (n,)    OUT
        total : 0 to n (K - 1)
        Ties: the lowest sum of the first half. Where all are forbidden, any labels of that sum.
        """
        self.costs, self.n, self.K, self.total, self.labels = costs, n, K, total, labels
        self.used = 0
        self.fill(1, 0, n)
        self.divide(1, 0, n, total)

    def py_minimize(self, const double[:, ::1] costs, Py_ssize_t total):
        """Return the labels (n,) int32; for tests and measurements."""
        cdef Py_ssize_t n = costs.shape[0], K = costs.shape[1]
        if not (1 <= n <= self.most_places and 1 <= K <= self.most_labels):
            raise ValueError(f"{n} places of {K} labels, more than there is scratch for")
        if not 0 <= total <= n * (K - 1):
            raise ValueError(f"total {total}, expected 0 to {n * (K - 1)}")
        found = np.empty(n, dtype=np.int32)
        cdef int32_t[::1] labels = found
        with nogil:
            self.minimize(&costs[0, 0], n, K, total, &labels[0])
        return found
