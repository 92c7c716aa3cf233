from libc.stdint cimport int32_t, int64_t

from sstruct._kernels._storage cimport Storage


# The score of an arc between two nodes, which may be contracted: rank and score are compared in
# lexicographic order. Head and dependent are the tokens of the arc of the sentence that it stands for.
cdef struct Arc:
    int64_t rank                     # minus the number of forbidden and root arcs, weighted
    double score
    int32_t head, dependent


cdef class DependencyDecoder(Storage):
    cdef double decode(
        self, Py_ssize_t n, const double* scores, bint single_root,
        int32_t* heads) except? -1 nogil


cdef class SpanningTreeDecoder(DependencyDecoder):
    # Scratch memory of this object, for n tokens.
    cdef Arc* arcs                   # (n + 1) x (n + 1): arc to the row's from the column's slot
    cdef int32_t* slots              # the active slots, in any order
    cdef int32_t* node_of_slot       # the node, a token or a contracted cycle, in each slot
    cdef int32_t* state              # of each slot
    cdef int32_t* path
    cdef Arc* entry                  # 2 n + 1: arc that enters each node
    cdef int32_t* parent             # 2 n + 1: the contracted node that contains each node, or -1
    cdef Py_ssize_t n_active

    cdef int prepare(
        self, Py_ssize_t n, const double* scores, bint single_root) except -1 nogil
    cdef void contract(
        self, Py_ssize_t n, const int32_t* members, Py_ssize_t count, int32_t node) noexcept nogil


cdef double tree_score(Py_ssize_t n, const double* scores, const int32_t* heads) noexcept nogil
