"""Test alignments against enumeration."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sstruct._oracles.alignment._alignment import best_alignment
from sstruct.inference import align
from tests.reference import alignments


@pytest.mark.parametrize("method", ["global", "local"])
def test_equals_enumeration(rng, method):
    """Compare 1,000 cases with ties, forbidden pairs, empty sequences and known rows."""
    local = method == "local"
    n_impossible = n_empty = n_ties = n_known = 0
    for case in range(1000):
        n, m = rng.integers(0, 5, 2)
        scores = rng.integers(-2, 4, (n, m)).astype(float)
        gaps = rng.integers(-3, 2, (2, 2)).astype(float)
        if case % 4 == 1:
            scores, gaps = rng.normal(size=(n, m)), rng.normal(-0.5, 1, (2, 2))
        if case % 5 == 0:
            scores = -np.abs(scores) - 1
        scores[rng.random((n, m)) < rng.choice([0.0, 0.2])] = -np.inf
        known = np.full(n, -2, dtype=np.int32)
        if case % 3 == 0:
            truth = list(alignments.every(n, m))
            truth = np.array(truth[rng.integers(len(truth))], dtype=np.int32)
            known = np.where(rng.random(n) < 0.5, truth, -2).astype(np.int32)
        values = {
            columns: alignments.score(scores, columns, *gaps, local)
            for columns in alignments.every(n, m)
            if ((known == -2) | (known == columns)).all()
        }
        best = max(values.values())
        found, value = best_alignment(scores, *gaps, local, known)
        n_known += (known != -2).any()
        if best == -np.inf:
            assert value == -np.inf
            n_impossible += 1
            continue
        assert value == pytest.approx(best, abs=1e-12)
        assert values[tuple(found.tolist())] == pytest.approx(best, abs=1e-12)
        n_empty += (found == -1).all()
        n_ties += sum(each == best for each in values.values()) > 1
        if (known == -2).all():
            again, same = align(scores, *gaps, method=method)
            assert same == value
            np.testing.assert_array_equal(again, found)
    assert n_ties > 50
    assert n_known > 150
    assert n_empty > 100
    assert n_impossible > 5


@given(
    st.integers(0, 6), st.integers(0, 6), st.lists(st.integers(-3, 2), min_size=4, max_size=4),
    st.booleans(), st.data(),
)  # fmt: skip
def test_exchanged_sequences_have_the_same_score(n, m, gaps, local, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    scores, method = rng.integers(-3, 4, (n, m)).astype(float), "local" if local else "global"
    opening, extending = gaps[:2], gaps[2:]
    columns, value = align(scores, opening, extending, method=method)
    assert alignments.score(scores, columns, opening, extending, local) == value
    _, same = align(scores.T, opening[::-1], extending[::-1], method=method)
    assert same == value


def test_local_alignments_of_negative_scores_are_empty():
    columns, value = align(-np.ones((3, 4)), -1.0, method="local")
    assert columns.tolist() == [-1, -1, -1]
    assert value == 0
    columns, value = align(np.zeros((2, 2)), 0.0, method="local")
    assert columns.tolist() == [-1, -1]


def test_long_sequences_have_affine_gaps(rng):
    """Align a sequence with a copy from which two parts are removed."""
    first = rng.integers(0, 1000, 3000)
    is_kept = np.ones(len(first), dtype=bool)
    is_kept[500:700] = is_kept[2000:2001] = False
    scores = np.where(first[:, np.newaxis] == first[is_kept], 1.0, -1.0)
    columns, value = align(scores, -5, -0.5)
    np.testing.assert_array_equal(columns >= 0, is_kept)
    assert value == is_kept.sum() - 2 * 5 - 199 * 0.5
    flipped, same = align(scores.T, -5, -0.5)
    assert same == value
    np.testing.assert_array_equal(flipped, np.flatnonzero(is_kept))


def test_one_score_is_for_both_sequences_and_all_positions():
    scores = np.ones((1, 4))
    expected = {"global": 1 - 3 * 2.0, "local": 1.0}
    for method, (opening, extending) in itertools.product(
        expected, [(-2, None), (-2, -2), ([-9, -2], [-7, -2]), (np.float32(-2), None)]
    ):
        assert align(scores, opening, extending, method=method)[1] == expected[method]


INVALID = {
    "shape": ((np.zeros(3), -1), r"scores must have shape \(n, m\), found \(3,\)"),
    "nan": (
        ([[np.nan]], -1),
        "scores must have magnitudes of at most 1e.100, or be -inf, found nan",
    ),
    "inf": (([[np.inf]], -1), "found inf"),
    "sparse": ((sparse.csr_array((2, 2)), -1), "scores is a csr_array"),
    "gap": (([[1.0]], -np.inf), "gap_open must be a number or a pair of numbers"),
    "gaps": (([[1.0]], -1, [1, 2, 3]), "gap_extend must be a number or a pair of numbers"),
    "no gap": (([[1.0]], None), "gap_open must be"),
}


@pytest.mark.parametrize("case", INVALID)
def test_invalid_arguments(case):
    arguments, message = INVALID[case]
    with pytest.raises((ValueError, TypeError), match=message):
        align(*arguments)
    with pytest.raises(ValueError, match="method must be one of"):
        align([[1.0]], -1, method="semi")


def test_sizes_and_known_rows_are_validated():
    scores = np.broadcast_to(0.0, (2**16, 2**15))  # allocates no memory for its entries
    with pytest.raises(ValueError, match=r"65536 x 32768 pairs of positions, expected at most 2"):
        align(scores, -1)
    with pytest.raises(ValueError, match="known has 1 entries, expected 2"):
        best_alignment(np.zeros((2, 2)), (0, 0), (0, 0), False, np.zeros(1, dtype=np.int32))
    with pytest.raises(ValueError, match="known must contain increasing columns"):
        best_alignment(np.zeros((2, 2)), (0, 0), (0, 0), True, np.array([1, 5], dtype=np.int32))
