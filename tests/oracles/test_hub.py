"""Moves of alpha-expansion that change a hub and its neighbors together.

A hub is a node that is adjacent to most other nodes.
"""

from itertools import product

import numpy as np
import pytest

from sstruct._oracles.graph._decoder import GraphDecoder

K = 3


def around_hub(rng, n_nodes, more, hub):
    """Draw costs of a graph in which `hub` is adjacent to all nodes, with `more` other edges."""
    others = [v for v in range(n_nodes) if v != hub]
    edges = [(hub, v) if rng.random() < 0.5 else (v, hub) for v in others]
    pairs = [(u, v) for u in others for v in others if u < v]
    edges += [pairs[p] for p in rng.permutation(len(pairs))[:more]]
    weights = rng.standard_normal((len(edges), 2))
    tables = rng.standard_normal((2, K, K))
    return rng.standard_normal((n_nodes, K)), np.array(edges, dtype=np.int32), weights, tables


def costs_of(labelings, node_costs, edges, weights, tables):
    total = node_costs[np.arange(len(node_costs)), labelings].sum(axis=1)
    for (u, v), weight in zip(edges, weights, strict=True):
        total = total + np.tensordot(weight, tables, 1)[labelings[:, u], labelings[:, v]]
    return total


@pytest.mark.parametrize("hub", [0, 4, 8])
def test_stars_are_decoded_exactly(rng, hub):
    every = np.array(list(product(range(K), repeat=9)))
    for _ in range(20):
        made = around_hub(rng, 9, 0, hub)
        start = rng.integers(0, K, 9)
        labels, cost, work, _ = GraphDecoder("expansion", 0).decode_arrays(*made, start)
        assert cost == pytest.approx(costs_of(every, *made).min(), rel=1e-12)
        assert cost == pytest.approx(costs_of(labels[None], *made)[0], rel=1e-12)
        assert work > 0


def test_labelings_are_close_to_optimal(rng):
    every = np.array(list(product(range(K), repeat=10)))
    n_best = 0
    for seed in range(40):
        made = around_hub(rng, 10, 12, seed % 10)
        start = rng.integers(0, K, 10)
        decoder = GraphDecoder("expansion", seed)
        labels, cost, work, exact = decoder.decode_arrays(*made, start)
        least = costs_of(every, *made).min()
        assert cost == pytest.approx(costs_of(labels[None], *made)[0], rel=1e-12)
        assert cost <= costs_of(start[None], *made)[0]
        assert cost >= least - 1e-12 * abs(least)
        assert not exact
        n_best += cost <= least + 1e-9 * abs(least)
        again = decoder.fork().decode_arrays(*made, start)
        np.testing.assert_array_equal(again[0], labels)
        assert again[1:3] == (cost, work)
    assert n_best >= 34  # only 21 without the moves around the hub


def test_a_hub_flips_together_with_all_others():
    # The optimum has label 1 at the hub and alternates between 2 and 1 on the ring. Labelings
    # between the start (all 0) and the optimum cost more than both.
    n = 12
    ring = [(v, v % n + 1) for v in range(1, n + 1)]
    edges = np.array([(0, v) for v in range(1, n + 1)] + ring, dtype=np.int32)
    of_hub = np.array([[0.0, 5, 5], [5, -0.5, -0.5], [5, 5, 5]])
    of_ring = 0.125 * (1 - np.eye(K))
    node_costs = np.zeros((n + 1, K))
    node_costs[1::2, 1] = node_costs[2::2, 2] = 5
    made = node_costs, edges, np.repeat(np.eye(2), n, axis=0), np.array([of_hub, of_ring])
    labels, cost, _, _ = GraphDecoder("expansion", 0).decode_arrays(*made, np.zeros(n + 1, int))
    assert cost == (0.125 - 0.5) * n
    assert labels.tolist() == [1] + [2, 1] * (n // 2)
