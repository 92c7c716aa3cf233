from libc.stdint cimport int32_t, int64_t

from sstruct._oracles.segment._segment_ranges cimport SegmentRanges
from sstruct._oracles.segment._segment_terms cimport SegmentScores


# One way to reach a node: a way to reach one of its inputs, which it extends.
cdef struct Way:
    double value
    Py_ssize_t before                # way to reach the input, or -1
    Py_ssize_t node
    Py_ssize_t next                  # the next best way to reach the same node, or -1


cdef class SegmentRanking(SegmentRanges):
    cdef Py_ssize_t width, block     # leaves of a tree; nodes of a label
    cdef int32_t* lowest             # K x (L + 1): least start of segments that end before a node
    cdef Way* ways
    cdef Py_ssize_t n_ways, way_room
    cdef Py_ssize_t* last            # worst known way to reach each node
    cdef Py_ssize_t* front           # position of each node's front, or -1
    cdef Py_ssize_t* front_size      # of each node
    cdef double* front_value         # of the next way through each input; its offset; the input's way
    cdef double* front_offset
    cdef Py_ssize_t* front_way
    cdef Py_ssize_t front_stop, front_room
    cdef Py_ssize_t* path

    cdef Py_ssize_t rank(self, const SegmentScores* scores, Py_ssize_t k) except -1 nogil
    cdef int write(self, int32_t* code, double* values) except -1 nogil
    cdef double score(self, const int32_t* code) noexcept nogil
    cdef int start(self) except -1 nogil
    cdef int find_best(self, Py_ssize_t node) except -1 nogil
    cdef bint advance(self) except -1 nogil
    cdef int find_next(self, Py_ssize_t node) except -1 nogil
    cdef Py_ssize_t open_front(self, Py_ssize_t node) except -1 nogil
    cdef int add_inputs(self, Py_ssize_t node) except -1 nogil
    cdef int add_range(
        self, Py_ssize_t k, int64_t first, int64_t last, double offset) except -1 nogil
    cdef int add_starts(
        self, Py_ssize_t k, int64_t first, int64_t end, int64_t last,
        double offset) except -1 nogil
    cdef int add_input(self, Py_ssize_t node, double offset) except -1 nogil
