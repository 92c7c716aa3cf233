# What passes look at between two visits: signals every 50 ms, and a deadline. Header only.
from cpython.exc cimport PyErr_CheckSignals

from sstruct._kernels._constants cimport SIGNAL_INTERVAL

cdef extern from "sstruct/_kernels/clock.h":
    double sstruct_seconds() noexcept nogil

# A visit may take microseconds: the clock is read every so many visits or units of work.
cdef enum:
    VISITS_PER_LOOK = 16
    WORK_PER_LOOK = 100000


cdef struct Watch:
    double deadline, next_signal, work
    Py_ssize_t visits


cdef inline Watch start_watch(double deadline) noexcept nogil:
    cdef Watch watch
    watch.deadline = deadline
    watch.next_signal = sstruct_seconds() + SIGNAL_INTERVAL
    watch.visits = 0
    watch.work = 0
    return watch


cdef inline int look(Watch* watch, double work) except -1 nogil:
    """Return 1 when the deadline has passed; raise what a signal handler raised.

    work : counted so far in the pass or the fit.
    """
    cdef double now
    watch.visits += 1
    if watch.visits % VISITS_PER_LOOK and work - watch.work < WORK_PER_LOOK:
        return 0
    watch.work = work
    now = sstruct_seconds()
    if now >= watch.next_signal:
        watch.next_signal = now + SIGNAL_INTERVAL
        with gil:
            PyErr_CheckSignals()
    return now >= watch.deadline
