"""Test scores of sequences against scikit-learn on flat labels, and chunks against conlleval."""

import pickle
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as flat_metrics
from sklearn.base import BaseEstimator
from sklearn.model_selection import cross_val_score

from sstruct import metrics
from sstruct._input.labels import object_array
from sstruct.sequences import Sequences

Y_TRUE = [["B", "I", "O"], ["O"], ["B", "B", "O", "O", "I"]]
Y_PRED = [["B", "O", "O"], ["O"], ["B", "I", "O", "B", "I"]]
FLAT_TRUE, FLAT_PRED = [*chain(*Y_TRUE)], [*chain(*Y_PRED)]
NODE_WEIGHTS = np.repeat([2.0, 0.5, 1.0], [3, 1, 5])

TAGS = st.sampled_from(["O", "B-x", "I-x", "B-y", "I-y", "B", "I", "B-x-y", "I-x-y"])


def relabeled(y, mapping):
    return [[mapping[label] for label in labels] for labels in y]


def forms(y):
    """Return the same labels in every supported container."""
    objects = object_array([np.array(labels) for labels in y])
    return [y, [tuple(labels) for labels in y], objects, Sequences.from_list(y)]


@pytest.mark.parametrize("name", ["f1_score", "precision_score", "recall_score"])
@pytest.mark.parametrize("average", ["weighted", "macro", "micro", None])
@pytest.mark.parametrize("labels", [None, ["O", "B"]])
def test_flat_scores_match_sklearn(name, average, labels):
    score, expected = getattr(metrics, f"flat_{name}"), getattr(flat_metrics, name)
    options = {"average": average, "labels": labels, "zero_division": 0.0}
    np.testing.assert_allclose(
        score(Y_TRUE, Y_PRED, **options), expected(FLAT_TRUE, FLAT_PRED, **options)
    )
    np.testing.assert_allclose(
        score(Y_TRUE, Y_PRED, sample_weight=[2, 0.5, 1], **options),
        expected(FLAT_TRUE, FLAT_PRED, sample_weight=NODE_WEIGHTS, **options),
    )


def test_every_container_gives_the_same():
    for y_true, y_pred in zip(forms(Y_TRUE), reversed(forms(Y_PRED))):
        assert metrics.flat_accuracy_score(y_true, y_pred) == pytest.approx(6 / 9)
        assert metrics.sequence_accuracy_score(y_true, y_pred) == pytest.approx(1 / 3)
    images = np.array([[[0, 1], [1, 1]], [[0, 0], [0, 0]]])
    assert metrics.flat_accuracy_score(list(images), [images[0], 1 - images[1]]) == 0.5


def test_images_must_have_the_same_shape():
    y = np.arange(12).reshape(2, 2, 3) % 2
    with pytest.raises(ValueError, match=r"y_pred\[0\] has shape \(3, 2\), expected \(2, 3\)"):
        metrics.flat_accuracy_score(y, y.transpose(0, 2, 1))
    flat = [image.ravel() for image in y]
    assert metrics.flat_accuracy_score(y, flat) == metrics.flat_accuracy_score(flat, y) == 1
    assert metrics.flat_accuracy_score(y, y[..., np.newaxis]) == 1
    odd = type("Odd", (list,), {"shape": 2})([0, 1])
    assert metrics.flat_accuracy_score([odd], [odd]) == 1


def test_weights_have_the_documented_formulas():
    weights = [2.0, 0.5, 1.0]
    accuracy = metrics.flat_accuracy_score(Y_TRUE, Y_PRED, sample_weight=weights)
    assert accuracy == pytest.approx((2 * 2 + 0.5 * 1 + 3) / (2 * 3 + 0.5 * 1 + 5))
    whole = metrics.sequence_accuracy_score(Y_TRUE, Y_PRED, sample_weight=weights)
    assert whole == pytest.approx(0.5 / 3.5)
    # A sample of weight k counts as k samples.
    twice = [[Y_TRUE[i] for i in (0, 0, 2)], [Y_PRED[i] for i in (0, 0, 2)]]
    for score in (metrics.flat_accuracy_score, metrics.sequence_accuracy_score):
        assert score(Y_TRUE, Y_PRED, sample_weight=[2, 0, 1]) == pytest.approx(score(*twice))
    tags = [["B-x", "O"], ["B-y", "B-x"], ["I-x", "I-y"]], [["B-x", "B-x"], ["O", "O"], ["I-x"] * 2]
    thrice = [[y[i] for i in (0, 0, 0, 2)] for y in tags]
    assert metrics.chunk_precision_recall_f1(*tags, sample_weight=[3, 0, 1]) == pytest.approx(
        metrics.chunk_precision_recall_f1(*thrice)
    )


@pytest.mark.parametrize(
    "mapping",
    [
        {"B": ("b", 1), "I": ("i", 2), "O": ("o", 3)},
        {"B": 3, "I": 1, "O": 2},
        {"B": "x", "I": (), "O": 2},
    ],
)
def test_labels_are_of_any_hashable_type(mapping):
    y_true, y_pred = relabeled(Y_TRUE, mapping), relabeled(Y_PRED, mapping)
    assert metrics.flat_accuracy_score(y_true, y_pred) == pytest.approx(6 / 9)
    for labels in (None, [mapping["O"], mapping["B"]]):
        found = metrics.flat_f1_score(y_true, y_pred, labels=labels, average="macro")
        plain = None if labels is None else ["O", "B"]
        expected = metrics.flat_f1_score(Y_TRUE, Y_PRED, labels=plain, average="macro")
        assert found == pytest.approx(expected)
    report = metrics.flat_classification_report(y_true, y_pred)
    assert all(str(label) in report for label in mapping.values())


def test_strings_cannot_be_scored_against_numbers():
    for true, predicted in (([1, 2], ["1", "2"]), (["1", "2"], [1, 2])):
        with pytest.raises(ValueError, match=r"^y_pred has labels like .*, which cannot be equal"):
            metrics.flat_f1_score([true], [predicted])
    # Labels of mixed types can be equal.
    assert metrics.flat_f1_score([[1, "2"]], [["1", "2"]], average="micro") == 0.5
    assert metrics.flat_f1_score([[1, "2"]], [["1", "3"]], average="micro") == 0


def test_ignored_nodes_do_not_count():
    y_true = [["B", "?", "O"], ["?"], ["?", "O"]]
    y_pred = [["B", "I", "I"], ["O"], ["B", "O"]]
    assert metrics.flat_accuracy_score(y_true, y_pred, ignore_label="?") == pytest.approx(2 / 3)
    assert metrics.sequence_accuracy_score(y_true, y_pred, ignore_label="?") == 0.5
    weighted = metrics.sequence_accuracy_score(
        y_true, y_pred, ignore_label="?", sample_weight=[1, 9, 3]
    )
    assert weighted == 0.75
    assert "?" not in metrics.flat_classification_report(
        y_true, y_pred, ignore_label="?", zero_division=0.0
    )
    for arguments in ({"ignore_label": "O"}, {"sample_weight": [0, 1], "ignore_label": "O"}):
        with pytest.raises(ValueError, match="there is no node to score"):
            metrics.flat_accuracy_score([["O"], ["O"]], [["O"], ["B"]], **arguments)
    with pytest.raises(ValueError, match="there is no node to score"):
        metrics.sequence_accuracy_score(
            [["O"], ["B"]], [["O"], ["B"]], sample_weight=[1, 0], ignore_label="O"
        )


def test_report_matches_sklearn():
    for options in ({}, {"output_dict": True}, {"labels": ["O", "I"], "digits": 3}):
        assert metrics.flat_classification_report(
            Y_TRUE, Y_PRED, **options
        ) == flat_metrics.classification_report(FLAT_TRUE, FLAT_PRED, **options)


def test_binary_average_takes_a_label():
    y_true, y_pred = [["a", "b"], ["a"]], [["a", "a"], ["b"]]
    for label in ("a", "b"):
        assert metrics.flat_f1_score(
            y_true, y_pred, average="binary", pos_label=label
        ) == flat_metrics.f1_score([*chain(*y_true)], [*chain(*y_pred)], pos_label=label)
    with pytest.raises(ValueError, match="pos_label 1 is not among"):
        metrics.flat_f1_score(y_true, y_pred, average="binary")


def conlleval(y_true, y_pred):
    """Count chunks as the script conlleval does, in one loop over both columns."""

    def split(tag):
        position, _, kind = tag.partition("-")
        return position, kind

    def ends(before, now):
        (previous, previous_kind), (position, kind) = before, now
        return (previous in "BI" and position in "BO") or (
            previous != "O" and previous_kind != kind
        )

    def starts(before, now):
        (previous, previous_kind), (position, kind) = before, now
        return (
            position == "B"
            or (previous == "O" and position == "I")
            or (position != "O" and previous_kind != kind)
        )

    n_right = n_true = n_predicted = 0
    both_open, last_true, last_predicted = False, ("O", ""), ("O", "")
    columns = []
    for true, predicted in zip(y_true, y_pred):
        columns += [*zip(map(split, true), map(split, predicted)), (("O", ""), ("O", ""))]
    for true, predicted in columns:
        if both_open:
            true_ends, predicted_ends = ends(last_true, true), ends(last_predicted, predicted)
            if true_ends and predicted_ends and last_true[1] == last_predicted[1]:
                both_open = False
                n_right += 1
            elif true_ends != predicted_ends or true[1] != predicted[1]:
                both_open = False
        true_starts = starts(last_true, true)
        predicted_starts = starts(last_predicted, predicted)
        if true_starts and predicted_starts and true[1] == predicted[1]:
            both_open = True
        n_true += true_starts
        n_predicted += predicted_starts
        last_true, last_predicted = true, predicted
    return n_right, n_true, n_predicted


@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(st.tuples(TAGS, TAGS), max_size=8), max_size=4))
def test_chunk_scores_match_conlleval(pairs):
    y_true = [[true for true, _ in sequence] for sequence in pairs]
    y_pred = [[predicted for _, predicted in sequence] for sequence in pairs]
    n_right, n_true, n_predicted = conlleval(y_true, y_pred)
    precision, recall, f1 = metrics.chunk_precision_recall_f1(y_true, y_pred)
    assert precision == (n_right / n_predicted if n_predicted else 0)
    assert recall == (n_right / n_true if n_true else 0)
    assert f1 == pytest.approx(2 * n_right / max(n_true + n_predicted, 1))
    assert metrics.chunk_f1_score(y_true, y_pred) == f1


def test_an_ignored_node_ends_a_chunk():
    y_true, y_pred = [["B-x", "?", "I-x"]], [["B-x", "I-x", "I-x"]]
    assert metrics.chunk_precision_recall_f1(y_true, y_pred, ignore_label="?") == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("tag", ["S-x", "NP", "", 3])
def test_error_names_position_of_invalid_tags(tag):
    with pytest.raises(ValueError, match=r"y_pred\[1\]\[0\] is .*, expected 'O' or"):
        metrics.chunk_f1_score([["O"], ["O"]], [["O"], [tag]])


SCORES = [
    metrics.flat_accuracy_score,
    metrics.flat_f1_score,
    metrics.flat_precision_score,
    metrics.flat_recall_score,
    metrics.flat_classification_report,
    metrics.sequence_accuracy_score,
    metrics.chunk_precision_recall_f1,
    metrics.chunk_f1_score,
    metrics.segment_f1_score,
    metrics.segment_edit_score,
    metrics.span_precision_score,
    metrics.span_recall_score,
    metrics.span_f1_score,
    metrics.span_classification_report,
    metrics.span_confusion_matrix,
]


@pytest.mark.parametrize("score", SCORES)
def test_inconsistent_lengths(score):
    with pytest.raises(ValueError, match="y_pred has 1 sequences, expected 2"):
        score([["O"], ["O"]], [["O"]])
    with pytest.raises(ValueError, match=r"y_pred\[1\] has 5 labels, expected 6"):
        score([["O"], ["O"] * 6], [["O"], ["O"] * 5])
    with pytest.raises(TypeError, match=r"y_true\[1\] must be a sequence of labels, found str"):
        score([["O"], "O"], [["O"], ["O"]])
    with pytest.raises(TypeError, match="y_true must be a list of label sequences"):
        score("O", ["O"])
    with pytest.raises(ValueError, match=r"sample_weight has shape \(1,\), expected \(2,\)"):
        score([["O"], ["O"]], [["O"], ["O"]], sample_weight=[1])
    with pytest.raises(ValueError, match=r"sample_weight\[1\] is -1.0"):
        score([["O"], ["O"]], [["O"], ["O"]], sample_weight=[1, -1])


class Constant(BaseEstimator):
    """Predict the first training label for all nodes."""

    def fit(self, X, y):
        self.label_ = y[0][0]
        return self

    def predict(self, X):
        return object_array([np.full(len(item), self.label_) for item in X])


def test_scorers_work_in_cross_validation_and_pickle():
    X = [np.zeros((2, 1))] * 3 + [np.zeros((3, 1))] * 3
    y = [["B-x", "O"]] * 3 + [["B-x", "I-x", "O"]] * 3
    macro = metrics.make_flat_scorer(metrics.flat_f1_score, average="macro", zero_division=0.0)
    expected = [
        (metrics.flat_accuracy_scorer, [1 / 2, 1 / 3]),
        (metrics.sequence_accuracy_scorer, [0, 0]),
        (metrics.chunk_f1_scorer, [2 / 3, 0]),
        (macro, [1 / 3, 1 / 6]),
    ]
    for scorer, values in expected:
        for each in (scorer, pickle.loads(pickle.dumps(scorer))):
            assert cross_val_score(Constant(), X, y, cv=2, scoring=each) == pytest.approx(values)


def test_scorers_of_probabilities_require_labels():
    for metric in (metrics.flat_log_loss, metrics.flat_brier_score_loss):
        with pytest.raises(TypeError, match=f"scorer of {metric.__name__} requires labels"):
            metrics.make_flat_scorer(metric, response_method="predict_proba")
