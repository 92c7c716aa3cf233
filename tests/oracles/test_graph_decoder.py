"""Test decoders of labeled graphs, and their claims of exactness, against enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct._oracles.graph._decoder import GraphDecoder
from sstruct._problems.graph.grid_edges import grid_edges
from tests.oracles.test_alpha_expansion import random_edges
from tests.reference.energies import energy, feature_tables, minimum

FEW = st.sampled_from([(1, 2), (3, 1), (4, 2), (5, 3), (6, 3), (8, 2)])


def random_costs(rng, n_nodes, n_labels, edges, n_features, signs):
    """Return node costs, edge weights, tables of features (or None: Potts) and tables of edges."""
    node = rng.standard_normal((n_nodes, n_labels))
    shape = (n_features, n_labels, n_labels)
    tables = rng.standard_normal(shape) if n_features else None
    weights = rng.standard_normal((len(edges), max(n_features, 1)))
    weights *= rng.random(weights.shape) < 0.7
    if not signs:
        weights = abs(weights)
        tables = abs(tables) * (1 - np.eye(n_labels)) if n_features else None
    return node, weights, tables, feature_tables(weights, tables, n_labels)


@settings(max_examples=200)
@given(n_nodes=st.integers(1, 8), n_features=st.integers(0, 3), key=st.integers(0, 2**32 - 1))
def test_cuts_are_exact(new_rng, n_nodes, n_features, key):
    rng = new_rng(key)
    edges = random_edges(rng, n_nodes, 2 * n_nodes).astype(np.int32)
    node, weights, tables, full = random_costs(rng, n_nodes, 2, edges, n_features, False)
    start = np.zeros(n_nodes, dtype=np.int32)
    labels, cost, work, exact = GraphDecoder("cut", 0).decode_arrays(
        node, edges, weights, tables, start
    )
    assert exact
    assert work > 0
    assert cost == pytest.approx(minimum(node, edges, full)[0], abs=1e-12)
    assert cost == pytest.approx(energy(labels, node, edges, full), abs=1e-12)


def test_unsupported_models_of_cuts():
    edges, node = np.array([[0, 1], [2, 1]], dtype=np.int32), np.zeros((3, 2))
    decoder, start = GraphDecoder("cut", 0), np.zeros(3, dtype=np.int32)
    with pytest.raises(ValueError, match=r"edge 1 = \(2, 1\) is repulsive: .* 0 exceed 01 .* -2"):
        decoder.decode_arrays(node, edges, np.array([[1.0], [-1]]), None, start)
    with pytest.raises(ValueError, match="a cut requires two labels; found 3"):
        decoder.decode_arrays(np.zeros((3, 3)), edges, np.ones((2, 1)), None, start)
    # The decoder can still be used.
    assert decoder.decode_arrays(node, edges, np.ones((2, 1)), None, start)[3]


@settings(max_examples=300)
@given(size=FEW, n_features=st.integers(0, 3), signs=st.booleans(), key=st.integers(0, 2**32 - 1))
def test_exact_is_honest(new_rng, size, n_features, signs, key):
    rng = new_rng(key)
    n_nodes, n_labels = size
    edges = random_edges(rng, n_nodes, int(rng.integers(0, 3 * n_nodes))).astype(np.int32)
    node, weights, tables, full = random_costs(rng, n_nodes, n_labels, edges, n_features, signs)
    start = rng.integers(0, n_labels, n_nodes).astype(np.int32)
    labels, cost, _, exact = GraphDecoder("expansion", key % 7).decode_arrays(
        node, edges, weights, tables, start
    )
    least = minimum(node, edges, full)[0]
    assert cost == pytest.approx(energy(labels, node, edges, full), abs=1e-12)
    assert least - 1e-12 <= cost <= energy(start, node, edges, full) + 1e-12
    if exact:
        assert cost == pytest.approx(least, abs=1e-12)
    assert exact or (n_labels > 1 and len(edges) > 0)
    assert exact or n_labels > 2 or signs


@settings(max_examples=300)
@given(
    n_nodes=st.integers(1, 7),
    n_labels=st.integers(1, 4),
    n_features=st.integers(0, 3),
    key=st.integers(0, 2**32 - 1),
)
def test_forests_equal_enumeration(new_rng, n_nodes, n_labels, n_features, key):
    rng = new_rng(key)
    names = rng.permutation(n_nodes)
    edges = [
        (names[int(rng.integers(v))], names[v]) for v in range(1, n_nodes) if rng.random() < 0.8
    ]
    edges = np.array(edges, dtype=np.int32).reshape(-1, 2)
    edges = np.where(rng.random((len(edges), 1)) < 0.5, edges, edges[:, ::-1]).astype(np.int32)
    node, weights, tables, full = random_costs(rng, n_nodes, n_labels, edges, n_features, True)
    labels, cost, _, exact = GraphDecoder("max-sum", 0).decode_arrays(
        node, edges, weights, tables, np.full(n_nodes, -1, dtype=np.int32)
    )
    assert exact
    least, best = minimum(node, edges, full)
    assert cost == pytest.approx(least, abs=1e-12)
    assert labels.tolist() in best.tolist()


def test_cycles_raise():
    edges = np.array([[0, 1], [3, 4], [4, 5], [5, 3]], dtype=np.int32)
    decoder = GraphDecoder("max-sum", 0)
    with pytest.raises(ValueError, match=r"without cycles, but edge 2 = \(4, 5\) closes one"):
        decoder.decode_arrays(np.zeros((6, 2)), edges, np.ones((4, 1)), None, np.zeros(6))
    assert decoder.decode_arrays(np.zeros((6, 2)), edges[:3], np.ones((3, 1)), None, np.zeros(6))[3]


@pytest.mark.parametrize("method", ["cut", "expansion", "max-sum"])
def test_results_do_not_depend_on_earlier_calls(rng, method):
    # A used workspace returns the same results as a new one, for any sizes, kinds and signs.
    warm, K_most = GraphDecoder(method, 11), 2 if method == "cut" else 5
    for _ in range(150):
        n_nodes, n_labels = int(rng.integers(1, 60)), int(rng.integers(2, K_most + 1))
        edges = random_edges(rng, n_nodes, int(rng.integers(0, 2 * n_nodes)))
        if method == "max-sum":
            edges = np.array([(int(rng.integers(v)), v) for v in range(1, n_nodes)])
        edges = edges.reshape(-1, 2).astype(np.int32)
        arguments = random_costs(
            rng, n_nodes, n_labels, edges, int(rng.integers(0, 4)), method != "cut"
        )
        start = rng.integers(0, n_labels, n_nodes)
        answers = [
            decoder.decode_arrays(arguments[0], edges, *arguments[1:3], start)
            for decoder in (warm, GraphDecoder(method, 11), warm.fork(), warm)
        ]
        for answer in answers[1:]:
            np.testing.assert_array_equal(answer[0], answers[0][0])
            assert answer[1:] == answers[0][1:]


@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("n_labels", [2, 4])
def test_grids_are_graphs(rng, n_labels, connectivity):
    warm = GraphDecoder("expansion", 2)
    for height, width in [(1, 1), (1, 5), (4, 1), (5, 7), (12, 9), (3, 3)]:
        edges = grid_edges(height, width, connectivity)
        for n_features in (0, 2):
            for signs in (False, True):
                node, weights, tables, _ = random_costs(
                    rng, height * width, n_labels, edges, n_features, signs
                )
                start = node.argmin(axis=1)
                grid = warm.decode_arrays(
                    node, edges, weights, tables, start, (height, width, connectivity)
                )
                graph = GraphDecoder("expansion", 2).decode_arrays(
                    node, edges, weights, tables, start
                )
                np.testing.assert_array_equal(grid[0], graph[0])
                assert (grid[1], grid[3]) == (graph[1], graph[3])


@pytest.mark.parametrize("method, n_labels", [("cut", 2), ("expansion", 2), ("expansion", 3)])
def test_grid_that_does_not_match_edges(method, n_labels):
    edges = grid_edges(3, 4, 4)
    for grid in [(3, 4, 8), (4, 4, 4), (2, 6, 4)]:
        with pytest.raises(ValueError, match="do not match their grid"):
            GraphDecoder(method, 0).decode_arrays(
                np.zeros((12, n_labels)), edges, np.ones((len(edges), 1)), None, [0] * 12, grid
            )


def test_invalid_methods():
    with pytest.raises(ValueError, match=r"method must be one of .*; found 'swap'"):
        GraphDecoder("swap", 0)
    with pytest.raises(OverflowError):
        GraphDecoder("expansion", -1)
    assert GraphDecoder("expansion", 7).fork().random_state == 7
