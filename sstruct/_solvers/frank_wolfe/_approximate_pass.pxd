from sstruct._solvers.frank_wolfe._steps cimport StepKind


cpdef enum Sampling:
    PERMUTATION   # every block once, in random order
    UNIFORM       # n draws, without replacement within a batch
    GAP           # the same, in proportion to q_i times the last known gap of a block
    SEQUENTIAL    # every block once, one stretch of the data at a time, each in random order


cdef class PassPlan:
    cdef readonly StepKind kind
    cdef readonly Sampling sampling
    cdef readonly Py_ssize_t number, keep, first, last, begin, end, lag, max_working_set
    cdef readonly double deadline, cache_gap_share, cache_mean_gap_share
