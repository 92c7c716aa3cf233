# Design:
# (a) Python raises what a signal raised where somebody asks for it (PyErr_CheckSignals), and only in
#     the main thread. Compiled loops ask every SIGNAL_INTERVAL: they count work, read the clock when
#     there is enough of it, and take the GIL when it is time. So what they do costs a comparison.
# (b) Threads of a pool hear of no signal. They have the pool's flag, which their caller raises when it
#     leaves a pass (`obey`), and leave their task by an exception that nobody sees.
# (c) Whoever calls `look_after` must be ready to be left there, as it is for want of memory: what it
#     has changed is its own scratch, or is put right at the next call.
"""Signals in long loops without the GIL."""

from cpython.exc cimport PyErr_CheckSignals

from sstruct._kernels._constants cimport SIGNAL_INTERVAL

cdef extern from "sstruct/_kernels/threads.h":
    int64_t sstruct_load(sstruct_counter* counter) noexcept nogil

cdef extern from *:
    """
    #include "sstruct/_kernels/interruption.h"
    SSTRUCT_THREAD_LOCAL sstruct_counter* sstruct_stop;
    SSTRUCT_THREAD_LOCAL double sstruct_next_look;
    """
    sstruct_counter* sstruct_stop
    double sstruct_next_look


cdef int look() except -1 nogil:
    """Raise what a signal raised, if it is time to ask; KeyboardInterrupt in a thread that must stop."""
    global sstruct_next_look
    cdef double now
    if sstruct_stop != NULL:
        if sstruct_load(sstruct_stop):
            with gil:
                raise KeyboardInterrupt("the pass that this thread works for has ended")
        return 0
    now = sstruct_seconds()
    if now < sstruct_next_look:
        return 0
    sstruct_next_look = now + SIGNAL_INTERVAL
    with gil:
        PyErr_CheckSignals()
    return 0


cdef void obey(sstruct_counter* stop) noexcept nogil:
    """Have `look` raise in this thread once `stop` is not 0; NULL: signals again."""
    global sstruct_stop
    sstruct_stop = stop
