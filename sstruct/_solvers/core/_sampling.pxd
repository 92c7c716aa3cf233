from sstruct._kernels._random cimport Random


cdef class SumTree:
    cdef Py_ssize_t n_leaves, width
    cdef double[::1] node

    cdef void put(self, Py_ssize_t i, double value) noexcept nogil
    cdef double get(self, Py_ssize_t i) noexcept nogil
    cdef double total(self) noexcept nogil
    cdef Py_ssize_t draw(self, Random* random) noexcept nogil
