# Design:
# (a) The average of the iterates v_0, v_1, ... of [S15], section 3.5. After every visit,
#         average <- (1 - g) average + g v,    g = 2 / (2 + k),    k = 0, 1, ...
#     A visit changes few entries of v, so the average is stored as v + scale * offset: when v changes
#     by delta, the caller subtracts delta / scale from `offset`; a visit itself only shrinks `scale`.
# (b) The linear part of the dual is averaged in the same way, so that the average has a dual value.
# (c) Between passes, a vector operation is cheap. The iterates at the ends of passes are therefore
#     averaged directly, and with a shorter memory, so that the first passes are forgotten sooner.
# (d) With many rare features, most weights remain zero, and a vector of all of them may be larger than
#     everything else in a fit. The average over passes then contains only its nonzeros, and `exchange`
#     moves it to the memory of the current weights while it is evaluated.
"""Weighted averages of the iterates of a fit."""

from libc.stdint cimport INT32_MAX, int32_t, int64_t

import numpy as np

from sstruct._kernels.slices import by_slices
from sstruct._problems.core.kept_arrays import MOST_COUNTED, kept_array

# The weights of the iterates grow like k^7 in pass k at first; later about ten passes count. Among
# growths 2, 4, 7 and 11 and memories of 7, 10 and 14 passes, this was within 6 % of the best time to
# a gap of 0.01 on OCR letters, CoNLL-2000, digits, USPS, Yeast and generated sequences (one run each).
# Growth 11 was 20 % slower on CoNLL-2000; growth 2 was worse than the last iterate on three of them.
cdef double GROWTH = 7
cdef double LEAST_RATE = 0.1
# Bytes of an entry with its index, and of an entry of a vector of all weights.
cdef Py_ssize_t COMPACT = 12, WHOLE = 8


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
        if self.scale < 1e-150:   # long before a quotient by it overflows
            for k in range(self.offset.shape[0]):
                self.offset[k] *= self.scale
            self.scale = 1

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
        if not (0 < scale <= 1 and 0 <= count <= MOST_COUNTED and count == int(count)):
            raise ValueError(
                f"{name}_numbers: {numbers}, expected a scale in (0, 1], a sum of losses and a count")
        self.offset, self.scale, self.linear, self.count = offset, scale, linear, int(count)


cdef class PassAverage:
    """Average of the iterates at the ends of passes; later iterates have larger weights.

    Near the optimum the last iterate oscillates around the average.

    Parameters
    ----------
    n_weights : int
    """

    def __init__(self, n_weights):
        self.n_weights, self.count = n_weights, 0
        self.index, self.entries = np.empty(0, dtype=np.int32), np.empty(0)

    def add(self, const double[::1] w not None):
        """Add an iterate to the average."""
        cdef Py_ssize_t k
        cdef double rate
        cdef double[::1] entries
        self._extend(w)
        self.count += 1
        rate = max((GROWTH + 1) / (GROWTH + self.count), LEAST_RATE)
        entries = self.entries
        with nogil:
            if self.index is None:
                for k in range(entries.shape[0]):
                    entries[k] += rate * (w[k] - entries[k])
            else:
                for k in range(entries.shape[0]):
                    entries[k] += rate * (w[self.index[k]] - entries[k])

    def weights(self):
        """Return a vector of the average."""
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
        for k in range(self.entries.shape[0]):
            out[self.index[k]] = self.entries[k]

    @property
    def values(self):
        """The entries, which include all nonzeros."""
        return np.asarray(self.entries)

    def evaluate(self, double[::1] w not None, function):
        """Return function(), called while w contains the average; restore the contents of w."""
        cdef PassAverage kept = PassAverage(self.n_weights)
        self._check_size(w)
        if self.index is None:
            self._exchange(w)
            try:
                return function()
            finally:
                self._exchange(w)
        kept.resume(w, 0)
        self.copy_to(w)
        try:
            return function()
        finally:
            kept.copy_to(w)

    cdef void _exchange(self, double[::1] w) noexcept nogil:
        """Exchange the contents of w and of the average, if this has an entry for each weight."""
        cdef Py_ssize_t k
        cdef double of_average
        for k in range(self.n_weights):
            of_average = self.entries[k]
            self.entries[k] = w[k]
            w[k] = of_average

    def resume(self, const double[::1] w not None, count):
        """Replace the average by w, the average of `count` iterates."""
        cdef Py_ssize_t k
        self.index, self.entries = np.empty(0, dtype=np.int32), np.empty(0)
        self._extend(w)
        self.count = count
        if self.index is None:
            self.entries[:] = w
        else:
            for k in range(self.entries.shape[0]):
                self.entries[k] = w[self.index[k]]

    def _extend(self, const double[::1] w):
        """Make an entry for each weight that is not zero in w; for all if that needs less memory."""
        cdef Py_ssize_t k, before = 0, at = 0, n
        cdef int32_t[::1] index = self.index, new_index
        cdef double[::1] entries = self.entries, new_entries
        self._check_size(w)
        if index is None:
            return
        n = self.n_entries(w)
        if n == index.shape[0]:
            return
        if self.n_weights > INT32_MAX or COMPACT * n >= WHOLE * self.n_weights:
            vector = self.weights()
            self.index, self.entries = None, vector
            return
        new_index, new_entries = np.empty(n, dtype=np.int32), np.zeros(n)
        for k in range(self.n_weights):
            if before < index.shape[0] and index[before] == k:
                new_index[at], new_entries[at] = <int32_t> k, entries[before]
                before += 1
                at += 1
            elif is_nonzero(&w[k]):
                new_index[at] = <int32_t> k
                at += 1
        self.index, self.entries = new_index, new_entries

    cdef Py_ssize_t n_entries(self, const double[::1] w) noexcept nogil:
        """Return the number of entries after `_extend`."""
        cdef Py_ssize_t k, before = 0, n = 0
        for k in range(self.n_weights):
            if before < self.index.shape[0] and self.index[before] == k:
                before += 1
                n += 1
            else:
                n += is_nonzero(&w[k])
        return n

    def _check_size(self, const double[::1] w):
        if w.shape[0] != self.n_weights:
            raise ValueError(f"{w.shape[0]} weights, expected {self.n_weights}")


cdef inline bint is_nonzero(const double* value) noexcept nogil:
    """Whether a bit is set, which includes -0.0."""
    return (<const int64_t*> value)[0] != 0
