"""Warm starts: dual weights kept, or w kept, along lambda and under other sample weights."""

import numpy as np
import pytest
from sklearn.base import clone

from sstruct import ChainSSVM, MulticlassSSVM
from sstruct._solvers.core.warm_start import rescaled
from sstruct.datasets import make_sequences
from sstruct.solvers import MPBCFW


@pytest.fixture(scope="module")
def chains():
    return make_sequences(n_samples=40, random_state=0)


def block_sums(size, alpha):
    return np.add.reduceat(alpha, np.cumsum(size) - size)


def weights(planes, warm, lam, q):
    """v = sum_i q_i / lam sum_y alpha_i(y) psi_i(y) of given planes."""
    return (np.repeat(q / lam, warm["size"]) * warm["alpha"]) @ planes


@pytest.mark.parametrize("factor", [0.01, 0.5, 1.0, 1.001])
def test_primal_keeps_w(rng, factor):
    # Planes drawn at random, the truth's zero; half of the dual weight rests on the truth, so
    # that lam may rise a little.
    size = np.array([1, 3, 2, 4])
    alpha = rng.random(size.sum())
    first = np.cumsum(size) - size
    alpha /= np.repeat(block_sums(size, alpha), size) * 2
    alpha[first] += 0.5
    planes = rng.standard_normal((size.sum(), 5))
    planes[first] = 0
    q = rng.uniform(0.5, 2, len(size))
    q /= q.sum()
    other = q * rng.uniform(0.9, 1.1, len(size))
    warm = {"size": size, "alpha": alpha, "lam": 0.3, "block_weight": q}
    moved = rescaled(warm, 0.3 * factor, other)
    assert (moved["alpha"] >= 0).all()
    np.testing.assert_allclose(block_sums(size, moved["alpha"]), 1, rtol=1e-14)
    np.testing.assert_allclose(
        weights(planes, moved, 0.3 * factor, other), weights(planes, warm, 0.3, q), rtol=1e-12
    )
    assert warm["alpha"] is not moved["alpha"]


def test_primal_takes_the_largest_feasible_multiple_where_lam_rises():
    # Block 0 has room for a factor of 2, block 1 for 4/3, block 2 has only the truth.
    size = np.array([2, 3, 1])
    alpha = np.array([0.5, 0.5, 0.25, 0.5, 0.25, 1.0])
    q = np.full(3, 1 / 3)
    warm = {"size": size, "alpha": alpha, "lam": 1.0, "block_weight": q}
    np.testing.assert_allclose(
        rescaled(warm, 1.2, q)["alpha"], [0.4, 0.6, 0.1, 0.6, 0.3, 1], rtol=1e-15
    )
    np.testing.assert_allclose(
        rescaled(warm, 10.0, q)["alpha"], [0, 1, 0, 2 / 3, 1 / 3, 1], rtol=1e-15
    )


@pytest.mark.parametrize("kind", ["dual", "primal"])
@pytest.mark.parametrize(
    "parameters", [{}, {"solver": MPBCFW(sampling="gap", cache=True, step="away")}]
)
def test_along_lambda_to_the_same_optimum(chains, kind, parameters):
    X, y = chains
    model = ChainSSVM(warm_start=kind, tol=1e-7, max_iter=5000, random_state=0, **parameters)
    w_size = model.set_params(lam=0.5).fit(X, y).w_.size
    for lam in (0.1, 0.03, 0.2):  # down and up
        for bounds in (None, [[-0.2] * w_size, [0.3] * w_size]):
            model.set_params(lam=lam, bounds=bounds).fit(X, y)
            cold = clone(model).set_params(warm_start=False).fit(X, y)
            assert model.converged_
            assert cold.converged_
            assert model.objective_ == pytest.approx(cold.objective_, rel=3e-7)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_primal_starts_from_w_and_dual_does_not(chains):
    # One pass after lam was halved: w has hardly moved, while kept dual weights double it.
    X, y = chains
    moved = {}
    for kind in ("primal", "dual"):
        model = ChainSSVM(lam=0.1, warm_start=kind, tol=1e-4, solver="bcfw", random_state=0)
        w = model.fit(X, y).w_
        model.set_params(lam=0.05, max_iter=1).fit(X, y)
        moved[kind] = np.linalg.norm(model.w_ - w) / np.linalg.norm(w)
    assert moved["primal"] < 0.5 * moved["dual"]


def test_other_sample_weights_are_taken_up(chains):
    X, y = chains
    weights = np.linspace(0.5, 2, len(X))
    for kind in ("dual", "primal"):
        model = ChainSSVM(lam=0.05, warm_start=kind, tol=1e-7, random_state=0).fit(X, y)
        model.fit(X, y, weights)
        cold = clone(model).set_params(warm_start=False).fit(X, y, weights)
        assert model.objective_ == pytest.approx(cold.objective_, rel=3e-7)


def test_other_data_raise(chains):
    X, y = chains
    model = ChainSSVM(lam=0.1, warm_start="primal", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="the last fit and requires its samples"):
        model.fit(X[1:], y[1:])
    with pytest.raises(ValueError, match="warm_start must be one of"):
        ChainSSVM(warm_start="both").fit(X, y)


def test_multiclass(rng):
    X, y = rng.standard_normal((60, 4)), rng.integers(0, 3, 60)
    for kind in ("dual", "primal"):
        model = MulticlassSSVM(lam=0.1, warm_start=kind, tol=1e-7).fit(X, y)
        model.set_params(lam=0.3).fit(X, y)
        cold = MulticlassSSVM(lam=0.3, tol=1e-7).fit(X, y)
        assert model.objective_ == pytest.approx(cold.objective_, rel=3e-7)
