from libc.stdint cimport int32_t

from sstruct._oracles.dependency._spanning_tree cimport DependencyDecoder


cdef class ProjectiveTreeDecoder(DependencyDecoder):
    # Scratch memory of this object. Tables (n + 1) x (n + 1) of scores of spans, from the row's token, the
    # head of the span, to the column's:
    cdef double* left                # complete spans to the left of the head
    cdef double* right               # and to the right
    cdef double* left_arc            # spans with an arc between their ends
    cdef double* right_arc
    # Where spans from the row's to the column's token are divided:
    cdef int32_t* left_split
    cdef int32_t* right_split
    cdef int32_t* arc_split          # of both kinds of spans with an arc
    cdef int32_t* stack

    cdef int fill(self, Py_ssize_t n, Py_ssize_t first, const double* scores) except -1 nogil
    cdef int write(self, Py_ssize_t n, Py_ssize_t begin, Py_ssize_t end, bint to_right,
                   int32_t* heads) except -1 nogil
