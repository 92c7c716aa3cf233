# Design:
# (a) A snapshot contains every bit of a DualState that later steps depend on. w and the dual are
#     stored, since `rebuild` would reproduce them only up to rounding. Distances between labelings are
#     not stored: they are functions of the labelings and are recomputed when needed.
# (b) Input is validated as far as compiled code relies on it.
"""Save and restore a whole DualState."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcmp

from sstruct._solvers.core._scratch cimport reserve
from sstruct._solvers.core._state cimport DualState
from sstruct._solvers.core._working_set cimport (
    WorkingSet, find, insert, working_set_close, working_set_open)

import numpy as np

from sstruct._problems.core.kept_arrays import MAX_COUNT, kept_array


def snapshot(DualState state not None):
    """Return the state as a dict of arrays."""
    cdef Py_ssize_t i
    spreads = np.empty(state.problem.n_blocks)
    cdef double[::1] spread = spreads
    for i in range(state.problem.n_blocks):
        spread[i] = state.working_sets[i].spread
    working_sets = state.export()
    del working_sets["loss"]
    out = {
        **working_sets,
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
    """Restore the arrays returned by `snapshot` in a state of the same problem.

    Raises
    ------
    ValueError
        If the arrays do not fit the problem or are not dual weights; names the field.
    """
    cdef Py_ssize_t i, n = state.n_blocks, at = 0, position = 0, length
    cdef const int64_t[::1] size
    cdef const double[::1] alpha, spread, gap
    cdef const int32_t[::1] code, last_active
    cdef const uint64_t[::1] random
    cdef int32_t[::1] truth = np.zeros(state.problem.max_code_size, dtype=np.int32)
    cdef double loss = 0
    cdef WorkingSet* working_set
    size, alpha, code = state.checked(kept, n)
    last_active = kept_array(kept, "last_active", np.int32, alpha.shape[0], least=0)
    spread = kept_array(kept, "spread", np.float64, n, least=-1)
    gap = kept_array(kept, "gap_estimates", np.float64, n, least=0, values="infinite")
    working_gaps = kept_array(kept, "working_gaps", np.float64, n, least=0, values="infinite")
    weights = kept_array(kept, "weights", np.float64, state.problem.n_weights)
    at_bounds = weights[np.asarray(state.boxed)]
    if ((at_bounds < np.asarray(state.lower)) | (at_bounds > np.asarray(state.upper))).any():
        raise ValueError("weights: some are outside their bounds")
    hidden = kept_array(kept, "hidden", np.float64, state.n_boxed)
    order = kept_array(kept, "order", np.int64, n)
    if not np.array_equal(np.sort(order), np.arange(n)):
        raise ValueError(f"order: expected each of 0 to {n - 1} once")
    random = kept_array(kept, "random", np.uint64, 4)
    if not np.any(random):
        raise ValueError("random: expected a state of the generator, found four zeros")
    dual, linear, work, total_gap = kept_array(kept, "values", np.float64, 4).tolist()
    n_oracle_calls, n_steps = kept_array(
        kept, "counts", np.int64, 2, least=0, most=MAX_COUNT).tolist()
    # The memory is restored before the codes, which may refer to it.
    state.problem.restore_memory(kept)
    for i in range(n):
        working_set = &state.working_sets[i]
        length = working_set.code_size
        working_set_close(working_set)
        working_set_open(working_set, length, size[i] + 1, state.problem.n_choices == 0)
        state.problem.truth(i, &truth[0])
        if memcmp(&truth[0], &code[position], length * sizeof(int32_t)) != 0:
            raise ValueError(f"code: the first labeling of block {i} is not the truth")
        for k in range(size[i]):
            state.problem.check_code(i, code[position:position + length])
            if find(working_set, &code[position]) >= 0:
                raise ValueError(f"code: block {i} has a duplicate labeling")
            state.problem.loss(i, &code[position], &loss)
            insert(working_set, &code[position], loss)
            working_set.alpha[k] = alpha[at]
            working_set.last_active[k] = last_active[at]
            at += 1
            position += length
        working_set.spread = spread[i]
        reserve(state.scratch, size[i] + 1)
        state.set_gap(i, gap[i])
    state.n_labelings, state.n_shared, state.n_in_step = at, -1, 1
    state.estimated = False
    np.asarray(state.weights)[:] = state.problem.without_padding(weights)
    np.asarray(state.hidden)[:] = hidden
    np.asarray(state.working_gaps)[:] = working_gaps
    np.asarray(state.order)[:] = order
    for k in range(4):
        state.random.word[k] = random[k]
    state.dual, state.linear, state.work, state.total_gap = dual, linear, work, total_gap
    state.n_oracle_calls, state.n_steps = n_oracle_calls, n_steps
    for name, average in averages(state):
        average.resume(kept, name, state.problem)


def averages(DualState state):
    """Return the averages that the state keeps, with their names."""
    if state.exact_average is None:
        return []
    return [("exact", state.exact_average), ("approximate", state.approximate_average)]
