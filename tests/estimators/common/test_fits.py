"""Test weights, threads, warm starts, files and searches of all estimators."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict

from sstruct import PathCV, ssvm_path
from sstruct.solvers import MPBCFW
from tests.estimators.equal import equal
from tests.estimators.same_bits import assert_same_bits, check_resuming
from tests.registry import TRAINED

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
TIGHT = {"tol": 1e-7, "max_iter": 5000}
VARIANTS = [
    pytest.param(example, parameters, id=f"{name}-{parameters}")
    for name, example in TRAINED.items()
    for parameters in example.variants()
    if parameters.get("inference") != "relaxed"  # takes many passes
]
variants = pytest.mark.parametrize("example, parameters", VARIANTS)
examples = pytest.mark.parametrize("example", TRAINED.values(), ids=TRAINED)


def assert_same_optimum(a, b):
    """Compare the objectives and bounds of two fits to the same problem."""
    if "approximate" in a.inference_:  # the objective counts labelings that the decoder finds
        assert a.objective_ == pytest.approx(b.objective_, rel=0.01)
        return
    assert a.dual_objective_ <= b.objective_ * (1 + 1e-9)
    assert b.dual_objective_ <= a.objective_ * (1 + 1e-9)
    if a.converged_ and b.converged_:
        assert a.objective_ == pytest.approx(b.objective_, rel=2e-7)


def weighing_parameters(example):
    """Yield parameters whose values change the weights of samples, nodes or classes."""
    yield {"lam": "auto"}
    for name in ("loss", "class_weight"):
        for value in example.parameters.get(name, ()):
            if isinstance(value, str):
                yield {name: value}


WEIGHED = [
    pytest.param(example, parameters, id=f"{name}-{parameters}")
    for name, example in TRAINED.items()
    for parameters in weighing_parameters(example)
]
weighed = pytest.mark.parametrize("example, parameters", [*VARIANTS, *WEIGHED])


@weighed
def test_weights_are_copies(example, parameters):
    X, y = example.samples(8)
    weights = np.array([1, 1, 1, 1, 1, 0, 2, 3])
    model = example.unfitted(**TIGHT | parameters)
    copies = np.repeat(np.arange(8), weights)
    one = clone(model).fit(X, y, weights)
    other = clone(model).set_params(random_state=1).fit(*(picked(data, copies) for data in (X, y)))
    assert one.lam_ == pytest.approx(other.lam_, rel=1e-12)
    assert_same_optimum(one, other)
    kept = np.flatnonzero(weights)
    without = clone(model).fit(*(picked(data, kept) for data in (X, y)), weights[kept])
    assert_same_optimum(one, without)


def picked(data, rows):
    return data[rows] if isinstance(data, np.ndarray) else [data[i] for i in rows]


@weighed
def test_warm_starts(example, parameters):
    X, y = example.samples(24)
    cold = example.unfitted(**TIGHT | parameters).fit(X, y)
    for warm_start in ("dual", "primal"):
        model = clone(cold).set_params(warm_start=warm_start).fit(X[:18], y[:18])
        model = pickle.loads(pickle.dumps(model)).fit(X, y)
        assert_same_optimum(model, cold)
        assert model.fit(X, y).n_oracle_calls_ <= cold.n_oracle_calls_
        assert_same_optimum(model, cold)
        with pytest.raises(ValueError, match="warm_start"):
            model.fit(X[1:], y[1:])


@examples
def test_early_stopping_keeps_the_best_weights(example, rng):
    model = example.unfitted(max_iter=12, solver=MPBCFW(early_stopping=True))
    X, y = example.samples(40)
    fitted = clone(model).fit(X[:30], y[:30], X_val=X[30:], y_val=y[30:])
    scores = fitted.history_["validation_score"]
    assert np.isfinite(scores).all()
    assert len(scores) == len(fitted.history_["passes"])
    for same in (fitted, pickle.loads(pickle.dumps(fitted))):
        assert same.score(X[30:], y[30:]) == scores.max()
    model.set_params(solver__validation_fraction=0.25).fit(*example.varied(rng, 40))
    assert np.isfinite(model.history_["validation_score"]).all()


@variants
def test_fits_are_resumed_from_any_pass(example, parameters, tmp_path, monkeypatch):
    model = example.unfitted(**{"lam": 0.01, "tol": 0, "max_iter": 6} | parameters)
    check_resuming(model, *example.samples(12), tmp_path / "fit.npz", monkeypatch, least=1)


def is_supported_by_paths(parameters):
    return not any(word in str(parameters) for word in ("couple_windows", "fixed"))


@pytest.mark.parametrize(
    "example, parameters", [v for v in VARIANTS if is_supported_by_paths(v.values[1])]
)
def test_paths(example, parameters):
    X, y = example.samples(12)
    model = example.unfitted(**{"max_iter": 5000} | parameters)
    path = ssvm_path(model.set_params(lam="auto"), X, y, eps=0.05, lam_min=0.1)
    for lam in np.geomspace(2 * path.lams_[0], max(path.lam_end_, 0.1), 3):
        found, gap = path.estimator(lam), path.gap(lam)
        np.testing.assert_array_equal(found.w_, path.w(lam))
        again = pickle.loads(pickle.dumps(path)).estimator(lam)
        assert equal(again.predict(X), found.predict(X))
        if path.certified_:
            tight = clone(model).set_params(lam=lam, tol=1e-6).fit(X, y)
            assert tight.dual_objective_ <= found.objective_ * (1 + 1e-12)
            assert found.objective_ <= tight.objective_ * (1 + 1e-12) + gap
            # The objective is strongly convex.
            distance = np.sqrt(2 * gap / lam) + np.sqrt(2 * tight.dual_gap_ / lam)
            scale = max(getattr(found, "pairwise_scale_", 1), 1)
            assert np.linalg.norm(found.w_ - tight.w_) <= scale * distance + 1e-9


@examples
def test_searches_along_paths(example):
    search = PathCV(example.unfitted(max_iter=5000), lams=[1.0, 0.1], cv=3)
    search.fit(*example.samples(12))
    assert search.best_estimator_.lam_ == search.best_lam_


@pytest.mark.parametrize(
    "example, parameters", [v for v in VARIANTS if not {"solver", "window_size"} & {*v.values[1]}]
)
def test_every_solver_approaches_the_optimum(example, parameters):
    X, y = example.samples()
    best = example.unfitted(**{"max_iter": 5000, "tol": 1e-4} | parameters).fit(X, y)
    for solver in ("bcfw", "fw", "ssg", "cutting-plane"):
        found = clone(best).set_params(solver=solver, tol=1e-2, max_iter=500).fit(X, y)
        if "approximate" not in best.inference_:
            assert best.dual_objective_ <= found.objective_ * (1 + 1e-9), solver
            assert not found.dual_objective_ > best.objective_ * (1 + 1e-9), solver
        if best.inference_.endswith("(exact)"):
            assert found.objective_ <= 1.15 * best.objective_, solver


@pytest.mark.parametrize("name", ["graph", "featured graph", "maps"])
def test_paths_without_lam_min_are_not_empty(name):
    example = TRAINED[name]
    path = ssvm_path(example.unfitted(lam="auto", max_iter=5000), *example.samples(12), eps=0.5)
    assert len(path.lams_)


@examples
def test_searches(example):
    X, y = example.samples(12)
    search = GridSearchCV(example.unfitted(), {"lam": [1.0, 0.01]}, cv=3, error_score="raise")
    assert len(search.fit(X, y).predict(X)) == 12
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert len(cross_val_predict(example.unfitted(), X, y, cv=3)) == 12


@variants
def test_known_labels(example, parameters):
    X, _ = example.samples()
    model = example.fitted(**parameters)
    if "y_partial" not in inspect.signature(model.predict).parameters:
        pytest.skip("no known labels")
    predicted = model.predict(X)
    assert equal(model.predict(X, [None] * len(X)), predicted)
    other = copy.deepcopy(model)
    other._w = 0 * model._w
    if equal(other.predict(X), predicted):
        other._w = -model._w
    known = other.predict(X)
    assert not equal(known, predicted)
    assert equal(model.predict(X, known), known)


# Oracles are tested in tests/estimators/custom/test_custom_jobs.py.
@pytest.mark.parametrize(
    "example, parameters", [v for v in VARIANTS if "oracle" not in v.values[0].required]
)
def test_same_bits_for_every_n_jobs(example, parameters, small_fits_at_once):
    X, y = example.samples(40)
    model = example.unfitted(**{"lam": 0.01} | parameters)
    one, other = (clone(model).set_params(n_jobs=n).fit(X, y) for n in (1, 3))
    assert_same_bits(other, one)
    assert equal(other.predict(X), one.predict(X))
    if "y_partial" in inspect.signature(one.predict).parameters:
        known = [label if i % 2 else None for i, label in enumerate(one.predict(X))]
        assert equal(other.predict(X, known), one.predict(X, known))
