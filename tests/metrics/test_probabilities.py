"""Test metrics of probabilities, prediction sets and spans against direct formulas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss

from sstruct._input.ragged import NoNodesError
from sstruct.metrics import (
    flat_brier_score_loss,
    flat_calibration_error,
    flat_coverage_score,
    flat_log_loss,
    flat_mean_width_score,
    sequence_coverage_score,
    sequence_mean_width_score,
    span_precision_recall_curve,
    span_threshold,
)
from sstruct.spans import spans_of

LABELS = ["x", "y", "z"]
OF_PROBABILITIES = (flat_log_loss, flat_brier_score_loss, flat_calibration_error)


def drawn(seed, n_labels=3):
    """Draw true labels, codes and probabilities of sequences, and weights."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 5, 8)
    lengths[0] = 3
    codes = [rng.integers(0, n_labels, length) for length in lengths]
    p = [rng.dirichlet(np.ones(n_labels), length) for length in lengths]
    return [[LABELS[c] for c in own] for own in codes], codes, p, rng.integers(1, 4, 8)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_match_sklearn(seed, weighted):
    y, codes, p, weights = drawn(seed)
    flat, rows = np.concatenate(codes), np.concatenate(p)
    of_nodes = np.repeat(weights, [len(own) for own in codes]) if weighted else None
    options = {"labels": LABELS, "sample_weight": weights if weighted else None}
    expected = log_loss(flat, rows, labels=range(3), sample_weight=of_nodes)
    assert flat_log_loss(y, p, **options) == pytest.approx(expected, rel=1e-12)
    expected = sum(
        brier_score_loss(flat == k, rows[:, k], sample_weight=of_nodes) for k in range(3)
    )
    assert flat_brier_score_loss(y, p, **options) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("n_bins", [1, 4, 10])
def test_calibration_error_matches_calibration_curve(strategy, n_bins):
    y, codes, p, _ = drawn(1)
    flat, rows = np.concatenate(codes), np.concatenate(p)
    best, right = rows.max(axis=1), rows.argmax(axis=1) == flat
    true, mean = calibration_curve(right, best, n_bins=n_bins, strategy=strategy, pos_label=True)
    edges = np.linspace(0, 1, n_bins + 1)
    edges = np.quantile(best, edges) if strategy == "quantile" else edges
    counts = np.bincount(np.searchsorted(edges[1:-1], best))
    expected = np.average(np.abs(true - mean), weights=counts[counts > 0])
    found = flat_calibration_error(y, p, labels=LABELS, n_bins=n_bins, strategy=strategy)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("metric", OF_PROBABILITIES)
def test_weights_equal_repeated_samples_and_ignored_labels_do_not_count(metric):
    y, _, p, weights = drawn(2)
    found = metric(y, p, labels=LABELS, sample_weight=weights)
    rows = np.repeat(np.arange(8), weights)
    copies = metric([y[i] for i in rows], [p[i] for i in rows], labels=LABELS)
    assert found == pytest.approx(copies, rel=1e-12)
    hidden = [["?" if label == "x" else label for label in own] for own in y]
    rest = [[label for label in own if label != "x"] for own in y]
    some = [t[[label != "x" for label in own]] for own, t in zip(y, p, strict=True)]
    found = metric(hidden, p, labels=LABELS, ignore_label="?")
    assert found == pytest.approx(metric(rest, some, labels=LABELS), rel=1e-12)


def test_labels_without_a_column_have_probability_zero():
    y, p = [["w", "x"]], [[[0.5, 0.5], [1.0, 0.0]]]
    assert flat_log_loss(y, p, labels=["x", "y"]) == pytest.approx(36.04 / 2, rel=1e-3)
    assert flat_brier_score_loss(y, p, labels=["x", "y"]) == (0.25 + 0.25 + 1) / 2
    assert flat_calibration_error(y, p, labels=["x", "y"]) == 0.25
    assert flat_coverage_score(y, [np.ones((2, 2), bool)], labels=["x", "y"]) == 0.5


def test_images():
    p = np.random.default_rng(0).dirichlet(np.ones(2), (2, 3, 4))
    y = np.random.default_rng(1).integers(0, 2, (2, 3, 4))
    expected = log_loss(y.ravel(), p.reshape(-1, 2))
    assert flat_log_loss(y, p, labels=[0, 1]) == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"\[0\] has shape \(4, 3, 2\), expected \(3, 4, 2\)"):
        flat_log_loss(y, p.swapaxes(1, 2), labels=[0, 1])


@pytest.mark.parametrize("metric", OF_PROBABILITIES)
@pytest.mark.parametrize(
    "y_proba, labels, kind, message",
    [
        ([[[0.5, 0.5]]], ["x"], ValueError, r"y_proba\[0\] has shape \(1, 2\), expected \(1, 1\)"),
        ([[[0.5, 0.5]] * 2], ["x", "y"], ValueError, r"expected \(1, 2\)"),
        ([[[0.5, 0.6]]], ["x", "y"], ValueError, "must be probabilities that sum to 1"),
        ([[[-0.5, 1.5]]], ["x", "y"], ValueError, "must be probabilities"),
        ([[[np.nan, 1]]], ["x", "y"], ValueError, r"y_proba\[0\]|probabilities"),
        ([[0.5, 0.5]], ["x", "y"], ValueError, r"expected \(n_nodes, n_labels\)"),
        ([], ["x", "y"], ValueError, "y_proba has 0 arrays, expected 1"),
        ("ab", ["x", "y"], TypeError, "y_proba must be a list of arrays"),
        ([[[0.5, 0.5]]], ["x", "x"], ValueError, "labels has duplicates"),
        ([np.empty((1, 0))], [], ValueError, "labels is empty, expected at least one label"),
    ],
)
def test_invalid_probabilities(metric, y_proba, labels, kind, message):
    with pytest.raises(kind, match=message):
        metric([["x"]], y_proba, labels=labels)


def test_invalid_bins():
    with pytest.raises(ValueError, match="n_bins must be at least 1"):
        flat_calibration_error([["x"]], [[[1.0]]], labels=["x"], n_bins=0)
    with pytest.raises(ValueError, match="strategy must be one of"):
        flat_calibration_error([["x"]], [[[1.0]]], labels=["x"], strategy="equal")


# Prediction sets ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_coverage_and_width_of_nodes(seed):
    y, codes, p, weights = drawn(seed)
    sets = [table > 0.2 for table in p]
    covered = [s[np.arange(len(c)), c] for s, c in zip(sets, codes, strict=True)]
    some = [i for i, own in enumerate(covered) if len(own)]
    means = [covered[i].mean() for i in some]
    expected = np.average(means, weights=weights[some])
    found = flat_coverage_score(y, sets, labels=LABELS, sample_weight=weights)
    assert found == pytest.approx(expected)
    found = flat_coverage_score(y, sets, labels=LABELS, average="micro")
    assert found == pytest.approx(np.concatenate(covered).mean())
    expected = np.concatenate(sets).sum(axis=1).mean()
    assert flat_mean_width_score(sets) == pytest.approx(expected)


def test_coverage_of_label_sets():
    y = np.array([[0, 1], [1, 1]])
    sets = np.array([[[True, False], [True, True]], [[True, False], [False, True]]])
    assert flat_coverage_score(y, sets, labels=[0, 1]) == 0.75
    assert flat_mean_width_score(sets) == 1.25


def test_coverage_and_width_of_labelings():
    y = [["a", "b"], ["b"], [], ["a", "?"], ["?"]]
    sets = [[["b", "b"], ["a", "b"]], [["a"]], [[]], [["a", "b"]], [["b"]]]
    sets = [np.array(rows, dtype="<U1").reshape(len(rows), -1) for rows in sets]
    assert sequence_coverage_score(y, sets) == 1 / 4
    assert sequence_coverage_score(y, sets, ignore_label="?") == 2 / 3
    weights = [1, 2, 5, 0, 5]
    assert sequence_coverage_score(y, sets, sample_weight=weights, ignore_label="?") == 1 / 3
    assert sequence_mean_width_score(sets) == 6 / 5
    assert sequence_mean_width_score(memoryview(np.zeros((3, 2)))) == 2


def test_invalid_sets():
    with pytest.raises(TypeError, match="arrays of bool, found dtype float64"):
        flat_coverage_score([["x"]], [[[1.0, 0.0]]], labels=["x", "y"])
    with pytest.raises(TypeError, match="arrays of bool"):
        flat_mean_width_score([[[1, 0]]])
    with pytest.raises(ValueError, match="labels is empty"):
        flat_coverage_score([["x"]], [np.empty((1, 0), dtype=bool)], labels=[])
    with pytest.raises(NoNodesError):
        flat_mean_width_score([])
    with pytest.raises(ValueError, match="average must be one of"):
        flat_coverage_score([["x"]], [[[True]]], labels=["x"], average="macro")
    with pytest.raises(ValueError, match=r"y_pred_set has 1 sets, expected 2"):
        sequence_coverage_score([["x"], ["y"]], [[["x"]]])
    with pytest.raises(ValueError, match=r"y_pred_set\[0\] has a labeling of 2 nodes, expected 1"):
        sequence_coverage_score([["x"]], [[["x", "y"]]])
    with pytest.raises(TypeError, match=r"y_pred_set\[0\] must be a list of labelings"):
        sequence_coverage_score([["x"]], [3])
    with pytest.raises(NoNodesError):
        sequence_coverage_score([["?"]], [[["x"]]], ignore_label="?")
    with pytest.raises(ValueError, match="y_pred_set is empty"):
        sequence_mean_width_score([])


# Spans --------------------------------------------------------------------------------------------

TAGS = st.sampled_from(["O", "B-a", "I-a", "B-b", "?"])


@st.composite
def spans_with_probabilities(draw):
    y = draw(st.lists(st.lists(TAGS, max_size=6), min_size=1, max_size=4))
    found = []
    for labels in y:
        spans = spans_of([draw(TAGS.filter("?".__ne__)) for _ in labels])
        if draw(st.booleans()):
            spans = spans_of(["O" if label == "?" else label for label in labels])
        found.append([(*span, draw(st.sampled_from([0.2, 0.4, 0.4, 0.9]))) for span in spans])
    return y, found


@given(spans_with_probabilities())
def test_the_curve_equals_its_definition(case):
    y, found = case
    truth = {
        (i, *span)
        for i, labels in enumerate(y)
        for span in spans_of(["O" if label == "?" else label for label in labels])
    }
    events = [
        ((i, start, stop, kind) in truth, p)
        for i, own in enumerate(found)
        for start, stop, kind, p in own
        if "?" not in y[i][start:stop]
    ]
    if not truth:
        with pytest.raises(NoNodesError, match="no spans"):
            span_precision_recall_curve(y, found, ignore_label="?")
        return
    precision, recall, thresholds = span_precision_recall_curve(y, found, ignore_label="?")
    assert thresholds.tolist() == sorted({p for _, p in events})
    for k, t in enumerate(thresholds):
        kept = [right for right, p in events if p >= t]
        assert precision[k] == pytest.approx(np.mean(kept))
        assert recall[k] == pytest.approx(sum(kept) / len(truth))
    assert (precision[-1], recall[-1]) == (1, 0)
    for name, values in (("precision", precision), ("recall", recall)):
        fine = thresholds[values[:-1] >= 0.5]
        options = {name: 0.5, "ignore_label": "?"}
        if len(fine):
            expected = fine.min() if name == "precision" else fine.max()
            assert span_threshold(y, found, **options) == expected
        else:
            with pytest.raises(ValueError, match=f"no threshold has a {name} of 0.5"):
                span_threshold(y, found, **options)


def test_weights_of_spans_equal_repeated_samples():
    y = [["B-a", "O"], ["O", "B-a"], ["B-b", "B-a"]]
    found = [[(0, 1, "a", 0.9)], [(0, 1, "a", 0.5)], [(0, 1, "b", 0.3), (1, 2, "b", 0.6)]]
    weights = [1, 0, 3]
    rows = [0, 2, 2, 2]
    copies = span_precision_recall_curve([y[i] for i in rows], [found[i] for i in rows])
    for a, b in zip(span_precision_recall_curve(y, found, sample_weight=weights), copies):
        np.testing.assert_allclose(a, b)


@pytest.mark.parametrize(
    "spans, kind, message",
    [
        ([[]], ValueError, "y_spans is empty"),
        ([], ValueError, "y_spans has 0 sequences, expected 1"),
        ([3], TypeError, r"y_spans\[0\] must be a list of spans"),
        ([[(0, 1, "a")]], TypeError, r"expected \(start, stop, type, probability\)"),
        ([[(0, 3, "a", 0.5)]], ValueError, "0 <= start < stop <= 2"),
        ([[(1, 1, "a", 0.5)]], ValueError, "0 <= start < stop <= 2"),
        ([[(0, 1.0, "a", 0.5)]], ValueError, "expected integers"),
        ([[(0, 1, "a", 1.5)]], ValueError, "expected a number from 0 to 1"),
        ([[(0, 1, "a", np.nan)]], ValueError, "expected a number from 0 to 1"),
        ([[(0, 1, "a", None)]], ValueError, "expected a number from 0 to 1"),
    ],
)
def test_invalid_spans(spans, kind, message):
    with pytest.raises(kind, match=message):
        span_threshold([["B-a", "O"]], spans, precision=0.9)


@pytest.mark.parametrize(
    "options, kind, message",
    [
        ({}, ValueError, "requires one target"),
        ({"precision": 0.5, "recall": 0.5}, ValueError, "requires one target"),
        ({"precision": 1.5}, ValueError, "precision must be at most 1"),
        ({"recall": 0}, ValueError, "recall must be finite and above 0"),
        ({"recall": "all"}, TypeError, "recall must be a number"),
    ],
)
def test_invalid_targets(options, kind, message):
    with pytest.raises(kind, match=message):
        span_threshold([["B-a", "O"]], [[(0, 1, "a", 0.5)]], **options)
