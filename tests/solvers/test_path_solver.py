"""Test changes of lambda in place, and passes that certify the initial weights."""

import math

import numpy as np
import pytest

from sstruct._solvers.core._rescale import (
    direction,
    keep_dual_weights,
    rescale,
    start_at_largest_losses,
)
from sstruct._solvers.core.solver import Options, Setup
from sstruct._solvers.core.status import Status
from sstruct._solvers.frank_wolfe._approximate_pass import Sampling
from sstruct._solvers.frank_wolfe._exact_pass import exact_pass
from sstruct._solvers.path.path_solver import PathSolver
from tests.reference import boxed_qp
from tests.solvers.small import BOUNDS, KINDS, Small, after_passes, plan


@pytest.mark.parametrize("box", BOUNDS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ratio", [1.0, 0.7, 0.01])
def test_rescale_keeps_w(rng, kind, box, ratio):
    small = Small(rng, kind, box=box)
    state, _ = after_passes(small)
    w, dual, linear = state.w, state.dual, state.linear
    rescale(state, ratio * small.lam)
    small.lam *= ratio
    assert state.lam == small.lam
    np.testing.assert_array_equal(state.w, w)
    small.check(state)
    assert state.dual == pytest.approx(ratio * dual, rel=1e-12)
    assert state.linear == pytest.approx(ratio * linear, rel=1e-12)
    state.rebuild()
    np.testing.assert_allclose(state.w, w, rtol=0, atol=1e-12)
    small.check(state)


@pytest.mark.parametrize("box", BOUNDS)
@pytest.mark.parametrize("ratio", [0.1, 10.0])
def test_keep_dual_weights(rng, box, ratio):
    small = Small(rng, box=box)
    state, _ = after_passes(small)
    v = state.v()
    keep_dual_weights(state, ratio * small.lam)
    small.lam *= ratio
    np.testing.assert_allclose(state.v(), v / ratio, rtol=1e-12, atol=1e-14)
    assert state.estimated_gap == math.inf
    small.check(state)


@pytest.mark.parametrize("kind", KINDS)
def test_start_at_largest_losses(rng, kind):
    small = Small(rng, kind)
    state = small.state()
    assert start_at_largest_losses(state)
    most = sum(block.weight * block.loss.max() for block in small.terms)
    assert state.linear == pytest.approx(most, rel=1e-14)
    small.check(state)
    for alphas, block in zip(small.alphas(state), small.terms, strict=True):
        (best,) = [labeling for labeling, alpha in alphas.items() if alpha > 0]
        assert block.loss[block.labelings.index(best)] == block.loss.max()
    assert state.n_oracle_calls == len(small.terms)


@pytest.mark.parametrize("box", ["free", "nonnegative", "mixed"])
@pytest.mark.parametrize("n, batch", [(1, 1), (6, 1), (6, 3)])
def test_a_pass_at_one_vector_measures_its_hinge_losses(rng, box, n, batch):
    small = Small(rng, n=n, box=box, batch=batch)
    state, pool = after_passes(small, 2)
    for number in range(3, 8):
        state.rebuild()
        dual, linear, z = state.dual, state.linear, state.lam * state.v()
        at = state.w
        if number % 2:
            at = at + 0.3 * rng.standard_normal(len(at))
        weights = small.flat(at)
        true = small.primal(weights) - 0.5 * small.lam * weights @ weights
        assert exact_pass(state, pool, plan(number), False, at)
        assert state.estimated_gap + linear - at @ z == pytest.approx(true, rel=1e-9, abs=1e-14)
        assert state.exact
        assert state.dual >= dual
        small.check(state)


@pytest.mark.parametrize("sampling", [Sampling.UNIFORM, Sampling.GAP])
def test_at_one_vector_is_each_block_once(rng, sampling):
    small = Small(rng)
    state, pool = after_passes(small, draw=True)
    with pytest.raises(ValueError, match="requires sampling PERMUTATION"):
        exact_pass(state, pool, plan(sampling=sampling), False, state.w)
    with pytest.raises(ValueError, match="3 weights, expected"):
        exact_pass(state, pool, plan(), False, np.zeros(3))


@pytest.mark.parametrize("box", ["free", "nonnegative", "mixed"])
def test_direction(rng, box):
    small = Small(rng, box=box)
    state, _ = after_passes(small)
    z, most = direction(state)
    for s in (1e-6, 0.5 * min(most, 1e3), min(most, 1e3)):
        keep_dual_weights(state, 1 / s)
        np.testing.assert_allclose(state.w, s * z, rtol=1e-12, atol=1e-300)
    if most < math.inf:
        keep_dual_weights(state, 0.9 / most)
        assert abs(state.w - z * most / 0.9).max() > 0
    else:
        assert box != "mixed"


def test_invalid_changes_of_lam(rng):
    small = Small(rng)
    state = small.state()
    for lam in (0, -1, 2 * small.lam, math.nan):
        with pytest.raises(ValueError, match="lam must be positive and at most"):
            rescale(state, lam)
    for lam in (0, math.inf, math.nan):
        with pytest.raises(ValueError, match="lam must be positive"):
            keep_dual_weights(state, lam)
    averaged = small.state(average=True)
    for change in (rescale, keep_dual_weights):
        with pytest.raises(ValueError, match="averages"):
            change(averaged, small.lam)


def test_rounding_ends_a_path_with_a_tiny_eps(rng):
    small = Small(rng)
    solver = PathSolver(
        Setup(small.problem, small.lam, small.q, Options(max_iter=300)), small.state()
    )
    points = list(solver.path(1e-18, 0.5, None))
    assert len(points) >= 1
    assert solver.status is Status.STALLED
    assert solver.end > 0


def test_scaled_weights_are_within_eps_above_the_first_breakpoint(rng):
    small = Small(rng, n=30)
    eps = 0.05
    solver = PathSolver(Setup(small.problem, small.lam, small.q, Options()), small.state())
    first = next(solver.path(eps, 0.9, None))
    h = solver.hinge_at_zero
    assert h == pytest.approx(sum(t.weight * t.loss.max() for t in small.terms), rel=1e-12)
    assert h - first.linear <= eps
    assert first.gap <= 0.9 * eps
    for factor in (1, 2, 10, 1e3):
        state = small.state()
        keep_dual_weights(state, factor * first.lam)
        small.lam = factor * first.lam
        excess = small.primal(small.flat(first.w) / factor) - small.optimum()
        assert -1e-9 <= excess <= eps


@pytest.mark.parametrize("box", ["free", "nonnegative", "mixed"])
@pytest.mark.parametrize("kind", KINDS)
def test_dual_weights_are_scaled_by_the_best_factor_at_breakpoints(rng, kind, box):
    small = Small(rng, kind, box=box, n=3)
    solver = PathSolver(Setup(small.problem, small.lam, small.q, Options()), small.state())
    for point in solver.path(0.1, 0.5, None):
        before, lam = solver.lam, point.breakpoint(0.1)
        if lam == 0:
            break
        v, linear = small.flat(solver.state.v()), solver.state.linear

        def scaled(share, v=v, linear=linear, before=before, lam=lam):
            v = share * before / lam * v
            return boxed_qp.dual_value(v, share * linear, lam, small.bounds)

        solver._lower(lam)
        small.lam = lam
        assert small.check(solver.state) <= small.optimum() + 1e-9
        # The best factor between bounds other than 0 is not known, only a lower bound of its value.
        shares = np.linspace(0, 1, 201) if box != "mixed" else [min(lam / before, 1)]
        assert solver.state.dual >= max(map(scaled, shares)) - 1e-12


def test_warm_start_of_a_grid(rng):
    small = Small(rng)
    solver = PathSolver(Setup(small.problem, small.lam, small.q, Options()), small.state())
    next(solver.grid([small.lam], 0.01, "primal"))
    w, z = solver.state.w, small.lam * solver.state.v()
    solver._change_lambda(0.5 * small.lam)
    np.testing.assert_array_equal(solver.state.w, w)
    solver._change_lambda(2 * small.lam)
    np.testing.assert_allclose(solver.state.v(), z / (4 * small.lam), rtol=1e-12, atol=1e-14)
