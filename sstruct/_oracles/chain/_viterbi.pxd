from libc.stdint cimport int32_t

# From this number of labels on, finding labels to skip takes less time than it saves.
cdef enum: MIN_PRUNED_LABELS = 64

cdef void transition_bounds(
    const double* edge, Py_ssize_t K, Py_ssize_t KP, double* bounds) noexcept nogil

cdef inline Py_ssize_t lowest_argmax(const double* values, Py_ssize_t K) noexcept nogil:
    cdef Py_ssize_t k, best = 0
    for k in range(1, K):
        if values[k] > values[best]:
            best = k
    return best


cdef int viterbi_forward(
    const double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP, const double* edge,
    Py_ssize_t edge_step, double* best, int32_t* origin) except -1 nogil

cdef int pruned_forward(
    const double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP, const double* edge, bint ends,
    double* best, int32_t* origin, const double* bounds, double* scratch,
    int32_t* kept) except -1 nogil

cdef double viterbi_labels(
    const double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP, const double* edge,
    Py_ssize_t edge_step, const double* bounds, int32_t* labels, double* best,
    int32_t* origin) except? -1 nogil
