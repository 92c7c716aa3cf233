# Design:
# (a) A visit computes its move from a copy of w, in a lane: a thread with its own copy. Moves are
#     stored in a ring buffer, and every lane applies all of them in the order of the visits. There are
#     no locks, and no vector of the size of w is sent between threads.
# (b) Visit a sees exactly the moves of the visits before a - lag, whichever lane makes it and however
#     far the other lanes are. Results therefore depend on the lag, which is set by the pass, but not on
#     the number of threads.
# (c) Up to lag + 1 visits run concurrently. Each block is visited at most once per run, so that a
#     visit changes only w and the data of its own block.
# (d) The first lane is the w of the state; it also updates the counts, in the order of the visits.
# (e) A lane whose thread has no processor delays all others, and if processors are far apart, short
#     visits take longer in lanes than in one thread. If waiting takes a large share of a run, or one
#     thread would be faster, all lanes except the first leave the run, and the next runs do not use
#     them (`_sharing`). The results are the same.
# (f) Gains are computed at the w of a visit. With a lag, their sum is only an estimate of the gain of
#     the dual, and block_coordinate.py treats it as such.
"""Visits of blocks in sequence, some of them concurrently."""

from libc.stdint cimport int64_t

from sstruct._kernels._interruption cimport poll_signals, sstruct_counter, sstruct_seconds
from sstruct._problems.core._block_problem cimport BlockProblem
from sstruct._problems.core._sharing cimport Sharing, may_share, note_run
from sstruct._problems.core._thread_pool cimport ThreadPool
from sstruct._solvers.core._average cimport RunningAverage
from sstruct._solvers.core._scratch cimport Lane, Move, begin_move
from sstruct._solvers.core._state cimport N_MOVES, DualState
from sstruct._solvers.core._watch cimport Watch, poll
from sstruct._solvers.frank_wolfe._steps cimport relaxation

cdef extern from "sstruct/_kernels/threads.h":
    int64_t sstruct_load(sstruct_counter* counter) noexcept nogil
    void sstruct_store(sstruct_counter* counter, int64_t value) noexcept nogil
    int64_t sstruct_add(sstruct_counter* counter, int64_t value) noexcept nogil

# Larger than the number of visits of any run: no further visit is made.
cdef int64_t STOP = 1 << 60
# Lanes leave a run after SOME_WAITS waits if waiting takes more than this share of the run per pair of
# lanes: of two lanes that share a processor, one always waits.
cdef int64_t SOME_WAITS = 8
cdef double MUCH = 0.6
# Lanes also leave if a run takes SLOW times as long as one thread would, plus A_START seconds that a
# thread may take to start. The first lane checks this each time it has taken visits VISITS_PER_CHECK times.
cdef double SLOW = 1.3, A_START = 1e-4
cdef Py_ssize_t VISITS_PER_CHECK = 32
# With fewer visits per lane, waiting costs more than additional threads save.
cdef Py_ssize_t MIN_VISITS = 8


cdef struct Run:
    Visits* visits
    void* state
    void* pool
    Watch* watch
    int64_t base              # number of the first visit of the run
    Py_ssize_t ring           # number of entries used in the ring of moves
    Py_ssize_t n_lanes
    Py_ssize_t in_a_row       # number of visits that a lane takes at a time
    double begin
    double work, alone        # work of the state at the start; seconds of one thread per unit of work
    Py_ssize_t n_checks       # number of times that the first lane considered the duration
    # Values that lanes change are on separate cache lines.
    char[128] apart
    sstruct_counter next      # next visit to take, from 0
    char[128] apart_too
    sstruct_counter count     # number of visits to make: fewer than planned after a deadline
    sstruct_counter stopped   # whether a deadline has passed
    sstruct_counter n_waits, waited   # number of waits of lanes for each other, and their nanoseconds
    sstruct_counter left      # whether a lane has left


cdef bint visit_all(
        Visits* visits, DualState state, ThreadPool pool, Watch* watch) except -1:
    """Make a run of visits; return whether all were made before the deadline.

    If it ends early, the state is valid: all computed moves have been applied. pool : threads, or
    None for one thread
    """
    cdef Run run
    cdef int64_t number, taken
    cdef Move* move
    cdef Py_ssize_t n_threads = 1 if pool is None else pool.n_threads
    cdef Sharing* sharing = NULL   # set if the run could use several threads
    cdef double begin = sstruct_seconds()
    run.visits, run.state, run.watch, run.pool = visits, <void*> state, watch, <void*> pool
    run.base, run.next, run.stopped, run.count = state.n_visits, 0, 0, visits.count
    run.n_waits, run.waited, run.left = 0, 0, 0
    run.work, run.alone, run.n_checks = state.work, 0, 0
    run.n_lanes = max(1, min(n_threads, visits.lag + 1, visits.count // MIN_VISITS))
    if run.n_lanes > 1:
        sharing = &state.sharing[visits.tidy != NULL]
        run.alone = sharing.alone if visits.alike else 0
        if not may_share(sharing, visits.alike, visits.work, state.sharing):
            run.n_lanes = 1
    run.ring = visits.lag + 1 if run.n_lanes == 1 else N_MOVES
    # Two lanes can make two visits each before they require moves of the other lane.
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
            pool.run_once(run_lane, &run, run.n_lanes)
        if sharing != NULL:
            note_run(
                sharing, visits.alike, run.n_lanes > 1, run.left != 0, sstruct_seconds() - begin,
                state.work - run.work)
        state.n_in_step = 1 if run.left else run.n_lanes
    finally:
        # After an exception, some moves have not been applied. The blocks of the last `ring` visits have not
        # been tidied.
        taken = run.base + min(sstruct_load(&run.next) % STOP, visits.count)
        for number in range(max(run.base, taken - run.ring), taken):
            move = &state.moves[number % run.ring]
            if move.found == number + 1:
                if number >= state.lanes.begun:
                    apply_to_state(visits, state, state.problem, move)
                if visits.tidy != NULL:
                    state.n_labelings -= visits.tidy(
                        visits.context, state, state.problem, state.lanes, move.block)
    return run.stopped == 0


cdef int run_lane(
        void* context, BlockProblem problem, Py_ssize_t thread, Py_ssize_t ticket) except -1 nogil:
    """Task of a run: make the visits of a lane."""
    cdef Run* run = <Run*> context
    return visit_in_lane(run, <DualState> run.state, problem, ticket)


cdef int visit_in_lane(
        Run* run, DualState state, BlockProblem problem, Py_ssize_t number) except -1 nogil:
    """Make visits from a lane's w, which nothing else changes meanwhile."""
    # With bounds, w is also changed by clipping, not only by `scatter`.
    problem.track(state.lanes[number].weights if state.n_boxed == 0 else NULL)
    try:
        return take_visits(run, state, problem, number)
    finally:
        problem.track(NULL)


cdef int take_visits(
        Run* run, DualState state, BlockProblem problem, Py_ssize_t number) except -1 nogil:
    """Make visits from a lane's w, starting with the next one that no lane has taken."""
    cdef Lane* lane = &state.lanes[number]
    cdef int64_t count = run.visits.count, a = sstruct_add(&run.next, run.in_a_row), b
    while a < count:
        for b in range(a, min(a + run.in_a_row, count)):
            apply_moves(run, state, problem, lane, run.base + b - run.visits.lag)
            wait_for_place(run, state, b)
            make_visit(run, state, problem, lane, b)
        if number > 0:
            poll_signals(1 + run.in_a_row * lane.work)
            if sstruct_load(&run.left) or waits_too_much(run):
                sstruct_store(&run.left, 1)
                sstruct_store(&lane.applied, run.base + count)   # other lanes must not wait for it
                return 0
        else:
            if is_slow(run, state):
                sstruct_store(&run.left, 1)
            if poll(run.watch, state.work):
                # The visits taken so far are made, but no others.
                sstruct_store(&run.count, min(sstruct_add(&run.next, STOP), count))
                sstruct_store(&run.stopped, 1)
        a = sstruct_add(&run.next, run.in_a_row)
    if a >= STOP:
        wait(run, &run.stopped, 1)
    return apply_moves(run, state, problem, lane, run.base + sstruct_load(&run.count))


cdef int make_visit(
        Run* run, DualState state, BlockProblem problem, Lane* lane, int64_t a) except -1 nogil:
    """Compute the move of a visit and publish it."""
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


cdef int apply_moves(
        Run* run, DualState state, BlockProblem problem, Lane* lane, int64_t end) except -1 nogil:
    """Apply the moves of visits before number `end` to a lane, each as soon as it is available."""
    cdef Move* move
    cdef int64_t number = lane.applied
    cdef double of_bounds = 0
    if number >= end:
        return 0
    while number < end:
        move = &state.moves[number % run.ring]
        if sstruct_load(&move.found) <= number:
            sstruct_store(&lane.applied, number)   # other lanes may wait for this
            wait(run, &move.found, number + 1)
        number += 1
        if lane == state.lanes:
            lane.begun = number   # a move that raises is not applied again
            apply_to_state(run.visits, state, problem, move)
        else:
            state.apply_to_lane(problem, lane, move, &of_bounds)
    sstruct_store(&lane.applied, number)
    return 0


cdef int apply_to_state(
        Visits* visits, DualState state, BlockProblem problem, const Move* move) except -1 nogil:
    """Apply a move to the state itself."""
    if visits.average == NULL:
        return state.apply_move(problem, move, None)
    return state.apply_move(problem, move, <RunningAverage> visits.average)


cdef int wait_for_place(Run* run, DualState state, int64_t a) except -1 nogil:
    """Wait until no lane needs the move that visit `a` will overwrite in the ring."""
    cdef int64_t former = run.base + a - run.ring
    cdef Py_ssize_t k
    if run.n_lanes > 1 and a >= run.ring:
        for k in range(run.n_lanes):
            if sstruct_load(&state.lanes[k].applied) <= former:
                wait(run, &state.lanes[k].applied, former + 1)
    return 0


cdef int wait(Run* run, sstruct_counter* counter, int64_t least) except -1 nogil:
    """Wait for another lane if necessary, and count the wait."""
    cdef double waited
    if sstruct_load(counter) >= least:   # always true with one lane, which may have no pool
        return 0
    waited = (<ThreadPool> run.pool).wait(counter, least)
    if waited > 0:
        sstruct_add(&run.n_waits, 1)
        sstruct_add(&run.waited, <int64_t> (1e9 * waited))
    return 0


cdef bint is_slow(Run* run, DualState state) noexcept nogil:
    """Whether one thread would be faster, by the estimate of the first lane."""
    if run.n_lanes == 1 or run.alone <= 0:
        return False
    run.n_checks += 1
    return (run.n_checks % VISITS_PER_CHECK == 0
            and sstruct_seconds() - run.begin
            > A_START + SLOW * run.alone * (state.work - run.work))


cdef bint waits_too_much(Run* run) noexcept nogil:
    return (sstruct_load(&run.n_waits) >= SOME_WAITS
            and 2e-9 * sstruct_load(&run.waited)
            > MUCH * run.n_lanes * (sstruct_seconds() - run.begin))


cdef int visit_alone(Visits* visits, DualState state, Py_ssize_t a) except -1 nogil:
    """Make a visit and apply its move to the state."""
    cdef Move* move = state.moves
    state.lanes.move = move
    begin_move(move)
    state.relaxation = relaxation(0)
    visits.find(visits.context, state, state.problem, state.lanes, a)
    apply_to_state(visits, state, state.problem, move)
    state.n_in_step = 1
    if visits.tidy != NULL:
        state.n_labelings -= visits.tidy(
            visits.context, state, state.problem, state.lanes, move.block)
    return 0
