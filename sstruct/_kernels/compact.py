"""Vectors of weights as the indices and values of their nonzeros, if that takes less memory."""

import numpy as np

# Bytes of a nonzero, or of a changed weight, with its index, and of an entry of a whole vector.
CHANGED, WHOLE = 12, 8


def compact(vector):
    """Return index and value of a vector's nonzeros, or None and all values if that is smaller."""
    bits = vector.view(np.int64)  # not zero for -0.0
    if CHANGED * np.count_nonzero(bits) >= WHOLE * len(vector):
        return None, vector
    index = np.flatnonzero(bits).astype(np.int32)
    return index, vector[index]


def expand(compacted, out):
    """Write the vector of `compact` to `out`, and return it."""
    index, value = compacted
    if index is None:
        out[:] = value
    else:
        out[:] = 0
        out[index] = value
    return out
