# Design:
# (a) A part of the blocks has a DualState of its own, but the weights in it are those of all parts:
#     `place` puts them there. What the part's steps then change in v is the part's move.
# (b) Of a move the caller takes a share t: v is given anew, and `blend` takes the part's dual weights
#     to the same point. They are convex combinations of what was and what is, so valid.
# (c) A labeling that a pass has dropped may have had dual weight when the move began: it comes back.
# (d) Approximate passes, which are most of all passes, neither add nor drop labelings. To go back
#     along one, dual weights alone are copied (`dual_weights`, `mix`) and not the labelings.
"""Take a part's dual state to weights from outside, and back along its own move."""

from libc.stdint cimport int32_t, int64_t

from sstruct._solvers.core._scratch cimport reserve
from sstruct._solvers.core._state cimport DualState
from sstruct._solvers.core._working_set cimport WorkingSet, find, insert

import numpy as np


def place(DualState state not None, v, double dual):
    """Set v, and w = clip(v) with it, and the dual value, which passes go on counting from.

    Parameters
    ----------
    state : DualState
        Without averages.
    v : ndarray of shape (n_weights,)
    dual : float
    """
    if state.exact_average is not None:
        raise ValueError("averages do not follow weights from outside")
    if v.shape != (state.problem.n_weights,):
        raise ValueError(f"v of shape {v.shape}, expected {(state.problem.n_weights,)}")
    boxed = np.asarray(state.boxed)
    state.weights_owner[:] = v
    np.asarray(state.hidden)[:] = v[boxed]
    state.clip(state.weights_owner)
    state.dual, state.n_shared, state.n_in_step = dual, -1, 1
    state.estimated = False


def blend(DualState state not None, kept, double share):
    """Set the dual weights to share * those of now + (1 - share) * those of `kept`.

    O(entries of all labelings). v stays as it is.

    Parameters
    ----------
    state : DualState
    kept : dict
        ``state.export()`` of before.
    share : float
        From 0 to 1.
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
    """Return the dual weights of all cached labelings, one block after another."""
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
    """Set the dual weights to share * those of now + (1 - share) * those of `before`.

    As `blend`, where the cached labelings are those of then.

    Parameters
    ----------
    state : DualState
    before : ndarray of shape (n_labelings,)
        `dual_weights` of then.
    share : float
        From 0 to 1.
    """
    cdef Py_ssize_t i, k, at = 0
    cdef WorkingSet* working_set
    if not 0 <= share <= 1:
        raise ValueError(f"share must be between 0 and 1, found {share}")
    if before.shape[0] != state.n_labelings:
        raise ValueError(
            f"dual weights of {before.shape[0]} labelings, expected {state.n_labelings}")
    for i in range(state.n_blocks):
        working_set = &state.working_sets[i]
        for k in range(working_set.size):
            working_set.alpha[k] = share * working_set.alpha[k] + (1 - share) * before[at]
            at += 1
        working_set.spread = -1
