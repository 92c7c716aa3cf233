"""Test label sets from half-integral maxima against enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstruct._oracles.label_set._completion import LabelCompletion
from sstruct._oracles.label_set._roof_duality import RelaxedLabels
from tests.reference.local_polytope import random_scores, set_scores


def decode(node, edges, edge_scores):
    return LabelCompletion().decode_arrays(RelaxedLabels(), node, edges, edge_scores)


def repelling(rng, n_labels):
    """Return scores with strong interactions of all pairs, so that the relaxation is not tight."""
    edges = np.array([(u, v) for u in range(n_labels) for v in range(u)], dtype=np.int32)
    return rng.normal(size=n_labels), edges, rng.normal(-1.0, 3.0, size=len(edges))


@given(
    n_labels=st.integers(1, 9),
    density=st.sampled_from([0.3, 0.7, 1.0]),
    integer=st.booleans(),
    tables=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_few_labels_are_exact(n_labels, density, integer, tables, seed, new_rng):
    node, edges, edge_scores = random_scores(new_rng(seed), n_labels, density, integer, tables)
    labels, value, bound, exact, _ = decode(node, edges, edge_scores)
    every, scores = set_scores(node, edges, edge_scores)
    assert exact
    assert value == pytest.approx(scores.max(), abs=1e-10)
    assert scores[(every == labels).all(axis=1)].item() == pytest.approx(value, abs=1e-10)
    assert bound >= value - 1e-10
    if integer:
        assert value == scores.max()


def test_components_are_enumerated_one_by_one(new_rng):
    # Three parts of 12 labels with value 1/2 do not interact; 36 could not be enumerated together.
    rng = new_rng(3)
    parts = [repelling(rng, 12) for _ in range(3)]
    node = np.concatenate([part[0] for part in parts])
    edges = np.concatenate([part[1] + 12 * k for k, part in enumerate(parts)]).astype(np.int32)
    labels, value, bound, exact, _ = decode(node, edges, np.concatenate([p[2] for p in parts]))
    assert exact
    assert bound > value + 1
    assert value == pytest.approx(sum(set_scores(*part)[1].max() for part in parts), abs=1e-10)
    alone = [decode(*part)[0] for part in parts]
    np.testing.assert_array_equal(labels, np.concatenate(alone))


def test_many_labels_are_a_local_maximum_below_the_bound(rng):
    best = n_exact = 0
    for _ in range(8):
        node, edges, edge_scores = repelling(rng, 17)
        labels, value, bound, exact, _ = decode(node, edges, edge_scores)
        _, scores = set_scores(node, edges, edge_scores)
        table = np.zeros((17, 17))
        table[edges[:, 0], edges[:, 1]] = table[edges[:, 1], edges[:, 0]] = edge_scores
        gains = (node + table @ labels) * (1 - 2 * labels)
        assert (gains <= 1e-9).all()
        assert value == pytest.approx(node @ labels + labels @ table @ labels / 2, abs=1e-10)
        assert value <= scores.max() + 1e-10
        assert scores.max() <= bound
        # Usually, the half-integral maximum exceeds the score of any label set.
        assert value == pytest.approx(scores.max(), abs=1e-10) or not exact
        n_exact += exact
        best += value >= scores.max() - 1e-10
    assert best >= 6
    assert n_exact < 8


def test_a_result_that_reaches_the_bound_is_exact():
    # All 18 labels, in frustrated triangles, have the value 1/2: too many to enumerate.
    triangles = np.arange(18).reshape(6, 3)
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    joins = np.column_stack([triangles[:-1, 0], triangles[1:, 0]])
    edges = np.ascontiguousarray(np.concatenate([edges, joins]), dtype=np.int32)
    edge_scores = np.r_[np.full(18, -2.0), np.full(5, 0.5)]
    _, value, bound, exact, _ = decode(np.ones(18), edges, edge_scores)
    assert not exact
    assert value == 6 + 5 * 0.5
    assert bound == 9 + 5 * 0.25
    # Without node scores, the empty set attains the bound.
    _, value, bound, exact, _ = decode(np.zeros(18), edges, np.r_[np.full(18, -2.0), -np.ones(5)])
    assert (value, bound, exact) == (0.0, 0.0, True)


def test_one_workspace_for_problems_of_any_size(rng):
    relaxed, completion = RelaxedLabels(), LabelCompletion()
    for _ in range(60):
        problem = random_scores(rng, int(rng.integers(1, 30)), 0.5, rng.random() < 0.5, False)
        labels, *rest = completion.decode_arrays(relaxed, *problem)
        fresh, *same = decode(*problem)
        np.testing.assert_array_equal(labels, fresh)
        assert rest == same
