# Checks of passes between two visits: for signals, every 50 ms, and for a deadline. Header only.
from sstruct._kernels._interruption cimport check_signals, sstruct_seconds

# A visit may take microseconds: the clock is read only after this many visits or units of work.
cdef enum:
    VISITS_PER_POLL = 16
    WORK_PER_POLL = 100000


cdef struct Watch:
    double deadline, work
    Py_ssize_t visits


cdef inline Watch start_watch(double deadline) noexcept nogil:
    cdef Watch watch
    watch.deadline = deadline
    watch.visits = 0
    watch.work = 0
    return watch


cdef inline int poll(Watch* watch, double work) except -1 nogil:
    """Return 1 if the deadline has passed; raise the exception of a signal handler.

    work : work counted so far in the pass or the fit.
    """
    watch.visits += 1
    if watch.visits % VISITS_PER_POLL and work - watch.work < WORK_PER_POLL:
        return 0
    watch.work = work
    check_signals()
    return sstruct_seconds() >= watch.deadline
