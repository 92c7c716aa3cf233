# Design:
# (a) Passes read the clock without the GIL (`_watch`); Python code uses the same clock.
"""The clock that deadlines refer to."""

cdef extern from "sstruct/_kernels/clock.h":
    double sstruct_seconds() noexcept nogil


def seconds():
    """Return the seconds of the monotonic clock that passes use."""
    return sstruct_seconds()
