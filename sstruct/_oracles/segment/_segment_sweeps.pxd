from libc.stdint cimport int32_t, int64_t

from sstruct._kernels._random cimport Random
from sstruct._oracles.segment._segment_ranges cimport SegmentRanges
from sstruct._oracles.segment._segment_terms cimport SegmentScores


# The starts of segments with the durations of a range, as a queue with the sum of all entries.
cdef struct Queue:
    int64_t size, middle             # entries before `middle` have the sum up to it in `back`
    double front                     # sum of the entries from `middle` on
    double* back                     # ring of `size` sums


cdef class SegmentSweeps(SegmentRanges):
    cdef readonly bint maxima
    cdef double* before              # K x (L + 1): sum of all before a segment that starts at a node
    cdef double* after               # K x (L + 1), reversed: sum of all after one that ends before it
    cdef double* ending              # (L + 1) x K: sum of all up to a segment that ends before a node
    cdef double* reversed_ending     # likewise
    cdef double* room                # scratch
    cdef Queue* queues
    cdef double* rings
    cdef int64_t* limit              # K

    cdef double join_all(self, const double* x, Py_ssize_t n) noexcept nogil
    cdef double forward(self, const SegmentScores* scores, double scale) except? -1 nogil
    cdef int backward(self) except -1 nogil
    cdef int sweep(self, bint reverse, double* starting, double* ending) except -1 nogil
    cdef int empty_queues(self) except -1 nogil
    cdef double queued(
        self, Py_ssize_t r, const double* starting, Py_ssize_t k, Py_ssize_t end,
        bint reverse) noexcept nogil
    cdef double joined_starts(
        self, Py_ssize_t r, const double* starting, Py_ssize_t k, Py_ssize_t end,
        bint reverse) noexcept nogil
    cdef double total_before(self, Py_ssize_t i, Py_ssize_t k, bint reverse) noexcept nogil
    cdef double gain(
        self, const double* starting, Py_ssize_t i, Py_ssize_t k, bint reverse) noexcept nogil
    cdef void windowed(
        self, const double* x, Py_ssize_t n, int64_t width, double* out,
        double* suffix) noexcept nogil
    cdef void block_suffixes(
        self, const double* x, Py_ssize_t n, int64_t width, double* out) noexcept nogil
    cdef void straddle(
        self, const double* a, const double* b, Py_ssize_t n, int64_t width, double* out,
        double* room) noexcept nogil
    cdef int marginals(self, double* out) except -1 nogil
    cdef int cover(self, Py_ssize_t k, Py_ssize_t p, Py_ssize_t q, double* out) except -1 nogil
    cdef int cover_all(
        self, Py_ssize_t k, Py_ssize_t p, Py_ssize_t q, double* out) except -1 nogil
    cdef int sample(self, Random* random, int32_t* labels) except -1 nogil
    cdef Py_ssize_t sample_start(
        self, Random* random, Py_ssize_t end, Py_ssize_t k) except -1 nogil
    cdef double log_segment(
        self, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t k) except? -1 nogil
    cdef double log_allowed(
        self, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t k) noexcept nogil
