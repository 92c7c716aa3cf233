"""Test partitions of rows on a Dask cluster, in arrays and data frames."""

import pickle
from itertools import pairwise

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from sstruct import MulticlassSSVM, MultilabelSSVM
from tests.cluster.test_partitions import assert_same_model

CUTS = [0, 0, 40, 70, 120]
WEIGHTS = np.arange(120) % 3
SETS = MultilabelSSVM(lam=0.1, tol=0.02, random_state=0)
CLASSES = MulticlassSSVM(lam=0.1, tol=0.02, random_state=0)


def cut(values):
    import dask

    return [dask.delayed(values[a:b]) for a, b in pairwise(CUTS)]


def assert_same_optimum(local, remote):
    assert local.converged_
    assert remote.converged_
    assert remote.lam_ == pytest.approx(local.lam_, rel=1e-12)
    assert remote.inference_ == local.inference_
    assert abs(remote.objective_ - local.objective_) <= 0.02 * local.objective_
    assert remote.dual_objective_ <= local.objective_ * (1 + 1e-12)
    assert local.dual_objective_ <= remote.objective_ * (1 + 1e-12)
    assert (np.diff(remote.history_["dual"]) >= -1e-12).all()


@pytest.mark.parametrize(
    "options", [{}, {"edges": [-1, 0, 1, 2]}], ids=lambda options: "-".join(options) or "plain"
)
def test_sets_of_labels(client, rows, options):
    X, Y, _ = rows
    if "edges" in options:  # each set must contain the ancestors of its labels
        Y = np.logical_and.accumulate(Y, axis=1).astype(int)
    model = clone(SETS).set_params(**options)
    local = clone(model).fit(X, Y, WEIGHTS)
    remote = model.fit(cut(X), cut(Y), WEIGHTS)
    assert_same_optimum(local, remote)
    np.testing.assert_array_equal(remote.edges_, local.edges_)
    copy = pickle.loads(pickle.dumps(remote))
    np.testing.assert_array_equal(copy.predict(X), remote.predict(X))
    assert remote.score(X, Y) > 0.9 * local.score(X, Y)


def test_certificate_covers_all_rows(client, rows):
    X, _, y = rows
    model = clone(CLASSES).fit(cut(X), cut(y))
    codes = np.searchsorted(model.classes_, y)
    scores = X @ model.coef_.T + model.intercept_
    right = scores[np.arange(120), codes]
    scores += np.arange(3) != codes[:, np.newaxis]
    objective = (scores.max(axis=1) - right).mean() + 0.05 * model.w_ @ model.w_
    assert model.objective_ == pytest.approx(objective, rel=1e-12)


def test_kinds_of_partitions_agree(client, rows):
    da = pytest.importorskip("dask.array")
    X, Y, y = rows
    chunks = tuple(np.diff(CUTS[1:]).tolist())
    model = clone(CLASSES).fit(cut(X)[1:], cut(y)[1:])
    narrow = da.from_array(X, chunks=(chunks, 2))
    arrays = clone(CLASSES).fit(narrow, da.from_array(y, chunks=(chunks,)))
    assert_same_model(arrays, model)
    tall = [sparse.csr_matrix(X[a:b]) for a, b in pairwise(CUTS[1:])]
    by_rows = clone(CLASSES).fit(client.scatter(tall), client.compute(cut(y)[1:]))
    assert by_rows.dual_objective_ <= model.objective_ * (1 + 1e-12)
    assert model.dual_objective_ <= by_rows.objective_ * (1 + 1e-12)
    assert by_rows.converged_
    frames = pd.DataFrame(X, columns=list("vwxyz")), pd.DataFrame(Y, columns=list("mnop"))
    named = clone(SETS).fit(*[cut(frame)[1:] for frame in frames])
    assert named.feature_names_in_.tolist() == list("vwxyz")
    assert named.classes_.tolist() == list("mnop")
    assert_same_model(named, clone(SETS).fit(cut(X)[1:], cut(Y)[1:]))


def test_frames_of_dask(client, rows):
    dd = pytest.importorskip("dask.dataframe")
    X, Y, _ = rows
    frames = pd.DataFrame(X, columns=list("vwxyz")), pd.DataFrame(Y, columns=list("mnop"))
    named = clone(SETS).fit(*[dd.from_pandas(frame, npartitions=3) for frame in frames])
    assert named.feature_names_in_.tolist() == list("vwxyz")
    edges = [0, 40, 80, 120]
    parts = [[client.scatter(of[a:b]) for a, b in pairwise(edges)] for of in (X, Y)]
    assert_same_model(named, clone(SETS).fit(*parts))


def test_error_for_inconsistent_partitions(client, rows):
    X, Y, y = rows
    bad = X.copy()
    bad[50, 1] = np.nan
    cases = [
        (CLASSES, (cut(bad), cut(y)), "partition 2: Input X contains NaN"),
        (CLASSES, (cut(X), cut(y[:110])), "partition 3 has 50 samples in X and 40 in y"),
        (CLASSES, (cut(X), cut(y)[1:]), "X has 4 partitions and y has 3"),
        (CLASSES, ([*cut(X)[:3], cut(X[:, 1:])[3]], cut(y)), "partition 3: n_features_in_ is 4"),
        (SETS, (cut(X), [*cut(Y)[:3], cut(y)[3]]), "partition 3 of y has one label per row, but"),
        (SETS, (cut(X), [*cut(Y)[:3], cut(Y[:, 1:])[3]]), "partition 3: classes_ is"),
        (clone(SETS).set_params(edges="tree"), (cut(X), cut(Y)), "edges='tree' is not"),
        (SETS, (cut(X), cut(np.tile(Y, 6))), "edges='auto' chooses pairs of 24 labels"),
        (clone(SETS).set_params(loss="balanced"), (cut(X), cut(Y)), 'loss="balanced" is not'),
    ]
    for model, (X_parts, y_parts), message in cases:
        with pytest.raises(ValueError, match=message):
            clone(model).fit(X_parts, y_parts)
    with pytest.raises(TypeError, match="y is None, expected partitions of labels"):
        clone(CLASSES).fit(cut(X), None)


@pytest.mark.parametrize("repeats, is_divided", [(1, True), (6, False)])
def test_lists_are_not_divided_if_edges_are_chosen(client, rows, repeats, is_divided):
    X, Y, _ = rows
    model = clone(SETS)  # edges="auto" connects few labels fully, and chooses pairs of many
    with joblib.parallel_config(backend="dask", n_jobs=2):
        model.fit(X, np.tile(Y, repeats))
    assert ("rounds" in model.history_) == is_divided
