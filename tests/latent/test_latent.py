"""LatentSSVM: what it shares with plain fits, starts, parameters, files."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sstruct import ChainSSVM, LatentSSVM
from sstruct.datasets import make_sequences


@pytest.fixture(scope="module")
def data():
    """Sequences, their labels, and the labels with half of them hidden."""
    X, y = make_sequences(n_samples=60, random_state=0)
    rng = np.random.default_rng(0)
    return X, y, [np.where(rng.random(len(labels)) < 0.5, -1, labels) for labels in y]


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
