from libc.stdint cimport int32_t

from sstruct._problems.chain._chain_problem cimport ChainProblem
from sstruct._solvers.gdmm._entries cimport Entries
from sstruct._solvers.gdmm._pairs cimport BoundedPairs
from sstruct._kernels._random cimport Random

# Approximate work at a node or an edge, in units of oracle work.
cdef enum:
    OF_NODE = 1000


cdef class ChainFactors:
    # Data.
    cdef readonly ChainProblem problem
    cdef readonly Py_ssize_t n_rows, n_node_weights, n_edges
    cdef double[::1] mass             # C_i = q_i / lam of each block
    cdef readonly double[::1] curvature        # curvature of the unigram factor of each row, without messages
    # State. Edge r connects rows r - 1 and r.
    cdef readonly object w            # without transitions
    cdef readonly object start        # w without dual variables: the prior, or 0
    cdef double[::1] weights
    cdef readonly BoundedPairs pairs  # with the scores of transitions; None if there are no edges
    cdef Entries* active_labels
    cdef Entries* active_pairs
    cdef Entries* left                # messages at the left end of each edge, and at the right end
    cdef Entries* right
    cdef Entries no_entries          # always empty
    cdef readonly double rho
    cdef Random random
    cdef Py_ssize_t n_new
    # Measured in the last pass, and at the last visit of each chain; total seconds.
    cdef double gain
    cdef readonly double[::1] chain_gain
    cdef readonly double residual, movement, label_seconds, pair_seconds
    # Scratch.
    cdef double[::1] theta, message, gradient, linear, step, change
    cdef int32_t[::1] label, slot, row_count, column_count

    cdef int reserve(self, Py_ssize_t size) except -1 nogil
    cdef double stored_in_row(self) noexcept
    cdef void node_scores(
        self, Py_ssize_t b, Py_ssize_t l, const int32_t* label, Py_ssize_t count, double* out
        ) noexcept nogil
    cdef void all_scores(
        self, Py_ssize_t b, Py_ssize_t l, Py_ssize_t low, Py_ssize_t high) noexcept nogil
    cdef int send(
        self, Entries* messages, const int32_t* label, Py_ssize_t count, double sign
        ) except -1 nogil
    cdef void messages_at(self, Py_ssize_t b, Py_ssize_t l, Entries** sources) noexcept nogil
    cdef int visit_node(
        self, Py_ssize_t b, Py_ssize_t l, Py_ssize_t parts, bint search) except -1 nogil
    cdef int search_labels(
        self, Py_ssize_t b, Py_ssize_t l, Py_ssize_t parts, Entries** sources,
        double least) except -1 nogil
    cdef int step_node(self, Py_ssize_t b, Py_ssize_t l, Entries** sources) except -1 nogil
    cdef int visit_edge(self, BoundedPairs pairs, Py_ssize_t b, Py_ssize_t l) except -1 nogil
    cdef void move_multipliers(self, Py_ssize_t b, double step) noexcept nogil
