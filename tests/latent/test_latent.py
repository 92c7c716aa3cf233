"""LatentSSVM without hidden labels equals a plain fit."""

import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sstruct import ChainSSVM, LatentSSVM


def chain(**parameters):
    return ChainSSVM(**{"lam": 0.01, "ignore_label": -1, "random_state": 0} | parameters)


def quietly(fit, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(*arguments)


@pytest.mark.parametrize("solver", ["auto", "bcfw", "fw", "ssg", "gdmm"])
def test_with_nothing_hidden_it_is_the_plain_fit(data, solver):
    X, y, _ = data
    model = chain(solver=solver, max_iter=30)
    plain, latent = quietly(clone(model).fit, X, y), quietly(LatentSSVM(model).fit, X, y)
    assert np.array_equal(latent.estimator_.w_, plain.w_)
    assert latent.n_rounds_ == 1
    assert latent.n_hidden_ == 0
    assert latent.objective_ == plain.objective_


@pytest.mark.parametrize("n_complete", [0, 1, 2])
def test_ctrl_c_keeps_completed_rounds(data, n_complete):
    X, _, y = data
    fits = []

    def interrupts(info):
        if info["passes"] == 1:
            fits.append(info)
        if len(fits) == n_complete + 2:  # the first fit completes the labels
            raise KeyboardInterrupt

    model = LatentSSVM(chain(), tol=0)
    expected = quietly(clone(model).set_params(max_rounds=max(n_complete, 1)).fit, X, y)
    model.estimator.set_callbacks(interrupts)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert hasattr(model, "estimator_") == (n_complete > 0)
    if n_complete:
        np.testing.assert_array_equal(model.estimator_.w_, expected.estimator_.w_)
        assert model.objective_ == expected.objective_
        assert (model.n_rounds_, model.converged_) == (n_complete, False)
        assert "_warm_state" not in vars(model.estimator_)


def test_ctrl_c_keeps_completed_starts(data):
    X, _, y = data
    n_fits = {1: 0, 2: 0}

    def interrupts(info):
        n_fits[model.n_init] += info["passes"] == 1
        if n_fits[2] > n_fits[1]:
            raise KeyboardInterrupt

    models = [LatentSSVM(chain(), n_init=n_init, random_state=0) for n_init in n_fits]
    for model in models:
        model.estimator.set_callbacks(interrupts)
        with nullcontext() if model.n_init == 1 else pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    np.testing.assert_array_equal(*[model.estimator_.w_ for model in models])
    assert all(model.converged_ for model in models)
