# Design:
# (a) Compute the k best labelings of a chain. A node is a position with a label; `prefixes` holds,
#     for each node, a linked list of the requested best labelings up to its position, each with its
#     last label and the prefix that it extends (the lazy algorithm 3 of Huang and Chiang). Prefix
#     l K + k is the best of node (l, k), computed by Viterbi. Node L K is the end.
# (b) The r-th prefix of a node is the best on its front, which contains for each previous label the
#     first prefix that the node has not yet extended. Finding it requires at most one more prefix of
#     one previous node, so each further labeling costs a pass down and up the chain, O(L K).
# (c) Scores are summed in the order of Viterbi, and ties are resolved by the lowest labels as well.
"""The k best labelings of a chain."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

import sys

import numpy as np

from sstruct._kernels._interruption cimport look_after
from sstruct._oracles.chain._viterbi cimport lowest_argmax, viterbi_forward
from sstruct._oracles.chain._viterbi import _potentials
from sstruct._checks.arrays import whole_number


cdef class ChainRanking:
    """Ranks the labelings of one chain at a time; owns the scratch memory."""

    cdef Py_ssize_t rank(
            self, const double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP, const double* edge,
            Py_ssize_t edge_step, Py_ssize_t k) except -1 nogil:
        """Find the k best allowed labelings, or all if there are fewer, and return their number.

        The arguments are those of `viterbi_labels`, except that edge must not be NULL. Use `write`
        to obtain the labels.
        """
        cdef Py_ssize_t count
        self.theta, self.L, self.K, self.KP = theta, L, K, KP
        self.edge, self.edge_step = edge, edge_step
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
                look_after(30)
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
        viterbi_forward(
            self.theta, L, K, self.KP, self.edge, self.edge_step, self.best, self.origin)
        self.n_prefixes, self.n_fronts = L * K + 1, 0
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
            look_after(4)
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
            look_after(20 + 4 * self.K)
        return self.prefixes[end].next >= 0

    cdef int find_next(self, Py_ssize_t l, Py_ssize_t node) except -1 nogil:
        """Find one more prefix of a node, if there is one."""
        cdef Py_ssize_t k = node - l * self.K, last = self.last[node], j, found, successor
        cdef double* value
        cdef Py_ssize_t* prefix
        if self.front[node] < 0:
            self.open_front(l, node)
        value = &self.front_value[self.front[node] * self.K]
        prefix = &self.front_prefix[self.front[node] * self.K]
        # The successor replaces the last extended prefix on the front.
        j = self.prefixes[self.prefixes[last].before].label
        successor = self.prefixes[self.prefixes[last].before].next
        value[j] = -INFINITY
        if successor >= 0:
            value[j] = self.prefixes[successor].value + self.step_score(l, j, k)
            prefix[j] = successor
        j = lowest_argmax(value, self.K)
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
        cdef Py_ssize_t K = self.K, j, room, at = self.n_fronts
        if (at + 1) * K > self.front_room:
            room = 2 * (at + 4) * K
            self.grow(<void**> &self.front_value, room, sizeof(double))
            self.grow(<void**> &self.front_prefix, room, sizeof(Py_ssize_t))
            self.front_room = room
        self.n_fronts += 1
        self.front[node] = at
        for j in range(K):
            self.front_value[at * K + j] = (
                self.best[(l - 1) * self.KP + j] + self.step_score(l, j, node - l * K))
            self.front_prefix[at * K + j] = (l - 1) * K + j
        return 0

    cdef inline double step_score(self, Py_ssize_t l, Py_ssize_t j, Py_ssize_t k) noexcept nogil:
        """Score of the transition from label j to label k at position l; 0 for the end."""
        return 0 if l == self.L else self.edge[(l - 1) * self.edge_step + j * self.KP + k]

    cdef Py_ssize_t new_prefix(self) except -1 nogil:
        if self.n_prefixes >= self.prefix_room:
            self.grow(<void**> &self.prefixes, 2 * self.n_prefixes, sizeof(Prefix))
            self.prefix_room = 2 * self.n_prefixes
        self.n_prefixes += 1
        self.prefixes[self.n_prefixes - 1].before = -1
        self.prefixes[self.n_prefixes - 1].next = -1
        return self.n_prefixes - 1


def top_k(node_scores, edge_scores, k):
    """Find the k best labelings of one chain, and their scores: see sstruct.inference.top_k."""
    node, table, labels_count = _potentials(node_scores, edge_scores)
    cdef double[:, ::1] theta = node
    cdef double[:, :, ::1] edge = table
    cdef Py_ssize_t K = labels_count, step = K * theta.shape[1] if edge.shape[0] > 1 else 0
    k = whole_number(k, "k")
    if k < 1:
        raise ValueError(f"k must be at least 1, found {k}")
    cdef Py_ssize_t m, limit = min(k, sys.maxsize)
    cdef ChainRanking ranking = ChainRanking()
    with nogil:
        m = ranking.rank(
            &theta[0, 0], theta.shape[0], K, theta.shape[1], &edge[0, 0, 0], step, limit)
    return ranked_arrays(ranking, m)


def ranked_arrays(ChainRanking ranking not None, Py_ssize_t m):
    """Return the result of `rank` as arrays: labels (m, L) and values (m,)."""
    labels, values = np.empty((m, ranking.L), dtype=np.int32), np.empty(m)
    cdef int32_t[:, ::1] rows = labels
    cdef double[::1] scores = values
    if m > 0:
        ranking.write(&rows[0, 0], &scores[0])
    return labels, values
