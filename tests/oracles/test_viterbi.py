"""Test Viterbi and max-marginals against enumeration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sstruct.inference import max_marginals, top_k, viterbi

SMALL = [(L, K) for L in range(1, 7) for K in range(1, 6) if K**L <= 4096]
# One size for each way in which padded labels are cut into chunks of 32, 16, 8 and 4.
WIDE = [(3, 8), (3, 9), (2, 16), (3, 17), (2, 24), (2, 25), (2, 32), (2, 33), (2, 47), (2, 57)]
WIDE += [(2, 64), (2, 65)]


def score(y, node, edge):
    """Return the score of a labeling; the order of additions is not specified."""
    total = sum(node[position, label] for position, label in enumerate(y))
    for step in range(len(y) - 1):
        table = edge if edge.ndim == 2 else edge[step]
        total += table[y[step], y[step + 1]]
    return total


def enumerate_all(node, edge):
    L, K = node.shape
    return {y: score(y, node, edge) for y in product(range(K), repeat=L)}


def ranking(scores):
    """Return the allowed labelings, the best ones first.

    Of labelings with the same score, those with the lowest last label come first, then those with
    the lowest label before it.
    """
    return sorted((y for y in scores if scores[y] > -np.inf), key=lambda y: (-scores[y], y[::-1]))


def best_scores(scores, shape):
    """Return the best score of the labelings with each label at each position."""
    through = np.full(shape, -np.inf)
    for y, value in scores.items():
        for position, label in enumerate(y):
            through[position, label] = max(through[position, label], value)
    return through


def random_scores(rng, L, K, per_position, ties, forbidden):
    """Return integer scores, whose sums are exact, so that results equal enumeration bitwise."""
    high = 2 if ties else 10**6
    node = rng.integers(-high, high + 1, (L, K)).astype(float)
    shape = (L - 1, K, K) if per_position else (K, K)
    edge = rng.integers(-high, high + 1, shape).astype(float)
    if forbidden:
        node[rng.random(node.shape) < 0.15] = -np.inf
        edge[rng.random(edge.shape) < 0.3] = -np.inf
    return node, edge


def check(node, edge, k=50):
    """Compare the best labeling, the k best ones and max-marginals with enumeration."""
    scores = enumerate_all(node, edge)
    order = ranking(scores)
    labels, value = viterbi(node, edge)
    assert labels.dtype == np.int32
    assert value == max(scores.values())
    if order:
        assert tuple(labels.tolist()) == order[0]
    else:
        assert ((labels >= 0) & (labels < node.shape[1])).all()
    ranked, values = top_k(node, edge, k)
    assert (ranked.dtype, values.dtype) == (np.int32, np.float64)
    assert ranked.shape == (min(k, len(order)), len(node))
    assert [tuple(row) for row in ranked.tolist()] == order[:k]
    assert values.tolist() == [scores[y] for y in order[:k]]
    np.testing.assert_array_equal(max_marginals(node, edge), best_scores(scores, node.shape))


KINDS = ["ties", "strong nodes", "strong transitions", "rounding", "forbidden", "few transitions"]


def many_labels(rng, kind):
    """Return scores of a chain that is long enough for labels to be skipped."""
    L, K = int(rng.integers(8, 13)), int(rng.integers(64, 100))
    node, edge = rng.normal(size=(L, K)), rng.normal(size=(K, K))
    if kind == "ties":
        return np.round(3 * node), np.round(edge)
    if kind == "strong nodes":
        return 10 * node, edge
    if kind == "strong transitions":
        return node, 10 * edge
    if kind == "rounding":
        return np.round(node) + 1e-16 * node, 1e8 + 0.1 * np.round(edge)
    if kind == "forbidden":
        node[rng.random(node.shape) < 0.3] = edge[rng.random(edge.shape) < 0.3] = -np.inf
        return np.round(5 * node), np.round(edge)
    edge[rng.random(edge.shape) < 0.95] = 0.0
    return 3 * node, edge


@settings(max_examples=100)
@given(kind=st.sampled_from(KINDS), key=st.integers(0, 2**32 - 1))
def test_skipped_labels_do_not_change_bits(new_rng, kind, key):
    """Compare with the same table given for each position, for which labels are not skipped."""
    node, edge = many_labels(new_rng(key), kind)
    tables = np.repeat(edge[np.newaxis], len(node) - 1, axis=0)
    labels, value = viterbi(node, edge)
    expected, best = viterbi(node, tables)
    assert value == best
    if best > -np.inf:
        np.testing.assert_array_equal(labels, expected)


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
@pytest.mark.parametrize("ties", [True, False], ids=["ties", "distinct"])
@pytest.mark.parametrize("per_position", [True, False], ids=["tables", "table"])
def test_every_padded_width_equals_enumeration(rng, size, ties, per_position):
    for forbidden in (False, True):
        check(*random_scores(rng, *size, per_position, ties, forbidden))


@pytest.mark.parametrize("K", [1, 3, 4, 5, 8, 9, 17, 33])
def test_negative_scores_do_not_lose_to_padding(K):
    # Padding is 0: if it were read as a label, its score would be the highest.
    node, edge = np.full((3, K), -5.0), np.full((K, K), -7.0)
    labels, value = viterbi(node, edge)
    assert labels.tolist() == [0, 0, 0]
    assert value == -29
    np.testing.assert_array_equal(max_marginals(node, edge), np.full((3, K), -29.0))


@pytest.mark.parametrize("where", ["node", "edge"])
@pytest.mark.parametrize("L, K", [(2, 1), (3, 4), (4, 9)])
def test_everything_forbidden(where, L, K):
    node, edge = np.ones((L, K)), np.ones((K, K))
    (node[1:2] if where == "node" else edge)[...] = -np.inf
    labels, value = viterbi(node, edge)
    assert value == -np.inf
    assert ((labels >= 0) & (labels < K)).all()
    assert np.isneginf(max_marginals(node, edge)).all()
    assert [len(each) for each in top_k(node, edge, 3)] == [0, 0]


def test_one_position_ignores_edges():
    labels, value = viterbi([[1.0, 3.0, 2.0]], np.full((3, 3), -np.inf))
    assert (labels.tolist(), value) == ([1], 3.0)
    labels, value = viterbi([[1.0, 3.0, 2.0]], np.empty((0, 3, 3)))
    assert (labels.tolist(), value) == ([1], 3.0)


def test_input_is_not_changed_and_may_be_of_any_layout(rng):
    node, edge = rng.standard_normal((4, 6)), rng.standard_normal((3, 6, 6))
    node.flags.writeable = edge.flags.writeable = False
    expected = viterbi(node, edge)
    for n, e in [
        (np.asfortranarray(node), np.asfortranarray(edge)),
        (node.tolist(), edge.tolist()),
        (np.repeat(node, 2, axis=1)[:, ::2], np.repeat(edge, 2, axis=2)[:, :, ::2]),
    ]:
        labels, value = viterbi(n, e)
        assert labels.tolist() == expected[0].tolist()
        assert value == expected[1]


@pytest.mark.parametrize("function", [viterbi, max_marginals])
@pytest.mark.parametrize(
    "node, edge, message",
    [
        (np.zeros(3), np.zeros((3, 3)), r"node_scores must be nonempty with shape .*found \(3,\)"),
        (np.zeros((0, 3)), np.zeros((3, 3)), r"found \(0, 3\)"),
        (np.zeros((3, 0)), np.zeros((0, 0)), r"found \(3, 0\)"),
        (np.zeros((2, 3, 1, 1)), np.zeros((3, 3)), r"found \(2, 3, 1, 1\)"),
        (np.zeros((2, 3)), np.zeros((2, 2)), r"edge_scores must have shape .*found \(2, 2\)"),
        (np.zeros((2, 3)), np.zeros((2, 3, 3)), r"\(1, 3, 3\).*found \(2, 3, 3\)"),
        (np.zeros((4, 3)), np.zeros((2, 3, 3)), r"\(3, 3, 3\).*found \(2, 3, 3\)"),
        (np.zeros((2, 3)), np.zeros(9), r"edge_scores must have shape"),
        ([[0, np.nan]], np.zeros((2, 2)), r"node_scores must not contain NaN or \+inf"),
        ([[0, np.inf]], np.zeros((2, 2)), r"node_scores must not contain NaN or \+inf"),
        (np.zeros((2, 2)), [[0, np.nan], [0, 0]], r"edge_scores must not contain NaN"),
        (np.zeros((2, 2)), [[0, np.inf], [0, 0]], r"edge_scores must not contain NaN"),
        ([["a", "b"]], np.zeros((2, 2)), r"could not convert"),
    ],
)
def test_invalid_scores(function, node, edge, message):
    with pytest.raises(ValueError, match=message):
        function(node, edge)
