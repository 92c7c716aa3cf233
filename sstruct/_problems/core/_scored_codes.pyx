# Design:
# (a) What a problem that wraps another one hands on to its `scores` and `scatter`: pointers to
#     codes, with a number each. Grows without the GIL; one per object, as other scratch.
"""A list of codes with a number each, for problems that wrap others."""

from libc.stdlib cimport free

from sstruct._kernels._memory cimport grow


cdef class ScoredCodes:
    """Room for codes and numbers; what is in it does not outlive `reserve`."""

    def __cinit__(self):
        self.codes, self.value, self.room = NULL, NULL, 0

    def __dealloc__(self):
        free(self.codes)
        free(self.value)

    cdef int reserve(self, Py_ssize_t count) except -1 nogil:
        """Have room for so many."""
        if count <= self.room:
            return 0
        grow(<void**> &self.codes, 2 * count, sizeof(void*))
        grow(<void**> &self.value, 2 * count, sizeof(double))
        self.room = 2 * count
        return 0
