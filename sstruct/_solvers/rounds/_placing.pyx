# Design:
# (a) A partition has its own DualState, with the weights of all partitions: `place` sets them. The change
#     of v by the partition's steps is the partition's move.
# (b) The caller applies a share t of a move: it sends a new v, and `blend` moves the dual weights of the
#     partition to the same point. They are valid as convex combinations of the old and new ones.
# (c) A labeling that a pass has dropped may have had dual weight before the move: it is inserted again.
# (d) Approximate passes, which are most passes, neither add nor drop labelings. To scale one back, only
#     the dual weights are copied (`dual_weights`, `mix`) and not the labelings.
"""Set the weights of a partition's dual state, and scale back its own move."""

from libc.stdint cimport int32_t, int64_t

from sstruct._solvers.core._scratch cimport reserve
from sstruct._solvers.core._state cimport DualState
from sstruct._solvers.core._working_set cimport WorkingSet, find, insert

import numpy as np


def place(DualState state not None, v, double dual):
    """Set v, w = clip(v), and the dual value to which passes add their gains.

    Parameters
    ----------
    state : DualState
        Without averages.
    v : ndarray of shape (n_weights,)
    dual : float
    """
    if state.exact_average is not None:
        raise ValueError("a state with averages of iterates cannot be placed at other weights")
    if v.shape != (state.problem.n_weights,):
        raise ValueError(f"v has shape {v.shape}, expected {(state.problem.n_weights,)}")
    boxed = np.asarray(state.boxed)
    state.weights_owner[:] = v
    np.asarray(state.hidden)[:] = v[boxed]
    state.clip(state.weights_owner)
    state.dual, state.n_shared, state.n_in_step = dual, -1, 1
    state.estimated = False


def blend(DualState state not None, kept, double share):
    """Set the dual weights to share * current + (1 - share) * those of `kept`.

    Takes O(entries of all labelings). v does not change.

    Parameters
    ----------
    state : DualState
    kept : dict
        Previous result of ``state.export()``.
    share : float
        Between 0 and 1.
    """
    cdef Py_ssize_t i, j, k, at = 0, position = 0, length
    cdef double loss = 0
    cdef const int64_t[::1] size
    cdef const double[::1] alpha
    cdef const int32_t[::1] code
    cdef WorkingSet* working_set
    if not 0 <= share <= 1:
        raise ValueError(f"share must be between 0 and 1, found {share}")
    size, alpha, code = state.checked(kept, state.n_blocks)
    state.n_labelings, state.n_shared = 0, -1
    for i in range(state.n_blocks):
        working_set = &state.working_sets[i]
        length = working_set.code_size
        for k in range(working_set.size):
            working_set.alpha[k] *= share
        for _ in range(size[i]):
            if alpha[at] > 0:
                j = find(working_set, &code[position])
                if j < 0:
                    state.problem.check_code(i, code[position:position + length])
                    state.problem.loss(i, &code[position], &loss)
                    j = insert(working_set, &code[position], loss)
                working_set.alpha[j] += (1 - share) * alpha[at]
            at += 1
            position += length
        working_set.spread = -1
        reserve(state.scratch, working_set.size)
        state.n_labelings += working_set.size


def dual_weights(DualState state not None):
    """Return the dual weights of all cached labelings, concatenated over blocks."""
    cdef Py_ssize_t i, k, at = 0
    cdef WorkingSet* working_set
    cdef double[::1] alpha = np.empty(state.n_labelings)
    for i in range(state.n_blocks):
        working_set = &state.working_sets[i]
        for k in range(working_set.size):
            alpha[at] = working_set.alpha[k]
            at += 1
    return np.asarray(alpha)


def mix(DualState state not None, const double[::1] before not None, double share):
    """Set the dual weights to share * current + (1 - share) * those of `before`.

    Like `blend`, but requires that the cached labelings have not changed.

    Parameters
    ----------
    state : DualState
    before : ndarray of shape (n_labelings,)
        Previous result of `dual_weights`.
    share : float
        Between 0 and 1.
    """
    cdef Py_ssize_t i, k, at = 0
    cdef WorkingSet* working_set
    if not 0 <= share <= 1:
        raise ValueError(f"share must be between 0 and 1, found {share}")
    if before.shape[0] != state.n_labelings:
        raise ValueError(
            f"before has dual weights of {before.shape[0]} labelings, expected {state.n_labelings}")
    for i in range(state.n_blocks):
        working_set = &state.working_sets[i]
        for k in range(working_set.size):
            working_set.alpha[k] = share * working_set.alpha[k] + (1 - share) * before[at]
            at += 1
        working_set.spread = -1
