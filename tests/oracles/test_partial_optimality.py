"""Test labels that all minima of a Potts energy share, against enumeration."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sstruct._oracles.graph._decoder import GraphDecoder
from sstruct._oracles.graph._partial_optimality import PartialOptimality
from sstruct._testing._oracle_access import decided_labels
from tests.oracles.test_alpha_expansion import SIZES, best_move, random_problem
from tests.reference.energies import edge_tables, energies, energy, minimum


def potts(rng, size, whole, strength=1.0):
    node, edges, edge, _ = random_problem(rng, size, "potts", whole)
    edge = strength * edge
    return node, edges.astype(np.int32), edge, edge_tables(edge, len(edges), size[1])


@settings(max_examples=300)
@given(
    size=st.sampled_from([size for size in SIZES if size[1] > 1] + [(6, 2, 9)]),
    whole=st.booleans(),
    key=st.integers(0, 2**32 - 1),
)
@example(size=(4, 5, 6), whole=True, key=0)
def test_every_minimum_has_the_known_labels(new_rng, size, whole, key):
    node, edges, edge, tables = potts(new_rng(key), size, whole)
    known, _ = decided_labels(PartialOptimality(), node, edges, edge)
    for labels in minimum(node, edges, tables)[1]:
        np.testing.assert_array_equal(labels[known >= 0], known[known >= 0])


@settings(max_examples=200)
@given(size=st.sampled_from([size for size in SIZES if size[1] > 1]), key=st.integers(0, 2**32 - 1))
def test_the_rest_is_the_energy_of_the_other_nodes(new_rng, size, key):
    node, edges, edge, tables = potts(new_rng(key), size, False)
    known, (rest_node, rest_edges, rest_edge) = decided_labels(
        PartialOptimality(), node, edges, edge
    )
    free = known < 0
    assert rest_node.shape == (free.sum(), size[1])
    if not free.any():
        assert len(rest_edges) == len(rest_edge) == 0
        return
    rest_tables = edge_tables(rest_edge, len(rest_edges), size[1])
    every, values = energies(rest_node, rest_edges, rest_tables)
    offsets = []
    for labels, value in zip(every, values, strict=True):
        full = known.copy()
        full[free] = labels
        offsets.append(energy(full, node, edges, tables) - value)
    np.testing.assert_allclose(offsets, offsets[0], rtol=0, atol=1e-12)


def test_weaker_edges_decide_more_labels(rng):
    decided = {0.0: 0, 0.3: 0, 30.0: 0}
    for strength in decided:
        for _ in range(50):
            node, edges, edge, _ = potts(rng, (6, 3, 8), False, strength)
            known, _ = decided_labels(PartialOptimality(), node, edges, edge)
            decided[strength] += (known >= 0).mean() / 50
    assert decided[0.0] == pytest.approx(1)
    assert decided[0.3] > 0.8
    assert decided[30.0] < decided[0.3]


@settings(max_examples=200)
@given(
    size=st.sampled_from([size for size in SIZES if size[1] > 2]),
    strength=st.sampled_from([0.2, 1.0]),
    key=st.integers(0, 2**32 - 1),
)
def test_moves_of_undecided_nodes_leave_no_better_move(new_rng, size, strength, key):
    rng = new_rng(key)
    node, edges, edge, tables = potts(rng, size, False, strength)
    start = rng.integers(0, size[1], size[0])
    least = minimum(node, edges, tables)[0]
    for partial in (True, False):
        decoder = GraphDecoder("expansion", 1, partial_optimality=partial)
        labels, cost, _, exact = decoder.decode_arrays(node, edges, edge[:, None], None, start)
        assert least - 1e-12 <= cost <= energy(start, node, edges, tables) + 1e-12
        assert not exact or cost == pytest.approx(least, abs=1e-12)
        for alpha in range(size[1]):
            assert best_move(labels, alpha, node, edges, tables) >= cost - 1e-10


def test_exact_if_all_labels_are_decided():
    node, edges = (
        np.array([[0.0, 5, 5], [5, 0, 5], [5, 5, 0]]),
        np.array([[0, 1], [1, 2]], np.int32),
    )
    for partial in (True, False):
        decoder = GraphDecoder("expansion", 0, partial_optimality=partial)
        for same in (decoder, decoder.fork()):
            labels, cost, _, exact = same.decode_arrays(
                node, edges, np.ones((2, 1)), None, [0, 0, 0]
            )
            assert (labels.tolist(), cost, exact) == ([0, 1, 2], 2, partial)


def test_a_workspace_used_before_decides_the_same(rng):
    warm = PartialOptimality()
    for _ in range(60):
        n_nodes, n_labels = int(rng.integers(1, 40)), int(rng.integers(2, 6))
        node, edges, edge, _ = potts(rng, (n_nodes, n_labels, 2 * n_nodes), False, 0.5)
        known, rest = decided_labels(warm, node, edges, edge)
        fresh, fresh_rest = decided_labels(PartialOptimality(), node, edges, edge)
        np.testing.assert_array_equal(known, fresh)
        for one, other in zip(rest, fresh_rest, strict=True):
            np.testing.assert_array_equal(one, other)
