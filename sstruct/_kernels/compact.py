"""Vectors of weights as the indices and values of their nonzeros, if that takes less memory."""

import numpy as np

# Bytes per nonzero (or changed weight) with its index, and per entry of a whole vector.
CHANGED, WHOLE = 12, 8


def compact(vector):
    """Return the indices and values of nonzeros, or None and a copy if that takes less memory."""
    is_nonzero = vector.view(np.int64) != 0  # including -0.0
    if CHANGED * np.count_nonzero(is_nonzero) >= WHOLE * len(vector):
        return None, vector.copy()
    index = np.flatnonzero(is_nonzero).astype(np.int32)
    return index, vector[index]


def expand(compacted, out):
    """Write the vector that `compact` returned to `out`, and return `out`."""
    index, value = compacted
    if index is None:
        out[:] = value
    else:
        out[:] = 0
        out[index] = value
    return out
