# Design:
# (a) The function is in the .pxd. Here is a door for tests.
"""The quadratic program of one factor: a door for tests."""

from sstruct._solvers._gdmm_simplex cimport simplex_minimum

import numpy as np


def minimum(const double[::1] c, double Q, double C):
    """Return a (m,) and the multiplier b; see `simplex_minimum`."""
    if c.shape[0] == 0 or not Q >= 0 or not C > 0:
        raise ValueError("c must not be empty, Q not negative, and C positive")
    out = np.empty(c.shape[0])
    cdef double[::1] a = out
    cdef double b = simplex_minimum(&c[0], Q, C, c.shape[0], &a[0])
    return out, b
