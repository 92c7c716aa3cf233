# Design:
# (a) The average of iterates v_0, v_1, ... of paper 000, section 3.5: after every visit
#         average <- (1 - g) average + g v,    g = 2 / (2 + k),    k = 0, 1, ...
#     A visit changes few entries of v, so the average is kept as v + scale * offset: when v changes
#     by delta, offset -= delta / scale (the caller scatters that too); a visit only shrinks `scale`.
# (b) The linear part of the dual is averaged likewise, so that the average has a dual value.
# (c) Between passes a vector operation costs nothing, so the iterates at the ends of passes have an
#     average with no such bookkeeping, and with a shorter memory: there is no need to wait until the
#     first passes are forgotten.
"""Weighted averages of the iterates of a fit."""

import numpy as np

from sstruct._kernels.slices import by_slices
from sstruct._problems.core.kept_arrays import MOST_COUNTED, kept_array

# Weights of the iterates after pass k grow like k^7 at first; in the long run ten passes count. Of
# growths 2, 4, 7 and 11 and memories of 7, 10 and 14 passes this was within 6 % of the best in
# seconds to a gap of 0.01 on OCR letters, CoNLL-2000, digits, USPS, Yeast and made sequences (one
# run each). Growth 11 took a fifth longer on CoNLL-2000; 2 was behind the last iterate on three.
cdef double GROWTH = 7
cdef double LEAST_RATE = 0.1


cdef class RunningAverage:
    """Average of the iterates over visits, later ones weighing more.

    Parameters
    ----------
    n_weights : int
    """

    def __init__(self, n_weights):
        self.offset = np.zeros(n_weights)
        self.scale = 1
        self.linear = 0
        self.count = 0

    cdef void follow(self, double linear) noexcept nogil:
        """Take the iterate after a visit into the average; `linear` is its sum of alpha L."""
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
        """Return the average, where v is the present iterate."""
        return by_slices(
            lambda v, offset: v + self.scale * offset, np.asarray(v), np.asarray(self.offset))

    def snapshot(self):
        """Return the state as arrays."""
        return {"offset": np.array(self.offset),
                "numbers": np.array([self.scale, self.linear, self.count])}

    def resume(self, kept, name, problem):
        """Undo `snapshot`, whose arrays are there under names that begin with `name`."""
        offset = kept_array(kept, f"{name}_offset", np.float64, self.offset.shape[0])
        offset = problem.without_padding(offset)
        numbers = kept_array(kept, f"{name}_numbers", np.float64, 3)
        scale, linear, count = numbers.tolist()
        if not (0 < scale <= 1 and 0 <= count <= MOST_COUNTED and count == int(count)):
            raise ValueError(
                f"{name}_numbers: {numbers}, expected a scale in (0, 1], a sum of losses and a count")
        self.offset, self.scale, self.linear, self.count = offset, scale, linear, int(count)


cdef class PassAverage:
    """Average of the iterates at the ends of passes, later ones weighing more.

    Near the optimum the last iterate moves about; the average lies where it moves about.

    Parameters
    ----------
    weights : ndarray of shape (n_weights,)
        Becomes the average.
    """

    def __init__(self, weights):
        self.w = self.weights = weights
        self.count = 0

    def add(self, const double[::1] w not None):
        """Take an iterate into the average."""
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
        """Go on from the average after `count` iterates, which is there under a name."""
        self.w[:] = kept_array(kept, name, np.float64, self.weights.shape[0])
        self.count = count
