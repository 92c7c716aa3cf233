# Design:
# (a) These loops only return whether all entries are valid, in one pass, since input is usually valid
#     and the prediction of one short sample spends most of its time in checks. Otherwise, the caller
#     finds the first invalid entry for the error message.
# (b) No loop handles signals: an entry takes about a nanosecond.
"""Loops that check all entries of an array."""

from libc.stdint cimport int32_t, int64_t

import numpy as np

INT32 = np.dtype(np.int32)


ctypedef fused integer:
    int32_t
    int64_t


def rises(pointers):
    """Return whether no entry of a contiguous int32 or int64 array is smaller than the one before."""
    cdef const int32_t[::1] short
    cdef const int64_t[::1] long_
    if len(pointers) == 0:
        return True
    if pointers.dtype == INT32:
        short = pointers
        return is_rising(&short[0], len(pointers))
    long_ = pointers
    return is_rising(&long_[0], len(pointers))


def in_range(const int32_t[::1] indices, Py_ssize_t n):
    """Return whether all indices are at least 0 and less than n."""
    cdef Py_ssize_t k
    for k in range(indices.shape[0]):
        if not 0 <= indices[k] < n:
            return False
    return True


def is_canonical(const int32_t[::1] pointers, const int32_t[::1] indices, Py_ssize_t n_columns):
    """Return whether the indices of each row are increasing and in the range from 0 to `n_columns` - 1.

    Pointers that decrease or are not in the range of `indices` are invalid, too.

    pointers : start of each row in `indices`, and end of the last one
    """
    cdef Py_ssize_t r, k
    cdef int64_t before
    for r in range(pointers.shape[0] - 1):
        before = -1
        if not 0 <= pointers[r] <= pointers[r + 1] <= indices.shape[0]:
            return False
        for k in range(pointers[r], pointers[r + 1]):
            if indices[k] <= before:
                return False
            before = indices[k]
        if before >= n_columns:
            return False
    return True


cdef bint is_rising(const integer* values, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(1, n):
        if values[k] < values[k - 1]:
            return False
    return True
