"""Test partial matches of spans against a slow implementation, and the table of confusions."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV

from sstruct import ChainSSVM
from sstruct.metrics import span_confusions, span_f1_score, span_match_counts
from sstruct.spans import spans_of

COUNTS = ("correct", "incorrect", "partial", "missed", "spurious")
TAGS = ["O", "B-x", "I-x", "B-y", "I-y"]
pairs = st.lists(
    st.lists(st.tuples(*[st.sampled_from(TAGS)] * 2), max_size=12), min_size=1, max_size=3
)


def unzipped(pairs):
    """Return the first and the second labels of sequences of pairs."""
    return [[[pair[k] for pair in sentence] for sentence in pairs] for k in (0, 1)]


def table(rows, kind=None):
    return {
        row["matching"]: tuple(row[name] for name in COUNTS) for row in rows if row["type"] == kind
    }


def slow_counts(true, found, matching):
    """Compare sets of positions, with all true spans for each predicted span."""
    counts, free = Counter(), list(true)
    for span in found:
        places = set(range(*span[:2]))
        near = [other for other in free if places & set(range(*other[:2]))]
        right = [
            other
            for other in near
            if (matching == "type" or set(range(*other[:2])) == places)
            and (matching in ("exact", "partial") or other[2] == span[2])
        ]
        # Since the sort is stable, the first of equally close spans is matched.
        right.sort(key=lambda other: sum(abs(other[k] - span[k]) for k in (0, 1)))
        if near:
            counts["correct" if right else "partial" if matching == "partial" else "incorrect"] += 1
            free.remove((right or near)[0])
        else:
            counts["spurious"] += 1
    counts["missed"] = len(free)
    return counts


@given(pairs)
def test_counts_match_slow_implementation(pairs):
    y_true, y_pred = unzipped(pairs)
    rows = span_match_counts(y_true, y_pred)
    kinds = {span[2] for labels in y_true + y_pred for span in spans_of(labels)}
    assert [row["type"] for row in rows] == [k for k in (None, *sorted(kinds)) for _ in range(4)]
    for row in rows:
        expected = Counter()
        for sentence in zip(y_true, y_pred):
            spans = (
                [s for s in spans_of(labels) if row["type"] in (None, s[2])] for labels in sentence
            )
            expected += slow_counts(*spans, row["matching"])
        assert {name: row[name] for name in COUNTS} == {name: expected[name] for name in COUNTS}


@given(pairs)
def test_strict_matches_have_the_f1_score_of_spans(pairs):
    y_true, y_pred = unzipped(pairs)
    strict = span_match_counts(y_true, y_pred)[0]
    assert strict["f1-score"] == pytest.approx(span_f1_score(y_true, y_pred, zero_division=0.0))


@pytest.mark.parametrize(
    "true, found, strict, exact, partial, kind",
    [
        # The six scenarios of SemEval-2013: correct, spurious, missed, wrong type, wrong bounds,
        # wrong bounds and type.
        ("B-x I-x", "B-x I-x", (1, 0, 0, 0, 0), (1, 0, 0, 0, 0), (1, 0, 0, 0, 0), (1, 0, 0, 0, 0)),
        ("O O", "O B-x", (0, 0, 0, 0, 1), (0, 0, 0, 0, 1), (0, 0, 0, 0, 1), (0, 0, 0, 0, 1)),
        ("O B-x", "O O", (0, 0, 0, 1, 0), (0, 0, 0, 1, 0), (0, 0, 0, 1, 0), (0, 0, 0, 1, 0)),
        ("B-x I-x", "B-y I-y", (0, 1, 0, 0, 0), (1, 0, 0, 0, 0), (1, 0, 0, 0, 0), (0, 1, 0, 0, 0)),
        ("O B-x", "B-x I-x", (0, 1, 0, 0, 0), (0, 1, 0, 0, 0), (0, 0, 1, 0, 0), (1, 0, 0, 0, 0)),
        ("O B-x", "B-y I-y", (0, 1, 0, 0, 0), (0, 1, 0, 0, 0), (0, 0, 1, 0, 0), (0, 1, 0, 0, 0)),
        # Two predicted spans in a true one: the second is spurious.
        ("B-x I-x", "B-y B-x", (0, 1, 0, 0, 1), (0, 1, 0, 0, 1), (0, 0, 1, 0, 1), (0, 1, 0, 0, 1)),
        # A predicted span over two true ones: the first one, or the one of the same type.
        ("B-y B-x", "B-x I-x", (0, 1, 0, 1, 0), (0, 1, 0, 1, 0), (0, 0, 1, 1, 0), (1, 0, 0, 1, 0)),
    ],
)
def test_counts_of_cases_checked_by_hand(true, found, strict, exact, partial, kind):
    assert table(span_match_counts([true.split()], [found.split()])) == {
        "strict": strict,
        "exact": exact,
        "partial": partial,
        "type": kind,
    }


def test_the_closest_true_span_of_the_type_is_matched():
    true = ["B-x", "B-x", "I-x", "I-x"]
    found = ["B-x", "I-x", "I-x", "I-x"]
    rows = span_match_counts([true, ["B-x"]], [found, ["O"]], sample_weight=[2, 1])
    assert table(rows)["type"] == (2, 0, 0, 3, 0)
    confusions = span_confusions([true], [found])
    assert confusions[0]["examples"] == [(0, (1, 4), (0, 4))]
    assert confusions[1]["examples"] == [(0, (0, 1), None)]


def test_half_of_the_partial_matches_count():
    y_true, y_pred = [["B-x", "I-x", "B-y", "O"]], [["B-x", "O", "B-y", "B-y"]]
    partial = span_match_counts(y_true, y_pred)[2]
    assert partial["precision"] == 1.5 / 3
    assert partial["recall"] == 1.5 / 2
    assert partial["f1-score"] == pytest.approx(0.6)
    assert {row["f1-score"] for row in span_match_counts([["O"]], [["O"]])} == {0.0}


@given(pairs)
def test_confusions_are_the_errors_of_the_matching_by_type(pairs):
    y_true, y_pred = unzipped(pairs)
    rows = span_confusions(y_true, y_pred, n=None)
    total = Counter()
    for row in rows:
        total[row["error"]] += row["count"]
        assert len(row["examples"]) == min(row["count"], 3)
    kind = span_match_counts(y_true, y_pred)[3]
    assert total["missed"] == kind["missed"]
    assert total["spurious"] == kind["spurious"]
    assert total["type"] + total["boundary and type"] == kind["incorrect"]
    strict = span_match_counts(y_true, y_pred)[0]
    assert kind["correct"] - total["boundary"] == strict["correct"]
    assert [row["count"] for row in rows] == sorted((row["count"] for row in rows), reverse=True)
    assert span_confusions(y_true, y_pred, n=1) == rows[:1]


def test_confusions_of_frames_and_ignored_labels():
    y_true = [[1, 1, (2,), (2,), 0, 0], [None, 1]]
    y_pred = [[1, 1, 1, (2,), 0, 3], [3, 3]]
    rows = span_confusions(
        y_true,
        y_pred,
        scheme=None,
        background=[0],
        tokens=[list("abcdef"), list("gh")],
        ignore_label=-1,
    )
    assert {(row["error"], *row["examples"][0]) for row in rows} == {
        ("boundary", 0, "a b", "a b c"),
        ("boundary", 0, "c d", "d"),
        ("spurious", 0, None, "f"),
        ("type", 1, "h", "h"),
    }


@pytest.mark.parametrize(
    "options, message",
    [
        ({"n": 0}, "n must be an integer of at least 1"),
        ({"tokens": [["a"]]}, r"tokens\[0\] has 1 tokens, expected 2"),
        ({"tokens": []}, "tokens has 0 sequences, expected 1"),
        ({"scheme": "iobes"}, "scheme must be one of"),
        ({"scheme": "io"}, r"y_true\[0\]\[0\] is 'B-x'"),
    ],
)
def test_invalid_arguments_of_confusions(options, message):
    with pytest.raises(ValueError, match=message):
        span_confusions([["B-x", "O"]], [["O", "O"]], **options)


def test_missing_labels_of_frames():
    with pytest.raises(ValueError, match=r"y_true\[0\]\[1\] is None"):
        span_confusions([["a", None]], [["a", "a"]], scheme=None)
    with pytest.raises(TypeError, match="tokens must be a list"):
        span_confusions([["B-x"]], [["O"]], tokens="a")


def test_spans_are_scored_in_searches():
    X = [[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]] * 6
    y = [["B-x", "E-x", "O"]] * 6
    scorer = make_scorer(span_f1_score, scheme="bioes")
    search = GridSearchCV(ChainSSVM(random_state=0), {"lam": [0.1, 1.0]}, scoring=scorer, cv=2)
    assert search.fit(X, y).best_score_ == 1
    assert search.score(X, y) == 1
