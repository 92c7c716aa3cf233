"""Test alignment_accuracy and alignment_f1_score against sets of pairs."""

import numpy as np
import pytest

from sstruct.metrics import alignment_accuracy, alignment_f1_score
from tests.reference import alignments


def pairs_of(columns):
    return {(r, c) for r, c in enumerate(columns) if c >= 0}


def test_scores_match_sets_of_pairs(rng):
    every = list(alignments.every(4, 3))
    for _ in range(50):
        true, found = ([every[k] for k in rng.integers(len(every), size=5)] for _ in range(2))
        weights = rng.choice([0.5, 1.0, 2.0], 5)
        right = sum(w * len(pairs_of(a) & pairs_of(b)) for a, b, w in zip(true, found, weights))
        n_true, n_found = (
            sum(w * len(pairs_of(columns)) for columns, w in zip(y, weights)) for y in (true, found)
        )
        as_pairs = [np.array(sorted(pairs_of(columns)), dtype=int) for columns in found]
        for y in (found, as_pairs):
            assert alignment_accuracy(true, y, sample_weight=weights) == pytest.approx(
                right / n_true, rel=1e-14
            )
            assert alignment_f1_score(true, y, sample_weight=weights) == pytest.approx(
                2 * right / (n_true + n_found), rel=1e-14
            )


def test_alignments_without_pairs():
    assert alignment_accuracy([[-1, -1]], [[0, -1]]) == 1.0
    assert alignment_f1_score([[-1, -1]], [[0, -1]]) == 0.0
    assert alignment_f1_score([[-1], []], [[-1], []]) == 1.0


INVALID = {
    "samples": ([[0]], [[0], [0]], "y_true has 1 samples, but y_pred has 2"),
    "none": ([], [], "y_true is empty"),
    "rows": ([[0]], [[0, 1]], r"y_true\[0\] has 1 rows, but y_pred\[0\] has 2"),
    "order": ([[0, 1]], [[1, 0]], r"y_pred\[0\] contains the pairs \[0, 1\] and \[1, 0\]"),
    "marker": ([[0, -2]], [[0, 1]], r"y_true\[0\] contains -2, expected columns or -1"),
    "fraction": ([[0.5]], [[0]], r"y_true\[0\] must contain integers"),
    "shape": ([[[0, 0, 0]]], [[0]], r"y_true\[0\] has shape \(1, 3\)"),
}


@pytest.mark.parametrize("case", INVALID)
def test_invalid_alignments(case):
    true, found, message = INVALID[case]
    with pytest.raises((ValueError, TypeError), match=message):
        alignment_accuracy(true, found)
