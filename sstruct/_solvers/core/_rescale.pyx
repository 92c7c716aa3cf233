# Design:
# (a) Changes that a regularization path makes to a state between two values of lambda. The
#     mathematics is in path_solver.py.
# (b) `rescale` preserves w: v = sum_i q_i / lam sum_y alpha_i(y) psi_i(y) does not change if lam and
#     the dual weights of all labelings except the truths shrink by the same factor, because the plane
#     of the truth is zero. The dual shrinks by this factor too, since its linear part and lam do.
# (c) warm_start.py does the same on exported arrays, for separate fits. A path changes its state in
#     place, which takes one pass over the dual weights.
"""Changes of lambda and of losses that preserve the rest of a state."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._solvers.core._scratch cimport reserve
from sstruct._solvers.core._state cimport DualState
from sstruct._solvers.core._working_set cimport WorkingSet, find, insert, labeling

import numpy as np


def rescale(DualState state not None, double lam):
    """Lower lambda and preserve w: all dual weights except the truths' shrink in proportion.

    Parameters
    ----------
    state : DualState
        Without averages of iterates.
    lam : float
        Positive, at most the lambda of the state.
    """
    cdef double ratio = lam / state.lam, others
    cdef Py_ssize_t i, k
    cdef WorkingSet* working_set
    if not 0 < lam <= state.lam:
        raise ValueError(f"lam must be positive and at most {state.lam}, found {lam}")
    if state.exact_average is not None:
        raise ValueError("a state with averages of iterates cannot change lam")
    for i in range(state.problem.n_blocks):
        working_set = &state.working_sets[i]
        others = 0
        for k in range(1, working_set.size):
            working_set.alpha[k] *= ratio
            others += working_set.alpha[k]
        working_set.alpha[0] = max(1 - others, 0)
        working_set.spread = -1
        state.working_gaps[i] = INFINITY
    state.lam = lam
    state.linear *= ratio
    state.dual *= ratio
    state.total_gap = 0


def keep_dual_weights(DualState state not None, double lam):
    """Set lambda and keep the dual weights; w is recomputed, and all gaps become unknown.

    Parameters
    ----------
    state : DualState
        Without averages of iterates.
    lam : float
        Positive.
    """
    if not 0 < lam < INFINITY:
        raise ValueError(f"lam must be positive, found {lam}")
    if state.exact_average is not None:
        raise ValueError("a state with averages of iterates cannot change lam")
    state.lam = lam
    state.total_gap = 0
    for i in range(state.problem.n_blocks):
        state.gap_estimates[i] = state.working_gaps[i] = INFINITY
    state.rebuild()


def reload_losses(DualState state not None, double lam):
    """Set lambda, recompute all losses, and keep labelings and dual weights.

    Used when the losses of the problem have changed; the loss of the truth must still be 0. w is
    recomputed, and all gaps become unknown.

    Parameters
    ----------
    state : DualState
        Without averages of iterates.
    lam : float
        Positive.
    """
    _reload(state)
    keep_dual_weights(state, lam)


cdef int _reload(DualState state) except -1:
    """Recompute the losses of all labelings."""
    cdef Py_ssize_t i, k
    cdef WorkingSet* working_set
    for i in range(state.problem.n_blocks):
        working_set = &state.working_sets[i]
        for k in range(1, working_set.size):
            state.problem.loss(i, labeling(working_set, k), &working_set.loss[k])
    return 0


def shift_losses(DualState state not None, double decrease):
    """Recompute all losses and keep labelings, dual weights and w.

    Parameters
    ----------
    state : DualState
        Without averages of iterates.
    decrease : float
        Decrease of the linear part of the dual value.
    """
    if state.exact_average is not None:
        raise ValueError("a state with averages of iterates cannot change losses")
    _reload(state)
    for i in range(state.problem.n_blocks):
        state.working_gaps[i] = INFINITY
    state.linear -= decrease
    state.dual -= decrease


def start_at_largest_losses(DualState state not None):
    """Give all dual weight of each block to the labeling that the max-oracle finds at the prior, or 0.

    Parameters
    ----------
    state : DualState
        Newly created.

    Returns
    -------
    bool
        Whether the oracle was exact for every block. The linear part of the dual, in terms of w minus
        the prior, is then the sum of the hinge losses at the prior.
    """
    cdef BlockProblem problem = state.problem
    cdef bint at_zero = state.prior is None
    cdef const double[::1] start = np.zeros(problem.n_weights) if at_zero else state.prior
    cdef int32_t[::1] code = np.empty(problem.max_code_size, dtype=np.int32)
    cdef OracleAnswer answer
    cdef WorkingSet* working_set
    cdef Py_ssize_t i, k, s
    cdef double loss = 0
    cdef bint exact = True
    for i in range(problem.n_blocks):
        with nogil:
            problem.maximize(i, &start[0], 1.0, &code[0], &answer)
            problem.loss(i, &code[0], &loss)
        exact = exact and answer.exact
        working_set = &state.working_sets[i]
        s = find(working_set, &code[0])
        # An approximate oracle may return a labeling that is worse than the truth.
        if s < 0 and (loss > 0 or not at_zero):
            s = insert(working_set, &code[0], loss)
            state.n_labelings += 1
        for k in range(working_set.size):
            working_set.alpha[k] = k == max(s, 0)
        reserve(state.scratch, working_set.size)
    state.n_oracle_calls += problem.n_blocks
    state.n_shared = -1
    state.rebuild()
    return exact


def direction(DualState state not None):
    """Return lam v, projected onto bounds at 0, and the largest multiple within the other bounds.

    With a prior, v and the bounds are those of w minus the prior.

    Returns
    -------
    z : ndarray of shape (n_weights,)
        lam v, with 0 in place of entries whose sign is forbidden by a bound of 0.
    most : float
        The largest s for which s z satisfies all nonzero bounds, or inf. The bounds must include 0.
    """
    z = state.lam * state.moved()
    boxed = np.asarray(state.boxed)
    lower, upper, at = np.asarray(state.lower), np.asarray(state.upper), z[boxed]
    if state.prior is not None:
        lower, upper = lower - state.prior[boxed], upper - state.prior[boxed]
    at[((at < 0) & (lower == 0)) | ((at > 0) & (upper == 0))] = 0
    z[boxed] = at
    limit = np.where(at > 0, upper, lower)[at != 0] / at[at != 0]
    return z, limit.min(initial=np.inf)
