"""Test FWMAP started from messages, on infeasible models, and with time limits."""

import time
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct._oracles.mrf._message_passing import MessagePassing
from sstruct._oracles.mrf._packed_mrf import PackedMRF
from sstruct._problems.map._map_problem import MapProblem
from sstruct._problems.map._start import multipliers_of_messages
from sstruct._problems.map.map_arguments import project
from sstruct.inference import MRF, graph_matching, map_mrf
from sstruct.inference._model.map_result import energy_ceiling
from sstruct.inference._model.tree_cover import tree_cover
from tests.inference.test_map_mrf import ANY_MODEL, grid
from tests.reference import mrf as reference


@settings(max_examples=150)
@given(
    n_nodes=st.integers(2, 7),
    density=st.sampled_from([0.3, 0.7, 1.0]),
    kind=st.sampled_from(["real", "integer"]),
    n_sweeps=st.integers(1, 6),
    seed=st.integers(0, 10**6),
)
def test_trees_are_not_below_the_sweep(n_nodes, density, kind, n_sweeps, seed, new_rng):
    rng = new_rng(seed)
    plain = reference.random_model(rng, n_nodes, density, kind)
    model = MRF(*plain.arguments())
    cover = tree_cover(n_nodes, model.edges)
    if cover.n_trees == 0:
        return
    sweeps = MessagePassing(PackedMRF(model), rng.permutation(n_nodes), True)
    labels = np.zeros(n_nodes, dtype=np.int32)
    for s in range(n_sweeps):
        bound = sweeps.sweep(s % 2 == 0, labels, np.inf)
    problem = MapProblem(model, cover)
    multipliers = multipliers_of_messages(problem, *sweeps.last_messages())
    np.testing.assert_allclose(
        project(problem.copy_start, multipliers.copy()), multipliers, atol=1e-9
    )
    value = problem.bound(multipliers)
    rounding = 1e-9 * (1 + abs(bound))
    assert bound - rounding <= value <= reference.minimum(plain) + rounding


def test_multipliers_of_models_that_forbid_are_finite(new_rng):
    n_checked = 0
    for seed in range(40):
        plain = reference.random_model(new_rng(seed), 6, 0.8, "forbidding")
        model = MRF(*plain.arguments())
        sweeps = MessagePassing(PackedMRF(model), np.arange(6), True)
        if sweeps.sweep(True, np.zeros(6, dtype=np.int32), np.inf) == np.inf:
            continue
        try:
            problem = MapProblem(model, tree_cover(6, model.edges))
        except ValueError:  # a tree without a labeling
            continue
        n_checked += 1
        multipliers = multipliers_of_messages(problem, *sweeps.last_messages())
        assert np.isfinite(multipliers).all()
        assert problem.bound(multipliers) <= reference.minimum(plain) + 1e-9
    assert n_checked >= 5


def test_bounds_from_zero_and_from_messages_are_equal_in_the_end(new_rng):
    for seed in range(10):
        plain = reference.random_model(new_rng(seed), 7, 0.9, "real", max_labels=3)
        model = MRF(*plain.arguments())
        first, second = (
            map_mrf(model, "fwmap", max_iter=3000, start=start).lower_bound
            for start in ("zero", "trws")
        )
        assert first == pytest.approx(second, abs=1e-4 * (1 + abs(first)))


@settings(max_examples=80)
@given(**ANY_MODEL)
def test_no_labeling_has_more_energy_than_the_ceiling(
    n_nodes, density, kind, n_factors, seed, new_rng
):
    plain = reference.random_model(new_rng(seed), n_nodes, density, kind, n_factors=n_factors)
    ceiling = energy_ceiling(MRF(*plain.arguments()))
    for labels in product(*(range(len(costs)) for costs in plain.node)):
        energy = reference.energy(plain, labels)
        assert energy == np.inf or energy <= ceiling + 1e-9


def uncolorable():
    """Return an infeasible model: two colors for the nodes of a triangle and of a path to it."""
    edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)]
    table = np.array([[np.inf, 0.0], [0.0, np.inf]])
    return MRF(np.zeros((5, 2)), edges, table)


def test_a_relaxation_that_is_feasible_ends_without_a_labeling(monkeypatch):
    # Marginals of one half for each color are in the local polytope, so no bound proves that the
    # model is infeasible; only the search does.
    assert map_mrf(uncolorable(), "fwmap").status == "INFEASIBLE"
    monkeypatch.setattr("sstruct.inference._methods.map_mrf.find_feasible", lambda *_: True)
    result = map_mrf(uncolorable(), "fwmap")
    assert result.energy == np.inf
    assert result.status in ("UNPROVEN", "STALLED", "MAX_ITER")
    assert map_mrf(uncolorable(), "exact").status == "INFEASIBLE"


def ladder():
    """Return a model without consistent marginals: along a cycle, each label is shifted by one."""
    n = 6
    shift = np.full((n, n), np.inf)
    shift[np.arange(n), np.minimum(np.arange(n) + 1, n - 1)] = 0
    shift[n - 1, n - 1] = np.inf
    return MRF(np.zeros((4, n)), [(0, 1), (1, 2), (2, 3), (3, 0)], [shift, shift, shift, shift])


@pytest.mark.parametrize("start", ["zero", "trws"])
def test_a_bound_above_all_energies_is_infeasible(start):
    result = map_mrf(ladder(), "fwmap", start=start)
    assert result.status == "INFEASIBLE"
    assert result.lower_bound == np.inf
    assert map_mrf(ladder(), "exact").status == "INFEASIBLE"


@pytest.mark.parametrize(
    "arguments, message",
    [
        (dict(schedule="time"), r"schedule must be one of \('work', 'clock'\), found 'time'"),
        (dict(start="mu"), r"start must be one of \('trws', 'zero'\), found 'mu'"),
    ],
)
def test_invalid_parameters(arguments, message, rng):
    with pytest.raises(ValueError, match=message):
        map_mrf(grid(2, 2, rng), "fwmap", **arguments)
    with pytest.raises(ValueError, match=message):
        graph_matching(np.zeros((2, 2)), np.zeros((4, 4)), **arguments)


def test_an_integer_program_keeps_its_time(rng):
    model = grid(12, 6, rng)
    begin = time.monotonic()
    result = map_mrf(model, "exact", max_time=1e-6)
    # The time limit is reached before HiGHS starts.
    assert result.status == "TIME_LIMIT"
    assert -np.inf < result.lower_bound <= result.energy < np.inf
    assert time.monotonic() - begin < 60


@pytest.mark.parametrize("method", ["trws", "bp", "fwmap"])
def test_no_change_of_two_neighbors_lowers_the_energy(method, new_rng):
    for seed in range(20):
        plain = reference.random_model(new_rng(seed), 7, 0.9, "real", max_labels=3)
        labels = map_mrf(MRF(*plain.arguments()), method, max_iter=1, tol=0).labels
        energy = reference.energy(plain, labels)
        for u, v in plain.edges:
            for pair in product(range(len(plain.node[u])), range(len(plain.node[v]))):
                other = labels.copy()
                other[[u, v]] = pair
                assert reference.energy(plain, other) >= energy - 1e-8
