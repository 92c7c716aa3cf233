"""Test splits, files, threads and conventions of estimators with held-out samples."""

import pickle
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
import skops.io
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sstruct import ChainSSVM, MulticlassSSVM, PathCV
from sstruct.calibration import CalibratedSSVM, ConformalSSVM, TunedThresholdSSVM
from sstruct.preprocessing import PerNode
from sstruct.solvers import MPBCFW
from tests.calibration.test_calibrated import chain
from tests.calibration.test_conformal import sequences
from tests.calibration.test_tuned_thresholds import RESULTS, labels, rare_labels
from tests.estimators.equal import equal


@dataclass
class Kind:
    """A meta-estimator with its estimator, fitted attributes and prediction method."""

    make: type
    inner: type
    attributes: tuple
    method: str

    def data(self):
        if self.inner is labels:
            return rare_labels(0, 120)
        return sequences(np.random.default_rng(0), 40)

    def results(self, model, X):
        return [getattr(model, name) for name in self.attributes] + [self.call(model, X)]

    def call(self, model, X):
        return getattr(model, self.method)(X)


KINDS = {
    "calibrated": Kind(CalibratedSSVM, chain, ("temperature_",), "predict_proba"),
    "labelings": Kind(ConformalSSVM, chain, ("conformity_scores_",), "predict_set"),
    "nodes": Kind(
        partial(ConformalSSVM, target="nodes"), chain, ("conformity_scores_",), "predict_set"
    ),
    "thresholds": Kind(TunedThresholdSSVM, labels, RESULTS, "predict"),
}
kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@pytest.mark.slow
@kinds
@pytest.mark.parametrize("n_jobs", [2, -1])
def test_results_do_not_depend_on_n_jobs(kind, n_jobs):
    X, y = kind.data()
    one, other = (kind.make(kind.inner(n_jobs=n), cv=4, n_jobs=n).fit(X, y) for n in (None, n_jobs))
    assert equal(kind.results(other, X), kind.results(one, X))
    np.testing.assert_array_equal(other.estimator_.w_, one.estimator_.w_)


@kinds
def test_parameters_searches_and_pipelines(kind):
    X, y = kind.data()
    model = kind.make(kind.inner(), cv=3).fit(X, y)
    other = clone(model).set_params(estimator__lam=0.5, cv=2)
    assert (other.estimator.lam, model.estimator.lam) == (0.5, kind.inner().lam)
    with pytest.raises(NotFittedError):
        kind.call(other, X)
    assert not hasattr(other, "classes_")
    assert model.classes_.tolist() == list(range(len(model.classes_)))
    assert model.n_features_in_ == len(X[0].T)
    search = GridSearchCV(
        kind.make(kind.inner(), cv=2), {"estimator__lam": [0.1, 1.0]}, cv=2, error_score="raise"
    )
    assert kind.call(search.fit(X, y).best_estimator_, X) is not None
    scaler = PerNode(StandardScaler()) if kind.inner is chain else StandardScaler()
    pipeline = make_pipeline(scaler, kind.make(kind.inner(), cv=2)).fit(X, y)
    scaled = pipeline[:-1].transform(X)
    expected = kind.make(kind.inner(), cv=2).fit(scaled, y)
    assert equal(kind.results(pipeline[-1], scaled), kind.results(expected, scaled))


@kinds
def test_groups_are_passed_to_the_splitter(kind):
    X, y = kind.data()
    groups = np.arange(len(X)) % 4
    grouped = kind.make(kind.inner(), cv=GroupKFold(4)).fit(X, y, groups=groups)
    cv = [*GroupKFold(4).split(X, groups=groups)]
    expected = kind.make(kind.inner(), cv=cv).fit(X, y)
    assert equal(kind.results(grouped, X), kind.results(expected, X))


@pytest.mark.parametrize("kind", [*list(KINDS.values())[:3], Kind(PathCV, chain, (), "predict")])
def test_errors_have_the_index_among_all_samples(kind):
    X, y = kind.data()
    X[-1][0] = np.nan
    with pytest.raises(ValueError, match=rf"X\[{len(X) - 1}\].*NaN"):
        kind.make(kind.inner(), cv=3).fit(X, y)


@pytest.mark.parametrize("kind", [CalibratedSSVM, KINDS["nodes"].make, PathCV])
def test_unknown_labels_are_found_before_the_split(kind):
    X = np.random.default_rng(0).normal(size=(9, 2))
    for y in (np.array([0, 1, np.nan] * 3), ["a", "b", None] * 3):
        with pytest.raises(ValueError, match=r"y\[2\] is .*remove samples with unknown labels"):
            kind(MulticlassSSVM(), cv=3).fit(X, y)
    y = [np.array([0, 1])] * 8 + [np.array([0.0, np.nan])]
    with pytest.raises(ValueError, match=r"y\[8\] at node 1 is NaN"):
        kind(ChainSSVM(), cv=3).fit([X[:2]] * 9, y)


@kinds
@pytest.mark.parametrize("wrap", [False, True])
def test_files(kind, wrap):
    X, y = kind.data()
    inner = chain(transition_mask=lambda a, b: True) if kind.inner is chain else labels()
    model = kind.make(FrozenEstimator(inner.fit(X, y)) if wrap else inner, cv=2).fit(X, y)
    stored = skops.io.dumps(model)
    trusted = skops.io.get_untrusted_types(data=stored)
    assert all(name.startswith("sstruct.") for name in trusted)
    for other in (pickle.loads(pickle.dumps(model)), skops.io.loads(stored, trusted=trusted)):
        assert equal(kind.results(other, X), kind.results(model, X))
        np.testing.assert_array_equal(other.estimator_.w_, model.estimator_.w_)


@pytest.mark.parametrize("name", ["calibrated", "labelings", "nodes"])
def test_methods_of_the_estimator(name):
    kind = KINDS[name]
    X, y = kind.data()
    model = kind.make(kind.inner()).fit(X, y)
    estimator = model.estimator_
    assert model.score(X, y) == estimator.score(X, y)
    known = [[2, *[None] * (len(x) - 1)] for x in X]
    assert equal(model.predict(X), estimator.predict(X))
    assert equal(model.predict(X, y_partial=known), estimator.predict(X, known))
    assert equal(model.decision_function(X), estimator.decision_function(X))


@kinds
@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"cv": 1}, ValueError, "cv=1 cannot split"),
        ({"cv": []}, ValueError, "cv yields no splits"),
        ({"cv": b"5"}, TypeError, "cv must be"),
        ({"cv": [([0, 1], [999])]}, ValueError, "row 999, but X has .* samples"),
        ({"cv": GroupKFold}, TypeError, "an instance of a splitter, found the class GroupKFold"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be"),
        ({"estimator": None}, TypeError, "must be "),
        ({"estimator__solver": MPBCFW(checkpoint="x")}, ValueError, "use checkpoint=None"),
    ],
)
def test_invalid_parameters(kind, options, error, message):
    model = kind.make(kind.inner()).set_params(**options)
    with pytest.raises(error, match=message):
        model.fit(*kind.data())
    assert not hasattr(model, kind.attributes[0])


@kinds
def test_nested_pipelines_raise(kind):
    model = kind.make(make_pipeline(kind.inner()))
    with pytest.raises(TypeError, match=f"make {type(model).__name__} the last step"):
        model.fit(*kind.data())
