cdef enum: MAX_FIELDS = 32


cdef class Storage:
    cdef void** field[MAX_FIELDS]         # pointers of this object that own memory
    cdef size_t room[MAX_FIELDS]          # allocated bytes of each
    cdef int n_fields

    cdef int grow(self, void** field, Py_ssize_t count, size_t size) except -1 nogil
