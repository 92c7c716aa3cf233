"""Test combinations of labelings against enumeration."""

from itertools import product
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct.inference import MRF
from sstruct.inference._methods import combination
from sstruct.inference._model.map_result import Record
from tests.reference import mrf as reference


def some_model(rng, n_nodes, density, kind):
    plain = reference.random_model(rng, n_nodes, density, kind)
    return plain, MRF(*plain.arguments())


def different(rng, plain, count):
    """Return up to `count` different labelings, the best one first."""
    found = {tuple(rng.integers(len(costs)) for costs in plain.node) for _ in range(count)}
    ranked = sorted(found, key=lambda labels: reference.energy(plain, labels))
    return [np.array(labels, dtype=np.int32) for labels in ranked]


@settings(max_examples=150, deadline=None)
@given(
    n_nodes=st.integers(1, 6),
    density=st.sampled_from([0.0, 0.4, 1.0]),
    kind=st.sampled_from(["real", "integer", "forbidding"]),
    count=st.integers(1, 4),
    seed=st.integers(0, 10**6),
)
def test_is_the_best_of_all_combinations(n_nodes, density, kind, count, seed, new_rng):
    rng = new_rng(seed)
    plain, model = some_model(rng, n_nodes, density, kind)
    labelings = different(rng, plain, count)
    record = Record(model, labelings[0], 1e-9, None)
    combination.combine(model, labelings, record)
    choices = product(*(np.unique(labels) for labels in np.stack(labelings).T))
    least = min(reference.energy(plain, labels) for labels in choices)
    assert record.energy == pytest.approx(least, abs=1e-7)
    assert reference.energy(plain, record.labels) == pytest.approx(record.energy, abs=1e-9)


def n_variables(model):
    return len(model.node_costs) + sum(model.edge_cost(e).size for e in range(model.n_edges))


@settings(max_examples=60, deadline=None)
@given(
    most=st.integers(4, 200), density=st.sampled_from([0.1, 0.3, 1.0]), seed=st.integers(0, 10**6)
)
def test_programs_are_small_and_nothing_gets_worse(most, density, seed, new_rng):
    rng = new_rng(seed)
    plain, model = some_model(rng, 9, density, "real")
    labelings = different(rng, plain, 12)
    solve = combination.integer_program
    sizes = []

    def recorded(small, *args):
        sizes.append(n_variables(small))
        return solve(small, *args)

    record = Record(model, labelings[0], 1e-9, None)
    with mock.patch.multiple(combination, MAX_VARIABLES=most, integer_program=recorded):
        combination.combine(model, labelings, record)
    assert max(sizes, default=0) <= most
    assert record.energy <= reference.energy(plain, labelings[0]) + 1e-9
    assert reference.energy(plain, record.labels) == pytest.approx(record.energy, abs=1e-9)


def test_only_small_components_are_combined(monkeypatch):
    # Two paths of nodes 0 to 5 and 6 to 7, without edges between them: the best labeling takes one
    # path from each.
    bad = np.array([[0.0, 9.0], [9.0, 0.0]])
    edges = [[k, k + 1] for k in (*range(5), 6)]
    node_costs = [[0.0, 1.0]] * 6 + [[1.0, 0.0]] * 2
    model = MRF(node_costs, edges, bad)
    labelings = [np.zeros(8, dtype=np.int32), np.ones(8, dtype=np.int32)]
    monkeypatch.setattr(combination, "MAX_VARIABLES", 8)
    record = Record(model, labelings[0], 1e-9, None)
    combination.combine(model, labelings, record)
    np.testing.assert_array_equal(record.labels, [0, 0, 0, 0, 0, 0, 1, 1])
    # The result is the same without a limit.
    monkeypatch.undo()
    other = Record(model, labelings[1], 1e-9, None)
    combination.combine(model, labelings[::-1], other)
    assert other.energy == record.energy == 0.0


def test_no_program_if_two_labelings_differ_too_much_or_time_is_up(rng, monkeypatch):
    plain, model = some_model(rng, 6, 1.0, "real")
    labelings = different(rng, plain, 10)

    def fail(*args):
        raise AssertionError("an integer program was solved")

    monkeypatch.setattr(combination, "integer_program", fail)
    late = Record(model, labelings[0], 1e-9, 1e-9)
    combination.combine(model, labelings, late)
    monkeypatch.setattr(combination, "MAX_VARIABLES", 1)
    record = Record(model, labelings[0], 1e-9, None)
    combination.combine(model, labelings, record)
    np.testing.assert_array_equal(record.labels, labelings[0])
