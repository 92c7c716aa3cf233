from libc.stdint cimport int32_t


cdef inline Py_ssize_t lowest_argmax(const double* values, Py_ssize_t K) noexcept nogil:
    cdef Py_ssize_t k, best = 0
    for k in range(1, K):
        if values[k] > values[best]:
            best = k
    return best


cdef int viterbi_forward(
    const double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP, const double* edge,
    Py_ssize_t edge_step, double* best, int32_t* origin) except -1 nogil

cdef double viterbi_labels(
    const double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP, const double* edge,
    Py_ssize_t edge_step, int32_t* labels, double* best, int32_t* origin) except? -1 nogil

cdef int chain_max_marginals(
    const double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP, const double* edge,
    Py_ssize_t edge_step, double* forward, double* backward, int32_t* origin) except -1 nogil
