"""Test half-integral maxima against the linear program, and persistency against enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstruct._oracles.label_set._roof_duality import RelaxedLabels
from sstruct._testing._oracle_access import relaxed_maximum, relaxed_value
from tests.reference.local_polytope import (
    LocalPolytope,
    as_tables,
    point_of_code,
    random_scores,
    set_scores,
)

PROBLEMS = dict(
    n_labels=st.integers(1, 8),
    density=st.sampled_from([0.3, 0.7, 1.0]),
    integer=st.booleans(),
    tables=st.booleans(),
    seed=st.integers(0, 10**6),
)


def interactions(edge_scores):
    tables = as_tables(edge_scores)
    return tables[:, 1, 1] - tables[:, 0, 1] - tables[:, 1, 0] + tables[:, 0, 0]


def attracting(edge_scores):
    """Return the scores with repulsive interactions made attractive."""
    tables = as_tables(edge_scores).copy()
    repelling = interactions(edge_scores) < 0
    tables[repelling] = tables[repelling][:, :, ::-1]
    return tables.reshape(-1, 4)


@given(**PROBLEMS)
def test_maximum_matches_linear_program(n_labels, density, integer, tables, seed, new_rng):
    node, edges, edge_scores = random_scores(new_rng(seed), n_labels, density, integer, tables)
    workspace = RelaxedLabels()
    code, value, work = relaxed_maximum(workspace, node, edges, edge_scores)
    assert code.dtype == np.int32
    assert work > 0
    polytope = LocalPolytope(n_labels, edges)
    objective = np.concatenate([node, as_tables(edge_scores).ravel()])
    best, _ = polytope.maximum(objective)
    point = point_of_code(code, n_labels, edges)
    assert polytope.contains(point)
    assert value == pytest.approx(best, abs=1e-8)
    assert objective @ point == pytest.approx(value, abs=1e-12 * (1 + np.abs(objective).sum()))
    assert relaxed_value(workspace, code) == value


@given(**PROBLEMS)
def test_codes_are_canonical(n_labels, density, integer, tables, seed, new_rng):
    node, edges, edge_scores = random_scores(new_rng(seed), n_labels, density, integer, tables)
    code, _, _ = relaxed_maximum(RelaxedLabels(), node, edges, edge_scores)
    assert len(code) == n_labels + -(-len(edges) // 32)
    assert set(code[:n_labels].tolist()) <= {0, 1, 2}
    halves = code[:n_labels] == 1
    expected = np.zeros(32 * (len(code) - n_labels), dtype=np.uint8)
    if len(edges):
        expected[: len(edges)] = halves[edges].all(axis=1) & (interactions(edge_scores) > 1e-9)
    bits = np.unpackbits(code[n_labels:].astype("<i4").view(np.uint8), bitorder="little")
    np.testing.assert_array_equal(bits, expected)


@given(**PROBLEMS)
def test_integral_labels_occur_in_some_maximum(n_labels, density, integer, tables, seed, new_rng):
    node, edges, edge_scores = random_scores(new_rng(seed), n_labels, density, integer, tables)
    code, value, _ = relaxed_maximum(RelaxedLabels(), node, edges, edge_scores)
    every, scores = set_scores(node, edges, edge_scores)
    decided = code[:n_labels] != 1
    agree = (2 * every[:, decided] == code[:n_labels][decided]).all(axis=1)
    assert scores[agree].max() == pytest.approx(scores.max(), abs=1e-10)
    if decided.all():
        assert value == pytest.approx(scores.max(), abs=1e-10)


@given(**PROBLEMS)
def test_attracting_labels_are_integral(n_labels, density, integer, tables, seed, new_rng):
    rng = new_rng(seed)
    node, edges, edge_scores = random_scores(rng, n_labels, density, integer, tables)
    edge_scores = attracting(edge_scores)
    code, value, _ = relaxed_maximum(RelaxedLabels(), node, edges, edge_scores)
    assert set(code[:n_labels].tolist()) <= {0, 2}
    assert value == pytest.approx(set_scores(node, edges, edge_scores)[1].max(), abs=1e-10)
    # Exchange on and off for some labels, so that their interactions with the others repel.
    turned = rng.random(n_labels) < 0.5
    tables = as_tables(edge_scores).copy()
    for e, (u, v) in enumerate(edges):
        tables[e] = tables[e][:: -1 if turned[u] else 1, :: -1 if turned[v] else 1]
    balanced = relaxed_maximum(
        RelaxedLabels(), np.where(turned, -node, node), edges, tables.reshape(-1, 4)
    )
    assert set(balanced[0][:n_labels].tolist()) <= {0, 2}
    assert balanced[1] + node[turned].sum() == pytest.approx(value, abs=1e-10)


@given(n_labels=st.integers(1, 9), integer=st.booleans(), seed=st.integers(0, 10**6))
def test_forests_are_integral(n_labels, integer, seed, new_rng):
    rng = new_rng(seed)
    edges = np.array(
        [(rng.integers(v), v) for v in range(1, n_labels) if rng.random() < 0.8], dtype=np.int32
    ).reshape(-1, 2)
    node, _, edge_scores = random_scores(rng, n_labels, 1.0, integer, True)
    edge_scores = np.ascontiguousarray(edge_scores[: len(edges)])
    code, value, _ = relaxed_maximum(RelaxedLabels(), node, edges, edge_scores)
    assert set(code[:n_labels].tolist()) <= {0, 2}
    assert value == pytest.approx(set_scores(node, edges, edge_scores)[1].max(), abs=1e-10)


def test_a_frustrated_triangle_is_half_on():
    # Three labels repel each other by more than the score of each, so 1/2 for all is best.
    edges = np.array([[0, 1], [1, 2], [2, 0]], dtype=np.int32)
    code, value, _ = relaxed_maximum(RelaxedLabels(), np.ones(3), edges, np.full(3, -2.0))
    assert code.tolist() == [1, 1, 1, 0]
    assert value == 1.5
    # Repulsive edges: equal labels cost 1 per edge, half-integral ones nothing.
    tables = np.tile([-1.0, 0.0, 0.0, -1.0], (3, 1))
    code, value, _ = relaxed_maximum(RelaxedLabels(), np.zeros(3), edges, tables)
    assert code.tolist() == [1, 1, 1, 0]
    assert value == 0
    # An attracting edge of a frustrated cycle has its mass on both and none.
    code, value, _ = relaxed_maximum(
        RelaxedLabels(), np.array([0.0, -2.0, 0.0]), edges, np.array([2.0, 2.0, -4.0])
    )
    assert value == 1.0
    assert code.tolist() == [1, 1, 1, 0b011]


def test_interactions_of_rounding_size_are_ignored():
    tables = np.array([[0.1 + 0.2, 0.3, 0.3, 0.3]] * 3)
    assert (interactions(tables) != 0).all()
    edges = np.array([[0, 1], [1, 2], [2, 0]], dtype=np.int32)
    code, _, _ = relaxed_maximum(RelaxedLabels(), np.zeros(3), edges, tables)
    assert set(code[:3].tolist()) <= {0, 2}


def test_one_workspace_for_problems_of_any_size(rng):
    workspace = RelaxedLabels()
    for _ in range(80):
        problem = random_scores(rng, int(rng.integers(0, 30)), 0.5, rng.random() < 0.5, False)
        code, value, work = relaxed_maximum(workspace, *problem)
        fresh = relaxed_maximum(RelaxedLabels(), *problem)
        np.testing.assert_array_equal(code, fresh[0])
        assert (value, work) == fresh[1:]


@pytest.mark.parametrize(
    "edges, edge_scores, message",
    [
        ([[0, 3]], [1.0], r"edges\[0\] = \(0, 3\): expected different nodes from 0 to 2"),
        ([[-1, 0]], [1.0], r"edges\[0\] = \(-1, 0\)"),
        ([[1, 1]], [1.0], r"edges\[0\] = \(1, 1\)"),
        ([[0, 1]], [1.0, 2.0], "inconsistent shapes"),
        ([[0, 1]], [[1.0, 2.0, 3.0]], "inconsistent shapes"),
    ],
)
def test_graphs_are_checked(edges, edge_scores, message):
    with pytest.raises(ValueError, match=message):
        relaxed_maximum(
            RelaxedLabels(), np.zeros(3), np.array(edges, dtype=np.int32), np.array(edge_scores)
        )
