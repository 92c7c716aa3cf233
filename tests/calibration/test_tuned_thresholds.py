"""Test TunedThresholdSSVM with hierarchies and all formats, and scikit-learn's conventions."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import f1_score
from sklearn.model_selection import RepeatedKFold, ShuffleSplit
from sklearn.utils import estimator_checks

from sstruct import ChainSSVM, LatentSSVM, MulticlassSSVM, MultilabelSSVM
from sstruct._estimators.calibration.thresholds import (
    SCORING,
    choose_thresholds,
    label_folds,
    set_f1_score,
)
from sstruct.calibration import TunedThresholdSSVM
from sstruct.datasets import make_multilabel_pairwise

PARENTS = [-1, 0, 0, 1]
RESULTS = ("best_threshold_", "best_score_", "untuned_score_")


def labels(**options):
    return MultilabelSSVM(**{"lam": 0.05, "random_state": 0} | options)


def rare_labels(seed, n):
    """Return noisy rows with labels of different frequencies."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, 4)) < [0.1, 0.2, 0.3, 0.5]).astype(int)
    return np.hstack([Y + rng.normal(size=(n, 4)), rng.normal(size=(n, 2))]), Y


@pytest.fixture(scope="module")
def data():
    return rare_labels(0, 120)


@pytest.fixture(scope="module")
def model(data):
    return TunedThresholdSSVM(labels()).fit(*data)


@pytest.mark.parametrize("scoring", SCORING)
@pytest.mark.parametrize("weighted", [False, True])
def test_thresholds_match_held_out_scores(data, scoring, weighted):
    X, Y = data
    weights = np.arange(len(X)) % 3.0 if weighted else None
    model = TunedThresholdSSVM(labels(), scoring=scoring, cv=4).fit(X, Y, weights)
    fold, scores = label_folds(Y > 0, 4), np.empty(Y.shape)
    for k in range(4):
        rest = fold != k
        part = labels().fit(X[rest], Y[rest], None if weights is None else weights[rest])
        scores[~rest] = part.decision_function(X[~rest])
    used = np.ones(len(X), bool) if weights is None else weights > 0
    order = np.argsort(fold[used], kind="stable")  # rows are sorted by fold
    weight = np.ones(used.sum()) if weights is None else weights[used] / weights[used].mean()
    rows = [each[used][order] for each in (scores, Y > 0)]
    expected = choose_thresholds(scoring, *rows, weight[order], fold[used][order], lambda s: s)
    np.testing.assert_allclose(model.best_threshold_, expected[0], rtol=1e-12)
    assert (model.best_score_, model.untuned_score_) == pytest.approx(expected[1:], rel=1e-12)
    full = labels().fit(X, Y, weights)
    np.testing.assert_array_equal(model.estimator_.w_, full.w_)
    np.testing.assert_array_equal(model.decision_function(X), full.decision_function(X))
    np.testing.assert_array_equal(
        model.predict(X), full.decision_function(X) > model.best_threshold_
    )


@pytest.mark.parametrize("scoring", SCORING)
def test_f1_scores_on_new_rows_increase(scoring):
    X, Y = rare_labels(0, 300)
    new, truth = rare_labels(1, 3000)
    model = TunedThresholdSSVM(MultilabelSSVM(random_state=0), scoring=scoring).fit(X, Y)
    before, after = (
        f1_score(truth, each.predict(new), average=scoring[3:], zero_division=0)
        for each in (model.estimator_, model)
    )
    assert after > before + 0.02
    assert model.best_score_ > model.untuned_score_
    assert model.best_score_ == pytest.approx(after, abs=0.06)


def test_a_frozen_estimator_is_not_fitted_again(data):
    X, Y = data
    estimator = labels().fit(X[:60], Y[:60])
    w = estimator.w_
    model = TunedThresholdSSVM(FrozenEstimator(estimator), cv=3).fit(X[60:], Y[60:])
    scores = estimator.decision_function(X[60:])
    fold = label_folds(Y[60:] > 0, 3)
    order = np.argsort(fold, kind="stable")
    rows = scores[order], Y[60:][order] > 0, np.ones(60), fold[order]
    expected = choose_thresholds("f1_micro", *rows, lambda s: s)
    np.testing.assert_array_equal(model.best_threshold_, expected[0])
    estimator.fit(X[60:], Y[60:])  # does not change the tuned model
    np.testing.assert_array_equal(model.estimator_.w_, w)
    assert isinstance(clone(model).estimator, FrozenEstimator)
    with pytest.raises(NotFittedError):
        TunedThresholdSSVM(FrozenEstimator(labels())).fit(X, Y)
    one_label = FrozenEstimator(labels().fit(X, Y[:, 0]))
    with pytest.raises(ValueError, match="fitted to one label per row"):
        TunedThresholdSSVM(one_label).fit(X, Y)
    with pytest.raises(ValueError, match="y has 3 columns, expected 4 labels"):
        TunedThresholdSSVM(FrozenEstimator(estimator)).fit(X, Y[:, :3])
    named = FrozenEstimator(labels().fit(X, pd.DataFrame(Y, columns=list("abcd"))))
    with pytest.raises(ValueError, match="the columns of y are"):
        TunedThresholdSSVM(named).fit(X, pd.DataFrame(Y, columns=list("abdc")))


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.sampled_from(SCORING))
def test_predictions_agree_with_the_hierarchy(seed, scoring):
    rng = np.random.default_rng(seed)
    Y = rng.integers(0, 2, (40, 4))
    for k, above in enumerate(PARENTS):
        if above >= 0:
            Y[:, k] &= Y[:, above]
    X = Y + rng.normal(size=Y.shape)
    model = TunedThresholdSSVM(labels(edges=PARENTS), scoring=scoring, cv=2).fit(X, Y)
    new = rng.normal(size=(50, 4))
    thresholds = rng.normal(size=4)
    for t in (model.best_threshold_, thresholds):
        model._publish({**{name: getattr(model, name) for name in RESULTS}, "best_threshold_": t,
                        "estimator_": model.estimator_})  # fmt: skip
        sets = model.predict(new)
        above_threshold = model.decision_function(new) > t
        for k in range(4):
            expected, a = above_threshold[:, k].copy(), PARENTS[k]
            while a >= 0:
                expected &= above_threshold[:, a]
                a = PARENTS[a]
            np.testing.assert_array_equal(sets[:, k], expected)
            if PARENTS[k] >= 0:
                assert (sets[:, k] <= sets[:, PARENTS[k]]).all()


def test_the_score_of_a_hierarchy_is_computed_from_valid_sets():
    rng = np.random.default_rng(3)
    Y = rng.integers(0, 2, (60, 2))
    Y[:, 1] &= Y[:, 0]
    X = Y + rng.normal(size=Y.shape)
    frozen = FrozenEstimator(labels(edges=[-1, 0]).fit(X, Y))
    scores = frozen.decision_function(X)
    assert (scores[:, 1] <= scores[:, 0]).all()  # a shared threshold is consistent
    model = TunedThresholdSSVM(frozen).fit(X, Y)
    ones = np.ones(60)
    assert model.untuned_score_ == set_f1_score("f1_micro", Y > 0, scores > 0, ones)


def test_labels_without_positive_or_negative_rows():
    X, Y = rare_labels(0, 80)
    Y[:, 1], Y[:, 2] = 0, 1
    for scoring in SCORING:
        model = TunedThresholdSSVM(labels(), scoring=scoring, cv=3).fit(X, Y)
        assert np.isfinite(model.best_threshold_).all()
        sets = model.predict(X)
        assert sets[:, 1].mean() < 0.05
        assert sets[:, 2].mean() > 0.95
    empty = TunedThresholdSSVM(labels(), cv=3).fit(X, np.zeros_like(Y))
    assert (empty.best_threshold_ == 0).all()
    assert (empty.best_score_, empty.predict(X).sum()) == (0, 0)
    rare = np.zeros_like(Y)
    rare[5, 0] = 1  # the split that tests this row has no positive row to train on
    assert TunedThresholdSSVM(labels(), cv=3).fit(X, rare).best_score_ == 0


def test_the_order_and_the_unit_of_weights_do_not_matter(data):
    X, Y = data
    weights = 1.0 + np.arange(len(X)) % 2
    frozen = TunedThresholdSSVM(FrozenEstimator(labels().fit(X, Y)), scoring="f1_macro")
    one = clone(frozen).fit(X, Y, weights)
    other = clone(frozen).fit(X, Y, weights * 1e-9)
    np.testing.assert_allclose(one.best_threshold_, other.best_threshold_, rtol=1e-12)
    assert one.best_score_ == pytest.approx(other.best_score_, rel=1e-12)
    zero = np.r_[weights, np.zeros(len(X))]
    cv = [(np.arange(len(X)), part) for part in np.array_split(np.arange(2 * len(X)), 6)]
    more = clone(frozen).set_params(cv=cv).fit(np.r_[X, X], np.r_[Y, 1 - Y], zero)
    parts = [(train, part) for train, part in cv if part[0] < len(X)]
    less = clone(frozen).set_params(cv=parts).fit(X, Y, weights)
    np.testing.assert_allclose(more.best_threshold_, less.best_threshold_, rtol=1e-12)
    with pytest.raises(ValueError, match="all held-out rows have weight 0"):
        TunedThresholdSSVM(labels(), cv=[(np.arange(60), np.arange(60, 120))]).fit(
            X, Y, (np.arange(120) < 60).astype(float)
        )


def test_splits(data, model):
    X, Y = data
    other = TunedThresholdSSVM(labels(), cv=None).fit(X, Y)
    for name in RESULTS:
        np.testing.assert_array_equal(getattr(other, name), getattr(model, name))
    for cv in (ShuffleSplit(1, random_state=0), RepeatedKFold(n_splits=4, n_repeats=3)):
        assert TunedThresholdSSVM(labels(), cv=cv).fit(X, Y).best_score_ > 0
    masks = [
        (np.arange(120) < 60, np.arange(120) >= 60),
        (np.arange(60, 120), np.arange(-120, -60)),
    ]
    assert TunedThresholdSSVM(labels(), cv=masks).fit(X, Y).best_score_ > 0
    # Rows that are sorted by label: contiguous folds would have labels that were not trained.
    order = np.argsort(Y @ [8, 4, 2, 1], kind="stable")
    found = TunedThresholdSSVM(labels(), scoring="f1_macro").fit(X[order], Y[order])
    mixed = TunedThresholdSSVM(labels(), scoring="f1_macro").fit(X, Y)
    assert found.untuned_score_ == pytest.approx(mixed.untuned_score_, abs=0.05)


def test_a_row_in_several_test_parts_belongs_to_one_part(data):
    X, Y = data
    frozen = FrozenEstimator(labels().fit(X, Y))
    halves = [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(60))]
    once = TunedThresholdSSVM(frozen, cv=halves).fit(X, Y)
    twice = TunedThresholdSSVM(frozen, cv=halves * 2).fit(X, Y)
    assert twice.best_score_ == pytest.approx(once.best_score_, abs=0.02)
    assert twice.untuned_score_ == pytest.approx(once.untuned_score_, rel=1e-12)


def test_formats(data, model):
    X, Y = data
    expected = model.predict(X)
    assert expected.dtype == np.int64
    names = list("abcd")
    as_frame = TunedThresholdSSVM(labels()).fit(pd.DataFrame(X), pd.DataFrame(Y, columns=names))
    found = as_frame.predict(pd.DataFrame(X, index=np.arange(120) + 7))
    assert (list(found.columns), found.index[0]) == (names, 7)
    np.testing.assert_array_equal(found.to_numpy(), expected)
    assert as_frame.score(pd.DataFrame(X), pd.DataFrame(Y, columns=names)) == model.score(X, Y)
    as_sparse = TunedThresholdSSVM(labels()).fit(sparse.csr_array(X), sparse.csc_matrix(Y))
    found = as_sparse.predict(sparse.csr_array(X))
    assert isinstance(found, sparse.csr_matrix)
    np.testing.assert_array_equal(found.toarray(), expected)
    lists = TunedThresholdSSVM(labels()).fit(X.tolist(), Y.tolist())
    np.testing.assert_array_equal(lists.predict(X.tolist()), expected)
    assert model.score(X, Y) == (expected == Y).all(axis=1).mean()
    right = (expected == Y).all(axis=1)
    weights = np.arange(len(X)) % 3.0
    assert model.score(X, Y, weights) == pytest.approx(np.average(right, weights=weights))


def test_error_for_partial_fit(data, model):
    with pytest.raises(AttributeError, match="requires all samples"):
        model.partial_fit(*data)


def test_checks_of_scikit_learn():
    model = TunedThresholdSSVM(labels(tol=1e-6), cv=2)
    for check in (
        estimator_checks.check_classifiers_multilabel_representation_invariance,
        estimator_checks.check_classifiers_multilabel_output_format_predict,
        estimator_checks.check_classifiers_multilabel_output_format_decision_function,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_mixin_order,
        estimator_checks.check_valid_tag_types,
    ):
        check("TunedThresholdSSVM", clone(model))


def test_damaged_states(data, model):
    X, Y = data
    state = model.__getstate__()
    for wrong, message in (
        ({"best_threshold_": np.zeros(3)}, "best_threshold_ is of length 3, expected 4"),
        ({"best_threshold_": np.full(4, np.nan)}, "best_threshold_"),
        ({"best_score_": 2.0}, r"best_score_ is 2\.0"),
        ({"estimator_": labels().fit(X, Y[:, 0])}, "not fitted to label sets"),
    ):
        with pytest.raises(ValueError, match=message):
            TunedThresholdSSVM(labels()).__setstate__(state | wrong)


@pytest.mark.parametrize(
    "estimator, kind, message",
    [
        (ChainSSVM(), ValueError, "must be a MultilabelSSVM, found ChainSSVM"),
        (LatentSSVM(labels()), ValueError, "must be a MultilabelSSVM"),
        (FrozenEstimator(MulticlassSSVM()), ValueError, "must be a MultilabelSSVM"),
        (MultilabelSSVM, TypeError, "must be a MultilabelSSVM"),
    ],
)
def test_estimators_that_are_not_supported(data, estimator, kind, message):
    with pytest.raises(kind, match=message):
        TunedThresholdSSVM(estimator).fit(*data)


@pytest.mark.parametrize(
    "options, kind, message",
    [
        ({"scoring": "f1"}, ValueError, "scoring"),
        ({"scoring": None}, (ValueError, TypeError), "scoring"),
    ],
)
def test_invalid_parameters(data, options, kind, message):
    model = TunedThresholdSSVM(labels(), **options)
    with pytest.raises(kind, match=message):
        model.fit(*data)
    assert not hasattr(model, "best_threshold_")


def test_invalid_data(data, model):
    X, Y = data
    unknown = np.where(np.arange(4) == 1, np.nan, Y.astype(float))
    for y, message in (
        (Y[:, 0], "requires sets of labels"),
        (unknown, r"y\[0, 1\] is .*nan.*Pass only rows whose labels are all known"),
        (np.where(np.arange(4) == 1, -1, Y), r"y\[0, 1\] is -1.*Pass only rows"),
        (np.ma.masked_array(Y, unknown != Y), "masked entries.*Pass only rows"),
        (2 * Y, "expected 0 or 1"),
        (Y[:-1], r"numbers of samples: \[120, 119\]"),
        ([["a"], ["a", "b"]] * 60, "MultiLabelBinarizer"),
    ):
        with pytest.raises(ValueError, match=message):
            TunedThresholdSSVM(labels()).fit(X, y)
    for weights, message in (
        (np.ones(3), "sample_weight"),
        (-np.ones(120), "sample_weight"),
        (np.zeros(120), "sample_weight|weight"),
    ):
        with pytest.raises(ValueError, match=message):
            TunedThresholdSSVM(labels()).fit(X, Y, weights)
    with pytest.raises(ValueError, match="X has 5 features, but MultilabelSSVM is expecting 6"):
        model.predict(X[:, :5])
    with pytest.raises(ValueError, match="Pass only rows"):
        model.score(X, unknown)
    with pytest.raises(ValueError, match="y has 3 columns, expected 4 labels"):
        model.score(X, Y[:, :3])


def test_edges_influence_the_scores():
    X, Y = make_multilabel_pairwise(n_samples=200, n_labels=5, random_state=0)
    tuned = TunedThresholdSSVM(MultilabelSSVM(edges="full", random_state=0), cv=3).fit(X, Y)
    expected = tuned.estimator_.decision_function(X) > tuned.best_threshold_
    np.testing.assert_array_equal(tuned.predict(X), expected)
    tuned._publish({name: getattr(tuned, name) for name in (*RESULTS, "estimator_")}
                   | {"best_threshold_": np.zeros(5)})  # fmt: skip
    np.testing.assert_array_equal(tuned.predict(X), tuned.estimator_.predict(X))
