# Design:
# (a) What a problem that wraps another one hands on to its `scores` and `scatter`: pointers to
#     codes, with a number each. Grows without the GIL; one per object, as other scratch.
"""A list of codes with a number each, for problems that wrap others."""

from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc


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
        free(self.codes)
        free(self.value)
        self.room = 2 * count
        self.codes = <const int32_t**> malloc(self.room * sizeof(void*))
        self.value = <double*> malloc(self.room * sizeof(double))
        if self.codes == NULL or self.value == NULL:
            self.room = 0
            with gil:
                raise MemoryError("no memory left for scores")
        return 0
