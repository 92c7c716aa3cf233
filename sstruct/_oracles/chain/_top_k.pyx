# Design:
# (a) Compute the k best labelings of a chain. A node is a position with a label; `prefixes` holds,
#     for each node, a linked list of the requested best labelings up to its position, each with its
#     last label and the prefix that it extends (the lazy algorithm 3 of Huang and Chiang). Prefix
#     l K + k is the best of node (l, k), computed by Viterbi. Node L K is the end.
# (b) The r-th prefix of a node is the best on its front, which contains for each previous label the
#     first prefix that the node has not yet extended. If only stored transitions are allowed, the
#     front has an entry for each transition into the label of the node. Finding the prefix requires at
#     most one more prefix of one previous node, so each further labeling costs a pass down and up the
#     chain, O(L K).
# (c) Scores are summed in the order of Viterbi, and ties are resolved by the lowest labels as well.
"""The k best labelings of a chain."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

import sys

import numpy as np

from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.chain._chain_terms cimport (
    ChainTerms, ScoreRows, StoredTransitions, rows_of, stored_forward)
from sstruct._oracles.chain._viterbi cimport lowest_argmax, viterbi_forward


cdef class ChainRanking:
    """Ranks the labelings of one chain at a time; owns the scratch memory."""

    cdef Py_ssize_t rank(
            self, const double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP, const double* edge,
            Py_ssize_t edge_step, const StoredTransitions* stored, Py_ssize_t k) except -1 nogil:
        """Find the k best allowed labelings, or all if there are fewer, and return their number.

        The arguments are those of `viterbi_labels`; the only allowed transitions are `stored` if
        edge is NULL. Use `write` to obtain the labels.
        """
        cdef Py_ssize_t count
        self.theta, self.L, self.K, self.KP = theta, L, K, KP
        self.edge, self.edge_step, self.stored = edge, edge_step, stored
        self.start()
        if not self.prefixes[L * K].value > -INFINITY:
            return 0
        count = 1
        while count < k and self.advance():
            count += 1
        return count

    cdef int write(self, int32_t* labels, double* values) except -1 nogil:
        """Write the ranked labelings (rows of length L) and their values, best first."""
        cdef Py_ssize_t l, at, row = self.L * self.K
        while row >= 0:
            values[0] = self.prefixes[row].value
            at = row
            for l in range(self.L - 1, -1, -1):
                at = self.prefixes[at].before
                labels[l] = self.prefixes[at].label
                poll_signals(30)
            labels += self.L
            values += 1
            row = self.prefixes[row].next
        return 0

    cdef int start(self) except -1 nogil:
        """Run the forward sweep of Viterbi and set the best prefix of every node and of the end."""
        cdef Py_ssize_t L = self.L, K = self.K, l, k, node
        cdef Prefix* prefix
        self.grow(<void**> &self.best, L * self.KP, sizeof(double))
        self.grow(<void**> &self.origin, L * self.KP, sizeof(int32_t))
        self.grow(<void**> &self.path, L + 1, sizeof(Py_ssize_t))
        self.grow(<void**> &self.last, L * K + 1, sizeof(Py_ssize_t))
        self.grow(<void**> &self.front, L * K + 1, sizeof(Py_ssize_t))
        if self.edge == NULL:
            stored_forward(self.theta, L, K, self.KP, self.stored, 0, self.best, self.origin)
        else:
            viterbi_forward(
                self.theta, L, K, self.KP, self.edge, self.edge_step, self.best, self.origin)
        self.n_prefixes, self.front_size = L * K + 1, 0
        self.grow(<void**> &self.prefixes, self.n_prefixes, sizeof(Prefix))
        self.prefix_room = max(self.prefix_room, self.n_prefixes)
        for node in range(L * K + 1):
            l = node // K
            k = node - l * K
            prefix = &self.prefixes[node]
            prefix.before = prefix.next = -1
            prefix.label = <int32_t> k
            self.last[node] = node
            self.front[node] = -1
            if l < L:
                prefix.value = self.best[l * self.KP + k]
                if l > 0:
                    prefix.before = (l - 1) * K + self.origin[l * self.KP + k]
            poll_signals(4)
        self.open_front(L, L * K)
        k = lowest_argmax(self.front_value, K)
        prefix = &self.prefixes[L * K]
        prefix.value = self.front_value[k]
        prefix.before = (L - 1) * K + k
        return 0

    cdef bint advance(self) except -1 nogil:
        """Find the next best labeling; return whether there is one."""
        cdef Py_ssize_t l = self.L, node = self.L * self.K, before, end = self.last[node]
        # Descend to the first node whose last prefix extends one with a known successor.
        while l > 0:
            self.path[l] = node
            before = self.prefixes[self.last[node]].before
            if self.prefixes[before].next >= 0:
                break
            l -= 1
            node = l * self.K + self.prefixes[before].label
        for l in range(max(l, 1), self.L + 1):   # nodes of position 0 have one prefix
            self.find_next(l, self.path[l])
            poll_signals(20 + 4 * self.K)
        return self.prefixes[end].next >= 0

    cdef int find_next(self, Py_ssize_t l, Py_ssize_t node) except -1 nogil:
        """Find one more prefix of a node, if there is one."""
        cdef Py_ssize_t k = node - l * self.K, last = self.last[node], j, found, successor
        cdef Py_ssize_t size
        cdef double* value
        cdef Py_ssize_t* prefix
        if self.front[node] < 0:
            self.open_front(l, node)
        value = &self.front_value[self.front[node]]
        prefix = &self.front_prefix[self.front[node]]
        size = self.front_entries(l, k)
        # The successor replaces the last extended prefix on the front.
        successor = self.prefixes[self.prefixes[last].before].next
        j = self.entry_of(l, self.prefixes[self.prefixes[last].before].label, k)
        value[j] = -INFINITY
        if successor >= 0:
            value[j] = self.prefixes[successor].value + self.step_score(l, j, k)
            prefix[j] = successor
        j = lowest_argmax(value, size)
        if not value[j] > -INFINITY:
            return 0
        found = self.new_prefix()
        self.prefixes[found].value = value[j]
        if l < self.L:
            self.prefixes[found].value += self.theta[l * self.KP + k]
        self.prefixes[found].before = prefix[j]
        self.prefixes[found].label = <int32_t> k
        self.prefixes[last].next = found
        self.last[node] = found
        return 0

    cdef int open_front(self, Py_ssize_t l, Py_ssize_t node) except -1 nogil:
        """Put the best prefix of every previous node on the front of a node."""
        cdef Py_ssize_t k = node - l * self.K, j, before, at = self.front_size
        cdef Py_ssize_t size = self.front_entries(l, k)
        if at + size > self.front_room:
            self.front_room = 2 * (at + size) + 6 * self.K
            self.grow(<void**> &self.front_value, self.front_room, sizeof(double))
            self.grow(<void**> &self.front_prefix, self.front_room, sizeof(Py_ssize_t))
        self.front_size += size
        self.front[node] = at
        for j in range(size):
            before = self.label_before(l, j, k)
            self.front_value[at + j] = (
                self.best[(l - 1) * self.KP + before] + self.step_score(l, j, k))
            self.front_prefix[at + j] = (l - 1) * self.K + before
        return 0

    cdef inline Py_ssize_t front_entries(self, Py_ssize_t l, Py_ssize_t k) noexcept nogil:
        """Return the number of labels that may precede label k at position l."""
        if self.edge != NULL or l == self.L:
            return self.K
        return self.stored.indptr[k + 1] - self.stored.indptr[k]

    cdef inline Py_ssize_t label_before(
            self, Py_ssize_t l, Py_ssize_t j, Py_ssize_t k) noexcept nogil:
        """Return the label of entry j of the front of label k at position l."""
        if self.edge != NULL or l == self.L:
            return j
        return self.stored.indices[self.stored.indptr[k] + j]

    cdef inline Py_ssize_t entry_of(
            self, Py_ssize_t l, int32_t before, Py_ssize_t k) noexcept nogil:
        """Return the entry of a previous label, which is on the front of label k at position l."""
        cdef Py_ssize_t j = 0
        if self.edge != NULL or l == self.L:
            return before
        while self.label_before(l, j, k) != before:
            j += 1
        return j

    cdef inline double step_score(self, Py_ssize_t l, Py_ssize_t j, Py_ssize_t k) noexcept nogil:
        """Return the score of entry j's transition to label k at position l; 0 for the end."""
        if l == self.L:
            return 0
        if self.edge == NULL:
            return self.stored.values[self.stored.indptr[k] + j]
        return self.edge[(l - 1) * self.edge_step + j * self.KP + k]

    cdef Py_ssize_t new_prefix(self) except -1 nogil:
        if self.n_prefixes >= self.prefix_room:
            self.grow(<void**> &self.prefixes, 2 * self.n_prefixes, sizeof(Prefix))
            self.prefix_room = 2 * self.n_prefixes
        self.n_prefixes += 1
        self.prefixes[self.n_prefixes - 1].before = -1
        self.prefixes[self.n_prefixes - 1].next = -1
        return self.n_prefixes - 1


def top_k(scores, ChainTerms terms not None, k, str name):
    """Find the k best labelings of one chain, and their scores: see sstruct.inference.top_k.

    scores, terms, name : as in ChainDecoder
    k : int of at least 1
    """
    cdef ScoreRows rows
    cdef Py_ssize_t m, limit = min(k, sys.maxsize)
    cdef ChainRanking ranking = ChainRanking()
    terms.check(scores, name)
    rows = rows_of(scores)
    cdef double[:, ::1] theta = np.empty((rows.n_rows, terms.KP))
    with nogil:
        terms.load(&rows, 0, rows.n_rows, &theta[0, 0], name)
        m = ranking.rank(
            &theta[0, 0], rows.n_rows, terms.n_labels, terms.KP, terms.edge, terms.edge_step,
            &terms.stored, limit)
    return ranked_arrays(ranking, m)


def ranked_arrays(ChainRanking ranking not None, Py_ssize_t m):
    """Return the result of `rank` as arrays: labels (m, L) and values (m,)."""
    labels, values = np.empty((m, ranking.L), dtype=np.int32), np.empty(m)
    cdef int32_t[:, ::1] rows = labels
    cdef double[::1] scores = values
    if m > 0:
        ranking.write(&rows[0, 0], &scores[0])
    return labels, values
