# Memory that grows without the GIL. Header only.
from libc.stdlib cimport realloc


cdef inline int grow(void** items, Py_ssize_t count, size_t size) except -1 nogil:
    """Allocate memory for `count` items of `size` bytes and keep previous contents."""
    cdef void* memory = realloc(items[0], <size_t> max(count, 1) * size)
    if memory == NULL:
        with gil:
            raise MemoryError(f"not enough memory for {count} items of {size} bytes")
    items[0] = memory
    return 0
