# Design:
# (a) Weights of node features are stored feature by feature, F x KP: sparse rows then read the weights of
#     all labels at once. With dense rows this order is slow for single labels, and the weights are read
#     again for every row.
# (b) While weights are tracked, dense rows of at least MIN_FEATURES use a copy of them that is stored
#     label by label. It is made when it is first needed, and changes are written back when tracking ends;
#     until then the original is out of date. Potentials are products of small blocks of rows and labels.
# (c) Products with the copy have other last bits than those with the original. Which of them is used
#     depends only on the block and on the pass, so results do not depend on other blocks or threads.
# (d) The weight that scores of labels share follows the weights of features, and is not in the copy.
"""Weights of node features, for products with feature rows."""

from libc.stdint cimport int32_t, int64_t

from sstruct._kernels._constants cimport VECTOR_WORK
from sstruct._kernels._interruption cimport poll_signals
from sstruct._problems.core._rows cimport (
    FeatureRows, add_scores, potentials_of_rows, sstruct_padded, sstruct_rows)

import numpy as np

cdef extern from "sstruct/_kernels/kernels.h":
    void sstruct_add_block(
        const sstruct_rows* rows, int64_t first, int64_t count, const double* w, int64_t step,
        int64_t n_labels, double* theta, int64_t KP) noexcept nogil
    void sstruct_label_potentials(
        const sstruct_rows* rows, int64_t r, const double* w, int64_t step, const int32_t* label,
        int64_t count, double* out) noexcept nogil
    void sstruct_add_label_row(
        const sstruct_rows* rows, int64_t r, const int32_t* label, const double* change,
        int64_t count, double* w, int64_t step) noexcept nogil

# With fewer features, rows are too short for sums over vectors of features (benchmarks/notes/chains.md).
cdef Py_ssize_t MIN_FEATURES = 64
# Number of rows that are multiplied with all labels before the next ones: they remain in the cache.
cdef Py_ssize_t ROWS_AT_ONCE = 32
# Decoding fewer rows takes less time than copying the weights.
cdef Py_ssize_t FEW_ROWS = 8
# For dense rows, the other work of a visit to cached labelings (reading the row, and the move) takes as long
# as products with this many labels. Measured on 2,000 and 10,000 sequences of rows of 768 features, with 17
# and 49 labels.
cdef double ROW_READ = 14


cdef class NodeWeights:
    """Products of feature rows with the weights of labels, which are stored as F x KP.

    Parameters
    ----------
    features : FeatureRows
    n_labels : int
    """

    def __init__(self, FeatureRows features not None, Py_ssize_t n_labels):
        if features.n_scores not in (0, n_labels):
            raise ValueError(f"found scores of {features.n_scores} labels, expected {n_labels}")
        self.features, self.n_labels, self.KP = features, n_labels, sstruct_padded(n_labels)
        if features.rows.indices == NULL and features.n_features >= MIN_FEATURES:
            self.step = (features.n_features + 7) // 8 * 8
        padded = self.step > features.n_features   # entries that remain zero
        cdef double[::1] owner = (np.zeros if padded else np.empty)(n_labels * self.step + 8)
        skip = -(<size_t> &owner[0] // sizeof(double)) % 8   # vectors do not cross cache lines
        self.by_label = owner[skip:]

    cdef void track(self, const double* w) noexcept nogil:
        """Assume that, until the next call, only this object reads and changes the weights at w."""
        if self.changed:
            self.exchange(False)
        self.tracked = <double*> w if self.step > 0 else NULL
        self.copied = self.changed = False

    cdef double* copy_of(self, const double* w) noexcept nogil:
        """Return the copy of the weights at w, or NULL if these are not tracked."""
        if w == NULL or w != self.tracked:
            return NULL
        if not self.copied:
            self.exchange(True)
            self.copied = True
        return &self.by_label[0]

    cdef void exchange(self, bint to_copy) noexcept nogil:
        """Copy the tracked weights, or write the copy back."""
        cdef Py_ssize_t f, k, q, n
        cdef double* original
        cdef double* copy
        for k in range(0, self.n_labels, 8):   # a cache line of the original
            n = min(8, self.n_labels - k)
            for f in range(self.features.n_features):
                original = self.tracked + f * self.KP + k
                copy = &self.by_label[0] + k * self.step + f
                for q in range(n):
                    if to_copy:
                        copy[q * self.step] = original[q]
                    else:
                        original[q] = copy[q * self.step]

    cdef double potential_work(self, const double* w, double n_values) noexcept nogil:
        """Return the work of the potentials of rows with `n_values` stored features."""
        return VECTOR_WORK * n_values * (self.n_labels if w != NULL and w == self.tracked else self.KP)

    cdef double some_work(self, Py_ssize_t count) noexcept nogil:
        """Return the work of the potentials of `count` labels of a row, for tracked weights."""
        return VECTOR_WORK * (count + ROW_READ) * self.features.n_features

    cdef int potentials(
            self, Py_ssize_t first, Py_ssize_t count, const double* w, const double* bias,
            const double* cost, const int32_t* truth, double scale, bint decodes,
            double* theta) except -1 nogil:
        """As `row_potentials`, with checks for signals about every millisecond.

        decodes : whether only potentials are computed until tracking ends, so that few rows do not
            require a copy. Whether it is used must not depend on other blocks.
        """
        cdef const sstruct_rows* rows = &self.features.rows
        cdef const double* copy = NULL
        cdef Py_ssize_t begin = 0, k, l, n
        if not decodes or self.changed or count >= FEW_ROWS:
            copy = self.copy_of(w)
        if copy == NULL:
            potentials_of_rows(rows, first, count, w, self.KP, bias, cost, truth, scale, theta)
            if rows.scores != NULL:
                add_scores(rows, first, count, w, self.n_labels, self.KP, theta)
            return 0
        for l in range(count):
            for k in range(self.KP):
                theta[l * self.KP + k] = (bias[k] if bias != NULL else 0) + (
                    scale * cost[truth[l] * self.KP + k] if cost != NULL else 0)
        while begin < count:
            n = min(ROWS_AT_ONCE, count - begin)
            sstruct_add_block(
                rows, first + begin, n, copy, self.step, self.n_labels, theta + begin * self.KP,
                self.KP)
            poll_signals(VECTOR_WORK * n * self.n_labels * rows.n_features)
            begin += n
        if rows.scores != NULL:
            add_scores(rows, first, count, w, self.n_labels, self.KP, theta)
        return 0

    cdef void some_potentials(
            self, Py_ssize_t r, const double* w, const int32_t* label, Py_ssize_t count,
            double* out) noexcept nogil:
        """As the function `some_potentials`, for tracked weights."""
        sstruct_label_potentials(
            &self.features.rows, r, self.copy_of(w), self.step, label, count, out)

    cdef void add_row(
            self, Py_ssize_t r, const int32_t* label, const double* change, Py_ssize_t count,
            double* out) noexcept nogil:
        """As `sstruct_add_row`, for tracked weights."""
        sstruct_add_label_row(
            &self.features.rows, r, label, change, count, self.copy_of(out), self.step)
        self.changed = True
