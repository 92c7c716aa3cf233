# Whether lanes share runs of visits, by what runs that are like one another have taken of late. Results do
# not depend on it. Header only.
from libc.stdint cimport int64_t

cdef enum:
    # Shared runs until one is made alone to compare, after the first.
    COMPARE_EVERY = 32
    # Runs alone after shared ones that were slower; twice as many each time that one follows.
    FIRST_REST = 16
    MOST_REST = 1024
    # Work of a visit that is worth more than handing its move to another processor, anywhere.
    LONG_WORK = 4000
    # After a run alone lanes copy w, which is not to be done for the sake of comparing if it is large.
    MANY_WEIGHTS = 1000000


cdef struct Sharing:
    double alone           # seconds of one thread for a unit of work; 0: not known
    bint compares          # whether runs are made alone to compare
    bint slow              # whether lanes were slower in the last such run that they shared
    int64_t compare        # shared runs until one is made alone
    int64_t rest, resting  # runs alone: when lanes are next slower, and still to come


cdef inline void begin_sharing(Sharing* sharing, Py_ssize_t n_weights) noexcept nogil:
    sharing.alone, sharing.slow, sharing.compares = 0, False, n_weights < MANY_WEIGHTS
    sharing.compare, sharing.rest, sharing.resting = 1, FIRST_REST, 0


cdef inline bint may_share(
        Sharing* sharing, bint alike, double work, const Sharing* short) noexcept nogil:
    """Whether lanes are to share the next run, of visits of about so much work.

    short : of visits that are; these are none of them, but as long, where their work is little.
    """
    if sharing.resting > 0:
        sharing.resting -= 1
        return False
    if not alike:
        return work >= LONG_WORK or not (short.slow and short.resting > 0)
    if sharing.compare == 0 and sharing.compares:
        sharing.compare = COMPARE_EVERY
        return False
    sharing.compare = max(sharing.compare - 1, 0)
    return True


cdef inline void note_run(
        Sharing* sharing, bint alike, bint shared, bint left, double seconds,
        double work) noexcept nogil:
    """Learn from a run that could be shared; left: whether a lane left it."""
    cdef bint slow_before = sharing.slow
    cdef double pace = seconds / work if work > 0 else 0
    if alike and not shared and pace > 0:
        sharing.alone = pace if sharing.alone == 0 else 0.5 * (sharing.alone + pace)
    if not shared:
        return
    if alike:
        # With a margin for noise, as asking for two such runs is.
        sharing.slow = 0 < 1.15 * sharing.alone < pace
    if left or (sharing.slow and slow_before):
        sharing.resting = sharing.rest
        sharing.rest = min(2 * sharing.rest, MOST_REST)
    elif not sharing.slow:
        sharing.rest = max(sharing.rest // 2, FIRST_REST)
