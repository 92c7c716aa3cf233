# The distinct labels that several labelings assign to a node. Header only.
from libc.stdint cimport int32_t


cdef inline bint differ_at(const int32_t** codes, Py_ssize_t count, Py_ssize_t node) noexcept nogil:
    """Return whether any two labelings have different labels at a node."""
    cdef Py_ssize_t k
    for k in range(1, count):
        if codes[k][node] != codes[0][node]:
            return True
    return False


cdef inline int32_t collect_labels(
        const int32_t** codes, Py_ssize_t count, Py_ssize_t node, int32_t* place,
        int32_t* label) noexcept nogil:
    """Return the number of distinct labels at a node; list them in `label`, index them in `place`.

    A single label is not listed. place : -1 for every label, before this and after `forget_labels`
    """
    cdef Py_ssize_t k
    cdef int32_t y, n_labels = 0
    if not differ_at(codes, count, node):
        return 1
    for k in range(count):
        y = codes[k][node]
        if place[y] < 0:
            place[y] = n_labels
            label[n_labels] = y
            n_labels += 1
    return n_labels


cdef inline void forget_labels(
        int32_t* place, const int32_t* label, int32_t n_labels) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(n_labels):
        place[label[k]] = -1
