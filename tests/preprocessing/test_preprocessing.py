"""SequenceVectorizer reads what CRFsuite reads and counts what DictVectorizer counts."""

import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import DictVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from sstruct.preprocessing import SequenceVectorizer
from sstruct.sequences import Sequences

NAMES = st.sampled_from(["w", "pos", "w:a", "upper", "", "ä|b"])
STRINGS = st.sampled_from(["a", "b", "a:b", "", "é"])
# Small integers: sums in any order are exact.
NUMBERS = st.integers(-3, 3) | st.booleans() | st.sampled_from([0.5, -2.0, np.float64(4.0)])
LEAVES = STRINGS | NUMBERS | st.lists(STRINGS, max_size=3, unique=True) | st.sets(STRINGS)
ITEMS = st.dictionaries(NAMES, LEAVES | st.dictionaries(NAMES, LEAVES, max_size=2), max_size=4)
DATA = st.lists(st.lists(ITEMS, max_size=4), min_size=1, max_size=4)


def entries(item, prefix=""):
    """The definition: (attribute, weight) of everything in an item."""
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


def as_counters(rows, names):
    """Each row of the flat array as {attribute: weight}."""
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
def test_rows_are_those_of_the_definition(X, other, min_count):
    vectorizer = SequenceVectorizer(min_count=min_count)
    rows = vectorizer.fit_transform(X)
    count = Counter(name for s in X for item in s for name, weight in entries(item) if weight)
    known = {name for name, times in count.items() if times >= min_count}
    assert set(vectorizer.vocabulary_) == known
    assert list(vectorizer.vocabulary_.values()) == list(range(len(known)))
    names = vectorizer.get_feature_names_out()
    assert list(names) == list(vectorizer.vocabulary_)
    for data, found in (
        (X, rows),
        (X, vectorizer.transform(X)),
        (other, vectorizer.transform(other)),
    ):
        assert found.lengths.tolist() == [len(sequence) for sequence in data]
        expected = [summed(item, known) for sequence in data for item in sequence]
        assert as_counters(found, names) == expected
        assert found.flat.shape == (len(expected), len(known))
        assert found.flat.has_canonical_format
    assert SequenceVectorizer(min_count=min_count).fit(X).vocabulary_ == vectorizer.vocabulary_


def test_order_is_that_of_first_appearance():
    X = [[{"b": "x", "a": 2}], [{"c": ["q", "p"]}, {"a": 1, "d": {"z", "y"}}]]
    names = SequenceVectorizer().fit(X).get_feature_names_out()
    assert names.tolist() == ["b:x", "a", "c:q", "c:p", "d:y", "d:z"]
    many = [[{"a": 1, "b": 1}], [{"b": 1, "c": 1}, {"c": 1}]]
    assert SequenceVectorizer(min_count=2).fit(many).vocabulary_ == {"b": 0, "c": 1}


def test_agrees_with_dict_vectorizer():
    generator = np.random.default_rng(0)
    X = [
        [
            {
                "w": f"word{generator.integers(9)}",
                "size": float(generator.integers(1, 5)),
                "cap": True,
            }
            for _ in range(length)
        ]
        for length in generator.integers(1, 6, size=20)
    ]
    vectorizer = SequenceVectorizer()
    rows = vectorizer.fit_transform(X)
    reference = DictVectorizer(separator=":")
    expected = reference.fit_transform([item for sequence in X for item in sequence])
    order = [vectorizer.vocabulary_[name] for name in reference.get_feature_names_out()]
    np.testing.assert_array_equal(rows.flat.toarray()[:, order], expected.toarray())


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


def test_the_same_attribute_twice_adds_up():
    rows = SequenceVectorizer().fit_transform([[["p", "q", "p"], {"a": ["x", "x"], "a:x": 3}]])
    assert rows.flat.toarray().tolist() == [[2, 1, 0], [0, 0, 5]]


def test_min_count_counts_occurrences_and_can_leave_nothing():
    X = [[["p", "p"], ["q"]], [["q", "r"]]]
    vectorizer = SequenceVectorizer(min_count=2)
    assert vectorizer.fit_transform(X).flat.toarray().tolist() == [[2, 0], [0, 1], [0, 1]]
    assert SequenceVectorizer(min_count=9).fit_transform(X).flat.shape == (3, 0)


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
        ([[{"a": 1}], [{}, {"b": np.nan}]], ValueError, r"X\[1\]\[1\]: attribute 'b' is nan"),
        ([[{"a": -np.inf}]], ValueError, r"X\[0\]\[0\]: attribute 'a' is -inf"),
        ([[{"a": {"b": np.inf}}]], ValueError, r"X\[0\]\[0\]: attribute 'a:b' is inf"),
        ([[{"a": 10**400}]], ValueError, r"X\[0\]\[0\]: "),
        ([[{"a": None}]], TypeError, r"X\[0\]\[0\]: attribute 'a' is NoneType None"),
        ([[{"a": np.zeros(2)}]], TypeError, r"X\[0\]\[0\]: attribute 'a' is ndarray"),
        ([[{"a": ["x", 1]}]], TypeError, r"X\[0\]\[0\]: attribute 'a' has int 1 in its list"),
        ([[{1: "x"}]], TypeError, r"X\[0\]\[0\]: attribute names must be strings, found int 1"),
        ([[["x"], ["y", 1]]], TypeError, r"X\[0\]\[1\]: attribute names .* found int 1"),
        ([[{"a": 1}, "xyz"]], TypeError, r"X\[0\]\[1\]: expected a dict .* found str 'xyz'"),
        ([["word", "word"]], TypeError, r"X\[0\]\[0\]: expected a dict or a list of strings"),
        ([{"a": 1}], TypeError, r"X\[0\] must be a list of items, found dict"),
        (["abc"], TypeError, r"X\[0\] must be a list of items, found str"),
        ({"a": 1}, TypeError, "X must be a list of sequences of items, found dict"),
        ([], ValueError, "X is empty"),
    ],
)
def test_bad_input_is_refused_by_place(X, error, message):
    vectorizer = SequenceVectorizer().fit([[{"z": 1}]])
    for method in (vectorizer.fit, vectorizer.fit_transform, vectorizer.transform):
        with pytest.raises(error, match=message):
            method(X)
    assert vectorizer.vocabulary_ == {"z": 0}


@pytest.mark.parametrize("parameters", [{"min_count": 0}, {"min_count": 1.5}, {"dtype": np.int64}])
def test_bad_parameters_are_refused(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        SequenceVectorizer(**parameters).fit([[{"a": 1}]])


class Width(BaseEstimator):
    """Scores by the number of features, to see what a search makes of the pipeline."""

    def fit(self, X, y=None):
        assert isinstance(X, Sequences)
        self.fitted_ = True
        return self

    def score(self, X, y=None):
        return -float(X.flat.shape[1])


def test_works_in_a_pipeline_and_a_search():
    X = [[{"w": f"w{i % 4}"}, {"w": f"rare{i}"}] for i in range(24)]
    y = [["A", "B"]] * 24
    pipeline = Pipeline([("features", SequenceVectorizer()), ("model", Width())])
    grid = {"features__min_count": [1, 2]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(X, y)
    assert search.best_params_ == {"features__min_count": 2}


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
