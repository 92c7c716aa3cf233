# Design:
# (a) The average of the iterates v_0, v_1, ... of [S15], section 3.5. After every visit,
#         average <- (1 - g) average + g v,    g = 2 / (2 + k),    k = 0, 1, ...
#     A visit changes few entries of v, so the average is stored as v + scale * offset: when v changes
#     by delta, the caller subtracts delta / scale from `offset`; a visit itself only shrinks `scale`.
# (b) The linear part of the dual is averaged in the same way, so that the average has a dual value.
# (c) Between passes, a vector operation is cheap. The iterates at the ends of passes are therefore
#     averaged directly, and with a shorter memory, so that the first passes are forgotten sooner.
# (d) With many rare features, most weights remain zero, and a vector of all of them may be larger than
#     everything else in a fit. The average over passes then contains only its nonzeros, and `evaluate`
#     writes it to the memory of the current weights, which are restored afterwards.
"""Weighted averages of the iterates of a fit."""

from libc.stdint cimport INT32_MAX, int32_t

import numpy as np

from sstruct._kernels.compact import compact, expand
from sstruct._kernels.slices import by_slices
from sstruct._problems.core.kept_arrays import MAX_COUNT, kept_array

# At first, the weight of the iterate of pass k grows like k^7; later, about ten passes count. Among
# growths 2, 4, 7 and 11 and memories of 7, 10 and 14 passes, this was within 6 % of the best time to a
# gap of 0.01 on OCR letters, CoNLL-2000, digits, USPS, Yeast and generated sequences (one run each).
# Growth 11 was 20 % slower on CoNLL-2000; growth 2 was worse than the last iterate on three of them.
cdef double GROWTH = 7
cdef double MIN_RATE = 0.1
# Bytes of an entry with its index, and of an entry of a vector of all weights.
cdef Py_ssize_t COMPACT = 12, WHOLE = 8
# With fewer weights, the average is stored as a vector of all weights.
MIN_COMPACT = 4096


cdef class RunningAverage:
    """Average of the iterates over visits; later iterates have larger weights.

    Parameters
    ----------
    n_weights : int
    """

    def __init__(self, n_weights):
        self.offset = np.zeros(n_weights)
        self.scale = 1
        self.linear = 0
        self.count = 0

    cdef void update(self, double linear) noexcept nogil:
        """Add the iterate after a visit to the average; `linear` is its sum of alpha L."""
        cdef double g = 2.0 / (2.0 + self.count)
        cdef Py_ssize_t k
        self.count += 1
        if g == 1:
            for k in range(self.offset.shape[0]):
                self.offset[k] = 0
            self.scale = 1
        self.scale *= 1 - g if g < 1 else 1
        self.linear += g * (linear - self.linear)

    def weights(self, v):
        """Return the average, given the current iterate v."""
        return by_slices(
            lambda v, offset: v + self.scale * offset, np.asarray(v), np.asarray(self.offset))

    def snapshot(self):
        """Return the state as arrays."""
        return {"offset": np.array(self.offset),
                "numbers": np.array([self.scale, self.linear, self.count])}

    def resume(self, kept, name, problem):
        """Restore the state from the arrays of `snapshot`, stored with the prefix `name`."""
        offset = kept_array(kept, f"{name}_offset", np.float64, self.offset.shape[0])
        offset = problem.without_padding(offset)
        numbers = kept_array(kept, f"{name}_numbers", np.float64, 3)
        scale, linear, count = numbers.tolist()
        # After k visits, the scale is 2 / (k (k + 1)).
        if not (1e-40 < scale <= 1 and 0 <= count <= MAX_COUNT and count == int(count)):
            raise ValueError(
                f"{name}_numbers: {numbers}, expected a scale above 1e-40 and at most 1, a sum of "
                "losses and a count")
        self.offset, self.scale, self.linear, self.count = offset, scale, linear, int(count)


cdef class PassAverage:
    """Average of the iterates at the ends of passes; later iterates have larger weights.

    Near the optimum the last iterate oscillates around the average.

    Parameters
    ----------
    n_weights : int
    """

    cdef readonly Py_ssize_t n_weights, count
    cdef int32_t[::1] index         # of each entry, or None if every weight has an entry
    cdef double[::1] entries

    def __init__(self, n_weights):
        self.n_weights, self.count = n_weights, 0
        self._clear()

    def _clear(self):
        is_small = self.n_weights < MIN_COMPACT
        self.index = None if is_small else np.empty(0, dtype=np.int32)
        self.entries = np.zeros(self.n_weights if is_small else 0)

    def add(self, const double[::1] w not None):
        """Add an iterate to the average."""
        self._check_size(w)
        self.count += 1
        self._approach(w, max((GROWTH + 1) / (GROWTH + self.count), MIN_RATE))

    def resume(self, const double[::1] w not None, count):
        """Replace the average by w, the average of `count` iterates."""
        self._check_size(w)
        self._clear()
        self.count = count
        self._approach(w, 1)

    def weights(self):
        """Return the average as a vector."""
        out = np.empty(self.n_weights)
        self.copy_to(out)
        return out

    def copy_to(self, double[::1] out not None):
        """Write the average to a vector."""
        cdef Py_ssize_t k
        self._check_size(out)
        if self.index is None:
            out[:] = self.entries
            return
        out[:] = 0
        with nogil:
            for k in range(self.entries.shape[0]):
                out[self.index[k]] = self.entries[k]

    @property
    def values(self):
        """The entries, which include all nonzeros."""
        return np.asarray(self.entries)

    def evaluate(self, double[::1] w not None, function):
        """Return function(), called while w contains the average; restore the contents of w."""
        self._check_size(w)
        if self.index is None:
            self._exchange(w)
            try:
                return function()
            finally:
                self._exchange(w)
        current = np.asarray(w)
        kept = compact(current)
        self.copy_to(w)
        try:
            return function()
        finally:
            expand(kept, current)

    cdef void _exchange(self, double[::1] w) noexcept nogil:
        """Exchange the contents of w and of the average, if this has an entry for each weight."""
        cdef Py_ssize_t k
        cdef double entry
        for k in range(self.n_weights):
            entry = self.entries[k]
            self.entries[k] = w[k]
            w[k] = entry

    def _approach(self, const double[::1] w, double rate):
        """Move the average towards w; a rate of 1 copies all bits."""
        cdef Py_ssize_t k
        cdef double[::1] entries
        cdef int32_t[::1] index
        if self.index is not None:
            self._extend(np.asarray(w))
        entries, index = self.entries, self.index
        with nogil:
            if index is None:
                for k in range(self.n_weights):
                    entries[k] = approached(entries[k], w[k], rate)
            else:
                for k in range(index.shape[0]):
                    entries[k] = approached(entries[k], w[index[k]], rate)

    def _extend(self, w):
        """Add entries for the other nonzero weights of w, or for all weights if that needs less memory."""
        index, entries = np.asarray(self.index), np.asarray(self.entries)
        is_new = w.view(np.int64) != 0   # -0.0 gets an entry too
        is_new[index] = False
        new = np.flatnonzero(is_new)
        if len(new) == 0:
            return
        if COMPACT * (len(index) + len(new)) >= WHOLE * self.n_weights or self.n_weights > INT32_MAX:
            self.index, self.entries = None, self.weights()
            return
        at = np.searchsorted(index, new)
        self.index, self.entries = np.insert(index, at, new), np.insert(entries, at, 0.0)

    def _check_size(self, const double[::1] w):
        if w.shape[0] != self.n_weights:
            raise ValueError(f"w has {w.shape[0]} weights, expected {self.n_weights}")


cdef inline double approached(double average, double w, double rate) noexcept nogil:
    return w if rate == 1 else average + rate * (w - average)
