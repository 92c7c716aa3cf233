# Design:
# (a) A step moves dual weight between entries of one block's working set. Let h_k = L_k -
#     <w, psi_k> be the scores of the entries (up to a common constant) and r = q_i / lam. Moving
#     by gamma along a direction (with sum zero) changes the dual by
#         q_i (gamma <direction, h> - gamma^2 r / 2 |sum_k direction_k psi_k|^2)
#     (with bounds, at least by that: `DualState.cover` adds the rest).
# (b) A step kind computes slope, squared norm and largest gamma of its direction, changes the alphas
#     and writes the change to `scratch.change`; `note_move` converts it to the move of the visit. The
#     pass decides where and when v is moved (_visits).
# (c) Squared norms come from distances between entries: |psi_s - psi_v|^2 is a distance, and
#     |psi_s - sum_k alpha_k psi_k|^2 = reach_s - spread with reach_s = sum_k alpha_k d_sk and
#     spread = sum_{k<l} alpha_k alpha_l d_kl, which a step towards or away from s updates.
"""Frank-Wolfe, away, pairwise and corrective steps."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from sstruct._kernels._simplex cimport put_on_simplex
from sstruct._problems.core._block_problem cimport BlockProblem
from sstruct._solvers.core._scratch cimport Lane, Move, Scratch, reserve_move
from sstruct._solvers.core._state cimport DualState
from sstruct._solvers.core._working_set cimport WorkingSet, labeling

cdef extern from "sstruct/_kernels/kernels.h":
    void sstruct_extremes(
        const double* score, const double* alpha, int64_t count, int64_t* best, int64_t* lowest,
        double* mean) noexcept nogil

# Avoids a division by zero for labelings with equal features; the step is then clipped.
cdef double TINY = 1e-300
# An away step scales the other entries by 1 + alpha / rest. If their sum `rest` is smaller than this,
# the direction consists of rounding errors.
cdef double MIN_REST = 1e-6
# A corrective visit ends once the block's gap over its working set is this share of its initial
# value, or after this many pairwise steps.
cdef double CORRECTION = 0.1
cdef Py_ssize_t MAX_CORRECTIONS = 20
# The change of the visit is then multiplied by at most this factor, as in successive over-relaxation:
# blocks are coupled through w, and later visits would extend the change. The dual rises for all factors below
# 2. On OCR letters, 1.4 to 1.6 saved 5 to 17 % of the time to a gap of 0.01 (one run each). If visits
# do not see the last moves (_visits), the concurrent visits extend the change themselves, and the
# factor is reduced by RESTRAINT for each of these moves.
cdef double RELAXATION = 1.5
cdef double RESTRAINT = 0.07
# Dual weights below this are rounding errors of weights that were dropped.
cdef double DUST = 1e-15


cdef struct Direction:
    double slope            # <direction, h>
    double squared_norm
    double max_gamma


cdef double line_search(const Direction* direction, double ratio, double* gain) noexcept nogil:
    """Return the best step length up to the largest; set `gain` to the dual gain over q_i."""
    cdef double curvature = ratio * direction.squared_norm
    cdef double gamma = direction.slope / (curvature if curvature > TINY else TINY)
    if gamma > direction.max_gamma:
        gamma = direction.max_gamma
    gain[0] = gamma * (direction.slope - 0.5 * gamma * curvature)
    return gamma


cdef double relaxation(Py_ssize_t lag) noexcept nogil:
    """Return the factor of a corrective visit's change if it does not see the last `lag` moves."""
    return RELAXATION - RESTRAINT * lag


cdef int take_visit_step(
        DualState state, BlockProblem problem, Lane* lane, Py_ssize_t i, StepKind kind,
        Py_ssize_t toward, Py_ssize_t count, double mean) except -1 nogil:
    """Make the step of a visit of block i towards the best entry, at position `toward`.

    lane.scratch.member[:count] are the scored entries and lane.scratch.score[:count] their scores:
    all active entries and the best one; for CORRECTIVE all entries in order. mean: sum_k alpha_k
    score_k.
    """
    cdef Py_ssize_t a, lowest = -1
    if kind == CORRECTIVE:
        correct(state, problem, lane, i, 0, count,
                CORRECTION * (lane.scratch.score[toward] - mean), MAX_CORRECTIONS)
        return 0
    for a in range(count):
        if state.working_sets[i].alpha[lane.scratch.member[a]] > 0 and (
                lowest < 0 or lane.scratch.score[a] < lane.scratch.score[lowest]):
            lowest = a
    if lowest < 0:
        state.no_dual_weight(i)
    if kind != PAIRWISE:
        step_from_mean(state, problem, lane, i, kind == AWAY, toward, lowest, count, mean)
    elif lowest != toward:
        step_pairwise(state, problem, lane, i, toward, lowest)
    return 0


cdef int step_pairwise(
        DualState state, BlockProblem problem, Lane* lane, Py_ssize_t i, Py_ssize_t toward,
        Py_ssize_t lowest) except -1 nogil:
    """Move weight from the active entry of lowest score to the best one."""
    cdef WorkingSet* working_set = &state.working_sets[i]
    cdef double* change = lane.scratch.change
    cdef Py_ssize_t s = lane.scratch.member[toward], v = lane.scratch.member[lowest]
    cdef Direction direction
    cdef double gamma, gain = 0
    direction.slope = lane.scratch.score[toward] - lane.scratch.score[lowest]
    direction.squared_norm = state.distance(problem, i, s, v)
    direction.max_gamma = working_set.alpha[v]
    gamma = line_search(&direction, state.block_weight[i] / state.lam, &gain)
    memset(change, 0, working_set.size * sizeof(double))
    change[s] = gamma
    change[v] = -gamma
    working_set.alpha[s] += gamma
    # A drop step sets the weight to exactly zero.
    working_set.alpha[v] = 0 if gamma == working_set.alpha[v] else working_set.alpha[v] - gamma
    working_set.spread = -1
    lane.move.gain += state.block_weight[i] * gain
    return note_move(state, lane, i, 0, working_set.size)


cdef int step_from_mean(
        DualState state, BlockProblem problem, Lane* lane, Py_ssize_t i, bint may_go_away,
        Py_ssize_t toward, Py_ssize_t lowest, Py_ssize_t count, double mean) except -1 nogil:
    """Move towards the best entry, or away from the lowest active one if that slope is larger."""
    cdef WorkingSet* working_set = &state.working_sets[i]
    cdef double* alpha = working_set.alpha
    cdef double* change = lane.scratch.change
    cdef Py_ssize_t k, s = lane.scratch.member[toward], v = lane.scratch.member[lowest]
    cdef double spread = known_spread(state, problem, i), reach, rest = 0, t, gain = 0
    cdef bint away = may_go_away and (
        mean - lane.scratch.score[lowest] > lane.scratch.score[toward] - mean)
    cdef Direction direction
    if away:
        for k in range(working_set.size):
            if k != v:
                rest += alpha[k]
        away = rest > MIN_REST
    if away:
        s = v
        direction.slope = mean - lane.scratch.score[lowest]
        direction.max_gamma = alpha[v] / rest
    else:
        direction.slope = lane.scratch.score[toward] - mean
        direction.max_gamma = 1
    reach = reach_of(state, problem, i, s)
    direction.squared_norm = max(reach - spread, 0)
    t = line_search(&direction, state.block_weight[i] / state.lam, &gain)
    if away:
        t = -t
    # alpha <- (1 - t) alpha + t e_s
    memset(change, 0, working_set.size * sizeof(double))
    for k in range(working_set.size):
        if alpha[k] > 0 and k != s:
            change[k] = -t * alpha[k]
            change[s] -= change[k]
            alpha[k] *= 1 - t
    alpha[s] = max(alpha[s] + change[s], 0)   # not negative by rounding
    # A drop step sets the weight to exactly zero.
    if away and -t == direction.max_gamma:
        alpha[s] = 0
    working_set.spread = max((1 - t) * (1 - t) * spread + t * (1 - t) * reach, 0)
    lane.move.gain += state.block_weight[i] * gain
    return note_move(state, lane, i, 0, working_set.size)


cdef double reach_of(
        DualState state, BlockProblem problem, Py_ssize_t i, Py_ssize_t s) except? -1 nogil:
    """Return sum_k alpha_k d_sk."""
    cdef WorkingSet* working_set = &state.working_sets[i]
    cdef Py_ssize_t k
    cdef double reach = 0
    for k in range(working_set.size):
        if working_set.alpha[k] > 0:
            reach += working_set.alpha[k] * state.distance(problem, i, s, k)
    return reach


cdef double known_spread(
        DualState state, BlockProblem problem, Py_ssize_t i) except? -1 nogil:
    """Return sum_{k<l} alpha_k alpha_l d_kl."""
    cdef WorkingSet* working_set = &state.working_sets[i]
    cdef Py_ssize_t k
    if working_set.spread < 0:
        working_set.spread = 0
        for k in range(working_set.size):
            if working_set.alpha[k] > 0:
                working_set.spread += 0.5 * working_set.alpha[k] * reach_of(state, problem, i, k)
    return working_set.spread


cdef double correct(
        DualState state, BlockProblem problem, Lane* lane, Py_ssize_t i, Py_ssize_t first,
        Py_ssize_t count, double target, Py_ssize_t max_steps) except? -1 nogil:
    """Make pairwise steps among entries [first, first + count) until their gap is at most `target`.

    lane.scratch.score[:count] are their scores, which the steps update. Returns the work done.
    Takes O(count) per step, plus the distances computed for the first time. Problems with `n_choices`
    are solved exactly instead, see `balance`. In both cases `relax` extends the change.
    """
    cdef WorkingSet* working_set = &state.working_sets[i]
    cdef double* alpha = working_set.alpha + first
    cdef double* score = lane.scratch.score
    cdef double* change = lane.scratch.change
    cdef double q = state.block_weight[i], ratio = q / state.lam
    cdef double mean = 0, curvature, gamma, slope, gain = 0, half
    cdef const double* near
    cdef const double* far
    cdef Py_ssize_t k, n_steps = 0
    cdef int64_t s = 0, v = 0
    if problem.n_choices > 0:
        return balance(state, problem, lane, i, first, count)
    memset(change, 0, count * sizeof(double))
    memcpy(lane.scratch.first_score, score, count * sizeof(double))
    while n_steps < max_steps:
        sstruct_extremes(score, alpha, count, &s, &v, &mean)
        slope = score[s] - score[v]
        if score[s] - mean <= target or slope <= 0 or s == v:
            break
        if not alpha[v] > 0:
            state.no_dual_weight(i)
        n_steps += 1
        curvature = ratio * state.distance(problem, i, first + s, first + v)
        gamma = slope / (curvature if curvature > TINY else TINY)
        change[s] -= alpha[s]
        change[v] -= alpha[v]
        if gamma >= alpha[v]:
            gamma = alpha[v]
            alpha[v] = 0
        else:
            alpha[v] -= gamma
        alpha[s] += gamma
        change[s] += alpha[s]
        change[v] += alpha[v]
        gain += gamma * (slope - 0.5 * gamma * curvature)
        if count == 2:
            break
        # <psi_k, psi_s - psi_v> = (d_kv - d_ks) / 2, up to a term that does not depend on k
        half = 0.5 * ratio * gamma
        near = state.known_distances(problem, i, first + s) + first
        far = state.known_distances(problem, i, first + v) + first
        for k in range(count):
            score[k] -= half * (far[k] - near[k])
        if alpha[v] > 0:
            # An unclipped step makes them equal; rounding must not decide which one is next.
            score[s] = score[v]
    if n_steps > 0:
        working_set.spread = -1
        lane.move.gain += q * relax(lane.scratch, alpha, count, gain, state.relaxation)
        note_move(state, lane, i, first, count)
    return 20 + 3.0 * count * (n_steps + 1)


cdef double balance(
        DualState state, BlockProblem problem, Lane* lane, Py_ssize_t i, Py_ssize_t first,
        Py_ssize_t count) except? -1 nogil:
    """Solve the problem of a block exactly over entries [first, first + count) of equal distances.

    If d is the squared distance of any two, |sum_k change_k psi_k|^2 = d / 2 sum_k change_k^2, and
    alpha becomes max(0, alpha + (score - level) / curvature) for the scores lane.scratch.score.
    Returns the work done.
    """
    cdef WorkingSet* working_set = &state.working_sets[i]
    cdef double* alpha = working_set.alpha + first
    cdef double* score = lane.scratch.score
    cdef double* start = lane.scratch.first_score
    cdef double* change = lane.scratch.change
    cdef double curvature = choice_curvature(state, problem, i), total = 0, gain = 0
    cdef Py_ssize_t k
    for k in range(count):
        # Use differences, since the common part may be large.
        start[k] = score[k] - score[0]
        change[k] = curvature * alpha[k] + start[k]
    put_on_simplex(change, count, curvature, &total)
    if not total > 0:
        state.no_dual_weight(i)
    for k in range(count):
        score[k] = change[k] / total
        change[k] = score[k] - alpha[k]
        alpha[k] = score[k]
        gain += change[k] * (start[k] - 0.5 * curvature * change[k])
    working_set.spread = -1
    lane.move.gain += state.block_weight[i] * relax(
        lane.scratch, alpha, count, gain, state.relaxation)
    note_move(state, lane, i, first, count)
    return 20 + 6.0 * count


cdef double choice_curvature(
        DualState state, BlockProblem problem, Py_ssize_t i) except? -1 nogil:
    """Return the curvature of the dual over q_i in the dual weight of each labeling.

    For problems with `n_choices`, and changes that sum to zero.
    """
    cdef int32_t one = 0, other = 1
    cdef double distance = 0
    problem.squared_distance(i, &one, &other, &distance)
    state.check_distance(i, distance)
    return 0.5 * distance * state.block_weight[i] / state.lam


cdef double relax(
        Scratch* scratch, double* alpha, Py_ssize_t count, double gain, double most) noexcept nogil:
    """Extend a visit's change beyond the optimum of the block; return the resulting gain.

    most : largest factor t of the change. The dual gain over q_i is t slope - t^2 (slope - gain),
    with t = 1 for the given change.
    """
    cdef double slope = 0, t = most
    cdef Py_ssize_t k
    for k in range(count):
        slope += scratch.change[k] * scratch.first_score[k]
        if scratch.change[k] < 0:
            t = min(t, 1 - alpha[k] / scratch.change[k])
    if not (t > 1 and t * (slope - t * (slope - gain)) > 0):
        return gain
    for k in range(count):
        if scratch.change[k] != 0:
            alpha[k] += (t - 1) * scratch.change[k]
            # A dropped weight is exactly zero.
            alpha[k] = alpha[k] if alpha[k] > DUST else 0
            scratch.change[k] *= t
    return t * (slope - t * (slope - gain))


cdef int note_move(
        DualState state, Lane* lane, Py_ssize_t i, Py_ssize_t first, Py_ssize_t count) except -1 nogil:
    """Set the move v += q_i / lam sum_k change_k psi_k, over entries [first, first + count)."""
    cdef WorkingSet* working_set = &state.working_sets[i]
    cdef double* change = lane.scratch.change
    cdef Move* move = lane.move
    cdef double q = state.block_weight[i]
    cdef double others = 0
    cdef Py_ssize_t k, largest = 0
    # The changes sum to zero only up to rounding: small ones may be lost in the largest dual weight.
    for k in range(1, count):
        if working_set.alpha[first + k] > working_set.alpha[first + largest]:
            largest = k
    for k in range(count):
        if k != largest:
            others += change[k]
    change[largest] = -others
    reserve_move(move, count)
    for k in range(count):
        if change[k] != 0:
            move.linear += q * change[k] * working_set.loss[first + k]
            move.codes[move.count] = labeling(working_set, first + k)
            # psi(y) = phi(truth) - phi(y), and the changes sum to zero
            move.coefficient[move.count] = -change[k] * q / state.lam
            move.count += 1
    return 0
