"""Test label schemes against regular expressions, and span scores against definitions."""

import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning

from sstruct import Sequences, metrics
from sstruct.spans import LETTERS, convert_labels, labels_of, spans_of

# A valid span as a regular expression over letters; "iob1" depends on the label before it.
PATTERNS = {"bio": "BI*", "bioes": "BI*E|S", "bilou": "BI*L|U", "io": "I+"}
KINDS = ["x", "y", "x-y", ""]


def tag(letter, kind, suffix=False):
    return "-".join([kind, letter][:: 1 if suffix else -1]) if kind else letter


def labels(scheme):
    tags = [tag(letter, kind) for letter in LETTERS[scheme] for kind in KINDS]
    return st.lists(st.sampled_from(["O", *tags]), max_size=8)


@st.composite
def given_spans(draw, kinds=KINDS):
    """Draw spans in a sequence, and the length of the sequence."""
    spans, t = [], 0
    for gap, length, kind in draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from(kinds)))
    ):
        spans.append((t + gap, t + gap + length, kind))
        t += gap + length
    return spans, t + draw(st.integers(0, 2))


def starts(scheme, before, now):
    """Return whether a span starts at the label `now`, as in conlleval."""
    letter, _, kind = now.partition("-")
    last, _, last_kind = before.partition("-")
    return letter != "O" and (
        letter in "BSU" or last in {"O", "E", "S", "L", "U"} or kind != last_kind
    )


@pytest.mark.parametrize("scheme", LETTERS)
@given(st.data())
def test_repaired_spans_start_where_no_span_can_continue(scheme, data):
    given = data.draw(labels(scheme))
    spans = spans_of(given, scheme)
    begin = [t for t, pair in enumerate(zip(["O", *given], given)) if starts(scheme, *pair)]
    assert [start for start, _, _ in spans] == begin
    inside = [t for start, stop, _ in spans for t in range(start, stop)]
    assert inside == [t for t, label in enumerate(given) if label != "O"]
    assert all(given[start].partition("-")[2] == kind for start, _, kind in spans)


@pytest.mark.parametrize("scheme", PATTERNS)
@given(st.data())
def test_only_valid_spans_are_kept_or_an_error_names_the_first(scheme, data):
    given = data.draw(labels(scheme))
    spans = spans_of(given, scheme)
    valid = [
        span
        for span in spans
        if re.fullmatch(
            PATTERNS[scheme], "".join(x.partition("-")[0] for x in given[span[0] : span[1]])
        )
    ]
    assert spans_of(given, scheme, invalid="drop") == valid
    if valid == spans:
        assert spans_of(given, scheme, invalid="raise") == valid
    else:
        start, stop, _ = next(span for span in spans if span not in valid)
        with pytest.raises(ValueError, match=rf"labels\[{start}:{stop}\] is .* not a span in"):
            spans_of(given, scheme, invalid="raise")


@pytest.mark.parametrize(
    "given, spans",
    [
        ("I-x I-x B-x", [(0, 2, "x"), (2, 3, "x")]),
        ("O B-x I-x", []),
        ("I-y B-x", [(0, 1, "y")]),
        ("I-x I-y O I-y", [(0, 1, "x"), (1, 2, "y"), (3, 4, "y")]),
    ],
)
def test_iob1_has_b_only_after_a_span_of_the_same_type(given, spans):
    assert spans_of(given.split(), "iob1", invalid="drop") == spans


@pytest.mark.parametrize("scheme", LETTERS)
@given(made=given_spans(), suffix=st.booleans())
def test_labels_of_spans_have_these_spans(scheme, made, suffix):
    spans, length = made
    touching = any(a[1:] == (b[0], b[2]) for a, b in pairwise(spans))
    if scheme == "io" and touching:
        with pytest.raises(ValueError, match="adjacent and have the same type"):
            labels_of(spans, length, scheme, suffix=suffix)
        return
    given = labels_of(spans[::-1], length, scheme, suffix=suffix)
    assert len(given) == length
    assert spans_of(given, scheme, invalid="raise", suffix=suffix) == spans
    if not suffix:
        for to in set(LETTERS) - {"io"}:
            assert spans_of(convert_labels(given, scheme, to), to, invalid="raise") == spans


def test_spans_of_arrays_and_of_types_after_the_letter():
    assert spans_of(np.array(["PER-B", "PER-I", "A-B-B"]), suffix=True) == [
        (0, 2, "PER"),
        (2, 3, "A-B"),
    ]
    assert spans_of(np.array(["B", "I", "O"], dtype=object)) == [(0, 2, "")]
    assert [type(part) for part in spans_of(np.array(["B-x"]))[0]] == [int, int, str]


@pytest.mark.parametrize(
    "given, scheme, message",
    [
        (["O", "S-x"], "bio", r"labels\[1\] is 'S-x', expected 'O' or .*'B-type', 'I-type'"),
        (["B-x"], "io", r"labels\[0\] is 'B-x'"),
        (["E-x"], "bilou", r"labels\[0\] is 'E-x'"),
        (["NP"], "bio", r"labels\[0\] is 'NP'"),
        (["B-"], "bio", r"labels\[0\] is 'B-'"),
        ([None], "bio", r"labels\[0\] is None"),
        ([["B"]], "bio", r"labels\[0\] is \['B'\]"),
        (["O"], "iobes", "scheme must be one of"),
    ],
)
def test_labels_of_another_scheme(given, scheme, message):
    with pytest.raises(ValueError, match=message):
        spans_of(given, scheme)


@pytest.mark.parametrize(
    "spans, length, message",
    [
        ([(0, 2, "x"), (1, 3, "x")], 4, r"span \(1, 3, 'x'\) overlaps \(0, 2, 'x'\)"),
        ([(2, 5, "x")], 4, r"must have 0 <= start < stop <= 4"),
        ([(-1, 2, "x")], 4, r"must have 0 <= start < stop <= 4"),
        ([(1, 1, "x")], 4, r"must have 0 <= start < stop <= 4"),
        ([(0, 1)], 4, "must be a tuple"),
        ([(0, 1.5, "x")], 4, "an integer stop"),
        ([(0, 1, 3)], 4, "a str as type"),
        ([], -1, "length must be"),
    ],
)
def test_invalid_spans(spans, length, message):
    with pytest.raises(ValueError, match=message):
        labels_of(spans, length)


def test_text_is_not_a_sequence_of_labels():
    with pytest.raises(TypeError, match="labels must be a sequence of labels, found str 'OO'"):
        spans_of("OO")


@given(
    st.lists(
        st.tuples(given_spans(), given_spans(), st.integers(1, 3)).map(
            lambda drawn: (drawn[0][0], drawn[1][0], max(drawn[0][1], drawn[1][1]), drawn[2])
        ),
        min_size=1,
        max_size=4,
    )
)
def test_scores_match_sets_of_spans(samples):
    y_true, y_pred = (
        [labels_of(sample[k], sample[2], "bioes") for sample in samples] for k in (0, 1)
    )
    weights = [sample[3] for sample in samples]
    right, found, true = Counter(), Counter(), Counter()
    for a, b, _, weight in samples:
        for counter, spans in ((right, set(a) & set(b)), (found, b), (true, a)):
            for span in spans:
                counter[span[2]] += weight
    types = sorted({span[2] for a, b, *_ in samples for span in a + b})
    given = {"scheme": "bioes", "sample_weight": weights, "zero_division": 0.0}
    for score, below in (
        (metrics.span_precision_score, found),
        (metrics.span_recall_score, true),
        (metrics.span_f1_score, {k: (found[k] + true[k]) / 2 for k in types}),
    ):
        each = [right[k] / below[k] if below[k] else 0 for k in types]
        total = sum(below[k] for k in types)
        assert score(y_true, y_pred, average=None, **given) == pytest.approx(each)
        assert score(y_true, y_pred, **given) == pytest.approx(
            sum(right.values()) / total if total else 0
        )
        assert score(y_true, y_pred, average="macro", **given) == pytest.approx(
            np.mean(each) if types else 0
        )


@given(made=given_spans(), other=given_spans())
def test_the_confusion_matrix_counts_spans_of_equal_bounds(made, other):
    length = max(made[1], other[1])
    y_true, y_pred = [labels_of(made[0], length)], [labels_of(other[0], length)]
    matrix, types = metrics.span_confusion_matrix(y_true, y_pred)
    true, found = ({span[:2]: span[2] for span in spans} for spans in (made[0], other[0]))
    names = [*types, None]
    expected = np.zeros((len(names), len(names)))
    for key in {*true, *found}:
        expected[names.index(true.get(key)), names.index(found.get(key))] += 1
    np.testing.assert_array_equal(matrix, expected)
    assert types == sorted({*true.values(), *found.values()})


def test_0_over_0_warns_as_in_scikit_learn():
    with pytest.warns(UndefinedMetricWarning):
        assert metrics.span_f1_score([["O"]], [["O"]]) == 0
    assert metrics.span_f1_score([["O"]], [["O"]], zero_division=1.0) == 1
    assert metrics.span_f1_score([["O"]], [["O"]], average=None).shape == (0,)
    with pytest.raises(ValueError, match="no spans to report"):
        metrics.span_classification_report([["O"]], [["O"]])


def test_the_report_has_all_averages():
    y_true = Sequences.from_lengths(["S-x", "O", "S-y", "B-y", "E-y"], [2, 3])
    report = metrics.span_classification_report(
        y_true, [["S-x", "S-x"], ["S-y", "O", "O"]], scheme="bioes", output_dict=True
    )
    assert [*report] == ["x", "y", "micro avg", "macro avg", "weighted avg"]
    assert report["x"]["precision"] == 0.5
    assert report["y"] == {"precision": 1, "recall": 0.5, "f1-score": 2 / 3, "support": 2}
    assert report["micro avg"]["f1-score"] == 2 / 3
    bare = metrics.span_classification_report([["B"]], [["B"]], output_dict=True)
    assert bare["span"]["support"] == 1
