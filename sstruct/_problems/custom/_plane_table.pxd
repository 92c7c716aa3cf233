from libc.stdint cimport int32_t, uint64_t


cdef struct StoredPlane:
    bint used
    double loss
    uint64_t hash
    Py_ssize_t size         # number of stored entries
    double* value           # one allocation with `index`
    int32_t* index          # ascending; NULL: dense


cdef double plane_product(const StoredPlane* plane, const double* w) noexcept nogil
cdef double plane_terms(const StoredPlane* plane, const double* w) noexcept nogil
cdef void plane_add(const StoredPlane* plane, double c, double* out) noexcept nogil


cdef class PlaneTable:
    cdef readonly Py_ssize_t n_blocks, n_weights
    cdef StoredPlane** planes        # one array per block
    cdef int32_t* counts
    cdef int32_t* rooms

    cdef int32_t put(
        self, Py_ssize_t i, double loss, Py_ssize_t size, const int32_t* index,
        const double* value) except -1 nogil
    cdef int store(
        self, Py_ssize_t i, int32_t code, double loss, Py_ssize_t size, const int32_t* index,
        const double* value, uint64_t h) except -1 nogil
    cdef int retain(
        self, Py_ssize_t i, const int32_t** codes, Py_ssize_t count) except -1 nogil
    cdef int squared_distance(
        self, const StoredPlane* a, const StoredPlane* b, double* scratch, double* out) except -1 nogil
    cdef bint holds(self, Py_ssize_t i, int32_t code) noexcept nogil
    cdef int32_t with_hash(self, Py_ssize_t i, uint64_t h) except -1
