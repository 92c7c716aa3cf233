# Checks for signals in long loops: call `poll_signals(work)` after work, in units of about a nanosecond.
from libc.stdint cimport int64_t

cdef extern from "sstruct/_kernels/threads.h":
    ctypedef int64_t sstruct_counter

cdef extern from "sstruct/_kernels/interruption.h":
    bint sstruct_is_check_due(double work) noexcept nogil

cdef extern from "sstruct/_kernels/clock.h":
    double sstruct_seconds() noexcept nogil


cdef int check_signals() except -1 nogil
cdef void set_stop_flag(sstruct_counter* stop) noexcept nogil


cdef inline int poll_signals(double work) except -1 nogil:
    """Count work; from time to time handle signals, which may raise, or end the thread's task."""
    return check_signals() if sstruct_is_check_due(work) else 0


cdef inline int is_over(double deadline, double work) except -1 nogil:
    """Like `poll_signals`; return 1 if a check found that the deadline (of `sstruct_seconds`) has passed."""
    if not sstruct_is_check_due(work):
        return 0
    check_signals()
    return sstruct_seconds() >= deadline
