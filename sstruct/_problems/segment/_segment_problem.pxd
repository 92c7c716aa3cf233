from libc.stdint cimport int32_t, int64_t

from sstruct._oracles.segment._segment_decoder cimport SegmentDecoder
from sstruct._oracles.segment._segment_terms cimport SegmentTerms
from sstruct._problems.chain._chain_problem cimport ChainProblem


# Indices of FEATURE_KINDS, and of the sums that are computed for them.
cdef enum:
    OF_MEAN
    OF_CONTRAST
    OF_FIRST
    OF_LAST
    N_KINDS


cdef class SegmentProblem(ChainProblem):
    cdef SegmentDecoder decoder
    cdef readonly Py_ssize_t n_bins          # with weights, or 0
    cdef Py_ssize_t duration_at
    cdef const double* duration              # weights that the last `maximize` read
    # Features of whole segments.
    cdef Py_ssize_t n_kinds, n_given
    cdef Py_ssize_t kind_at[N_KINDS]         # of the weights of each kind, or -1
    cdef Py_ssize_t given_weight_at
    cdef const double[:, ::1] given
    cdef const int64_t[::1] given_at         # of each row
    # The loss of segments or boundaries.
    cdef bint has_features, has_segment_loss, has_terms, by_windows
    cdef const int64_t[::1] n_true           # of each block
    cdef const int32_t[::1] window, begin_of, stop_of
    # Scratch memory of this object.
    cdef int32_t[::1] n_differ               # before each position, at how many do labelings differ
    cdef int32_t[::1] bin_count              # K x n_bins, zeros between uses
    cdef SegmentTerms terms                  # scores of whole segments, of the last `potentials`
    cdef double[:, ::1] sums                 # N_KINDS x (K x (L + 1)), see SegmentTerms
    cdef double[::1] product                 # L x KP

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
