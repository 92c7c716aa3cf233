"""Test scikit-learn's conventions for LatentSSVM."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sstruct import (
    ChainSSVM,
    GraphCRFSSVM,
    LatentSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    PathCV,
    TreeSSVM,
)
from sstruct.preprocessing import PerNode
from sstruct.solvers import MPBCFW
from tests.latent.test_latent import chain, quietly


def hidden(data):
    X, _, partly = data
    return X[:30], partly[:30]


def test_parameters_are_nested():
    latent = LatentSSVM(chain(), tol=0.01)
    assert latent.get_params()["estimator__lam"] == 0.01
    other = clone(latent).set_params(estimator__lam=0.5, states_per_label=2)
    assert (other.estimator.lam, other.states_per_label, latent.estimator.lam) == (0.5, 2, 0.01)
    assert repr(latent).startswith("LatentSSVM(estimator=ChainSSVM(ignore_label=-1, lam=0.01")


def test_fit_does_not_change_the_estimator(data):
    inner = chain(warm_start=True)
    latent = LatentSSVM(inner).fit(*hidden(data))
    assert not hasattr(inner, "w_")
    assert latent.estimator_.warm_start is True
    assert "_warm_state" not in vars(latent.estimator_)


def test_pipeline(data):
    X, y = hidden(data)
    pipeline = make_pipeline(PerNode(StandardScaler()), LatentSSVM(chain())).fit(X, y)
    assert pipeline.score(X, y) > 0.7
    with pytest.raises(TypeError, match="put LatentSSVM at the end of the pipeline"):
        LatentSSVM(make_pipeline(PerNode(StandardScaler()), chain())).fit(X, y)


def test_sample_weights_equal_repeated_samples(data):
    X, y = hidden(data)
    weights = np.arange(len(X)) % 3
    copies = np.repeat(np.arange(len(X)), weights)
    tight = chain(tol=1e-9, max_iter=100_000)
    # One round, because completions may tie at the optimum of a fit, so rounding decides.
    weighted = quietly(LatentSSVM(tight, max_rounds=1).fit, X, y, weights)
    copied = [X[i] for i in copies], [y[i] for i in copies]
    copied = quietly(LatentSSVM(tight, max_rounds=1).fit, *copied)
    assert weighted.objective_ == pytest.approx(copied.objective_, rel=1e-6)
    np.testing.assert_allclose(weighted.estimator_.w_, copied.estimator_.w_, atol=1e-3)


def test_node_weights(data):
    X, y = hidden(data)
    doubled = [np.full(len(x), 2.0) for x in X]
    doubled = quietly(LatentSSVM(chain(lam=0.01, tol=1e-6), max_rounds=1).fit, X, y, doubled)
    # With losses doubled, the objective at w is twice the objective for 2 lam at w / 2.
    plain = quietly(LatentSSVM(chain(lam=0.02, tol=1e-6), max_rounds=1).fit, X, y)
    np.testing.assert_allclose(doubled.estimator_.w_, 2 * plain.estimator_.w_, atol=0.05)


def test_feature_names(data):
    X, y = hidden(data)
    frames = [pd.DataFrame(x).add_prefix("f") for x in X]
    for n_states in (1, 2):
        latent = LatentSSVM(chain(), states_per_label=n_states, random_state=0, tol=0.1)
        latent.fit(frames, y)
        assert latent.feature_names_in_[0] == "f0"
        assert latent.n_features_in_ == X[0].shape[1]
        assert latent.classes_.tolist() == [0, 1, 2, 3]


def test_not_fitted(data):
    latent = LatentSSVM(chain())
    with pytest.raises(NotFittedError):
        latent.predict(data[0])
    for name in ("classes_", "n_features_in_", "feature_names_in_"):
        assert not hasattr(latent, name)
    assert not hasattr(LatentSSVM(TreeSSVM(parents=[-1])), "predict_proba")


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_results_do_not_depend_on_n_jobs(data, n_jobs, small_fits_at_once):
    fits = [
        LatentSSVM(chain(n_jobs=jobs), states_per_label=2, tol=0.01, random_state=0)
        for jobs in (None, n_jobs)
    ]
    a, b = (fit.fit(*hidden(data)).estimator_.w_ for fit in fits)
    assert np.array_equal(a, b)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("n_rounds_", 99, r"history_\['objective'\]"),
        ("_n_states", 3, "states for each label"),
        ("estimator_", 3, "expected a BaseSSVM"),
        ("history_", {}, "history_"),
        ("objective_", "low", "objective_ is"),
    ],
)
def test_invalid_pickled_state(data, name, value, message):
    latent = LatentSSVM(chain(), states_per_label=2, tol=0.1, random_state=0).fit(*hidden(data))
    state = latent.__getstate__() | {name: value}
    other = LatentSSVM.__new__(LatentSSVM)
    with pytest.raises(ValueError, match=message):
        other.__setstate__(state)


@pytest.mark.parametrize(
    ("latent", "error", "message"),
    [
        (LatentSSVM(None), TypeError, "estimator must be an estimator of this package, found None"),
        (LatentSSVM(ChainSSVM), TypeError, "estimator must be an estimator"),
        (LatentSSVM(PathCV(chain())), TypeError, "fit the PathCV first, and pass its best_estim"),
        (LatentSSVM(MulticlassSSVM()), TypeError, "does not support MulticlassSSVM"),
        (
            LatentSSVM(chain(), states_per_label=0),
            ValueError,
            "states_per_label must be at least 1",
        ),
        (LatentSSVM(chain(), states_per_label=1.5), TypeError, "states_per_label must be an int"),
        (LatentSSVM(chain(), tol=-1), ValueError, "tol must be at least 0"),
        (LatentSSVM(chain(), max_rounds=0), ValueError, "max_rounds must be at least 1"),
        (LatentSSVM(chain(), n_init="two"), TypeError, "n_init must be an integer"),
        (LatentSSVM(chain(), random_state="a", n_init=2), ValueError, "random_state"),
        (
            LatentSSVM(chain(solver=MPBCFW(checkpoint="x"))),
            ValueError,
            "checkpoint of the solver is not supported",
        ),
        (LatentSSVM(chain(lam=-1)), ValueError, "lam must be"),
        (LatentSSVM(ChainSSVM(solver="pa")), ValueError, "solver='pa' has no objective"),
    ],
)
def test_invalid_input(data, latent, error, message):
    with pytest.raises(error, match=message):
        latent.fit(*hidden(data))
    assert not hasattr(latent, "estimator_")


def test_invalid_labels(data):
    X, y = hidden(data)
    with pytest.raises(ValueError, match="y has no labeled node"):
        LatentSSVM(chain()).fit(X, [np.full(len(labels), -1) for labels in y])
    rows, sets = np.eye(3), np.array([[1, 0], [np.nan, 1], [0, 1]])
    with pytest.raises(ValueError, match="y has no known label"):
        LatentSSVM(MultilabelSSVM()).fit(rows, np.full((3, 2), np.nan))
    for value, message in [(2, r"y\[2, 0\] is 2"), (np.inf, r"y\[2, 0\] is inf")]:
        sets[2, 0] = value
        with pytest.raises(ValueError, match=message):
            LatentSSVM(MultilabelSSVM()).fit(rows, sets)
    masked = np.ma.array(np.zeros((3, 2), dtype=int), mask=np.eye(3, 2))
    with pytest.raises(ValueError, match=r"y\[0, 1\] is '0'"):
        LatentSSVM(MultilabelSSVM()).fit(rows, masked.astype("U1"))
    for kind in ("M8[s]", "M8[ns]", "m8[ns]"):
        with pytest.raises(TypeError, match="y has dtype"):
            LatentSSVM(MultilabelSSVM()).fit(rows, masked.astype(kind))
    assert LatentSSVM(MultilabelSSVM()).fit(rows, masked.astype(complex)).n_hidden_ == 2
    sets[2, 0] = 0
    with pytest.raises(ValueError, match="solver='gdmm' does not support hidden labels"):
        LatentSSVM(MultilabelSSVM(solver="gdmm")).fit(rows, sets)
    with pytest.raises(ValueError, match="class_weight requires all labels of a row"):
        LatentSSVM(MultilabelSSVM(class_weight="balanced")).fit(rows, sets)
    with pytest.raises(ValueError, match="states_per_label=2 is supported only for chains"):
        LatentSSVM(MultilabelSSVM(), states_per_label=2).fit(rows, sets)
    with pytest.raises(ValueError, match=r"X\[1\]"):
        LatentSSVM(GraphCRFSSVM()).fit([([[1.0]], []), "x"], [[1], [2]])


def test_max_rounds_warns(data):
    with pytest.warns(ConvergenceWarning, match="reached max_rounds=1,"):
        latent = LatentSSVM(chain(), max_rounds=1).fit(*hidden(data))
    assert not latent.converged_


def test_n_init(data):
    X, y = hidden(data)
    one = LatentSSVM(chain(), states_per_label=2, random_state=0, tol=0.01).fit(X, y)
    more = clone(one).set_params(n_init=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert more.fit(X, y).objective_ <= one.objective_
    again = clone(more).fit(X, y)
    assert np.array_equal(more.estimator_.w_, again.estimator_.w_)
    weights = np.random.default_rng(0).uniform(size=len(X))
    for each in (weights, [np.ones(len(x)) for x in X]):
        assert quietly(clone(more).fit, X, y, each).n_rounds_ >= 1
