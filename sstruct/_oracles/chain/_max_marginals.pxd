from libc.stdint cimport int32_t

from sstruct._oracles.chain._chain_terms cimport StoredTransitions


cdef int chain_max_marginals(
    const double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP, const double* edge,
    Py_ssize_t edge_step, const StoredTransitions* stored, double* forward, double* backward,
    int32_t* origin) except -1 nogil
