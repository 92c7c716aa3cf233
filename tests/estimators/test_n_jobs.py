"""n_jobs of estimators: the same bits for every number of threads, in fit and in predict."""

import threading

import numpy as np
import pytest

from sstruct import ChainSSVM
from sstruct._problems._chain import ChainProblem

FITTED = ("objective_", "dual_objective_", "n_oracle_calls_", "n_iter_", "status_")


@pytest.fixture(scope="module")
def costly_chains():
    """130 chains with oracles so dear that exact passes draw batches."""
    rng = np.random.default_rng(0)
    X = [rng.standard_normal((20, 200)) for _ in range(130)]
    return X, [rng.integers(0, 90, 20) for _ in X]


def fit(chains, **parameters):
    parameters = {"lam": 0.05, "tol": 0, "max_iter": 3, "random_state": 0, **parameters}
    return ChainSSVM(classes=np.arange(90), **parameters).fit(*chains)


def same(a, b):
    np.testing.assert_array_equal(a.w_, b.w_)
    assert [getattr(a, name) for name in FITTED] == [getattr(b, name) for name in FITTED]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("sampling", ["permutation", "gap"])
def test_same_bits(costly_chains, sampling):
    X, y = costly_chains
    problem = ChainProblem(np.vstack(X), np.arange(0, 2600, 20), [20] * 130, 90, np.hstack(y))
    assert problem.batch_size > 1
    one = fit(costly_chains, sampling=sampling)
    for n_jobs in (2, 3, -1):
        other = fit(costly_chains, sampling=sampling, n_jobs=n_jobs)
        same(other, one)
        for a, b in zip(other.predict(X), one.predict(X), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fits_in_several_python_threads(costly_chains):
    one, models = fit(costly_chains), {}

    def work(k):
        models[k] = fit(costly_chains, n_jobs=k)

    threads = [threading.Thread(target=work, args=(k,)) for k in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in (1, 2, 3):
        same(models[k], one)
