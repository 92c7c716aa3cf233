from libc.stdint cimport int32_t

cdef int viterbi_forward(
    const double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP, const double* edge,
    Py_ssize_t edge_step, double* best, int32_t* origin) except -1 nogil

cdef double viterbi_labels(
    const double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP, const double* edge,
    Py_ssize_t edge_step, int32_t* labels, double* best, int32_t* origin) except? -1 nogil

cdef int chain_max_marginals(
    const double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP, const double* edge,
    Py_ssize_t edge_step, double* forward, double* backward, int32_t* origin) except -1 nogil
