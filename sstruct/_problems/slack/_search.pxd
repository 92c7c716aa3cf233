from libc.stdint cimport int32_t

from sstruct._oracles.core._interval cimport Interval
from sstruct._problems.core._block_problem cimport BlockProblem

cdef enum Search:
    PRODUCT     # `maximize_product` of the problem
    ANGULAR
    BISECTING
    BINARY


cdef struct Angle:
    Interval interval
    double product_bound     # upper bound of the products of the labelings in the interval


cdef class SlackSearch:
    # Results of the last search; `best` initially contains the starting point.
    cdef int32_t[::1] best
    cdef readonly double value, bound, work, best_h, best_g, lam
    cdef readonly bint exact         # whether no labeling has a larger product
    cdef readonly Py_ssize_t n_queries
    # The problem and the block of the search.
    cdef BlockProblem problem
    cdef Py_ssize_t block
    cdef const double* w
    cdef double margin
    # Last query: a labeling with its h and g, an upper bound of h + lam g over all admissible labelings,
    # and whether this bound is valid.
    cdef int32_t[::1] found, truth
    cdef double h, g, query_bound
    cdef bint bounded
    cdef bint convex                 # see BlockProblem
    cdef Angle* heap
    cdef Py_ssize_t heap_size, heap_room

    cdef int run(
        self, Search search, Py_ssize_t i, const double* w, double margin,
        double start) except -1 nogil
    cdef int update_best(self) except -1 nogil
    cdef int place(self, const int32_t* code, double* h, double* g) except -1 nogil
    cdef int query(self, double lam) except -1 nogil
    cdef bint query_between(self, const Interval* interval, double lam) except -1 nogil
    cdef int angular(self, double start) except -1 nogil
    cdef int narrow(self, double start) except -1 nogil
    cdef double bisect(self, double start, bint geometric) except? -1 nogil
    cdef int visit_ranked(self, double lam) except -1 nogil
    cdef int push(self, Angle angle) except -1 nogil
    cdef Angle pop(self) noexcept nogil
