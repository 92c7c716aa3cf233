"""Test scores, selection and scikit-learn's conventions of PathCV."""

import signal

import joblib
import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sstruct import (
    ChainSSVM,
    GridCRFSSVM,
    MulticlassSSVM,
    PathCV,
    SegmentSSVM,
    Sequences,
    ssvm_path,
)
from sstruct._estimators.path.along_lambda import LambdaGrid, Sweep
from sstruct.datasets import make_grids, make_sequences
from sstruct.metrics import flat_f1_score, make_flat_scorer
from sstruct.preprocessing import PerNode
from tests.estimators.equal import equal

GRID = (100.0, 30.0, 10.0, 3.0, 1.0)


@pytest.fixture(scope="module")
def chains():
    return make_sequences(n_samples=48, noise=1.5, random_state=0)


@pytest.fixture(scope="module")
def search(chains):
    return PathCV(ChainSSVM(random_state=0), eps=0.05, cv=3).fit(*chains)


def parts(X, y, cv):
    for train, test in KFold(cv).split(X):
        yield [[part[i] for i in rows] for rows in (train, test) for part in (X, y)]


def test_scores_match_the_path_of_each_fold(chains, search):
    X, y = chains
    paths, tests = [], []
    for X_train, y_train, X_test, y_test in parts(X, y, 3):
        paths.append(ssvm_path(ChainSSVM(random_state=0), X_train, y_train, eps=0.05))
        tests.append((X_test, y_test))
    assert search.lam_end_ == max(path.lam_end_ for path in paths)
    rng = np.random.default_rng(0)
    first = max(path.lams_[0] for path in paths)
    lams = np.exp(rng.uniform(np.log(max(search.lam_end_, 1e-4)), np.log(10 * first), 30))
    for lam in lams:
        expected = [path.estimator(lam).score(*test) for path, test in zip(paths, tests)]
        np.testing.assert_array_equal(search.split_scores(lam), expected)


def test_the_best_is_the_best_of_all_lambdas(search):
    lams = np.geomspace(max(search.lam_end_, 1e-4), 1e4, 500)
    means = np.array([search.split_scores(lam).mean() for lam in lams])
    assert search.best_score_ == pytest.approx(means.max())
    assert search.split_scores(search.best_lam_).mean() == pytest.approx(means.max())
    # The largest such lambda.
    assert (means[lams > search.best_lam_] < search.best_score_).all()
    assert search.best_params_ == {"lam": search.best_lam_}
    assert search.certified_


def test_results_have_the_format_of_grid_search(search):
    results = search.cv_results_
    assert {len(column) for column in results.values()} == {len(results["param_lam"])}
    assert (np.diff(results["param_lam"]) < 0).all()
    splits = np.array([results[f"split{k}_test_score"] for k in range(3)])
    np.testing.assert_allclose(results["mean_test_score"], splits.mean(axis=0))
    np.testing.assert_allclose(results["std_test_score"], splits.std(axis=0))
    assert results["rank_test_score"][search.best_index_] == 1
    assert results["mean_test_score"][search.best_index_] == search.best_score_
    assert results["params"][search.best_index_] == search.best_params_
    assert (np.diff(results["mean_fit_time"]) >= 0).all()
    assert search.n_splits_ == 3


def test_one_standard_error(chains, search):
    X, y = chains
    other = clone(search).set_params(rule="one-se").fit(X, y)
    results = search.cv_results_
    best = search.split_scores(search.best_lam_)
    enough = results["mean_test_score"] >= best.mean() - best.std(ddof=1) / np.sqrt(3)
    assert other.best_lam_ == results["param_lam"][enough].max() >= search.best_lam_
    assert other.best_score_ <= search.best_score_


def test_refit(chains, search):
    X, y = chains
    model = search.best_estimator_
    fitted = ChainSSVM(lam=search.best_lam_, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.w_, fitted.w_)
    assert search.refit_time_ > 0
    assert equal(search.predict(X), fitted.predict(X))
    assert search.score(X, y) == fitted.score(X, y)
    assert len(search.decision_function(X)) == len(X)
    assert len(search.predict_top_k(X[:2], 2)[0]) == 2
    other = [(labels[0] + 1) % 4 for labels in search.predict(X[:2])]
    partial = [[label, *[-1] * (len(labels) - 1)] for label, labels in zip(other, y)]
    assert [labels[0] for labels in search.predict(X[:2], partial)] == other
    assert search.n_features_in_ == fitted.n_features_in_
    np.testing.assert_array_equal(search.classes_, fitted.classes_)
    without = clone(search).set_params(refit=False).fit(X, y)
    assert without.best_lam_ == search.best_lam_
    with pytest.raises(AttributeError, match="refit=False"):
        without.predict(X)


@pytest.mark.usefixtures("sigint")
def test_ctrl_c_in_the_final_fit_keeps_its_model(chains, monkeypatch):
    def pressed(model, *given):  # the folds do not call it
        solve(model, *given)
        signal.raise_signal(signal.SIGINT)

    X, y = chains
    search = PathCV(ChainSSVM(random_state=0), lams=[1.0, 0.3], cv=2)
    solve = ChainSSVM._solve
    monkeypatch.setattr(ChainSSVM, "_solve", pressed)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert search.refit_time_ > 0
    monkeypatch.undo()
    fitted = ChainSSVM(lam=search.best_lam_, random_state=0).fit(X, y)
    np.testing.assert_array_equal(search.best_estimator_.w_, fitted.w_)
    assert search.score(X, y) == fitted.score(X, y)


def test_failure_in_the_final_fit_keeps_the_scores(chains, monkeypatch):
    def failing(model, *given):
        raise RuntimeError("failure")

    search = PathCV(ChainSSVM(random_state=0), lams=[1.0, 0.3], cv=2)
    monkeypatch.setattr(ChainSSVM, "_solve", failing)
    with pytest.raises(RuntimeError, match="failure"):
        search.fit(*chains)
    assert search.best_lam_ in (1.0, 0.3)
    assert not hasattr(search, "best_estimator_")
    assert not hasattr(search, "refit_time_")


def test_unfitted(chains):
    search = PathCV(MulticlassSSVM())
    with pytest.raises(NotFittedError):
        search.predict([[0]])
    with pytest.raises(NotFittedError):
        search.split_scores(1.0)
    assert not hasattr(search, "n_features_in_")
    assert not hasattr(search, "predict_top_k")
    assert hasattr(PathCV(ChainSSVM()), "predict_top_k")
    assert is_classifier(search)
    assert not is_classifier(PathCV(ChainSSVM()))


@pytest.mark.parametrize("warm_start", ["primal", "dual", False])
def test_a_grid_in_one_sweep(chains, warm_start):
    X, y = chains
    model = ChainSSVM(random_state=0)
    grid = LambdaGrid(Sweep(model, X, y, None), GRID[::-1], 0.01, warm_start)
    assert grid.lams_.tolist() == list(GRID)
    assert grid.certified_
    assert (np.diff(grid.history_["oracle_calls"]) > 0).all()
    for lam in GRID:
        tight = clone(model).set_params(lam=lam, tol=1e-5, max_iter=5000).fit(X, y)
        fitted = grid.estimator(lam)
        assert fitted.objective_ - tight.dual_objective_ <= 0.01
        assert fitted.objective_ >= tight.dual_objective_
        assert fitted.dual_objective_ <= tight.objective_
        assert fitted.dual_gap_ <= 0.01
    with pytest.raises(ValueError, match="is not one of the solved values"):
        grid.w(0.2)


def test_equal_means_up_to_rounding_are_ties():
    scores = {1.0: [0.3, 0.2, 0.1], 0.1: [0.1, 0.2, 0.3]}  # the second mean is larger by 6e-17

    def scoring(model, X, y):
        return scores[model.lam_][int(X[0, 0])]

    y = np.tile([0, 1], 6)
    X = np.column_stack([np.arange(3.0).repeat(4), y])  # the fold, and the label
    search = PathCV(MulticlassSSVM(), lams=list(scores), cv=KFold(3), scoring=scoring).fit(X, y)
    first, second = search.cv_results_["mean_test_score"]
    assert first < second
    assert search.best_lam_ == 1
    assert search.cv_results_["rank_test_score"].tolist() == [1, 1]


@pytest.mark.parametrize("warm_start", ["primal", "dual", False])
def test_search_over_a_grid(chains, warm_start):
    X, y = chains
    search = PathCV(
        ChainSSVM(random_state=0), lams=GRID, eps=0.001, warm_start=warm_start, cv=3
    ).fit(X, y)
    assert search.cv_results_["param_lam"].tolist() == list(GRID)
    assert search.best_lam_ in GRID
    # With these tolerances, both searches fit nearly the same models.
    other = GridSearchCV(
        ChainSSVM(random_state=0, tol=1e-3, max_iter=5000), {"lam": GRID}, cv=3
    ).fit(X, y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"], atol=0.03
    )


def test_arguments_of_methods_go_through(chains):
    X, y = chains
    options = {"lams": [1.0], "cv": 2}
    segments = PathCV(SegmentSSVM(self_transitions=True, random_state=0), **options).fit(X, y)
    spans, _ = segments.predict_top_k(X[:1], 2, spans=True)
    assert spans[0][0][0][0] == 0  # the start of the first span of the best segmentation
    rows = PathCV(MulticlassSSVM(random_state=0), **options)
    rows.fit(np.eye(3).repeat(4, axis=0), np.arange(3).repeat(4))
    with pytest.raises(TypeError, match="MulticlassSSVM does not support y_partial"):
        rows.predict(np.eye(3), [0, 1, 2])


def test_parameters_of_the_estimator_go_through(chains):
    X, y = chains
    search = PathCV(ChainSSVM(random_state=0), cv=2)
    assert search.get_params()["estimator__loss"] == "hamming-count"
    outer = GridSearchCV(search, {"estimator__transitions": [True, False]}, cv=2).fit(X, y)
    transitions = outer.best_params_["estimator__transitions"]
    assert outer.best_estimator_.best_estimator_.transitions is transitions
    assert len(set(outer.cv_results_["mean_test_score"])) == 2
    again = clone(search.set_params(estimator__loss="hamming"))
    assert again.estimator.loss == "hamming"
    assert again.estimator is not search.estimator


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_folds_in_parallel(chains, search, backend):
    X, y = chains
    with joblib.parallel_config(backend=backend):
        other = clone(search).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(
        other.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"]
    )
    np.testing.assert_array_equal(other.best_estimator_.w_, search.best_estimator_.w_)


def test_multiclass_with_weights_and_stratified_folds(rng):
    X = rng.standard_normal((60, 4))
    y = np.array(["a", "b", "c"])[np.argmax(X[:, :3] + rng.standard_normal((60, 3)), axis=1)]
    weights = rng.integers(0, 3, 60).astype(float)
    search = PathCV(MulticlassSSVM(random_state=0), cv=3).fit(X, y, sample_weight=weights)
    fitted = MulticlassSSVM(random_state=0, lam=search.best_lam_).fit(X, y, weights)
    np.testing.assert_array_equal(search.best_estimator_.w_, fitted.w_)
    plain = PathCV(MulticlassSSVM(random_state=0), cv=3).fit(X, y)
    assert plain.cv_results_["param_lam"][0] != search.cv_results_["param_lam"][0]
    with pytest.raises(ValueError, match="sample_weight"):
        search.fit(X, y, sample_weight=weights[:5])


def test_scoring_groups_and_other_containers(chains):
    X, y = chains
    search = PathCV(
        ChainSSVM(random_state=0),
        cv=ShuffleSplit(2, random_state=0),
        scoring=make_flat_scorer(flat_f1_score, average="macro"),
    ).fit(Sequences.from_list(X), y)
    assert 0 < search.best_score_ < 1
    assert search.score(X, y) == pytest.approx(flat_f1_score(y, search.predict(X), average="macro"))


@pytest.mark.parametrize(
    "parameters",
    [
        {"eps": -1},
        {"kappa": 1},
        {"lam_min": 0},
        {"rule": "two-se"},
        {"warm_start": True},
        {"refit": "yes"},
        {"lams": [0.1, -1]},
        {"lams": []},
        {"lams": "all"},
    ],
)
def test_parameters_are_checked(chains, parameters):
    with pytest.raises((ValueError, TypeError), match=next(iter(parameters))):
        PathCV(ChainSSVM(), **parameters).fit(*chains)


@pytest.mark.parametrize(
    "scoring, message",
    [
        ("accuracies", r"'accuracies' is not a scorer.*flat_accuracy_scorer.*mean 'accuracy'\?$"),
        ("chunks", r"scoring='chunks' is not a scorer of scikit-learn; expected None"),
        ("accuracy", r"'accuracy' requires one label per sample, but y has sequences; exp"),
        (["accuracy", "f1"], r"scoring must be one scorer, found a list; expected None"),
        (3, r"scoring must be one scorer, found a int; expected None"),
    ],
)
@pytest.mark.parametrize("form", [list, np.asarray, Sequences.from_list])
def test_scorers_are_checked_before_any_work(chains, monkeypatch, scoring, message, form):
    monkeypatch.setattr("sstruct._estimators.path.path_search._fold", None)
    X, y = chains
    y = form([labels[:2] for labels in y])
    search = PathCV(ChainSSVM(), scoring=scoring)
    with pytest.raises((ValueError, TypeError), match=message):
        search.fit([x[:2] for x in X], y)
    assert not hasattr(search, "scorer_")


def test_dict_of_samples_raises():
    with pytest.raises(TypeError, match="X must have an item per sample, found dict"):
        PathCV(MulticlassSSVM(), cv=2).fit({0: [0.0], 2: [1.0]}, [0, 1])


@pytest.mark.parametrize("model", [MulticlassSSVM(random_state=0), ChainSSVM(random_state=0)])
def test_rows_may_have_scikit_learn_s_scores(rng, model):
    X = rng.standard_normal((40, 3))
    y = np.where(X[:, 0] > 0, "a", "b")
    search = PathCV(model, scoring="accuracy", cv=2).fit(X, y)
    own = PathCV(model, cv=2).fit(X, y)
    np.testing.assert_array_equal(search.split_scores(1.0), own.split_scores(1.0))


def test_below_the_end(chains):
    search = PathCV(ChainSSVM(random_state=0), eps=0.01, lam_min=0.1, cv=2, refit=False)
    search.fit(*chains)
    assert search.lam_end_ == 0.1
    assert search.best_lam_ >= 0.1
    with pytest.raises(ValueError, match=r"lam=0\.05 is below the end of the paths, 0\.1"):
        search.split_scores(0.05)


def test_error_for_pipeline_in_path_cv():
    pipeline = make_pipeline(PerNode(StandardScaler()), ChainSSVM())
    with pytest.raises(TypeError, match="put PathCV at the end of the pipeline"):
        PathCV(pipeline).fit([np.ones((2, 2))] * 6, [[0, 1]] * 6)


def test_failed_search_leaves_estimator_unfitted():
    X, y = np.eye(6), [0, 1] * 3
    search = PathCV(MulticlassSSVM(random_state=0), cv=2, scoring=lambda *_: np.nan, lams=[1.0])
    before = dict(vars(search))
    with pytest.raises(ValueError, match="scoring returned NaN for every lambda"):
        search.fit(X, y)
    assert vars(search) == before


@pytest.mark.parametrize("lam", ["auto", 5.0])
def test_decoders_that_are_not_exact_have_a_grid_around_lam(lam):
    X, y = make_grids(n_samples=8, n_labels=3, random_state=0)
    model = GridCRFSSVM(pairwise="potts", lam=lam, random_state=0)
    # Any gap is enough: an approximate decoder may not reach a smaller one.
    search = PathCV(model, cv=2, eps=2.0).fit(X, y)
    centers = [model.fit(X[half], y[half]).lam_ for half in (slice(4, None), slice(4))]
    assert search.lam_end_ == pytest.approx(max(centers) / 30)
    expected = np.unique(np.outer(centers, 30.0 ** np.linspace(1, -1, 11)).round(9))[::-1]
    expected = expected[expected >= search.lam_end_ * (1 - 1e-6)]
    np.testing.assert_allclose(search.cv_results_["param_lam"], expected, rtol=1e-6)
    assert not search.certified_
    search = PathCV(model, cv=2, lam_min=20.0, eps=2.0).fit(X, y)
    assert search.lam_end_ == pytest.approx(20)


@pytest.mark.parametrize("warm_start", ["primal", "dual", False])
def test_a_grid_continues_if_decoders_that_are_not_exact_reach_a_limit(warm_start):
    X, y = make_grids(n_samples=6, n_labels=3, random_state=0)
    model = GridCRFSSVM(pairwise="potts", max_iter=2, random_state=0)
    lams = [30.0, 10.0, 3.0, 1.0]
    with pytest.warns(ConvergenceWarning, match="of 4 fits of the grid did not converge") as caught:
        grid = LambdaGrid(Sweep(model, X, y, None), lams, 1e-3, warm_start, relative=True)
    assert len(caught) == 1
    np.testing.assert_array_equal(grid.lams_, lams)
    above = grid.gaps_ > 1e-3 * grid.history_["primal"]
    assert f"{above.sum()} of 4" in str(caught[0].message)
    assert above.any()
    for lam, gap, is_above in zip(lams, grid.gaps_, above, strict=True):
        fitted = grid.estimator(lam)
        assert fitted.dual_gap_ == pytest.approx(gap)
        assert fitted.status_ == (grid.status_ if is_above else "CONVERGED")
        assert fitted.converged_ != is_above


@pytest.mark.parametrize("lams", [None, [1.0, 0.1, 0.01]])
def test_eps_replaces_tol(chains, lams):
    X, y = chains
    model = ChainSSVM(random_state=0)
    searches = [
        PathCV(model, cv=2, lams=lams, refit=False, **options).fit(X, y)
        for options in ({"tol": 0.1}, {"eps": 0.1}, {"eps": 0.1, "tol": 0.9})
    ]
    lam = [search.cv_results_["param_lam"].tolist() for search in searches]
    assert lam[1] == lam[2]
    assert (lam[0] == lam[1]) == (lams is not None)
    with pytest.raises(ValueError, match="tol must be finite and above 0"):
        PathCV(model, tol=0.0).fit(X, y)
