"""Test subclasses with other constructors, Python with -OO, and Dask tokens."""

import subprocess
import sys

import numpy as np
import pytest

from sstruct import ChainSSVM, GridCRFSSVM, MulticlassSSVM
from sstruct.datasets import make_grids, make_sequences


class Chain(ChainSSVM):
    def __init__(self, alpha=0.01, solver="auto"):
        super().__init__(lam=alpha, solver=solver, max_iter=5, random_state=0, ignore_label=0)
        self.alpha = alpha


class Slack(MulticlassSSVM):
    def __init__(self, lam=0.01):
        super().__init__(lam=lam, rescaling="slack", random_state=0)


class Grid(GridCRFSSVM):
    def __init__(self, lam=0.01):
        super().__init__(lam=lam, connectivity=8, max_iter=5, random_state=0)


@pytest.mark.filterwarnings("ignore:.*stopped at:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["auto", "gdmm"])
def test_a_subclass_may_set_hidden_parameters(solver):
    X, y = make_sequences(n_samples=20, random_state=0)
    plain = ChainSSVM(lam=0.01, solver=solver, max_iter=5, random_state=0, ignore_label=0)
    own = Chain(solver=solver).fit(X, y)
    np.testing.assert_array_equal(own.w_, plain.fit(X, y).w_)
    assert own.score(X, y) == plain.score(X, y)


def test_a_subclass_may_set_the_rescaling(rng):
    X, y = rng.standard_normal((30, 3)), np.arange(30) % 3
    own = Slack().fit(X, y)
    slack = MulticlassSSVM(lam=0.01, rescaling="slack", random_state=0).fit(X, y)
    margin = MulticlassSSVM(lam=0.01, random_state=0).fit(X, y)
    np.testing.assert_array_equal(own.w_, slack.w_)
    assert not np.array_equal(own.w_, margin.w_)


@pytest.mark.filterwarnings("ignore:.*stopped at:sklearn.exceptions.ConvergenceWarning")
def test_a_subclass_may_set_the_connectivity():
    X, y = make_grids(n_samples=3, random_state=0)
    plain = GridCRFSSVM(lam=0.01, connectivity=8, max_iter=5, random_state=0)
    np.testing.assert_array_equal(Grid().fit(X, y).w_, plain.fit(X, y).w_)


@pytest.mark.slow
def test_estimators_import_without_docstrings():
    code = "from sstruct import ChainSSVM; ChainSSVM(lam=0.1)"
    subprocess.run([sys.executable, "-OO", "-c", code], check=True)


@pytest.mark.filterwarnings("ignore:.*stopped at:sklearn.exceptions.ConvergenceWarning")
def test_dask_tokens_of_models_differ(tiny_chains):
    base = pytest.importorskip("dask.base")
    X, y = tiny_chains
    tokens = {
        base.tokenize(model)
        for model in (Chain(0.1), Chain(0.2), Chain(0.1).fit(X, y), Chain(0.1).fit(X[:2], y[:2]))
    }
    assert len(tokens) == 4
    assert base.tokenize(Chain(0.1)) == base.tokenize(Chain(0.1))
