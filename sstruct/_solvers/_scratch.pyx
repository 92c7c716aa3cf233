# Design:
# (a) Only who owns the memory is here; the rest is in the header.
"""Scratch for visits, one a thread."""

from libc.stdlib cimport calloc, free


cdef class Scratches:
    """`n` of them."""

    def __cinit__(self, Py_ssize_t n):
        cdef Py_ssize_t k
        if n < 1:
            raise ValueError(f"n must be at least 1, found {n}")
        self.n = n
        self.of = <Scratch*> calloc(n, sizeof(Scratch))
        if self.of == NULL:
            raise MemoryError("no memory left for scratch")
        for k in range(n):
            reserve(&self.of[k], 16)

    def __dealloc__(self):
        cdef Py_ssize_t k
        if self.of != NULL:
            for k in range(self.n):
                release(&self.of[k])
            free(self.of)
