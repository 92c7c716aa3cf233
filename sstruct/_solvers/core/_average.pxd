cdef class RunningAverage:
    cdef double[::1] offset
    cdef double scale, linear
    cdef readonly Py_ssize_t count

    cdef void update(self, double linear) noexcept nogil
