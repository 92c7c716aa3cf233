"""Warm starts that keep dual weights or w, for other values of lam and sample weights."""

import numpy as np
import pytest
from sklearn.base import clone

from sstruct import ChainSSVM
from sstruct.datasets import make_sequences
from sstruct.solvers import MPBCFW


@pytest.fixture(scope="module")
def chains():
    return make_sequences(n_samples=40, random_state=0)


@pytest.mark.parametrize(
    "parameters", [{}, {"solver": MPBCFW(sampling="gap", cache=True, step="away")}]
)
def test_along_lambda_to_the_same_optimum(chains, parameters):
    X, y = chains
    cold = ChainSSVM(lam=0.5, tol=1e-7, max_iter=5000, random_state=0, **parameters)
    models = [clone(cold).set_params(warm_start=kind).fit(X, y) for kind in ("dual", "primal")]
    w_size = models[0].w_.size
    for lam in (0.1, 0.03, 0.2):  # down and up
        for bounds in (None, [[-0.2] * w_size, [0.3] * w_size]):
            cold.set_params(lam=lam, bounds=bounds).fit(X, y)
            assert cold.converged_
            for model in models:
                model.set_params(lam=lam, bounds=bounds).fit(X, y)
                assert model.converged_
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


def test_other_data_raise(chains):
    X, y = chains
    model = ChainSSVM(lam=0.1, warm_start="primal", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="the last fit and requires its samples"):
        model.fit(X[1:], y[1:])
    with pytest.raises(ValueError, match="warm_start must be one of"):
        ChainSSVM(warm_start="both").fit(X, y)
