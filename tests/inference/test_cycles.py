"""Test linear programs with odd-cycle inequalities against enumeration."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sstruct.inference import MRF, map_mrf
from sstruct.inference._methods import cycles, exact
from sstruct.inference._methods.cycles import CyclePolytope, has_two_labels, short_cycles
from sstruct.inference._model.map_result import Record


def random_model(rng, n_nodes, density):
    edges = np.argwhere(np.triu(rng.random((n_nodes, n_nodes)) < density, 1))
    edges = rng.permutation(edges)
    turned = rng.random(len(edges)) < 0.5
    edges[turned] = edges[turned][:, ::-1]
    tables = rng.normal(size=(len(edges), 2, 2))
    return MRF(rng.normal(size=(n_nodes, 2)), edges, list(tables), rng.normal(size=len(edges)))


def labelings(model):
    """Return all points [x, y] of labelings and their energies."""
    x = np.array(list(product((0, 1), repeat=model.n_nodes)))
    points = np.hstack([x, x[:, model.edges[:, 0]] * x[:, model.edges[:, 1]]]).astype(float)
    return points, np.array([model.energy(labels.astype(np.int32)) for labels in x])


def relaxation(polytope):
    """Return the result of `linprog`, with the constant included."""
    found = linprog(polytope.costs, A_ub=polytope.matrix, b_ub=polytope.most, bounds=(0, 1))
    found.fun += polytope.constant
    return found


def odd_cycle_violation(model, point):
    """Return the largest violation of an inequality of any cycle, by enumeration."""
    u, v = model.edges.T
    z = point[u] + point[v] - 2 * point[model.n_nodes :]
    at = {frozenset(ends): e for e, ends in enumerate(model.edges.tolist())}
    worst = 0.0
    for size in range(3, model.n_nodes + 1):
        for nodes in permutations(range(model.n_nodes), size):
            sides = [frozenset(side) for side in zip(nodes, [*nodes[1:], nodes[0]], strict=True)]
            if nodes[0] == min(nodes) and all(side in at for side in sides):
                on = z[[at[side] for side in sides]]
                chosen = on > 0.5
                if chosen.sum() % 2 == 0:
                    chosen[np.abs(on - 0.5).argmin()] ^= True
                worst = max(worst, 1 - np.where(chosen, 1 - on, on).sum())
    return worst


@settings(max_examples=100)
@given(
    n_nodes=st.integers(2, 7), density=st.sampled_from([0.4, 0.7, 1.0]), seed=st.integers(0, 10**6)
)
def test_labelings_satisfy_the_inequalities(n_nodes, density, seed, new_rng):
    model = random_model(new_rng(seed), n_nodes, density)
    if model.n_edges == 0:
        return
    points, energies = labelings(model)
    polytope = CyclePolytope(model)
    assert polytope.constant + points @ polytope.costs == pytest.approx(energies, abs=1e-12)
    assert (polytope.matrix @ points.T <= polytope.most[:, None] + 1e-12).all()
    least = energies.min()
    bound = relaxation(polytope).fun
    assert bound <= least + 1e-7
    if n_nodes == 3:  # all facets of three nodes are triangle inequalities
        assert bound == pytest.approx(least, abs=1e-7)
    record = Record(model, np.zeros(n_nodes, dtype=np.int32), 1e-6, None)
    exact.integer_program(model, record)
    assert record.energy == pytest.approx(least, abs=1e-9)
    assert record.is_closed()
    assert record.lower_bound <= least + 1e-6 * (1 + abs(least))


@settings(max_examples=100)
@given(n_nodes=st.integers(4, 7), density=st.sampled_from([0.4, 0.6]), seed=st.integers(0, 10**6))
def test_violated_cycles_are_added(n_nodes, density, seed, new_rng):
    model = random_model(new_rng(seed), n_nodes, density)
    if model.n_edges == 0:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cycles, "MAX_PATHS", -1)  # start without cycles
        polytope = CyclePolytope(model)
    record = Record(model, np.zeros(n_nodes, dtype=np.int32), 1e-6, None)
    points, energies = labelings(model)
    before = -np.inf
    for _ in range(100):
        found = relaxation(polytope)
        assert found.fun >= before - 1e-7
        assert polytope.bound(-found.ineqlin.marginals) == pytest.approx(found.fun, abs=1e-6)
        before = found.fun
        if not polytope.separate(found.x, record):
            break
        assert (polytope.matrix @ points.T <= polytope.most[:, None] + 1e-12).all()
    assert odd_cycle_violation(model, found.x) <= 2e-3
    multipliers = new_rng(seed).exponential(size=len(polytope.most))
    assert polytope.bound(multipliers) <= energies.min() + 1e-9


def test_cycles_are_dropped_only_after_an_increase(monkeypatch):
    # Otherwise, two solutions with equal costs might be separated again and again.
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]])
    model = MRF(np.zeros((4, 2)), edges, np.zeros((2, 2)))
    monkeypatch.setattr(cycles, "MAX_PATHS", -1)
    polytope = CyclePolytope(model)
    record, rows = Record(model, np.zeros(4, dtype=np.int32), 1e-6, None), set()
    for z in ([0.9, 0.9, 0.6, 0.6, 0.7], [0.6, 0.6, 0.9, 0.9, 0.7]):  # one triangle each
        assert polytope.separate(np.append(np.full(4, 0.5), (1 - np.array(z)) / 2), record)
        before, rows = rows, set(map(tuple, polytope.matrix.toarray()))
        assert before < rows


def test_cycles_are_found_once(monkeypatch):
    square = MRF(np.zeros((4, 2)), [[0, 1], [1, 2], [2, 3], [3, 0]], np.eye(2))
    assert short_cycles(square) == [(0, 1, 2, 3)]
    # A chord divides the square into triangles.
    chord = MRF(np.zeros((4, 2)), [[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]], np.eye(2))
    assert short_cycles(chord) == [(0, 1, 4), (2, 3, 4)]
    for name in ("MAX_PATHS", "MAX_CYCLES"):
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
