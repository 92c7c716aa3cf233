# Design:
# (a) Arguments that a wrapper problem passes to `scores` and `scatter` of the inner problem: pointers to
#     codes, each with a number. Grows without the GIL; one per object, like other scratch memory.
"""A list of codes with a number each, for problems that wrap other problems."""

from libc.stdlib cimport free

from sstruct._kernels._memory cimport grow


cdef class ScoredCodes:
    """Memory for codes and numbers; `reserve` invalidates its contents."""

    def __cinit__(self):
        self.codes, self.value, self.room = NULL, NULL, 0

    def __dealloc__(self):
        free(self.codes)
        free(self.value)

    cdef int reserve(self, Py_ssize_t count) except -1 nogil:
        """Allocate memory for `count` codes."""
        if count <= self.room:
            return 0
        grow(<void**> &self.codes, 2 * count, sizeof(void*))
        grow(<void**> &self.value, 2 * count, sizeof(double))
        self.room = 2 * count
        return 0
