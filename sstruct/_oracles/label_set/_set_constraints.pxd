from libc.stdint cimport int32_t


cdef class SetConstraints:
    # Row r: lower[r] <= sum of sign * y over its entries <= upper[r], for labels y of 0 or 1.
    cdef readonly Py_ssize_t n_labels, n_rows
    cdef const int32_t[::1] first           # (n_rows + 1,): the entries of each row
    cdef const int32_t[::1] label, sign     # label and sign (1 or -1) of each entry
    cdef const int32_t[::1] lower, upper

    cdef Py_ssize_t violated(self, const int32_t* code) noexcept nogil
