"""Linear programs with odd-cycle inequalities against enumeration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sstruct.inference import MRF, map_mrf
from sstruct.inference._methods import cycles, exact
from sstruct.inference._methods.cycles import cycle_polytope, has_two_labels, short_cycles
from sstruct.inference._model.map_result import Record


def random_model(rng, n_nodes, density):
    edges = np.argwhere(np.triu(rng.random((n_nodes, n_nodes)) < density, 1))
    edges = rng.permutation(edges)
    turned = rng.random(len(edges)) < 0.5
    edges[turned] = edges[turned][:, ::-1]
    tables = rng.normal(size=(len(edges), 2, 2))
    return MRF(rng.normal(size=(n_nodes, 2)), edges, list(tables), rng.normal(size=len(edges)))


@settings(max_examples=100)
@given(
    n_nodes=st.integers(2, 7),
    density=st.sampled_from([0.4, 0.7, 1.0]),
    seed=st.integers(0, 10**6),
)
def test_labelings_satisfy_the_inequalities(n_nodes, density, seed, new_rng):
    model = random_model(new_rng(seed), n_nodes, density)
    if model.n_edges == 0:
        return
    constant, costs, matrix, most = cycle_polytope(model)
    energies = []
    for labels in product((0, 1), repeat=n_nodes):
        x = np.array(labels, dtype=float)
        point = np.concatenate([x, x[model.edges[:, 0]] * x[model.edges[:, 1]]])
        assert (matrix @ point <= most + 1e-12).all()
        energies.append(model.energy(np.array(labels)))
        assert constant + costs @ point == pytest.approx(energies[-1], abs=1e-12)
    least = min(energies)
    bound = constant + linprog(costs, A_ub=matrix, b_ub=most, bounds=(0, 1)).fun
    assert bound <= least + 1e-7
    if n_nodes == 3:  # all facets of three nodes are triangle inequalities
        assert bound == pytest.approx(least, abs=1e-7)
    record = Record(model, np.zeros(n_nodes, dtype=np.int32), 1e-6, None)
    exact.integer_program(model, record)
    assert record.energy == pytest.approx(least, abs=1e-9)
    assert record.is_closed()
    assert record.lower_bound <= least + 1e-6 * (1 + abs(least))


def test_cycles_are_found_once(monkeypatch):
    square = MRF(np.zeros((4, 2)), [[0, 1], [1, 2], [2, 3], [3, 0]], np.eye(2))
    assert short_cycles(square) == [(0, 1, 2, 3)]
    # A chord divides the square into triangles.
    chord = MRF(np.zeros((4, 2)), [[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]], np.eye(2))
    assert short_cycles(chord) == [(0, 1, 4), (2, 3, 4)]
    for name in ("MOST_PATHS", "MOST_CYCLES"):
        with monkeypatch.context() as patch:
            patch.setattr(cycles, name, 1)
            assert short_cycles(chord) == []


def test_models_with_other_labels_use_the_local_polytope():
    assert has_two_labels(MRF(np.zeros((2, 2)), [[0, 1]], np.eye(2)))
    assert not has_two_labels(MRF([[0.0, 1.0], [0.0]], [], []))
    assert not has_two_labels(MRF([[0.0, np.inf], [0.0, 1.0]], [], []))


def test_a_toroidal_spin_glass_is_proven(rng):
    n = 14
    at = np.arange(n * n).reshape(n, n)
    edges = np.concatenate([
        np.column_stack([at.ravel(), np.roll(at, -1, axis).ravel()]) for axis in (0, 1)
    ])  # fmt: skip
    tables = rng.choice([-1.0, 1.0], len(edges))[:, None, None] * np.eye(2)
    model = MRF(0.1 * rng.normal(size=(n * n, 2)), edges, list(tables))
    result = map_mrf(model, "exact")
    assert result.status == "PROVEN"
    assert result.energy == model.energy(result.labels)
