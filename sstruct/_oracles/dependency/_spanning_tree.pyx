# Design:
# (a) Chu-Liu-Edmonds in the form of Tarjan (1977) and of Gabow, Galil, Spencer and Tarjan (1986): a path
#     of nodes, each entered by its best arc, grows until it reaches the root or a node that does. If it
#     reaches itself, the cycle is contracted to one node. Arcs are a table, so that finding the best arc
#     of a node and contracting one node of a cycle take O(n), and everything O(n^2).
# (b) A single root, exactly: scores are pairs (rank, score) in lexicographic order, and an arc from the
#     root has rank -1. The algorithm only adds, subtracts and compares, so it is correct in every ordered
#     group, and finds the fewest arcs from the root, then the largest score. Unlike a penalty in the
#     score, ranks are integers and take no digits from scores.
# (c) Forbidden arcs (-inf) have a lower rank than any number of arcs from the root. If the best tree has
#     one, or several arcs from the root if only one is allowed, all trees are forbidden.
# (d) A contracted node takes the slot, a row and a column of the table, of one of its members. Each entry
#     keeps the arc between tokens that it stands for. The arcs of the tree are found from the last
#     contracted node to the first: the arc that enters it replaces the arc of the member it ends in.
"""The best spanning tree of a sentence, for non-projective dependency trees."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from sstruct._kernels._interruption cimport poll_signals

import numpy as np

cdef enum:
    FREE
    ON_PATH
    DONE     # connected with the root


cdef inline bint is_better(const Arc* a, const Arc* b) noexcept nogil:
    return a.rank > b.rank or (a.rank == b.rank and a.score > b.score)


cdef double tree_score(Py_ssize_t n, const double* scores, const int32_t* heads) noexcept nogil:
    """Return the sum of the scores of a tree's arcs."""
    cdef double total = 0
    cdef Py_ssize_t d
    for d in range(n):
        total += scores[d * (n + 1) + heads[d]]
    return total


cdef class DependencyDecoder(Storage):
    """Decoder of sentences, one at a time; each thread requires its own decoder."""

    def tree(self, const double[:, ::1] scores not None, bint single_root):
        """Return the heads of the best tree, int32, and its score, -inf if all trees are forbidden.

        scores : (n, n + 1), n >= 1; see `decode`
        """
        cdef Py_ssize_t n = scores.shape[0]
        if n < 1 or scores.shape[1] != n + 1:
            raise ValueError(
                "scores must have shape (n_tokens, n_tokens + 1) with n_tokens >= 1; found "
                f"{(n, scores.shape[1])}")
        heads = np.zeros(n, dtype=np.int32)
        cdef int32_t[::1] out = heads
        cdef double value
        with nogil:
            value = self.decode(n, &scores[0, 0], single_root, &out[0])
        return heads, value

    cdef double decode(
            self, Py_ssize_t n, const double* scores, bint single_root,
            int32_t* heads) except? -1 nogil:
        """Write the head of each token in the best tree, 0 for the root, and return its score.

        scores : (n, n + 1), the score of each dependent's arc from each head, -inf if it is forbidden;
            a token's arc from itself is ignored
        Returns -inf if all trees are forbidden.
        """
        raise NotImplementedError


cdef class SpanningTreeDecoder(DependencyDecoder):
    """Finds the best tree, whether projective or not."""

    cdef int prepare(
            self, Py_ssize_t n, const double* scores, bint single_root) except -1 nogil:
        """Fill the table of arcs, with a slot for the root, 0, and for each token, from 1 on."""
        cdef Py_ssize_t h, d, N = n + 1
        cdef double score
        cdef Arc* arc
        self.grow(<void**> &self.arcs, N * N, sizeof(Arc))
        self.grow(<void**> &self.slots, N, sizeof(int32_t))
        self.grow(<void**> &self.node_of_slot, N, sizeof(int32_t))
        self.grow(<void**> &self.state, N, sizeof(int32_t))
        self.grow(<void**> &self.path, N, sizeof(int32_t))
        self.grow(<void**> &self.entry, 2 * n + 1, sizeof(Arc))
        self.grow(<void**> &self.parent, 2 * n + 1, sizeof(int32_t))
        for d in range(1, N):
            for h in range(N):
                arc, score = &self.arcs[d * N + h], scores[(d - 1) * N + h]
                arc.rank = -1 if single_root and h == 0 else 0
                arc.score, arc.head, arc.dependent = score, <int32_t> h, <int32_t> d
                if score == -INFINITY:
                    arc.rank, arc.score = -N, 0
        for d in range(N):
            self.slots[d] = self.node_of_slot[d] = <int32_t> d
            self.state[d] = FREE
        for d in range(2 * n + 1):
            self.parent[d] = -1
        self.state[0], self.n_active = DONE, N
        return 0

    cdef void contract(
            self, Py_ssize_t n, const int32_t* members, Py_ssize_t count, int32_t node) noexcept nogil:
        """Contract a cycle of slots to a node in the slot of its first member."""
        cdef Py_ssize_t k, j, x, N = n + 1, kept = 0
        cdef int32_t slot = members[0], member
        cdef Arc entering, leaving, other
        cdef const Arc* best
        for k in range(count):
            self.parent[self.node_of_slot[members[k]]] = node
            self.state[members[k]] = ON_PATH
        for j in range(self.n_active):
            x = self.slots[j]
            for k in range(count):
                if members[k] == x:
                    break
            else:
                self.slots[kept] = <int32_t> x
                kept += 1
        self.n_active = kept
        for j in range(kept):
            x = self.slots[j]
            for k in range(count):
                member = members[k]
                best = &self.entry[self.node_of_slot[member]]
                other = self.arcs[member * N + x]
                other.rank -= best.rank
                other.score -= best.score
                if k == 0 or is_better(&other, &entering):
                    entering = other
                if x > 0:   # nothing enters the root
                    other = self.arcs[x * N + member]
                    if k == 0 or is_better(&other, &leaving):
                        leaving = other
            self.arcs[slot * N + x] = entering
            if x > 0:
                self.arcs[x * N + slot] = leaving
        self.slots[self.n_active] = slot
        self.n_active += 1
        self.node_of_slot[slot] = node

    cdef double decode(
            self, Py_ssize_t n, const double* scores, bint single_root,
            int32_t* heads) except? -1 nogil:
        cdef Py_ssize_t v, j, N = n + 1, length
        cdef int32_t x, node, inner = 0, n_nodes = <int32_t> N
        cdef Arc* arc
        cdef const Arc* best
        cdef int32_t n_roots = 0
        self.prepare(n, scores, single_root)
        for v in range(1, N):
            if self.state[v] != FREE:
                continue
            x, length = <int32_t> v, 0
            while True:
                # Slot x is the end of the path, and not yet in it.
                self.path[length] = x
                length += 1
                self.state[x] = ON_PATH
                best = NULL
                for j in range(self.n_active):
                    if self.slots[j] != x:
                        arc = &self.arcs[x * N + self.slots[j]]
                        if best == NULL or is_better(arc, best):
                            best, inner = arc, self.slots[j]
                self.entry[self.node_of_slot[x]] = best[0]
                poll_signals(2 * self.n_active)
                x = inner
                if self.state[x] == DONE:
                    break
                if self.state[x] == ON_PATH:
                    j = length - 1
                    while self.path[j] != x:
                        j -= 1
                    poll_signals(3.0 * self.n_active * (length - j))
                    self.contract(n, &self.path[j], length - j, n_nodes)
                    n_nodes += 1
                    length = j
            for j in range(length):
                self.state[self.path[j]] = DONE
        for node in range(n_nodes - 1, n, -1):
            inner = self.entry[node].dependent
            while self.parent[inner] != node:
                inner = self.parent[inner]
            self.entry[inner] = self.entry[node]
        for v in range(n):
            heads[v] = self.entry[v + 1].head
            n_roots += heads[v] == 0
            if scores[v * N + heads[v]] == -INFINITY:
                return -INFINITY
        if single_root and n_roots != 1:
            return -INFINITY
        return tree_score(n, scores, heads)
