"""Test max-sum on trees against enumeration, and against Viterbi."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sstruct._kernels import _interruption
from sstruct._oracles.tree._max_sum import depth_by_depth
from sstruct.inference import tree_max_sum, viterbi


def score(y, node, parents, edge):
    total = sum(scores[label] for scores, label in zip(node, y, strict=True))
    for v, p in enumerate(parents):
        if p >= 0:
            total += edge[v][y[p], y[v]]
    return total


def random_forest(rng, n):
    """Return the parents of nodes in random order."""
    name = rng.permutation(n)
    parents = np.full(n, -1)
    for v in range(1, n):
        if rng.random() < 0.85:
            parents[name[v]] = name[rng.integers(v)]
    return parents


def random_scores(rng, parents, high, forbidden):
    sizes = rng.integers(1, 5, len(parents))
    node = [rng.integers(-high, high + 1, size).astype(float) for size in sizes]
    edge = [
        None if p < 0 else rng.integers(-high, high + 1, (sizes[p], sizes[v])).astype(float)
        for v, p in enumerate(parents)
    ]
    if forbidden:
        for scores in [*node, *(table for table in edge if table is not None)]:
            scores[rng.random(scores.shape) < 0.2] = -np.inf
    return node, edge


def order_of(parents):
    """Return the nodes by depth, parents before children."""
    depth = []
    for v in range(len(parents)):
        steps = 0
        while v >= 0:
            v, steps = parents[v], steps + 1
        depth.append(steps)
    return np.argsort(depth, kind="stable")


def check(node, parents, edge):
    scores = {
        y: score(y, node, parents, edge) for y in product(*(range(len(scores)) for scores in node))
    }
    best = max(scores.values())
    labels, value = tree_max_sum(node, parents, edge)
    assert labels.dtype == np.int32
    assert value == best
    assert scores[tuple(labels.tolist())] == best
    if best > -np.inf:
        # The documented choice: lowest labels, roots first.
        order = order_of(parents)
        ties = [y for y in scores if scores[y] == best]
        assert tuple(labels.tolist()) == min(ties, key=lambda y: [y[v] for v in order])


@settings(max_examples=300)
@given(
    n=st.integers(1, 6),
    high=st.sampled_from([2, 10**6]),
    forbidden=st.booleans(),
    key=st.integers(0, 2**32 - 1),
)
@example(n=1, high=2, forbidden=True, key=0)
def test_forests_equal_enumeration(new_rng, n, high, forbidden, key):
    rng = new_rng(key)
    parents = random_forest(rng, n)
    node, edge = random_scores(rng, parents, high, forbidden)
    check(node, parents, edge)


def test_one_table_a_stack_and_a_list_are_the_same(rng):
    for _ in range(20):
        parents = random_forest(rng, 5)
        node, table = rng.standard_normal((5, 3)), rng.standard_normal((3, 3))
        expected = tree_max_sum(list(node), parents, [table.copy() for _ in range(5)])
        for edge in (table, table.tolist(), [table] * 5, np.stack([table] * 5)):
            labels, value = tree_max_sum(node, parents.tolist(), edge)
            np.testing.assert_array_equal(labels, expected[0])
            assert value == expected[1]
        tables = rng.standard_normal((5, 3, 3))
        labels, value = tree_max_sum(node, parents, tables)
        assert value == pytest.approx(score(labels, node, parents, tables), rel=1e-13)
        again = tree_max_sum(node, parents, [tables[v].copy() for v in range(5)])
        np.testing.assert_array_equal(labels, again[0])


def test_a_long_path_is_a_chain(rng):
    node, edge = rng.standard_normal((500, 7)), rng.standard_normal((499, 7, 7))
    labels, value = tree_max_sum(node, np.arange(500) - 1, [None, *edge])
    expected, best = viterbi(node, edge)
    np.testing.assert_array_equal(labels, expected)
    assert value == pytest.approx(best, rel=1e-13)


def test_input_is_not_changed(rng):
    node, edge = rng.standard_normal((4, 3)), rng.standard_normal((3, 3))
    before = node.copy(), edge.copy()
    tree_max_sum(node, [-1, 0, 0, 1], edge)
    np.testing.assert_array_equal(node, before[0])
    np.testing.assert_array_equal(edge, before[1])


@pytest.mark.parametrize(
    "change, message",
    [
        ({"parents": [-1, 2, 1]}, r"parents has a cycle: \[1, 2\] are not connected to a root"),
        ({"parents": [1, 0, 0]}, r"parents has a cycle: \[0, 1, 2\]"),
        ({"parents": [-1, 1, 0]}, r"parents has a cycle: \[1\]"),
        ({"parents": [-1, 0, 3]}, r"parents\[2\] is 3, expected -1 or a node, 0 to 2"),
        ({"parents": [-2, 0, 0]}, r"parents\[0\] is -2"),
        ({"parents": [-1, 0]}, "parents has 2 entries, but there are 3 nodes"),
        ({"parents": [-1.0, 0, 0]}, "1-D array of integers"),
        ({"parents": []}, "1-D array of integers"),
        ({"node_scores": np.zeros(3)}, r"shape \(V, K\)"),
        ({"node_scores": []}, "at least one node"),
        (
            {"node_scores": [[0.0, 1.0], [0.0, 1.0], []]},
            r"node_scores\[2\] must be 1-D with at least one label",
        ),
        ({"node_scores": [[0.0, 1.0], [0.0, np.nan], [0, 0]]}, "node_scores must not contain NaN"),
        ({"node_scores": [[0.0, 1.0], [0.0, np.inf], [0, 0]]}, "node_scores must not contain NaN"),
        ({"node_scores": [[0.0, 1.0], [0.0], [0, 0]]}, r"of node 1 must have shape \(2, 1\)"),
        ({"edge_scores": np.full((2, 2), np.nan)}, "edge_scores must not contain NaN"),
        ({"edge_scores": np.zeros((2, 3))}, r"of node 1 must have shape \(2, 2\).*\(2, 3\)"),
        ({"edge_scores": np.zeros((2, 2, 2))}, "2 tables, expected 3, one for each"),
        ({"edge_scores": [None, np.zeros((2, 2)), None]}, r"of node 2 must have shape.*\(\)"),
        ({"edge_scores": 0.0}, "an array or a list"),
    ],
)
def test_invalid_arguments(change, message):
    arguments = dict(node_scores=np.zeros((3, 2)), parents=[-1, 0, 0], edge_scores=np.eye(2))
    tree_max_sum(**arguments)
    with pytest.raises(ValueError, match=message):
        tree_max_sum(**{**arguments, **change})


def test_signals_are_checked_while_nodes_are_sorted(monkeypatch):
    parents = np.arange(-1, 99_999)
    monkeypatch.setattr(_interruption, "GRACE_CPU_SECONDS", -1)
    with pytest.raises(KeyboardInterrupt), _interruption.GracePeriod():
        depth_by_depth(parents)
    assert depth_by_depth(parents[:5]) == [0, 1, 2, 3, 4]
