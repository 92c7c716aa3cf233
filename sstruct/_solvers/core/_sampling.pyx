# Design:
# (a) A complete binary tree of partial sums: node k is the sum of nodes 2k and 2k + 1, the root is 1.
#     Every inner node always equals the sum of its children, so the tree is a function of its
#     leaves (a resumed fit draws the same blocks) and rounding errors do not accumulate.
# (b) Leaves of weight zero are never drawn, despite rounding errors on the way down.
"""Draw blocks in proportion to their weighted gaps."""

from sstruct._kernels._random cimport Random, random_next

import numpy as np


cdef class SumTree:
    """Nonnegative weights; an index is drawn in proportion to them in O(log n).

    Parameters
    ----------
    n_leaves : int
        Number of weights, initially zero.
    """

    def __init__(self, Py_ssize_t n_leaves):
        if n_leaves < 1:
            raise ValueError(f"n_leaves must be at least 1, found {n_leaves}")
        self.n_leaves, self.width = n_leaves, 1
        while self.width < n_leaves:
            self.width *= 2
        self.node = np.zeros(2 * self.width)

    cdef void put(self, Py_ssize_t i, double value) noexcept nogil:
        cdef Py_ssize_t k = self.width + i
        self.node[k] = value
        k //= 2
        while k > 0:
            self.node[k] = self.node[2 * k] + self.node[2 * k + 1]
            k //= 2

    cdef double get(self, Py_ssize_t i) noexcept nogil:
        return self.node[self.width + i]

    cdef double total(self) noexcept nogil:
        return self.node[1]

    cdef Py_ssize_t draw(self, Random* random) noexcept nogil:
        """Return an index with probability proportional to its weight; the total must be positive."""
        cdef double mark = (random_next(random) >> 11) * (1.0 / 9007199254740992.0) * self.node[1]
        cdef Py_ssize_t k = 1
        while k < self.width:
            k *= 2
            if mark >= self.node[k] and self.node[k + 1] > 0 or not self.node[k] > 0:
                mark -= self.node[k]
                k += 1
        return k - self.width
