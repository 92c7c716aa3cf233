"""Test boundary_f1_score against the largest matching."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import maximum_bipartite_matching

from sstruct.metrics import boundary_f1_score

places = st.sets(st.integers(1, 30), max_size=8).map(sorted)


@given(st.lists(st.tuples(places, places), min_size=1, max_size=3), st.integers(0, 6))
def test_equals_the_largest_matching(pairs, tolerance):
    weights = np.arange(1.0, len(pairs) + 1)
    right = total = 0
    for weight, (true, found) in zip(weights, pairs, strict=True):
        near = np.abs(np.subtract.outer(true, found)) <= tolerance
        if near.size:
            matches = maximum_bipartite_matching(sparse.csr_array(near.astype(int)))
            right += weight * (matches >= 0).sum()
        total += weight * (len(true) + len(found))
    expected = 2 * right / total if right else 0.0
    y_true, y_pred = zip(*pairs, strict=True)
    score = boundary_f1_score(y_true, y_pred, tolerance=tolerance, sample_weight=weights)
    assert score == pytest.approx(expected, rel=1e-12)


def test_values():
    assert boundary_f1_score([[5]], [[5]]) == 1
    assert boundary_f1_score([[5, 9]], [[7]], tolerance=2) == pytest.approx(2 / 3)
    assert boundary_f1_score([[5, 9], []], [[7], [1]], tolerance=2) == pytest.approx(0.5)
    assert boundary_f1_score([[], []], [[], []]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1]], [[1], [2]]), "y_true has 1 signals, but y_pred has 2"),
        (([[2, 1]], [[1]]), r"y_true\[0\] is \[2, 1\], expected increasing integers"),
        (([[2]], [[0]]), r"y_pred\[0\] has the change point 0, expected at least 1"),
        (([[2]], [["a"]]), r"y_pred\[0\] has dtype"),
        (([], []), "y_true is empty"),
        (([2], [2]), r"y_true\[0\] has 0 dimensions"),
    ],
)
def test_invalid_arguments(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        boundary_f1_score(*arguments)
    with pytest.raises(ValueError, match="tolerance must be at least 0"):
        boundary_f1_score([[1]], [[1]], tolerance=-1)
