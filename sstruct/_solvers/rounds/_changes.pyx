# Design:
# (a) On text, a pass over cached labelings changes about 100,000 of two million weights. NumPy needs six
#     sweeps over all weights to find them, which take longer than the pass; this takes one sweep.
"""Changes of v by a pass of a partition."""

from libc.stdint cimport int32_t

import numpy as np

from sstruct._kernels.compact import CHANGED, WHOLE


def compact_change(const double[::1] v not None, const double[::1] before not None, double divisor):
    """Return index and value of the nonzeros of ``(v - before) / divisor``, as `compact` does.

    O(n_weights).

    Parameters
    ----------
    v, before : ndarray of shape (n_weights,)
    divisor : float

    Returns
    -------
    index : ndarray of int32 or None
        None if `value` has all entries, because this takes fewer bytes.
    value : ndarray
    """
    cdef Py_ssize_t j, n = v.shape[0], count = 0, most
    cdef double change
    cdef int32_t[::1] index
    cdef double[::1] value
    if before.shape[0] != n:
        raise ValueError(f"before has {before.shape[0]} weights, expected {n}")
    most = n * WHOLE // CHANGED
    indices, values = np.empty(most, dtype=np.int32), np.empty(most)
    index, value = indices, values
    with nogil:
        for j in range(n):
            if v[j] != before[j]:
                change = (v[j] - before[j]) / divisor
                if change != 0:
                    if count == most:
                        count += 1
                        break
                    index[count], value[count] = <int32_t> j, change
                    count += 1
    if CHANGED * count >= WHOLE * n:
        return None, np.subtract(v, before) / divisor
    # Copies, so that unused memory is freed.
    return indices[:count].copy(), values[:count].copy()
