from libc.stdint cimport int32_t, int64_t

from sstruct._kernels._storage cimport Storage
from sstruct._oracles.segment._segment_decoder cimport SegmentDecoder
from sstruct._oracles.segment._segment_terms cimport SegmentScores, SegmentTerms
from sstruct._problems.chain._chain_problem cimport ChainProblem


# Indices of FEATURE_KINDS, and of the sums that are computed for them.
cdef enum:
    OF_MEAN
    OF_CONTRAST
    OF_FIRST
    OF_LAST
    N_KINDS


# Labels of the nodes of several segmentations, given their codes.
cdef class NodeLabels(Storage):
    cdef int32_t* label
    cdef const int32_t** rows

    cdef const int32_t** convert(
        self, const int32_t** codes, Py_ssize_t count, Py_ssize_t length,
        Py_ssize_t n_labels) except NULL nogil


cdef class SegmentProblem(ChainProblem):
    cdef SegmentDecoder decoder
    cdef readonly Py_ssize_t n_bins          # number of bins with weights, or 0
    cdef Py_ssize_t duration_at
    cdef const double* duration              # weights that the last `maximize` read
    # Features of whole segments.
    cdef Py_ssize_t n_kinds, n_given
    cdef Py_ssize_t kind_at[N_KINDS]         # of the weights of each kind, or -1
    cdef Py_ssize_t given_weight_at
    cdef const double[:, ::1] given
    cdef const int64_t[::1] given_at         # of each row
    # For segments that follow one with the same label. The chain has the labels of the nodes; codes
    # and known codes are described in segment_arguments.py.
    cdef bint splits
    cdef Py_ssize_t split_at                 # position of the weights, or -1
    cdef const int32_t[::1] true_code, known_code    # of each row
    cdef double[::1] split                   # K, scores of the last `potentials`
    cdef unsigned char[::1] bound            # of the nodes of a block, see SegmentScores
    cdef NodeLabels plain
    cdef int32_t[::1] split_count            # 2 x K, zeros between uses
    # The loss of segments or boundaries.
    cdef bint has_features, has_segment_loss, has_terms, by_windows
    cdef const int64_t[::1] n_true           # of each block
    cdef const int32_t[::1] window, begin_of, stop_of
    # Scratch memory of this object.
    cdef int32_t[::1] n_differ               # number of positions before each one where labelings differ
    cdef int32_t[::1] bin_count              # K x n_bins, zeros between uses
    cdef SegmentTerms terms                  # scores of whole segments, of the last `potentials`
    cdef double[:, ::1] sums                 # N_KINDS x (K x (L + 1)), see SegmentTerms
    cdef double[::1] product                 # L x KP

    cdef void set_scores(self, Py_ssize_t i, const double* w, SegmentScores* scores) noexcept nogil
    cdef void set_bound(self, Py_ssize_t L, const int32_t* known) noexcept nogil
    cdef int32_t label_of(self, int32_t code) noexcept nogil
    cdef void correct_scores(
        self, Py_ssize_t i, const double* w, const int32_t** codes, Py_ssize_t count,
        double* out) noexcept nogil
    cdef void correct_scatter(
        self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
        double* out) noexcept nogil
    cdef double correction_of_distance(
        self, Py_ssize_t L, const int32_t* a, const int32_t* b) noexcept nogil
    cdef const SegmentTerms* terms_or_null(self) noexcept nogil
    cdef int set_terms(self, Py_ssize_t i, const double* w, double loss_weight) except -1 nogil
    cdef void set_loss(self, Py_ssize_t i, SegmentTerms* terms) noexcept nogil
    cdef int sum_rows(self, Py_ssize_t i, const double* w) except -1 nogil
    cdef double work_of_terms(self, Py_ssize_t i) noexcept nogil
    cdef int64_t bin_of_run(
        self, Py_ssize_t i, const int32_t* code, Py_ssize_t first,
        Py_ssize_t* stop) noexcept nogil
    cdef void compare(self, Py_ssize_t i, const int32_t** codes, Py_ssize_t count) noexcept nogil
    cdef bint is_shared(self, Py_ssize_t i, Py_ssize_t first, Py_ssize_t stop) noexcept nogil
    cdef double features_of_run(
        self, Py_ssize_t i, int32_t label, Py_ssize_t first, Py_ssize_t stop, const double* w,
        double* work) noexcept nogil
    cdef double rows_score(
        self, Py_ssize_t first, Py_ssize_t stop, int32_t label, const double* w,
        double* work) noexcept nogil
    cdef double loss_of(self, Py_ssize_t i, const int32_t* code) noexcept nogil
    cdef int scattered_distance(
        self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil
    cdef void add_features(
        self, Py_ssize_t i, int32_t label, Py_ssize_t first, Py_ssize_t stop, double change,
        double* out) noexcept nogil
    cdef void add_rows(
        self, Py_ssize_t first, Py_ssize_t stop, int32_t label, double change,
        double* out) noexcept nogil
