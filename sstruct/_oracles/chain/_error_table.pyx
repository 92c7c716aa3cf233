# Design:
# (a) Compute the best score of a chain's labelings for every number of errors, which suffices to
#     maximize any function of score and errors that increases with the score. Input: potentials and
#     integer errors; output: scores and labels.
# (b) M_l(k, d), the best score of positions 0 ... l that ends in label k with d errors:
#         N(k, d) = max_j M_{l-1}(j, d) + edge(j, k);   M_l(k, d + e_l(k)) = theta_l(k) + N(k, d).
#     This is a Viterbi step for each d, with the same kernel; each entry of M_l comes from one of N.
# (c) Origins belong to (l, d, k) of N, so backtracking subtracts the error first. They have 16 bits, and
#     take (number of errors + 1) / 2 times the memory of the origins of Viterbi.
"""Best scores of chains by number of errors."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint16_t
from libc.string cimport memset

from sstruct._kernels._interruption cimport poll_signals

cdef extern from "sstruct/_kernels/kernels.h":
    void sstruct_viterbi_forward(
        const double* theta, int64_t L, int64_t K, int64_t KP, const double* edge,
        int64_t edge_step, int64_t begin, double* best, int32_t* origin) noexcept nogil


cdef class ErrorTable:
    """Best scores by number of errors, for one chain at a time; scratch memory grows as needed."""

    cdef int reserve(self) except -1 nogil:
        """Allocate memory for L, KP and `most`."""
        cdef Py_ssize_t rows = self.most + 1, KP = self.KP
        self.grow(<void**> &self.best, rows, sizeof(double))
        self.grow(<void**> &self.last, rows, sizeof(int32_t))
        self.grow(<void**> &self.table, 2 * rows * KP, sizeof(double))
        self.grow(<void**> &self.pair, 4 * KP, sizeof(double))
        self.grow(<void**> &self.no_edges, KP * KP, sizeof(double))
        self.grow(<void**> &self.pair_origin, 2 * KP, sizeof(int32_t))
        self.grow(<void**> &self.origin, self.L * rows * KP, sizeof(uint16_t))
        return 0

    cdef int fill(
            self, const double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP, const double* edge,
            Py_ssize_t edge_step, const int32_t* errors, const int32_t* row,
            Py_ssize_t most) except -1 nogil:
        """Compute `best` for 0 ... most errors.

        theta : L x KP    edge : K x KP tables with a stride of `edge_step` doubles (0: one for all),
        or NULL for no edges    errors : tables of KP nonnegative entries; position l uses number
        row[l]; must remain valid for `labels`    most : upper bound on the sum of the largest errors
        Time O(L most K^2), or half of it if every position has at most one error.
        """
        cdef Py_ssize_t l, d, k, top = 0, width = (most + 1) * KP
        cdef const int32_t* error
        cdef int32_t step
        cdef bint possible
        cdef double* pair
        cdef double* before
        cdef double* now
        self.L, self.KP, self.most, self.errors, self.row = L, KP, most, errors, row
        self.reserve()
        if edge == NULL:
            memset(self.no_edges, 0, KP * KP * sizeof(double))
            edge, edge_step = self.no_edges, 0
        pair, now = self.pair, self.table
        memset(pair, 0, 2 * KP * sizeof(double))
        for l in range(L):
            error = errors + row[l] * KP
            step = 0
            for k in range(K):
                step = max(step, error[k])
            before, now = now, self.table + (width if l % 2 else 0)
            for k in range((top + step + 1) * KP):
                now[k] = -INFINITY
            for k in range(K if l == 0 else 0):
                now[error[k] * KP + k] = theta[k]
            for d in range(top + 1 if l > 0 else 0):
                possible = False
                for k in range(K):
                    pair[k] = before[d * KP + k]
                    possible = possible or pair[k] > -INFINITY
                if not possible:
                    continue
                sstruct_viterbi_forward(
                    pair, 2, K, KP, edge + (l - 1) * edge_step, 0, 0, pair + 2 * KP,
                    self.pair_origin)
                poll_signals(<double> K * KP)
                for k in range(K):
                    now[(d + error[k]) * KP + k] = theta[l * KP + k] + pair[3 * KP + k]
                    self.origin[l * width + d * KP + k] = <uint16_t> self.pair_origin[KP + k]
            top += step
        for d in range(most + 1):
            self.best[d] = -INFINITY
            self.last[d] = 0
            for k in range(K if d <= top else 0):
                if now[d * KP + k] > self.best[d]:
                    self.best[d] = now[d * KP + k]
                    self.last[d] = <int32_t> k
        return 0

    cdef void labels(self, Py_ssize_t d, int32_t* labels) noexcept nogil:
        """Backtrack the best labeling with d errors, whose score must not be -inf."""
        cdef Py_ssize_t l, width = (self.most + 1) * self.KP
        cdef int32_t k = self.last[d]
        for l in range(self.L - 1, 0, -1):
            labels[l] = k
            d -= self.errors[self.row[l] * self.KP + k]
            k = self.origin[l * width + d * self.KP + k]
        labels[0] = k
