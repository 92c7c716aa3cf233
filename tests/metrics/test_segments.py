"""Test segment scores against their definitions, computed from sets of frames."""

from functools import cache
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstruct.metrics import segment_edit_score, segment_f1_score
from tests.metrics.test_span_matches import unzipped

FRAMES = st.lists(st.tuples(*[st.sampled_from("abc-")] * 2), min_size=1, max_size=9)


def segments(labels):
    """Return segments as sets of frames with a label; the label "-" is the background."""
    runs = [[*run] for _, run in groupby(range(len(labels)), key=lambda t: labels[t])]
    return [(set(run), labels[run[0]]) for run in runs if labels[run[0]] != "-"]


def count_segments(true, predicted, iou):
    """Return the numbers of correct, predicted and true segments."""
    true, predicted = segments(true), segments(predicted)
    free, n_correct = [True] * len(true), 0
    for frames, label in predicted:
        overlaps = [
            len(frames & other) / len(frames | other) * (label == other_label)
            for other, other_label in true
        ]
        if overlaps and max(overlaps) >= iou and free[overlaps.index(max(overlaps))]:
            free[overlaps.index(max(overlaps))] = False
            n_correct += 1
    return n_correct, len(predicted), len(true)


def distance(a, b):
    """Return the Levenshtein distance, computed recursively."""

    @cache
    def between(i, j):
        if i == 0 or j == 0:
            return i + j
        return min(
            between(i - 1, j) + 1,
            between(i, j - 1) + 1,
            between(i - 1, j - 1) + (a[i - 1] != b[j - 1]),
        )

    return between(len(a), len(b))


@given(st.lists(FRAMES, min_size=1, max_size=3), st.sampled_from([0.1, 0.25, 0.5, 0.75, 1.0]))
def test_segment_f1_matches_its_definition(pairs, iou):
    y_true, y_pred = unzipped(pairs)
    weights = np.arange(1, len(pairs) + 1)
    counts = [count_segments(*pair, iou) for pair in zip(y_true, y_pred)]
    n_correct, n_predicted, n_true = weights @ np.array(counts)
    n_both = n_predicted + n_true
    expected = 2 * n_correct / n_both if n_both else 0
    options = {"iou": iou, "background": ["-"], "sample_weight": weights}
    assert segment_f1_score(y_true, y_pred, **options) == pytest.approx(expected)


@given(st.lists(FRAMES, min_size=1, max_size=3))
def test_edit_score_matches_its_definition(pairs):
    y_true, y_pred = unzipped(pairs)
    scores = []
    for pair in zip(y_true, y_pred):
        a, b = (tuple(label for _, label in segments(labels)) for labels in pair)
        if a or b:
            scores.append(1 - distance(a, b) / max(len(a), len(b)))
    if scores:
        score = segment_edit_score(y_true, y_pred, background=["-"])
        assert score == pytest.approx(np.mean(scores))
    else:
        with pytest.raises(ValueError, match="no segment to score"):
            segment_edit_score(y_true, y_pred, background=["-"])


def test_an_ignored_frame_ends_a_segment():
    y_true, y_pred = [["a", None, "a", "a"]], [["a", "b", "a", "a"]]
    assert segment_f1_score(y_true, y_pred, ignore_label=-1) == 1
    assert segment_f1_score(y_true, [["a"] * 4], ignore_label=-1, iou=1.0) == 1
    score = segment_edit_score(y_true, [["a", "b", "b", "a"]], ignore_label=-1)
    assert score == pytest.approx(2 / 3)


@pytest.mark.parametrize("iou", [0, 1.5, np.nan, "0.5"])
def test_invalid_iou(iou):
    with pytest.raises((ValueError, TypeError), match="iou must be"):
        segment_f1_score([["a"]], [["a"]], iou=iou)


def test_spans_beyond_any_sequence():
    with pytest.raises(ValueError, match=r"y_true\[1\] has the span \(0, 1000.* expected at most"):
        segment_f1_score(["a", [(0, 10**12, "a")]], ["a", [(0, 4, "a")]])


def test_background_must_be_a_list():
    with pytest.raises(TypeError, match="background must be a list of labels, found 'bg'"):
        segment_f1_score([["bg"]], [["bg"]], background="bg")


def test_spans_keep_adjacent_segments_with_the_same_label():
    true = [[(0, 3, "a"), (3, 6, "a"), (6, 8, "b")], []]
    assert segment_f1_score(true, true) == 1.0
    assert segment_edit_score(true, true) == 1.0
    # The segment 0 to 6 matches one of the two adjacent segments, each with an IoU of 0.5.
    joined = [["a"] * 6 + ["b"] * 2, []]
    assert segment_f1_score(true, joined) == pytest.approx(2 * 2 / 5)
    assert segment_f1_score(joined, true) == pytest.approx(2 * 2 / 5)
    assert segment_edit_score(true, joined) == pytest.approx(2 / 3)
    labels = [["a", "b", "b"]]
    spans = [[(0, 1, "a"), (1, 3, "b")]]
    assert segment_f1_score(labels, [["a", "a", "b"]]) == segment_f1_score(spans, [["a", "a", "b"]])
    # An ignored frame ends a segment.
    unknown = [[(0, 2, "a"), (2, 3, "?"), (3, 5, "a"), (5, 6, "a")]]
    predicted = [[(0, 2, "a"), (2, 5, "a"), (5, 6, "a")]]
    assert segment_f1_score(unknown, predicted, ignore_label="?") == 1.0
    with pytest.raises(ValueError, match=r"y_pred\[0\] has the span"):
        segment_f1_score(true, [[(0, 3, "a"), (4, 8, "b")], []])
    with pytest.raises(ValueError, match=r"y_true\[1\] has no spans"):
        segment_f1_score([true[0], ["a"]], [true[0], ["a"]])
