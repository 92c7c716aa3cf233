from libc.stdint cimport int32_t, int64_t

from sstruct._oracles.core._path_ranking cimport PathRanking
from sstruct._oracles.segment._segment_ranges cimport SegmentRanges
from sstruct._oracles.segment._segment_terms cimport SegmentScores


cdef class SegmentRanking(PathRanking):
    cdef SegmentRanges ranges
    cdef Py_ssize_t width, block     # leaves of a tree; nodes of a label
    cdef int32_t* lowest             # K x (L + 1): least start of segments that end before a node

    cdef Py_ssize_t rank(self, const SegmentScores* scores, Py_ssize_t k) except -1 nogil
    cdef double score(self, const int32_t* code) noexcept nogil
    cdef int start(self) except -1 nogil
    cdef int find_best(self, Py_ssize_t node) except -1 nogil
    cdef int add_range(
        self, Py_ssize_t k, int64_t first, int64_t last, double offset) except -1 nogil
    cdef int add_starts(
        self, Py_ssize_t k, int64_t first, int64_t end, int64_t last,
        double offset) except -1 nogil
