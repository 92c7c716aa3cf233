from libc.stdint cimport int32_t, int64_t

from sstruct._kernels._storage cimport Storage
from sstruct._oracles.segment._segment_terms cimport SegmentScores


# A set of candidate starts of a segment: those in reach, by decreasing score, in a ring.
cdef struct Window:
    int64_t least, most              # durations
    int64_t bin
    int32_t* start                   # `size` entries
    int64_t size, head, count


cdef class SegmentDecoder(Storage):
    cdef readonly Py_ssize_t n_labels, n_bins
    cdef const int64_t[::1] bins              # the smallest duration of each
    cdef const int64_t[::1] least, most       # durations of each label
    # For each label: durations that are the only one of a bin, with their bins, and the other bins.
    cdef const int64_t[::1] single_at, single, single_bin
    cdef const int64_t[::1] window_at, window_least, window_most, window_bin
    # Scratch memory of this object.
    cdef double* gain                # K x (L + 1): best score up to a start, minus the sum of scores there
    cdef int32_t* start              # (L + 1) x K: start of the best segment that ends before a node, or -1
    cdef int32_t* before             # (L + 1) x K: label of the best segment before it, or -1
    cdef double* total               # K: sums of scores of nodes
    cdef double* best                # K: scores of the best segments that end before a node
    cdef int64_t* limit              # K: first start allowed by forbidden nodes and steps and required starts
    cdef Window* windows
    cdef int32_t* rings

    cdef int prepare(self, Py_ssize_t L) except -1 nogil
    cdef void begin(self, const SegmentScores* scores, Py_ssize_t l) noexcept nogil
    cdef double extend(
        self, const SegmentScores* scores, Py_ssize_t end, Py_ssize_t k) noexcept nogil
    cdef double extend_all(
        self, const SegmentScores* scores, Py_ssize_t end, Py_ssize_t k) noexcept nogil
    cdef double decode(
        self, const SegmentScores* scores, int32_t* code, unsigned char* begins) except? -1 nogil
    cdef double trace(
        self, const SegmentScores* scores, int32_t k, int32_t* code,
        unsigned char* begins) noexcept nogil
    cdef Py_ssize_t bin_of(self, int64_t duration) noexcept nogil
