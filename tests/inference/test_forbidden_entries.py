"""Test that models with costs of +inf have feasible labelings and correct proofs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct._problems.graph.grid_edges import grid_edges
from sstruct._solvers.core.status import Status
from sstruct.inference import MRF, map_mrf
from sstruct.inference._methods import elimination, feasible
from sstruct.inference._methods import map_mrf as module
from sstruct.inference._methods.elimination import Elimination, minimize_in_order, move
from sstruct.inference._methods.feasible import find_feasible
from sstruct.inference._model.map_result import Record
from tests.inference.test_fwmap import frustrated_model
from tests.reference import mrf as reference

FORBIDDING = dict(
    n_nodes=st.integers(1, 6),
    density=st.sampled_from([0.0, 0.5, 1.0]),
    n_factors=st.integers(0, 3),
    seed=st.integers(0, 10**6),
)


def planted_model(rng, n_nodes, n_terms, forbidden):
    """Return a model of terms of two to four nodes, and a labeling that it allows."""
    n_labels = rng.integers(1, 5, n_nodes)
    planted = np.array([rng.integers(size) for size in n_labels])
    pairs, factors = {}, []
    for _ in range(n_terms):
        scope = rng.choice(n_nodes, min(rng.integers(2, 5), n_nodes), replace=False)
        shape = tuple(n_labels[scope])
        table = np.where(rng.random(shape) < forbidden, np.inf, rng.normal(size=shape))
        table[tuple(planted[scope])] = rng.normal()
        if len(scope) > 2:
            factors.append((scope, table))
        elif tuple(scope[::-1]) not in pairs:
            pairs[tuple(scope)] = table
    node = [np.where(rng.random(size) < 0.1, np.inf, rng.normal(size=size)) for size in n_labels]
    for costs, label in zip(node, planted, strict=True):
        costs[label] = rng.normal()
    return MRF(node, list(pairs), list(pairs.values()), factors=factors), planted


def first_record(model):
    labels = [model.node_cost(v).argmin() for v in range(model.n_nodes)]
    return Record(model, np.array(labels, dtype=np.int32), 1e-6, None)


def check_status(result):
    """Check that the status is PROVEN if and only if the gap is small enough."""
    is_closed = result.gap <= 1e-6 * (1 + abs(result.energy))
    assert (result.status == "PROVEN") == is_closed


@pytest.mark.parametrize("max_terms", [2**15, 0])
@settings(max_examples=60)
@given(
    n_nodes=st.integers(2, 14),
    share=st.sampled_from([0.8, 1.5, 2.5]),
    forbidden=st.sampled_from([0.2, 0.5, 0.75, 0.9]),
    seed=st.integers(0, 10**6),
)
def test_auto_finds_a_labeling_if_there_is_one(max_terms, n_nodes, share, forbidden, seed, new_rng):
    rng = new_rng(seed)
    model, planted = planted_model(rng, n_nodes, int(share * n_nodes), forbidden)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elimination, "MAX_TERMS", max_terms)
        result = map_mrf(model, max_iter=50)
    assert result.energy == model.energy(result.labels) < np.inf
    check_status(result)
    if result.status == "PROVEN":
        assert result.energy <= model.energy(planted) + 1e-5


@pytest.mark.parametrize("method", ["trws", "bp", "fwmap", "auto"])
def test_every_iterative_method_finds_a_labeling(method, new_rng, monkeypatch):
    monkeypatch.setattr(elimination, "MAX_TERMS", 0)
    for seed in range(10):
        model, _ = planted_model(new_rng(seed), 40, 45, 0.8)
        result = map_mrf(model, method, max_iter=5)
        assert result.energy < np.inf
        check_status(result)


@settings(max_examples=150)
@given(**FORBIDDING)
def test_the_search_is_complete_on_small_models(n_nodes, density, n_factors, seed, new_rng):
    plain = reference.random_model(
        new_rng(seed), n_nodes, density, "forbidding", n_factors=n_factors
    )
    model, least = MRF(*plain.arguments()), reference.minimum(plain)
    record = first_record(model)
    assert find_feasible(model, record) == (least < np.inf)
    assert (record.energy < np.inf) == (least < np.inf)


def coloring(n_nodes, n_colors):
    """Return a model of nodes with different labels, which is feasible with enough labels."""
    edges = np.column_stack(np.triu_indices(n_nodes, 1))
    table = np.where(np.eye(n_colors, dtype=bool), np.inf, 0.0)
    return MRF(np.zeros((n_nodes, n_colors)), edges, table)


@pytest.mark.parametrize("max_terms", [2**15, 0])
def test_a_model_that_forbids_all_labelings_is_infeasible(max_terms, monkeypatch):
    monkeypatch.setattr(elimination, "MAX_TERMS", max_terms)
    assert map_mrf(coloring(5, 5)).status == "PROVEN"
    result = map_mrf(coloring(5, 4))
    assert (result.status, result.energy, result.lower_bound) == ("INFEASIBLE", np.inf, np.inf)


@pytest.mark.parametrize("method", ["auto", "exact"])
@pytest.mark.parametrize("status", [Status.TIME_LIMIT, None])
def test_an_elimination_that_takes_all_of_the_time_leaves_a_labeling(
    method, status, new_rng, monkeypatch
):
    def minimize(small, order, record):
        assert record.energy == np.inf
        record.deadline = 0.0
        return status

    monkeypatch.setattr(module, "minimize_in_order", minimize)
    for seed in range(5):
        model, _ = planted_model(new_rng(seed), 40, 45, 0.8)
        result = map_mrf(model, method, max_time=1e6)
        assert result.energy == model.energy(result.labels) < np.inf
        assert result.status == "TIME_LIMIT"
    result = map_mrf(coloring(5, 4), method, max_time=1e6)
    assert (result.status, result.energy) == ("INFEASIBLE", np.inf)


def test_search_before_elimination_does_not_change_results(new_rng):
    for seed in range(20):
        model, _ = planted_model(new_rng(seed), 15, 25, 0.6)
        expected, found = map_mrf(model), map_mrf(model, max_time=1e6)
        np.testing.assert_array_equal(found.labels, expected.labels)
        assert (found.status, found.energy, found.lower_bound, found.method) == (
            expected.status,
            expected.energy,
            expected.lower_bound,
            expected.method,
        )


def random_clauses(rng, n_nodes, n_clauses):
    """Return random 3-SAT: each term forbids one combination of the labels of three nodes."""
    factors = []
    for _ in range(n_clauses):
        table = np.zeros((2, 2, 2))
        table[tuple(rng.integers(0, 2, 3))] = np.inf
        factors.append((rng.choice(n_nodes, 3, replace=False).tolist(), table))
    return MRF(rng.random((n_nodes, 2)), [], [], factors=factors)


def sparse_coloring(rng, n_nodes, n_edges, n_colors):
    pairs = [(u, v) for u in range(n_nodes) for v in range(u)]
    edges = [pairs[k] for k in rng.choice(len(pairs), n_edges, replace=False)]
    return MRF(rng.random((n_nodes, n_colors)), edges, np.where(np.eye(n_colors), np.inf, 0.0))


# For these models, backtracking without local search finds no labeling.
@pytest.mark.parametrize(
    "make, size, seeds",
    [(random_clauses, (200, 816), range(3)), (sparse_coloring, (200, 780, 4), range(3))],
)
def test_near_critical_models(make, size, seeds):
    for seed in seeds:  # with some other seeds, there is no labeling
        model = make(np.random.default_rng(seed), *size)
        record = first_record(model)
        assert find_feasible(model, record)
        assert record.energy == model.energy(record.labels) < np.inf


@settings(max_examples=60)
@given(**FORBIDDING)
def test_local_search_finds_only_allowed_labelings(n_nodes, density, n_factors, seed, new_rng):
    plain = reference.random_model(
        new_rng(seed), n_nodes, density, "forbidding", n_factors=n_factors
    )
    model = MRF(*plain.arguments())
    labels = np.isfinite(model.node_costs)
    if not np.logical_or.reduceat(labels, model.node_start[:-1]).all():
        return
    search = feasible._Search(model, first_record(model), 1)
    walk = feasible._Walk(search, labels, model.node_costs)
    for _ in range(3):
        found = walk.run(1000)
        assert found is None or model.energy(found) < np.inf


def test_a_search_that_is_stopped_proves_nothing(monkeypatch):
    model = coloring(7, 6)
    monkeypatch.setattr(feasible, "REVISIONS_PER_TABLE", 0)
    assert not find_feasible(model, first_record(model))
    for most in (20, 200):  # exceeded before the first choice, and after some choices
        assert find_feasible(model, first_record(model), most)
    late = first_record(model)
    late.deadline = 0.0
    assert find_feasible(model, late)
    monkeypatch.setattr(elimination, "MAX_TERMS", 0)
    result = map_mrf(model, max_time=1e-9)
    assert (result.status, result.energy) == ("TIME_LIMIT", np.inf)


@settings(max_examples=150)
@given(kind=st.sampled_from(["real", "integer", "forbidding"]), **FORBIDDING)
def test_elimination_equals_enumeration(kind, n_nodes, density, n_factors, seed, new_rng):
    plain = reference.random_model(new_rng(seed), n_nodes, density, kind, n_factors=n_factors)
    model, least = MRF(*plain.arguments()), reference.minimum(plain)
    small = Elimination(model)
    for order in (small.plan(), small.plan_along_band()):
        assert sorted(order) == list(range(n_nodes))
        record = first_record(model)
        status = minimize_in_order(small, order, record)
        assert status == (Status.CONVERGED if least < np.inf else Status.INFEASIBLE)
        assert record.energy == pytest.approx(least, abs=1e-12)


def test_a_long_grid_is_eliminated_along_its_band(rng, monkeypatch):
    # 8 rows: at most 2^10 entries, half of which are choices of one bit.
    edges = grid_edges(8, 20)
    model = MRF(rng.normal(size=(160, 2)), edges, list(rng.normal(size=(len(edges), 2, 2))))
    least = map_mrf(model)
    assert least.status == "PROVEN"
    monkeypatch.setattr(elimination, "LARGEST_AT_LAST", 2**10)
    monkeypatch.setattr(elimination, "MAX_CHOICES", 160 * 2**6)
    small = Elimination(model)
    order, record = small.plan_along_band(), first_record(model)
    assert minimize_in_order(small, order, record) == Status.CONVERGED
    assert record.energy == pytest.approx(least.energy)
    for name, most in (("LARGEST_AT_LAST", 2**8), ("ALL_AT_LAST", 2**13), ("MAX_CHOICES", 2**9)):
        with monkeypatch.context() as patch:
            patch.setattr(elimination, name, most)
            assert small.plan_along_band() is None


def test_auto_eliminates_along_the_band_if_the_search_fails(new_rng, monkeypatch):
    monkeypatch.setattr(elimination, "ALL_TABLES", 2)
    monkeypatch.setattr(module, "search", lambda *_: Status.STALLED)
    for seed in range(5):
        plain = frustrated_model(new_rng(seed))
        result = map_mrf(MRF(*plain.arguments()))
        assert result.energy == pytest.approx(reference.minimum(plain))
        assert result.status == "PROVEN"


@settings(max_examples=100)
@given(largest=st.integers(4, 30), **FORBIDDING)
def test_moves_are_exact_given_the_other_labels(
    largest, n_nodes, density, n_factors, seed, new_rng
):
    rng = new_rng(seed)
    plain = reference.random_model(rng, n_nodes, density, "forbidding", n_factors=n_factors)
    model = MRF(*plain.arguments())
    record = first_record(model)
    small = Elimination(model)
    if not find_feasible(model, record):
        return
    order = small.plan(largest, 2**20, rng)
    fixed = np.setdiff1d(np.arange(n_nodes), order)
    node = list(plain.node)
    for v in fixed:
        node[v] = np.where(np.arange(len(node[v])) == record.labels[v], node[v], np.inf)
    given_others = reference.Model(node, plain.edges, plain.tables, plain.weights, plain.factors)
    labels = small.run(order, record.labels, record)
    np.testing.assert_array_equal(labels[fixed], record.labels[fixed])
    assert model.energy(labels) == pytest.approx(reference.minimum(given_others), abs=1e-12)


def test_moves_lower_the_energy(new_rng, monkeypatch):
    monkeypatch.setattr(elimination, "LARGEST_OF_MOVE", 2**8)
    n_better = 0
    for seed in range(5):
        model, _ = planted_model(new_rng(seed), 60, 120, 0.3)
        record = first_record(model)
        assert find_feasible(model, record)
        before = record.energy
        move(Elimination(model), record)
        assert record.energy == model.energy(record.labels) <= before
        n_better += record.energy < before
    assert n_better >= 4


def test_models_too_large_to_eliminate_are_left_to_other_methods(rng, monkeypatch):
    edges = np.column_stack(np.triu_indices(12, 1))
    model = MRF(rng.normal(size=(12, 4)), edges, rng.normal(size=(len(edges), 4, 4)))
    assert Elimination(model).plan() is None
    monkeypatch.setattr(elimination, "MAX_VISITS", 10)
    assert Elimination(coloring(5, 2)).plan() is None


@pytest.mark.parametrize("n_nodes, is_small", [(32, True), (33, False)])
def test_tables_have_at_most_32_axes(n_nodes, is_small):
    edges = np.column_stack(np.triu_indices(n_nodes, 1))
    known = np.tile([0.0, np.inf], (n_nodes, 1))
    small = Elimination(MRF(known, edges, np.zeros((len(edges), 2, 2))))
    assert [plan is not None for plan in (small.plan(), small.plan_along_band())] == [is_small] * 2


def test_a_gap_that_is_left_is_not_called_converged(new_rng):
    for seed in range(10):
        plain = reference.random_model(new_rng(seed), 8, 1.0, "real", max_labels=3)
        model = MRF(*plain.arguments())
        for method in ("auto", "trws", "fwmap", "bp", "icm", "exact"):
            check_status(map_mrf(model, method))
    assert map_mrf(model, "icm").status == "UNPROVEN"


def test_only_max_time_ends_as_time_limit(rng, monkeypatch):
    monkeypatch.setattr(elimination, "MAX_TERMS", 0)
    monkeypatch.setattr(module, "searcher", lambda _: None)
    monkeypatch.setattr(module, "integer_program", lambda *_, **__: Status.TIME_LIMIT)
    model = MRF(*frustrated_model(rng).arguments())
    assert map_mrf(model).status in ("UNPROVEN", "STALLED")
    assert map_mrf(model, max_time=1e6).status == "TIME_LIMIT"


@settings(max_examples=60)
@given(kind=st.sampled_from(["real", "forbidding"]), **FORBIDDING)
def test_evidence(kind, n_nodes, density, n_factors, seed, new_rng):
    rng = new_rng(seed)
    plain = reference.random_model(rng, n_nodes, density, kind, n_factors=n_factors)
    observed = rng.choice(n_nodes, rng.integers(n_nodes + 1), replace=False)
    evidence = {v: rng.integers(len(plain.node[v])) for v in observed}
    node = [
        np.where(np.arange(len(costs)) == evidence.get(v, np.arange(len(costs))), costs, np.inf)
        for v, costs in enumerate(plain.node)
    ]
    least = reference.minimum(
        reference.Model(node, plain.edges, plain.tables, plain.weights, plain.factors)
    )
    model = MRF(*plain.arguments())
    result = map_mrf(model, evidence=evidence)
    assert result.energy == pytest.approx(least, abs=1e-12)
    if least < np.inf:
        assert all(result.labels[v] == label for v, label in evidence.items())
        assert model.energy(result.labels) == result.energy
    assert np.isfinite(model.node_costs).sum() == sum(np.isfinite(c).sum() for c in plain.node)


@pytest.mark.parametrize("method", ["auto", "graph-cut", "alpha-expansion", "trws", "exact"])
def test_evidence_by_any_method(method):
    chain = MRF([[0.0, 0.3]] * 4, [[0, 1], [1, 2], [2, 3], [3, 0]], [[0.0, 1.0], [1.0, 0.0]])
    result = map_mrf(chain, method, evidence={np.int64(0): 1, 2: 1})
    assert (result.labels.tolist(), result.energy) == ([1, 1, 1, 1], pytest.approx(1.2))


@pytest.mark.parametrize(
    "evidence, error, message",
    [
        ({4: 0}, ValueError, "evidence has the key 4, expected a node from 0 to 3"),
        ({-1: 0}, ValueError, "evidence has the key -1"),
        ({"a": 0}, ValueError, "evidence has the key 'a'"),
        ({True: 0}, ValueError, "evidence has the key True"),
        ({1: 2}, ValueError, r"evidence\[1\] is 2, expected an integer from 0 to 1: node 1 has 2"),
        ({1: -1}, ValueError, r"evidence\[1\] is -1"),
        ({1: 0.5}, ValueError, r"evidence\[1\] is 0.5"),
        ([0, 1], TypeError, "evidence must be a dict that maps nodes to labels"),
    ],
)
def test_invalid_evidence(evidence, error, message):
    model = MRF(np.zeros((4, 2)), [[0, 1]], np.eye(2))
    with pytest.raises(error, match=message):
        map_mrf(model, evidence=evidence)


def test_results_are_printed_briefly(rng):
    edges = np.column_stack(np.triu_indices(30, 1))
    model = MRF(rng.normal(size=(30, 2)), edges, rng.normal(size=(len(edges), 2, 2)))
    result = map_mrf(model, "trws")
    assert len(repr(result)) < 400
    assert "status='" in repr(result)
    assert "labels=[" in repr(result)
    assert len(repr(map_mrf(MRF(np.zeros((10**4, 2)), [], [])))) < 400


def test_the_history_has_the_gap_quantities_of_fwmap(new_rng):
    n_open = 0
    for seed in range(6):
        plain = frustrated_model(new_rng(seed))
        result = map_mrf(MRF(*plain.arguments()), "fwmap", start="zero", max_iter=3000)
        A, B = result.history["A"], result.history["B"]
        evaluated = np.isfinite(A)
        assert (evaluated == np.isfinite(B)).all()
        # The start, then every fifth iteration.
        assert (np.flatnonzero(evaluated) % 5 == 0).all()
        assert evaluated[5]
        assert not evaluated[0]
        assert A[evaluated].min() >= -1e-9
        assert B[evaluated].min() >= 0
        if result.status == "UNPROVEN":  # ended at the optimum of the relaxation
            n_open += 1
            last = np.flatnonzero(evaluated)[-1]
            assert A[last] <= 1e-6 * (1 + abs(result.lower_bound))
            assert B[last] <= 1e-3
    assert n_open >= 2
    assert np.isnan(map_mrf(MRF(*plain.arguments()), "trws").history["A"]).all()
