# What long decoders look at now and then: signals and a deadline. Header only.
from cpython.exc cimport PyErr_CheckSignals

cdef extern from "sstruct/_kernels/clock.h":
    double sstruct_seconds() noexcept nogil

# Units of work, of about a nanosecond, between two looks.
cdef enum:
    WORK_PER_LOOK = 20000000


cdef inline int is_over(double deadline) except -1 nogil:
    """Return 1 when the deadline (of `sstruct_seconds`) has passed; raise what a signal raised."""
    with gil:
        PyErr_CheckSignals()
    return sstruct_seconds() >= deadline
