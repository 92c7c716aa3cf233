"""Test concurrent fits and predictions in threads while the process forks."""

import math
import os
import time
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from sstruct import ChainSSVM
from sstruct._compat import max_threads
from sstruct._input.threads import n_threads
from tests.registry import TRAINED

pytestmark = pytest.mark.filterwarnings("ignore")


def fitted(X, y):
    return ChainSSVM(random_state=0, max_iter=5, tol=0, n_jobs=2).fit(X, y)


@pytest.fixture
def chains(rng):
    return [rng.standard_normal((9, 5)) for _ in range(30)], list(rng.integers(0, 3, (30, 9)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_forks_during_a_fit_do_not_hang(chains):
    X, y = chains
    with ThreadPoolExecutor(1) as pool:
        for _ in range(5):
            beside = pool.submit(fitted, X, y)
            child = os.fork()
            if child == 0:
                fitted(X, y)
                os._exit(0)
            end = time.monotonic() + 20
            while os.waitpid(child, os.WNOHANG) == (0, 0):
                if time.monotonic() > end:
                    os.kill(child, 9)
                    pytest.fail("the child hung")
                time.sleep(0.001)
            beside.result()


@pytest.mark.parametrize("example", TRAINED.values(), ids=TRAINED)
def test_concurrent_fits_and_predictions_of_every_estimator(example):
    X, y = example.samples()
    model = example.unfitted().fit(X, y)
    expected = model.w_.tobytes(), repr(model.predict(X))

    def work(_):
        own = example.unfitted().fit(X, y)
        return own.w_.tobytes(), repr(model.predict(X)), repr(own.predict(X))

    with ThreadPoolExecutor(8) as pool:
        for w, of_model, of_own in pool.map(work, range(16)):
            assert (w, of_model) == expected
            assert of_own == of_model


ASKED = (None, 1, 3, -1, -2)


def counts():
    return [n_threads(n) for n in ASKED]


needs_openmp = pytest.mark.skipif(
    max_threads() == math.inf, reason="scikit-learn was built without OpenMP"
)


@pytest.mark.slow
@needs_openmp
@pytest.mark.parametrize("share", [1, 2])
def test_a_worker_of_joblib_uses_at_most_its_share(share):
    with joblib.parallel_config(backend="loky", inner_max_num_threads=share):
        # A function of the package, so that workers need not import this file.
        found = joblib.Parallel(n_jobs=2)(joblib.delayed(n_threads)(n) for n in ASKED)
    cores = joblib.cpu_count()
    assert found == [1, 1, 3, min(share, cores), min(share, max(cores - 1, 1))]


@needs_openmp
def test_limits_of_thread_pools_are_kept():
    with threadpool_limits(1):
        assert counts() == [1, 1, 3, 1, 1]


def test_deeper_levels_of_joblib_have_one_thread():
    def inner():
        return joblib.Parallel(n_jobs=2)(joblib.delayed(counts)() for _ in range(2))

    with joblib.parallel_config(backend="threading"):
        found = joblib.Parallel(n_jobs=2)(joblib.delayed(inner)() for _ in range(2))
    assert found == 2 * [2 * [[1, 1, 1, 1, 1]]]


def test_fits_in_workers_equal_fits_outside(chains):
    X, y = chains
    model = ChainSSVM(random_state=0, max_iter=5, tol=0, n_jobs=-1)
    outside = model.fit(X, y).w_
    for backend in ("loky", "threading"):
        with joblib.parallel_config(backend=backend):
            models = joblib.Parallel(n_jobs=2)(joblib.delayed(model.fit)(X, y) for _ in range(2))
        for inside in models:
            np.testing.assert_array_equal(inside.w_, outside)
