"""Test make_alignments."""

import numpy as np
import pytest

from sstruct.datasets import make_alignments


def test_rates_are_as_given():
    X, y = make_alignments(
        400, length=50, substitution=0.3, gap_open=0.05, gap_extend=0.5, random_state=0
    )
    symbols = np.array([
        [first[r], second[c]]
        for (first, second), columns in zip(X, y, strict=True)
        for r, c in enumerate(columns)
        if c >= 0
    ])  # fmt: skip
    differ = symbols[:, 0] != symbols[:, 1]
    assert differ.mean() == pytest.approx(0.3, abs=0.01)
    similar = symbols[:, 0] // 4 == symbols[:, 1] // 4
    # 90 %, and the other 10 % are similar by chance.
    assert similar[differ].mean() == pytest.approx(0.9 + 0.1 * 3 / 19, abs=0.01)
    inserted = np.concatenate([
        np.diff(columns[columns >= 0]) - 1 for columns in y
    ])  # fmt: skip
    starts = np.concatenate([(c[1:] < 0) & (c[:-1] >= 0) for c in y])
    assert (inserted > 0).mean() == pytest.approx(0.05, abs=0.01)
    assert inserted[inserted > 0].mean() == pytest.approx(2.0, abs=0.15)
    assert starts.mean() == pytest.approx(0.05, abs=0.01)


def test_flanks_are_unaligned():
    X, y = make_alignments(300, length=3, substitution=0, gap_open=0, n_flanking=2, random_state=0)
    starts = np.array([[np.argmax(c >= 0), c[c >= 0][0]] for c in y])
    assert set(starts.ravel().tolist()) == {0, 1, 2}
    for (first, second), columns, (r, c) in zip(X, y, starts, strict=True):
        assert (columns >= 0).sum() == 3
        np.testing.assert_array_equal(first[r : r + 3], second[c : c + 3])
        assert len(columns) == len(first)
    ends = {len(first) - r - 3 for (first, _), (r, _) in zip(X, starts, strict=True)}
    assert ends == {0, 1, 2}


def test_a_single_symbol():
    X, _ = make_alignments(3, n_symbols=1, substitution=1.0, random_state=0)
    assert not np.concatenate([np.concatenate(pair) for pair in X]).any()
