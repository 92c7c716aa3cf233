from libc.stdint cimport int32_t, int64_t

from sstruct._problems.core._block_problem cimport WrappedProblem
from sstruct._problems.core._scored_codes cimport ScoredCodes
from sstruct._problems.slack._search cimport Search, SlackSearch


cdef class SearchMemory:
    # State after the exact visits of each block; only one thread processes a block at a time.
    cdef bint open                   # whether to write
    cdef int64_t[::1] queries
    cdef double[::1] lam             # final lam of the last search, for margin 1
    cdef int64_t[::1] start          # position of each block's code, or empty
    cdef int32_t[::1] code           # best labelings


cdef class SlackProblem(WrappedProblem):
    cdef readonly str search
    cdef SearchMemory found          # shared by forks
    # Scratch memory of this object.
    cdef SlackSearch searcher
    cdef Search kind
    cdef const double* last_w        # weights of the last oracle call, for `scores`
    cdef int32_t[::1] true_labeling
    cdef ScoredCodes scored
