# Design:
# (a) A pass over cached labelings of text changes a hundred thousand of two million weights: what a
#     round then takes is its sweeps over vectors. This is one, where NumPy makes six.
"""What a part's pass has changed in v."""

from libc.stdint cimport int32_t

import numpy as np

from sstruct._cluster.weight_changes import CHANGED, WHOLE


def compact_change(const double[::1] v not None, const double[::1] before not None, double over):
    """Return index and value of the nonzeros of (v - before) / over.

    index (int32) is None and value has all entries where that is less to send.
    """
    cdef Py_ssize_t j, n = v.shape[0], count = 0, most
    cdef double change
    cdef int32_t[::1] index
    cdef double[::1] value
    if before.shape[0] != n:
        raise ValueError(f"{before.shape[0]} weights before, expected {n}")
    most = n * WHOLE // CHANGED
    indices, values = np.empty(most, dtype=np.int32), np.empty(most)
    index, value = indices, values
    with nogil:
        for j in range(n):
            if v[j] != before[j]:
                change = (v[j] - before[j]) / over
                if change != 0:
                    if count == most:
                        count += 1
                        break
                    index[count], value[count] = <int32_t> j, change
                    count += 1
    if CHANGED * count >= WHOLE * n:
        return None, np.subtract(v, before) / over
    # Copies: what was not filled is given back.
    return indices[:count].copy(), values[:count].copy()
