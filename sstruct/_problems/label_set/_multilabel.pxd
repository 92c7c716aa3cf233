from libc.stdint cimport int32_t, int64_t

from sstruct._kernels._random cimport Random
from sstruct._oracles.label_set._set_decoder cimport LabelDecoder, LabelLoss
from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems.label_set._label_edges cimport LabelEdges
from sstruct._problems.core._rows cimport FeatureRows, sstruct_rows


cdef class MultilabelProblem(BlockProblem):
    # Data, shared by forks.
    cdef dict arguments
    cdef FeatureRows features
    cdef sstruct_rows rows                      # view of `features`, which owns the arrays
    cdef const int64_t[::1] first_on            # (n + 1,): position of the first true label of each row
    cdef const int32_t[::1] on                  # true labels of all rows
    cdef const double[:, ::1] cost              # (2, K): cost of an error at a label that is off, or on
    cdef const double[::1] squared_norm         # squared norm of each row, including the bias
    cdef const int32_t[:, ::1] known            # 1: on, 0: off, -1: unknown
    cdef const unsigned char[:, ::1] in_loss    # whether each label counts in the loss of a row
    cdef readonly Py_ssize_t n_labels, n_features, n_edges
    cdef readonly bint bias, full, uniform, has_known, has_unscored
    cdef Py_ssize_t KP, bias_at, edge_at, outcomes
    # Scratch memory of this object.
    cdef LabelDecoder decoder
    cdef LabelEdges model                       # view of `decoder`, which owns the arrays
    cdef double[::1] theta, pair                # potentials of the last call of maximize
    cdef double constant
    cdef double[::1] lazy_theta, change
    cdef double[:, ::1] label_loss              # (2, K)
    cdef double[::1] reach                      # (K,) sum of the magnitudes of each label's edge scores
    cdef int32_t[::1] differs, occurs, label, edge, truth_code

    cdef void node_scores(self, Py_ssize_t i, const double* w, double* theta) noexcept nogil
    cdef void force_known(self, Py_ssize_t i) noexcept nogil
    cdef int potentials(self, Py_ssize_t i, const double* w, double loss_weight) except -1 nogil
    cdef double prepare_product(
        self, Py_ssize_t i, const double* w, double margin, LabelLoss* loss) except? -1 nogil
    cdef void compare(
        self, const int32_t** codes, Py_ssize_t count, Py_ssize_t* n_labels,
        Py_ssize_t* n_edges) noexcept nogil
