# Design:
# (a) The distribution p(y) = exp(scale * f(y)) / Z of all sets of a few labels, by enumeration. Labels are
#     added one after the other: the scores of sets with the next label are those without it plus the gains
#     of the label, which are computed in the same way. Known labels are not enumerated.
# (b) Sums over the last labels are added up in pairs, down to the sum of all sets. Marginals and samples are
#     ratios of these sums. Nothing is subtracted. O(2^K) for all marginals, O(K) for a sample.
"""Sums over the sets of few labels."""

from libc.math cimport INFINITY, log
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memset

from sstruct._kernels._interruption cimport poll_signals
from sstruct._kernels._random cimport Random, random_choice

cdef extern from "sstruct/_kernels/kernels.h":
    int sstruct_exponentials(
        const double* x, int64_t n, double shift, double scale, double* out) noexcept nogil


cdef class SetSums(Storage):
    """Sums over all sets of labels of one model at a time; each thread requires its own object."""

    cdef double log_partition(
            self, Py_ssize_t n_labels, Py_ssize_t n_edges, const int32_t* edges, const double* theta,
            const double* pair, const int32_t* known, double scale,
            const unsigned char* allowed) except? -1 nogil:
        """Return log(sum of exp(scale * f(y)) over all sets y that agree with known labels).

        known : n_labels, 1 if a label is on, 0 if it is off, -1 if it is free; NULL if all are
        allowed : 2^n_labels, whether a set counts, where bit k is label k; NULL if all do
        -inf if there are no such sets.
        """
        cdef Py_ssize_t k, e, S, u, v, half, n_sets, n = 0
        cdef double constant = 0, highest = -INFINITY
        self.n_labels = n_labels
        self.grow(<void**> &self.free, n_labels, sizeof(int32_t))
        self.grow(<void**> &self.state, n_labels, sizeof(int32_t))
        for k in range(n_labels):
            self.state[k] = -1 if known == NULL else known[k]
            if self.state[k] < 0:
                self.free[n] = <int32_t> k
                n += 1
            elif self.state[k]:
                constant += theta[k]
        self.n_free, n_sets = n, (<Py_ssize_t> 1) << n
        self.grow(<void**> &self.level, max(2 * n_sets, 16), sizeof(double))
        self.grow(<void**> &self.score, max(n_sets, 8), sizeof(double))
        self.grow(<void**> &self.gain, max(n_sets, 8), sizeof(double))
        self.grow(<void**> &self.between, n_labels * n_labels, sizeof(double))
        memset(self.between, 0, n_labels * n_labels * sizeof(double))
        for e in range(n_edges):
            u, v = edges[2 * e], edges[2 * e + 1]
            self.between[u * n_labels + v] = self.between[v * n_labels + u] = pair[e]
            if self.state[u] == 1 and self.state[v] == 1:
                constant += pair[e]
        self.score[0] = constant
        for k in range(n):
            self.add_label(k, theta)
        if allowed != NULL:
            self.forbid(n_sets, allowed)
        for S in range(n_sets):
            highest = max(highest, self.score[S])
        if highest == -INFINITY:
            return highest
        for S in range(n_sets, 8):
            self.score[S] = -INFINITY
        sstruct_exponentials(
            self.score, max(n_sets, 8), highest, scale, self.level + n_sets)
        for k in range(n - 1, -1, -1):
            half = (<Py_ssize_t> 1) << k
            for S in range(half):
                self.level[half + S] = self.level[2 * half + S] + self.level[3 * half + S]
        poll_signals(8.0 * n_sets)
        return scale * highest + log(self.level[1])

    cdef int forbid(self, Py_ssize_t n_sets, const unsigned char* allowed) except -1 nogil:
        """Set the scores of sets that are not allowed to -inf."""
        cdef Py_ssize_t k, S, n
        self.grow(<void**> &self.whole, n_sets, sizeof(uint32_t))
        self.whole[0] = 0
        for k in range(self.n_labels):
            if self.state[k] == 1:
                self.whole[0] |= <uint32_t> 1 << k
        for k in range(self.n_free):
            n = (<Py_ssize_t> 1) << k
            for S in range(n):
                self.whole[n + S] = self.whole[S] | <uint32_t> 1 << self.free[k]
        for S in range(n_sets):
            if not allowed[self.whole[S]]:
                self.score[S] = -INFINITY
        return 0

    cdef void add_label(self, Py_ssize_t k, const double* theta) noexcept nogil:
        """Fill in the scores of the sets whose last free label is the k-th one."""
        cdef Py_ssize_t label = self.free[k], m, S, n
        cdef double* gain = self.gain
        cdef const double* between = self.between + label * self.n_labels
        gain[0] = theta[label]
        for m in range(self.n_labels):
            if self.state[m] == 1:
                gain[0] += between[m]
        for m in range(k):
            n = (<Py_ssize_t> 1) << m
            for S in range(n):
                gain[n + S] = gain[S] + between[self.free[m]]
        n = (<Py_ssize_t> 1) << k
        for S in range(n):
            self.score[n + S] = self.score[S] + gain[S]

    cdef int marginals(self, double* out) except -1 nogil:
        """Write the probability of each label, after `log_partition`."""
        cdef Py_ssize_t k, S, n
        for k in range(self.n_labels):
            out[k] = self.state[k] == 1
        for k in range(self.n_free):
            n = (<Py_ssize_t> 1) << k
            for S in range(n):
                out[self.free[k]] += self.level[3 * n + S]
            out[self.free[k]] /= self.level[1]
        return 0

    cdef int sample(self, Random* random, int32_t* labels) except -1 nogil:
        """Draw a set, after `log_partition`."""
        cdef Py_ssize_t k, S = 0, n
        cdef double[2] weight
        for k in range(self.n_labels):
            labels[k] = self.state[k]
        for k in range(self.n_free):
            n = (<Py_ssize_t> 1) << k
            weight[0], weight[1] = self.level[2 * n + S], self.level[3 * n + S]
            labels[self.free[k]] = <int32_t> random_choice(
                random, weight, 2, weight[0] + weight[1])
            S += n * labels[self.free[k]]
        return 0
