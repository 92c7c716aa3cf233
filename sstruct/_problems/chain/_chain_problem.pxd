from libc.stdint cimport int32_t, int64_t

from sstruct._oracles.chain._error_table cimport ErrorTable
from sstruct._oracles.chain._top_k cimport ChainRanking
from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems.core._node_weights cimport NodeWeights
from sstruct._problems.core._rows cimport FeatureRows, sstruct_rows

# Squared distances of labelings that differ at up to this number of positions are computed from the
# inner products of pairs of rows; with more positions, the difference of the joint features is formed.
cdef enum: MAX_PAIRS = 64


cdef class ChainProblem(BlockProblem):
    # Data, shared by forks.
    cdef dict arguments
    cdef readonly FeatureRows features
    cdef sstruct_rows rows           # view of `features`, which owns the arrays
    cdef const int64_t[::1] start    # first row of each block
    cdef const int64_t[::1] length
    cdef const int64_t[::1] n_own    # rows of each block; without the last if it is a copy (windows)
    cdef const int32_t[::1] labels   # true label of each row
    cdef const int32_t[::1] known    # label that each row must have; -1: any
    cdef const double[:, ::1] cost   # K x KP
    cdef const double[::1] loss_scale
    cdef const double[::1] squares   # `FeatureRows.squares` if they have been computed, or empty
    cdef bint weighted               # whether the loss has node weights
    cdef const double[::1] node_weight   # weight of each row in the loss, or empty
    cdef const unsigned char[::1] starts_here, ends_here
    cdef const double[:, ::1] edge_penalty
    cdef const double[:, ::1] boundary_penalty
    cdef const int32_t[:, ::1] errors   # `cost` as integers, or empty
    cdef const int64_t[::1] max_errors
    cdef readonly Py_ssize_t n_labels, n_features, states_per_label
    cdef readonly bint bias, boundaries, transitions, tied, masked, has_known
    cdef const int32_t[:, ::1] group  # K x KP: group of each transition if they are tied, -1: no weight
    cdef Py_ssize_t n_added          # vectors of all labels that the oracle adds for a node
    cdef Py_ssize_t KP, bias_at, start_at, end_at, edge_at
    # Scratch memory of this object.
    cdef double[::1] theta, best, table, label_score, accumulator
    cdef int32_t[::1] origin, place, label, where, where_edge
    cdef const double* edge          # scores of transitions: K x KP tables, or NULL
    cdef Py_ssize_t edge_step        # distance between the tables of transitions; 0: one table for all
    cdef NodeWeights nodes           # may have a copy of tracked weights, in the layout of its kernels
    cdef int32_t[::1] group_count    # zeros between uses
    # The weights passed to `track`, and whether `table` and `edge_bounds` have been computed from them.
    cdef const double* tracked
    cdef bint has_table, has_edge_bounds
    cdef double[::1] edge_bounds
    cdef ErrorTable error_table
    cdef ChainRanking ranking        # for `ranked`, or None
    cdef Py_ssize_t last_way         # of the last labeling of `ranked`
    cdef double[::1] no_edges        # scores of transitions for `ranking` if there are none
    cdef Py_ssize_t n_offsets        # see `offset_nodes`
    cdef const int32_t* offset_position
    cdef const double* offsets

    cdef void node_scores(
        self, Py_ssize_t i, Py_ssize_t l, const double* w, double scale, const int32_t* label,
        Py_ssize_t count, double* out) noexcept nogil
    cdef double square_of(self, Py_ssize_t r) noexcept nogil
    cdef void fill_table(self, const double* w) noexcept nogil
    cdef int32_t group_of(self, const int32_t* code, Py_ssize_t l) noexcept nogil
    cdef bint same_groups(
        self, const int32_t** codes, Py_ssize_t count, Py_ssize_t l) noexcept nogil
    cdef double group_distance(
        self, Py_ssize_t L, const int32_t* a, const int32_t* b) noexcept nogil
    cdef const double* bounds_of_edges(self, const double* w) noexcept nogil
    cdef void widen(self, int32_t before, int32_t after, double score) noexcept nogil
    cdef void forbid_others(self, Py_ssize_t i) noexcept nogil
    cdef int potentials(self, Py_ssize_t i, const double* w, double loss_weight) except -1 nogil
    cdef void add_node(
        self, Py_ssize_t i, Py_ssize_t l, const int32_t* label, const double* change,
        Py_ssize_t count, double* out) noexcept nogil
    cdef int _accumulated_distance(
        self, Py_ssize_t i, const int32_t* a, const int32_t* b, const int32_t* where,
        Py_ssize_t n_nodes, double* out) except -1 nogil


cdef inline double node_scale(ChainProblem problem, Py_ssize_t i, Py_ssize_t r) noexcept nogil:
    """Return the factor of the cost of row r, in block i."""
    return problem.loss_scale[i] * (problem.node_weight[r] if problem.weighted else 1.0)
