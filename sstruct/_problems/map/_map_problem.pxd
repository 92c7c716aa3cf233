from libc.stdint cimport int32_t, int64_t

from sstruct._oracles.mrf._packed_mrf cimport PackedMRF
from sstruct._problems.core._block_problem cimport BlockProblem
from sstruct._problems.map._terms cimport MapTerms


cdef class MapProblem(BlockProblem):
    cdef PackedMRF packed
    cdef readonly MapTerms terms                # or None
    cdef readonly object model, trees, cover    # cover: the trees, followed by the nodes of terms
    cdef readonly Py_ssize_t n_trees
    cdef readonly bint published
    cdef readonly Py_ssize_t n_multipliers
    cdef readonly double constant               # sum of the minimum costs of nodes in no block
    # Of all positions of all blocks, concatenated; `start` of each block.
    cdef const int64_t[::1] start
    cdef const int32_t[::1] node, parent, edge
    cdef const int64_t[::1] label_at            # start of the position's labels in a tree's scratch
    cdef const double[::1] share                # share of the node's cost: one over its number of copies
    # Positions with multipliers: that of label k is at weight_at + k stride, where stride is the
    # number of copies of the node, and `number` is the index of this copy.
    cdef const int64_t[::1] shared_start, weight_at
    cdef const int32_t[::1] shared, stride, number
    cdef readonly object copy_start             # start of the copies of each label, and the end
    cdef const double[::1] tree_work
    cdef readonly object first_codes            # concatenated codes of the truths
    cdef const int64_t[::1] code_start
    cdef int32_t[::1] truths
    cdef double[::1] center, truth_cost
    cdef double[::1] belief, potential, message

    cdef double free_term(self, Py_ssize_t t, const int32_t* code) noexcept nogil
    cdef double cost(
        self, Py_ssize_t t, const double* w, double weight, const int32_t* code) noexcept nogil
    cdef void beliefs(
        self, Py_ssize_t t, const double* center, const double* w, double weight) noexcept nogil
    cdef int conclude(
        self, Py_ssize_t t, double weight, double own, int32_t* code, double* value) except -1 nogil
    cdef double own_cost(self, Py_ssize_t i, const int32_t* code) except? -1
    cdef int minimize(
        self, Py_ssize_t t, const double* center, const double* w, double weight, int32_t* code,
        double* value) except -1 nogil
