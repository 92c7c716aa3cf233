from libc.stdint cimport int32_t


cdef struct Ranked:         # a value of an array and its place in it
    double value
    Py_ssize_t at


cdef struct Pair:           # of places in two sorted arrays
    double value
    Py_ssize_t first, second


cdef class SumConstraint:
    cdef Py_ssize_t most_places, most_labels, sums_size, used
    cdef bint always_plain, never_plain
    cdef double* sums
    cdef const double** phi
    cdef Ranked* ranked
    cdef Pair* heap
    # Of the present call
    cdef const double* costs
    cdef Py_ssize_t n, K, total
    cdef int32_t* labels

    cdef Py_ssize_t lowest(self, Py_ssize_t size) noexcept nogil
    cdef Py_ssize_t highest(self, Py_ssize_t size) noexcept nogil
    cdef void convolve(
        self, const double* first, Py_ssize_t n, const double* second, Py_ssize_t m,
        Py_ssize_t low, Py_ssize_t high, double* out) noexcept nogil
    cdef bint sorted_pairs(
        self, const double* first, Py_ssize_t n, const double* second, Py_ssize_t m,
        Py_ssize_t low, Py_ssize_t high, double* out) noexcept nogil
    cdef void fill(self, Py_ssize_t node, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cdef void divide(
        self, Py_ssize_t node, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t total) noexcept nogil
    cdef void minimize(
        self, const double* costs, Py_ssize_t n, Py_ssize_t K, Py_ssize_t total,
        int32_t* labels) noexcept nogil
