"""Searches on a Dask cluster whose fits run on the workers, on dates of real digits."""

import joblib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from sstruct import ChainSSVM, PathCV, StructuredSVM
from sstruct.datasets import load_digit_dates

pytestmark = pytest.mark.filterwarnings("ignore:.*stopped at relative duality gap")


@pytest.fixture(scope="module")
def dates():
    return load_digit_dates(n_train=60, return_X_y=True)


class Reading:
    """An oracle that predicts each digit of a date separately."""

    def joint_feature(self, x, y):
        out = np.zeros((11, x.shape[1]))
        np.add.at(out, y, x)
        return out.ravel()

    def loss(self, y_true, y):
        return float(np.mean(y_true != y))

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        scores = x @ w.reshape(11, -1).T
        if y_true is not None:
            scores += loss_weight / len(x) * (np.arange(11) != y_true[:, None])
        return scores.argmax(axis=1)


LAMS = {"lam": [0.03, 0.3]}
SEARCHES = [
    GridSearchCV(ChainSSVM(random_state=0), LAMS, cv=2),
    GridSearchCV(StructuredSVM(Reading(), max_iter=4, random_state=0), LAMS, cv=2),
    PathCV(ChainSSVM(random_state=0), lams=[1.0, 0.1], cv=2),
]


@pytest.mark.parametrize("search", SEARCHES, ids=["grid of chains", "grid of an oracle", "path"])
def test_searches_on_a_cluster_agree_with_local_ones(client, dates, search):
    local = search.fit(*dates)
    results = {k: v for k, v in local.cv_results_.items() if "test_score" in k}
    best, weights = local.best_params_, local.best_estimator_.w_
    with joblib.parallel_config(backend="dask"):
        remote = search.fit(*dates)
    for name, values in results.items():
        np.testing.assert_array_equal(remote.cv_results_[name], values, err_msg=name)
    assert remote.best_params_ == best
    np.testing.assert_array_equal(remote.best_estimator_.w_, weights)
