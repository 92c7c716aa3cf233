from libc.stdint cimport int32_t, int64_t

from sstruct._oracles.dependency._spanning_tree cimport DependencyDecoder
from sstruct._problems.core._block_problem cimport BlockProblem
from sstruct._problems.core._rows cimport FeatureRows, sstruct_rows


cdef class DependencyProblem(BlockProblem):
    # Data, shared by forks.
    cdef dict arguments
    cdef FeatureRows features, label_features
    cdef sstruct_rows rows, label_rows       # copies of what these own
    cdef const int32_t[::1] head, dependent  # head and dependent of each arc
    cdef const int64_t[::1] start            # first arc of each block, and the end
    cdef const int64_t[::1] token_start      # first token of each block
    cdef const int64_t[::1] n_tokens
    cdef const int64_t[::1] first_arc        # first arc of each token, and the end
    cdef const int32_t[::1] labels, known    # code of each token; known: -1 if it is not known
    cdef const unsigned char[::1] in_loss    # of each token
    cdef const double[::1] loss_scale
    cdef readonly Py_ssize_t n_labels        # 0: arcs have no labels
    cdef Py_ssize_t K, KP, label_at          # K: n_labels, at least 1
    cdef bint projective, single_root, has_known
    # Scratch memory of this object: for the block that was decoded last ...
    cdef double[::1] arc_score, label_score, tree_scores
    cdef int32_t[::1] best_label, heads
    cdef double last_scale
    cdef DependencyDecoder decoder
    # ... and for a call.
    cdef double[::1] difference, value
    cdef int32_t[::1] group, member

    cdef int64_t arc_of(self, Py_ssize_t i, Py_ssize_t t, int32_t code) noexcept nogil
    cdef double cost(self, Py_ssize_t i, Py_ssize_t t, int32_t code) noexcept nogil
    cdef double term(
        self, Py_ssize_t i, Py_ssize_t t, int32_t code, const double* w,
        double scale) noexcept nogil
    cdef Py_ssize_t distinct(
        self, const int32_t** codes, Py_ssize_t count, Py_ssize_t t, int32_t per) noexcept nogil
    cdef int reserve(self, Py_ssize_t count) except -1 nogil
    cdef double take_squares(
        self, const sstruct_rows* rows, int64_t r, Py_ssize_t KP, Py_ssize_t label,
        double* difference) noexcept nogil
    cdef int potentials(
        self, Py_ssize_t i, const double* w, double scale, double* work) except -1 nogil
