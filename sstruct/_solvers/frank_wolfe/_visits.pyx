# Design:
# (a) A visit finds its move at a copy of w, in a lane: a thread with a copy of its own. The moves go
#     to a ring, and every lane makes all of them in the order of the visits. Nothing is locked, and
#     nothing of the size of w is sent about.
# (b) Visit a sees the moves of all visits before a - lag, of no others, whoever makes it and however
#     far others are. So the bits depend on the lag, which is the pass's, and not on the threads.
# (c) Up to lag + 1 visits are under way at once. A block is visited once a run, so that what a visit
#     changes beside w is its own block's.
# (d) The first lane is the state's own w; it counts as well, in the order of the visits.
# (e) A lane whose thread has no processor holds up all others. Short visits take longer in lanes than
#     in one thread where processors are far from one another. Where waiting takes much of a run, or
#     one thread would be faster, all lanes but the first leave it, and the next runs go without them
#     (`_sharing`): results are the same.
# (f) Gains are those at the w that a visit saw. With a lag their sum is an estimate of what the dual
#     has gained, which block_coordinate.py takes for no more.
"""Visits of blocks one after another, some of them at once."""

from libc.stdint cimport int64_t

from sstruct._kernels._interruption cimport look_after
from sstruct._problems.core._block_problem cimport BlockProblem
from sstruct._problems.core._sharing cimport Sharing, may_share, note_run
from sstruct._problems.core._thread_pool cimport ThreadPool
from sstruct._solvers.core._average cimport RunningAverage
from sstruct._solvers.core._scratch cimport Lane, Move, begin_move
from sstruct._solvers.core._state cimport N_MOVES, DualState
from sstruct._solvers.core._watch cimport Watch, look
from sstruct._solvers.frank_wolfe._steps cimport relaxation

cdef extern from "sstruct/_kernels/threads.h":
    ctypedef int64_t sstruct_counter
    int64_t sstruct_load(sstruct_counter* counter) noexcept nogil
    void sstruct_store(sstruct_counter* counter, int64_t value) noexcept nogil
    int64_t sstruct_add(sstruct_counter* counter, int64_t value) noexcept nogil

cdef extern from "sstruct/_kernels/clock.h":
    double sstruct_seconds() noexcept nogil

# More visits than a run has: the next ones are not to be made.
cdef int64_t STOP = 1 << 60
# Lanes leave a run after some waits, where all of them wait more than this share of it for each two
# lanes: of two that share a processor, one always does.
cdef int64_t SOME_WAITS = 8
cdef double MUCH = 0.6
# Lanes leave, too, where a run takes so many times as long as one thread did, which is looked at once
# in a while, beyond the seconds that a thread may take to begin.
cdef double SLOW = 1.3, A_START = 1e-4
cdef Py_ssize_t VISITS_A_LOOK = 32
# With fewer visits a lane, threads wait for one another more than they help.
cdef Py_ssize_t LEAST_VISITS = 8


cdef struct Run:
    Visits* visits
    void* state
    void* pool
    Watch* watch
    int64_t base              # number of the run's first visit
    Py_ssize_t ring           # places of moves that are used
    Py_ssize_t n_lanes
    Py_ssize_t in_a_row       # visits that a lane takes at a time
    double begin
    double work, alone        # of the state as the run begins; seconds of one thread for a unit of it
    Py_ssize_t looks          # of the first lane, for what the run takes
    # What lanes change lies on cache lines of its own.
    char[128] apart
    sstruct_counter next      # visit to be taken, from 0
    char[128] apart_too
    sstruct_counter count     # of those that are made: fewer than planned where a deadline came
    sstruct_counter stopped   # whether one has
    sstruct_counter n_waits, waited   # of lanes for one another: how many, and their nanoseconds
    sstruct_counter left      # whether a lane has left


cdef bint visit_all(
        Visits* visits, DualState state, ThreadPool pool, Watch* watch) except -1:
    """Make a run of visits; return whether all were made before the deadline.

    What ends it early leaves a valid state: found moves are made. pool: None for one thread.
    """
    cdef Run run
    cdef int64_t number, taken
    cdef Move* move
    cdef Py_ssize_t n_threads = 1 if pool is None else pool.n_threads
    cdef Sharing* sharing = NULL   # where the run could be shared
    cdef double begin = sstruct_seconds()
    run.visits, run.state, run.watch, run.pool = visits, <void*> state, watch, <void*> pool
    run.base, run.next, run.stopped, run.count = state.n_visits, 0, 0, visits.count
    run.n_waits, run.waited, run.left = 0, 0, 0
    run.work, run.alone, run.looks = state.work, 0, 0
    run.n_lanes = max(1, min(n_threads, visits.lag + 1, visits.count // LEAST_VISITS))
    if run.n_lanes > 1:
        sharing = &state.sharing[visits.tidy != NULL]
        run.alone = sharing.alone if visits.alike else 0
        if not may_share(sharing, visits.alike, visits.work, state.sharing):
            run.n_lanes = 1
    run.ring = visits.lag + 1 if run.n_lanes == 1 else N_MOVES
    # Two lanes can make two visits each before they need one another's.
    run.in_a_row = 2 if run.n_lanes == 2 and visits.lag > 1 else 1
    state.reserve_lanes(run.n_lanes)
    run.begin = sstruct_seconds()
    state.n_visits += visits.count
    state.n_in_step = 1
    state.relaxation = relaxation(visits.lag)
    state.estimated = state.estimated or visits.lag > 0
    try:
        if run.n_lanes == 1:
            with nogil:
                visit_in_lane(&run, state, state.problem, 0)
        else:
            pool.run_once(fly, &run, run.n_lanes)
        if sharing != NULL:
            note_run(
                sharing, visits.alike, run.n_lanes > 1, run.left != 0, sstruct_seconds() - begin,
                state.work - run.work)
        state.n_in_step = 1 if run.left else run.n_lanes
    finally:
        # All is landed, unless an exception is on its way; what has been tidied has another's place.
        taken = run.base + min(sstruct_load(&run.next) % STOP, visits.count)
        for number in range(max(run.base, taken - run.ring), taken):
            move = &state.moves[number % run.ring]
            if move.found == number + 1:
                if number >= state.lanes.begun:
                    land_first(&run, state, state.problem, move)
                if visits.tidy != NULL:
                    state.n_labelings -= visits.tidy(
                        visits.context, state, state.problem, state.lanes, move.block)
    return run.stopped == 0


cdef int fly(
        void* context, BlockProblem problem, Py_ssize_t thread, Py_ssize_t ticket) except -1 nogil:
    """Task of a run: the visits of a lane."""
    cdef Run* run = <Run*> context
    return visit_in_lane(run, <DualState> run.state, problem, ticket)


cdef int visit_in_lane(
        Run* run, DualState state, BlockProblem problem, Py_ssize_t number) except -1 nogil:
    """Make visits from a lane's w, each time the next one that nobody has taken."""
    cdef Lane* lane = &state.lanes[number]
    cdef int64_t count = run.visits.count, a = sstruct_add(&run.next, run.in_a_row), b
    while a < count:
        for b in range(a, min(a + run.in_a_row, count)):
            land(run, state, problem, lane, run.base + b - run.visits.lag)
            wait_for_place(run, state, b)
            find(run, state, problem, lane, b)
        if number > 0:
            look_after(1 + run.in_a_row * lane.work)
            if sstruct_load(&run.left) or waits_too_much(run):
                sstruct_store(&run.left, 1)
                sstruct_store(&lane.landed, run.base + count)   # nobody is to wait for it
                return 0
        else:
            if is_slow(run, state):
                sstruct_store(&run.left, 1)
            if look(run.watch, state.work):
                # Those taken so far are made, and no others.
                sstruct_store(&run.count, min(sstruct_add(&run.next, STOP), count))
                sstruct_store(&run.stopped, 1)
        a = sstruct_add(&run.next, run.in_a_row)
    if a >= STOP:
        wait(run, &run.stopped, 1)
    return land(run, state, problem, lane, run.base + sstruct_load(&run.count))


cdef int find(
        Run* run, DualState state, BlockProblem problem, Lane* lane, int64_t a) except -1 nogil:
    """Find the move of a visit and hand it out."""
    cdef Visits* visits = run.visits
    cdef Move* move = &state.moves[(run.base + a) % run.ring]
    cdef Py_ssize_t n_dropped = 0
    if visits.tidy != NULL and a >= run.ring:
        n_dropped = visits.tidy(visits.context, state, problem, lane, move.block)
    lane.move = move
    begin_move(move)
    visits.find(visits.context, state, problem, lane, a)
    move.n_new -= n_dropped
    lane.work = move.work
    sstruct_store(&move.found, run.base + a + 1)
    return 0


cdef int land(
        Run* run, DualState state, BlockProblem problem, Lane* lane, int64_t end) except -1 nogil:
    """Make the moves of visits before number `end` in a lane, each once it has been found."""
    cdef Move* move
    cdef int64_t number = lane.landed
    cdef double of_bounds = 0
    if number >= end:
        return 0
    while number < end:
        move = &state.moves[number % run.ring]
        if sstruct_load(&move.found) <= number:
            sstruct_store(&lane.landed, number)   # others may wait for that
            wait(run, &move.found, number + 1)
        number += 1
        if lane == state.lanes:
            lane.begun = number   # what raises is not made twice
            land_first(run, state, problem, move)
        else:
            state.follow(problem, lane, move, &of_bounds)
    sstruct_store(&lane.landed, number)
    return 0


cdef int land_first(
        Run* run, DualState state, BlockProblem problem, const Move* move) except -1 nogil:
    """Make a move in the state itself."""
    if run.visits.average == NULL:
        return state.land(problem, move, None)
    return state.land(problem, move, <RunningAverage> run.visits.average)


cdef int wait_for_place(Run* run, DualState state, int64_t a) except -1 nogil:
    """Wait until no lane needs any more the move in whose place that of visit `a` is to be."""
    cdef int64_t former = run.base + a - run.ring
    cdef Py_ssize_t k
    if run.n_lanes > 1 and a >= run.ring:
        for k in range(run.n_lanes):
            if sstruct_load(&state.lanes[k].landed) <= former:
                wait(run, &state.lanes[k].landed, former + 1)
    return 0


cdef int wait(Run* run, sstruct_counter* counter, int64_t least) except -1 nogil:
    """Wait for another lane, if need be, and keep account of it."""
    cdef double waited
    if sstruct_load(counter) >= least:   # always, where there is one lane and perhaps no pool
        return 0
    waited = (<ThreadPool> run.pool).wait(counter, least)
    if waited > 0:
        sstruct_add(&run.n_waits, 1)
        sstruct_add(&run.waited, <int64_t> (1e9 * waited))
    return 0


cdef bint is_slow(Run* run, DualState state) noexcept nogil:
    """Whether one thread would be faster, as far as the first lane can see."""
    if run.n_lanes == 1 or run.alone <= 0:
        return False
    run.looks += 1
    return (run.looks % VISITS_A_LOOK == 0
            and sstruct_seconds() - run.begin
            > A_START + SLOW * run.alone * (state.work - run.work))


cdef bint waits_too_much(Run* run) noexcept nogil:
    return (sstruct_load(&run.n_waits) >= SOME_WAITS
            and 2e-9 * sstruct_load(&run.waited)
            > MUCH * run.n_lanes * (sstruct_seconds() - run.begin))


cdef int visit_alone(Visits* visits, DualState state, Py_ssize_t a) except -1 nogil:
    """Make a visit and its move, in the state itself."""
    cdef Run run
    cdef Move* move = state.moves
    run.visits = visits
    state.lanes.move = move
    begin_move(move)
    state.relaxation = relaxation(0)
    visits.find(visits.context, state, state.problem, state.lanes, a)
    land_first(&run, state, state.problem, move)
    state.n_in_step = 1
    if visits.tidy != NULL:
        state.n_labelings -= visits.tidy(
            visits.context, state, state.problem, state.lanes, move.block)
    return 0
