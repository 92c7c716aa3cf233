"""Test loops over all entries of an array against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstruct._checks._scans import in_range, is_canonical, rises
from sstruct._checks.arrays import SCANNED_AT_ONCE, first_beyond

SMALL = st.lists(st.integers(-2, 5), max_size=8)


@given(values=SMALL, dtype=st.sampled_from([np.int32, np.int64]))
def test_rises(values, dtype):
    assert rises(np.array(values, dtype)) == (values == sorted(values))


@given(values=SMALL, n=st.integers(0, 5))
def test_in_range(values, n):
    assert in_range(np.array(values, np.int32), n) == all(0 <= value < n for value in values)


@given(rows=st.lists(st.lists(st.integers(-1, 4), max_size=4), max_size=4), n=st.integers(0, 5))
def test_is_canonical(rows, n):
    pointers = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    indices = np.array([column for row in rows for column in row], np.int32)
    expected = all(row == sorted(set(row) & set(range(n))) for row in rows)
    assert is_canonical(pointers, indices, n) == expected


def test_invalid_pointers_are_not_canonical():
    for pointers in ([0, 3], [-1, 2], [0, 2, 1]):
        assert not is_canonical(np.array(pointers, np.int32), np.arange(2, dtype=np.int32), 2)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f8"])
@pytest.mark.parametrize("at", [0, 3, SCANNED_AT_ONCE, 2 * SCANNED_AT_ONCE + 1])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, -10.5, 11])
def test_first_beyond(dtype, at, wrong):
    values = np.full(2 * SCANNED_AT_ONCE + 2, 10.0).astype(dtype)
    assert first_beyond(values, 10) is None
    values[at] = wrong
    values[-1] = np.nan
    row, value = first_beyond(values, 10)
    assert row == at
    np.testing.assert_equal(value, np.nan if at == len(values) - 1 else wrong)
    assert first_beyond(values[: at + 1].reshape(-1, 1)[:, :0]) is None


def test_large_values_pass():
    assert first_beyond(np.full((3, 2), 1e100)) is None
    assert first_beyond(np.full((3, 2), np.finfo(np.float32).max, np.float32)) is None
    assert first_beyond(np.full((3, 2), 1.0001e100))[0] == 0
