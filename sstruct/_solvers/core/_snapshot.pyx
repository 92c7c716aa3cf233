# Design:
# (a) Every bit of a DualState that later steps depend on, as arrays: what `rebuild` would only
#     compute up to rounding (w, the dual) is kept as it is. Distances between labelings are left
#     out: they are functions of the labelings and are computed again when asked for.
# (b) What comes in is checked as far as compiled code relies on it.
"""Keep and restore a whole DualState."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from sstruct._solvers.core._scratch cimport reserve
from sstruct._solvers.core._state cimport DualState
from sstruct._solvers.core._working_set cimport (
    WorkingSet, insert, labeling, working_set_close, working_set_open)

import numpy as np


def snapshot(DualState state not None):
    """Return the state as a dict of arrays."""
    cdef Py_ssize_t i
    spreads = np.empty(state.problem.n_blocks)
    cdef double[::1] spread = spreads
    for i in range(state.problem.n_blocks):
        spread[i] = state.working_sets[i].spread
    out = {
        **state.export(),
        **state.problem.memory(),
        "spread": spreads,
        "weights": state.w,
        "hidden": np.array(state.hidden),
        "gap_estimates": np.array(state.gap_estimates),
        "working_gaps": np.array(state.working_gaps),
        "order": np.array(state.order, dtype=np.int64),
        "random": np.array([state.random.word[k] for k in range(4)], dtype=np.uint64),
        "values": np.array([state.dual, state.linear, state.work, state.total_gap]),
        "counts": np.array([state.n_oracle_calls, state.n_steps], dtype=np.int64),
    }
    for name, average in averages(state):
        out.update({f"{name}_{key}": value for key, value in average.snapshot().items()})
    return out


def resume(DualState state not None, kept):
    """Put a state, made for the same problem, back to where `snapshot` found it.

    Raises
    ------
    ValueError
        If the arrays do not fit the problem or are no dual weights.
    """
    cdef Py_ssize_t i, n = state.problem.n_blocks, at = 0, position = 0, length
    cdef const int64_t[::1] size = kept["size"]
    cdef const double[::1] alpha = kept["alpha"], loss = kept["loss"], spread = kept["spread"]
    cdef const int32_t[::1] code = kept["code"], last_active = kept["last_active"]
    cdef const uint64_t[::1] random = kept["random"]
    cdef int32_t[::1] truth = np.zeros(state.problem.max_code_size, dtype=np.int32)
    cdef WorkingSet* working_set
    total = int(np.sum(kept["size"]))
    fits = (
        len(size) == n and min(size) >= 1 and len(alpha) == len(loss) == len(last_active) == total
        and len(spread) == n and len(random) == 4 and np.min(kept["alpha"]) >= 0
        and kept["weights"].shape == (state.problem.n_weights,)
        and kept["hidden"].shape == (state.n_boxed,)
        and kept["gap_estimates"].shape == kept["working_gaps"].shape == (n,)
        and np.array_equal(np.sort(kept["order"]), np.arange(n)))
    if not fits:
        raise ValueError("the arrays do not describe a state of this problem")
    # First: codes may name what it keeps.
    state.problem.restore_memory(kept)
    for i in range(n):
        working_set = &state.working_sets[i]
        length = working_set.code_size
        working_set_close(working_set)
        working_set_open(working_set, length, size[i] + 1)
        state.problem.truth(i, &truth[0])
        for k in range(size[i]):
            if position + length > code.shape[0]:
                raise ValueError("the arrays end before the last block")
            state.problem.check_code(i, code[position:position + length])
            insert(working_set, &code[position], loss[at])
            working_set.alpha[k] = alpha[at]
            working_set.last_active[k] = last_active[at]
            at += 1
            position += length
        for k in range(length):
            if labeling(working_set, 0)[k] != truth[k]:
                raise ValueError(f"the first labeling of block {i} is not the truth")
        working_set.spread = spread[i]
        reserve(state.scratch, size[i] + 1)
    state.n_labelings, state.n_shared = total, -1
    np.asarray(state.weights)[:] = kept["weights"]
    np.asarray(state.hidden)[:] = kept["hidden"]
    np.asarray(state.working_gaps)[:] = kept["working_gaps"]
    np.asarray(state.order)[:] = kept["order"]
    for i in range(n):
        state.set_gap(i, kept["gap_estimates"][i])
    for k in range(4):
        state.random.word[k] = random[k]
    state.dual, state.linear, state.work, state.total_gap = kept["values"]
    state.n_oracle_calls, state.n_steps = kept["counts"]
    for name, average in averages(state):
        average.resume({key: kept[f"{name}_{key}"] for key in ("offset", "numbers")})


def averages(DualState state):
    """The averages that the state keeps, with names."""
    if state.exact_average is None:
        return []
    return [("exact", state.exact_average), ("approximate", state.approximate_average)]
