# Design:
# (a) Workspaces have many arrays, which grow with the problems and are freed with the workspace. This
#     base class stores their pointers and allocated sizes, and frees them.
# (b) A field is identified by its address, which is constant during the life of the object. There are
#     few fields, and they are requested once per problem, so a linear search is sufficient.
# (c) The C library keeps the memory of freed arrays of up to 32 MB for later arrays, but larger vectors
#     cannot use it. `return_freed_memory` returns it to the system.
"""Workspaces with arrays that grow without the GIL."""

from libc.stdlib cimport free, realloc

cdef extern from "sstruct/_kernels/trim.h":
    void sstruct_trim() noexcept nogil


def return_freed_memory():
    """Return freed memory to the system, in some milliseconds; has no effect without glibc."""
    with nogil:
        sstruct_trim()


cdef class Storage:
    """Owns the memory of the pointers in a subclass for which `grow` was called."""

    def __dealloc__(self):
        cdef int k
        for k in range(self.n_fields):
            free(self.field[k][0])

    cdef int grow(self, void** field, Py_ssize_t count, size_t size) except -1 nogil:
        """Allocate memory for `count` items of `size` bytes in a field of this object.

        Previous contents are kept. Memory grows by at least a quarter, to avoid frequent moves.
        """
        cdef int k = 0
        cdef size_t n_bytes = <size_t> max(count, 1) * size
        cdef void* memory
        while k < self.n_fields and self.field[k] != field:
            k += 1
        if k == self.n_fields:
            if k == MAX_FIELDS:
                raise RuntimeError("too many fields for a Storage")
            self.field[k], self.room[k] = field, 0
            self.n_fields += 1
        if n_bytes <= self.room[k]:
            return 0
        n_bytes = max(n_bytes, self.room[k] + self.room[k] // 4)
        memory = realloc(field[0], n_bytes)
        if memory == NULL:
            with gil:
                raise MemoryError(
                    f"not enough memory for {count} items of {size} bytes in a {type(self).__name__}")
        field[0], self.room[k] = memory, n_bytes
        return 0
