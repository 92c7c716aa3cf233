# Design:
# (a) The average of iterates v_0, v_1, ... of paper 000, section 3.5: after every visit
#         average <- (1 - g) average + g v,    g = 2 / (2 + k),    k = 0, 1, ...
#     A visit changes few entries of v, so the average is kept as v + scale * offset: when v changes
#     by delta, offset -= delta / scale (the caller scatters that too); a visit only shrinks `scale`.
# (b) The linear part of the dual is averaged likewise, so that the average has a dual value.
"""Weighted averages of the iterates of a fit."""

import numpy as np


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
        return np.asarray(v) + self.scale * np.asarray(self.offset)

    def snapshot(self):
        """Return the state as arrays."""
        return {"offset": np.array(self.offset),
                "numbers": np.array([self.scale, self.linear, self.count])}

    def resume(self, snapshot):
        """Undo `snapshot`."""
        offset = np.array(snapshot["offset"], dtype=np.float64)
        if offset.shape[0] != self.offset.shape[0]:
            raise ValueError(f"an average of {offset.shape[0]} weights, expected "
                             f"{self.offset.shape[0]}")
        self.offset = offset
        self.scale, self.linear = snapshot["numbers"][:2]
        self.count = int(snapshot["numbers"][2])
