from libc.stdint cimport int32_t

from sstruct._kernels._random cimport Random
from sstruct._kernels._storage cimport Storage


cdef class ChainSums(Storage):
    cdef Py_ssize_t L, K, KP, edge_step
    cdef double scale
    cdef double* theta
    cdef const double* edge
    cdef const double* table_of      # transitions whose exponentials are in `table`, or NULL
    cdef double table_scale, table_shift
    cdef bint in_logs                # whether `share` and `rest` are logarithms
    cdef bint is_risky               # whether exponentials of `table` may underflow
    cdef double* table               # K x KP exponentials of the transitions
    cdef double* transposed          # K x KP
    cdef double* node                # KP, scratch
    cdef double* share               # L x KP: normalized sums over the earlier labels, with its node score
    cdef double* rest                # L x KP: normalized sums over the later labels, without it
    cdef double* table_row           # 3 K, scratch
    cdef double* factor              # 2 L: normalizing sum and highest node score of each position

    cdef double log_partition(
        self, double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP, const double* edge,
        Py_ssize_t edge_step, double scale) except? -1 nogil
    cdef int backward(self) except -1 nogil
    cdef int marginals(self, double* out) except -1 nogil
    cdef int sample(self, Random* random, int32_t* labels) except -1 nogil
    cdef double span(
        self, Py_ssize_t start, Py_ssize_t stop, const unsigned char* inside,
        const unsigned char* continues) except? -1 nogil
    cdef int fill_table(self, const double* edge) except -1 nogil
    cdef double scaled_forward(self) except? -1 nogil
    cdef double log_forward(self) except? -1 nogil
    cdef int log_backward(self) except -1 nogil
    cdef double edge_score(self, Py_ssize_t l, Py_ssize_t j, Py_ssize_t k) noexcept nogil
    cdef double log_share(self, Py_ssize_t l, Py_ssize_t k) noexcept nogil
    cdef double log_rest(self, Py_ssize_t l, Py_ssize_t k) noexcept nogil
    cdef double log_factor(self, Py_ssize_t l) noexcept nogil
    cdef double log_total(self, Py_ssize_t l) noexcept nogil
