"""Test expansion and fusion moves against enumeration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sstruct.inference import alpha_expansion, graph_cut
from tests.reference.energies import edge_tables, energies, energy, forbid, minimum

SIZES = [(1, 3, 0), (2, 1, 1), (2, 4, 1), (4, 2, 5), (5, 3, 6), (6, 3, 12), (4, 5, 6), (8, 2, 14)]


def random_edges(rng, n_nodes, n_edges):
    """Return distinct edges in random order and direction."""
    pairs = np.array(list(zip(*np.triu_indices(n_nodes, 1)))).reshape(-1, 2)
    pairs = rng.permutation(pairs)[:n_edges]
    return np.where(rng.random((len(pairs), 1)) < 0.5, pairs, pairs[:, ::-1])


def random_metric(rng, n_labels):
    """Return lengths of shortest paths between labels, as integers, so that there are ties."""
    distance = rng.integers(1, 6, (n_labels, n_labels)).astype(float)
    distance = np.minimum(distance, distance.T)
    np.fill_diagonal(distance, 0)
    for k in range(n_labels):
        distance = np.minimum(distance, distance[:, [k]] + distance[[k]])
    return distance


def random_problem(rng, size, kind, whole):
    """Return node costs, edges, edge costs and distance; only "any" has repulsive edges.

    The distance is None for a Potts model.
    """
    n_nodes, n_labels, n_edges = size
    edges = random_edges(rng, n_nodes, n_edges)
    node = rng.integers(-6, 7, (n_nodes, n_labels)).astype(float)
    edge = rng.integers(0, 5, len(edges)).astype(float)
    distance = {"potts": lambda: None, "metric": lambda: random_metric(rng, n_labels)}.get(
        kind, lambda: rng.integers(-4, 5, (n_labels, n_labels)).astype(float)
    )()
    if kind == "any":
        edge *= rng.choice([-1, 1], len(edges))
        distance = None if rng.random() < 0.3 else distance
    if not whole:
        node += rng.standard_normal(node.shape)
        edge *= rng.random(len(edges))
    return node, edges, edge, distance


def best_move(labels, alpha, node, edges, tables):
    """Return the lowest energy of a move in which some nodes change to alpha."""
    moves = np.array(list(product([False, True], repeat=len(labels))))
    moved = np.where(moves, alpha, labels)
    values = node[np.arange(len(labels)), moved].sum(axis=1)
    for (u, v), table in zip(edges, tables, strict=True):
        values += table[moved[:, u], moved[:, v]]
    return values.min()


def allowed_labels(rng, node):
    """Return a random labeling without infinite costs of nodes."""
    return np.where(np.isfinite(node), rng.random(node.shape), np.inf).argmin(axis=1)


PROBLEMS = {
    "size": st.sampled_from(SIZES),
    "kind": st.sampled_from(["potts", "metric", "any"]),
    "whole": st.booleans(),
    "key": st.integers(0, 2**32 - 1),
}


@settings(max_examples=600)
@given(share=st.sampled_from([0.0, 0.0, 0.3, 0.7, 1.0]), **PROBLEMS)
@example(size=(1, 3, 0), kind="any", whole=True, share=0.0, key=0)
@example(size=(6, 3, 12), kind="any", whole=True, share=0.0, key=0)
def test_the_result_is_never_worse_than_the_start(new_rng, size, kind, whole, share, key):
    rng = new_rng(key)
    node, edges, edge, distance = random_problem(rng, size, kind, whole)
    node = forbid(rng, node, share)
    tables = edge_tables(edge, len(edges), size[1], distance)
    start = allowed_labels(rng, node)
    labels, value = alpha_expansion(
        node, edges, edge, distance, labels=start, random_state=int(rng.integers(99))
    )
    assert (labels.dtype, labels.shape) == (np.int32, (size[0],))
    assert value == pytest.approx(energy(labels, node, edges, tables), abs=1e-11)
    assert value <= energy(start, node, edges, tables) + 1e-11
    assert value >= minimum(node, edges, tables)[0] - 1e-11
    _, value = alpha_expansion(node, edges, edge, distance, random_state=0)
    assert minimum(node, edges, tables)[0] - 1e-11 <= value < np.inf


@settings(max_examples=300)
@given(
    size=st.sampled_from(SIZES),
    kind=st.sampled_from(["potts", "metric"]),
    whole=st.booleans(),
    key=st.integers(0, 2**32 - 1),
)
def test_no_move_improves_and_the_bound_holds(new_rng, size, kind, whole, key):
    rng = new_rng(key)
    node, edges, edge, distance = random_problem(rng, size, kind, whole)
    n_labels = size[1]
    tables = edge_tables(edge, len(edges), n_labels, distance)
    labels, value = alpha_expansion(node, edges, edge, distance, random_state=key, n_starts=1)
    for alpha in range(n_labels):
        assert best_move(labels, alpha, node, edges, tables) >= value - 1e-10
    distance = 1 - np.eye(n_labels) if distance is None else distance
    apart = distance[~np.eye(n_labels, dtype=bool)]
    c = apart.max() / apart.min() if n_labels > 1 else 1
    for best in minimum(node, edges, tables)[1]:
        node_part = energy(best, node, edges[:0], tables[:0])
        edge_part = energy(best, 0 * node, edges, tables)
        assert value <= node_part + 2 * c * edge_part + 1e-10


@settings(max_examples=200)
@given(**PROBLEMS)
def test_more_starts_do_not_increase_the_cost(new_rng, size, kind, whole, key):
    node, edges, edge, distance = random_problem(new_rng(key), size, kind, whole)
    tables = edge_tables(edge, len(edges), size[1], distance)
    before = np.inf
    for n_starts in (1, 2, 4):
        labels, value = alpha_expansion(
            node, edges, edge, distance, random_state=key, n_starts=n_starts
        )
        assert value == pytest.approx(energy(labels, node, edges, tables), abs=1e-11)
        assert value <= before + 1e-11
        before = value


@settings(max_examples=200)
@given(
    n_nodes=st.integers(1, 8),
    kind=st.sampled_from(["potts", "metric"]),
    share=st.sampled_from([0.0, 0.0, 0.3, 0.7]),
    key=st.integers(0, 2**32 - 1),
)
def test_problems_with_two_labels_are_solved_by_a_cut(new_rng, n_nodes, kind, share, key):
    rng = new_rng(key)
    node, edges, edge, distance = random_problem(rng, (n_nodes, 2, 3 * n_nodes), kind, False)
    node = forbid(rng, node, share)
    tables = edge_tables(edge, len(edges), 2, distance)
    start = allowed_labels(rng, node)
    labels, value = alpha_expansion(node, edges, edge, distance, labels=start)
    cut, least = graph_cut(node, edges, tables)
    np.testing.assert_array_equal(labels, cut)
    assert value == pytest.approx(least, abs=1e-11)
    assert value == pytest.approx(minimum(node, edges, tables)[0], abs=1e-11)


def test_repulsive_trees_of_two_labels_are_solved(rng):
    # Roof duality is tight without frustrated cycles, and random costs have no ties.
    for _ in range(100):
        n_nodes = int(rng.integers(2, 9))
        edges = [(int(rng.integers(v)), v) for v in range(1, n_nodes)]
        node, edge = rng.standard_normal((n_nodes, 2)), rng.standard_normal(n_nodes - 1)
        labels, value = alpha_expansion(node, edges, edge, labels=np.ones(n_nodes, dtype=int))
        every, values = energies(node, edges, edge_tables(edge, n_nodes - 1, 2))
        assert value == pytest.approx(values.min(), abs=1e-12)
        np.testing.assert_array_equal(labels, every[values.argmin()])


def test_fusion_moves_improve_random_starts_of_repulsive_problems(rng):
    better = 0
    for _ in range(50):
        node, edges, edge, distance = random_problem(rng, (6, 3, 8), "any", False)
        tables = edge_tables(edge, len(edges), 3, distance)
        start = rng.integers(0, 3, 6)
        _, value = alpha_expansion(node, edges, edge, distance, labels=start, random_state=0)
        better += value < energy(start, node, edges, tables) - 1e-6
    assert better >= 45


def test_larger_graphs_improve_on_the_start_and_are_reproducible(rng):
    n_nodes, n_labels = 400, 7
    edges = random_edges(rng, n_nodes, 1200)
    node, edge = 3 * rng.random((n_nodes, n_labels)), rng.random(len(edges))
    line = np.minimum(abs(np.subtract.outer(np.arange(7.0), np.arange(7.0))), 3)
    for distance in (None, line, line - 1.5):
        tables = edge_tables(edge, len(edges), n_labels, distance)
        start = node.argmin(axis=1)
        labels, value = alpha_expansion(node, edges, edge, distance, random_state=3)
        again, same = alpha_expansion(node, edges, edge, distance, random_state=3)
        np.testing.assert_array_equal(labels, again)
        assert value == same == pytest.approx(energy(labels, node, edges, tables))
        assert value < energy(start, node, edges, tables)
        if distance is None or distance[0, 0] == 0:
            # If started from the result, expansion moves find no improvement.
            labels_after, value_after = alpha_expansion(
                node, edges, edge, distance, labels=labels, random_state=5
            )
            np.testing.assert_array_equal(labels, labels_after)
            assert value_after == value


@pytest.mark.parametrize("seed", [None, 5, "generator", "state"])
def test_random_states(seed):
    objects = {"generator": np.random.default_rng(0), "state": np.random.RandomState(0)}
    labels, value = alpha_expansion(
        [[0.0, 1], [1, 0]], [[0, 1]], [3.0], random_state=objects.get(seed, seed)
    )
    assert labels[0] == labels[1]
    assert value == 1


def test_inputs_are_not_changed(rng):
    node, edges, edge, distance = random_problem(rng, (5, 3, 8), "metric", False)
    start = rng.integers(0, 3, 5).astype(np.int32)
    arrays = (node, edges, edge, distance, start)
    copies = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    alpha_expansion(node, edges, edge, distance, labels=start)
    for array, copy in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


GOOD = dict(node_costs=np.zeros((3, 2)), edges=[[0, 1], [1, 2]], edge_costs=[1.0, 1.0])
BAD = [
    (dict(node_costs=np.zeros(3)), "node_costs must have shape"),
    (dict(node_costs=np.zeros((0, 2)), edges=[], edge_costs=[]), "node_costs must have shape"),
    (dict(node_costs=[[0, 0], [0, np.nan], [0, 0]]), r"node_costs\[1\] = .* must be finite"),
    (dict(edges=[[0, 1], [1, 3]]), r"edges\[1\] = \(1, 3\) is out of range for 3 nodes"),
    (dict(edges=[[0, 1], [-1, 2]]), r"edges\[1\] = \(-1, 2\) is out of range"),
    (dict(edges=[[0, 1], [2, 2]]), r"edges\[1\] = \(2, 2\) is a self-loop"),
    (dict(edges=[[0, 1], [1, 0]]), r"edges\[1\] = \(1, 0\) joins the same nodes as edges\[0\]"),
    (dict(edges=[[0.0, 1.0], [1.0, 2.0]]), "edges must be integers"),
    (dict(edges=[0, 1]), r"edges must have shape \(n_edges, 2\)"),
    (dict(edge_costs=[1.0]), r"edge_costs must have shape \(2,\)"),
    (dict(edge_costs=[1.0, np.inf]), r"edge_costs\[1\] = inf must be finite"),
    (dict(label_distance=np.zeros((3, 3))), r"label_distance must be finite .* \(2, 2\)"),
    (dict(label_distance=[[0, np.nan], [1, 0]]), "label_distance must be finite"),
    (dict(labels=[0, 1]), r"labels must be integers of shape \(3,\)"),
    (dict(labels=[0.0, 1.0, 0.0]), "labels must be integers"),
    (dict(labels=[0, 2, 0]), r"labels\[1\] = 2 is out of range for 2 labels"),
    (dict(labels=[0, 0, -1]), r"labels\[2\] = -1 is out of range"),
    (dict(n_starts=0), "n_starts must be an integer >= 1, found 0"),
    (dict(n_starts=1.5), "n_starts must be an integer >= 1"),
]


@pytest.mark.parametrize("change, message", BAD, ids=lambda x: str(x)[:40])
def test_invalid_arguments(change, message):
    alpha_expansion(**GOOD)
    with pytest.raises(ValueError, match=message):
        alpha_expansion(**{**GOOD, **change})
