"""Corrective steps of multiclass blocks are exact over all classes."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import brentq

from sstruct import MulticlassSSVM
from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._problems.label_set._multiclass import MulticlassProblem
from sstruct._solvers.core._state import DualState
from sstruct._solvers.frank_wolfe._approximate_pass import approximate_pass
from sstruct._solvers.frank_wolfe._exact_pass import exact_pass
from sstruct._solvers.frank_wolfe._steps import StepKind
from sstruct._solvers.frank_wolfe.constants import Constants
from sstruct.solvers import MPBCFW
from tests.solvers.small import plan


def crammer_singer_objective(coef, X, y, lam):
    """Return lam/2 |w|^2 + mean of max_y [y != truth] + <w_y - w_truth, x>."""
    scores, rows = X @ coef.T, np.arange(len(y))
    augmented = scores + 1
    augmented[rows, y] -= 1
    return 0.5 * lam * np.sum(coef**2) + np.mean(augmented.max(axis=1) - scores[rows, y])


def corrective_plan(number=1, **keywords):
    return plan(number, StepKind.CORRECTIVE, keep=2, **keywords)


def block_optimum(x, cost, lam):
    """Return alpha and the largest <alpha, cost> - c/2 |alpha - truth|^2 on the simplex."""
    c = x @ x / lam
    start = (cost == cost.min()).astype(float)
    level = brentq(lambda b: np.maximum(start + (cost - b) / c, 0).sum() - 1, -1e3, 1e3, xtol=1e-14)
    alpha = np.maximum(start + (cost - level) / c, 0)
    return alpha, alpha @ cost - 0.5 * c * ((alpha - start) ** 2).sum()


@pytest.mark.parametrize("csr", [False, True])
@pytest.mark.parametrize("lam", [0.1, 1.0, 10.0])
def test_first_visit_finds_all_classes(rng, lam, csr):
    x, cost = rng.standard_normal((1, 4)), 1 - np.eye(6)
    cost[2] *= 1 + 0.2 * rng.random(6)
    problem = MulticlassProblem(
        sparse.csr_matrix(x) if csr else x, [2], 6, cost=cost, bias=False
    )  # fmt: skip
    state = DualState(problem, lam, np.ones(1), 0)
    assert exact_pass(state, ThreadPool(problem), corrective_plan(), False)
    alpha, optimum = block_optimum(x[0], cost[2], lam)
    kept = state.export()
    chosen = kept["code"][kept["alpha"] > 0]
    assert set(np.flatnonzero(alpha > 1e-9)) - {2} == set(chosen) - {2}
    # Steps are extended by a factor of up to 1.5, which keeps at least 1 - 0.5^2 of the gain.
    assert 0.75 * optimum * (1 - 1e-12) <= state.dual <= optimum * (1 + 1e-12)


def test_equal_scores_among_many_classes(rng):
    """At w = 0 all wrong classes are equally bad: only some of them are cached."""
    problem = MulticlassProblem(rng.standard_normal((1, 3)), [0], 100, bias=True)
    state = DualState(problem, 0.1, np.ones(1), 0)
    for number in range(1, 4):
        before = state.n_labelings
        exact_pass(state, ThreadPool(problem), corrective_plan(number), False)
        assert before < state.n_labelings <= before + 9


@pytest.mark.parametrize("most", [2, 3, 5])
def test_small_working_sets_keep_the_best_class(rng, most):
    cost = np.zeros((6, 6))
    cost[0] = [0, 1.1, 1.5, 1.3, 1.4, 1.2]
    problem = MulticlassProblem(rng.standard_normal((1, 4)), [0], 6, cost=cost)
    state = DualState(problem, 0.01, np.ones(1), 0)
    of_pass = corrective_plan(constants=Constants(max_working_set=most))
    exact_pass(state, ThreadPool(problem), of_pass, False)
    assert state.export()["code"].tolist() == [0, 2, 4, 3, 5][:most]


@pytest.mark.parametrize("bias", [False, True])
def test_state_follows_its_working_sets(rng, bias):
    n, K, lam = 30, 7, 0.02
    X, y = rng.standard_normal((n, 5)), rng.integers(0, K, n)
    X[4] = 0  # without a bias, its classes have equal features
    weights = rng.random(n) + 0.1
    problem = MulticlassProblem(X, y, K, bias=bias)
    state = DualState(problem, lam, weights / weights.sum(), 0)
    pool = ThreadPool(problem)
    for number in range(1, 6):
        for approximate in (False, True):
            dual = state.dual
            if approximate:
                approximate_pass(state, corrective_plan(number), True)
            else:
                exact_pass(state, pool, corrective_plan(number), False)
            assert state.dual >= dual - 1e-13
            kept = state.export()
            starts = np.r_[0, np.cumsum(kept["size"])[:-1]]
            np.testing.assert_allclose(np.add.reduceat(kept["alpha"], starts), 1, rtol=1e-13)
            assert (kept["alpha"] >= 0).all()
            w, dual = state.w, state.dual
            state.rebuild()
            np.testing.assert_allclose(state.w, w, rtol=0, atol=1e-12)
            assert state.dual == pytest.approx(dual, rel=1e-12)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_optimum_at_every_scale(rng, scale):
    X, y = rng.standard_normal((40, 6)), rng.integers(0, 5, 40)
    fits = [
        MulticlassSSVM(
            lam=0.05 * scale**2,
            solver=MPBCFW(step=step),
            tol=1e-7,
            max_iter=10**5,
            fit_intercept=False,
        ).fit(X * scale, y)
        for step in ("auto", "pairwise")
    ]
    for fit in fits:
        value = crammer_singer_objective(fit.coef_, X * scale, y, fit.lam)
        assert fit.converged_
        assert fit.objective_ == pytest.approx(value, rel=1e-9)
    assert fits[0].objective_ == pytest.approx(fits[1].objective_, rel=2e-7)


def test_fewer_oracle_calls_than_pairwise_steps(rng):
    """Many classes share the dual weight of a sample, so one new class per visit is slow."""
    X = sparse.random(200, 4000, 0.01, format="csr", random_state=0, data_rvs=rng.standard_normal)
    y = (X @ rng.standard_normal((4000, 12)) + rng.gumbel(size=(200, 12))).argmax(axis=1)
    model = MulticlassSSVM(lam=1e-3, tol=1e-3, fit_intercept=False, random_state=0)
    calls = {
        step: model.set_params(solver=MPBCFW(step=step)).fit(X, y).n_oracle_calls_
        for step in ("auto", "pairwise")
    }
    assert calls["auto"] <= 0.6 * calls["pairwise"]
