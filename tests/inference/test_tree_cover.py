"""Covers by forests contain every edge once, no cycle, and as few forests as possible."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct._oracles.mrf._forest_cover import ForestPartition, elimination, trees_of_forests
from sstruct._problems.graph.grid_edges import grid_edges
from sstruct.inference._model.tree_cover import tree_cover


def arboricity(n_nodes, edges):
    """Return the largest ceil(n_edges / (n_nodes - 1)) of a subgraph, by Nash-Williams."""
    most = 0
    for size in range(2, n_nodes + 1):
        for nodes in combinations(range(n_nodes), size):
            inside = np.isin(edges, nodes).all(axis=1).sum()
            most = max(most, -(-int(inside) // (size - 1)))
    return most


def check(cover, n_nodes, edges):
    """Check that each edge is in one tree, and that trees are listed from their roots."""
    assert sorted(cover.edge[cover.edge >= 0].tolist()) == list(range(len(edges)))
    copies = np.zeros(n_nodes, dtype=int)
    for t in range(cover.n_trees):
        places = slice(cover.start[t], cover.start[t + 1])
        node, parent, edge = cover.node[places], cover.parent[places], cover.edge[places]
        assert len(node) >= 2
        assert len(set(node.tolist())) == len(node)
        assert parent[0] == edge[0] == -1
        for p in range(1, len(node)):
            assert 0 <= parent[p] < p
            assert set(edges[edge[p]].tolist()) == {node[p], node[parent[p]]}
        copies[node] += 1
    assert copies.max(initial=0) <= cover.n_forests


def random_graph(rng, n_nodes, density):
    pairs = np.array(list(combinations(range(n_nodes), 2)), dtype=np.int32).reshape(-1, 2)
    edges = rng.permutation(pairs[rng.random(len(pairs)) < density])
    turned = rng.random(len(edges)) < 0.5
    edges[turned] = edges[turned][:, ::-1]
    return edges


@settings(max_examples=60)
@given(
    n_nodes=st.integers(1, 8),
    density=st.sampled_from([0.2, 0.5, 0.8, 1.0]),
    seed=st.integers(0, 10**6),
)
def test_covers_are_minimal(n_nodes, density, seed, new_rng):
    edges = random_graph(new_rng(seed), n_nodes, density)
    cover = tree_cover(n_nodes, edges)
    check(cover, n_nodes, edges)
    assert cover.n_forests == arboricity(n_nodes, edges)


@settings(max_examples=40)
@given(n_nodes=st.integers(2, 8), seed=st.integers(0, 10**6))
def test_exchanges_find_the_arboricity(n_nodes, seed, new_rng):
    # With fewer forests at the start, some edges fit only after exchanges.
    edges = random_graph(new_rng(seed), n_nodes, 0.8)
    least = arboricity(n_nodes, edges)
    for first in range(1, least + 1):
        forest_of = ForestPartition(n_nodes, edges, first).run()
        assert set(forest_of.tolist()) <= set(range(max(least, 1)))
        trees_of_forests(n_nodes, edges, forest_of, max(least, 1))  # raises if there is a cycle


@settings(max_examples=60)
@given(n_nodes=st.integers(1, 10), density=st.floats(0, 1), seed=st.integers(0, 10**6))
def test_elimination_takes_least_degrees(n_nodes, density, seed, new_rng):
    edges = random_graph(new_rng(seed), n_nodes, density)
    rank, least = elimination(n_nodes, edges)
    assert sorted(rank.tolist()) == list(range(n_nodes))
    most, bound = 0, 0
    for v in np.argsort(rank):
        left = edges[(rank[edges] >= rank[v]).all(axis=1)]
        n_left = n_nodes - rank[v]
        degree = np.bincount(left.ravel(), minlength=n_nodes)
        most = max(most, degree[rank >= rank[v]].min())
        assert degree[v] <= most
        bound = max(bound, -(-len(left) // (n_left - 1)) if n_left > 1 else 0)
    assert least == bound <= arboricity(n_nodes, edges)


def test_a_dense_part_of_a_sparse_graph(rng):
    # The whole graph has fewer edges per node than the clique, which determines the cover.
    clique = np.array(list(combinations(range(7), 2)))
    path = np.stack([np.arange(6, 40), np.arange(7, 41)], axis=1)
    names = rng.permutation(41)
    edges = rng.permutation(names[np.concatenate([path, clique])]).astype(np.int32)
    cover = tree_cover(41, edges)
    check(cover, 41, edges)
    assert cover.n_forests == 4


@pytest.mark.parametrize("n_nodes, expected", [(2, 1), (3, 2), (9, 5), (40, 20), (41, 21)])
def test_complete_graphs(n_nodes, expected):
    edges = np.array(list(combinations(range(n_nodes), 2)), dtype=np.int32)
    cover = tree_cover(n_nodes, edges)
    check(cover, n_nodes, edges)
    assert cover.n_forests == expected


def test_grids_are_rows_and_columns():
    edges = grid_edges(5, 7)
    cover = tree_cover(35, edges)
    check(cover, 35, edges)
    assert cover.n_forests == 2
    assert cover.n_trees == 5 + 7


def test_a_large_graph_of_any_shape(rng):
    # A grid closed to a torus, its nodes in random order: 2 V edges are too many for two forests.
    v = np.arange(900).reshape(30, 30)
    edges = np.concatenate([
        np.stack([v.ravel(), np.roll(v, -1, axis).ravel()], axis=1) for axis in (0, 1)
    ])  # fmt: skip
    edges = rng.permutation(rng.permutation(900)[edges]).astype(np.int32)
    cover = tree_cover(900, edges)
    check(cover, 900, edges)
    assert cover.n_forests == 3


def test_no_edges_and_cycles():
    assert tree_cover(3, np.empty((0, 2), dtype=np.int32)).n_trees == 0
    triangle = np.array([[0, 1], [1, 2], [2, 0]], dtype=np.int32)
    with pytest.raises(ValueError, match="forest 0 has a cycle"):
        trees_of_forests(3, triangle, np.zeros(3, dtype=np.int32), 1)
