# Design:
# (a) Python raises what a signal raised where somebody asks for it (PyErr_CheckSignals), and only in
#     the main thread. Compiled loops ask every SIGNAL_INTERVAL: they count work, read the clock when
#     there is enough of it, and take the GIL when it is time. So what they do costs a comparison.
# (b) Threads of a pool hear of no signal. They have the pool's flag, which their caller raises when it
#     leaves a pass (`obey`), and leave their task by an exception that nobody sees.
# (c) After a signal there may be something left that is worth a moment (a certificate). `LastMoment`
#     is how long: then whoever looks is interrupted as by a second signal.
# (d) Whoever calls `look_after` must be ready to be left there, as it is for want of memory: what it
#     has changed is its own scratch, or is put right at the next call.
"""Signals in long loops without the GIL."""

from cpython.exc cimport PyErr_CheckSignals

from sstruct._kernels._constants cimport SIGNAL_INTERVAL

cdef extern from "sstruct/_kernels/threads.h":
    int64_t sstruct_load(sstruct_counter* counter) noexcept nogil

cdef extern from *:
    """
    #include "sstruct/_kernels/clock.h"
    #include "sstruct/_kernels/interruption.h"
    SSTRUCT_THREAD_LOCAL sstruct_counter* sstruct_stop;
    SSTRUCT_THREAD_LOCAL double sstruct_next_look;
    SSTRUCT_THREAD_LOCAL double sstruct_limit;
    #ifdef _WIN32
    #define sstruct_thread_seconds sstruct_seconds
    #else
    static double sstruct_thread_seconds(void)
    {
        struct timespec t;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    }
    #endif
    """
    sstruct_counter* sstruct_stop
    double sstruct_next_look
    double sstruct_limit        # of the thread's own seconds; 0: none
    double sstruct_thread_seconds() noexcept nogil

# What is left to do after a first signal may take so long.
LAST_SECONDS = 0.15


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
    sstruct_next_look = now + (SIGNAL_INTERVAL if sstruct_limit == 0 else 0.01)
    if sstruct_limit > 0 and sstruct_thread_seconds() >= sstruct_limit:
        with gil:
            raise KeyboardInterrupt("what a signal had left to do takes too long")
    with gil:
        PyErr_CheckSignals()
    return 0


cdef void obey(sstruct_counter* stop) noexcept nogil:
    """Have `look` raise in this thread once `stop` is not 0; NULL: signals again."""
    global sstruct_stop
    sstruct_stop = stop


def look_for_signals():
    """Raise what a signal raised, if it is time to ask: for loops in Python within a `LastMoment`."""
    look()


class LastMoment:
    """A ``with`` block that raises KeyboardInterrupt where it takes longer than LAST_SECONDS.

    Of this thread's own time, so that a busy machine does not take it away; where compiled loops look.
    """

    def __enter__(self):
        global sstruct_limit, sstruct_next_look
        sstruct_limit, sstruct_next_look = sstruct_thread_seconds() + LAST_SECONDS, 0

    def __exit__(self, *_):
        global sstruct_limit
        sstruct_limit = 0

    @staticmethod
    def runs():
        """Whether this thread is within one."""
        return sstruct_limit > 0


class TerminationCallback:
    """What a solver calls between its steps to hear whether to stop: once a signal has raised.

    For solvers in compiled code of others, which an exception must not leave; callers raise `error`
    when they are back. Compiled, since the interpreter would raise on the way into a function of
    its own.
    """

    error = None

    def __call__(self, _):
        try:
            PyErr_CheckSignals()
        except BaseException as error:
            self.error = error
        return self.error is not None
