from libc.stdint cimport int32_t

from sstruct._oracles.chain._chain_terms cimport StoredTransitions
from sstruct._oracles.core._path_ranking cimport PathRanking


cdef class ChainRanking(PathRanking):
    cdef Py_ssize_t K, KP, edge_step
    cdef const double* theta
    cdef const double* edge
    cdef const StoredTransitions* stored  # if edge is NULL
    cdef double* best                    # L x KP, of the forward sweep
    cdef int32_t* origin                 # L x KP

    cdef Py_ssize_t rank(
        self, const double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP, const double* edge,
        Py_ssize_t edge_step, const StoredTransitions* stored, Py_ssize_t k) except -1 nogil
    cdef int start(self) except -1 nogil
