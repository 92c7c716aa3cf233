from libc.stdint cimport int32_t

from sstruct._oracles.mrf._reduced_model cimport ReducedModel


cdef class Limits:
    cdef double deadline, work_left, slack, entries, max_entries
    cdef Py_ssize_t n_nodes
    cdef bint is_over
    cdef object error          # raised by a signal, for the caller to raise

    cdef void begin(self, double deadline, double max_work, double slack) noexcept nogil
    cdef bint account(self, double work) noexcept nogil


cdef class SearchNode(ReducedModel):
    cdef SearchNode child
    cdef Limits limits
    cdef Py_ssize_t depth
    cdef double value, lower
    cdef bint is_first         # no ancestor branches or is split into components
    cdef bint is_rebuilt       # the child has the same nodes, without the removed labels
    cdef int32_t* order

    cdef int add_child(self) except -1 nogil
    cdef int solve(self, double upper) except -1 nogil
    cdef double proven(self, double upper) noexcept nogil
    cdef int search(self, double upper) except -1 nogil
    cdef void keep(self, double value) noexcept nogil
    cdef double tighten(self, double upper, double least) except? -1 nogil
    cdef bint prune(self, double most) noexcept nogil
    cdef int search_parts(self, Py_ssize_t n_parts, double upper) except -1 nogil
    cdef int branch(self, double upper) except -1 nogil
    cdef Py_ssize_t choose(self, double upper) noexcept nogil
