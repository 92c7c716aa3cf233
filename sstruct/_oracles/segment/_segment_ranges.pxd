from libc.math cimport INFINITY
from libc.stdint cimport int64_t

from sstruct._kernels._storage cimport Storage
from sstruct._oracles.segment._segment_terms cimport (
    FORBIDDEN, REQUIRED, SegmentScores, SegmentTerms, segment_term)


cdef class SegmentRanges(Storage):
    cdef readonly Py_ssize_t n_labels, n_bins
    # Ranges of durations that share a score, ascending, by label.
    cdef const int64_t[::1] range_at, least, most, bin
    # The current sequence.
    cdef Py_ssize_t L, KP
    cdef const double* theta         # L x KP: scores of the nodes, including those of both ends; -inf forbids
    cdef const double* edge          # K x KP, or NULL: 0
    cdef const double* duration      # K x n_bins, or NULL: 0
    cdef const SegmentTerms* terms   # scores of whole segments, or NULL: 0
    cdef const unsigned char* bound  # as in SegmentScores
    cdef bint splits                 # whether a segment may follow one with the same label
    cdef double scale, shift         # factor of all scores; sum of the highest score of each node
    cdef double* total               # K x (L + 1): sums of the scores of the nodes before each one
    cdef double* step                # K x K: score of a segment of label k after one of label j, at k K + j
    cdef double* stay                # K: score of two neighboring nodes of a segment
    cdef unsigned char* single       # K: whether segments have one node

    cdef int load(self, const SegmentScores* scores, double scale) except -1 nogil

    cdef inline bint is_forbidden(self, Py_ssize_t l, Py_ssize_t k) noexcept nogil:
        """Return whether label k is forbidden at node l."""
        return self.theta[l * self.KP + k] == -INFINITY

    cdef inline bint must_start(self, Py_ssize_t l, Py_ssize_t k) noexcept nogil:
        """Return whether a segment of label k that contains node l starts there."""
        return self.single[k] or self.bound != NULL and self.bound[l] == REQUIRED

    cdef inline bint may_split(self, Py_ssize_t l) noexcept nogil:
        """Return whether a segment may start at node l after one with the same label."""
        return self.splits and (self.bound == NULL or self.bound[l] != FORBIDDEN)

    cdef inline double duration_score(self, Py_ssize_t k, Py_ssize_t r) noexcept nogil:
        """Return the scaled score of the durations of range r, one of label k."""
        if self.duration == NULL:
            return 0
        return self.scale * self.duration[k * self.n_bins + self.bin[r]]

    cdef inline double term(self, Py_ssize_t s, Py_ssize_t e, Py_ssize_t k) noexcept nogil:
        """Return the scaled score of the segment of label k from node s to e - 1."""
        return self.scale * segment_term(self.terms, s, e, k) if self.terms != NULL else 0
