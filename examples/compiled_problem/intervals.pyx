# Design:
# (a) Each sample is a sequence of L feature rows, and its labeling is one interval [a, b), which may be
#     empty. phi(x, y) is the sum of the rows inside the interval, and L(y) the fraction of positions
#     that are inside one of the two intervals and outside the other.
# (b) A code is (a, b). The code of the empty interval is (0, 0), so that each labeling has one code.
# (c) The max-oracle finds the interval with the largest sum (Kadane's algorithm), in O(L d).
"""A problem for intervals of sequences, compiled outside of sstruct."""

from libc.stdint cimport int32_t, int64_t

from sstruct.extending cimport BlockProblem, OracleAnswer

import numpy as np

from sstruct.extending import decode


cdef class IntervalProblem(BlockProblem):
    """Sequences with one interval each.

    Parameters
    ----------
    X : list of float64 arrays of shape (L_i, d)
    y : list of (a, b) with 0 <= a < b <= L_i, or a == b == 0; None for prediction
    """

    cdef const double[:, ::1] rows       # of all sequences, concatenated
    cdef const int64_t[::1] offsets
    cdef const int32_t[:, ::1] truths
    cdef double[::1] score, difference   # scratch, per position and per weight
    cdef double outside                  # value of the empty interval

    def __init__(self, X, y):
        lengths = [len(x) for x in X]
        self.rows = np.concatenate(X, dtype=np.float64)
        self.offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self.truths = np.zeros((len(X), 2), dtype=np.int32) if y is None else np.array(y, np.int32)
        self.n_blocks, self.n_weights, self.max_code_size = len(X), self.rows.shape[1], 2
        self.oracle_work = self.rows.shape[0] * self.n_weights / self.n_blocks
        self.batch_size = 1
        self.bounded = True                  # all answers are exact
        for i in range(self.n_blocks):
            self.check_code(i, self.truths[i])
        self.make_scratch()

    def make_scratch(self):
        self.score = np.empty(np.max(np.diff(self.offsets)))
        self.difference = np.empty(self.n_weights)

    cpdef BlockProblem fork(self):
        cdef IntervalProblem other = IntervalProblem.__new__(IntervalProblem)
        other.rows, other.offsets, other.truths = self.rows, self.offsets, self.truths
        other.n_blocks, other.n_weights, other.max_code_size = self.n_blocks, self.n_weights, 2
        other.oracle_work, other.batch_size = self.oracle_work, self.batch_size
        other.bounded = True
        other.make_scratch()
        return other

    cdef int truth(self, Py_ssize_t i, int32_t* code) except -1 nogil:
        code[0], code[1] = self.truths[i, 0], self.truths[i, 1]
        return 0

    cdef double loss_at(self, Py_ssize_t i, Py_ssize_t l, bint inside) noexcept nogil:
        """Return the loss of position l, given whether it is inside the interval of the labeling."""
        cdef bint truly = self.truths[i, 0] <= l < self.truths[i, 1]
        return (inside != truly) / <double> (self.offsets[i + 1] - self.offsets[i])

    cdef double row_score(self, Py_ssize_t r, const double* w) noexcept nogil:
        cdef Py_ssize_t f
        cdef double total = 0
        for f in range(self.n_weights):
            total += w[f] * self.rows[r, f]
        return total

    cdef int maximize(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef Py_ssize_t l, first = self.offsets[i], L = self.offsets[i + 1] - first
        cdef Py_ssize_t start = 0
        cdef double best = 0, sum = 0, base
        self.outside = 0
        code[0] = code[1] = 0
        for l in range(L):
            # Scores are relative to the position being outside.
            base = loss_weight * self.loss_at(i, l, False)
            self.outside += base
            self.score[l] = (
                self.row_score(first + l, w) + loss_weight * self.loss_at(i, l, True) - base)
            if sum <= 0:
                start, sum = l, 0
            sum += self.score[l]
            if sum > best:
                best = sum
                code[0], code[1] = <int32_t> start, <int32_t> l + 1
        answer.value = self.outside + best
        answer.work = L * (self.n_weights + 10.0)
        answer.exact = True
        return 0

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        cdef Py_ssize_t k, l, first = self.offsets[i], L = self.offsets[i + 1] - first
        for k in range(count):
            # If w is NULL, use the scores of the last `maximize`.
            out[k] = self.outside if w == NULL else 0
            for l in range(codes[k][0], codes[k][1]):
                out[k] += self.score[l] if w == NULL else self.row_score(first + l, w)
            if w != NULL:
                for l in range(L):
                    out[k] += loss_weight * self.loss_at(i, l, codes[k][0] <= l < codes[k][1])
            work[0] += L if w == NULL else L * self.n_weights
        return 0

    cdef int loss(self, Py_ssize_t i, const int32_t* code, double* out) except -1 nogil:
        cdef Py_ssize_t l
        out[0] = 0
        for l in range(self.offsets[i + 1] - self.offsets[i]):
            out[0] += self.loss_at(i, l, code[0] <= l < code[1])
        return 0

    cdef int scatter(
            self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
            double* out) except -1 nogil:
        cdef Py_ssize_t k, l, f
        for k in range(count):
            for l in range(codes[k][0], codes[k][1]):
                for f in range(self.n_weights):
                    out[f] += coefficient[k] * self.rows[self.offsets[i] + l, f]
        return 0

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        cdef Py_ssize_t l, f
        cdef int sign
        self.difference[:] = 0
        # Positions in both intervals are skipped, so that exchanging a and b does not change the bits.
        for l in range(min(a[0], b[0]), max(a[1], b[1])):
            sign = (a[0] <= l < a[1]) - (b[0] <= l < b[1])
            if sign != 0:
                for f in range(self.n_weights):
                    self.difference[f] += sign * self.rows[self.offsets[i] + l, f]
        out[0] = 0
        for f in range(self.n_weights):
            out[0] += self.difference[f] * self.difference[f]
        return 0

    cpdef int check_code(self, Py_ssize_t i, const int32_t[::1] code) except -1:
        BlockProblem.check_code(self, i, code)
        empty = code[0] == code[1] == 0
        if not empty and not 0 <= code[0] < code[1] <= self.offsets[i + 1] - self.offsets[i]:
            raise ValueError(f"sample {i}: [{code[0]}, {code[1]}) is not an interval")
        return 0


class Intervals:
    """The oracle for StructuredSVM: the methods that it requires of compiled problems."""

    def problem(self, X, y, rows):
        return IntervalProblem(X, y)

    def predict(self, X, w):
        return [tuple(code) for code in decode(IntervalProblem(X, None), w).reshape(-1, 2).tolist()]

    def losses(self, X, y, found):
        problem = IntervalProblem(X, y)
        return [problem.code_loss(i, np.array(code, np.int32)) for i, code in enumerate(found)]
