"""Exact moves of forests on models with repulsive edges, for which fusion moves are weak."""

import numpy as np
import pytest

from sstruct._oracles.graph._decoder import GraphDecoder
from sstruct._problems.graph.grid_edges import grid_edges
from tests.oracles.test_graph_decoder import random_costs
from tests.reference.energies import minimum


def test_trees_of_repelling_neighbors_are_decoded_exactly(rng):
    # One move frees all nodes of a tree.
    for n_nodes in (2, 5, 9):
        for _ in range(20):
            parents = [rng.integers(0, v) for v in range(1, n_nodes)]
            edges = np.array([(p, v + 1) for v, p in enumerate(parents)], dtype=np.int32)
            node, weights, tables, _ = random_costs(rng, n_nodes, 3, edges, 2, True)
            # Equal labels cost most. If no edge had equal labels, forests would not be tried, and
            # the minimum might be missed.
            weights, tables = np.abs(weights), tables + 20 * np.eye(3)
            full = np.einsum("eg,gab->eab", weights, tables)
            start = np.zeros(n_nodes, dtype=np.int32)
            decoder = GraphDecoder("expansion", 0)
            cost = decoder.decode_arrays(node, edges, weights, tables, start)[1]
            assert cost == pytest.approx(minimum(node, edges, full)[0], abs=1e-12)


def test_cycle_that_fusion_moves_cannot_improve(rng):
    # Labels must alternate 0, 1, 2, 0, ... around a cycle, so moves to one label do not help, and
    # the labels of a node and its neighbors must change at once.
    n = 9
    edges = np.array([(v, (v + 1) % n) for v in range(n)], dtype=np.int32)
    table = 1.0 - np.roll(np.eye(3), 1, axis=1)
    labels, cost, _, _ = GraphDecoder("expansion", 0).decode_arrays(
        np.zeros((n, 3)), edges, np.ones((n, 1)), table[None], np.zeros(n, dtype=np.int32)
    )
    assert cost == 0
    assert ((np.roll(labels, -1) - labels) % 3 == 1).all()


def test_the_work_on_large_graphs_is_bounded():
    # Without a limit, the moves of forests require twice this work.
    rng = np.random.default_rng(0)
    height, width, K = 180, 240, 11
    edges = grid_edges(height, width)
    truth = np.kron(rng.integers(0, K, (height // 15, width // 15)), np.ones((15, 15), int)).ravel()
    costs = rng.normal(size=(height * width, K)) - (np.arange(K) == truth[:, None])
    table = (1 - np.eye(K) + 0.4 * rng.normal(size=(K, K)))[None]
    decoder, start = GraphDecoder("expansion", 0), costs.argmin(axis=1).astype(np.int32)
    work = decoder.decode_arrays(costs, edges, np.ones((len(edges), 1)), table, start)[2]
    assert 2**28 < work < 1.4 * 2**28
