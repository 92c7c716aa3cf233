"""Codes of feature dicts and the resulting CSR rows, compared with Python and SciPy."""

from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sstruct._checks.compressed import check_compressed, csr_array_of
from sstruct.preprocessing import SequenceVectorizer
from sstruct.preprocessing._encoding import codes_of_dicts, csr_rows
from sstruct.preprocessing._sequence_vectorizer import _seen_pairs


@given(data=st.data())
def test_rows_match_scipy(data):
    # 300 columns in one row are sorted by SciPy.
    sizes = data.draw(st.lists(st.sampled_from([0, 1, 2, 5, 20, 300]), max_size=6))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    offsets = np.cumsum([0, *sizes])
    columns = rng.integers(-2, data.draw(st.sampled_from([1, 3, 400])), offsets[-1], dtype=np.int32)
    weights = rng.integers(-3, 4, len(columns)) / 2 if data.draw(st.booleans()) else None
    values, indices, indptr, is_canonical = csr_rows(columns, offsets, weights)
    found = sparse.csr_array((values, indices, indptr), shape=(len(sizes), 400))
    assert not is_canonical or found.has_canonical_format
    assert is_canonical == (300 not in sizes)
    row, some = np.repeat(np.arange(len(sizes)), sizes), columns >= 0
    expected = np.zeros((len(sizes), 400))
    np.add.at(expected, (row[some], columns[some]), 1 if weights is None else weights[some])
    np.testing.assert_array_equal(found.toarray(), expected)


@pytest.mark.parametrize("offsets", [[], [1, 3], [0, 2], [0, 4], [0, 3, 2, 3], [0, -1, 3]])
def test_offsets_are_checked(offsets):
    with pytest.raises(ValueError, match="do not match the columns"):
        csr_rows(np.zeros(3, dtype=np.int32), np.array(offsets, dtype=np.int64))


def test_weights_are_checked():
    with pytest.raises(ValueError, match="do not match the columns"):
        csr_rows(np.zeros(3, dtype=np.int32), np.array([0, 3]), np.ones(2))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_output_is_a_usual_array(dtype):
    rows = SequenceVectorizer(dtype=dtype).fit_transform([[["b", "a", "b"], [], ["a"]]]).flat
    check_compressed(rows, "rows")
    expected = sparse.csr_array(np.array([[2, 1], [0, 0], [0, 1]], dtype=dtype))
    assert rows.shape == (3, 2)
    assert rows.has_canonical_format
    assert (rows != expected).nnz == 0
    for each in (rows.T, rows[:2], rows.copy(), rows * 2, sparse.vstack([rows, rows])):
        assert each.dtype == dtype
    assert vars(rows).keys() == vars(expected).keys() | {
        "_has_canonical_format",
        "_has_sorted_indices",
    }


def test_arrays_of_a_shape_share_nothing():
    one, other = (
        csr_array_of(np.array([v]), np.zeros(1, np.int32), np.array([0, 1], np.int32), (1, 2))
        for v in (1.0, 2.0)
    )
    other.resize((1, 5))
    assert one.shape == (1, 2)
    assert one.toarray().tolist() == [[1, 0]]
    assert other.toarray().tolist() == [[2, 0, 0, 0, 0]]


class Longer(dict):
    """A dict that gives a wrong length."""

    def __len__(self):
        return super().__len__() + 3


ENTRIES = st.dictionaries(
    st.sampled_from(["a", "b", "c:d", b"e"]),
    st.sampled_from(["x", "", 0, 1, True, 1.0, 0.5, None, 2, b"x", -0.0, ["p", "q"], [1.0, 2.0]]),
    max_size=4,
)
DICTS = st.one_of(ENTRIES, ENTRIES.map(OrderedDict), st.just(["a:x"]))


@pytest.mark.filterwarnings("ignore:X has .* missing value")
@given(first=st.lists(DICTS, min_size=1, max_size=4), short=st.lists(st.lists(DICTS), max_size=3))
def test_short_inputs_have_the_rows_of_long_ones(first, short):
    vectorizer = SequenceVectorizer().fit([[*first, {"a": "x", "b": 1}]])
    many = vectorizer.transform([*short, *[[{}]] * 20])
    for _ in range(2):  # the second time, codes are known
        few = vectorizer.transform(short)
        assert few.lengths.tolist() == many.lengths[: len(short)].tolist()
        expected = many.flat[: few.flat.shape[0]]
        np.testing.assert_array_equal(few.flat.toarray(), expected.toarray())
        check_compressed(few.flat, "rows")


@pytest.mark.parametrize("item", [["a"], Longer(a="x"), {"a": None}, {1: "x"}, {"a": 2}, None])
def test_other_items_are_left_to_python(item):
    vectorizer = SequenceVectorizer().fit([[{"a": "x", "b": True}]])
    seen = _seen_pairs(vectorizer)
    codes, sizes = codes_of_dicts([{"a": "x", "b": 0}, {}], seen.codes, seen.find)
    assert (codes.tolist(), sizes.tolist()) == ([0, -1], [2, 0])
    found = codes_of_dicts([{"a": "x"}, item], seen.codes, seen.find)
    if isinstance(item, Longer):
        assert [each.tolist() for each in found] == [[0, 0], [1, 1]]
    else:
        assert found is None


def test_the_number_of_known_codes_is_limited(monkeypatch):
    monkeypatch.setattr("sstruct.preprocessing._sequence_vectorizer.MAX_CACHED", 3)
    vectorizer = SequenceVectorizer().fit([[{"a": str(i), "b": str(i)} for i in range(5)]])
    for i in range(5):
        row = vectorizer.transform([[{"a": str(i), "b": str(i)}]]).flat
        assert row.indices.tolist() == [2 * i, 2 * i + 1]
    assert _seen_pairs(vectorizer).size == 3
