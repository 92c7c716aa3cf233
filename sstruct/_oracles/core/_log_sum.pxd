# The logarithm of a sum of exponentials. Header only.
from libc.math cimport INFINITY, exp, log


cdef inline double log_of_sum(const double* x, Py_ssize_t n, Py_ssize_t step) noexcept nogil:
    """Return log(sum(exp(x))) of n values, every `step`-th entry."""
    cdef Py_ssize_t k
    cdef double highest = -INFINITY, total = 0
    for k in range(n):
        highest = max(highest, x[k * step])
    if highest == -INFINITY:
        return highest
    for k in range(n):
        total += exp(x[k * step] - highest)
    return highest + log(total)
