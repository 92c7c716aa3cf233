# Design:
# (a) A problem defined by its planes: labeling y of block i is row offsets[i] + y of `planes` and
#     `losses`, labeling 0 is the truth, and a code is the integer y.
# (b) phi(x_i, truth) = 0 loses no generality, since only psi_i(y) = phi(x_i, y_i) - phi(x_i, y)
#     matters: phi(x_i, y) is minus the plane.
# (c) For tests and benchmarks: no structure is used, and every call reads whole planes.
"""Problems whose labelings are enumerated."""

from libc.stdint cimport int32_t, int64_t

from sstruct._oracles.core._interval cimport Interval, is_inside
from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer

import numpy as np

from sstruct._problems.core._block_problem import batch_size as usual_batch_size

cdef extern from "sstruct/_kernels/kernels.h":
    void sstruct_products(
        const double* rows, int64_t count, int64_t n, const double* w, double* out) noexcept nogil


cdef class EnumeratedProblem(BlockProblem):
    """Planes given as arrays: P(w) = lam/2 |w|^2 + sum_i q_i max_y L_i(y) - <w, psi_i(y)>.

    Parameters
    ----------
    planes : array-like of shape (n_labelings, n_weights)
        psi_i(y) for every labeling of every block, concatenated over blocks; the first labeling of
        each block is its truth, with plane 0. A contiguous float64 array is not copied.
    losses : array-like of shape (n_labelings,)
        L_i(y), nonnegative; 0 for the truth.
    offsets : array-like of int of shape (n_blocks + 1,)
        Block i has the rows offsets[i] to offsets[i + 1] - 1, at least one.
    batch_size : int, optional
        Default: by the work of an oracle call.

    Notes
    -----
    An oracle call costs m_i * n_weights multiply-adds for m_i labelings; it returns the first of
    the best labelings.
    """

    # Data, shared by forks.
    cdef const double[:, ::1] planes
    cdef const double[::1] losses
    cdef const int64_t[::1] offsets
    # Scratch memory of this object.
    cdef double[::1] score

    def __init__(self, planes, losses, offsets, *, batch_size=None):
        planes = np.ascontiguousarray(planes, dtype=np.float64)
        losses = np.ascontiguousarray(losses, dtype=np.float64)
        offsets = np.ascontiguousarray(offsets, dtype=np.int64)
        if planes.ndim != 2 or planes.shape[1] == 0 or losses.shape != planes.shape[:1]:
            raise ValueError(
                f"planes has shape {planes.shape} and losses has shape {losses.shape}, expected "
                "(n_labelings, n_weights) and (n_labelings,)")
        if (offsets.ndim != 1 or len(offsets) < 2 or offsets[0] != 0
                or offsets[len(offsets) - 1] != len(planes) or (np.diff(offsets) < 1).any()):
            raise ValueError(
                f"offsets must increase from 0 to {len(planes)}, with at least one labeling per block")
        sizes = np.diff(offsets)
        truth = offsets[:len(sizes)]
        if not np.isfinite(planes).all() or not np.isfinite(losses).all() or (losses < 0).any():
            raise ValueError("planes and losses must be finite, and losses nonnegative")
        wrong = np.flatnonzero(planes[truth].any(axis=1) | (losses[truth] != 0))
        if len(wrong):
            raise ValueError(
                f"block {wrong[0]}: the first labeling must be the truth, with plane and loss 0")
        self.planes, self.losses, self.offsets = planes, losses, offsets
        self.n_blocks, self.n_weights, self.max_code_size = len(sizes), planes.shape[1], 1
        self.score = np.empty(sizes.max())
        work = sizes.mean() * self.n_weights
        self.batch_size = usual_batch_size(len(sizes), work) if batch_size is None else batch_size
        self.oracle_work = work
        self.bounded = self.has_product = self.has_between = True

    cpdef BlockProblem fork(self):
        cdef EnumeratedProblem other = EnumeratedProblem.__new__(EnumeratedProblem)
        other.planes, other.losses, other.offsets = self.planes, self.losses, self.offsets
        other.n_blocks, other.n_weights = self.n_blocks, self.n_weights
        other.max_code_size, other.batch_size = self.max_code_size, self.batch_size
        other.oracle_work = self.oracle_work
        other.bounded = other.has_product = other.has_between = True
        other.score = np.empty(self.score.shape[0])
        return other

    cdef Py_ssize_t n_labelings(self, Py_ssize_t i) noexcept nogil:
        return self.offsets[i + 1] - self.offsets[i]

    cdef int truth(self, Py_ssize_t i, int32_t* code) except -1 nogil:
        code[0] = 0
        return 0

    cdef void potentials(self, Py_ssize_t i, const double* w, double loss_weight) noexcept nogil:
        """Compute score = loss_weight * losses - planes @ w over the labelings of the block."""
        cdef Py_ssize_t y, first = self.offsets[i], m = self.n_labelings(i)
        sstruct_products(&self.planes[first, 0], m, self.n_weights, w, &self.score[0])
        for y in range(m):
            self.score[y] = loss_weight * self.losses[first + y] - self.score[y]

    cdef int maximize(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef Py_ssize_t y, best = 0, m = self.n_labelings(i)
        self.potentials(i, w, loss_weight)
        for y in range(1, m):
            if self.score[y] > self.score[best]:
                best = y
        code[0] = <int32_t> best
        answer.value = self.score[best]
        answer.work = <double> m * self.n_weights
        answer.exact = True
        return 0

    cdef int maximize_product(
            self, Py_ssize_t i, const double* w, double margin, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef Py_ssize_t y, first = self.offsets[i], m = self.n_labelings(i)
        cdef double value
        self.potentials(i, w, 0)
        code[0] = 0   # the truth, with score 0
        answer.value = 0
        for y in range(1, m):
            value = self.losses[first + y] * (margin + self.score[y] - self.score[0])
            if value > answer.value:
                answer.value = value
                code[0] = <int32_t> y
        answer.work = <double> m * self.n_weights
        answer.exact = True
        return 0

    cdef int maximize_between(
            self, Py_ssize_t i, const double* w, double loss_weight, double margin,
            const Interval* interval, int32_t* code, OracleAnswer* answer) except -1 nogil:
        cdef Py_ssize_t y, first = self.offsets[i], m = self.n_labelings(i)
        cdef double h, g
        self.potentials(i, w, 0)
        answer.found = False
        for y in range(m):
            h, g = margin + self.score[y] - self.score[0], self.losses[first + y]
            if not is_inside(interval, h, g):
                continue
            if not answer.found or h + loss_weight * g > answer.value:
                answer.found = True
                answer.value = h + loss_weight * g
                code[0] = <int32_t> y
        answer.work = <double> m * self.n_weights
        answer.exact = True
        return 0

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        cdef Py_ssize_t k, row
        for k in range(count):
            if w == NULL:
                out[k] = self.score[codes[k][0]]
                continue
            row = self.offsets[i] + codes[k][0]
            sstruct_products(&self.planes[row, 0], 1, self.n_weights, w, &out[k])
            out[k] = loss_weight * self.losses[row] - out[k]
        work[0] += count if w == NULL else <double> count * self.n_weights
        return 0

    cdef int loss(self, Py_ssize_t i, const int32_t* code, double* out) except -1 nogil:
        out[0] = self.losses[self.offsets[i] + code[0]]
        return 0

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        cdef const double* p = &self.planes[self.offsets[i] + a[0], 0]
        cdef const double* q = &self.planes[self.offsets[i] + b[0], 0]
        cdef Py_ssize_t j
        cdef double total = 0
        for j in range(self.n_weights):
            total += (p[j] - q[j]) * (p[j] - q[j])
        out[0] = total
        return 0

    cdef int scatter(
            self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
            double* out) except -1 nogil:
        cdef const double* plane
        cdef Py_ssize_t j, k
        for k in range(count):
            plane = &self.planes[self.offsets[i] + codes[k][0], 0]
            for j in range(self.n_weights):
                out[j] -= coefficient[k] * plane[j]
        return 0

    cpdef int check_code(self, Py_ssize_t i, const int32_t[::1] code) except -1:
        BlockProblem.check_code(self, i, code)
        if not 0 <= code[0] < self.n_labelings(i):
            raise ValueError(
                f"block {i}: found labeling {code[0]}, expected 0 to {self.n_labelings(i) - 1}")
        return 0
