# Design:
# (a) The equivalent of _error_table.pyx for rooted forests whose nodes may have different labels. An
#     error is a label that differs from the true label of its node.
# (b) B_v(d, s): best score of the tree below v with label s at v and d errors. Children are merged
#     one at a time: B_v(d, s) <- max_e B_v(d - e, s) + m_c(e, s), where m_c is the child's message, a
#     maximum over its labels for each e. A tree has no more errors than nodes, so all merges of a
#     forest of n nodes visit O(n^2) pairs (d, e) for each label. Roots are merged in the same way.
# (c) The merge of child c stores e for each (d, s of its parent) in `share`, and a message stores the
#     child's label in `origin`. Backtracking visits parents first, and the last merged child first.
# (d) A table has a row of labels for each d; n + 1 rows are allocated. The table of node v starts at
#     (n + 1) start[v], the tables of its edge at (n + 1) origin_at[v]. Nodes without labels are ignored.
"""Best scores of trees and forests by number of errors."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint16_t
from libc.string cimport memcpy

from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.tree._max_sum cimport best_sum


cdef int join(
        const double* a, Py_ssize_t n_a, const double* b, Py_ssize_t n_b, Py_ssize_t S,
        double* merged, uint16_t* share) except -1 nogil:
    """merged[d, s] = max_e a[d - e, s] + b[e, s], e in `share`; a has n_a + 1 rows, b n_b + 1."""
    cdef Py_ssize_t d, e, s
    cdef double value
    for s in range((n_a + n_b + 1) * S):
        merged[s] = -INFINITY
        share[s] = 0
    for d in range(n_a + 1):
        for e in range(n_b + 1):
            for s in range(S):
                value = a[d * S + s] + b[e * S + s]
                if value > merged[(d + e) * S + s]:
                    merged[(d + e) * S + s] = value
                    share[(d + e) * S + s] = <uint16_t> e
        poll_signals(<double> (n_b + 1) * S)
    return 0


cdef class TreeErrorTable:
    """Best scores by number of errors, for one forest at a time; scratch memory grows as needed."""

    cdef int reserve(
            self, Py_ssize_t n_labels, Py_ssize_t most, Py_ssize_t n_origins) except -1 nogil:
        """Allocate memory.

        n_labels : total number of labels of all nodes    most : largest number of labels of a node
        n_origins : total number of labels of the parents of all nodes
        """
        cdef Py_ssize_t n = self.n_nodes, rows = n + 1
        self.grow(<void**> &self.best, rows, sizeof(double))
        self.grow(<void**> &self.root_share, n * rows, sizeof(uint16_t))
        self.grow(<void**> &self.size, n, sizeof(int32_t))
        self.grow(<void**> &self.left, n, sizeof(int32_t))
        self.grow(<void**> &self.belief, rows * n_labels, sizeof(double))
        self.grow(<void**> &self.message, rows * most, sizeof(double))
        self.grow(<void**> &self.merged, rows * most, sizeof(double))
        self.grow(<void**> &self.origin, rows * n_origins, sizeof(int32_t))
        self.grow(<void**> &self.share, rows * n_origins, sizeof(uint16_t))
        return 0

    cdef int fill(
            self, Py_ssize_t n_nodes, const int32_t* order, const int32_t* parents,
            const int64_t* start, const int64_t* origin_at, const double* scores,
            const double* tables, const int64_t* table_at, const int32_t* truth) except -1 nogil:
        """Compute `best` for 0 ... n_errors errors, where n_errors is the number of nodes with labels.

        order : n_nodes, parents first    parents : n_nodes, -1 at a root    truth : n_nodes
        tables + table_at[v] : labels of the parent x labels of v
        origin_at[v] : total number of labels of the parents of nodes with parents before v
        Order, parents, start and origin_at must remain valid for `labels`.
        O(sum over edges of (nodes below) S_parent S_child, and n_nodes^2 times the labels).
        """
        cdef Py_ssize_t k, v, p, s, j, e, S, n, rows = n_nodes + 1, most = 1, n_origins = 1
        cdef double value
        cdef double* own
        cdef double* message
        self.n_nodes, self.order, self.parents = n_nodes, order, parents
        self.start, self.origin_at, self.n_errors = start, origin_at, 0
        for v in range(n_nodes):
            most = max(most, start[v + 1] - start[v])
            if parents[v] >= 0:
                n_origins = max(
                    n_origins, origin_at[v] + start[parents[v] + 1] - start[parents[v]])
        self.reserve(start[n_nodes], most, n_origins)
        message = self.message
        for v in range(n_nodes):
            S = start[v + 1] - start[v]
            own = self.belief + rows * start[v]
            self.size[v] = S > 0
            for s in range(S):
                own[s] = scores[start[v] + s] if s == truth[v] else -INFINITY
                own[S + s] = scores[start[v] + s] if s != truth[v] else -INFINITY
        self.best[0] = 0
        for k in range(n_nodes - 1, -1, -1):
            v = order[k]
            p = parents[v]
            S = start[v + 1] - start[v]
            own = self.belief + rows * start[v]
            if S == 0:
                continue
            if p < 0:
                for e in range(self.size[v] + 1):
                    message[e] = -INFINITY
                    for s in range(S):
                        message[e] = max(message[e], own[e * S + s])
                join(
                    self.best, self.n_errors, message, self.size[v], 1, self.merged,
                    &self.root_share[v * rows])
                self.n_errors += self.size[v]
                memcpy(self.best, self.merged, (self.n_errors + 1) * sizeof(double))
                continue
            n = start[p + 1] - start[p]
            for e in range(self.size[v] + 1):
                for j in range(n):
                    self.origin[rows * origin_at[v] + e * n + j] = <int32_t> best_sum(
                        own + e * S, tables + table_at[v] + j * S, S, &value)
                    message[e * n + j] = value
                poll_signals(<double> n * S)
            own = self.belief + rows * start[p]
            join(
                own, self.size[p], message, self.size[v], n, self.merged,
                &self.share[rows * origin_at[v]])
            self.size[p] += self.size[v]
            memcpy(own, self.merged, (self.size[p] + 1) * n * sizeof(double))
        return 0

    cdef void labels(self, Py_ssize_t d, int32_t* labels) noexcept nogil:
        """Backtrack the best labeling with d errors, whose score must not be -inf."""
        cdef Py_ssize_t k, v, p, s, S, n, place, rows = self.n_nodes + 1
        cdef int32_t* left = self.left
        cdef const double* own
        for k in range(self.n_nodes):
            v = self.order[k]
            p = self.parents[v]
            S = self.start[v + 1] - self.start[v]
            if S == 0:
                labels[v] = -1
            elif p < 0:
                left[v] = self.root_share[v * rows + d]
                d -= left[v]
                own = &self.belief[rows * self.start[v] + left[v] * S]
                labels[v] = 0
                for s in range(1, S):
                    if own[s] > own[labels[v]]:
                        labels[v] = <int32_t> s
            else:
                n = self.start[p + 1] - self.start[p]
                place = rows * self.origin_at[v]
                left[v] = self.share[place + left[p] * n + labels[p]]
                left[p] -= left[v]
                labels[v] = self.origin[place + left[v] * n + labels[p]]
