"""Test cuts and moves with infinite node costs and infinite capacities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct.inference import alpha_expansion, graph_cut, maxflow
from tests.oracles.test_graph_cut import ENERGIES, random_energy
from tests.reference.energies import energies, energy, forbid, minimum


@settings(max_examples=200)
@given(share=st.sampled_from([0.3, 1.0]), scale=st.sampled_from([1.0, 1e-9, 1e9]), **ENERGIES)
def test_cuts_equal_enumeration(n_nodes, density, ties, seed, share, scale, new_rng):
    rng = new_rng(seed)
    node, edges, tables = random_energy(rng, n_nodes, density, "attractive", ties)
    node = forbid(rng, scale * node, share)
    labels, value = graph_cut(node, edges, tables)
    least = minimum(node, edges, tables)[0]
    assert value == pytest.approx(least, rel=1e-12, abs=1e-12 * np.abs(tables).sum())
    assert value == pytest.approx(energy(labels, node, edges, tables), rel=1e-12)
    weights = np.abs(tables[:, 0, 1])
    labels, value = graph_cut(node, edges, weights)
    potts = weights[:, None, None] * (1 - np.eye(2))
    assert value == pytest.approx(
        minimum(node, edges, potts)[0], rel=1e-12, abs=1e-12 * weights.sum()
    )
    assert np.isfinite(node[np.arange(n_nodes), labels]).all()


@settings(max_examples=100)
@given(**ENERGIES)
def test_roof_duality_labels_are_in_all_minima(n_nodes, density, ties, seed, new_rng):
    rng = new_rng(seed)
    node, edges, tables = random_energy(rng, n_nodes, density, "mixed", ties)
    node = forbid(rng, node, 0.4)
    labels, bound = graph_cut(node, edges, tables, roof_duality=True)
    every, values = energies(node, edges, tables)
    minima = every[values == values.min()]
    assert bound <= values.min() + 1e-9 * (1 + abs(values.min()))
    known = labels >= 0
    assert (minima[:, known] == labels[known]).all()


def test_a_hub_does_not_take_a_forbidden_label():
    # Without the infinite cost of label 1 at the hub, label 1 would be the best one at all nodes.
    n = 20
    edges = [(0, v) for v in range(1, n)] + [(v, v + 1) for v in range(1, n - 1)]
    distance = np.array([[0.0, 3, 3], [3, -9, 3], [3, 3, 1]])
    node = np.zeros((n, 3))
    node[0, 1] = np.inf
    labels, value = alpha_expansion(node, edges, np.ones(len(edges)), distance, random_state=0)
    assert labels[0] != 1
    assert value < np.inf


def test_magnitudes_of_other_nodes_do_not_matter():
    # If a large constant replaced all infinite costs, rounding would remove the small costs.
    node = np.array([[0, np.inf], [1e-9, 0.0], [2e-9, 0], [np.inf, 0], [0, 1e12]])
    edges = [[0, 1], [1, 2], [2, 3], [3, 4]]
    labels, value = graph_cut(node, edges, [3e-9, 1e-9, 0.5e-9, 1.0])
    assert labels.tolist() == [0, 0, 1, 1, 0]
    assert value == pytest.approx(1 + 2e-9, rel=1e-15)


@pytest.mark.parametrize("call", [graph_cut, alpha_expansion])
@pytest.mark.parametrize(
    "row, message",
    [
        ([np.inf, np.inf], r"node_costs\[2\] is inf for every label"),
        ([0, -np.inf], r"node_costs\[2\] = \[0.0, -inf\] must be finite, or inf"),
        ([np.nan, np.inf], r"node_costs\[2\] = \[nan, inf\] must be finite, or inf"),
    ],
)
def test_error_for_nodes_without_allowed_label(call, row, message):
    with pytest.raises(ValueError, match=message):
        call([[0, np.inf], [0, 1], row], [[0, 1]], [1.0])


def test_error_for_forbidden_start():
    with pytest.raises(
        ValueError, match=r"labels\[1\] = 0 is forbidden: node_costs\[1, 0\] is inf"
    ):
        alpha_expansion([[0, 1], [np.inf, 1]], [[0, 1]], [1.0], labels=[0, 0])


@settings(max_examples=100)
@given(seed=st.integers(0, 10**6), n=st.integers(4, 9))
def test_infinite_capacities_of_the_terminals(seed, n, new_rng):
    rng = new_rng(seed)
    edges = rng.integers(0, n, (3 * n, 2))
    edges = edges[(edges[:, 0] != edges[:, 1])]
    capacities = rng.integers(0, 9, edges.shape).astype(float)
    source, sink = n - 2, n - 1
    at_source = (edges == source).any(axis=1) & ~(edges == sink).any(axis=1)
    tied = set(edges[at_source].ravel().tolist()) - {source}
    # No node has infinite capacities to both terminals.
    at_sink = (edges == sink).any(axis=1) & ~np.isin(edges, [source, *tied]).any(axis=1)
    capacities[at_source | at_sink] = np.inf
    flow, side = maxflow(n, edges, capacities, source, sink)
    finite = np.where(np.isinf(capacities), 1e6, capacities)
    expected, expected_side = maxflow(n, edges, finite, source, sink)
    assert flow == expected
    np.testing.assert_array_equal(side, expected_side)


@pytest.mark.parametrize(
    "capacities, message",
    [
        ([[1, 0], [np.inf, 0], [1, 0], [1, 0]], r"capacities\[1\] = \(inf, 0.0\): expected finite"),
        ([[1, 0], [1, 0], [1, 0], [np.inf, 0]], r"unbounded: .* join source and sink directly"),
        ([[1, -np.inf], [1, 0], [1, 0], [1, 0]], r"capacities\[0\]"),
    ],
)
def test_invalid_infinite_capacities(capacities, message):
    with pytest.raises(ValueError, match=message):
        maxflow(4, [[0, 1], [1, 2], [2, 3], [0, 3]], capacities, source=0, sink=3)
    with pytest.raises(ValueError, match=r"unbounded: .* through node 1"):
        maxflow(3, [[0, 1], [1, 2]], [[np.inf, 0], [np.inf, 0]], source=0, sink=2)
