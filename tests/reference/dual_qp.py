"""Optima of the QP in (w, xi) over all labelings, by an independent solver (clarabel)."""

import numpy as np
import pytest
from scipy import sparse

from tests.reference import brute_force


def optimum(terms, lam, box=None, prior=None):
    """Minimize lam/2 |w - w0|^2 + sum_i q_i xi_i.

    The constraints are xi_i >= L_i(y) - <w, psi_i(y)> for all i and y.

    `terms` are brute_force.blocks; `box` (2, d): smallest and largest weights, infinite for weights
    without a bound; `prior`: w0, by default 0. Returns the value and w. Skips the calling test if
    clarabel is not installed.
    """
    clarabel = pytest.importorskip("clarabel")
    d, n = terms[0].phi.shape[1], len(terms)
    quadratic = sparse.diags(np.r_[np.full(d, float(lam)), np.zeros(n)]).tocsc()
    # In terms of w - w0.
    w0 = np.zeros(d) if prior is None else np.asarray(prior)
    box = None if box is None else box - w0
    linear = np.r_[np.zeros(d), [block.weight for block in terms]]
    rows, bounds = [], []
    for i, block in enumerate(terms):
        slack = np.zeros((len(block.loss), n))
        slack[:, i] = 1
        rows.append(-np.hstack([block.psi, slack]))
        bounds.append(block.psi @ w0 - block.loss)
    if box is not None:
        for sign, limit in ((-1, box[0]), (1, box[1])):
            limited = np.isfinite(limit)
            rows.append(sign * np.eye(d, d + n)[limited])
            bounds.append(sign * limit[limited])
    constraints, bounds = sparse.csc_matrix(np.vstack(rows)), np.concatenate(bounds)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    settings.max_threads = 1
    solution = clarabel.DefaultSolver(
        quadratic, linear, constraints, bounds, [clarabel.NonnegativeConeT(len(bounds))], settings
    ).solve()
    assert "Solved" in str(solution.status), solution.status
    return solution.obj_val, np.array(solution.x[:d]) + w0


def check_optimum(model, terms, box=None, prior=None):
    """Compare a tight fit with the optimum, and its objective with its definition.

    Returns the result of `optimum`.
    """
    assert model.status_ == "CONVERGED"
    assert model.objective_ == pytest.approx(
        brute_force.primal(model.w_, model.lam_, terms, prior), rel=1e-9
    )
    best, w = optimum(terms, model.lam_, box, prior)
    assert model.dual_objective_ <= best * (1 + 1e-8)
    assert best <= model.objective_ * (1 + 1e-8)
    assert model.objective_ == pytest.approx(best, rel=1e-6)
    assert model.dual_objective_ == pytest.approx(best, rel=1e-6)
    return best, w


def check_bounds(model, terms, box=None):
    """Check dual <= optimum <= primal at w_ <= objective_, the latter three by their definition.

    Returns the optimum and the primal objective.
    """
    best, _ = optimum(terms, model.lam_, box)
    primal = brute_force.primal(model.w_, model.lam_, terms)
    assert not model.dual_objective_ > best * (1 + 1e-8)
    assert best <= primal * (1 + 1e-8)
    assert primal <= model.objective_ * (1 + 1e-9)
    return best, primal


def check_working_sets(model, terms):
    """Compare the dual objective and w_ with those of the dual weights of a warm start."""
    alphas, lam = brute_force.read_working_sets(model._warm_state, terms), model.lam_
    dual = brute_force.dual(alphas, lam, terms)
    assert model.dual_objective_ == pytest.approx(dual, rel=1e-9)
    gap = max(model.objective_ - dual, 0)
    assert model.dual_gap_ == pytest.approx(gap, abs=1e-9 * model.objective_)
    # The tolerance is that of the terms of the sum: w itself may be nearly 0.
    w = brute_force.weights_of(alphas, lam, terms)
    np.testing.assert_allclose(model.w_, w, rtol=0, atol=1e-12 / lam)
