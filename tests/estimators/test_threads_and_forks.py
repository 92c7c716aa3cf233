"""Fits and predictions in several threads at once, and forks of the process beside them."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sstruct import ChainSSVM
from tests.estimators import test_fitted_state as small

pytestmark = pytest.mark.filterwarnings("ignore")


def fitted(X, y):
    return ChainSSVM(random_state=0, max_iter=5, tol=0, n_jobs=2).fit(X, y)


@pytest.fixture
def chains(rng):
    return [rng.standard_normal((9, 5)) for _ in range(30)], list(rng.integers(0, 3, (30, 9)))


def test_threads_give_the_bits_of_one(chains):
    X, y = chains
    model = fitted(X, y)
    labels = np.concatenate(model.predict(X))

    def work(_):
        return fitted(X, y).coef_, np.concatenate(model.predict(X))

    with ThreadPoolExecutor(8) as pool:
        for coef, found in pool.map(work, range(8)):
            np.testing.assert_array_equal(coef, model.coef_)
            np.testing.assert_array_equal(found, labels)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_forks_beside_a_fit_do_not_hang(chains):
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


@pytest.mark.parametrize("kind", small.KINDS)
def test_threads_fit_and_predict_as_one(kind):
    model, X = small.fitted(kind)
    expected = model.w_.tobytes(), repr(model.predict(X))

    def work(_):
        own, _ = small.fitted(kind)
        return own.w_.tobytes(), repr(model.predict(X)), repr(own.predict(X))

    with ThreadPoolExecutor(8) as pool:
        for w, of_model, of_own in pool.map(work, range(16)):
            assert (w, of_model) == expected
            assert of_own == of_model
