"""Combinations of labellings against enumeration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct.inference import MRF
from sstruct.inference import _combination as combination
from sstruct.inference._map_result import Record
from tests.reference import mrf as reference


def some_model(rng, n_nodes, density, kind):
    plain = reference.random_model(rng, n_nodes, density, kind)
    return plain, MRF(*plain.arguments())


def different(rng, plain, count):
    """Different labellings, the best first."""
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
    labellings = different(rng, plain, count)
    if reference.energy(plain, labellings[0]) == np.inf:
        return
    record = Record(model, labellings[0], 1e-9, None)
    combination.combine(model, labellings, record)
    choices = product(*(np.unique(labels) for labels in np.stack(labellings).T))
    least = min(reference.energy(plain, labels) for labels in choices)
    assert record.energy == pytest.approx(least, abs=1e-7)
    assert reference.energy(plain, record.labels) == pytest.approx(record.energy, abs=1e-9)


def n_variables(model):
    return len(model.node_costs) + sum(model.edge_cost(e).size for e in range(model.n_edges))


def test_labellings_are_taken_in_turn_where_they_dispute_much(rng, monkeypatch):
    plain, model = some_model(rng, 6, 1.0, "real")
    labellings = different(rng, plain, 40)
    programs, solve = [], combination.integer_program

    def recorded(small, *args):
        programs.append(n_variables(small))
        return solve(small, *args)

    monkeypatch.setattr(combination, "integer_program", recorded)
    _, _, whole = combination._disputed(model, np.stack(labellings))
    for most in (n_variables(whole), n_variables(whole) // 2, n_variables(whole) // 4):
        monkeypatch.setattr(combination, "MOST_VARIABLES", most)
        programs.clear()
        record = Record(model, labellings[0], 1e-9, None)
        combination.combine(model, labellings, record)
        assert max(programs) <= most
        assert (len(programs) == 1) == (most == n_variables(whole))
        assert record.energy <= reference.energy(plain, labellings[0])
        assert reference.energy(plain, record.labels) == pytest.approx(record.energy, abs=1e-9)


def test_nothing_is_done_where_even_two_dispute_too_much_or_time_is_over(rng, monkeypatch):
    plain, model = some_model(rng, 6, 1.0, "real")
    labellings = different(rng, plain, 10)

    def refused(*args):
        raise AssertionError("an integer program was solved")

    monkeypatch.setattr(combination, "integer_program", refused)
    late = Record(model, labellings[0], 1e-9, 1e-9)
    combination.combine(model, labellings, late)
    monkeypatch.setattr(combination, "MOST_VARIABLES", 1)
    record = Record(model, labellings[0], 1e-9, None)
    combination.combine(model, labellings, record)
    np.testing.assert_array_equal(record.labels, labellings[0])
