from libc.stdint cimport int32_t, int64_t

from sstruct._kernels._random cimport Random
from sstruct._oracles.tree._tree_sums cimport TableSums
from sstruct._oracles.tree._subtree_error_table cimport TreeErrorTable
from sstruct._problems.core._block_problem cimport BlockProblem
from sstruct._problems.core._rows cimport FeatureRows, sstruct_rows


cdef class TreeProblem(BlockProblem):
    # Data, shared by forks.
    cdef dict arguments
    cdef FeatureRows features
    cdef sstruct_rows rows                  # a copy of what `features` owns
    cdef readonly object model
    cdef const int32_t[::1] parents, order
    cdef const int64_t[:, ::1] start        # first row of each part of each block, and end of the last
    cdef const int32_t[:, ::1] labels       # true state of each part, -1: not annotated
    cdef const int32_t[:, ::1] known        # state that each part must have, -1: unknown
    cdef const unsigned char[:, ::1] in_loss    # whether each part counts in the loss
    cdef const int64_t[:, ::1] shape        # height and width of each block's maps, or empty
    cdef const double[:, ::1] positions     # (x, y) of each row, or empty
    cdef const double[::1] pair_scores
    cdef const int64_t[:, ::1] pair_start
    cdef const double[::1] loss_scale, per_unit
    cdef readonly Py_ssize_t n_parts, n_types, n_features
    cdef Py_ssize_t n_edge_features, bias_at, edge_at, type_at
    cdef bint by_distance, bias, maps, pairs, has_known, has_unscored
    # Scratch memory of this object: for the block that was decoded last ...
    cdef int64_t[::1] begin, message_at
    cdef int32_t[::1] parent
    cdef double[::1] theta, edge_weights
    # ... and for a call.
    cdef double[::1] belief, message, shifted, rest, scratch, change, tree_value
    cdef int32_t[::1] origin, shifted_from, int_scratch, state, slot
    cdef int64_t[::1] stamp
    cdef int64_t now
    cdef unsigned char[::1] differ
    # Scratch memory for `maximize_product` and sums.
    cdef TreeErrorTable error_table
    cdef double[::1] tables
    cdef int64_t[::1] table_at
    cdef TableSums sums

    cdef bint active(self, Py_ssize_t i, Py_ssize_t p) noexcept nogil
    cdef Py_ssize_t parent_of(self, Py_ssize_t i, Py_ssize_t p) noexcept nogil
    cdef Py_ssize_t type_of(self, Py_ssize_t i, Py_ssize_t p, Py_ssize_t s) noexcept nogil
    cdef void place(
        self, Py_ssize_t i, Py_ssize_t p, Py_ssize_t s, double* x, double* y) noexcept nogil
    cdef double cost(self, Py_ssize_t i, Py_ssize_t p, Py_ssize_t s) noexcept nogil
    cdef double node_score(
        self, Py_ssize_t i, Py_ssize_t p, Py_ssize_t s, const double* w) noexcept nogil
    cdef void edge_features(
        self, Py_ssize_t i, Py_ssize_t c, Py_ssize_t p, Py_ssize_t j, Py_ssize_t s,
        double* e) noexcept nogil
    cdef double edge_score(
        self, Py_ssize_t i, Py_ssize_t c, Py_ssize_t p, Py_ssize_t j, Py_ssize_t s,
        const double* w) noexcept nogil
    cdef Py_ssize_t distinct_states(
        self, const int32_t** codes, Py_ssize_t count, Py_ssize_t p) noexcept nogil
    cdef int fill_tables(self, Py_ssize_t i, double* work) except -1 nogil
    cdef void edge_row(
        self, Py_ssize_t i, Py_ssize_t c, Py_ssize_t p, Py_ssize_t j, double* row) noexcept nogil
    cdef double potentials(
        self, Py_ssize_t i, const double* w, double loss_weight) except -1 nogil
    cdef int pass_up(self, Py_ssize_t i, double* work) except -1 nogil
    cdef int pass_down(self, Py_ssize_t i) except -1 nogil
    cdef int marginals(self, Py_ssize_t i, const double* w, double* out) except -1 nogil
    cdef int table_message(
        self, Py_ssize_t i, Py_ssize_t c, Py_ssize_t p, double* out,
        int32_t* origin) except -1 nogil
    cdef int map_message(
        self, Py_ssize_t i, Py_ssize_t c, Py_ssize_t t, const double* scores, int sign,
        double* values, int32_t* places) except -1 nogil
