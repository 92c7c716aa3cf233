"""Test warm starts with other lam, bounds and sample weights."""

from dataclasses import replace

import numpy as np
import pytest

from sstruct import ChainSSVM, MulticlassSSVM
from sstruct._solvers.core._state import DualState
from sstruct._solvers.core.warm_start import rescaled
from sstruct.datasets import make_sequences
from sstruct.solvers import MPBCFW
from tests.reference import boxed_qp, brute_force
from tests.solvers.small import BOUNDS, KINDS, Small, after_passes

KEPT = ("dual", "primal")


def after_some_passes(small):
    """Return a state, and what a warm start keeps of it."""
    state, _ = after_passes(small)
    state.rebuild()
    return state, {"lam": small.lam, "block_weight": small.q, **state.export()}


def started(small, warm, lam, q):
    """Return a state for another lambda and other block weights, started from dual weights."""
    bounds = np.full((2, small.problem.n_weights), [[-np.inf], [np.inf]])
    bounds[:, small.place] = small.bounds
    state = DualState(small.problem, lam, q, 0, bounds)
    state.restore(rescaled(warm, lam, q))
    return state


@pytest.mark.parametrize("box", BOUNDS)
@pytest.mark.parametrize("kind", KINDS)
def test_primal_keeps_the_weights_for_smaller_lambda(rng, kind, box):
    small = Small(rng, kind, lam=0.3, box=box)
    state, warm = after_some_passes(small)
    w = state.w
    for lam in (0.3, 0.1, 1e-3):
        again = started(small, warm, lam, small.q)
        np.testing.assert_allclose(again.w, w, rtol=0, atol=1e-12 * max(1, abs(w).max()))
        small.alphas(again)
    # They are kept for a larger lambda, too, if the block weights increase by the same factor.
    again = started(small, warm, 0.6, 2 * small.q)
    np.testing.assert_allclose(again.w, w, rtol=0, atol=1e-12 * max(1, abs(w).max()))


@pytest.mark.parametrize("box", BOUNDS)
@pytest.mark.parametrize("kind", KINDS)
def test_primal_scales_the_weights_for_larger_lambda(rng, kind, box):
    small = Small(rng, kind, lam=0.05, box=box)
    state, warm = after_some_passes(small)
    before = small.alphas(state)
    # Dual weights change by a factor of 200, capped such that they sum to at most 1, or by 1/2.
    lam, q = 0.1, small.q * np.where(np.arange(len(small.q)) % 2, 0.01, 4.0)
    again = started(small, warm, lam, q)
    capped = 0
    for i, (old, new) in enumerate(zip(before, small.alphas(again), strict=True)):
        truth = next(iter(old))
        factor = (small.q[i] / small.lam) / (q[i] / lam)
        others = sum(value for y, value in old.items() if y != truth)
        capped += factor * others > 1
        factor = min(factor, 1 / others) if others > 0 else factor
        for y, value in old.items():
            if y != truth:
                assert new.get(y, 0.0) == pytest.approx(factor * value, rel=1e-12, abs=1e-300)
    assert 0 < capped < len(before)
    # w and the dual are those of the new dual weights.
    terms = reweighted(small, q)
    v = brute_force.weights_of(small.alphas(again), lam, terms)
    np.testing.assert_allclose(small.flat(again.w), np.clip(v, *small.bounds), atol=1e-11)
    dual = boxed_qp.dual(small.alphas(again), lam, terms, small.bounds)
    assert again.dual == pytest.approx(dual, rel=1e-11, abs=1e-13)


def reweighted(small, q):
    """Return the enumerated blocks with other weights."""
    return [replace(block, weight=weight) for block, weight in zip(small.terms, q, strict=True)]


@pytest.mark.parametrize("estimator", [ChainSSVM, MulticlassSSVM])
@pytest.mark.parametrize("solver", ["auto", MPBCFW(sampling="gap", cache=True, step="away")])
def test_primal_and_dual_reach_the_same_optimum(rng, estimator, solver):
    X, y = rng.standard_normal((30, 3)), rng.integers(0, 3, 30)
    weights = rng.uniform(0.5, 2, 30)
    terms = {"boundaries": False, "transitions": False} if estimator is ChainSSVM else {}
    given = {**terms, "solver": solver, "tol": 1e-8, "max_iter": 100_000, "random_state": 0}
    models = [estimator(**given, lam=0.05, warm_start=kind).fit(X, y) for kind in KEPT]
    box = [[-0.2] * 12, [0.3] * 12]
    # Down and up, also after a fit with other sample weights, or with other bounds.
    for lam, bounds in ((0.05, None), (0.3, box), (0.02, None), (0.02, box), (0.1, box)):
        cold = estimator(**given, lam=lam, bounds=bounds).fit(X, y, weights)
        for model in models:
            model.set_params(lam=lam, bounds=bounds).fit(X, y, weights)
            assert model.converged_
            assert model.objective_ == pytest.approx(cold.objective_, rel=3e-8)
            assert model.dual_objective_ == pytest.approx(cold.objective_, rel=3e-8)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_primal_starts_from_w_and_dual_does_not():
    # One pass after lam was halved: w has hardly moved, while kept dual weights double it.
    X, y = make_sequences(n_samples=40, random_state=0)
    moved = {}
    for kind in ("primal", "dual"):
        model = ChainSSVM(lam=0.1, warm_start=kind, tol=1e-4, solver="bcfw", random_state=0)
        w = model.fit(X, y).w_
        model.set_params(lam=0.05, max_iter=1).fit(X, y)
        moved[kind] = np.linalg.norm(model.w_ - w) / np.linalg.norm(w)
    assert moved["primal"] < 0.5 * moved["dual"]
