from sstruct._solvers.frank_wolfe._steps cimport StepKind


cpdef enum Sampling:
    PERMUTATION   # every block once, in random order
    UNIFORM       # n draws, none twice in a batch
    GAP           # n draws in proportion to the block gaps as last seen
    SEQUENTIAL    # every block once, stretch by stretch of the data, each in random order


cdef class PassPlan:
    cdef readonly StepKind kind
    cdef readonly Sampling sampling
    cdef readonly Py_ssize_t number, keep, first, last, lag, max_working_set
    cdef readonly double deadline, cache_gap_share, cache_mean_gap_share
