"""Test the best labeling for each number of errors, of chains and trees, against enumeration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct._testing._oracle_access import error_table, tree_error_table

KEYS = st.integers(0, 2**32 - 1)


def scores_of(rng, shape, kind):
    """Return scores that are integers or reals, some of them forbidden."""
    if kind == "integer":
        return rng.integers(-4, 5, shape).astype(float)
    scores = rng.standard_normal(shape)
    if kind == "masked":
        scores[rng.random(shape) < 0.3] = -np.inf
    return scores


def compare(scores, labels, enumerated, kind):
    """Check the result, given the score and the number of errors of each labeling."""
    best = np.full(len(scores), -np.inf)
    for value, count in enumerated.values():
        best[count] = max(best[count], value)
    if kind == "integer":
        np.testing.assert_array_equal(scores, best)
    else:
        np.testing.assert_allclose(scores, best, rtol=1e-12, atol=1e-12)
    for count, labeling in enumerate(labels):
        if best[count] == -np.inf:
            assert (labeling == -1).all()
            continue
        value, errors = enumerated[tuple(labeling.tolist())]
        assert errors == count
        assert value == pytest.approx(best[count], rel=1e-12, abs=1e-12)


@settings(max_examples=200)
@given(
    key=KEYS,
    K=st.integers(1, 4),
    L=st.integers(1, 5),
    kind=st.sampled_from(["integer", "real", "masked"]),
    costs=st.sampled_from(["hamming", "whole"]),
    one_table=st.booleans(),
)
def test_chains(new_rng, key, K, L, kind, costs, one_table):
    rng = new_rng(key)
    node = scores_of(rng, (L, K), kind)
    edge = scores_of(rng, (K, K) if one_table else (L - 1, K, K), kind)
    truth = rng.integers(0, K, L)
    errors = (np.arange(K) != truth[:, np.newaxis]).astype(int)
    if costs == "whole":
        errors = rng.integers(0, 4, (L, K))
    scores, labels = error_table(node, edge, errors)
    tables = np.broadcast_to(edge, (L - 1, K, K)) if one_table else edge
    enumerated = {
        y: (
            node[range(L), y].sum() + sum(tables[p, y[p], y[p + 1]] for p in range(L - 1)),
            errors[range(L), y].sum(),
        )
        for y in product(range(K), repeat=L)
    }
    assert len(scores) == errors.max(axis=1).sum() + 1
    compare(scores, labels, enumerated, kind)


def test_long_chains_with_many_labels(rng):
    # The numbers of labels have different paddings. Without edges, the best scores are known.
    for K, L in ((7, 40), (26, 30), (70, 12)):
        node, truth = rng.standard_normal((L, K)), rng.integers(0, K, L)
        errors = (np.arange(K) != truth[:, np.newaxis]).astype(int)
        scores, _ = error_table(node, np.zeros((K, K)), errors)
        right = node[range(L), truth]
        others = np.where(errors, node, -np.inf).max(axis=1)
        gains = np.sort(others - right)[::-1]
        np.testing.assert_allclose(scores, right.sum() + np.r_[0, np.cumsum(gains)], rtol=1e-10)


@settings(max_examples=200)
@given(
    key=KEYS,
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=6),
    kind=st.sampled_from(["integer", "real", "masked"]),
)
def test_trees(new_rng, key, sizes, kind):
    rng = new_rng(key)
    n = len(sizes)
    order = rng.permutation(n)  # parents before children in this order
    parents = np.full(n, -1)
    for place, v in enumerate(order):
        if place > 0 and rng.random() < 0.8:
            parents[v] = order[rng.integers(place)]
    node = [scores_of(rng, size, kind) for size in sizes]
    edge = [None if p < 0 else scores_of(rng, (sizes[p], sizes[v]), kind)
            for v, p in enumerate(parents)]  # fmt: skip
    truth = [int(rng.integers(size)) for size in sizes]
    scores, labels = tree_error_table(node, parents, edge, truth)
    enumerated = {}
    for y in product(*map(range, sizes)):
        value = sum(scores_v[s] for scores_v, s in zip(node, y))
        value += sum(edge[v][y[p], y[v]] for v, p in enumerate(parents) if p >= 0)
        enumerated[y] = value, sum(a != b for a, b in zip(y, truth))
    compare(scores, labels, enumerated, kind)


@pytest.mark.parametrize(
    "errors", [[[0, 1]], [[0, 1], [0, -1]], [[0.5, 1], [0, 1]]], ids=["shape", "sign", "fraction"]
)
def test_errors_must_be_counts(errors):
    with pytest.raises(ValueError, match=r"errors must be nonnegative integers of shape \(2, 2\)"):
        error_table(np.zeros((2, 2)), np.zeros((2, 2)), errors)


@pytest.mark.parametrize("truth", [[0], [0, 2], [-1, 0]])
def test_invalid_true_labeling(truth):
    with pytest.raises(ValueError, match="a true label for each of 2 nodes"):
        tree_error_table(np.zeros((2, 2)), [-1, 0], np.zeros((2, 2)), truth)
