"""Elementwise array expressions, evaluated in slices.

Python handles signals between calls, and an operation on millions of weights would delay them,
mostly by allocating memory. Intermediate results of slices also stay in the processor's cache.
"""

import numpy as np

from sstruct._kernels._interruption import handle_signals

# Number of entries, about a millisecond.
SLICE = 2**17


def by_slices(function, *vectors, out=None):
    """Return function(*vectors) of vectors of equal length, computed slice by slice.

    Parameters
    ----------
    function : callable
        An elementwise function of float64 vectors.
    *vectors : ndarrays of shape (n,)
    out : ndarray of shape (n,) or None
        Receives the result; may be one of the vectors.
    """
    out = np.empty(len(vectors[0])) if out is None else out
    for first in range(0, len(out), SLICE):
        part = slice(first, first + SLICE)
        out[part] = function(*(vector[part] for vector in vectors))
        handle_signals()
    return out


def zeros(n):
    """Return zeros of shape (n,) in memory that is already mapped, so first writes are fast."""
    out = np.empty(n)
    for first in range(0, n, SLICE):
        out[first : first + SLICE] = 0
        handle_signals()
    return out
