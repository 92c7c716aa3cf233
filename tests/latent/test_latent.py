"""LatentSSVM without hidden labels equals a plain fit."""

import warnings

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
