from libc.stdint cimport int32_t, int64_t


cdef extern from "_kernels.h":
    ctypedef struct sstruct_rows:
        const void* values
        const int32_t* indices
        const int64_t* indptr
        int64_t n_features
        int kind
    cdef enum:
        SSTRUCT_DOUBLE
        SSTRUCT_SINGLE
        SSTRUCT_ONES


cdef class FeatureRows:
    cdef sstruct_rows rows
    cdef tuple owners                # the arrays behind the pointers of `rows`
    cdef readonly Py_ssize_t n_rows, n_features, n_stored
