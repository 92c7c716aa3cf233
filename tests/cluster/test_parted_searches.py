"""Test searches over partitions on a Dask cluster."""

from itertools import pairwise

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

from sstruct import (
    ChainSSVM,
    LatentSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    PathCV,
    TreeSSVM,
    ssvm_path,
)
from sstruct._estimators.core.partitions import Partitions
from sstruct.datasets import make_sequences
from tests.estimators.tree.test_tree import candidates

CUTS = [0, 25, 55, 70, 100]
FOLDS = KFold(2)


@pytest.fixture(scope="module")
def data():
    return make_sequences(100, n_labels=3, n_features=6, random_state=0)


def partitions(values):
    import dask

    return [dask.delayed(values[a:b]) for a, b in pairwise(CUTS)]


def folds_of_samples():
    """Return the splits of samples that correspond to the splits of partitions by FOLDS."""
    numbers = np.split(np.arange(CUTS[-1]), CUTS[1:-1])
    return [
        tuple(np.concatenate([numbers[k] for k in some]) for some in split)
        for split in FOLDS.split(numbers)
    ]


@pytest.mark.parametrize("backend", ["dask", None])
@pytest.mark.slow
def test_grid_search(client, data, backend):
    X, y = data
    model = ChainSSVM(tol=1e-3, random_state=0)
    search = GridSearchCV(model, {"lam": [0.3, 3.0]}, cv=FOLDS)
    with joblib.parallel_config(backend=backend) if backend else joblib.parallel_config():
        remote = clone(search).fit(partitions(X), partitions(y))
    local = clone(search).set_params(cv=folds_of_samples()).fit(X, y)
    name = "split{}_test_score".format
    for k in range(2):
        found, expected = (of.cv_results_[name(k)] for of in (remote, local))
        if backend == "dask":  # each fit runs as a whole on one worker
            np.testing.assert_array_equal(found, expected)
        # Otherwise fits run in rounds to a gap of 1e-3: a few of the 400 labels may differ.
        np.testing.assert_allclose(found, expected, atol=0.02)
    assert remote.best_params_ == local.best_params_
    assert "rounds" in remote.best_estimator_.history_


@pytest.mark.parametrize("lams", [None, [1.0, 0.1]])
@pytest.mark.slow
def test_path_search(client, data, lams):
    X, y = data
    search = PathCV(ChainSSVM(random_state=0), lams=lams, eps=0.1, lam_min=0.01, cv=FOLDS)
    local = clone(search).set_params(cv=folds_of_samples()).fit(X, y)
    for given in ((partitions(X), partitions(y)), (partitions(list(zip(X, y))), None)):
        remote = clone(search).fit(*given)
        for key in ("split0_test_score", "split1_test_score", "param_lam"):
            np.testing.assert_array_equal(remote.cv_results_[key], local.cv_results_[key])
        assert remote.best_lam_ == local.best_lam_
        # The final fit runs in rounds to a gap of 0.01, so its weights differ.
        assert remote.score(*given) == pytest.approx(local.score(X, y), abs=0.02)
    with pytest.raises(ValueError, match="sample_weight is not supported for partitions"):
        clone(search).fit(partitions(X), partitions(y), np.ones(100))


def fit_in_task(search, partitions):
    return clone(search).fit(partitions.X, partitions.y)


@pytest.mark.parametrize(
    "size", [(1, 1), *(pytest.param(size, marks=pytest.mark.slow) for size in ((1, 2), (2, 1)))]
)
def test_searches_work_on_every_cluster_size(data, size):
    distributed = pytest.importorskip("distributed")
    X, y = data
    model = ChainSSVM(tol=0.1, random_state=0)
    path = PathCV(model, lams=[1.0, 0.1], cv=FOLDS)
    grid = GridSearchCV(model, {"lam": [1.0, 0.1]}, cv=FOLDS)
    local = clone(path).set_params(cv=folds_of_samples()).fit(X, y)
    with (
        distributed.LocalCluster(
            n_workers=size[0], threads_per_worker=size[1], processes=False,
            protocol="tcp://", host="127.0.0.1", dashboard_address=":0",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        given = partitions(X), partitions(y)
        held = Partitions.from_arguments(*given, rows=False)
        for search in (path, grid):
            with joblib.parallel_config(backend="dask"):
                on_dask = clone(search).fit(*given)
            # The whole search runs in one task, which must not wait for its own worker.
            in_task = client.submit(fit_in_task, search, held, pure=False).result(timeout=60)
            for remote in (clone(search).fit(*given), on_dask, in_task):
                if search is path:
                    for key in ("split0_test_score", "split1_test_score"):
                        np.testing.assert_array_equal(
                            remote.cv_results_[key], local.cv_results_[key]
                        )
                assert remote.score(*given) > 0.5


def test_error_for_folds_without_partitions(client, data):
    X, y = data
    for split, name in ((([], [0, 1]), "training"), (([0, 1], []), "test")):
        split = tuple(np.array(rows, dtype=int) for rows in split)
        search = PathCV(ChainSSVM(random_state=0), lams=[1.0], cv=[split])
        with pytest.raises(ValueError, match=f"split 0 of cv has no {name} partition"):
            search.fit(partitions(X), partitions(y))


def test_grid_search_over_partitions_of_rows(client, rows):
    X, Y, y = (values[:100] for values in rows)
    kinds = [X, sparse.csr_matrix(X), pd.DataFrame(X, columns=list("vwxyz"))]
    for model, truth in ((MulticlassSSVM(random_state=0), y), (MultilabelSSVM(random_state=0), Y)):
        grid = {"lam": [0.1, 1.0], "max_iter": [5], "tol": [0.5]}
        local = GridSearchCV(model, grid, cv=folds_of_samples()).fit(X, truth)
        for kind in kinds:
            with joblib.parallel_config(backend="dask"):
                remote = GridSearchCV(model, grid, cv=FOLDS).fit(
                    partitions(kind), partitions(truth)
                )
            np.testing.assert_allclose(
                remote.cv_results_["mean_test_score"], local.cv_results_["mean_test_score"]
            )


@pytest.mark.parametrize("kind", ["chains", "trees", "sets"])
def test_scores_equal_scores_of_all_samples(client, data, rows, rng, kind):
    if kind == "chains":
        X, y = data
        model = ChainSSVM(ignore_label=0, classes=[1, 2], random_state=0)
    elif kind == "trees":
        X, y = candidates(rng, [-1, 0, 0], 100)
        model = TreeSSVM(parents=[-1, 0, 0], random_state=0)
    else:
        X, y = rows[0][:100], rows[1][:100]
        model = MultilabelSSVM(random_state=0)
    model.fit(X, y)
    weights = np.arange(100) % 3 * (np.arange(100) >= 25)
    remote = model.score(partitions(X), partitions(y), weights)
    assert remote == pytest.approx(model.score(X, y, weights), rel=1e-12)
    with pytest.raises(ValueError, match="X has 0 samples, expected at least 1"):
        model.score(partitions(X[:0]), partitions(y[:0]))
    with pytest.raises(ValueError, match="X has 4 partitions and y has 3"):
        model.score(partitions(X), partitions(y)[:3])
    with pytest.raises((ValueError, TypeError), match="partition 2: "):
        model.score(partitions(X), [*partitions(y)[:2], partitions(X)[2], partitions(y)[3]])


def test_methods_without_support_for_partitions_raise(data):
    X, y = data
    parts = partitions(X), partitions(y)
    model = ChainSSVM(random_state=0, max_iter=2, tol=0.9)
    fitted = clone(model).fit(X, y)
    for call in (
        lambda: fitted.predict(parts[0]),
        lambda: ssvm_path(model, *parts),
        lambda: LatentSSVM(model).fit(*parts),
        lambda: clone(model).set_params(solver="pa").partial_fit(*parts, classes=[0, 1, 2]),
    ):
        with pytest.raises(
            TypeError, match="X is in partitions on a cluster, which only fit, score"
        ):
            call()
