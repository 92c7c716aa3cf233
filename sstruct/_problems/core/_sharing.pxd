# Decision whether lanes share runs of visits, based on the duration of recent similar runs. It does not
# change results. Header only.
from libc.stdint cimport int64_t

cdef enum:
    # Number of shared runs between runs in a single thread for comparison; the first of these follows one
    # shared run.
    COMPARE_EVERY = 32
    # Number of single-threaded runs after slower shared ones; doubled each time the next is slow too.
    FIRST_REST = 16
    MAX_REST = 1024
    # Work of a visit above which passing its move to another processor always pays.
    LONG_WORK = 4000
    # After a single-threaded run, lanes copy w; for more weights, runs are not compared.
    MANY_WEIGHTS = 1000000


cdef struct Sharing:
    double alone           # seconds of a single thread per unit of work; 0: unknown
    bint compares          # whether single-threaded runs are made for comparison
    bint slow              # whether lanes were slower in their last shared run
    int64_t compare        # number of shared runs until the next comparison
    int64_t rest, resting  # number of single-threaded runs after the next slow one; and remaining now


cdef inline void begin_sharing(Sharing* sharing, Py_ssize_t n_weights) noexcept nogil:
    sharing.alone, sharing.slow, sharing.compares = 0, False, n_weights < MANY_WEIGHTS
    sharing.compare, sharing.rest, sharing.resting = 1, FIRST_REST, 0


cdef inline bint may_share(
        Sharing* sharing, bint alike, double work, const Sharing* short) noexcept nogil:
    """Whether lanes should share the next run, of visits with about this much work.

    alike : whether earlier runs with these statistics predict the duration of this one
    short : statistics of runs with little work; used if this run is not alike and has little work
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
    """Update the statistics after a run that could be shared; left: whether a lane left it."""
    cdef bint slow_before = sharing.slow
    cdef double pace = seconds / work if work > 0 else 0
    if alike and not shared and pace > 0:
        sharing.alone = pace if sharing.alone == 0 else 0.5 * (sharing.alone + pace)
    if not shared:
        return
    if alike:
        # The factor, and the requirement of two slow runs, allow for noise.
        sharing.slow = 0 < 1.15 * sharing.alone < pace
    if left or (sharing.slow and slow_before):
        sharing.resting = sharing.rest
        sharing.rest = min(2 * sharing.rest, MAX_REST)
    elif not sharing.slow:
        sharing.rest = max(sharing.rest // 2, FIRST_REST)
