# Design:
# (a) Passes read the clock without the GIL (`_watch`); policy in Python reads the same one here.
"""The clock that deadlines refer to."""

cdef extern from "sstruct/_kernels/clock.h":
    double sstruct_seconds() noexcept nogil


def seconds():
    """Seconds of a clock that never goes back: the one that passes look at."""
    return sstruct_seconds()
