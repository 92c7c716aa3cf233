"""SequenceVectorizer accepts the formats of CRFsuite and agrees with DictVectorizer."""

import pickle
import warnings
from array import array
from collections import Counter
from decimal import Decimal
from enum import Enum, IntEnum

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sstruct.preprocessing import SequenceVectorizer
from sstruct.preprocessing._sequence_vectorizer import FEW
from sstruct.sequences import Sequences

NAMES = st.sampled_from(["w", "pos", "w:a", "upper", "", "ä|b"])
STRINGS = st.sampled_from(["a", "b", "a:b", "", "é"])
# Small integers: sums in any order are exact.
NUMBERS = st.integers(-3, 3) | st.booleans() | st.sampled_from([0.5, -2.0, np.float64(4.0)])
LEAVES = STRINGS | NUMBERS | st.lists(STRINGS, max_size=3, unique=True) | st.sets(STRINGS)


class Tag(str, Enum):  # noqa: UP042 - its own str() is not its value
    NOUN = "noun"


class Level(IntEnum):
    HIGH = 3


class Anything(Enum):
    TEXT = "a"
    WEIGHT = 0.5
    NOTHING = None
    VECTOR = (1.0, 2.0)


MISSING = (None, np.nan, np.float32("nan"), Decimal("nan"), Anything.NOTHING, pd.NA, pd.NaT)
VECTORS = st.lists(NUMBERS | st.sampled_from([Decimal(2), None, np.nan]), max_size=3)
MORE_LEAVES = (
    LEAVES | VECTORS | VECTORS.map(tuple) | st.sampled_from([*MISSING, *Tag, *Level, *Anything])
)
MORE_ITEMS = st.dictionaries(
    NAMES, MORE_LEAVES | st.dictionaries(NAMES, MORE_LEAVES, max_size=2), max_size=4
)
MORE_DATA = st.lists(st.lists(MORE_ITEMS, max_size=3), min_size=1, max_size=3)
ITEMS = st.dictionaries(NAMES, LEAVES | st.dictionaries(NAMES, LEAVES, max_size=2), max_size=4)
DATA = st.lists(st.lists(ITEMS, max_size=4), min_size=1, max_size=4)


def entries(item, prefix=""):
    """Return the (attribute, weight) pairs of an item by their definition."""
    if not isinstance(item, dict):
        return [(prefix + string, 1.0) for string in item]
    found = []
    for name, value in item.items():
        if isinstance(value, str):
            found.append((f"{prefix}{name}:{value}", 1.0))
        elif isinstance(value, dict | list | set):
            found += entries(value, f"{prefix}{name}:")
        else:
            found.append((prefix + name, float(value)))
    return found


def as_plain(value):
    """Return the plain dict, string, number or None that is equivalent to a value."""
    if isinstance(value, Enum):
        return as_plain(value.value)
    if isinstance(value, dict):
        return {name: as_plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | np.ndarray | array):
        if not any(isinstance(inner, str) for inner in value):
            return {str(i): as_plain(inner) for i, inner in enumerate(value)}
    if any(value is missing for missing in MISSING) or value != value:
        return None
    return float(value) if isinstance(value, Decimal) else value


def without_missing(item):
    """Return a plain feature dict without its missing values, and their number."""
    out, n_missing = {}, 0
    for name, value in item.items():
        if value is None:
            n_missing += 1
            continue
        if isinstance(value, dict):
            value, inside = without_missing(value)
            n_missing += inside
        out[name] = value
    return out, n_missing


def as_counters(rows, names):
    """Return the rows of the flat array as dicts {attribute: weight}."""
    flat = rows.flat
    spans = zip(flat.indptr[:-1], flat.indptr[1:])
    return [
        {names[flat.indices[k]]: flat.data[k] for k in range(start, stop)} for start, stop in spans
    ]


def summed(item, known):
    total = {}
    for name, weight in entries(item):
        if weight != 0 and name in known:
            total[name] = total.get(name, 0.0) + weight
    return total


@settings(max_examples=150, deadline=None)
@given(X=DATA, other=DATA, min_count=st.integers(1, 3))
def test_rows_match_definition(X, other, min_count):
    vectorizer = SequenceVectorizer(min_count=min_count)
    count = Counter(name for s in X for item in s for name, weight in entries(item) if weight)
    known = {name for name, times in count.items() if times >= min_count}
    assume(known or not count)
    rows = vectorizer.fit_transform(X)
    assert set(vectorizer.vocabulary_) == known
    assert list(vectorizer.vocabulary_.values()) == list(range(len(known)))
    names = vectorizer.get_feature_names_out()
    assert list(names) == list(vectorizer.vocabulary_)
    # Codes of short inputs are kept for later calls, those of long ones are not.
    long = [*other, *X] * (FEW + 1)
    for data, found in (
        (X, rows),
        *((data, vectorizer.transform(data)) for data in (X, other, X, long)),
    ):
        assert found.lengths.tolist() == [len(sequence) for sequence in data]
        expected = [summed(item, known) for sequence in data for item in sequence]
        assert as_counters(found, names) == expected
        assert found.flat.shape == (len(expected), len(known))
        assert found.flat.has_canonical_format
    assert SequenceVectorizer(min_count=min_count).fit(X).vocabulary_ == vectorizer.vocabulary_


@settings(max_examples=150, deadline=None)
@given(X=MORE_DATA)
def test_vectors_members_and_missing_values_are_read_as_plain_ones(X):
    pairs = [[without_missing(as_plain(item)) for item in sequence] for sequence in X]
    n_missing = sum(n for sequence in pairs for _, n in sequence)
    plain = [[item for item, _ in sequence] for sequence in pairs]
    expected = SequenceVectorizer().fit_transform(plain)
    vectorizer = SequenceVectorizer()
    for method in (vectorizer.fit_transform, vectorizer.transform):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = method(X)
        assert len(caught) == (n_missing > 0)
        if n_missing:
            assert f"X has {n_missing} missing value" in str(caught[0].message)
        names = vectorizer.get_feature_names_out()
        assert sorted(names) == sorted(expected.feature_names)
        assert as_counters(found, names) == as_counters(expected, expected.feature_names)


@pytest.mark.parametrize(
    "vector",
    [
        [1, 0, 2.5],
        (1, 0, 2.5),
        np.array([1, 0, 2.5], dtype=np.float32),
        array("d", [1, 0, 2.5]),
        pd.Series([1, 0, 2.5], index=list("xyz")),
        np.array([1, 0, Decimal("2.5")], dtype=object),
    ],
)
def test_a_vector_has_an_attribute_for_each_entry(vector):
    vectorizer = SequenceVectorizer()
    rows = vectorizer.fit_transform([[{"v": vector}, {"v": [0, True, 0, 9]}]])
    assert as_counters(rows, vectorizer.get_feature_names_out()) == [
        {"v:0": 1.0, "v:2": 2.5},
        {"v:1": 1.0, "v:3": 9.0},
    ]
    counted = SequenceVectorizer(min_count=2).fit([[{"v": vector}], [{"v": vector[:2]}]])
    assert list(counted.vocabulary_) == ["v:0"]
    assert counted.transform([[{"v": vector}]]).flat.toarray().tolist() == [[1.0]]


def test_dicts_may_be_nested_up_to_a_limit():
    item = {"a": 1}
    for _ in range(99):
        item = {"a": item}
    assert list(SequenceVectorizer().fit([[item]]).vocabulary_) == [":".join("a" * 100)]
    endless = {}
    endless["a"] = endless
    for deeper in ({"a": item}, endless):
        with pytest.raises(ValueError, match=r"X\[0\]\[1\]: dicts are nested more than 100 levels"):
            SequenceVectorizer().fit([[{}, deeper]])


def test_empty_sequences_have_no_rows():
    vectorizer = SequenceVectorizer().fit([[], [{"a": 1}, {"b": 1}], []])
    assert vectorizer.transform([[], [{"a": 1}], []]).lengths.tolist() == [0, 1, 0]
    for X, n in (([], 0), ([[]], 1), ([[], []], 2)):
        rows = vectorizer.transform(X)
        assert (len(rows), rows.flat.shape) == (n, (0, 2))


def test_order_of_first_appearance():
    X = [[{"b": "x", "a": 2}], [{"c": ["q", "p"]}, {"a": 1, "d": {"z", "y"}}]]
    names = SequenceVectorizer().fit(X).get_feature_names_out()
    assert names.tolist() == ["b:x", "a", "c:q", "c:p", "d:y", "d:z"]
    names = SequenceVectorizer().fit([[{"q", b"p", Tag.NOUN}]]).get_feature_names_out()
    assert names.tolist() == ["noun", "p", "q"]
    many = [[{"a": 1, "b": 1}], [{"b": 1, "c": 1}, {"c": 1}]]
    assert SequenceVectorizer(min_count=2).fit(many).vocabulary_ == {"b": 0, "c": 1}


def test_min_count_that_removes_all_attributes_raises():
    message = r"min_count=3 removes all attributes, since the most frequent one occurs 2 times"
    with pytest.raises(ValueError, match=message):
        SequenceVectorizer(min_count=3).fit([[{"a": 1, "b": 1}, {"a": 1}]])


@pytest.mark.parametrize(
    "item",
    [
        {"a": "x", b"b": b"y"},
        {"a": True, "b": 2, "c": 1.5, "d": np.float32(0.5), "e": np.bool_(True)},
        {"a": {"b": 1.5, "c": "x", "d": {"e": True, "f": ["g", b"h"]}}},
        {"a": ["x", "y"], "b": {"z"}, "c": [], "d": {}},
        ["p", b"q", "r:s"],
        ("p", "q"),
        {"p", "q"},
        {"": "x", "a": "", "b:c": "d:e"},
    ],
)
def test_agrees_with_crfsuite(item):
    crfsuite = pytest.importorskip("pycrfsuite")
    vectorizer = SequenceVectorizer()
    for X in ([[item]], [[item, {}], [["p"], item]]):
        rows = vectorizer.fit_transform(X)
        expected = [
            attributes for sequence in X for attributes in crfsuite.ItemSequence(sequence).items()
        ]
        assert as_counters(rows, vectorizer.get_feature_names_out()) == expected


def test_output_is_compact():
    X = [[{"a": "x", "n": 3}], [{"b": "y"}, {}]]
    rows = SequenceVectorizer().fit_transform(X)
    assert isinstance(rows, Sequences)
    assert rows.flat.format == "csr"
    assert rows.flat.dtype == np.float64
    assert rows.flat.indices.dtype == rows.flat.indptr.dtype == np.int32
    assert SequenceVectorizer(dtype=np.float32).fit_transform(X).flat.dtype == np.float32


def test_input_is_unchanged_and_state_is_plain():
    X = [[{"a": "x", "b": ["y"]}], [["p", b"q"]]]
    before = pickle.dumps(X)
    vectorizer = SequenceVectorizer().fit(X)
    vectorizer.transform([[{"new": "value"}], [["newer", b"newest"]]])
    assert pickle.dumps(X) == before
    assert type(vectorizer.vocabulary_) is dict
    assert vectorizer.vocabulary_ == {"a:x": 0, "b:y": 1, "p": 2, "q": 3}
    again = pickle.loads(pickle.dumps(vectorizer))
    np.testing.assert_array_equal(
        again.transform(X).flat.toarray(), vectorizer.transform(X).flat.toarray()
    )
    with pytest.raises(NotFittedError):
        clone(vectorizer).transform(X)
    with pytest.raises(NotFittedError):
        SequenceVectorizer().get_feature_names_out()


@pytest.mark.parametrize(
    "X, error, message",
    [
        ([[{"a": -np.inf}]], ValueError, r"X\[0\]\[0\]: attribute 'a' is -inf"),
        ([[{"a": {"b": np.inf}}]], ValueError, r"X\[0\]\[0\]: attribute 'a:b' is inf"),
        ([[{"a": 10**400}]], ValueError, r"X\[0\]\[0\]: "),
        ([[{"a": 1j}]], TypeError, r"X\[0\]\[0\]: attribute 'a' is complex"),
        ([[{"a": np.zeros((2, 1))}]], ValueError, r"'a' is an array of shape \(2, 1\)"),
        ([[{"a": [1, np.inf]}]], ValueError, r"X\[0\]\[0\]: attribute 'a' has inf at 1"),
        ([[{"a": bytearray()}]], TypeError, r"X\[0\]\[0\]: attribute 'a' is bytearray"),
        ([[{"a": {1, 2}}]], TypeError, r"X\[0\]\[0\]: attribute 'a' is a set of numbers"),
        ([[{"a": [[1.0]]}]], TypeError, r"X\[0\]\[0\]: attribute 'a' has list"),
        ([[{"a": ["x", 1]}]], TypeError, r"X\[0\]\[0\]: attribute 'a' has int 1 in its list"),
        ([[{1: "x"}]], TypeError, r"X\[0\]\[0\]: attribute names must be strings, found int 1"),
        ([[["x"], ["y", 1]]], TypeError, r"X\[0\]\[1\]: attribute names .* found int 1"),
        ([[{"x", 1}]], TypeError, r"X\[0\]\[0\]: attribute names .* found int 1"),
        ([[{"a": 1}, "xyz"]], TypeError, r"X\[0\]\[1\]: expected a dict .* found str 'xyz'"),
        ([["word", "word"]], TypeError, r"X\[0\]\[0\]: expected a dict or a list of strings"),
        ([{"a": 1}], TypeError, r"X\[0\] must be a list of items, found dict"),
        (["abc"], TypeError, r"X\[0\] must be a list of items, found str"),
        ({"a": 1}, TypeError, "X must be a list of sequences of items, found dict"),
    ],
)
def test_error_names_position_of_invalid_input(X, error, message):
    vectorizer = SequenceVectorizer().fit([[{"z": 1}]])
    for method in (vectorizer.fit, vectorizer.fit_transform, vectorizer.transform):
        with pytest.raises(error, match=message):
            method(X)
    with pytest.raises(ValueError, match="X is empty"):
        vectorizer.fit([])
    assert vectorizer.vocabulary_ == {"z": 0}


@pytest.mark.parametrize("parameters", [{"min_count": 0}, {"min_count": 1.5}, {"dtype": np.int64}])
def test_invalid_parameters(parameters):
    with pytest.raises((ValueError, TypeError), match=next(iter(parameters))):
        SequenceVectorizer(**parameters).fit([[{"a": 1}]])


def test_global_output_settings_leave_ragged_rows_alone():
    with config_context(transform_output="pandas"):
        assert isinstance(SequenceVectorizer().fit_transform([[{"a": 1}]]), Sequences)
    assert not hasattr(SequenceVectorizer(), "set_output")


def test_a_memoryview_lists_sequences():
    X = np.empty(2, dtype=object)
    X[:] = [[{"a": True}], [{"b": 2.0}, {"a": True}]]
    found = SequenceVectorizer().fit_transform(memoryview(X))
    assert found.offsets.tolist() == [0, 1, 3]
    assert found.flat.toarray().tolist() == [[1, 0], [0, 2], [1, 0]]
