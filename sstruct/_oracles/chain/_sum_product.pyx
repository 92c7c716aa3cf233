# Design:
# (a) The distribution p(y) = exp(scale * score(y)) / Z of the labelings of a chain: log Z, marginals of
#     nodes and transitions, probabilities of spans, and samples. Input: potentials, as for Viterbi.
# (b) The sweeps multiply by exponentials of the transitions, which are computed once per table, and divide
#     by the sum at every position. With one table, this takes K exponentials and hardly any logarithms per
#     position.
# (c) Exponentials may underflow if scores differ by more than 230 / scale. The kernels detect this risk, and
#     the chain is computed again with logarithms (`in_logs`), K^2 exponentials per position. Exact zeros,
#     such as those of forbidden labels, do not count as underflow.
# (d) Spans and pairs are computed from logarithms of the results of both sweeps, after (b) as after (c).
"""Partition function, marginals and samples of chains by the sum-product algorithm."""

from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, int64_t

from sstruct._kernels._interruption cimport poll_signals
from sstruct._kernels._random cimport Random, random_choice
from sstruct._oracles.core._log_sum cimport log_of_sum

cdef extern from "sstruct/_kernels/kernels.h":
    int sstruct_exponentials(
        const double* x, int64_t n, double shift, double scale, double* out) noexcept nogil
    int sstruct_sum_forward(
        const double* theta, int64_t K, int64_t KP, const double* edge, double scale,
        int64_t begin, int64_t end, double* node, double* share, double* factor) noexcept nogil
    int sstruct_sum_backward(
        const double* theta, int64_t K, int64_t KP, const double* transposed, double scale,
        int64_t begin, int64_t end, const double* factor, double* node, double* rest) noexcept nogil
    void sstruct_normalized_product(
        const double* share, const double* rest, int64_t n, double* out) noexcept nogil

# Work between checks for signals within a chain, about a millisecond.
cdef Py_ssize_t STRETCH = 1000000


cdef class ChainSums(Storage):
    """Sums over the labelings of one chain at a time; owns the scratch memory."""

    cdef double log_partition(
            self, double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP, const double* edge,
            Py_ssize_t edge_step, double scale) except? -1 nogil:
        """Return log(sum of exp(scale * score) over all labelings), -inf if all are forbidden.

        The arguments are those of `viterbi_labels`, and must remain valid for the other methods. The
        padding of theta is overwritten. Exponentials of one table of transitions are kept for the
        next chain with the same pointer and scale; set `table_of` to NULL after its values have changed.
        Time O(L K^2), even without edges; memory O(L K + K^2).
        """
        cdef Py_ssize_t l, k
        cdef double value
        self.L, self.K, self.KP, self.scale = L, K, KP, scale
        self.theta, self.edge, self.edge_step = theta, edge, edge_step
        self.grow(<void**> &self.share, L * KP, sizeof(double))
        self.grow(<void**> &self.factor, 2 * L, sizeof(double))
        self.grow(<void**> &self.node, KP, sizeof(double))
        self.grow(<void**> &self.table, K * KP, sizeof(double))
        self.grow(<void**> &self.transposed, K * KP, sizeof(double))
        for l in range(L):
            for k in range(K, KP):
                theta[l * KP + k] = -INFINITY
        self.in_logs = False
        value = self.scaled_forward()
        if self.in_logs:
            value = self.log_forward()
        return value

    cdef int fill_table(self, const double* edge) except -1 nogil:
        """Compute the exponentials of a table of transitions, and their transpose."""
        cdef Py_ssize_t j, k, K = self.K, KP = self.KP
        cdef double shift = -INFINITY
        if edge == self.table_of and self.scale == self.table_scale and self.edge_step == 0:
            return 0
        for j in range(K):
            for k in range(K):
                shift = max(shift, edge[j * KP + k] if edge != NULL else 0)
        self.is_risky = False
        for j in range(K):
            if edge == NULL:
                for k in range(K):
                    self.table[j * KP + k] = 1
            elif sstruct_exponentials(edge + j * KP, KP, shift, self.scale, self.table + j * KP):
                self.is_risky = True
            for k in range(K, KP):
                self.table[j * KP + k] = 0
                self.transposed[j * KP + k] = 0
        for j in range(K):
            for k in range(K):
                self.transposed[j * KP + k] = self.table[k * KP + j]
        self.table_of, self.table_scale, self.table_shift = edge, self.scale, shift
        poll_signals(2.0 * K * KP)
        return 0

    cdef double scaled_forward(self) except? -1 nogil:
        """Fill `share` and `factor`; set `in_logs` if there is a risk of underflow."""
        cdef Py_ssize_t l, begin = 0, end, K = self.K, KP = self.KP
        cdef Py_ssize_t step = 1 if self.edge_step else max(STRETCH // (K * KP), 1)
        cdef double value = 0, product = 1
        if self.L > 1 and self.edge_step == 0:
            self.fill_table(self.edge)
            self.in_logs = self.is_risky
        while begin < self.L and not self.in_logs:
            end = min(begin + step, self.L)
            if self.edge_step != 0 and begin > 0:
                self.fill_table(self.edge + (begin - 1) * self.edge_step)
                self.in_logs = self.is_risky
                value += self.scale * self.table_shift
            self.in_logs |= sstruct_sum_forward(
                self.theta, K, KP, self.table, self.scale, begin, end, self.node, self.share,
                self.factor)
            poll_signals(<double> (end - begin) * K * KP)
            begin = end
        if self.in_logs:
            return 0
        for l in range(self.L):
            value += self.scale * self.factor[2 * l + 1]
            # One logarithm for many factors; each is at least exp(-690) and at most K.
            if product < 1e-4 or product > 1e100:
                value += log(product)
                product = 1
            product *= self.factor[2 * l]
        value += log(product)
        if self.edge_step == 0 and self.L > 1:
            value += self.scale * self.table_shift * (self.L - 1)
        return value

    cdef inline double edge_score(self, Py_ssize_t l, Py_ssize_t j, Py_ssize_t k) noexcept nogil:
        """Return the scaled score of the transition from j at l - 1 to k at l."""
        if self.edge == NULL:
            return 0
        return self.scale * self.edge[(l - 1) * self.edge_step + j * self.KP + k]

    cdef double log_forward(self) except? -1 nogil:
        """Fill `share` with logarithms."""
        cdef Py_ssize_t l, j, k, K = self.K, KP = self.KP
        cdef double* now
        for l in range(self.L):
            now = self.share + l * KP
            for k in range(K):
                now[k] = self.scale * self.theta[l * KP + k]
                if l > 0:
                    for j in range(K):
                        self.node[j] = now[j - KP] + self.edge_score(l, j, k)
                    now[k] += log_of_sum(self.node, K, 1)
            poll_signals(10.0 * K * K)
        return log_of_sum(self.share + (self.L - 1) * KP, K, 1)

    cdef int backward(self) except -1 nogil:
        """Fill `rest`, after `log_partition`, which must not have returned -inf."""
        cdef Py_ssize_t k, begin, end = self.L - 1, K = self.K, KP = self.KP
        cdef Py_ssize_t step = 1 if self.edge_step else max(STRETCH // (K * KP), 1)
        cdef bint risky = False
        self.grow(<void**> &self.rest, self.L * KP, sizeof(double))
        if self.in_logs:
            return self.log_backward()
        for k in range(KP):
            self.rest[end * KP + k] = k < K
        while end > 0 and not risky:
            begin = max(end - step, 0)
            if self.edge_step != 0:
                self.fill_table(self.edge + begin * self.edge_step)
            risky = sstruct_sum_backward(
                self.theta, K, KP, self.transposed, self.scale, begin, end, self.factor,
                self.node, self.rest)
            poll_signals(<double> (end - begin) * K * KP)
            end = begin
        if risky:
            self.in_logs = True
            self.log_forward()
            self.log_backward()
        return 0

    cdef int log_backward(self) except -1 nogil:
        """Fill `rest` with logarithms."""
        cdef Py_ssize_t l, j, k, K = self.K, KP = self.KP
        cdef double* now
        for k in range(K):
            self.rest[(self.L - 1) * KP + k] = 0
        for l in range(self.L - 2, -1, -1):
            now = self.rest + l * KP
            for j in range(K):
                for k in range(K):
                    self.node[k] = self.edge_score(l + 1, j, k) + now[KP + k] + (
                        self.scale * self.theta[(l + 1) * KP + k])
                now[j] = log_of_sum(self.node, K, 1)
            poll_signals(10.0 * K * K)
        return 0

    cdef int marginals(self, double* out) except -1 nogil:
        """Write p(y_l = k), L rows of KP entries with padding 0, after `backward`."""
        cdef Py_ssize_t l, k, K = self.K, KP = self.KP
        cdef double total
        for l in range(self.L):
            if not self.in_logs:
                sstruct_normalized_product(
                    self.share + l * KP, self.rest + l * KP, KP, out + l * KP)
                continue
            total = self.log_total(l)
            for k in range(KP):
                out[l * KP + k] = 0 if k >= K else exp(
                    self.log_share(l, k) + self.log_rest(l, k) - total)
            poll_signals(10.0 * K)
        return 0

    cdef inline double log_share(self, Py_ssize_t l, Py_ssize_t k) noexcept nogil:
        cdef double value = self.share[l * self.KP + k]
        return value if self.in_logs else log(value)

    cdef inline double log_rest(self, Py_ssize_t l, Py_ssize_t k) noexcept nogil:
        cdef double value = self.rest[l * self.KP + k]
        return value if self.in_logs else log(value)

    cdef double log_factor(self, Py_ssize_t l) noexcept nogil:
        """Return the logarithm of the factor by which the forward sweep divided at position l."""
        cdef double shift = 0
        cdef Py_ssize_t j, k
        if self.in_logs:
            return 0
        if l > 0 and self.edge != NULL:
            shift = self.table_shift
            if self.edge_step != 0:
                shift = -INFINITY
                for j in range(self.K):
                    for k in range(self.K):
                        shift = max(shift, self.edge[(l - 1) * self.edge_step + j * self.KP + k])
        return log(self.factor[2 * l]) + self.scale * (self.factor[2 * l + 1] + shift)

    cdef double log_total(self, Py_ssize_t l) noexcept nogil:
        """Return the logarithm of the sum of share * rest at a position; overwrites `node`."""
        cdef Py_ssize_t k
        for k in range(self.K):
            self.node[k] = self.log_share(l, k) + self.log_rest(l, k)
        return log_of_sum(self.node, self.K, 1)

    cdef int sample(self, Random* random, int32_t* labels) except -1 nogil:
        """Draw a labeling, after `log_partition`, which must not have returned -inf."""
        cdef Py_ssize_t l, k, y = 0, K = self.K
        cdef double total, highest
        cdef double* weight = self.node
        for l in range(self.L - 1, -1, -1):
            highest = -INFINITY
            for k in range(K):
                weight[k] = self.log_share(l, k)
                if l < self.L - 1:
                    weight[k] += self.edge_score(l + 1, k, y)
                highest = max(highest, weight[k])
            total = 0
            for k in range(K):
                weight[k] = exp(weight[k] - highest)
                total += weight[k]
            y = random_choice(random, weight, K, total)
            labels[l] = <int32_t> y
            poll_signals(20.0 * K)
        return 0

    cdef double span(
            self, Py_ssize_t start, Py_ssize_t stop, const unsigned char* inside,
            const unsigned char* continues) except? -1 nogil:
        """Return the probability that a span covers exactly the positions start ... stop - 1.

        inside : K flags of the labels of such a span    continues : K x K flags of the transitions
        between two labels of one span. After `backward`.
        """
        cdef Py_ssize_t l, j, k, K = self.K
        cdef double total, value = -INFINITY
        cdef double* now
        cdef double* later
        cdef double* spare
        self.grow(<void**> &self.table_row, 3 * K, sizeof(double))
        now, later, spare = self.table_row, self.table_row + K, self.table_row + 2 * K
        for k in range(K):
            now[k] = -INFINITY
            if not inside[k]:
                continue
            if start == 0:
                now[k] = self.log_share(0, k)
                continue
            for j in range(K):
                spare[j] = -INFINITY if continues[j * K + k] else (
                    self.log_share(start - 1, j) + self.edge_score(start, j, k))
            now[k] = log_of_sum(spare, K, 1) + self.scale * self.theta[start * self.KP + k] - (
                self.log_factor(start))
        for l in range(start + 1, stop):
            for k in range(K):
                later[k] = -INFINITY
                if not inside[k]:
                    continue
                for j in range(K):
                    spare[j] = -INFINITY if not (inside[j] and continues[j * K + k]) else (
                        now[j] + self.edge_score(l, j, k))
                later[k] = log_of_sum(spare, K, 1) + self.scale * self.theta[l * self.KP + k] - (
                    self.log_factor(l))
            now, later = later, now
            poll_signals(10.0 * K * K)
        if stop == self.L:
            total, value = self.log_total(stop - 1), log_of_sum(now, K, 1)
            return exp(value - total)
        total = self.log_total(stop) + self.log_factor(stop)
        for k in range(K):
            for j in range(K):
                spare[j] = -INFINITY if not inside[j] or continues[j * K + k] else (
                    now[j] + self.edge_score(stop, j, k))
            later[k] = log_of_sum(spare, K, 1) + self.scale * self.theta[stop * self.KP + k] + (
                self.log_rest(stop, k))
        return exp(log_of_sum(later, K, 1) - total)
