# Design:
# (a) Max-sum with the states off and on. Node K is the parent of all roots and always on, with edges of
#     score 0, so a forest is one tree and roots need no special case.
# (b) A hierarchy has one more rule: all labels below a label that is off are off. It has no edges, only
#     parents.
# (c) Without edges, every label is a child of node K: labels are decided independently.
# (d) To maximize products of loss and margin if all errors have the same cost, the best score of a subtree
#     is computed for every number of errors in it, from the leaves up. Merging tables of a and b entries
#     takes a b steps, so all merges take O(K^2). For both states of its parent and every total, each child
#     stores its number of errors and its state as backpointers.
"""Decoder of label sets whose interactions form a forest, and of sets closed under ancestors."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

import numpy as np

from sstruct._kernels._interruption cimport poll_signals
from sstruct._kernels._random cimport Random
from sstruct._oracles.label_set._set_decoder cimport LabelAnswer, LabelDecoder, LabelLoss
from sstruct._oracles.tree._max_sum import parents_first
from sstruct._oracles.tree._tree_sums cimport TableSums

# Labels that a search of a component has not reached.
cdef int32_t NOT_REACHED = -2


def rooted(edges, n_labels):
    """Return order, parents (n_labels at roots) and edges to the parents (-1 at roots) of a forest.

    The roots are the lowest labels of their trees.
    """
    arcs = [[] for _ in range(n_labels)]
    for e, (u, v) in enumerate(edges.tolist()):
        arcs[u].append((v, e))
        arcs[v].append((u, e))
    above = np.full(n_labels, NOT_REACHED, dtype=np.int32)
    edge_above = np.full(n_labels, -1, dtype=np.int32)
    order = []
    for root in range(n_labels):
        if above[root] != NOT_REACHED:
            continue
        above[root] = n_labels
        tree = [root]
        for u in tree:
            for v, e in arcs[u]:
                if e == edge_above[u]:
                    continue
                if above[v] != NOT_REACHED:
                    raise ValueError(
                        f"edge {tuple(edges[e].tolist())} closes a cycle, expected a forest")
                above[v], edge_above[v] = u, e
                tree.append(v)
        order += tree
    return np.array(order, dtype=np.int32), above, edge_above


cdef class LabelForest(LabelDecoder):
    """Exact decoder of label sets of a forest or a hierarchy; O(K), or O(K^2) for products.

    Parameters
    ----------
    n_labels : int
        K.
    edges : array-like of int of shape (E, 2), optional
        Edges without cycles.
    parents : array-like of int of shape (K,), optional
        For a hierarchy, the parent of each label, -1 at roots. Not supported with edges.

    Raises
    ------
    ValueError
        If edges or parents are out of range or form a cycle, or both are given.
    """

    # The forest, shared by forks. Node K is the parent of all roots and always on.
    cdef bint hierarchy
    cdef const int32_t[::1] order           # (K,) labels, parents first
    cdef const int32_t[::1] above           # (K,) parent of each label, K at roots
    cdef const int32_t[::1] edge_above      # (K,) edge to the parent, -1 if there is none
    cdef const int32_t[::1] size            # (K + 1,) number of labels of a subtree, including its root
    # Scratch: best scores of subtrees with their root off and on.
    cdef double[:, ::1] best, outside       # (2, K + 1)
    # Scratch of maximize_product, allocated on first use: best scores by number of errors.
    cdef Py_ssize_t[::1] table_start        # (K + 1,) first entry of a node's table
    cdef Py_ssize_t[::1] split_start        # (K,) first entry of a child's backpointers
    cdef double[::1] table, message, merged
    cdef int32_t[::1] filled, left, state, share

    # The labels as nodes with two states, allocated on first use: node scores and tables of edges.
    cdef TableSums sums
    cdef int32_t[::1] sum_parents
    cdef int64_t[::1] sum_start, sum_table_at
    cdef double[::1] sum_theta, sum_tables, sum_out

    def __init__(self, n_labels, edges=None, parents=None):
        cdef int32_t[::1] sizes
        self._set_model(n_labels, edges)
        self.hierarchy = parents is not None
        if self.hierarchy:
            parents = np.asarray(parents)
            if parents.shape != (n_labels,) or self.n_edges:
                raise ValueError(
                    f"parents has shape {parents.shape}, with {self.n_edges} edges; expected shape "
                    f"{(n_labels,)} and no edges")
            parents, order = parents_first(parents)
            above = np.where(parents < 0, n_labels, parents).astype(np.int32)
            edge_above = np.full(n_labels, -1, dtype=np.int32)
            self.parents = parents
        else:
            order, above, edge_above = rooted(self.edge_list, n_labels)
        sizes = np.ones(n_labels + 1, dtype=np.int32)
        for k in order[::-1]:
            sizes[above[k]] += sizes[k]
        self.order, self.above, self.edge_above, self.size = order, above, edge_above, sizes
        self.work = 10.0 * n_labels
        self.product_work = self.work + <double> n_labels * n_labels
        self.has_product = self.counts_errors = True

    def _set_scratch(self):
        LabelDecoder._set_scratch(self)
        self.best = np.empty((2, self.n_labels + 1))
        self.outside = np.empty((2, self.n_labels + 1))
        self.table = None
        self.sums = None

    cpdef LabelDecoder fork(self):
        cdef LabelForest other = LabelForest.__new__(LabelForest)
        self._share(other)
        other.hierarchy, other.order, other.above = self.hierarchy, self.order, self.above
        other.edge_above, other.size = self.edge_above, self.size
        return other

    cdef inline double edge_score(self, const double* pair, Py_ssize_t k) noexcept nogil:
        return pair[self.edge_above[k]] if self.edge_above[k] >= 0 else 0

    cdef void send(self, const double* theta, const double* pair) noexcept nogil:
        """Compute best[s, k], the best score of the subtree of k with k in state s."""
        cdef Py_ssize_t i, k, p, K = self.n_labels
        cdef double* off = &self.best[0, 0]
        cdef double* on = &self.best[1, 0]
        for k in range(K):
            off[k], on[k] = 0, theta[k]
        off[K] = on[K] = 0
        for i in range(K - 1, -1, -1):
            k = self.order[i]
            p = self.above[k]
            off[p] += off[k] if self.hierarchy else max(off[k], on[k])
            on[p] += max(off[k], on[k] + self.edge_score(pair, k))

    cdef int maximize(
            self, const double* theta, const double* pair, int32_t* code,
            LabelAnswer* answer) except -1 nogil:
        cdef Py_ssize_t i, k, p, K = self.n_labels
        cdef double* off = &self.best[0, 0]
        cdef double* on = &self.best[1, 0]
        self.send(theta, pair)
        for i in range(K):
            k = self.order[i]
            p = self.above[k]
            if p == K or code[p] == 2:
                code[k] = 2 if on[k] + self.edge_score(pair, k) > off[k] else 0
            else:
                code[k] = 2 if not self.hierarchy and on[k] > off[k] else 0
        answer.work, answer.exact = self.work, True
        return 0

    cdef int marginals(
            self, const double* theta, const double* pair, double* out) except -1 nogil:
        """Write, for each label, the best score with the label on minus that with the label off. O(K).

        Makes two sweeps; downward messages contain the best scores outside a subtree.
        """
        cdef Py_ssize_t i, k, p, K = self.n_labels
        cdef double score, of_off, of_on
        cdef double* off = &self.best[0, 0]
        cdef double* on = &self.best[1, 0]
        cdef double* rest_off = &self.outside[0, 0]
        cdef double* rest_on = &self.outside[1, 0]
        self.send(theta, pair)
        rest_off[K], rest_on[K] = -INFINITY, 0
        for i in range(K):
            k = self.order[i]
            p = self.above[k]
            score = self.edge_score(pair, k)
            # All but the subtree of k, with its parent off or on.
            of_off = rest_off[p] + off[p] - (off[k] if self.hierarchy else max(off[k], on[k]))
            of_on = rest_on[p] + on[p] - max(off[k], on[k] + score)
            rest_off[k] = max(of_off, of_on)
            rest_on[k] = of_on + score
            if not self.hierarchy:
                rest_on[k] = max(of_off, rest_on[k])
            out[k] = (rest_on[k] + on[k]) - (rest_off[k] + off[k])
        return 0

    def _make_tables(self):
        cdef Py_ssize_t k, p, K = self.n_labels, entries = 0, splits = 0
        cdef Py_ssize_t[::1] table_start = np.empty(K + 1, dtype=np.intp)
        cdef Py_ssize_t[::1] split_start = np.empty(K, dtype=np.intp)
        cdef Py_ssize_t[::1] so_far = np.ones(K + 1, dtype=np.intp)
        for k in range(K + 1):
            table_start[k] = entries
            entries += 2 * (self.size[k] + 1)
        for i in range(K - 1, -1, -1):
            k = self.order[i]
            p = self.above[k]
            split_start[k] = splits
            so_far[p] += self.size[k]
            splits += 2 * (so_far[p] + 1)
        self.table_start, self.split_start = table_start, split_start
        self.message = np.empty(2 * (K + 2))
        self.merged = np.empty(K + 2)
        self.filled = np.empty(K + 1, dtype=np.int32)
        self.state, self.left = np.empty((2, K + 1), dtype=np.int32)
        # Twice the child's number of errors, plus its state.
        self.share = np.empty(max(splits, 1), dtype=np.int32)
        self.table = np.empty(entries)

    cdef int count_errors(
            self, const double* theta, const double* pair, const LabelLoss* loss) except -1 nogil:
        """Compute table[k][s][d], the best score of the subtree of k with d errors and k in state s."""
        cdef Py_ssize_t i, k, p, s, d, j, last, n_child, width, child_width, K = self.n_labels
        cdef double value, other, score
        cdef double* of_parent
        cdef double* child_off
        cdef double* child_on
        cdef double* message = &self.message[0]
        cdef double* merged = &self.merged[0]
        cdef int32_t* share
        for k in range(K + 1):
            width = self.size[k] + 1
            of_parent = &self.table[self.table_start[k]]
            for d in range(2 * width):
                of_parent[d] = -INFINITY
            self.filled[k] = 1
            if k < K:
                of_parent[loss.off[k] > 0] = 0
                of_parent[width + (loss.on[k] > 0)] = theta[k]
            else:
                of_parent[width] = 0
        for i in range(K - 1, -1, -1):
            k = self.order[i]
            p = self.above[k]
            score = self.edge_score(pair, k)
            n_child, width, child_width = self.size[k], self.size[p] + 1, self.size[k] + 1
            child_off = &self.table[self.table_start[k]]
            child_on = child_off + child_width
            last = self.filled[p] + n_child
            for s in range(2):
                of_parent = &self.table[self.table_start[p]] + s * width
                share = &self.share[self.split_start[k]] + s * (last + 1)
                for j in range(n_child + 1):
                    other = child_on[j] + score if s else child_on[j]
                    message[j] = child_off[j]
                    if other > child_off[j] and (s or not self.hierarchy):
                        message[j] = other
                for d in range(last + 1):
                    merged[d] = -INFINITY
                    share[d] = 0
                for d in range(self.filled[p] + 1):
                    if of_parent[d] == -INFINITY:
                        continue
                    for j in range(n_child + 1):
                        value = of_parent[d] + message[j]
                        if value > merged[d + j]:
                            merged[d + j] = value
                            share[d + j] = <int32_t> (2 * j + (message[j] != child_off[j]))
                poll_signals(<double> self.filled[p] * n_child)
                for d in range(last + 1):
                    of_parent[d] = merged[d]
            self.filled[p] = <int32_t> last
        return 0

    cdef int maximize_product(
            self, const double* theta, const double* pair, const LabelLoss* loss, double offset,
            int32_t* code, LabelAnswer* answer) except -1 nogil:
        """Maximize d (offset + best score with d errors) if every error has the same cost. O(K^2)."""
        cdef Py_ssize_t i, k, p, d, K = self.n_labels
        cdef int32_t most = 0
        cdef double best = 0, value
        cdef const double* of_all
        cdef int32_t share
        if self.table is None:
            with gil:
                self._make_tables()
        answer.work, answer.exact = self.product_work, True
        memcpy(code, loss.truth, K * sizeof(int32_t))
        self.count_errors(theta, pair, loss)
        of_all = &self.table[self.table_start[K]] + self.size[K] + 1
        for d in range(1, K + 1):
            value = d * (offset + of_all[d])
            if value > best:
                best, most = value, <int32_t> d
        if most == 0:
            return 0
        # The first child in `order` was merged last, so its backpointer refers to the full total.
        self.left[K], self.state[K] = most, 1
        for i in range(K):
            k = self.order[i]
            p = self.above[k]
            share = self.share[
                self.split_start[k] + self.state[p] * (self.filled[p] + 1) + self.left[p]]
            self.left[k], self.state[k] = share >> 1, share & 1
            self.left[p] -= self.left[k]
            self.filled[p] -= self.size[k]
            code[k] = 2 * self.state[k]
        return 0

    def _make_sums(self):
        cdef Py_ssize_t K = self.n_labels
        above = np.asarray(self.above)
        self.sum_parents = np.where(above == K, -1, above).astype(np.int32)
        self.sum_start, self.sum_table_at = 2 * np.arange(K + 1), 4 * np.arange(K + 1)
        self.sum_theta, self.sum_out, self.sum_tables = np.zeros(2 * K), np.zeros(2 * K), np.zeros(4 * K)
        self.sums = TableSums()

    cdef double log_partition(
            self, const double* theta, const double* pair, const int32_t* known,
            double scale) except? -1 nogil:
        cdef Py_ssize_t k
        if self.sums is None:
            with gil:
                self._make_sums()
        for k in range(self.n_labels):
            self.sum_theta[2 * k + 1] = theta[k]
            self.sum_tables[4 * k + 3] = self.edge_score(pair, k)
            if self.hierarchy:
                self.sum_tables[4 * k + 1] = -INFINITY
        self.sums.tables, self.sums.table_at = &self.sum_tables[0], &self.sum_table_at[0]
        return self.sums.log_partition(
            self.n_labels, &self.order[0], &self.sum_parents[0], &self.sum_start[0],
            &self.sum_theta[0], known, scale)

    cdef int probabilities(self, double* out) except -1 nogil:
        cdef Py_ssize_t k
        self.sums.marginals(&self.sum_out[0])
        for k in range(self.n_labels):
            out[k] = self.sum_out[2 * k + 1]
        return 0

    cdef int sample(self, Random* random, int32_t* labels) except -1 nogil:
        return self.sums.sample(random, labels)
