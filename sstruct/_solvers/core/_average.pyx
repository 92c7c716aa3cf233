# Design:
# (a) The average of the iterates v_0, v_1, ... of [S15], section 3.5. After every visit,
#         average <- (1 - g) average + g v,    g = 2 / (2 + k),    k = 0, 1, ...
#     A visit changes few entries of v, so the average is stored as v + scale * offset: when v changes
#     by delta, the caller subtracts delta / scale from `offset`; a visit itself only shrinks `scale`.
# (b) The linear part of the dual is averaged in the same way, so that the average has a dual value.
# (c) Between passes, a vector operation is cheap. The iterates at the ends of passes are therefore
#     averaged directly, and with a shorter memory, so that the first passes are forgotten sooner.
"""Weighted averages of the iterates of a fit."""

import numpy as np

from sstruct._kernels.slices import by_slices
from sstruct._problems.core.kept_arrays import MOST_COUNTED, kept_array

# The weights of the iterates grow like k^7 in pass k at first; later about ten passes count. Among
# growths 2, 4, 7 and 11 and memories of 7, 10 and 14 passes, this was within 6 % of the best time to
# a gap of 0.01 on OCR letters, CoNLL-2000, digits, USPS, Yeast and generated sequences (one run each).
# Growth 11 was 20 % slower on CoNLL-2000; growth 2 was worse than the last iterate on three of them.
cdef double GROWTH = 7
cdef double LEAST_RATE = 0.1


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
    weights : ndarray of shape (n_weights,)
        Becomes the average.
    """

    def __init__(self, weights):
        self.w = self.weights = weights
        self.count = 0

    def add(self, const double[::1] w not None):
        """Add an iterate to the average."""
        cdef Py_ssize_t k
        cdef double rate
        if w.shape[0] != self.weights.shape[0]:
            raise ValueError(f"{w.shape[0]} weights, expected {self.weights.shape[0]}")
        self.count += 1
        rate = max((GROWTH + 1) / (GROWTH + self.count), LEAST_RATE)
        with nogil:
            for k in range(w.shape[0]):
                self.weights[k] += rate * (w[k] - self.weights[k])

    def resume(self, kept, name, count):
        """Restore the average of `count` iterates, stored in `kept` as `name`."""
        self.w[:] = kept_array(kept, name, np.float64, self.weights.shape[0])
        self.count = count
