# Design:
# (a) A block is one row of features with a label from an ordered set 0 ... K - 1. Its score is
#     y <w, x> + b[y], so phi(x, y) = (y x, e[y]), and L_i(y) = |y - y_i|.
# (b) A code consists of the label. Weights are coef (F) followed by intercept (K), without padding.
# (c) The decoder computes the slope <w, x> once, and then compares K scores: O(F + K).
"""Decoder, joint feature map and loss of OrdinalSSVM."""

from libc.math cimport fabs
from libc.stdint cimport int32_t

from sstruct.extending cimport BlockProblem, OracleAnswer

import numpy as np

from sstruct._problems.core.weight_layout import WeightLayout, dense_block


def ordinal_layout(n_labels, n_features):
    """Return the WeightLayout with a weight per feature and an intercept per label."""
    return WeightLayout({
        "coef": dense_block(("feature",), (n_features,)),
        "intercept": dense_block(("label",), (n_labels,)),
    })


cdef Py_ssize_t best_label(
        double slope, const double* intercept, double loss_weight, Py_ssize_t truth,
        Py_ssize_t n_labels, double* score) noexcept nogil:
    """Compute score[y] = slope y + intercept[y] + loss_weight |y - truth|; return the best label."""
    cdef Py_ssize_t y, best = 0
    for y in range(n_labels):
        score[y] = slope * y + intercept[y] + loss_weight * fabs(y - truth)
        if score[y] > score[best]:
            best = y
    return best


cdef class OrdinalProblem(BlockProblem):
    """One label from an ordered set for each row.

    Parameters
    ----------
    X : float64 array of shape (n_blocks, n_features)
    labels : int32 array of shape (n_blocks,), or None for prediction
        True label of each row, 0 ... n_labels - 1.
    n_labels : int
    """

    cdef const double[:, ::1] rows
    cdef const int32_t[::1] labels
    cdef Py_ssize_t n_labels
    cdef double[::1] score          # scratch: of the labels in the last `maximize`

    def __init__(self, X, labels, n_labels):
        self.rows, self.has_labels = X, labels is not None
        self.labels = labels if self.has_labels else np.zeros(len(X), dtype=np.int32)
        self.n_labels, self.n_blocks, self.score = n_labels, len(X), np.empty(n_labels)
        self._layout = ordinal_layout(n_labels, X.shape[1])
        self.n_weights, self.max_code_size = self._layout.size, 1
        self.oracle_work = X.shape[1] + n_labels
        self.batch_size = 1
        self.bounded = True         # `maximize` is exact

    cpdef BlockProblem fork(self):
        labels = np.asarray(self.labels) if self.has_labels else None
        return OrdinalProblem(np.asarray(self.rows), labels, self.n_labels)

    def norms(self):
        """Return upper bounds of |phi|, so that certificates allow for rounding errors."""
        return (self.n_labels - 1) * np.linalg.norm(self.rows, axis=1) + 1

    cdef double product(self, Py_ssize_t i, const double* w) noexcept nogil:
        """Return <w, x_i>."""
        cdef Py_ssize_t f
        cdef double total = 0
        for f in range(self.rows.shape[1]):
            total += w[f] * self.rows[i, f]
        return total

    cdef int truth(self, Py_ssize_t i, int32_t* code) except -1 nogil:
        self.need_labels()
        code[0] = self.labels[i]
        return 0

    cdef int maximize(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        code[0] = <int32_t> best_label(
            self.product(i, w), w + self.rows.shape[1], loss_weight, self.labels[i], self.n_labels,
            &self.score[0])
        answer.value = self.score[code[0]]
        answer.work = self.oracle_work
        answer.exact = True
        return 0

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        cdef Py_ssize_t k, y, F = self.rows.shape[1]
        cdef double slope
        work[0] += count
        if w == NULL:
            for k in range(count):
                out[k] = self.score[codes[k][0]]
            return 0
        slope = self.product(i, w)
        work[0] += F
        for k in range(count):
            y = codes[k][0]
            out[k] = slope * y + w[F + y] + loss_weight * fabs(y - self.labels[i])
        return 0

    cdef int loss(self, Py_ssize_t i, const int32_t* code, double* out) except -1 nogil:
        self.need_labels()
        out[0] = fabs(code[0] - self.labels[i])
        return 0

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        cdef Py_ssize_t f
        cdef double square = 0, step = a[0] - b[0]
        for f in range(self.rows.shape[1]):
            square += self.rows[i, f] * self.rows[i, f]
        out[0] = step * step * square + 2 * (a[0] != b[0])
        return 0

    cdef int scatter(
            self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
            double* out) except -1 nogil:
        cdef Py_ssize_t k, f
        cdef double step = 0
        for k in range(count):
            step += coefficient[k] * codes[k][0]
            out[self.rows.shape[1] + codes[k][0]] += coefficient[k]
        for f in range(self.rows.shape[1]):
            out[f] += step * self.rows[i, f]
        return 0

    cpdef int check_code(self, Py_ssize_t i, const int32_t[::1] code) except -1:
        return self.check_node_labels(i, code, self.n_labels)
