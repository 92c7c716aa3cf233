# Design:
# (a) A constraint bounds a difference: the number of labels of one list that are on, minus the number
#     of labels of another list that are on. Implications, exclusions, cardinalities and orders have
#     this form.
# (b) Rows are a CSR matrix of signs, validated here once, since they also come from stored models.
"""Linear constraints of label sets."""

from libc.stdint cimport int32_t, int64_t

import numpy as np

from sstruct._checks.shown import shortened


cdef class SetConstraints:
    """Constraints ``lower <= matrix @ y <= upper`` of label sets y in {0, 1}^K.

    Parameters
    ----------
    matrix : ndarray of int8 of shape (n_rows, K)
        Entries -1, 0 and 1.
    lower, upper : ndarray of int32 of shape (n_rows,)

    Raises
    ------
    ValueError
        If shapes do not agree, an entry is invalid, or a lower bound exceeds the upper bound.
    """

    def __init__(self, matrix, lower, upper):
        matrix = np.asarray(matrix)
        if matrix.ndim != 2 or not np.isin(matrix, (-1, 0, 1)).all():
            raise ValueError(f"constraints must be a matrix of -1, 0 and 1, found {shortened(matrix)}")
        lower, upper = (np.array(bound, dtype=np.int32) for bound in (lower, upper))
        if not (lower.shape == upper.shape == (len(matrix),)):
            raise ValueError(
                f"lower and upper must have shape {(len(matrix),)}, one bound per constraint, found "
                f"{lower.shape} and {upper.shape}")
        if (lower > upper).any():
            r = int((lower > upper).argmax())
            raise ValueError(
                f"a lower bound of constraints is above the upper bound: {lower[r]} and {upper[r]} of "
                f"constraint {r}")
        self.n_rows, self.n_labels = matrix.shape
        rows, labels = np.nonzero(matrix)
        self.first = np.searchsorted(rows, np.arange(self.n_rows + 1)).astype(np.int32)
        # An additional entry, since the first entry of an empty array has no address.
        self.label = np.append(labels, 0).astype(np.int32)
        self.sign = np.append(matrix[rows, labels], 1).astype(np.int32)
        self.lower, self.upper = (np.append(bound, np.int32(0)) for bound in (lower, upper))

    cdef Py_ssize_t violated(self, const int32_t* code) noexcept nogil:
        """Return the first constraint that a code violates, or -1."""
        cdef Py_ssize_t r, a
        cdef int32_t total
        for r in range(self.n_rows):
            total = 0   # twice the sum: codes have twice the values of labels
            for a in range(self.first[r], self.first[r + 1]):
                total += self.sign[a] * code[self.label[a]]
            if total < 2 * <int64_t> self.lower[r] or total > 2 * <int64_t> self.upper[r]:
                return r
        return -1

    @property
    def matrix(self):
        """The signs, int8 of shape (n_rows, K)."""
        out = np.zeros((self.n_rows, self.n_labels), dtype=np.int8)
        rows = np.repeat(np.arange(self.n_rows), np.diff(self.first))
        out[rows, self.label[:len(rows)]] = self.sign[:len(rows)]
        return out

    @property
    def bounds(self):
        """The lower and the upper bounds, int32 of shape (2, n_rows)."""
        return np.stack([self.lower[:self.n_rows], self.upper[:self.n_rows]])

    def allowed_sets(self):
        """Return whether each set satisfies the constraints, uint8 (2^K,); bit k of an index is label k."""
        cdef Py_ssize_t r, a, size = 1 << self.n_labels
        sets, out = np.arange(size, dtype=np.uint32), np.ones(size, dtype=np.uint8)
        for r in range(self.n_rows):
            total = np.zeros(size, dtype=np.int32)
            for a in range(self.first[r], self.first[r + 1]):
                total += self.sign[a] * ((sets >> self.label[a]) & 1).astype(np.int32)
            out &= (total >= self.lower[r]) & (total <= self.upper[r])
        return out
