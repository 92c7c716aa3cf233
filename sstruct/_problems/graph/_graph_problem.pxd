from libc.stdint cimport int32_t, int64_t

from sstruct._oracles.core._graph_costs cimport GraphCosts
from sstruct._oracles.graph._decoder cimport GraphDecoder
from sstruct._kernels._random cimport Random
from sstruct._oracles.graph._forest cimport Forest
from sstruct._oracles.graph._forest_sums cimport ForestSums
from sstruct._oracles.graph._min_marginals cimport CutMarginals
from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems.graph._pairwise cimport PairwiseModel
from sstruct._problems.core._node_weights cimport NodeWeights
from sstruct._problems.core._rows cimport FeatureRows, sstruct_rows


cdef class LastLabelings:
    cdef int32_t[::1] labels                    # labels of all blocks, concatenated
    cdef const int64_t[::1] first               # (n_blocks,) position of the first label of each block
    cdef unsigned char[::1] is_known            # (n_blocks,)
    cdef bint is_used, is_open


cdef class GraphProblem(BlockProblem):
    # Data, shared by forks.
    cdef dict arguments
    cdef FeatureRows features
    cdef sstruct_rows rows                      # a copy of what `features` owns
    cdef const int64_t[::1] start, length       # node rows of each block
    cdef const int64_t[::1] n_copies            # number of additional nodes of each block, without rows
    cdef const int64_t[::1] copy_start, copies  # first copy of each block; row of the copied node
    cdef const int64_t[::1] edge_start, n_edges, feature_start
    cdef const int32_t[:, ::1] edges            # ends, numbered within the block
    cdef const int64_t[:, ::1] grids
    cdef const int32_t[::1] labels              # true label of each row
    cdef const double[:, ::1] cost              # K x KP
    cdef const double[::1] node_weight
    cdef const double[:, ::1] node_scores       # (n_rows, K), or one row if there are none
    cdef const int32_t[::1] label_counts        # (n_rows,), or one entry if all nodes have K labels
    cdef readonly Py_ssize_t n_labels, n_features
    cdef readonly bint bias, has_scores, has_counts
    cdef Py_ssize_t KP, bias_at, edge_at
    cdef readonly Py_ssize_t n_copied
    cdef LastLabelings last
    cdef bint has_partial                       # setting of the decoder, unless a call starts from `last`
    # Scratch memory of this object.
    cdef NodeWeights nodes
    cdef readonly PairwiseModel pairwise
    cdef GraphDecoder decoder
    cdef GraphCosts costs                       # costs of the last call of maximize
    cdef GraphCosts own_costs                   # without copies, in the form that is decoded
    cdef bint has_copy_costs                    # whether copies have offsets; see `offset_nodes`
    cdef double[::1] copy_costs                 # (copies of a block, K)
    cdef Py_ssize_t n_offsets
    cdef const int32_t* offset_position
    cdef const double* offsets
    cdef double[::1] node_costs, own_node_costs, label_score, accumulator
    cdef double[::1] most_of_tables, most_of_edges
    cdef int32_t[::1] place, label, other_labels, true_labels
    cdef unsigned char[::1] differs
    cdef CutMarginals cuts
    cdef Forest forest
    cdef ForestSums sums

    cdef int marginals(
        self, Py_ssize_t i, const double* w, bint is_forest, double* out) except -1 nogil
    cdef int potentials(self, Py_ssize_t i, const double* w, double loss_weight) except -1 nogil
    cdef double add_offsets(self, Py_ssize_t i) noexcept nogil
    cdef double total_cost(self, Py_ssize_t i, const int32_t* y) noexcept nogil
    cdef double copy_cost(self, Py_ssize_t i, Py_ssize_t c, Py_ssize_t b) noexcept nogil
    cdef void leave_copies_out(self, Py_ssize_t i) noexcept nogil
    cdef void label_copies(self, Py_ssize_t i, int32_t* y) noexcept nogil
    cdef const int32_t* true_code_of(self, Py_ssize_t i) noexcept nogil
    cdef void forbid_labels(self, Py_ssize_t i) noexcept nogil
    cdef void replace_forbidden(self, Py_ssize_t i, int32_t* y) noexcept nogil
    cdef void label_nodes_alone(self, Py_ssize_t i, int32_t* y) noexcept nogil
    cdef bint start_from_last(self, Py_ssize_t i, int32_t* y) noexcept nogil
    cdef double descend(self, Py_ssize_t i, int32_t* y, OracleAnswer* answer) except? -1 nogil
    cdef void find_differing_copies(
        self, Py_ssize_t i, const int32_t** codes, Py_ssize_t count) noexcept nogil
    cdef bint edge_differs(self, const int32_t* edge) noexcept nogil
