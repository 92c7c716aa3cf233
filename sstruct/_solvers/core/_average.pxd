from libc.stdint cimport int32_t


cdef class RunningAverage:
    cdef double[::1] offset
    cdef double scale, linear
    cdef readonly Py_ssize_t count

    cdef void update(self, double linear) noexcept nogil


cdef class PassAverage:
    cdef readonly Py_ssize_t n_weights, count
    cdef int32_t[::1] index         # of each entry, or None if every weight has an entry
    cdef double[::1] entries

    cdef void _exchange(self, double[::1] w) noexcept nogil
    cdef Py_ssize_t n_entries(self, const double[::1] w) noexcept nogil
    cdef void _merge(
        self, const double[::1] w, double rate, int32_t[::1] new_index,
        double[::1] new_entries) noexcept nogil
