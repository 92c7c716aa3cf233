# Design:
# (a) Workspaces have many arrays behind pointers, which grow with the problems and are freed with
#     the workspace. This base class keeps the book: which pointers, how much room, and frees them.
# (b) A field is known by its address, which does not change as long as the object lives. There are
#     few, and they are asked for once a problem, so that they are searched for in a row.
"""Workspaces whose arrays grow without the GIL."""

from libc.stdlib cimport free, realloc


cdef class Storage:
    """Owns the memory behind pointers of a subclass: those that `grow` was called with."""

    def __dealloc__(self):
        cdef int k
        for k in range(self.n_fields):
            free(self.field[k][0])

    cdef int grow(self, void** field, Py_ssize_t count, size_t size) except -1 nogil:
        """Make room for `count` items of `size` bytes behind a field of this object.

        What is there stays. By a quarter more each time, so that it is rarely moved.
        """
        cdef int k = 0
        cdef size_t n_bytes = <size_t> max(count, 1) * size
        cdef void* memory
        while k < self.n_fields and self.field[k] != field:
            k += 1
        if k == self.n_fields:
            if k == MOST_FIELDS:
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
                    f"no memory for {count} items of {size} bytes in a {type(self).__name__}")
        field[0], self.room[k] = memory, n_bytes
        return 0
