"""Test cuts and roof duality of binary energies against enumeration."""

import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sstruct._oracles.core._edges import checked_simple_edges
from sstruct._oracles.cut._binary_energy import BinaryEnergy
from sstruct._problems.graph.grid_edges import grid_edges
from sstruct._testing._oracle_access import minimize_energy
from sstruct.inference import graph_cut
from tests.reference.energies import edge_tables, energy, minimum

SIGNS = ("attractive", "any", "mixed")


def attractive(tables):
    """Make random tables attractive by exchanging their columns where they are not."""
    repulsive = tables[:, 0, 0] + tables[:, 1, 1] > tables[:, 0, 1] + tables[:, 1, 0]
    tables[repulsive] = tables[repulsive][:, :, ::-1]
    return tables


def random_energy(rng, n_nodes, density, kind, ties):
    """Return costs of a random graph; integers are added without rounding, so minima are exact."""
    pairs = np.array([(u, v) for u in range(n_nodes) for v in range(u)], dtype=np.int32)
    pairs = pairs.reshape(-1, 2)[rng.random(len(pairs)) < density]
    turned = rng.random(len(pairs)) < 0.5
    pairs[turned] = pairs[turned][:, ::-1]
    pairs = rng.permutation(pairs)
    high = 2 if ties else 10**6
    node = rng.integers(-high, high + 1, (n_nodes, 2)).astype(float)
    tables = rng.integers(-high, high + 1, (len(pairs), 2, 2)).astype(float)
    if kind == "attractive":
        tables = attractive(tables)
    elif kind == "mixed":
        keep = rng.random(len(pairs)) < 0.7
        tables[keep] = attractive(tables[keep])
    return node, np.ascontiguousarray(pairs), tables


ENERGIES = dict(
    n_nodes=st.integers(1, 9),
    density=st.sampled_from([0.2, 0.5, 1.0]),
    ties=st.booleans(),
    seed=st.integers(0, 10**6),
)


@given(**ENERGIES)
def test_cut_equals_enumeration(n_nodes, density, ties, seed, new_rng):
    node, edges, tables = random_energy(new_rng(seed), n_nodes, density, "attractive", ties)
    labels, value = graph_cut(node, edges, tables)
    least, best = minimum(node, edges, tables)
    assert labels.dtype == np.int32
    assert value == least == energy(labels, node, edges, tables)
    # Minima of an attractive energy form a lattice; the documented one is its least element.
    assert labels.tolist() == best.min(axis=0).tolist()


@given(**ENERGIES)
def test_potts_costs_equal_their_tables(n_nodes, density, ties, seed, new_rng):
    rng = new_rng(seed)
    node, edges, _ = random_energy(rng, n_nodes, density, "any", ties)
    weights = rng.integers(0, 5, len(edges)).astype(float)
    labels, value = graph_cut(node, edges, weights)
    tables = edge_tables(weights, len(edges), 2)
    again, same = graph_cut(node, edges, tables)
    assert value == same == minimum(node, edges, tables)[0]
    np.testing.assert_array_equal(labels, again)


@given(kind=st.sampled_from(SIGNS), **ENERGIES)
@example(kind="any", n_nodes=3, density=1.0, ties=True, seed=0)
def test_roof_duality_is_a_bound_and_persistent(n_nodes, density, kind, ties, seed, new_rng):
    node, edges, tables = random_energy(new_rng(seed), n_nodes, density, kind, ties)
    labels, bound = graph_cut(node, edges, tables, roof_duality=True)
    least, best = minimum(node, edges, tables)
    assert bound <= least
    decided = labels >= 0
    # Strong persistency: every minimum has the decided labels.
    assert (best[:, decided] == labels[decided]).all()
    if decided.all():
        assert bound == least
    if kind == "attractive":
        assert bound == least
        fixed = (best == best[0]).all(axis=0)
        np.testing.assert_array_equal(labels, np.where(fixed, best[0], -1))


@given(
    height=st.integers(1, 5),
    width=st.integers(1, 5),
    connectivity=st.sampled_from([4, 8]),
    kind=st.sampled_from(SIGNS),
    seed=st.integers(0, 10**6),
)
def test_grid_equals_general_graph(height, width, connectivity, kind, seed, new_rng):
    rng = new_rng(seed)
    edges = grid_edges(height, width, connectivity)
    node = rng.normal(size=(height * width, 2))
    tables = rng.normal(size=(len(edges), 2, 2))
    if kind == "attractive":
        tables = attractive(tables)
    partial = kind != "attractive"
    grid = (height, width, connectivity)
    on_graph = minimize_energy(BinaryEnergy(), node, edges, tables.reshape(-1, 4), partial)
    on_grid = minimize_energy(BinaryEnergy(), node, None, tables.reshape(-1, 4), partial, grid)
    np.testing.assert_array_equal(on_grid[0], on_graph[0])
    assert on_grid[1] == pytest.approx(on_graph[1], rel=1e-12, abs=1e-12)


def test_real_costs_equal_enumeration(rng):
    for _ in range(50):
        node, edges, _ = random_energy(rng, 8, 0.5, "any", False)
        node = rng.normal(size=node.shape)
        tables = attractive(rng.normal(size=(len(edges), 2, 2)))
        labels, value = graph_cut(node, edges, tables)
        _, best = minimum(node, edges, tables)
        assert best.tolist() == [labels.tolist()]
        assert value == pytest.approx(energy(labels, node, edges, tables), rel=1e-12)


def test_one_workspace_for_energies_of_any_size(rng):
    workspace = BinaryEnergy()
    for _ in range(60):
        kind = SIGNS[rng.integers(3)]
        node, edges, tables = random_energy(rng, int(rng.integers(1, 40)), 0.3, kind, False)
        partial = kind != "attractive"
        labels, value, work = minimize_energy(
            workspace, node, edges, tables.reshape(-1, 4), partial
        )
        fresh = minimize_energy(BinaryEnergy(), node, edges, tables.reshape(-1, 4), partial)
        np.testing.assert_array_equal(labels, fresh[0])
        assert (value, work) == fresh[1:]


def test_repulsion_of_rounding_size_is_tolerated():
    node = [[0.0, 1.0], [1.0, 0.0]]
    barely = [[[0.1 + 0.2, 0.3], [0.3, 0.3]]]
    assert barely[0][0][0] + barely[0][1][1] > 0.6
    labels, value = graph_cut(node, [[0, 1]], barely)
    assert labels.tolist() == [0, 1]
    assert value == 0.3


@given(n_nodes=st.integers(2, 6), n_edges=st.integers(0, 9), seed=st.integers(0, 10**6))
def test_only_repeated_edges_raise(n_nodes, n_edges, seed, new_rng):
    rng = new_rng(seed)
    edges = np.array([rng.permutation(n_nodes)[:2] for _ in range(n_edges)]).reshape(-1, 2)
    if len({frozenset(pair) for pair in edges.tolist()}) == n_edges:
        np.testing.assert_array_equal(checked_simple_edges(edges, n_nodes), edges)
        return
    with pytest.raises(ValueError, match="joins the same nodes") as caught:
        checked_simple_edges(edges, n_nodes)
    second, _, _, first = map(int, re.findall(r"\d+", str(caught.value)))
    assert first < second
    assert set(edges[first].tolist()) == set(edges[second].tolist())


REPULSIVE = [[[1.0, 0.0], [0.0, 1.0]]]
NODES = [[0.0, 1.0]] * 3


@pytest.mark.parametrize(
    "node, edges, costs, message",
    [
        (NODES, [[0, 3]], [1.0], r"edges\[0\] = \(0, 3\) is out of range for 3 nodes"),
        (NODES, [[-1, 0]], [1.0], r"edges\[0\] = \(-1, 0\) is out of range"),
        (NODES, [[0, 1], [1, 1]], [1.0, 1.0], r"edges\[1\] = \(1, 1\) is a self-loop"),
        (NODES, [[0, 1], [2, 1], [1, 0]], np.ones(3), r"edges\[2\] = \(1, 0\) .* edges\[0\]"),
        (NODES, [[0, 1, 1]], [1.0], r"edges must have shape \(n_edges, 2\)"),
        (NODES, [[0.0, 1.0]], [1.0], "edges must be integers"),
        ([[0.0, np.nan]], [], [], r"node_costs\[0\] = \[0.0, nan\] must be finite"),
        ([[0.0, 1.0, 2.0]], [], [], r"node_costs must have shape \(n_nodes, 2\)"),
        ([], [], [], "n_nodes >= 1"),
        (NODES, [[0, 1]], [np.inf], r"edge_costs\[0\] = \[inf\] must be finite"),
        (NODES, [[0, 1]], [1.0, 2.0], r"edge_costs must have shape \(1,\) or \(1, 2, 2\)"),
        (NODES, [[0, 1]], [-1.0], r"edge_costs\[0\] = -1 of edge \(0, 1\).*roof_duality=True"),
        (NODES, [[0, 1]], REPULSIVE, r"edge 0 = \(0, 1\) is repulsive.*roof_duality=True"),
    ],
)
def test_invalid_input(node, edges, costs, message):
    with pytest.raises(ValueError, match=message):
        graph_cut(node, edges, costs)
