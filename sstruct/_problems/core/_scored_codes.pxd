from libc.stdint cimport int32_t


cdef class ScoredCodes:
    cdef const int32_t** codes       # (room,)
    cdef double* value               # (room,)
    cdef Py_ssize_t room

    cdef int reserve(self, Py_ssize_t count) except -1 nogil
