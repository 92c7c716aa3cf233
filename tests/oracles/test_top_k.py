"""Test the k best labelings against enumeration."""

import numpy as np
import pytest

from sstruct.inference import top_k, viterbi


def test_first_labeling_matches_viterbi_and_larger_k_only_appends(rng):
    for _ in range(50):
        L, K = rng.integers(1, 60), rng.integers(1, 20)
        node, edge = rng.standard_normal((L, K)), rng.standard_normal((K, K))
        best, value = viterbi(node, edge)
        labels, values = top_k(node, edge, 1)
        assert labels.tolist() == [best.tolist()]
        assert values.tolist() == [value]
        many, more = top_k(node, edge, 300)
        np.testing.assert_array_equal(many[:1], labels)
        few, less = top_k(node, edge, 30)
        np.testing.assert_array_equal(few, many[:30])
        np.testing.assert_array_equal(less, more[:30])


def test_long_chains_are_ranked(rng):
    # Labelings are distinct, in order, and have the returned scores.
    L, K, k = 300, 12, 2000
    node = rng.integers(-100, 100, (L, K)).astype(float)
    edge = rng.integers(-100, 100, (L - 1, K, K)).astype(float)
    labels, values = top_k(node, edge, k)
    assert len(np.unique(labels, axis=0)) == k
    assert (np.diff(values) <= 0).all()
    scores = node[np.arange(L), labels].sum(axis=1)
    scores += edge[np.arange(L - 1), labels[:, :-1], labels[:, 1:]].sum(axis=1)
    np.testing.assert_array_equal(scores, values)
    # The second best differs from the best at some position: forbid the best label at each.
    second = -np.inf
    for position in range(L):
        barred = node.copy()
        barred[position, labels[0, position]] = -np.inf
        second = max(second, viterbi(barred, edge)[1])
    assert values[1] == second


def test_k_may_exceed_the_number_of_labelings():
    labels, values = top_k([[1.0, 3.0, 2.0]], np.empty((0, 3, 3)), 10**30)
    assert labels.tolist() == [[1], [2], [0]]
    assert values.tolist() == [3, 2, 1]
    assert len(top_k(np.zeros((3, 2)), np.zeros((2, 2)), np.int64(8))[1]) == 8


def test_invalid_arguments():
    node, edge = np.zeros((2, 3)), np.zeros((3, 3))
    for k in (0, -1):
        with pytest.raises(ValueError, match=f"k must be at least 1, found {k}"):
            top_k(node, edge, k)
    for k in (1.0, "1", None):
        with pytest.raises(TypeError):
            top_k(node, edge, k)
    with pytest.raises(ValueError, match="edge_scores must have shape"):
        top_k(node, np.zeros((2, 2)), 1)
    with pytest.raises(ValueError, match="node_scores must not contain NaN"):
        top_k([[np.nan, 0]], np.zeros((2, 2)), 1)
