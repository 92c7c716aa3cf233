"""Rows built from the columns of attributes, compared with SciPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sstruct._checks.compressed import check_compressed, csr_array_of
from sstruct.preprocessing import SequenceVectorizer
from sstruct.preprocessing._csr_rows import csr_rows


@given(data=st.data())
def test_rows_equal_those_of_scipy(data):
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
