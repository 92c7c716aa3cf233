# Design:
# (a) The scores v of all pairs of labels, in order of size: all of them, each row and each column,
#     three heaps over one table. Every bigram factor of a problem shares them.
# (b) The factorwise oracle maximises v[j, k] + left[j] + right[k], where messages are nonzero for few
#     labels. By the signs of the messages (ALGORITHMS 1.4): both positive, pairs of raised labels,
#     by falling message; one positive, a walk down that label's row or column, where no other
#     message adds anything; none, a walk down all pairs. What is found in one case bounds the next.
# (c) Pairs that are active already are passed over: by a list for each row of the factor's own pairs.
"""The factorwise oracle of bigram factors."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc, qsort

from sstruct._solvers._gdmm_entries cimport Entries, append
from sstruct._solvers._gdmm_ordered cimport (
    Heap, HeapWalk, heap_build, heap_key, heap_update, walk_begin, walk_next)

import numpy as np


cdef int by_falling_message(const void* a, const void* b) noexcept nogil:
    cdef const Raised* x = <const Raised*> a
    cdef const Raised* y = <const Raised*> b
    if x.message != y.message:
        return -1 if x.message > y.message else 1
    return -1 if x.label < y.label else 1


cdef class OrderedPairs:
    """Scores of pairs of labels, all zero at first.

    Parameters
    ----------
    n_labels : int
    width : int
        Entries of a row of scores, at least `n_labels`.
    penalty : ndarray of shape (n_labels, width) or None
        -inf for pairs that are never found, 0 for others.
    """

    def __cinit__(self, Py_ssize_t n_labels, Py_ssize_t width, penalty):
        cdef Py_ssize_t K = n_labels, KP = width, k, size, at = 0
        if K * KP >= 2**31 // 3:
            raise ValueError(f"pairs of {K} labels are too many for GDMM's ordered structures")
        allowed = np.zeros((K, KP), dtype=bool)
        allowed[:, :K] = True if penalty is None else penalty[:, :K] == 0
        self.n_labels, self.width = K, KP
        self.score = np.where(allowed, 0.0, -np.inf).reshape(-1)
        pairs = np.flatnonzero(allowed).astype(np.int32)
        first, second = np.nonzero(allowed)
        row_size, column_size = allowed.sum(axis=1), allowed.sum(axis=0)
        size = len(pairs)
        by_column = np.argsort(second, kind="stable")
        self.item = np.concatenate([pairs, second, first[by_column]], dtype=np.int32)
        self.place = np.empty(3 * K * KP, dtype=np.int32)
        del allowed, pairs, first, second, by_column
        self.rows = <Heap*> malloc(K * sizeof(Heap))
        self.columns = <Heap*> malloc(K * sizeof(Heap))
        self.raised_left = <Raised*> malloc(K * sizeof(Raised))
        self.raised_right = <Raised*> malloc(K * sizeof(Raised))
        if not (self.rows and self.columns and self.raised_left and self.raised_right):
            raise MemoryError
        self.all = Heap(&self.score[0], 1, size, &self.item[0], &self.place[0])
        heap_build(&self.all)
        at = size
        for k in range(K):
            self.rows[k] = Heap(
                &self.score[k * KP], 1, row_size[k], &self.item[0] + at,
                &self.place[K * KP + k * KP])
            at += self.rows[k].size
            heap_build(&self.rows[k])
        for k in range(K):
            self.columns[k] = Heap(
                &self.score[k], KP, column_size[k], &self.item[0] + at,
                &self.place[2 * K * KP + k * K])
            at += self.columns[k].size
            heap_build(&self.columns[k])
        self.left, self.right = np.zeros(KP), np.zeros(KP)
        self.head, self.following = np.full(K, -1, dtype=np.int32), np.empty(64, dtype=np.int32)

    def __dealloc__(self):
        free(self.rows)
        free(self.columns)
        free(self.raised_left)
        free(self.raised_right)

    def scores(self):
        """Return the table (K, K), a view."""
        return np.asarray(self.score).reshape(self.n_labels, self.width)[:, :self.n_labels]

    cdef void change(self, int32_t first, int32_t second, double difference) noexcept nogil:
        """Add to the score of an allowed pair. O(log K)."""
        cdef Py_ssize_t at = first * self.width + second
        self.score[at] += difference
        heap_update(&self.all, at)
        heap_update(&self.rows[first], second)
        heap_update(&self.columns[second], first)

    cdef void load(
            self, const Entries* left, const Entries* right, double rho, bint multipliers
            ) noexcept nogil:
        """Lay out the messages to a factor, rho (mu + residual) or rho mu, until `unload`."""
        cdef Py_ssize_t k
        cdef double message
        self.n_left = self.n_right = 0
        for k in range(left.size):
            message = rho * (
                left.at[k].multiplier + (0 if multipliers else left.at[k].value))
            self.left[left.at[k].first] = message
            if message > 0:
                self.raised_left[self.n_left] = Raised(message, left.at[k].first)
                self.n_left += 1
        for k in range(right.size):
            message = rho * (
                right.at[k].multiplier + (0 if multipliers else right.at[k].value))
            self.right[right.at[k].first] = message
            if message > 0:
                self.raised_right[self.n_right] = Raised(message, right.at[k].first)
                self.n_right += 1

    cdef void unload(self, const Entries* left, const Entries* right) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(left.size):
            self.left[left.at[k].first] = 0
        for k in range(right.size):
            self.right[right.at[k].first] = 0

    cdef int mark(self, const Entries* active) except -1 nogil:
        """List the pairs to be passed over by their rows, until `unmark`."""
        cdef int32_t k, j
        if active.size > self.following.shape[0]:
            with gil:
                self.following = np.empty(2 * active.size, dtype=np.int32)
        self.active = active
        for k in range(active.size):
            j = active.at[k].first
            self.following[k] = self.head[j]
            self.head[j] = k
        return 0

    cdef void unmark(self) noexcept nogil:
        cdef int32_t k
        for k in range(self.active.size):
            self.head[self.active.at[k].first] = -1

    cdef void consider(self, int32_t first, int32_t second) noexcept nogil:
        """Keep a pair if it is the best so far, and not an active one."""
        cdef int32_t k
        cdef double value = (
            self.score[first * self.width + second] + self.left[first] + self.right[second])
        self.work += 1
        if not value > self.best:
            return
        k = self.head[first]
        while k >= 0:
            if self.active.at[k].second == second:
                return
            k = self.following[k]
        self.best, self.best_first, self.best_second = value, first, second

    cdef bint search(self, double bound) noexcept nogil:
        """Find the best pair that is not marked, of value above `bound`; return whether there is one.

        Messages are those of `load`. The pair is `best_first`, `best_second`, its value `best`.
        """
        cdef Py_ssize_t j, k, item
        cdef double message, highest
        cdef Heap* heap
        cdef HeapWalk walk
        self.best, self.best_first = bound, -1
        qsort(self.raised_left, self.n_left, sizeof(Raised), by_falling_message)
        qsort(self.raised_right, self.n_right, sizeof(Raised), by_falling_message)
        # Both raised.
        for j in range(self.n_left if self.n_right else 0):
            heap = &self.rows[self.raised_left[j].label]
            if heap.size == 0:
                continue
            message = self.raised_left[j].message
            highest = message + heap_key(heap, 0)
            for k in range(self.n_right):
                if not highest + self.raised_right[k].message > self.best:
                    break
                self.consider(self.raised_left[j].label, self.raised_right[k].label)
        # One raised; that the other one might be, too, does no harm.
        for j in range(self.n_left):
            message, heap = self.raised_left[j].message, &self.rows[self.raised_left[j].label]
            walk_begin(&walk, heap)
            while True:
                item = walk_next(&walk, heap, self.best - message)
                if item < 0:
                    break
                self.consider(self.raised_left[j].label, <int32_t> item)
        for k in range(self.n_right):
            message, heap = self.raised_right[k].message, &self.columns[self.raised_right[k].label]
            walk_begin(&walk, heap)
            while True:
                item = walk_next(&walk, heap, self.best - message)
                if item < 0:
                    break
                self.consider(<int32_t> item, self.raised_right[k].label)
        # None.
        walk_begin(&walk, &self.all)
        while True:
            item = walk_next(&walk, &self.all, self.best)
            if item < 0:
                break
            self.consider(<int32_t> (item // self.width), <int32_t> (item % self.width))
        return self.best_first >= 0

    def py_change(self, int32_t first, int32_t second, double difference):
        """Add to the score of a pair: a door for tests."""
        if not (0 <= first < self.n_labels and 0 <= second < self.n_labels):
            raise IndexError(f"pair {first}, {second} of {self.n_labels} labels")
        if self.score[first * self.width + second] == -INFINITY:
            raise ValueError(f"pair {first}, {second} is forbidden")
        self.change(first, second, difference)

    def py_search(self, left, right, active, double bound=-INFINITY):
        """Search with messages {label: message} and active pairs: a door for tests.

        Returns
        -------
        pair : tuple of int, or None
        value : float
        work : int
            Pairs looked at.
        """
        cdef Entries lists[3]
        cdef Py_ssize_t k
        for k in range(3):
            lists[k] = Entries(0, 0, NULL)
        try:
            for k, messages in enumerate((left, right)):
                for label, message in messages.items():
                    if not 0 <= label < self.n_labels:
                        raise IndexError(f"label {label} of {self.n_labels}")
                    append(&lists[k], label, 0, message)
            for first, second in active:
                if not (0 <= first < self.n_labels and 0 <= second < self.n_labels):
                    raise IndexError(f"pair {first}, {second} of {self.n_labels} labels")
                append(&lists[2], first, second, 0)
            self.work = 0
            self.load(&lists[0], &lists[1], 1.0, False)
            self.mark(&lists[2])
            found = self.search(bound)
            self.unmark()
            self.unload(&lists[0], &lists[1])
        finally:
            for k in range(3):
                free(lists[k].at)
        pair = (self.best_first, self.best_second) if found else None
        return pair, self.best, int(self.work)
