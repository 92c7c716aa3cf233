from libc.stdint cimport int32_t

from sstruct._kernels._storage cimport Storage
from sstruct._oracles.chain._chain_terms cimport StoredTransitions


cdef struct Prefix:
    double value          # score of the labels up to this one
    Py_ssize_t before     # the prefix without the last label; -1 if there is none
    Py_ssize_t next       # the next best prefix that ends at the same node; -1 if not found yet
    int32_t label         # the last label


cdef class ChainRanking(Storage):
    cdef Py_ssize_t L, K, KP, edge_step
    cdef const double* theta
    cdef const double* edge
    cdef const StoredTransitions* stored  # if edge is NULL
    cdef double* best                    # L x KP, of the forward sweep
    cdef int32_t* origin                 # L x KP
    cdef Py_ssize_t* path
    cdef Py_ssize_t* last
    cdef Py_ssize_t* front
    cdef Prefix* prefixes
    cdef double* front_value
    cdef Py_ssize_t* front_prefix
    cdef Py_ssize_t n_prefixes, prefix_room, front_size, front_room

    cdef Py_ssize_t rank(
        self, const double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP, const double* edge,
        Py_ssize_t edge_step, const StoredTransitions* stored, Py_ssize_t k) except -1 nogil
    cdef int write(self, int32_t* labels, double* values) except -1 nogil
    cdef int start(self) except -1 nogil
    cdef bint advance(self) except -1 nogil
    cdef int find_next(self, Py_ssize_t l, Py_ssize_t node) except -1 nogil
    cdef int open_front(self, Py_ssize_t l, Py_ssize_t node) except -1 nogil
    cdef Py_ssize_t front_entries(self, Py_ssize_t l, Py_ssize_t k) noexcept nogil
    cdef Py_ssize_t label_before(self, Py_ssize_t l, Py_ssize_t j, Py_ssize_t k) noexcept nogil
    cdef Py_ssize_t entry_of(self, Py_ssize_t l, int32_t before, Py_ssize_t k) noexcept nogil
    cdef double step_score(self, Py_ssize_t l, Py_ssize_t j, Py_ssize_t k) noexcept nogil
    cdef Py_ssize_t new_prefix(self) except -1 nogil
