"""Rows that are stored as differences are restored to the bit."""

import pickle

import numpy as np
import pytest

from sstruct._estimators.path.compact_rows import WHOLE_EVERY, CompactRows


def make(rng, n, d, share):
    """Return vectors, each of which differs from the previous one in a fraction of its entries."""
    row, rows, kept = rng.standard_normal(d), [], CompactRows()
    for _ in range(n):
        row = row.copy()
        places = rng.random(d) < share
        row[places] = rng.choice([0.0, -0.0, np.inf, np.nan, rng.standard_normal()], places.sum())
        rows.append(row)
        kept.append(row)
    return rows, kept


@pytest.mark.parametrize("share", [0.0, 0.05, 0.6, 0.7, 1.0])
def test_rows_come_back(rng, share):
    rows, kept = make(rng, 2 * WHOLE_EVERY + 5, 50, share)
    assert len(kept) == len(rows)
    for k, (row, one) in enumerate(zip(rows, kept, strict=True)):
        assert one.tobytes() == row.tobytes()
        assert kept[k].tobytes() == row.tobytes()
        assert kept[k - len(rows)].tobytes() == row.tobytes()
    assert kept.nbytes <= sum(row.nbytes for row in rows)
    again = pickle.loads(pickle.dumps(kept))
    again.append(rows[0])
    assert again[len(rows)].tobytes() == rows[0].tobytes()


def test_few_changes_need_little_memory(rng):
    rows, kept = make(rng, 96, 1000, 0.01)
    assert kept.nbytes < 0.1 * sum(row.nbytes for row in rows)


def test_rows_are_returned_as_copies(rng):
    rows, kept = make(rng, 3, 10, 0.1)
    for one in kept:
        one[:] = 7
    kept[2][:] = 7
    assert [row.tobytes() for row in kept] == [row.tobytes() for row in rows]


@pytest.mark.parametrize("n", [3, 32])  # the next row is stored as a difference, or whole
def test_errors(rng, n):
    _, kept = make(rng, n, 10, 0.5)
    with pytest.raises(IndexError):
        kept[n]
    with pytest.raises(ValueError, match=r"row has shape \(11,\), expected \(10,\)"):
        kept.append(np.zeros(11))


class Longer(list):
    """A list with a wrong length."""

    def __len__(self):
        return super().__len__() + 1


def test_invalid_length_of_the_state():
    with pytest.raises(ValueError, match=r"_rows is .* expected a list of float64 vectors"):
        CompactRows().__setstate__({"_rows": Longer(), "_last": None})
