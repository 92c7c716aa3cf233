# Design:
# (a) One interface for rows of dense and CSR features in single or double precision: the struct
#     `sstruct_rows`, which the kernels read. This class owns the arrays and validates every index once,
#     so that kernels need not.
# (b) Contiguous float32 and float64 arrays are not copied. The values of CSR rows that contain only
#     ones are not read at all.
# (c) Some columns of X may be scores of the labels, which share one weight. They are stored as a dense
#     table with a padded row for each feature row, and the other columns are copied.
"""Feature rows in the form that the kernels read."""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t

import mmap

import numpy as np
from scipy import sparse

from sstruct._checks._scans import in_range, rises
from sstruct._checks.arrays import contiguous
from sstruct._problems.core._node_arguments import padded

# Below this share of nonzeros, a CSR row is faster than a dense one, whose products vectorize.
MAX_DENSITY = 0.4
# Number of entries of an array on disk that are read at a time.
AT_ONCE = 2**22
# Bytes per page; larger pages are read more than once.
PAGE = 4096
MAPPED = np.memmap, mmap.mmap

ctypedef fused real:
    float
    double

cdef extern from "sstruct/_kernels/kernels.h":
    void sstruct_potentials(
        const sstruct_rows* rows, int64_t first, int64_t count, const double* w, int64_t KP,
        const double* bias, const double* cost, const int32_t* truth, double scale,
        double* theta) noexcept nogil
    void sstruct_range_potentials(
        const sstruct_rows* rows, int64_t r, const double* w, int64_t KP, int64_t low, int64_t high,
        double* out) noexcept nogil


cdef void row_potentials(
        const sstruct_rows* rows, int64_t first, int64_t count, const double* w, int64_t KP,
        const double* bias, const double* cost, const int32_t* truth, double scale,
        double* theta) noexcept nogil:
    sstruct_potentials(rows, first, count, w, KP, bias, cost, truth, scale, theta)


cdef void range_potentials(
        const sstruct_rows* rows, int64_t r, const double* w, int64_t KP, int64_t low, int64_t high,
        double* out) noexcept nogil:
    sstruct_range_potentials(rows, r, w, KP, low, high, out)


cdef void some_potentials(
        const sstruct_rows* rows, int64_t r, const double* w, int64_t KP, const int32_t* label,
        int64_t count, double* out) noexcept nogil:
    sstruct_some_potentials(rows, r, w, KP, label, count, out)


def padded_labels(n_labels):
    """Return the length to which the kernels pad rows with one value per label."""
    return sstruct_padded(n_labels)


def check_blocks(start, length, n_rows):
    """Return the first row and the number of rows of each block as int64 arrays."""
    cdef const int64_t[::1] first, count
    cdef int64_t n = n_rows
    cdef Py_ssize_t i
    start, length = contiguous(start, np.int64), contiguous(length, np.int64)
    if start.ndim != 1 or length.shape != start.shape or len(start) == 0:
        raise ValueError("start and length must have one entry per block, for at least one block")
    first, count = start, length
    for i in range(first.shape[0]):
        if not (count[i] >= 1 and 0 <= first[i] <= n and count[i] <= n - first[i]):
            raise ValueError(
                f"block {i} has {count[i]} rows from {first[i]} on, expected at least one, among the {n} "
                "rows of X")
    return start, length


cdef class FeatureRows:
    """Rows of a dense array or a canonical CSR matrix.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
    scores : ndarray of shape (n_rows, n_labels), optional
        Scores of the labels at each row, in addition to the features.

    Raises
    ------
    ValueError
        If the index arrays of a CSR matrix are out of range, or `scores` has another number of rows.
    """

    def __init__(self, X, scores=None):
        cdef const float[::1] single
        cdef const double[::1] double_
        cdef const int32_t[::1] columns
        cdef const int64_t[::1] pointers
        cdef const double[:, ::1] table
        self.n_rows, self.n_features = X.shape
        self.rows.scores, self.scores = NULL, None
        if scores is not None:
            self.n_scores = scores.shape[1]
            self.scores = padded(
                scores, (self.n_rows, self.n_scores), sstruct_padded(self.n_scores), "scores")
            table = self.scores
            if self.n_rows > 0:
                self.rows.scores = &table[0, 0]
        values = X.data if sparse.issparse(X) else X
        if values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float64)
        values = _as_stored(values).reshape(-1)
        self.n_stored = len(values)
        self.rows.kind = SSTRUCT_SINGLE if values.dtype == np.float32 else SSTRUCT_DOUBLE
        is_csr = sparse.issparse(X)
        self.rows.n_features, self.rows.factor = self.n_features, 1.0
        self.rows.values = NULL
        self.rows.indices = NULL
        self.rows.indptr = NULL
        only_ones = self.n_stored == 0
        if self.n_stored and self.rows.kind == SSTRUCT_SINGLE:
            single = values
            self.rows.values = &single[0]
            only_ones = is_csr and are_ones(&single[0], self.n_stored)
        elif self.n_stored:
            double_ = values
            self.rows.values = &double_[0]
            only_ones = is_csr and are_ones(&double_[0], self.n_stored)
        if is_csr and only_ones:
            self.rows.kind, self.rows.values, values = SSTRUCT_ONES, NULL, values[:0]
        self.owners = (values,)
        self.mapped_bytes = values.nbytes if is_mapped(values) else 0
        if not is_csr:
            return
        indptr = contiguous(X.indptr, dtype=np.int64)
        if (len(indptr) != self.n_rows + 1 or indptr[0] != 0 or not rises(indptr)
                or indptr[self.n_rows] > len(X.indices) or len(X.indices) != self.n_stored):
            raise ValueError("X.indptr does not describe the rows of X")
        indices = _as_stored(X.indices, dtype=np.int32)
        wide = X.indices.dtype.itemsize > 4   # indices that may not fit 32 bits
        if not in_range(indices, self.n_features) or wide and (X.indices != indices).any():
            raise ValueError("X.indices has a column outside X")
        if not len(indices):   # the kernels recognize CSR by a pointer that is not NULL
            indices = np.zeros(1, dtype=np.int32)
        columns = indices
        pointers = indptr
        self.rows.indices = &columns[0]
        self.rows.indptr = &pointers[0]
        self.owners = (values, indices, indptr)
        self.mapped_bytes += indices.nbytes if is_mapped(indices) else 0

    def scale(self, double factor):
        """Multiply every value by a factor, in kernels that use the struct from now on."""
        self.rows.factor = factor

    def bytes_before(self, rows):
        """Return the number of bytes of all rows before each of the given rows."""
        values, *pointers = self.owners
        if not pointers:
            return np.asarray(rows) * (self.n_features * values.itemsize)
        indices, indptr = pointers
        of_value = 0 if self.rows.kind == SSTRUCT_ONES else values.itemsize
        return indptr[rows] * (of_value + indices.itemsize)

    def preload(self, first, last):
        """Read rows first to last - 1 from disk, in order, if they are memory-mapped."""
        values, *pointers = self.owners
        if pointers:
            begin, end = (int(pointers[1][row]) for row in (first, last))
        else:
            begin, end = first * self.n_features, last * self.n_features
        for array in (values, *pointers[:1]):
            if is_mapped(array):
                for a in range(begin, min(end, len(array)), AT_ONCE):
                    # Reading one entry per page is sufficient.
                    array[a:min(a + AT_ONCE, end):PAGE // array.itemsize].max()

    def squares(self):
        """Return the squared norm of each row, without the factor. O(entries stored)."""
        cdef Py_ssize_t r
        cdef sstruct_rows rows = self.rows
        squares = np.empty(self.n_rows)
        cdef double[::1] out = squares
        rows.factor = 1
        with nogil:
            for r in range(self.n_rows):
                out[r] = sstruct_row_product(&rows, r, r)
        return squares

    def norms(self, squares=None):
        """Return the Euclidean norm of each row, plus its largest absolute score, both times the factor.

        squares : result of the method `squares`, if it has been computed
        """
        squares = self.squares() if squares is None else squares
        norms = np.sqrt(self.rows.factor * self.rows.factor * squares)
        if self.scores is not None:
            norms += np.abs(self.scores).max(axis=1) * abs(self.rows.factor)
        return norms


def scored_rows(X, columns, compress=False):
    """Return the FeatureRows of an array some of whose columns are scores of the labels.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
    columns : ndarray of int of shape (n_labels,), or None
        The column with the scores of each label; None if there are none.
    compress : bool
        Whether the other columns are stored as CSR if they are mostly zero.

    Returns
    -------
    FeatureRows or array
        An array if there are no scores.
    """
    if columns is None:
        return compressed(X) if compress else X
    n_features = X.shape[1]
    if columns.min() < 0 or columns.max() >= n_features:
        raise ValueError(
            f"class scores are expected in columns {columns.tolist()}, but X has {n_features} features")
    # A plain view: parts of a memmap would be memmaps too, although they are copies in memory.
    X = X if sparse.issparse(X) else np.asarray(X)
    is_other = np.ones(n_features, dtype=bool)
    is_other[columns] = False
    scores, others = X[:, columns], X[:, is_other]
    if sparse.issparse(X):
        others.sort_indices()
        return FeatureRows(others, scores.toarray())
    return FeatureRows(compressed(others) if compress else others, scores)


cdef bint are_ones(const real* values, Py_ssize_t n) except -1:
    """Return whether all values, which may be on disk, are 1."""
    cdef Py_ssize_t k, first, step = AT_ONCE
    for first in range(0, n, step):
        for k in range(first, min(first + step, n)):
            if values[k] != 1:
                return False
        PyErr_CheckSignals()
    return True


def _as_stored(array, dtype=None):
    """Return a C-contiguous array that the kernels may read.

    Mapped arrays are not copied even if they are not aligned, as in archives: a copy would take the
    memory that mapping saves, and the supported machines can read unaligned values.
    """
    array = np.ascontiguousarray(array, dtype)
    return array if is_mapped(array) else contiguous(array)


def is_mapped(array):
    """Whether an array is a view of a memory-mapped file."""
    while array is not None and not isinstance(array, MAPPED):
        array = array.base if isinstance(array, np.ndarray) else None
    return array is not None


def compressed(X):
    """Return mostly zero dense rows as CSR; return other arrays, and mapped ones, unchanged."""
    if sparse.issparse(X) or X.size == 0 or is_mapped(X):
        return X
    sample = X[::max(len(X) // 1000, 1)]
    if np.count_nonzero(sample) > MAX_DENSITY * sample.size:
        return X
    starts, columns, values = csr_arrays(X)
    end = len(values) - 1
    return sparse.csr_matrix((values[:end], columns[:end], starts), shape=X.shape)


def csr_arrays(const real[:, ::1] X):
    """Return indptr, indices and values of the nonzeros of dense rows.

    Indices and values have one extra entry, so that their address exists.
    """
    cdef Py_ssize_t r, f, at = 0
    cdef Py_ssize_t n_rows = X.shape[0], n_features = X.shape[1]
    starts = np.zeros(n_rows + 1, dtype=np.int64)
    cdef int64_t[::1] indptr = starts
    with nogil:
        for r in range(n_rows):
            for f in range(n_features):
                at += X[r, f] != 0
            indptr[r + 1] = at
    values = np.zeros(at + 1, dtype=np.float32 if real is float else np.float64)
    columns = np.zeros(at + 1, dtype=np.int32)
    cdef real[::1] data = values
    cdef int32_t[::1] indices = columns
    with nogil:
        at = 0
        for r in range(n_rows):
            for f in range(n_features):
                if X[r, f] != 0:
                    data[at] = X[r, f]
                    indices[at] = <int32_t> f
                    at += 1
    return starts, columns, values
