"""Test exactness, bounds and invalid input of multilabel_map and tree_max_sum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstruct.inference import multilabel_map, tree_max_sum
from tests.reference.local_polytope import LocalPolytope, as_tables, random_scores, set_scores


@given(
    n_labels=st.integers(1, 9),
    density=st.sampled_from([0.2, 0.6, 1.0]),
    integer=st.booleans(),
    tables=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_equals_enumeration(n_labels, density, integer, tables, seed, new_rng):
    node, edges, edge_scores = random_scores(new_rng(seed), n_labels, density, integer, tables)
    given_scores = edge_scores.reshape(-1, 2, 2) if tables else edge_scores
    labels, value, bound = multilabel_map(node, edges, given_scores, return_bound=True)
    every, scores = set_scores(node, edges, edge_scores)
    assert labels.dtype == np.int32
    assert value == bound == pytest.approx(scores.max(), abs=1e-10)
    assert scores[(every == labels).all(axis=1)].item() == pytest.approx(value, abs=1e-10)
    again = multilabel_map(node, edges, given_scores)
    np.testing.assert_array_equal(again[0], labels)
    assert again[1] == value


def test_bound_of_many_undecided_labels_matches_linear_program(rng):
    K = 20
    edges = np.array([(u, v) for u in range(K) for v in range(u)])
    for _ in range(3):
        node, edge_scores = rng.normal(size=K), rng.normal(-1.0, 3.0, size=len(edges))
        labels, value, bound = multilabel_map(node, edges, edge_scores, return_bound=True)
        objective = np.concatenate([node, as_tables(edge_scores).ravel()])
        best, _ = LocalPolytope(K, edges).maximum(objective)
        assert bound == pytest.approx(best, abs=1e-7)
        pair = labels[edges].all(axis=1)
        assert value == pytest.approx(node @ labels + edge_scores @ pair, abs=1e-10)
        assert value < bound


def test_equals_the_decoder_of_trees(rng):
    for _ in range(30):
        K = int(rng.integers(2, 60))
        parents = np.array([-1] + [int(rng.integers(v)) for v in range(1, K)])
        node, tables = rng.normal(size=K), rng.normal(size=(K, 2, 2))
        expected = tree_max_sum(np.column_stack([np.zeros(K), node]), parents, tables)
        edges = np.column_stack([parents[1:], np.arange(1, K)])
        labels, value, bound = multilabel_map(node, edges, tables[1:], return_bound=True)
        np.testing.assert_array_equal(labels, expected[0])
        assert value == bound == pytest.approx(expected[1], rel=1e-12)


def test_scores_far_apart_in_size():
    # A large score of one label must not cancel the small scores of the others by rounding.
    node = [1e12, 1.0, -2.0]
    labels, value = multilabel_map(node, [[0, 1], [0, 2], [1, 2]], [-0.5, 0.5, 2.0])
    assert labels.tolist() == [1, 1, 1]
    assert value == pytest.approx(1e12 + 1.0)


NODE = [0.0, 1.0, -1.0]


@pytest.mark.parametrize(
    "node, edges, scores, message",
    [
        (NODE, [[0, 3]], [1.0], r"edges\[0\] = \(0, 3\) is out of range for 3 labels"),
        (NODE, [[0, 1], [1, 1]], [1.0, 1.0], r"edges\[1\] = \(1, 1\) is a self-loop"),
        (NODE, [[0, 1], [2, 1], [1, 0]], np.ones(3), r"edges\[2\] = \(1, 0\) .* edges\[0\]"),
        (NODE, [[0.0, 1.0]], [1.0], "edges must be integers"),
        ([0.0, np.nan], [], [], r"node_scores\[1\] = nan must be finite"),
        ([[0.0, 1.0]], [], [], r"node_scores must have shape \(n_labels,\)"),
        ([], [], [], "n_labels >= 1"),
        (NODE, [[0, 1]], [-np.inf], r"edge_scores\[0\] = -inf must be finite"),
        (NODE, [[0, 1]], [[[0, 0], [0, np.nan]]], r"edge_scores\[0\] = \[0.0, 0.0, 0.0, nan\]"),
        (NODE, [[0, 1]], [1.0, 2.0], r"edge_scores must have shape \(1,\) or \(1, 2, 2\)"),
        (NODE, [[0, 1]], np.ones((1, 4)), r"edge_scores must have shape \(1,\) or \(1, 2, 2\)"),
        (NODE, [], [1.0], r"edge_scores must have shape \(0,\)"),
    ],
)
def test_invalid_input(node, edges, scores, message):
    with pytest.raises(ValueError, match=message):
        multilabel_map(node, edges, scores)
