"""The k best labelings against enumeration."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sstruct.inference import top_k, viterbi
from tests.oracles.test_viterbi import SMALL, WIDE, enumerate_all, random_scores


def check(node, edge, k):
    scores = enumerate_all(node, edge)
    order = sorted((y for y in scores if scores[y] > -np.inf), key=lambda y: (-scores[y], y[::-1]))
    labels, values = top_k(node, edge, k)
    assert (labels.dtype, values.dtype) == (np.int32, np.float64)
    assert labels.shape == (min(k, len(order)), len(node))
    assert [tuple(row) for row in labels.tolist()] == order[:k]
    assert values.tolist() == [scores[y] for y in order[:k]]


@settings(max_examples=300)
@given(
    size=st.sampled_from(SMALL),
    per_position=st.booleans(),
    ties=st.booleans(),
    forbidden=st.booleans(),
    k=st.integers(1, 40) | st.just(5000),
    key=st.integers(0, 2**32 - 1),
)
@example(size=(1, 1), per_position=True, ties=True, forbidden=False, k=2, key=0)
@example(size=(6, 4), per_position=True, ties=True, forbidden=True, k=5000, key=0)
@example(size=(6, 4), per_position=False, ties=True, forbidden=False, k=5000, key=0)
def test_small_chains_equal_enumeration(new_rng, size, per_position, ties, forbidden, k, key):
    check(*random_scores(new_rng(key), *size, per_position, ties, forbidden), k)


@pytest.mark.parametrize("size", WIDE, ids=str)
def test_every_padded_width_equals_enumeration(rng, size):
    for per_position in (False, True):
        for forbidden in (False, True):
            check(*random_scores(rng, *size, per_position, True, forbidden), 50)


def test_the_first_labeling_is_that_of_viterbi_and_larger_k_only_appends(rng):
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


@pytest.mark.parametrize("where", ["node", "edge"])
def test_everything_forbidden_leaves_nothing(where):
    node, edge = np.ones((3, 4)), np.ones((4, 4))
    (node[1:2] if where == "node" else edge)[...] = -np.inf
    labels, values = top_k(node, edge, 3)
    assert labels.shape == (0, 3)
    assert values.shape == (0,)


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
