# Whether lanes share runs of visits, by what such runs have taken of late. Results do not depend on it.
# Header only.
from libc.stdint cimport int64_t

cdef enum:
    # Shared runs until one of short visits is made alone to compare, after the first.
    COMPARE_EVERY = 32
    # Runs alone after a shared one that was slower; twice as many each time that one follows.
    FIRST_REST = 16
    MOST_REST = 1024
    # Nanoseconds of a visit that is worth more than handing its move to another processor, anywhere.
    LONG_VISIT = 4000


cdef struct Sharing:
    double alone, shared   # seconds of one thread, and of lanes, for a unit of work; 0: not known
    int64_t compare        # shared runs until one is made alone
    int64_t rest, resting  # runs alone: when lanes are next slower, and still to come


cdef inline void begin_sharing(Sharing* sharing) noexcept nogil:
    sharing.alone = sharing.shared = 0
    sharing.compare, sharing.rest, sharing.resting = 1, FIRST_REST, 0


cdef inline bint may_share(Sharing* sharing) noexcept nogil:
    """Whether lanes are to share the next run."""
    if sharing.resting > 0:
        sharing.resting -= 1
        return False
    if sharing.compare == 0:
        sharing.compare = COMPARE_EVERY
        return False
    sharing.compare -= 1
    return True


cdef inline void note_pace(double* pace, double newest) noexcept nogil:
    pace[0] = newest if pace[0] == 0 else 0.5 * (pace[0] + newest)


cdef inline void note_run(
        Sharing* sharing, Py_ssize_t n_lanes, bint left, double seconds, double work,
        Py_ssize_t count, Py_ssize_t n_weights) noexcept nogil:
    """Learn from a run of `count` visits that could be shared; left: whether a lane left it."""
    if not work > 0:
        return
    note_pace(&sharing.shared if n_lanes > 1 else &sharing.alone, seconds / work)
    if n_lanes == 1:
        return
    # After a run alone lanes copy w.
    if 1e9 * seconds * n_lanes > LONG_VISIT * count or n_weights > work:
        sharing.compare = COMPARE_EVERY
    # With a margin for noise.
    if left or 0 < 1.1 * sharing.alone < sharing.shared:
        sharing.resting, sharing.shared = sharing.rest, 0
        sharing.rest = min(2 * sharing.rest, MOST_REST)
    else:
        sharing.rest = max(sharing.rest // 2, FIRST_REST)
