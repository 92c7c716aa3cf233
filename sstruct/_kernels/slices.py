"""Array expressions of entries by themselves, some entries at a time.

Python hears of signals between two calls, and one array operation on millions of weights takes a
while, most of it for memory that is new. What lies between the slices here also stays in the
processor's cache.
"""

import numpy as np

from sstruct._kernels._interruption import look_for_signals

# Entries: about a millisecond.
SLICE = 2**17


def by_slices(function, *vectors):
    """Return function(*vectors) of vectors of one length, computed slice by slice.

    Parameters
    ----------
    function : callable
        Of float64 vectors, for each entry by itself.
    *vectors : ndarrays of shape (n,)
    """
    out = np.empty(len(vectors[0]))
    for first in range(0, len(out), SLICE):
        part = slice(first, first + SLICE)
        out[part] = function(*(vector[part] for vector in vectors))
        look_for_signals()
    return out


def zeros(n):
    """Return zeros of shape (n,) whose memory is there, so that first writes to it take no time."""
    out = np.empty(n)
    for first in range(0, n, SLICE):
        out[first : first + SLICE] = 0
        look_for_signals()
    return out
