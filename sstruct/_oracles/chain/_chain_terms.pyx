# Design:
# (a) The scores that chains share: transitions, and labels at both ends. They are padded once for many
#     chains; the caller has validated them.
# (b) Transitions are one table, one table per pair of neighboring positions, or stored entries by column;
#     transitions that are not stored are forbidden, so a step visits only stored ones.
# (c) Scores of nodes are read where they are, float32 or float64 with any strides, a few rows at a time.
"""Scores that chains share, and rows of node scores."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

import numpy as np
from scipy import sparse

from sstruct._checks.arrays import copy_rows
from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.chain._viterbi cimport MIN_PRUNED_LABELS, transition_bounds

cdef extern from "sstruct/_kernels/kernels.h":
    int64_t sstruct_padded(int64_t K) noexcept nogil

ctypedef fused real:
    float
    double


cdef class ChainTerms:
    """Scores of transitions and of both ends, which must not contain NaN or +inf.

    Parameters
    ----------
    edge : float64 ndarray of shape (K, K) or (n, K, K), or CSC matrix of float64
        One table of transitions, a table for each of n pairs of neighboring positions, or the allowed
        transitions, with sorted row indices and without duplicates.
    start, end : float64 ndarray of shape (K,), or None
        Scores of the labels of the first and of the last position. None: 0.
    """

    def __init__(self, edge, start=None, end=None):
        cdef const double[:, :, ::1] tables
        cdef double[::1] bounds
        cdef const double[:, ::1] ends
        cdef const int64_t[::1] indptr
        cdef const int32_t[::1] indices
        cdef const double[::1] values
        cdef Py_ssize_t K = edge.shape[1], KP = sstruct_padded(edge.shape[1])
        self.n_labels, self.KP, self.edge, self.bounds, self.edge_step = K, KP, NULL, NULL, 0
        both = np.zeros((2, KP))
        for k, scores in enumerate((start, end)):
            both[k, :K] = 0 if scores is None else scores
        ends = both
        self.start, self.end = &ends[0, 0], &ends[1, 0]
        if sparse.issparse(edge):
            # One additional entry, so that the address of the first one always exists.
            indptr = pointers = edge.indptr.astype(np.int64)
            indices = rows = np.append(edge.indices, 0).astype(np.int32)
            values = scores = np.append(edge.data, 0.0)
            self.stored.indptr, self.stored.indices = &indptr[0], &indices[0]
            self.stored.values, self.n_tables = &values[0], 0
            self.owners = (both, pointers, rows, scores)
            return
        edge = edge.reshape(-1, K, K)
        padded = np.zeros((max(len(edge), 1), K, KP))
        copy_rows(edge, padded[:len(edge), :, :K])
        tables, bounds = padded, np.empty(3 * KP)
        self.n_tables, self.edge = len(padded), &tables[0, 0, 0]
        self.edge_step = K * KP if self.n_tables > 1 else 0
        self.owners = (both, padded, bounds)
        if self.n_tables == 1 and K >= MIN_PRUNED_LABELS:
            transition_bounds(self.edge, K, KP, &bounds[0])
            self.bounds = &bounds[0]

    def check(self, scores, name):
        """Raise ValueError if the shape of node scores does not match the labels or the tables."""
        L, K = scores.shape
        if L < 1 or K != self.n_labels:
            raise ValueError(
                f"{name} has shape {(L, K)}, expected 1 or more rows of {self.n_labels} labels")
        if self.n_tables > 1 and self.n_tables != L - 1:
            raise ValueError(
                f"edge_scores must have shape {(K, K)} or {(L - 1, K, K)} for {name} of shape "
                f"{(L, K)}; found {(self.n_tables, K, K)}")

    cdef int load(
            self, const ScoreRows* rows, Py_ssize_t first, Py_ssize_t count, double* theta,
            str name) except -1 nogil:
        """Write the potentials of some positions: node scores, and the scores of both ends."""
        cdef Py_ssize_t k
        cdef double* last = theta + (count - 1) * self.KP
        if not load_rows(rows, first, count, self.n_labels, self.KP, theta):
            with gil:
                raise ValueError(
                    f"{name} must not contain NaN or +inf (-inf forbids a label or transition)")
        if first == 0:
            for k in range(self.n_labels):
                theta[k] += self.start[k]
        if first + count == rows.n_rows:
            for k in range(self.n_labels):
                last[k] += self.end[k]
        return 0


cdef ScoreRows rows_of(scores):
    """Return the rows of a nonempty 2-D array of float32 or float64, which must be kept alive."""
    cdef const float[:, :] single
    cdef const double[:, :] double_
    cdef ScoreRows rows
    rows.single = scores.dtype == np.float32
    if rows.single:
        single = scores
        rows.data = <const char*> &single[0, 0]
    else:
        double_ = scores
        rows.data = <const char*> &double_[0, 0]
    rows.n_rows = scores.shape[0]
    rows.row_step, rows.column_step = scores.strides
    return rows


cdef inline bint load_row(
        const char* row, Py_ssize_t step, Py_ssize_t K, double* out, real kind) noexcept nogil:
    """Convert a row to float64; return whether no score is NaN or +inf."""
    cdef Py_ssize_t k
    cdef bint valid = True
    cdef const real* packed = <const real*> row
    if step == sizeof(real):
        for k in range(K):
            out[k] = packed[k]
            valid &= out[k] < INFINITY
    else:
        for k in range(K):
            out[k] = (<const real*> (row + k * step))[0]
            valid &= out[k] < INFINITY
    return valid


cdef bint load_rows(
        const ScoreRows* rows, Py_ssize_t first, Py_ssize_t count, Py_ssize_t K, Py_ssize_t KP,
        double* out) noexcept nogil:
    """Convert rows to float64, padded with zeros; return whether no score is NaN or +inf."""
    cdef Py_ssize_t _, k
    cdef bint valid = True
    cdef const char* row = rows.data + first * rows.row_step
    for _ in range(count):
        if rows.single:
            valid &= load_row[float](row, rows.column_step, K, out, 0)
        else:
            valid &= load_row[double](row, rows.column_step, K, out, 0)
        for k in range(K, KP):
            out[k] = 0
        row += rows.row_step
        out += KP
    return valid


cdef int stored_forward(
        const double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP,
        const StoredTransitions* stored, Py_ssize_t begin, double* best,
        int32_t* origin) except -1 nogil:
    """As `viterbi_forward`, with the stored transitions only. O(L (K + nnz)) time."""
    cdef Py_ssize_t l, k
    cdef int64_t e
    cdef int32_t j
    cdef double value, score
    cdef const double* before
    if begin == 0:
        memcpy(best, theta, KP * sizeof(double))
    for l in range(max(begin, 1), L):
        before = best + (l - 1) * KP
        for k in range(K):
            value, j = -INFINITY, 0
            for e in range(stored.indptr[k], stored.indptr[k + 1]):
                score = before[stored.indices[e]] + stored.values[e]
                j = stored.indices[e] if score > value else j
                value = score if score > value else value
            best[l * KP + k] = value + theta[l * KP + k]
            origin[l * KP + k] = j
        poll_signals(<double> K + stored.indptr[K])
    return 0
