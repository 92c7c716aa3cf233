# Design:
# (a) A step moves dual weight between entries of one block's working set. With h_k = L_k -
#     <w, psi_k> the scores of the entries (up to a common constant) and r = q_i / lam, moving
#     along a direction (sum zero) by gamma changes the dual by
#         q_i (gamma <direction, h> - gamma^2 r / 2 |sum_k direction_k psi_k|^2).
# (b) A step kind fills in direction, squared norm and largest gamma; `take_step` does the rest.
#     `correct` repeats pairwise steps on scores alone and scatters their net change once.
# (c) Squared norms come from distances between entries: |psi_s - psi_v|^2 is one, and
#     |psi_s - sum_k alpha_k psi_k|^2 = sum_k alpha_k d_sk - 1/2 sum_kl alpha_k alpha_l d_kl.
"""Step kinds: Frank-Wolfe, pairwise, corrective."""

from libc.string cimport memset

from sstruct._solvers._state cimport DualState
from sstruct._solvers._working_set cimport WorkingSet, labeling

# Stops a division by zero for labelings with equal features; the step is then clipped.
cdef double TINY = 1e-300


cdef struct Direction:
    # From `away` (one entry, or -1: from the mean of the active ones) towards `toward`.
    Py_ssize_t toward, away
    double slope            # <direction, h>
    double squared_norm
    double max_gamma


cdef int take_step(DualState state, Py_ssize_t i, const Direction* direction) except -1 nogil:
    """Exact line search along a direction; w, alphas and dual follow."""
    cdef WorkingSet* working_set = &state.working_sets[i]
    cdef double* alpha = working_set.alpha
    cdef double q = state.block_weight[i], ratio = q / state.lam, gamma
    cdef double curvature = ratio * direction.squared_norm
    cdef Py_ssize_t k, s = direction.toward, v = direction.away
    cdef double* w = &state.weights[0]
    gamma = direction.slope / (curvature if curvature > TINY else TINY)
    if gamma > direction.max_gamma:
        gamma = direction.max_gamma
    if v >= 0:
        state.problem.scatter(i, labeling(working_set, v), labeling(working_set, s), gamma * ratio, w)
        alpha[s] += gamma
        # A drop step leaves exactly zero.
        alpha[v] = 0 if gamma == alpha[v] else alpha[v] - gamma
    else:
        for k in range(working_set.size):
            if alpha[k] > 0 and k != s:
                state.problem.scatter(
                    i, labeling(working_set, k), labeling(working_set, s),
                    gamma * alpha[k] * ratio, w)
        for k in range(working_set.size):
            alpha[k] *= 1 - gamma
        alpha[s] += gamma
    state.dual += q * gamma * (direction.slope - 0.5 * gamma * curvature)
    return 0


cdef int take_visit_step(
        DualState state, Py_ssize_t i, StepKind kind, Py_ssize_t toward, Py_ssize_t count,
        double block_gap) except -1 nogil:
    """Step of a visit of block i towards entry `toward`, the best one.

    state.member[:count] are the entries scored, in state.score[:count]: all active ones and
    `toward`; for CORRECTIVE all entries in order.
    """
    cdef WorkingSet* working_set = &state.working_sets[i]
    cdef Py_ssize_t a, b, k, lowest = -1, s = 0
    cdef Direction direction
    cdef double spread = 0, reach = 0
    if kind == CORRECTIVE:
        correct(state, i, 0, count, 0.1 * block_gap, 20)
        return 0
    direction.toward = toward
    if kind == PAIRWISE:
        for a in range(count):
            k = state.member[a]
            if k == toward:
                s = a
            if working_set.alpha[k] > 0 and (lowest < 0 or state.score[a] < state.score[lowest]):
                lowest = a
        direction.away = state.member[lowest]
        if direction.away == toward:
            return 0
        direction.slope = state.score[s] - state.score[lowest]
        direction.squared_norm = state.distance(i, toward, direction.away)
        direction.max_gamma = working_set.alpha[direction.away]
    else:
        direction.away = -1
        for a in range(count):
            k = state.member[a]
            if working_set.alpha[k] > 0:
                reach += working_set.alpha[k] * state.distance(i, toward, k)
                for b in range(a):
                    if working_set.alpha[state.member[b]] > 0:
                        spread += (working_set.alpha[k] * working_set.alpha[state.member[b]]
                                   * state.distance(i, k, state.member[b]))
        direction.slope = block_gap
        direction.squared_norm = reach - spread
        direction.max_gamma = 1
    take_step(state, i, &direction)
    return 0


cdef double correct(
        DualState state, Py_ssize_t i, Py_ssize_t first, Py_ssize_t count, double target,
        Py_ssize_t max_steps) except? -1 nogil:
    """Pairwise steps among entries first ... first + count - 1 until their gap is `target`.

    state.score[:count] are their scores and follow the steps. Returns the work done.
    O(count) a step beyond the distances asked for the first time.
    """
    cdef WorkingSet* working_set = &state.working_sets[i]
    cdef double* alpha = working_set.alpha + first
    cdef double* score = state.score
    cdef double* change = state.change
    cdef double q = state.block_weight[i], ratio = q / state.lam
    cdef double mean, curvature, gamma, slope, gain = 0, half
    cdef Py_ssize_t k, s, v, n_steps = 0
    memset(change, 0, count * sizeof(double))
    while n_steps < max_steps:
        s = 0
        v = -1
        mean = 0
        for k in range(count):
            if score[k] > score[s]:
                s = k
            if alpha[k] > 0:
                mean += alpha[k] * score[k]
                if v < 0 or score[k] < score[v]:
                    v = k
        slope = score[s] - score[v]
        if score[s] - mean <= target or slope <= 0 or s == v:
            break
        n_steps += 1
        curvature = ratio * state.distance(i, first + s, first + v)
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
        # <psi_k, psi_s - psi_v> = (d_kv - d_ks) / 2, up to what all k share
        half = 0.5 * ratio * gamma
        for k in range(count):
            score[k] -= half * (
                state.distance(i, first + k, first + v) - state.distance(i, first + k, first + s))
    state.dual += q * gain
    if n_steps > 0:
        scatter_change(state, i, first, count)
    return 20 + 3.0 * count * (n_steps + 1)


cdef int scatter_change(
        DualState state, Py_ssize_t i, Py_ssize_t first, Py_ssize_t count) except -1 nogil:
    """w += q_i / lam sum_k change_k psi_k, pairing entries that lost with entries that gained."""
    cdef WorkingSet* working_set = &state.working_sets[i]
    cdef double* change = state.change
    cdef double ratio = state.block_weight[i] / state.lam, amount
    cdef Py_ssize_t gain = 0, lose = 0
    while True:
        while gain < count and not change[gain] > 0:
            gain += 1
        while lose < count and not change[lose] < 0:
            lose += 1
        if gain == count or lose == count:
            return 0
        amount = change[gain] if change[gain] < -change[lose] else -change[lose]
        # psi(gain) - psi(lose) = phi(lose) - phi(gain)
        state.problem.scatter(
            i, labeling(working_set, first + lose), labeling(working_set, first + gain),
            amount * ratio, &state.weights[0])
        change[gain] -= amount
        change[lose] += amount
