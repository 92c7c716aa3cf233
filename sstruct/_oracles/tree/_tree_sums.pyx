# Design:
# (a) The distribution p(y) = exp(scale * score(y)) / Z of the labelings of a rooted forest whose nodes may
#     have different labels, in the flat arrays of _max_sum.pyx: log Z, marginals and samples.
# (b) Beliefs are logarithms of sums, passed up from the leaves. The maximum of each message is
#     subtracted from it and added to log Z. Sums therefore do not underflow, whatever the scores, and
#     errors do not grow with the depth.
# (c) The way down only needs p(label of a node | label of its parent), which are the normalized terms of the
#     message's sum. Marginals are sums of products of probabilities; no message is divided out.
# (d) Subclasses define the scores of an edge by rows, which contain the scores of all labels of a node for
#     one label of its parent.
"""Partition function, marginals and samples of trees and forests by the sum-product algorithm."""

from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, int64_t

from sstruct._kernels._interruption cimport poll_signals
from sstruct._kernels._random cimport Random, random_choice

cdef extern from "sstruct/_kernels/kernels.h":
    int64_t sstruct_padded(int64_t K) noexcept nogil
    int sstruct_exponentials(
        const double* x, int64_t n, double shift, double scale, double* out) noexcept nogil


cdef class TreeSums(Storage):
    """Sums over the labelings of one forest at a time; owns the scratch memory."""

    cdef void begin_edge(self, Py_ssize_t v) noexcept nogil:
        """Prepare calls of `edge_row` for the edge from v to its parent."""

    cdef const double* edge_row(self, Py_ssize_t v, Py_ssize_t j) noexcept nogil:
        """Return the scores of the edge of v for each of its labels, if its parent has label j."""
        return NULL

    cdef double log_partition(
            self, Py_ssize_t n_nodes, const int32_t* order, const int32_t* parents,
            const int64_t* start, const double* theta, const int32_t* known,
            double scale) except? -1 nogil:
        """Return log(sum of exp(scale * score) over all labelings), -inf if all are forbidden.

        order : n_nodes, parents first    parents : n_nodes, -1 at a root
        start : n_nodes + 1, first entry of each node in theta    theta : node scores, -inf forbids a label
        known : n_nodes, the label that a node must have, or -1; NULL if all labels are free
        The arrays must remain valid for the other methods. O(sum over edges of the product of the numbers
        of labels) time.
        """
        cdef Py_ssize_t i, v, p, j, n, widest = 1
        cdef double value = 0, highest, total
        cdef double* mine
        cdef double* above
        cdef double* message
        self.n_nodes, self.order, self.parents, self.start = n_nodes, order, parents, start
        self.scale = scale
        for v in range(n_nodes):
            widest = max(widest, start[v + 1] - start[v])
        self.grow(<void**> &self.belief, start[n_nodes], sizeof(double))
        self.grow(<void**> &self.room, sstruct_padded(widest), sizeof(double))
        self.grow(<void**> &self.share, 2 * sstruct_padded(widest), sizeof(double))
        message = self.share + sstruct_padded(widest)
        for v in range(n_nodes):
            mine = self.belief + start[v]
            for j in range(start[v + 1] - start[v]):
                mine[j] = scale * theta[start[v] + j] if theta[start[v] + j] > -INFINITY and (
                    known == NULL or known[v] < 0 or known[v] == j) else -INFINITY
        for i in range(n_nodes - 1, -1, -1):
            v = order[i]
            p = parents[v]
            if p < 0:
                highest = self.weigh(v, NULL, &total)
                value += highest + log(total)
                if highest == -INFINITY:
                    return highest
                continue
            above, n = self.belief + start[p], start[p + 1] - start[p]
            highest = self.message(v, above, n, message)
            poll_signals(20 + 4.0 * n * (start[v + 1] - start[v]))
            if highest == -INFINITY:
                return highest
            value += highest
            for j in range(n):
                above[j] += message[j] - highest
        return value

    cdef double message(
            self, Py_ssize_t v, const double* above, Py_ssize_t n, double* out) noexcept nogil:
        """out[j] = log of the sum over the subtree of v if its parent has label j; return the maximum.

        above : n, the belief of the parent, -inf for labels that are forbidden and can be left out
        """
        cdef Py_ssize_t j
        cdef double total, highest = -INFINITY
        self.begin_edge(v)
        for j in range(n):
            out[j] = -INFINITY
            if above[j] > -INFINITY:
                out[j] = self.weigh(v, self.edge_row(v, j), &total)
                out[j] += log(total)
                highest = max(highest, out[j])
        return highest

    cdef void divide(
            self, Py_ssize_t v, const double* above, Py_ssize_t n, double* out) noexcept nogil:
        """out[s] = sum_j above[j] p(label s of v | label j of its parent)

        above : n, the marginals of the parent
        """
        cdef Py_ssize_t j, s, size = self.start[v + 1] - self.start[v]
        cdef double total
        for s in range(size):
            out[s] = 0
        self.begin_edge(v)
        for j in range(n):
            if above[j] > 0:
                self.weigh(v, self.edge_row(v, j), &total)
                total = above[j] / total
                for s in range(size):
                    out[s] += total * self.share[s]

    cdef double weigh(self, Py_ssize_t v, const double* row, double* total) noexcept nogil:
        """share[s] = exp(belief + scale * row - maximum); set their sum, and return the maximum.

        row : NULL for zeros. If the maximum is -inf, the sum is 1.
        """
        cdef Py_ssize_t s, n = self.start[v + 1] - self.start[v]
        cdef double highest = -INFINITY
        cdef double* room = self.room
        cdef const double* belief = self.belief + self.start[v]
        for s in range(n):
            room[s] = belief[s] + (self.scale * row[s] if row != NULL else 0)
            highest = max(highest, room[s])
        total[0] = 1
        if highest == -INFINITY:
            return highest
        if n <= 2:      # faster than a call of the kernel
            for s in range(n):
                self.share[s] = 1 if room[s] == highest else exp(room[s] - highest)
            total[0] = self.share[0] + (self.share[1] if n == 2 else 0)
            return highest
        for s in range(n, sstruct_padded(n)):
            room[s] = -INFINITY
        sstruct_exponentials(room, sstruct_padded(n), highest, 1, self.share)
        total[0] = 0
        for s in range(n):
            total[0] += self.share[s]
        return highest

    cdef int marginals(self, double* out) except -1 nogil:
        """Write p(y_v = s) at start[v] + s, after `log_partition`, which must not have returned -inf."""
        cdef Py_ssize_t i, v, p, s, n
        cdef double total, sum_of_all
        cdef double* mine
        cdef const double* above
        for i in range(self.n_nodes):
            v = self.order[i]
            p = self.parents[v]
            mine, n = out + self.start[v], self.start[v + 1] - self.start[v]
            if p < 0:
                self.weigh(v, NULL, &total)
                for s in range(n):
                    mine[s] = self.share[s] / total
                continue
            above = out + self.start[p]
            self.divide(v, above, self.start[p + 1] - self.start[p], mine)
            # Normalize, so that rounding errors do not accumulate along a path.
            sum_of_all = 0
            for s in range(n):
                sum_of_all += mine[s]
            for s in range(n):
                mine[s] /= sum_of_all
            poll_signals(20 + 5.0 * n * (self.start[p + 1] - self.start[p]))
        return 0

    cdef int sample(self, Random* random, int32_t* labels) except -1 nogil:
        """Draw a labeling, after `log_partition`, which must not have returned -inf."""
        cdef Py_ssize_t i, v, p
        cdef double total
        for i in range(self.n_nodes):
            v = self.order[i]
            p = self.parents[v]
            if p >= 0:
                self.begin_edge(v)
            self.weigh(v, self.edge_row(v, labels[p]) if p >= 0 else NULL, &total)
            labels[v] = <int32_t> random_choice(
                random, self.share, self.start[v + 1] - self.start[v], total)
            poll_signals(20 + 4.0 * (self.start[v + 1] - self.start[v]))
        return 0


cdef class TableSums(TreeSums):
    """Edges with a table each: labels of the parent x labels of v, starting at tables + table_at[v]."""

    cdef const double* edge_row(self, Py_ssize_t v, Py_ssize_t j) noexcept nogil:
        return self.tables + self.table_at[v] + j * (self.start[v + 1] - self.start[v])
