# Checks for signals in long loops: call `look_after(work)` after work, in units of about a nanosecond.
from libc.stdint cimport int64_t

cdef extern from "sstruct/_kernels/threads.h":
    ctypedef int64_t sstruct_counter

cdef extern from "sstruct/_kernels/interruption.h":
    bint sstruct_is_look_due(double work) noexcept nogil

cdef extern from "sstruct/_kernels/clock.h":
    double sstruct_seconds() noexcept nogil


cdef int look() except -1 nogil
cdef void obey(sstruct_counter* stop) noexcept nogil


cdef inline int look_after(double work) except -1 nogil:
    """Count work; from time to time handle signals, which may raise, or end the thread's task."""
    return look() if sstruct_is_look_due(work) else 0


cdef inline int is_over(double deadline, double work) except -1 nogil:
    """As `look_after`; return 1 if a check found that the deadline (of `sstruct_seconds`) has passed."""
    if not sstruct_is_look_due(work):
        return 0
    look()
    return sstruct_seconds() >= deadline
