# Design:
# (a) Viterbi on a chain whose positions arrive over time. Each label of the last position has a best
#     path (a survivor). A label is final once all survivors have it; later positions cannot change it.
# (b) The survivors form a tree. `children` counts the continuations of each label of a position, and a
#     label without any is removed, as are its predecessors that only it continued. A position is final
#     once one label is left. Each label is added and removed once, so this takes O(K) per position.
# (c) If a label must be returned before it is final, the best survivor's label is used, and all survivors
#     with another label are removed. Returned labels are therefore always one allowed path.
# (d) The end scores are added to the node scores of the last position, as in `viterbi`, so that sums have
#     the same bits. `flush` therefore repeats the last step.
"""Viterbi on a stream of positions."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t
from libc.string cimport memcpy, memmove, memset

import numpy as np

from sstruct._kernels._storage cimport Storage
from sstruct._oracles.chain._chain_terms cimport (
    ChainTerms, ScoreRows, load_rows, rows_of, stored_forward)
from sstruct._oracles.chain._viterbi cimport lowest_argmax, viterbi_forward


cdef class ChainStream(Storage):
    """Decodes one chain at a time.

    Parameters
    ----------
    terms : ChainTerms
        Terms with one table of transitions, or with stored transitions.
    lag : int
        Maximum number of later positions before a label is returned; -1: no limit.
    """

    cdef readonly ChainTerms terms
    cdef Py_ssize_t lag, K, KP
    cdef Py_ssize_t first                # first position whose label has not been returned
    cdef Py_ssize_t count                # number of positions
    cdef Py_ssize_t base, room           # position of row 0, and number of rows of:
    cdef int32_t* origin                 # K per position: the previous label of each path
    cdef int32_t* children               # K per position: the number of paths that continue
    cdef int32_t* alive                  # number of labels that are on a path
    cdef double* theta                   # 2 KP: best scores before the last position; its scores
    cdef double* best                    # 2 KP: unused; best scores at the last position
    cdef double* spare                   # 3 KP
    cdef int32_t* back                   # 2 KP
    cdef object ready                    # labels that an error kept from being returned

    def __init__(self, ChainTerms terms not None, Py_ssize_t lag):
        if terms.n_tables > 1:
            raise ValueError(f"a stream requires one table of transitions, found {terms.n_tables}")
        self.terms, self.lag, self.K, self.KP = terms, lag, terms.n_labels, terms.KP
        self.grow(<void**> &self.theta, 2 * self.KP, sizeof(double))
        self.grow(<void**> &self.best, 2 * self.KP, sizeof(double))
        self.grow(<void**> &self.spare, 3 * self.KP, sizeof(double))
        self.grow(<void**> &self.back, 2 * self.KP, sizeof(int32_t))
        self.reset()

    def reset(self):
        """Start a new chain."""
        self.first = self.count = self.base = 0
        self.ready = np.empty(0, dtype=np.int32)
        memset(self.theta, 0, 2 * self.KP * sizeof(double))
        memset(self.best, 0, 2 * self.KP * sizeof(double))
        memset(self.back, 0, 2 * self.KP * sizeof(int32_t))

    @property
    def n_pending(self):
        """Number of positions whose labels have not been returned."""
        return self.count - self.first + len(self.ready)

    def push(self, scores, str name):
        """Append positions; return the labels that are decided now, as int32.

        scores : ndarray of float32 or float64 of shape (n, K)
        """
        cdef Py_ssize_t n = scores.shape[0], l, found = 0
        cdef ScoreRows rows
        cdef bint valid = True
        if scores.shape[1] != self.K:
            raise ValueError(f"{name} has {scores.shape[1]} columns, expected {self.K}")
        if n == 0:
            return np.empty(0, dtype=np.int32)
        rows = rows_of(scores)
        memcpy(self.spare, self.theta + self.KP, self.KP * sizeof(double))
        with nogil:
            for l in range(n):
                valid &= load_rows(&rows, l, 1, self.K, self.KP, self.theta + self.KP)
        memcpy(self.theta + self.KP, self.spare, self.KP * sizeof(double))
        if not valid:
            raise ValueError(f"{name} must not contain NaN or +inf (-inf forbids a label)")
        labels = np.empty(self.count - self.first + n, dtype=np.int32)
        cdef int32_t[::1] out = labels
        try:
            with nogil:
                for l in range(n):
                    self.step(&rows, l)
                    found += self.collect(&out[0] + found)
        except BaseException:
            self.ready = np.concatenate([self.ready, labels[:found]])
            raise
        return self._with_ready(labels[:found])

    def flush(self):
        """End the chain; return the labels that have not been returned, and start a new one."""
        cdef Py_ssize_t k, p, n = self.count - self.first
        cdef int32_t label
        cdef double* now = self.best + self.KP
        labels = np.empty(n, dtype=np.int32)
        cdef int32_t[::1] out = labels
        if self.count == 0:
            return labels
        memcpy(self.spare, now, self.KP * sizeof(double))
        for k in range(self.K):
            self.theta[self.KP + k] += self.terms.end[k]
        self.forward()
        for k in range(self.K):
            if self.spare[k] == -INFINITY:   # contradicts returned labels
                now[k] = -INFINITY
        label = <int32_t> lowest_argmax(now, self.K)
        if now[label] == -INFINITY:
            self.reset()
            raise ValueError(
                "every labeling of the chain that has the labels returned so far is forbidden; a "
                "new chain was started")
        for p in range(self.count - 1, self.first - 1, -1):
            out[p - self.first] = label
            label = self.origin[(p - self.base) * self.K + label]
        labels = self._with_ready(labels)
        self.reset()
        return labels

    def _with_ready(self, labels):
        if len(self.ready):
            labels = np.concatenate([self.ready, labels])
            self.ready = labels[:0]
        return labels

    cdef int forward(self) except -1 nogil:
        """Compute the best scores at the last position, from `theta`."""
        if self.count == 1:
            memcpy(self.best + self.KP, self.theta + self.KP, self.KP * sizeof(double))
        elif self.terms.edge == NULL:
            stored_forward(
                self.theta, 2, self.K, self.KP, &self.terms.stored, 0, self.best, self.back)
        else:
            viterbi_forward(
                self.theta, 2, self.K, self.KP, self.terms.edge, 0, self.best, self.back)
        return 0

    cdef int step(self, const ScoreRows* rows, Py_ssize_t l) except -1 nogil:
        """Append a position."""
        cdef Py_ssize_t K = self.K, KP = self.KP, k, p = self.count
        cdef int32_t n_alive = 0
        cdef double* now = self.best + KP
        cdef int32_t* origin
        cdef int32_t* before
        self.reserve()
        memcpy(self.spare, self.theta, 2 * KP * sizeof(double))
        memcpy(self.spare + 2 * KP, now, KP * sizeof(double))
        memcpy(self.theta, now, KP * sizeof(double))
        load_rows(rows, l, 1, K, KP, self.theta + KP)
        if p == 0:
            for k in range(K):
                self.theta[KP + k] += self.terms.start[k]
        self.count += 1
        self.forward()
        for k in range(K):
            n_alive += now[k] > -INFINITY
        if n_alive == 0:
            self.count -= 1
            memcpy(self.theta, self.spare, 2 * KP * sizeof(double))
            memcpy(now, self.spare + 2 * KP, KP * sizeof(double))
            with gil:
                raise ValueError(
                    f"every labeling of the chain is forbidden from rows[{l}] on, position {p}, "
                    "given the labels returned so far; rows before it were appended")
        origin = self.origin + (p - self.base) * K
        memset(self.children + (p - self.base) * K, 0, K * sizeof(int32_t))
        memcpy(origin, self.back + KP, K * sizeof(int32_t))
        self.alive[p - self.base] = n_alive
        if p > self.first:
            before = self.children + (p - 1 - self.base) * K
            for k in range(K):
                before[origin[k]] += now[k] > -INFINITY
            for k in range(K):
                if before[k] == 0 and self.theta[k] > -INFINITY:
                    self.release(p - 1, k)
        return 0

    cdef int reserve(self) except -1 nogil:
        """Make room for one more position: remove those before `first` if they are many, or grow."""
        cdef Py_ssize_t K = self.K, skip = self.first - self.base, kept = self.count - self.first
        if self.count - self.base < self.room:
            return 0
        if 4 * skip <= 3 * self.room:   # moving the others would take more time than it saves
            self.grow(<void**> &self.origin, (2 * self.room + 16) * K, sizeof(int32_t))
            self.grow(<void**> &self.children, (2 * self.room + 16) * K, sizeof(int32_t))
            self.grow(<void**> &self.alive, 2 * self.room + 16, sizeof(int32_t))
            self.room = 2 * self.room + 16
            return 0
        memmove(self.origin, self.origin + skip * K, kept * K * sizeof(int32_t))
        memmove(self.children, self.children + skip * K, kept * K * sizeof(int32_t))
        memmove(self.alive, self.alive + skip, kept * sizeof(int32_t))
        self.base = self.first
        return 0

    cdef void release(self, Py_ssize_t p, Py_ssize_t j) noexcept nogil:
        """Remove a label that no path continues, and its predecessors that only it continued."""
        cdef int32_t* children
        while True:
            self.alive[p - self.base] -= 1
            if p == self.first:
                return
            j = self.origin[(p - self.base) * self.K + j]
            p -= 1
            children = self.children + (p - self.base) * self.K + j
            children[0] -= 1
            if children[0] > 0:
                return

    cdef int32_t ancestor(self, Py_ssize_t k) noexcept nogil:
        """Return the label at the first pending position of the path to label k of the last one."""
        cdef Py_ssize_t p
        for p in range(self.count - 1, self.first, -1):
            k = self.origin[(p - self.base) * self.K + k]
        return <int32_t> k

    cdef void decide(self) noexcept nogil:
        """Keep only the paths that have the label of the best path at the first pending position."""
        cdef Py_ssize_t k
        cdef double* now = self.best + self.KP
        cdef int32_t label = self.ancestor(lowest_argmax(now, self.K))
        for k in range(self.K):
            if now[k] > -INFINITY and self.ancestor(k) != label:
                now[k] = -INFINITY
                self.release(self.count - 1, k)

    cdef Py_ssize_t collect(self, int32_t* out) noexcept nogil:
        """Write the labels that are final, or older than the lag; return their number."""
        cdef Py_ssize_t n = 0, k = 0, row
        cdef double* now = self.best + self.KP
        while self.first < self.count:
            row = self.first - self.base
            if self.alive[row] != 1:
                if self.lag < 0 or self.count - 1 - self.first < self.lag:
                    break
                self.decide()
            for k in range(self.K):
                if self.first == self.count - 1:
                    if now[k] > -INFINITY:
                        break
                elif self.children[row * self.K + k] > 0:
                    break
            out[n] = <int32_t> k
            n += 1
            self.first += 1
        return n
