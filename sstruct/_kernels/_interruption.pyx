# Design:
# (a) Python handles signals only when PyErr_CheckSignals is called in the main thread. Compiled loops
#     call it every SIGNAL_INTERVAL: they count work, read the clock after a certain amount of it, and
#     acquire the GIL when the interval has passed. The typical cost is one comparison.
# (b) Threads of a pool do not receive signals. They check a flag of the pool (registered by
#     `set_stop_flag`), which the caller sets when it leaves a pass, and end their task by an exception
#     that is discarded.
# (c) After a signal, a short computation may remain to be done, such as a certificate. `GracePeriod`
#     limits its duration: when it has expired, checks interrupt the computation like a second signal.
#     The limit on CPU time does not depend on the load of the machine. Oracles that wait, such as those
#     in other processes, use no CPU time, and need the limit on elapsed time.
# (d) Callers of `poll_signals` must remain valid after an exception, as after a MemoryError: they only
#     modify their own scratch memory, or restore the state at the next call.
"""Signals in long loops without the GIL."""

from cpython.exc cimport PyErr_CheckSignals

from sstruct._kernels._constants cimport SIGNAL_INTERVAL

import signal

cdef extern from "sstruct/_kernels/threads.h":
    int64_t sstruct_load(sstruct_counter* counter) noexcept nogil

cdef extern from *:
    """
    #include "sstruct/_kernels/clock.h"
    #include "sstruct/_kernels/interruption.h"
    SSTRUCT_THREAD_LOCAL sstruct_counter* sstruct_stop;
    SSTRUCT_THREAD_LOCAL double sstruct_next_check;
    SSTRUCT_THREAD_LOCAL double sstruct_limit;
    SSTRUCT_THREAD_LOCAL double sstruct_latest;
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
    double sstruct_next_check
    double sstruct_limit        # limit on `sstruct_thread_seconds`; 0 if there is none
    double sstruct_latest       # limit on `sstruct_seconds`, if there is a limit
    double sstruct_thread_seconds() noexcept nogil

# Limits on the duration of the remaining computation after a first signal: CPU and elapsed seconds.
GRACE_CPU_SECONDS = 0.15
GRACE_SECONDS = 10.0


cdef int check_signals() except -1 nogil:
    """Handle signals if the interval has passed; raise KeyboardInterrupt in a thread that must stop."""
    global sstruct_next_check
    cdef double now
    if sstruct_stop != NULL:
        if sstruct_load(sstruct_stop):
            with gil:
                raise KeyboardInterrupt("the pass of this thread has ended")
        return 0
    now = sstruct_seconds()
    if now < sstruct_next_check:
        return 0
    sstruct_next_check = now + (SIGNAL_INTERVAL if sstruct_limit == 0 else 0.01)
    if sstruct_limit > 0 and (
            now >= sstruct_latest or sstruct_thread_seconds() >= sstruct_limit):
        with gil:
            raise KeyboardInterrupt("the computation after a signal takes too long")
    with gil:
        PyErr_CheckSignals()
    return 0


cdef void set_stop_flag(sstruct_counter* stop) noexcept nogil:
    """Make `check_signals` raise in this thread once `stop` is not 0, or check for signals if it is NULL."""
    global sstruct_stop
    sstruct_stop = stop


def handle_signals():
    """Handle signals if the interval has passed, in Python loops within a `GracePeriod`."""
    check_signals()


class GracePeriod:
    """Context manager that raises KeyboardInterrupt if its block takes longer than GRACE_CPU_SECONDS.

    The time is the CPU time of this thread, which does not depend on the load of the machine, or on
    Windows the elapsed time. The elapsed time is limited by GRACE_SECONDS. Both are checked in
    compiled loops and by `handle_signals`.
    """

    def __enter__(self):
        global sstruct_limit, sstruct_latest, sstruct_next_check
        sstruct_limit, sstruct_next_check = sstruct_thread_seconds() + GRACE_CPU_SECONDS, 0
        sstruct_latest = sstruct_seconds() + GRACE_SECONDS

    def __exit__(self, *_):
        global sstruct_limit
        sstruct_limit = 0

    @staticmethod
    def remaining():
        """Return the elapsed seconds that remain if this thread is within such a block, or None."""
        return max(sstruct_latest - sstruct_seconds(), 0) if sstruct_limit > 0 else None


class DelayedInterrupt:
    """Context manager that delays SIGINT from `begin` until its block is left.

    If SIGINT has arrived by then, the previous handler is called. A GracePeriod within the block is
    interrupted immediately, by KeyboardInterrupt. SIGINT is not delayed in threads other than the
    main one, which do not receive signals, nor if it is ignored or not handled by Python. Compiled, so
    that no signal is handled between two of its own steps.
    """

    entered, handler, arrived = False, None, None

    def __enter__(self):
        self.entered = True
        return self

    def begin(self):
        """Start to delay SIGINT; further calls within the block have no effect."""
        handler = signal.getsignal(signal.SIGINT)
        if not self.entered or self.handler is not None or not callable(handler):
            return
        try:
            signal.signal(signal.SIGINT, self._wait)
        except ValueError:  # not the main thread
            return
        self.handler = handler

    def _wait(self, *arguments):
        self.arrived = arguments
        if GracePeriod.remaining() is not None:
            raise KeyboardInterrupt

    def __exit__(self, *_):
        handler, self.handler = self.handler, None
        if handler is None:
            return
        if signal.getsignal(signal.SIGINT) == self._wait:  # not replaced by another handler
            signal.signal(signal.SIGINT, handler)
        arrived, self.arrived = self.arrived, None
        if arrived is not None:
            handler(*arrived)


class TerminationCallback:
    """Callback of a solver that returns True once a signal has raised an exception.

    For solvers in other compiled libraries, through which an exception cannot propagate; the caller
    raises `error` after the solver has returned. Compiled, since the interpreter would raise on entry
    to a Python function.
    """

    error = None

    def __call__(self, _):
        try:
            PyErr_CheckSignals()
        except BaseException as error:
            self.error = error
        return self.error is not None
