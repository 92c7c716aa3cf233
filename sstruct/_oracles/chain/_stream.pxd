from libc.stdint cimport int32_t

from sstruct._kernels._storage cimport Storage
from sstruct._oracles.chain._chain_terms cimport ChainTerms, ScoreRows


cdef class ChainStream(Storage):
    cdef readonly ChainTerms terms
    cdef Py_ssize_t lag, K, KP
    cdef Py_ssize_t first                # first position whose label has not been returned
    cdef Py_ssize_t count                # number of positions
    cdef Py_ssize_t base, room           # position of row 0, and number of rows of:
    cdef int32_t* origin                 # K per position: the previous label of each path
    cdef int32_t* children               # K per position: the number of paths that continue
    cdef int32_t* alive                  # number of labels that are on a path
    cdef double* theta                   # 2 KP: best scores before the last position; its scores
    cdef double* best                    # 2 KP: unused; best scores at the last position
    cdef double* spare                   # 3 KP
    cdef int32_t* back                   # 2 KP
    cdef object ready                    # labels that an error kept from being returned

    cdef int forward(self) except -1 nogil
    cdef int step(self, const ScoreRows* rows, Py_ssize_t l) except -1 nogil
    cdef int reserve(self) except -1 nogil
    cdef void release(self, Py_ssize_t p, Py_ssize_t j) noexcept nogil
    cdef int32_t ancestor(self, Py_ssize_t k) noexcept nogil
    cdef void decide(self) noexcept nogil
    cdef Py_ssize_t collect(self, int32_t* out) noexcept nogil
