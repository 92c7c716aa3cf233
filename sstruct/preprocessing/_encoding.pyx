# Design:
# (a) Codes of entries are looked up by name and then by value, which takes half of the time of a lookup of
#     the pair. All keys are plain strings and numbers, whose comparison does not run code of users.
# (b) Rows are sorted by insertion while they are copied, since most items have few attributes, often in the
#     order of their columns. SciPy sorts long rows.
"""Codes of the entries of feature dicts, and CSR rows made of them."""

from cpython.dict cimport PyDict_Check, PyDict_Size
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memmove

import numpy as np

from sstruct._checks._scans import rises

# Inserting more entries into one row takes longer than sorting them.
cdef Py_ssize_t MAX_INSERTED = 256


def codes_of_dicts(sequence, dict seen, find):
    """Return the codes of all entries of feature dicts, and the number of entries of each dict.

    Parameters
    ----------
    sequence : list
    seen : dict of dicts
        Codes by name and by value. Names are strings, values are strings or numbers.
    find : callable
        ``find(name, value)`` returns the code of any other entry, or None if it is not supported.

    Returns
    -------
    codes : ndarray of int32
    sizes : ndarray of int64
        The result is None if an item is not a dict, or an entry is not supported.
    """
    cdef Py_ssize_t t = 0, at = 0, size = 0
    cdef dict values
    for item in sequence:
        if not PyDict_Check(item):
            return None
        size += PyDict_Size(item)
    codes, sizes = np.empty(size, dtype=np.int32), np.empty(len(sequence), dtype=np.int64)
    cdef int32_t[::1] code = codes
    cdef int64_t[::1] count = sizes
    for item in sequence:
        before = at
        for name, value in (<dict> item).items():
            kind = type(value)
            found = None
            if at == size:
                return None
            if type(name) is str and (kind is str or kind is int or kind is float or kind is bool):
                values = seen.get(name)
                found = None if values is None else values.get(value)
            if found is None:
                found = find(name, value)
                if found is None:
                    return None
            code[at] = found
            at += 1
        count[t] = at - before
        t += 1
    return (codes, sizes) if at == size else None


def csr_rows(
        const int32_t[::1] columns, const int64_t[::1] offsets, const double[::1] weights=None):
    """Return the arrays of CSR rows, without negative columns; sum duplicates, except in long items.

    Parameters
    ----------
    columns : ndarray of int32 of shape (n,)
        Columns of all items; negative for attributes without effect.
    offsets : ndarray of int64 of shape (n_items + 1,)
        The start of each item, and n.
    weights : ndarray of shape (n,), optional
        Values at the columns. Default: 1.

    Returns
    -------
    values : ndarray of float64
    indices : ndarray of int32
    indptr : ndarray of int64
    is_canonical : bool
        Whether indices are sorted and have no duplicates. Otherwise, some items are long.
    """
    cdef Py_ssize_t r, k, j, begin, size, at = 0, n = columns.shape[0], n_items = offsets.shape[0] - 1
    cdef int32_t column
    cdef double value
    cdef bint canonical = True
    if (n_items < 0 or offsets[0] != 0 or offsets[n_items] != n or not rises(np.asarray(offsets))
            or weights is not None and weights.shape[0] != n):
        raise ValueError("offsets or weights do not match the columns")
    for k in range(n):
        at += columns[k] >= 0
    indices, values = np.empty(at, dtype=np.int32), np.empty(at)
    indptr = np.zeros(n_items + 1, dtype=np.int64)
    cdef int32_t[::1] index = indices
    cdef double[::1] entry = values
    cdef int64_t[::1] start = indptr
    at = 0
    for r in range(n_items):
        begin, size = at, offsets[r + 1] - offsets[r]
        canonical &= size <= MAX_INSERTED
        for k in range(offsets[r], offsets[r + 1]):
            column = columns[k]
            if column < 0:
                continue
            value = 1 if weights is None else weights[k]
            j = at
            if size <= MAX_INSERTED:
                while j > begin and index[j - 1] > column:
                    j -= 1
                if j > begin and index[j - 1] == column:
                    entry[j - 1] += value
                    continue
                if j < at:
                    memmove(&index[j] + 1, &index[j], (at - j) * sizeof(int32_t))
                    memmove(&entry[j] + 1, &entry[j], (at - j) * sizeof(double))
            index[j], entry[j] = column, value
            at += 1
        start[r + 1] = at
    return values[:at], indices[:at], indptr, canonical
