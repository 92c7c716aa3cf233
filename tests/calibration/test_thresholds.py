"""Test the optimality of tuned thresholds of label sets, and the choice of a rule."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn import metrics

from sstruct._estimators.calibration.thresholds import (
    SCORING,
    STRENGTHS,
    Curve,
    LabelThresholds,
    best_cut,
    choose_thresholds,
    label_folds,
    sample_thresholds,
    set_f1_score,
    shared_threshold,
    tuned_thresholds,
)


@st.composite
def held_out(draw, least_labels=1):
    """Draw scores with ties, sets with at least one label in total, and weights."""
    n, K = draw(st.integers(1, 7)), draw(st.integers(least_labels, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = draw(st.sampled_from([1, 3, 100]))
    scores = rng.integers(-values, values + 1, (n, K)) / draw(st.sampled_from([1.0, 3.0, 1e-9]))
    sets = rng.random((n, K)) < draw(st.sampled_from([0.2, 0.5, 1.0]))
    sets[0, 0] = True
    weights = rng.integers(1, 4, n) * 0.5 if draw(st.booleans()) else np.ones(n)
    return scores, sets, weights


def candidates(scores):
    """Return one threshold for each different prediction."""
    return np.r_[scores.min() - 1, np.unique(scores)]


def score_with(scoring, thresholds, scores, sets, weights):
    return set_f1_score(scoring, sets, scores > thresholds, weights)


def best_of_all(scoring, scores, sets, weights):
    """Return the largest score of thresholds per label, by enumeration."""
    each = [candidates(column) for column in scores.T]
    return max(score_with(scoring, t, scores, sets, weights) for t in product(*each))


@given(held_out(least_labels=2))
def test_scores_equal_scikit_learn(data):
    scores, sets, weights = data
    predicted = scores > 0
    for scoring in SCORING:
        expected = metrics.f1_score(
            sets, predicted, average=scoring[3:], sample_weight=weights, zero_division=0
        )
        assert set_f1_score(scoring, sets, predicted, weights) == pytest.approx(expected, abs=1e-12)


@given(held_out())
@pytest.mark.parametrize("scoring", ["f1_micro", "f1_macro"])
def test_thresholds_per_label_are_the_best_of_all(scoring, data):
    shared = shared_threshold(scoring, *data)
    found = LabelThresholds(shared, *data).best(scoring, 0)
    expected = best_of_all(scoring, *data)
    assert score_with(scoring, found, *data) == pytest.approx(expected, rel=1e-12)


@given(held_out())
@pytest.mark.parametrize("scoring", ["f1_micro", "f1_samples"])
def test_the_shared_threshold_is_the_best_of_all(scoring, data):
    found = score_with(scoring, shared_threshold(scoring, *data), *data)
    expected = max(score_with(scoring, t, *data) for t in candidates(data[0]))
    assert found == pytest.approx(expected, rel=1e-12)


@given(held_out())
def test_no_single_threshold_increases_the_sample_score(data):
    scores = data[0]
    shared = shared_threshold("f1_samples", *data)
    thresholds = sample_thresholds(shared, *data)
    found = score_with("f1_samples", thresholds, *data)
    assert found >= score_with("f1_samples", shared, *data) - 1e-12
    for k, column in enumerate(scores.T):
        for t in candidates(column):
            other = np.where(np.arange(scores.shape[1]) == k, t, thresholds)
            assert score_with("f1_samples", other, *data) <= found + 1e-9


def shrunk(scoring, strength, thresholds, scores, sets, weights):
    """Return the objective with additional average rows, computed from its definition."""
    total = weights @ sets.sum(axis=1)
    both, size = [], []
    for k, t in enumerate(thresholds):
        all_above = scores > t
        above = all_above[:, k]
        on = (
            weights @ (above & sets[:, k])
            + strength * (weights @ (all_above & sets).sum(1)) / total
        )
        predicted = weights @ above + strength * (weights @ all_above.sum(1)) / total
        both.append(2 * on)
        size.append(predicted + weights @ sets[:, k] + strength)
    if scoring == "f1_micro":
        return sum(both) / sum(size)
    return np.mean([b / s if s > 0 else 0 for b, s in zip(both, size, strict=True)])


@given(held_out(), st.sampled_from(STRENGTHS))
@pytest.mark.parametrize("scoring", ["f1_micro", "f1_macro"])
def test_shrunk_thresholds_are_the_best_of_their_candidates(scoring, data, strength):
    scores, sets, weights = data
    shared = shared_threshold(scoring, *data)
    found = LabelThresholds(shared, *data).best(scoring, strength)
    each = [
        np.r_[shared, 0, Curve(scores[:, k], sets[:, k], weights).cuts(), scores[:, k].max()]
        for k in range(scores.shape[1])
    ]
    expected = max(shrunk(scoring, strength, t, *data) for t in product(*each))
    assert shrunk(scoring, strength, found, *data) == pytest.approx(expected, rel=1e-12)


@given(held_out())
def test_many_additional_rows_lead_to_the_shared_threshold(data):
    shared = shared_threshold("f1_micro", *data)
    found = LabelThresholds(shared, *data).best("f1_macro", 1e9)
    pooled = [score_with("f1_micro", t, *data) for t in (*found, shared)]
    np.testing.assert_allclose(pooled, pooled[-1], atol=1e-6)


@given(held_out())
@pytest.mark.parametrize("scoring", SCORING)
def test_invariances(scoring, data):
    scores, sets, weights = data
    scores = scores + (scores == 0).all()  # scores that are all 0 have no scale
    data = scores, sets, weights
    rules = tuned_thresholds(scoring, *data)
    np.testing.assert_array_equal(tuned_thresholds(scoring, scores * 4, sets, weights), 4 * rules)
    np.testing.assert_array_equal(
        tuned_thresholds(scoring, scores, sets, weights * 4)[:2], rules[:2]
    )
    twice = [np.concatenate([each, each]) for each in (scores, sets, weights / 2)]
    found = tuned_thresholds(scoring, *twice)
    for one, other in zip(found, rules, strict=True):
        value = score_with(scoring, one, *data)
        assert value == pytest.approx(score_with(scoring, other, *data), rel=1e-9)
    order = np.random.default_rng(0).permutation(len(scores))
    found = tuned_thresholds(scoring, scores[order], sets[order], weights[order])
    np.testing.assert_allclose(found[1], rules[1])


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8), st.integers(0, 2**32))
@example([1.0, np.nextafter(1.0, 2)], 0)
@example([1 + 2**-52, 1 + 2**-51], 0)  # the mean is rounded to the larger one
@example([1e17], 0)
@example([-5e-324, 0.0], 1)
def test_cuts_separate_the_scores(values, seed):
    scores = np.array(values)
    on = np.random.default_rng(seed).random(len(scores)) < 0.7
    curve = Curve(scores, on, np.ones(len(scores)))
    cuts = curve.cuts()
    assert (np.diff(cuts) < 0).all()
    expected = {tuple(scores >= s) for s in scores[on]}
    assert {tuple(scores > t) for t in cuts} == expected
    for t in cuts:
        assert curve.above(t) == ((on & (scores > t)).sum(), (scores > t).sum())


def test_best_cut_predicts_none_without_a_gain():
    scores = np.array([0.5, 2.0, 1.0])
    assert best_cut(scores, np.array([-1.0, -2.0, 1.0])) == 2
    assert best_cut(scores, np.array([3.0, -2.0, 1.0])) == 0.25
    assert best_cut(scores, np.array([-1.0, 2.0, -1.0])) == 1.5


@pytest.mark.parametrize("scoring", ["f1_micro", "f1_macro"])
def test_labels_of_all_rows_or_of_no_row(scoring):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(30, 3))
    sets = np.column_stack([np.ones(30), np.zeros(30), scores[:, 2] > 0.3]) > 0
    weights = np.ones(30)
    rules = tuned_thresholds(scoring, scores, sets, weights)
    last = scores > rules[-1]
    if scoring == "f1_micro":
        assert not last[:, 1].any()
    else:  # all thresholds are equally good, so the shared one is chosen
        assert (
            LabelThresholds(rules[1, 0], scores, sets, weights).best(scoring, 0)[1] == rules[1, 1]
        )
    assert last[:, 0].all()
    assert (last[:, 2] == sets[:, 2]).all()
    np.testing.assert_array_equal(tuned_thresholds(scoring, scores, sets & False, weights), 0)


def problem(seed, n=400, K=5, shift=0.0):
    """Generate scores and sets of labels with different frequencies, weights and parts."""
    rng = np.random.default_rng(seed)
    sets = rng.random((n, K)) < np.linspace(0.05, 0.4, K)
    scores = 1.2 * sets + rng.normal(size=(n, K)) - 0.6 + shift
    return scores, sets, np.ones(n), np.arange(n) % 5


def identity(sets):
    return sets


@pytest.mark.parametrize("scoring", SCORING)
def test_chosen_thresholds_improve_the_score_of_new_rows(scoring):
    scores, sets, weights, parts = problem(0, shift=-2.0)
    thresholds, score, untuned = choose_thresholds(scoring, scores, sets, weights, parts, identity)
    new_scores, new_sets, *_ = problem(1, n=20_000, shift=-2.0)
    expected = set_f1_score(scoring, new_sets, new_scores > thresholds, np.ones(20_000))
    before = set_f1_score(scoring, new_sets, new_scores > 0, np.ones(20_000))
    assert before + 0.1 < expected
    assert untuned < score
    assert score == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("scoring", SCORING)
def test_each_part_is_scored_with_thresholds_from_the_other_parts(scoring):
    scores, sets, weights, parts = problem(2, n=120, shift=-1.0)
    weights = weights + np.arange(120) % 2
    thresholds, score, untuned = choose_thresholds(scoring, scores, sets, weights, parts, identity)
    rules = tuned_thresholds(scoring, scores, sets, weights)
    found = []
    for rule in range(len(rules)):
        predicted = np.zeros_like(sets)
        for part in range(5):
            here = parts == part
            other = tuned_thresholds(scoring, scores[~here], sets[~here], weights[~here])
            predicted[here] = scores[here] > other[rule]
        found.append(set_f1_score(scoring, sets, predicted, weights))
    assert score == max(found)
    assert untuned == found[0] == set_f1_score(scoring, sets, scores > 0, weights)
    np.testing.assert_array_equal(thresholds, rules[np.argmax(found)])


def scores_of_rules(scoring, sets, predicted, rows):
    return [set_f1_score(scoring, sets[rows], p[rows], np.ones(rows.sum())) for p in predicted]


def jackknife(gains):
    """Return a standard error, given the gains without each group."""
    n = len(gains)
    return np.sqrt((n - 1) / n * np.sum((np.array(gains) - np.mean(gains)) ** 2))


@pytest.mark.parametrize("scoring", SCORING)
def test_no_tuning_unless_the_gain_exceeds_two_standard_errors(scoring):
    outcomes = set()
    for seed in range(12):
        scores, sets, weights, parts = problem(seed, n=60, K=3, shift=-0.3 - 0.4 * (seed % 4))
        parts = 3 * parts  # numbers of parts with gaps
        rules = tuned_thresholds(scoring, scores, sets, weights)
        predicted = np.zeros((len(rules), *sets.shape), dtype=bool)
        for part in np.unique(parts):
            here = parts == part
            other = tuned_thresholds(scoring, scores[~here], sets[~here], weights[~here])
            for rule, thresholds in enumerate(other):
                predicted[rule, here] = scores[here] > thresholds

        scored = partial(scores_of_rules, scoring, sets, predicted)
        found = scored(np.ones(60, dtype=bool))
        best = int(np.argmax(found))
        errors = [
            jackknife([np.subtract(*np.take(scored(groups != g), (best, 0))) for g in set(groups)])
            for groups in (parts, np.arange(60) % 20)
        ]
        tunes = bool(found[best] - found[0] > 2 * max(errors))
        outcomes.add((best > 0, tunes, bool(np.argmax(errors))))
        thresholds, score, _ = choose_thresholds(scoring, scores, sets, weights, parts, identity)
        np.testing.assert_array_equal(thresholds, rules[best if tunes else 0])
        assert score == found[best if tunes else 0]
    # In some cases, each of the two standard errors is the larger one.
    assert {(True, False), (True, True)} <= {each[:2] for each in outcomes}
    assert {each[2] for each in outcomes} == {False, True}


@given(st.integers(0, 2**32), st.integers(2, 6))
def test_rarest_labels_are_distributed_evenly_over_folds(seed, n_folds):
    rng = np.random.default_rng(seed)
    n, K = rng.integers(n_folds, 60), rng.integers(1, 5)
    sets = rng.random((n, K)) < rng.uniform(0.05, 0.6, K)
    fold = label_folds(sets, n_folds)
    assert np.ptp(np.bincount(fold, minlength=n_folds)) <= 1
    rank = np.argsort(np.argsort(sets.sum(axis=0), kind="stable"))
    rarest = np.where(sets, rank, K).min(axis=1)
    for each in range(K + 1):
        assert np.ptp(np.bincount(fold[rarest == each], minlength=n_folds)) <= 1


def test_folds_do_not_follow_the_order_of_the_rows():
    sets = np.repeat(np.eye(4, dtype=bool), 25, axis=0)  # sorted by label
    fold = label_folds(sets, 5)
    for k in range(5):
        assert (sets[fold == k].sum(axis=0) == 5).all()
