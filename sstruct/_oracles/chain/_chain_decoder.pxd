from libc.stdint cimport int32_t

from sstruct._kernels._storage cimport Storage
from sstruct._oracles.chain._chain_terms cimport ChainTerms, ScoreRows


cdef class ChainDecoder(Storage):
    cdef readonly ChainTerms terms
    # Scores of nodes, best scores and their origins, for one stretch and the position before it.
    cdef double* theta
    cdef double* best
    cdef int32_t* origin
    cdef double* carried                 # KP per stretch: best scores at the position before it
    cdef double* scratch                 # 2 KP
    cdef int32_t* kept                   # 2 KP

    cdef int forward(
        self, const ScoreRows* rows, Py_ssize_t stretch, Py_ssize_t size, str name) except -1 nogil
    cdef double run(
        self, const ScoreRows* rows, Py_ssize_t size, int32_t* labels, str name) except? -1 nogil
