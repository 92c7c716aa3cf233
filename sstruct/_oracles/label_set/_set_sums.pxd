from libc.stdint cimport int32_t, uint32_t

from sstruct._kernels._random cimport Random
from sstruct._kernels._storage cimport Storage


cdef class SetSums(Storage):
    cdef Py_ssize_t n_labels, n_free
    cdef int32_t* free           # the labels that are not known, ascending
    cdef int32_t* state          # K: 1 if a label is known to be on, 0 if off, -1 if it is free
    # Entry 2^k + S: the sum of all sets that agree with the set S of the first k free labels.
    cdef double* level
    cdef double* gain            # scores of sets, and of adding a label to them
    cdef double* score
    cdef double* between         # (K, K) edge scores, symmetric
    cdef uint32_t* whole         # sets of free labels together with the known ones; bit k is label k

    cdef double log_partition(
        self, Py_ssize_t n_labels, Py_ssize_t n_edges, const int32_t* edges, const double* theta,
        const double* pair, const int32_t* known, double scale,
        const unsigned char* allowed) except? -1 nogil
    cdef int forbid(self, Py_ssize_t n_sets, const unsigned char* allowed) except -1 nogil
    cdef void add_label(self, Py_ssize_t k, const double* theta) noexcept nogil
    cdef int marginals(self, double* out) except -1 nogil
    cdef int sample(self, Random* random, int32_t* labels) except -1 nogil
