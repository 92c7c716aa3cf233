"""The reference for bounded weights, against what is true of it by other means."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference import boxed_qp, brute_force, dual_qp
from tests.solvers.small import BOUNDS, KINDS, Small, make_bounds


def small_terms(rng, kind):
    return Small(rng, kind).terms


def random_alphas(rng, terms):
    out = []
    for block in terms:
        values = rng.dirichlet(np.full(len(block.labelings), 0.3))
        out.append(dict(zip(block.labelings, values)))
    return out


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lam", [0.02, 0.5])
def test_without_bounds_it_is_the_other_reference(rng, kind, lam):
    terms = small_terms(rng, kind)
    free = make_bounds(rng, "free", terms[0].phi.shape[1])
    value, w = boxed_qp.optimum(terms, lam, free)
    expected, expected_w = dual_qp.optimum(terms, lam)
    assert value == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(w, expected_w, rtol=0, atol=1e-6)
    alphas = random_alphas(rng, terms)
    assert boxed_qp.dual(alphas, lam, terms, free) == pytest.approx(
        brute_force.dual(alphas, lam, terms), rel=1e-13
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("box", BOUNDS[1:])
def test_no_feasible_weights_are_better(rng, kind, box):
    terms, lam = small_terms(rng, kind), 0.1
    bounds = make_bounds(rng, box, terms[0].phi.shape[1])
    value, w = boxed_qp.optimum(terms, lam, bounds)
    assert (w >= bounds[0] - 1e-9).all()
    assert (w <= bounds[1] + 1e-9).all()
    assert brute_force.primal(w, lam, terms) == pytest.approx(value, rel=1e-8)
    # Some bounds are active, and cost something.
    assert (np.abs(w - bounds) < 1e-7).any()
    assert value > dual_qp.optimum(terms, lam)[0] * (1 + 1e-6)
    # P is convex: what is not improved nearby is not improved at all.
    for scale in (1e-4, 1e-2, 1.0):
        for _ in range(100):
            other = np.clip(w + scale * rng.standard_normal(len(w)), *bounds)
            assert brute_force.primal(other, lam, terms) >= value * (1 - 1e-9)


def test_equal_bounds_fix_the_weights(rng):
    terms = small_terms(rng, "chain")
    fixed = rng.standard_normal(terms[0].phi.shape[1])
    value, w = boxed_qp.optimum(terms, 0.1, np.array([fixed, fixed]))
    np.testing.assert_allclose(w, fixed, rtol=0, atol=1e-8)
    assert value == pytest.approx(brute_force.primal(fixed, 0.1, terms), rel=1e-8)


@settings(max_examples=30)
@given(
    key=st.integers(0, 2**32 - 1),
    lam=st.sampled_from([0.02, 0.3, 5.0]),
    kind=st.sampled_from(KINDS),
    box=st.sampled_from(BOUNDS),
)
def test_any_dual_weights_bound_the_optimum(new_rng, key, lam, kind, box):
    # Weak duality of the formula: the optimum and P at any feasible w lie above D(alpha).
    rng = new_rng(key)
    terms = small_terms(rng, kind)
    bounds = make_bounds(rng, box, terms[0].phi.shape[1])
    value, _ = boxed_qp.optimum(terms, lam, bounds)
    alphas = random_alphas(rng, terms)
    assert boxed_qp.dual(alphas, lam, terms, bounds) <= value * (1 + 1e-9)
    # The inner problem: D(alpha) is the least value of the Lagrangian over feasible w.
    v = brute_force.weights_of(alphas, lam, terms)
    linear = boxed_qp.linear_part(alphas, terms)
    least = boxed_qp.dual_value(v, linear, lam, bounds)
    for _ in range(20):
        w = np.clip(v + rng.standard_normal(len(v)), *bounds)
        assert 0.5 * lam * w @ w - lam * w @ v + linear >= least - 1e-12
