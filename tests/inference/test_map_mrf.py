"""Test labelings and bounds against enumeration and linear programs."""

import signal
import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct._oracles.mrf._packed_mrf import PackedMRF
from sstruct._problems.graph.grid_edges import grid_edges
from sstruct._testing._oracle_access import message as sent_message
from sstruct.inference import (
    MRF,
    alpha_expansion,
    discrete_tomography,
    graph_matching,
    map_mrf,
    viterbi,
)
from sstruct.inference._methods import elimination, highs, separate_process
from sstruct.inference._methods.exact import _parents_first
from sstruct.inference._methods.message_passing import trivial_bound
from sstruct.inference._model.auxiliary import pairwise_model
from tests.reference import mrf as reference

KINDS = ("real", "integer", "forbidding")
ANY_MODEL = dict(
    n_nodes=st.integers(1, 6),
    density=st.sampled_from([0.0, 0.4, 0.7, 1.0]),
    kind=st.sampled_from(KINDS),
    n_factors=st.integers(0, 2),
    seed=st.integers(0, 10**6),
)


def check(result, plain, least):
    """Check the properties of every result."""
    model = MRF(*plain.arguments())
    assert result.energy == model.energy(result.labels)
    assert result.energy == pytest.approx(reference.energy(plain, result.labels), abs=1e-12)
    rounding = 1e-11 * (1 + abs(least)) if np.isfinite(least) else 0.0
    assert least - rounding <= result.energy
    assert result.lower_bound <= result.energy
    assert result.lower_bound <= least + rounding
    if np.isfinite(result.energy):
        assert result.gap == result.energy - result.lower_bound
    history = result.history
    assert (np.diff(history["lower_bound"][np.isfinite(history["lower_bound"])]) >= 0).all()
    assert (np.diff(history["energy"][np.isfinite(history["energy"])]) <= 0).all()
    assert (np.diff(history["seconds"]) >= 0).all()
    assert history["energy"][-1] == result.energy
    assert history["lower_bound"][-1] == result.lower_bound
    if result.status == "INFEASIBLE":
        assert least == np.inf


@pytest.mark.parametrize(
    "method, options",
    [
        *((method, {"max_iter": 60}) for method in ("trws", "bp", "icm", "auto")),
        ("fwmap", {"max_iter": 300}),
        *(
            ("fwmap", {"max_iter": 200, "start": "zero", "schedule": schedule})
            for schedule in ("work", "clock")
        ),
    ],
    ids=str,
)
@settings(max_examples=100)
@given(**ANY_MODEL)
def test_any_model_by_any_method(method, options, n_nodes, density, kind, n_factors, seed, new_rng):
    plain = reference.random_model(new_rng(seed), n_nodes, density, kind, n_factors=n_factors)
    least = reference.minimum(plain)
    result = map_mrf(MRF(*plain.arguments()), method, **options)
    check(result, plain, least)
    if method == "icm":
        assert result.lower_bound == -np.inf
        assert result.status == "UNPROVEN"
    if method == "trws" and result.status == "PROVEN":
        assert result.gap <= 1e-6 * (1 + abs(result.energy))


SEARCHER = "sstruct.inference._methods.map_mrf.searcher"


def without_search(_):
    """Replace `searcher`, so that HiGHS is used."""


@pytest.mark.parametrize("has_search", [False, True])
@settings(max_examples=60)
@given(**ANY_MODEL)
def test_exact_equals_enumeration(n_nodes, density, kind, n_factors, seed, has_search, new_rng):
    plain = reference.random_model(new_rng(seed), n_nodes, density, kind, n_factors=n_factors)
    least = reference.minimum(plain)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elimination, "MAX_TERMS", 0)
        if not has_search:
            patch.setattr(SEARCHER, without_search)
        result = map_mrf(MRF(*plain.arguments()), "exact")
    check(result, plain, least)
    assert result.energy == pytest.approx(least, abs=1e-9)
    assert result.status == ("PROVEN" if least < np.inf else "INFEASIBLE")
    assert result.fixed.all() == (least < np.inf)
    if least < np.inf:
        assert result.gap <= 2e-6 * (1 + abs(least))


@pytest.mark.parametrize("has_search", [False, True])
def test_exact_minima_of_tiny_costs(has_search, new_rng, monkeypatch):
    monkeypatch.setattr(elimination, "MAX_TERMS", 0)
    if not has_search:
        monkeypatch.setattr(SEARCHER, without_search)
    for seed in range(20):
        plain = reference.random_model(new_rng(seed), 4, 1.0, "real")
        tiny = reference.Model(
            [1e-9 * costs for costs in plain.node],
            plain.edges,
            [1e-9 * table for table in plain.tables],
            plain.weights,
            plain.factors,
        )
        result = map_mrf(MRF(*tiny.arguments()), "exact", tol=0.0)
        assert result.energy == pytest.approx(reference.minimum(tiny), rel=1e-9, abs=1e-20)
        assert result.lower_bound <= reference.minimum(tiny) + 1e-20


@settings(max_examples=60)
@given(
    form=st.sampled_from(["potts", "linear", "quadratic"]),
    n_labels=st.integers(3, 6),
    negative=st.booleans(),
    forbidding=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_messages_equal_their_definition(form, n_labels, negative, forbidding, seed, new_rng):
    rng = new_rng(seed)
    table = reference.random_form(rng, n_labels, form)
    if form == "potts" and forbidding and not negative:
        table[table != table[0, 0]] = np.inf
    weight = rng.normal() if negative else rng.random() + 0.1
    source = rng.normal(size=n_labels)
    if forbidding:
        source[rng.random(n_labels) < 0.5] = np.inf
    model = MRF(np.zeros((2, n_labels)), [[0, 1]], table, [weight])
    expected = np.min(source[:, None] + weight * table, axis=0)
    for v in (0, 1):
        message = sent_message(PackedMRF(model), 0, v, source)
        np.testing.assert_allclose(message, expected, atol=1e-12)


@pytest.mark.parametrize("sizes", [(1, 40), (40, 1), (5, 33), (64, 17), (2, 2)])
def test_messages_of_tables_equal_their_definition(sizes, rng):
    table = reference.random_costs(rng, sizes, "forbidding")
    model = MRF([np.zeros(n) for n in sizes], [[0, 1]], [table], [0.7])
    for v, costs in ((0, table), (1, table.T)):
        source = reference.random_costs(rng, sizes[v], "forbidding")
        message = sent_message(PackedMRF(model), 0, v, source)
        np.testing.assert_allclose(
            message, np.min(source[:, None] + 0.7 * costs, axis=0), atol=1e-12
        )


@pytest.mark.parametrize("form", ["potts", "linear", "quadratic"])
def test_one_table_of_a_form(form, new_rng):
    for seed in range(40):
        plain = reference.random_model(new_rng(seed), 5, 0.7, max_labels=4, form=form)
        least = reference.minimum(plain)
        for method in ("trws", "bp"):
            check(map_mrf(MRF(*plain.arguments()), method, max_iter=50), plain, least)


def test_bounds_stay_below_the_linear_program(new_rng):
    reached = 0
    for seed in range(60):
        kind = KINDS[seed % 3]
        plain = reference.random_model(new_rng(seed), 7, 0.6, kind, max_labels=3)
        value = reference.local_polytope(plain)
        model = MRF(*plain.arguments())
        result = map_mrf(model, "trws", tol=1e-9)
        if value == np.inf:
            continue
        assert result.lower_bound <= value + 1e-9 * (1 + abs(value))
        assert trivial_bound(model) <= result.lower_bound + 1e-12
        reached += result.lower_bound >= value - 1e-3 * (1 + abs(value))
    # Fixed points of averaging need not be the program's optimum; most are.
    assert reached >= 40


def least_marginals(pairs):
    """Return the minimum of the linear program over the marginals of a model without factors."""
    lifted = reference.Model(
        [pairs.node_cost(v) for v in range(pairs.n_nodes)],
        pairs.edges,
        [pairs.edge_cost(e) for e in range(pairs.n_edges)],
        np.ones(pairs.n_edges),
    )
    return reference.local_polytope(lifted)


def test_bounds_with_factors_stay_below_the_program_with_their_marginals(new_rng):
    for seed in range(20):
        plain = reference.random_model(new_rng(seed), 5, 0.5, max_labels=3, n_factors=2)
        model = MRF(*plain.arguments())
        pairs, order = pairwise_model(model)
        assert sorted(order.tolist()) == list(range(pairs.n_nodes))
        value = least_marginals(pairs)
        assert value <= reference.minimum(plain) + 1e-9
        assert map_mrf(model, "trws").lower_bound <= value + 1e-9 * (1 + abs(value))


@settings(max_examples=50)
@given(n_nodes=st.integers(1, 8), kind=st.sampled_from(KINDS), seed=st.integers(0, 10**6))
def test_trees_are_exact(n_nodes, kind, seed, new_rng):
    plain = reference.random_tree(new_rng(seed), n_nodes, kind, max_labels=3)
    least = reference.minimum(plain)
    model = MRF(*plain.arguments())
    for method in ("auto", "exact", "bp"):
        result = map_mrf(model, method)
        check(result, plain, least)
        assert result.energy == pytest.approx(least, abs=1e-12)
        assert result.gap == 0
    assert map_mrf(model).method == "exact"
    result = map_mrf(model, "trws", tol=1e-9)
    check(result, plain, least)
    if least < np.inf:
        assert result.lower_bound == pytest.approx(least, abs=1e-6 * (1 + abs(least)))


def test_chains_do_not_copy_their_table(rng):
    n_nodes, n_labels = 3000, 50
    table = rng.random((n_labels, n_labels))
    edges = np.stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)], axis=1)
    model = MRF(rng.random((n_nodes, n_labels)), edges, table, 0.5 + rng.random(n_nodes - 1))
    tracemalloc.start()
    result = map_mrf(model)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.gap == 0
    tables = 8 * (n_nodes - 1) * n_labels**2
    assert peak < tables / 4
    scores = -model.weights[:, None, None] * table
    _, value = viterbi(-model.node_costs.reshape(-1, n_labels), scores)
    assert result.energy == pytest.approx(-value)


def test_bounds_of_sweeps_do_not_fall(new_rng):
    from sstruct._oracles.mrf._message_passing import MessagePassing

    for seed in range(30):
        plain = reference.random_model(new_rng(seed), 12, 0.4, KINDS[seed % 3])
        model = MRF(*plain.arguments())
        order = new_rng(seed).permutation(12).astype(np.int32)
        sweeps = MessagePassing(PackedMRF(model), order, True)
        labels, bounds = np.zeros(12, dtype=np.int32), []
        for _ in range(30):
            bounds += [sweeps.sweep(forward, labels, np.inf) for forward in (True, False)]
        if np.isfinite(bounds).all():
            assert (np.diff(bounds) >= -1e-11 * (1 + np.abs(bounds[0]))).all()


def test_icm_stops_at_a_local_minimum(new_rng):
    for seed in range(40):
        plain = reference.random_model(new_rng(seed), 6, 0.7, KINDS[seed % 3], n_factors=2)
        result = map_mrf(MRF(*plain.arguments()), "icm")
        for v, costs in enumerate(plain.node):
            for label in range(len(costs)):
                other = result.labels.copy()
                other[v] = label
                assert reference.energy(plain, other) >= result.energy - 1e-12


def test_cuts_and_moves(new_rng):
    for seed in range(30):
        rng = new_rng(seed)
        n_labels = 2 + seed % 3
        plain = reference.random_model(rng, 6, 0.7, max_labels=n_labels, form="linear")
        model = MRF(*plain.arguments())
        least = reference.minimum(plain)
        result = map_mrf(model, "alpha-expansion", random_state=0)
        check(result, plain, least)
        assert result.energy <= map_mrf(model, "icm").history["energy"][0]
        _, value = alpha_expansion(
            np.array(plain.node), plain.edges, plain.weights, plain.tables[0], random_state=0
        )
        assert result.energy == pytest.approx(value)
        if n_labels == 2:
            for method in ("graph-cut", "auto"):
                result = map_mrf(model, method)
                check(result, plain, least)
                assert result.energy == pytest.approx(least)
                assert result.gap == 0


@pytest.mark.parametrize("n_labels", [2, 3])
def test_moves_take_potts_tables_of_their_own(n_labels, new_rng):
    plain = reference.random_model(new_rng(0), 6, 1.0, max_labels=n_labels, form="potts")
    plain.tables = [(1.5 + e) * table + 0.5 for e, table in enumerate(plain.tables)]
    model, least = MRF(*plain.arguments()), reference.minimum(plain)
    assert len(model.table_form) == len(plain.edges)
    result = map_mrf(model, "alpha-expansion", random_state=0)
    check(result, plain, least)
    if n_labels == 2:
        assert result.energy == pytest.approx(least)  # one move is a cut


TRIANGLE = [[0, 1], [1, 2], [2, 0]]
LINE = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
SQUARE = MRF(np.zeros((3, 3)), TRIANGLE, LINE**2)


@pytest.mark.parametrize(
    "model, method, message",
    [
        (SQUARE, "graph-cut", "node 0 has 3 labels, not two"),
        (MRF(np.zeros((3, 2)), TRIANGLE, -LINE[:2, :2]), "graph-cut", r"edge 0 = .* is repulsive"),
        (MRF(np.zeros((3, 2)), TRIANGLE, [[0, np.inf], [1, 0]]), "graph-cut", "the model forbids"),
        (MRF(np.zeros((3, 2)), [], [], None, [([0, 1, 2], np.zeros((2, 2, 2)))]), "graph-cut",
         "the model has 1 factors"),
        (SQUARE, "alpha-expansion", "label 1 violates the triangle inequality"),
        (MRF(np.zeros((3, 3)), TRIANGLE, 1 + LINE), "alpha-expansion", "equal labels is not 0"),
        (MRF(np.zeros((3, 3)), TRIANGLE, -LINE), "alpha-expansion", "a cost is negative"),
        (MRF(np.zeros((3, 3)), TRIANGLE, np.triu(LINE)), "alpha-expansion", "not symmetric"),
        (MRF(np.zeros((3, 3)), TRIANGLE, LINE, [1, -1, 1]), "alpha-expansion",
         r"edge 1 = \(1, 2\) has a negative weight"),
        (MRF(np.zeros((3, 3)), TRIANGLE, [LINE, 2 * LINE, LINE]), "alpha-expansion",
         "edges have different tables"),
        (MRF(np.zeros((3, 2)), TRIANGLE, [-LINE[:2, :2]] * 2 + [np.eye(2)]), "alpha-expansion",
         r"edge 0 = \(0, 1\) has a negative weight"),
        (MRF([[0.0], [0.0, 1.0]], [], []), "alpha-expansion", "different numbers of labels"),
        (MRF(np.zeros((3, 1800)), TRIANGLE, np.random.default_rng(0).random((1800, 1800))), "exact",
         "requires 9725400 variables, more than 8388608"),
        (SQUARE, "trw", "method must be one of"),
    ],
)  # fmt: skip
def test_unsupported_models(model, method, message):
    with pytest.raises(ValueError, match=message):
        map_mrf(model, method)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (dict(tol=-1.0), "tol must be at least 0, found -1.0"),
        (dict(tol=np.nan), "tol must"),
        (dict(max_time=0), "max_time must be finite and above 0, found 0"),
        (dict(max_iter=0), "max_iter must be at least 1, found 0"),
    ],
)
def test_invalid_parameters(arguments, message):
    with pytest.raises(ValueError, match=message):
        map_mrf(SQUARE, **arguments)
    for name, kind in (("max_iter", "an integer"), ("tol", "a number")):
        with pytest.raises(TypeError, match=f"{name} must be {kind}, found '3'"):
            map_mrf(SQUARE, **{name: "3"})
    with pytest.raises(TypeError, match="mrf must be an MRF, found list"):
        map_mrf([])


def test_too_large_factors(monkeypatch):
    monkeypatch.setattr("sstruct.inference._model.auxiliary.MAX_ENTRIES", 100)
    table = np.random.default_rng(0).random((3, 3, 3))
    model = MRF(np.zeros((4, 3)), [], [], factors=[([0, 1, 2], table), ([1, 2, 3], table)])
    with pytest.raises(ValueError, match=r"factors\[0\] has 27 allowed tuples"):
        map_mrf(model, "trws")
    assert map_mrf(model, "icm").energy < np.inf


def grid(size, n_labels, rng):
    edges = grid_edges(size, size)
    return MRF(
        rng.random((size * size, n_labels)), edges, rng.random((len(edges), n_labels, n_labels))
    )


@pytest.mark.parametrize(
    "method, size, n_labels", [("trws", 60, 20), ("bp", 60, 20), ("fwmap", 40, 10)]
)
@pytest.mark.usefixtures("sigint")
def test_the_clock_and_ctrl_c_leave_a_valid_result(method, size, n_labels, rng):
    model = grid(size, n_labels, rng)
    late = map_mrf(model, method, tol=0, max_time=1e-9)
    assert late.status == "TIME_LIMIT"
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    stopped = map_mrf(model, method, tol=0, max_iter=10**6, max_time=60)
    timer.join()
    assert stopped.status == "INTERRUPTED"
    for result in (late, stopped):
        assert result.energy == model.energy(result.labels)
        assert result.lower_bound <= result.energy
        assert method != "fwmap" or result.lower_bound > -np.inf


@pytest.mark.parametrize("method", ["fwmap", "alpha-expansion"])
@pytest.mark.parametrize("new", [int, np.random.default_rng, np.random.RandomState])
def test_random_states(method, new, new_rng):
    plain = reference.random_model(new_rng(3), 6, 1.0, max_labels=3, form="potts")
    model, generators = MRF(*plain.arguments()), [new(1), new(1)]
    first, second = (
        map_mrf(model, method, max_iter=5, random_state=generator, start="zero")
        for generator in generators
    )
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.history["lower_bound"], second.history["lower_bound"])
    check(first, plain, reference.minimum(plain))


@given(n_nodes=st.integers(1, 12), density=st.floats(0, 1), seed=st.integers(0, 10**6))
def test_orders_of_forests(n_nodes, density, seed, new_rng):
    rng = new_rng(seed)
    name = rng.permutation(n_nodes)
    edges = [(name[v], name[rng.integers(v)]) for v in range(1, n_nodes) if rng.random() < density]
    model = MRF(np.zeros((n_nodes, 1)), edges, np.zeros((1, 1)))
    order = _parents_first(model)
    np.testing.assert_array_equal(np.sort(order), np.arange(n_nodes))
    assert order.dtype == np.int32
    place = np.argsort(order)
    later = place[model.edges].max(axis=1)
    assert len(np.unique(later)) == len(edges)  # none follows two of its neighbors


class Slow:
    """An array whose conversion takes five simulated seconds; also a term with such nodes."""

    def __init__(self, clock, values):
        self.clock, self.values = clock, values

    def __array__(self, dtype=None, copy=None):
        self.clock[0] += 5
        return np.array(self.values, dtype=dtype)

    @property
    def nodes(self):
        return np.asarray(self)

    def cost(self, labels):
        return 0.0

    def minimize(self, costs):
        return costs.argmin(axis=1)


@pytest.mark.parametrize(
    "call",
    [
        lambda slow: map_mrf(MRF([[0, 1], [1, 0]], [[0, 1]], 1 - np.eye(2)), terms=[slow([0])]),
        lambda slow: graph_matching(slow(-np.ones((2, 2))), np.ones((4, 4))),
        lambda slow: discrete_tomography(slow([1, 1]), [[0, 1], [2, 3]], (2, 2), 2),
    ],
)
def test_time_counts_from_the_call(call, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    result = call(lambda values: Slow(clock, values))
    assert result.history["seconds"][0] == clock[0] - 100 >= 5


def test_a_model_that_allows_nothing():
    table = np.full((2, 2), np.inf)
    for edges in ([[0, 1]], TRIANGLE):
        model = MRF(np.zeros((3, 2)), edges, table)
        for method in ("trws", "exact", "bp"):
            result = map_mrf(model, method)
            assert result.energy == np.inf
            assert (result.status == "INFEASIBLE") or method == "bp"
            if method != "bp":
                assert (result.lower_bound, result.gap) == (np.inf, 0)
    model = MRF([[0, 0], [np.inf, np.inf]], [[0, 1]], 1 - np.eye(2))
    for method in ("graph-cut", "alpha-expansion"):
        result = map_mrf(model, method)
        assert (result.status, result.lower_bound) == ("INFEASIBLE", np.inf)


@pytest.mark.parametrize("method", ["trws", "bp", "fwmap"])
def test_max_iter_limits_all_stages(rng, method):
    # The pairs contradict one another, so a gap remains.
    edges = [[u, v] for u in range(10) for v in range(u)]
    tables = [w * np.eye(2) for w in rng.choice([-1.0, 1.0], len(edges))]
    result = map_mrf(MRF(rng.random((10, 2)), edges, tables), method, max_iter=2)
    assert result.gap > 0.1
    # Entries: the start, two iterations of each stage (FWMAP runs TRW-S first, BP last), the end.
    most = {"bp": 1, "trws": 2, "fwmap": 3}[method]
    assert len(result.history["seconds"]) <= 2 * most + 2


def complete_graph(n_nodes, n_labels, rng):
    """Return a random complete graph, which is hard to solve exactly."""
    edges = np.column_stack(np.triu_indices(n_nodes, 1))
    return MRF(
        rng.standard_normal((n_nodes, n_labels)), edges,
        rng.standard_normal((len(edges), n_labels, n_labels)),
    )  # fmt: skip


@pytest.mark.parametrize("has_search", [False, True])
@pytest.mark.usefixtures("sigint")
def test_ctrl_c_ends_exact_methods(has_search, rng, monkeypatch):
    # HiGHS takes minutes for 20 nodes, and branch and bound for 40.
    model = complete_graph(40 if has_search else 20, 5, rng)
    if not has_search:
        monkeypatch.setattr(SEARCHER, without_search)
    timer = threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    result = map_mrf(model, "exact")
    timer.join()
    assert result.status == "INTERRUPTED"
    assert result.energy == model.energy(result.labels)
    assert result.lower_bound <= result.energy


def test_highs_finds_the_same_in_another_process(rng, monkeypatch):
    monkeypatch.setattr(elimination, "MAX_TERMS", 0)
    monkeypatch.setattr(SEARCHER, without_search)
    # At least four pairs are equal, but the relaxation, even by triangles, allows fewer.
    edges = np.column_stack(np.triu_indices(5, 1))
    model = MRF(0.1 * rng.standard_normal((5, 2)), edges, np.eye(2))
    here = map_mrf(model, "exact", random_state=0)
    monkeypatch.setattr(highs, "MAX_VARIABLES_IN_PROCESS", 0)
    apart = map_mrf(model, "exact", random_state=0)
    assert (apart.status, apart.energy, apart.lower_bound) == (
        here.status, here.energy, here.lower_bound
    )  # fmt: skip
    np.testing.assert_array_equal(apart.labels, here.labels)
    # HiGHS runs in this process if no other can be started; a process that dies is an error.
    monkeypatch.setattr(separate_process.spawn, "get_executable", lambda: "/nowhere/python")
    assert map_mrf(model, "exact").energy == here.energy
    monkeypatch.undo()
    monkeypatch.setattr(elimination, "MAX_TERMS", 0)
    monkeypatch.setattr(SEARCHER, without_search)
    monkeypatch.setattr(highs, "MAX_VARIABLES_IN_PROCESS", 0)
    monkeypatch.setattr(highs, "PROGRAM", "raise SystemExit(3)")
    with pytest.raises(OSError, match="HiGHS process ended with code 3"):
        map_mrf(model, "exact")
