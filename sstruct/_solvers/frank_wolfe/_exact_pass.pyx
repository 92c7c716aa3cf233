# Design:
# (a) n visits, each with an oracle call or a cache hit. A pass draws batches: the oracles of a
#     batch run at the same w, in threads; then a step is made for each of its blocks in order, scored
#     at the current w. The dual never decreases, and the result does not depend on the number of
#     threads. With batches of 1, the potentials of the oracle are reused. A batch of all blocks may
#     run at weights other than the state's (`at`), whose hinge losses it measures.
# (b) A pass stops between two visits for a signal or a deadline; the state is then valid.
# (c) If batches have one block, each block is visited once, and oracles are not asked ahead, _visits makes
#     the visits, with the lag of the plan. Otherwise only the oracles may run at older weights.
# (d) The policy (which pass next, when to stop) is in block_coordinate.py.
"""A pass of visits with max-oracles."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems.core._thread_pool cimport ThreadPool
from sstruct._solvers.frank_wolfe._approximate_pass cimport (
    GAP, PERMUTATION, SEQUENTIAL, UNIFORM, PassPlan, Sampling)
from sstruct._kernels._random cimport random_below, random_shuffle
from sstruct._kernels._simplex cimport put_on_simplex
from sstruct._solvers.core._score_summary cimport above_rounding, gather, summarize
from sstruct._solvers.core._scratch cimport Lane, Move, Scratch, reserve
from sstruct._solvers.core._state cimport DualState
from sstruct._solvers.frank_wolfe._steps cimport (
    CORRECTIVE, StepKind, choice_curvature, take_visit_step)
from sstruct._solvers.frank_wolfe._stretches cimport shuffle_in_stretches
from sstruct._solvers.frank_wolfe._visits cimport Visits, visit_all, visit_alone
from sstruct._solvers.core._watch cimport Watch, poll, start_watch
from sstruct._solvers.core._working_set cimport WorkingSet, erase, find, insert, labeling

import numpy as np


# Largest number of new labelings of a visit besides the best one: at w = 0 all wrong classes have
# the same score. For 20 classes over sparse rows, limits of 3, 8 and 24 took 0.53, 0.44 and 0.53 s to a gap
# of 0.003 if 12 classes share the dual weight of a row, and 0.24, 0.26 and 0.27 s if few do; for 1,000
# dense classes, 8 and 24 took 3.9 and 3.7 s.
cdef enum:
    MAX_RIVALS = 8


cdef struct Visit:
    Py_ssize_t block, hit   # hit: entry of the working set with a sufficient gap, or -1
    double gap, work        # gap: of the block at the w of the batch; only in batches
    bint exact              # whether the oracle's answer is exact


cdef struct Batch:
    # Input of the threads of an exact pass; each thread writes to the visit of its ticket.
    WorkingSet* working_sets
    const double* weights
    const double* gap_estimates
    const double* block_weight
    Scratch* scratches      # one per thread
    Visit* visits
    int32_t* codes          # answers of the oracles, `width` entries each
    Py_ssize_t width, size  # size: largest number of visits in a batch
    double floor            # the plan's cache_mean_gap_share of the mean weighted gap; -1: no cache
    double gap_share        # its cache_gap_share
    bint alone              # batches of 1 at the weights of the state: these do not change before the step
    bint may_be_hasty       # whether oracles may stop early: not if they measure hinge losses
    bint hits_known          # whether `ask` has found the cache hits, so that threads only call oracles
    StepKind kind
    Py_ssize_t number, keep  # number of the pass; number of passes that an idle labeling survives
    Py_ssize_t max_labelings  # of a block; above it, idle labelings are replaced
    Py_ssize_t first        # position in `order` of the first block of the pass
    # Only used by the caller.
    void* average           # that follows the visits, or NULL
    Py_ssize_t* asked       # (size,)


cdef int find_hit(
        Batch* batch, BlockProblem problem, const double* weights, Scratch* scratch,
        Visit* visit) except -1 nogil:
    """Set `hit` to the best cached labeling if its gap is sufficient, and to -1 otherwise."""
    cdef Py_ssize_t i = visit.block, best, count
    cdef WorkingSet* working_set = &batch.working_sets[i]
    cdef double mean = 0, size = 0, gap
    reserve(scratch, working_set.size)
    visit.work, visit.hit, visit.exact = 0, -1, True
    if batch.floor >= 0 and batch.gap_estimates[i] < INFINITY and working_set.size > 1:
        count = gather(working_set, scratch, True, -1)
        problem.scores(
            i, weights, 1.0, scratch.codes, count, scratch.score, &visit.work)
        best = summarize(working_set, scratch, count, &mean, &size)
        gap = scratch.score[best] - mean
        if above_rounding(gap, size) and gap >= max(
                batch.gap_share * batch.gap_estimates[i], batch.floor / batch.block_weight[i]):
            visit.hit = best
    return 0


cdef int ask_oracle(
        Batch* batch, BlockProblem problem, const double* weights, Scratch* scratch,
        Visit* visit, int32_t* code, OracleAnswer* answer) except -1 nogil:
    """Call the max-oracle, which may stop early if it finds a labeling that allows a step."""
    cdef Py_ssize_t i = visit.block, count
    cdef WorkingSet* working_set = &batch.working_sets[i]
    cdef double mean = 0, size = 0
    problem.set_hasty(batch.may_be_hasty)
    try:
        problem.maximize(i, weights, 1.0, code, answer)
    finally:
        problem.set_hasty(False)
    visit.work += answer.work
    if batch.may_be_hasty and not answer.exact:
        count = gather(working_set, scratch, False, -1)
        problem.scores(i, NULL, 1.0, scratch.codes, count, scratch.score, &visit.work)
        summarize(working_set, scratch, count, &mean, &size)
        if not above_rounding(answer.value - mean, size):
            problem.maximize(i, weights, 1.0, code, answer)
            visit.work += answer.work
    visit.exact = answer.exact
    return 0


cdef int answer_ticket(
        void* context, BlockProblem problem, Py_ssize_t thread, Py_ssize_t ticket) except -1 nogil:
    """Task of an exact pass: find a sufficient labeling in the cache, or call the oracle."""
    cdef Batch* batch = <Batch*> context
    cdef Visit* visit = &batch.visits[ticket]
    cdef Py_ssize_t i = visit.block, count
    cdef WorkingSet* working_set = &batch.working_sets[i]
    cdef Scratch* scratch = &batch.scratches[thread]
    cdef double mean = 0, size = 0
    cdef OracleAnswer answer
    reserve(scratch, working_set.size)
    if not batch.hits_known:
        find_hit(batch, problem, batch.weights, scratch, visit)
    if visit.hit >= 0:
        return 0
    ask_oracle(
        batch, problem, batch.weights, scratch, visit, batch.codes + ticket * batch.width, &answer)
    if not batch.alone:
        count = gather(working_set, scratch, False, -1)
        problem.scores(i, NULL, 1.0, scratch.codes, count, scratch.score, &visit.work)
        summarize(working_set, scratch, count, &mean, &size)
        visit.gap = answer.value - mean
    return 0


cdef Py_ssize_t cached(
        DualState state, BlockProblem problem, Lane* lane, const int32_t* code,
        Py_ssize_t max_labelings) except -1 nogil:
    """Return the entry of a labeling in the working set of the visited block; insert it if new."""
    cdef Py_ssize_t i = lane.move.block
    cdef WorkingSet* working_set = &state.working_sets[i]
    cdef Py_ssize_t k, oldest, s = find(working_set, code)
    cdef double loss = 0
    if s >= 0:
        return s
    while working_set.size >= max_labelings:
        oldest = -1
        for k in range(1, working_set.size):
            if working_set.alpha[k] <= 0 and (
                    oldest < 0 or working_set.last_active[k] < working_set.last_active[oldest]):
                oldest = k
        if oldest < 0:
            break
        erase(working_set, oldest)
        lane.move.n_new -= 1
    problem.loss(i, code, &loss)
    s = insert(working_set, code, loss)
    lane.move.n_new += 1
    reserve(lane.scratch, working_set.size)
    return s


cdef int cache_rivals(
        const Batch* batch, DualState state, BlockProblem problem, Lane* lane) except -1 nogil:
    """Cache further labelings, scored by `maximize`, that would get dual weight.

    These have a score above the level of `put_on_simplex`, and each of them raises the level.
    """
    cdef Py_ssize_t i = lane.move.block, k, j, n_rivals = 0
    cdef WorkingSet* working_set = &state.working_sets[i]
    cdef const double* score = problem.choice_scores()
    cdef Py_ssize_t n_above = 0
    cdef double* d = lane.scratch.score
    cdef double curvature = choice_curvature(state, problem, i), level, total = 0
    cdef int32_t rivals[MAX_RIVALS]
    cdef int32_t code
    for k in range(working_set.size):
        d[k] = curvature * working_set.alpha[k] + score[labeling(working_set, k)[0]]
    level = put_on_simplex(d, working_set.size, curvature, &total)
    for k in range(working_set.size):
        n_above += d[k] > 0
    for k in range(problem.n_choices):
        code = <int32_t> k
        if score[k] > level and (
                n_rivals < MAX_RIVALS or score[k] > score[rivals[MAX_RIVALS - 1]]
                ) and find(working_set, &code) < 0:
            j = min(n_rivals, MAX_RIVALS - 1)
            while j > 0 and score[k] > score[rivals[j - 1]]:
                rivals[j] = rivals[j - 1]
                j -= 1
            rivals[j] = code
            n_rivals = min(n_rivals + 1, MAX_RIVALS)
    for j in range(n_rivals):
        # In a full working set, new labelings would replace better ones.
        if not score[rivals[j]] > level or working_set.size >= batch.max_labelings:
            break
        n_above += 1
        level += (score[rivals[j]] - level) / n_above
        k = cached(state, problem, lane, &rivals[j], batch.max_labelings)
        working_set.last_active[k] = <int32_t> batch.number
    return 0


cdef int step_exactly(
        const Batch* batch, DualState state, BlockProblem problem, Lane* lane, const Visit* visit,
        const int32_t* code, bint alone) except -1 nogil:
    """Make the step of a visit, scored at the w of the lane, towards the labeling that was found.

    alone : whether it was found at this w; scores of a hit and potentials are then still valid
    """
    cdef StepKind kind = batch.kind
    cdef Py_ssize_t i = visit.block, s = visit.hit, count, at
    cdef WorkingSet* working_set = &state.working_sets[i]
    cdef Scratch* scratch = lane.scratch
    cdef Move* move = lane.move
    cdef double mean = 0, gap, size = 0
    move.block, move.work, move.exact = i, visit.work, visit.exact
    if s < 0:
        s = cached(state, problem, lane, code, batch.max_labelings)
    working_set.last_active[s] = <int32_t> batch.number
    if problem.n_choices > 0 and kind == CORRECTIVE and alone and visit.hit < 0:
        cache_rivals(batch, state, problem, lane)
    count = gather(working_set, scratch, visit.hit >= 0 or kind == CORRECTIVE, s)
    if not (alone and visit.hit >= 0):
        problem.scores(
            i, NULL if alone else lane.weights, 1.0, scratch.codes, count, scratch.score,
            &move.work)
    summarize(working_set, scratch, count, &mean, &size)
    at = 0
    while scratch.member[at] != s:
        at += 1
    gap = scratch.score[at] - mean
    if visit.hit < 0:
        move.gap = max(gap if alone else visit.gap, 0)
    state.working_gaps[i] = INFINITY
    if above_rounding(gap, size):
        move.stepped = True
        take_visit_step(state, problem, lane, i, kind, at, count, mean)
    return 0


cdef Py_ssize_t drop_idle(
        void* context, DualState state, BlockProblem problem, Lane* lane,
        Py_ssize_t i) except? -1 nogil:
    """Erase labelings of weight 0 that no visit of the last `keep` passes found; return their number."""
    cdef WorkingSet* working_set = &state.working_sets[i]
    cdef Batch* batch = <Batch*> context
    cdef Py_ssize_t k, count, n_dropped = 0
    for k in range(working_set.size - 1, 0, -1):
        if (working_set.alpha[k] <= 0
                and batch.number - working_set.last_active[k] >= batch.keep):
            erase(working_set, k)
            n_dropped += 1
    if problem.keeps_planes:
        count = gather(working_set, lane.scratch, True, -1)
        problem.retain(i, lane.scratch.codes, count)
    return n_dropped


cdef int step_of_batch(
        void* context, DualState state, BlockProblem problem, Lane* lane,
        Py_ssize_t a) except -1 nogil:
    """Visit a block whose labeling the batch has already found; the context is the batch."""
    cdef Batch* batch = <Batch*> context
    return step_exactly(
        batch, state, problem, lane, &batch.visits[a], batch.codes + a * batch.width, batch.alone)


cdef int exact_visit(
        void* context, DualState state, BlockProblem problem, Lane* lane,
        Py_ssize_t a) except -1 nogil:
    """Visit a block with a cache hit or its max-oracle; the context is the batch."""
    cdef Batch* batch = <Batch*> context
    cdef int32_t* code = batch.codes + (lane - state.lanes) * batch.width
    cdef Visit visit
    cdef OracleAnswer answer
    visit.block = state.order[batch.first + a]
    reserve(lane.scratch, state.working_sets[visit.block].size)
    find_hit(batch, problem, lane.weights, lane.scratch, &visit)
    if visit.hit < 0:
        ask_oracle(batch, problem, lane.weights, lane.scratch, &visit, code, &answer)
    return step_exactly(batch, state, problem, lane, &visit, code, True)


cdef void order_blocks(
        DualState state, Sampling sampling, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """Shuffle the blocks of a pass that visits each of them once."""
    cdef Py_ssize_t b, n = state.problem.n_blocks
    if sampling == PERMUTATION:
        random_shuffle(&state.random, &state.order[first], last - first)
    elif sampling == SEQUENTIAL:
        for b in range(n):
            state.order[b] = b
        shuffle_in_stretches(&state.random, &state.order[0], n, n)


cdef Py_ssize_t draw_batch(
        DualState state, Sampling sampling, Py_ssize_t begin, Py_ssize_t size,
        Visit* visits) noexcept nogil:
    """Choose distinct blocks for a batch; return their number, below `size` if all other gaps are 0."""
    cdef Py_ssize_t b, c
    for b in range(size):
        if sampling == PERMUTATION or sampling == SEQUENTIAL:
            visits[b].block = state.order[begin + b]
        elif sampling == UNIFORM:
            # `order` is a permutation; its first entries become the batch.
            c = b + random_below(&state.random, state.problem.n_blocks - b)
            visits[b].block = state.order[c]
            state.order[c] = state.order[b]
            state.order[b] = visits[b].block
        elif state.draws.total() > 0:
            visits[b].block = state.draws.draw(&state.random)
            state.draws.put(visits[b].block, 0)
        else:
            size = b
            break
    if sampling == GAP:
        for b in range(size):
            state.draws.put(
                visits[b].block,
                state.block_weight[visits[b].block] * state.gap_estimates[visits[b].block])
    return size


cdef int ask(DualState state, Batch* batch, Py_ssize_t size) except -1 nogil:
    """Find the cache hits of a batch, and announce the other blocks to the oracles."""
    cdef Py_ssize_t b, n_asked = 0
    for b in range(size):
        find_hit(batch, state.problem, batch.weights, state.scratch, &batch.visits[b])
        if batch.visits[b].hit < 0:
            batch.asked[n_asked] = batch.visits[b].block
            n_asked += 1
    state.problem.ask_ahead(batch.asked, n_asked, batch.weights, 1.0)
    return 0


cdef int step_batch(
        DualState state, Batch* batch, Py_ssize_t size, Watch* watch, bint* late) except -1 nogil:
    """Make the steps of a batch, in order."""
    cdef Py_ssize_t b
    cdef Visits visits
    visits.find, visits.tidy, visits.context = step_of_batch, drop_idle, batch
    visits.average = batch.average
    for b in range(size):
        visit_alone(&visits, state, b)
        if poll(watch, state.work):
            late[0] = True
    return 0


def _check_pass(DualState state, ThreadPool pool, PassPlan plan, at):
    if pool.problem is not state.problem:
        raise ValueError("the pool belongs to another problem")
    if at is not None and plan.sampling != PERMUTATION:
        raise ValueError("a pass of all blocks in one batch requires sampling PERMUTATION")
    if at is not None and len(at) != state.problem.n_weights:
        raise ValueError(f"at has {len(at)} weights, expected {state.problem.n_weights}")
    if plan.first >= state.n_blocks:
        raise ValueError(f"the first block is {plan.first}, expected less than {state.n_blocks}")
    if plan.sampling == GAP and state.draws is None:
        raise ValueError("a state created with draw=False cannot draw blocks by their gaps")


def exact_pass(
        DualState state not None, ThreadPool pool not None, PassPlan plan not None, bint cache,
        const double[::1] at=None):
    """Visit n blocks, or those of a shard, with their max-oracles, in batches.

    Parameters
    ----------
    state : DualState
    pool : ThreadPool
        Threads for the state's problem.
    plan : PassPlan
        Sampling GAP requires a state created with ``draw=True`` whose blocks have all been visited.
        The pass ends early, as complete, if all gaps are zero.
    cache : bool
        Whether a cached labeling with a sufficient gap replaces an oracle call.
    at : ndarray of shape (n_weights,), optional
        Weights at which all oracles run, once per block, before any step. By default, each batch runs
        at the current w. Without cache hits, `estimated_gap` is then sum_i q_i H_i(at) - linear +
        lam <at, v>, with the values of `linear` and v (minus the prior, if any) at the start of the
        pass; ``exact`` is whether this value is exact.

    Returns
    -------
    bool
        Whether the pass was complete.
    """
    cdef BlockProblem problem = state.problem
    cdef Py_ssize_t n = problem.n_blocks, size
    cdef Py_ssize_t done = plan.first + plan.begin, last = min(plan.last, n)
    cdef Watch watch = start_watch(plan.deadline)
    cdef bint late = False
    cdef Batch batch
    cdef Visits run
    _check_pass(state, pool, plan, at)
    state.n_shared = -1
    if plan.begin == 0:
        state.exact = True
        order_blocks(state, plan.sampling, plan.first, last)
    if plan.end < last - plan.first:
        last = plan.first + plan.end
    batch.size = n if at is not None else max(min(problem.batch_size, n), 1)
    batch.width = problem.max_code_size
    cdef int32_t[::1] codes = np.empty(
        max(batch.size, pool.n_threads) * batch.width, dtype=np.int32)
    cdef Py_ssize_t[::1] asked = np.empty(batch.size, dtype=np.intp)
    cdef double[::1] visits = np.empty(batch.size * sizeof(Visit) // sizeof(double))
    state.reserve_scratches(pool.n_threads)
    batch.codes, batch.visits, batch.scratches = &codes[0], <Visit*> &visits[0], state.scratch
    batch.working_sets, batch.asked = state.working_sets, &asked[0]
    batch.weights = &state.weights[0] if at is None else &at[0]
    batch.gap_estimates, batch.block_weight = &state.gap_estimates[0], &state.block_weight[0]
    batch.alone = batch.size == 1 and at is None
    batch.hits_known = problem.ahead_size > 0
    batch.may_be_hasty = problem.may_be_hasty and at is None
    batch.floor = plan.cache_mean_gap_share * state.total_gap / n if cache else -1
    batch.gap_share, batch.max_labelings = plan.cache_gap_share, plan.max_working_set
    batch.kind, batch.number, batch.keep = plan.kind, plan.number, plan.keep
    batch.first, batch.average = done, NULL
    if state.exact_average is not None:
        batch.average = <void*> state.exact_average
    if (batch.alone and not batch.hits_known
            and (plan.sampling == PERMUTATION or plan.sampling == SEQUENTIAL)):
        run.find, run.tidy, run.context = exact_visit, drop_idle, &batch
        run.count, run.lag, run.average = last - done, plan.lag, batch.average
        run.work, run.alike = problem.oracle_work, False
        return visit_all(&run, state, pool, &watch)
    try:
        pool.open(answer_ticket, &batch, batch.size)
        if batch.alone and state.n_boxed == 0:
            problem.track(batch.weights)
        with nogil:
            while done < last and not late:
                size = draw_batch(
                    state, plan.sampling, done, min(batch.size, last - done), batch.visits)
                if size == 0:
                    break
                if batch.hits_known:
                    ask(state, &batch, size)
                if batch.alone:   # another thread's problem must not read tracked weights
                    answer_ticket(&batch, problem, 0, 0)
                else:
                    pool.run(size)
                step_batch(state, &batch, size, &watch, &late)
                done += size
    finally:
        problem.track(NULL)
        pool.close()
    return not late or done >= last
