# Design:
# (a) Minimize the sum of costs of labels 0..k of n positions subject to a given sum of labels ([SK19],
#     section 3.2). The positions are recursively divided into halves. For each part, phi(l) is the least
#     cost of labels with sum l: phi(l) = min_a phi_left(a) + phi_right(l - a). Then the given sum is
#     divided from the root down. The root requires no array, and no argmins are stored, since they are
#     recomputed where they are needed.
# (b) A part of s positions can only have sums from max(0, total - k (n - s)) to min(total, k s);
#     otherwise the remaining positions could not complete the total.
# (c) Convolutions are computed directly. Taking pairs in increasing order of their cost from a heap
#     until each output is set (Bussieck et al. 1994) takes 5 to 900 times as long on rays of 32 to 256
#     positions and 3 to 128 labels, because the outputs with few pairs are often set late.
# [SK19] P. Swoboda, V. Kolmogorov. MAP inference via block-coordinate Frank-Wolfe algorithm. CVPR 2019.
"""Minimization over labels with a given sum."""

from libc.stdint cimport int32_t, int64_t

from sstruct._kernels._interruption cimport poll_signals

cdef extern from "sstruct/_oracles/mrf/min_plus_convolution.h":
    void sstruct_min_plus_convolution(
        const double* first, int64_t n, const double* second, int64_t m, int64_t low, int64_t high,
        double* out) noexcept nogil


cdef class SumConstraint:
    """Scratch memory for minimizations with a limited number of positions and labels.

    Parameters
    ----------
    max_places, max_labels : int
        At least 1.

    Notes
    -----
    With n positions and k = max_labels - 1: memory O(n k log n), time O(n^2 k^2).
    """

    def __cinit__(self, Py_ssize_t max_places, Py_ssize_t max_labels):
        cdef Py_ssize_t depth = 2
        if max_places < 1 or max_labels < 1:
            raise ValueError(
                "max_places and max_labels must be at least 1, found "
                f"{max_places} and {max_labels}")
        self.max_places, self.max_labels = max_places, max_labels
        while 1 << (depth - 2) < max_places:
            depth += 1
        self.grow(<void**> &self.sums, depth * max_places * (max_labels + 1), sizeof(double))
        self.grow(<void**> &self.phi, 1 << depth, sizeof(double*))

    cdef Py_ssize_t lowest(self, Py_ssize_t size) noexcept nogil:
        return max(0, self.total - (self.K - 1) * (self.n - size))

    cdef Py_ssize_t highest(self, Py_ssize_t size) noexcept nogil:
        return min(self.total, (self.K - 1) * size)

    cdef int fill(self, Py_ssize_t node, Py_ssize_t begin, Py_ssize_t end) except -1 nogil:
        """Compute phi of a part, starting at its lowest sum."""
        cdef Py_ssize_t middle = (begin + end) // 2, size = end - begin
        cdef Py_ssize_t low = self.lowest(size), high = self.highest(size)
        cdef Py_ssize_t left, right
        cdef double* out
        if size == 1:
            self.phi[node] = self.costs + begin * self.K + low
            return 0
        self.fill(2 * node, begin, middle)
        self.fill(2 * node + 1, middle, end)
        if node == 1:
            return 0
        left, right = self.lowest(middle - begin), self.lowest(end - middle)
        out = self.sums + self.used
        self.used += high - low + 1
        self.phi[node] = out
        sstruct_min_plus_convolution(
            self.phi[2 * node], self.highest(middle - begin) - left + 1,
            self.phi[2 * node + 1], self.highest(end - middle) - right + 1,
            low - left - right, high - left - right, out)
        return poll_signals(
            0.2 * (self.highest(middle - begin) - left) * (self.highest(end - middle) - right))

    cdef int divide(
            self, Py_ssize_t node, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t total) except -1 nogil:
        """Compute the labels of a part from its sum."""
        cdef Py_ssize_t middle = (begin + end) // 2, a, best, left, right
        cdef const double* first
        cdef const double* second
        if end - begin == 1:
            self.labels[begin] = <int32_t> total
            return 0
        left, right = self.lowest(middle - begin), self.lowest(end - middle)
        first, second = self.phi[2 * node] - left, self.phi[2 * node + 1] - right
        a = max(left, total - self.highest(end - middle))
        best = a
        for a in range(a + 1, min(self.highest(middle - begin), total - right) + 1):
            if first[a] + second[total - a] < first[best] + second[total - best]:
                best = a
        self.divide(2 * node, begin, middle, best)
        return self.divide(2 * node + 1, middle, end, total - best)

    cdef int minimize(
            self, const double* costs, Py_ssize_t n, Py_ssize_t K, Py_ssize_t total,
            int32_t* labels) except -1 nogil:
        """Write the labels that minimize the sum of costs subject to their given sum.

        costs : (n, K) float64, finite or +inf    IN    labels : (n,)    OUT
        total : 0 to n (K - 1)
        Ties are broken in favor of the lowest sum of the first half. If all labelings are forbidden, the
        result is any labeling with the given sum.
        """
        self.costs, self.n, self.K, self.total, self.labels = costs, n, K, total, labels
        self.used = 0
        self.fill(1, 0, n)
        return self.divide(1, 0, n, total)
