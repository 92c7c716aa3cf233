"""Test bounds of FWMAP against enumeration and linear programs, and its proximal problem."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct._problems.map._map_problem import MapProblem
from sstruct._problems.map._rounding import SequentialRounding
from sstruct._solvers.core.solver import Options
from sstruct._solvers.proximal.ascent import Proximal, formula_18
from sstruct.inference import MRF, map_mrf
from sstruct.inference._model.auxiliary import pairwise_model
from sstruct.inference._model.tree_cover import tree_cover
from tests.inference.test_map_mrf import KINDS, check, grid, least_marginals
from tests.problems.test_map import Terms
from tests.reference import mrf as reference

STEPS = ["fw", "pairwise", "away", "corrective", "published"]


def frustrated_model(rng, n_nodes=6, n_labels=3):
    """Return a complete graph of attracting and repelling pairs, whose LP is seldom tight."""
    edges = np.array([(u, v) for u in range(n_nodes) for v in range(u)], dtype=np.int32)
    return reference.Model(
        [0.1 * rng.normal(size=n_labels) for _ in range(n_nodes)],
        edges,
        [rng.normal(size=(n_labels, n_labels)) for _ in edges],
        np.ones(len(edges)),
    )


@pytest.mark.parametrize("step", ["exact", "published"])
def test_bounds_converge_to_the_linear_program(step, new_rng):
    n_open = 0
    for seed in range(30):
        plain = (
            reference.random_model(new_rng(seed), 7, 0.9, KINDS[seed % 3], max_labels=3)
            if seed < 20
            else frustrated_model(new_rng(seed))
        )
        value = reference.local_polytope(plain)
        if value == np.inf:
            continue
        result = map_mrf(MRF(*plain.arguments()), "fwmap", step=step, max_iter=3000, start="zero")
        assert result.status in ("PROVEN", "UNPROVEN", "STALLED")
        assert result.lower_bound <= value + 1e-9 * (1 + abs(value))
        assert result.lower_bound >= value - 1e-4 * (1 + abs(value))
        n_open += result.gap > 1e-3
    assert n_open >= 5


def test_bounds_with_factors_converge_to_the_program_with_their_marginals(new_rng):
    for seed in range(10):
        plain = reference.random_model(new_rng(seed), 5, 0.5, max_labels=3, n_factors=2)
        model = MRF(*plain.arguments())
        value = least_marginals(pairwise_model(model)[0])
        bound = map_mrf(model, "fwmap").lower_bound
        assert bound == pytest.approx(value, abs=1e-4 * (1 + abs(value)))


@settings(max_examples=40)
@given(n_nodes=st.integers(1, 8), kind=st.sampled_from(KINDS), seed=st.integers(0, 10**6))
def test_trees_are_exact(n_nodes, kind, seed, new_rng):
    plain = reference.random_tree(new_rng(seed), n_nodes, kind, max_labels=3)
    least = reference.minimum(plain)
    result = map_mrf(MRF(*plain.arguments()), "fwmap")
    check(result, plain, least)
    assert result.status == ("PROVEN" if least < np.inf else "INFEASIBLE")
    if least < np.inf:
        assert result.energy == pytest.approx(least, abs=1e-12)
        # The energy is an integer, so a gap below 1 proves the optimum.
        assert result.gap <= 1e-12 or (kind == "integer" and result.gap < 1)


def make(rng, step="corrective", n_nodes=6):
    """Return an engine for a random model, and the model's terms by definition."""
    plain = reference.random_model(rng, n_nodes, 0.8, max_labels=3)
    model = MRF(*plain.arguments())
    problem = MapProblem(model, tree_cover(n_nodes, model.edges), step == "published")
    engine = Proximal(problem, Options(step="fw" if step == "published" else step, seed=1))
    return engine, Terms(plain, problem)


def read_planes(engine, terms):
    """Return the mean of the planes with their dual weights, decoding each by definition."""
    exported, problem = engine.state.export(), engine.problem
    y, free, at, position = np.zeros(problem.n_weights), problem.constant, 0, 0
    for t, size in enumerate(exported["size"]):
        weights = exported["alpha"][at : at + size]
        assert (weights >= 0).all()
        assert weights.sum() == pytest.approx(1)
        for alpha in weights:
            code = exported["code"][position : position + terms_size(problem, t)]
            which = terms.allowed[t].index(tuple(code[:-2].tolist()))
            y += alpha * terms.indicator[t][which]
            free += alpha * terms.free[t][which]
            position += len(code)
        at += size
    return y, free


def terms_size(problem, t):
    return int(problem.cover.start[t + 1] - problem.cover.start[t]) + 2


def dual_value(engine, terms):
    """Return f(y) of [SK19], eq. 8, at the mean of the planes, and the multipliers."""
    y, free = read_planes(engine, terms)
    moved = engine.weight * terms.project(y)
    at = engine.mu + moved
    return free + y @ at - moved @ moved / (2 * engine.weight), at


def bound_at(engine, terms, multipliers):
    """Return the bound h of [SK19] by enumeration."""
    values = [
        (free + one @ multipliers).min()
        for free, one in zip(terms.free, terms.indicator, strict=True)
    ]
    return sum(values) + engine.problem.constant


@pytest.mark.parametrize("step", STEPS)
def test_proximal_problems_are_solved(step, new_rng):
    for seed in range(2):
        rng = new_rng(seed)
        engine, terms = make(rng, step, 5)
        for round_ in range(2):
            center = terms.project(rng.standard_normal(engine.problem.n_weights))
            engine.move(center, 0.05 * (1 + round_))
            value, previous = np.inf, None
            for _ in range(30):
                engine.iterate(np.inf)
                previous, (value, at) = value, dual_value(engine, terms)
                assert value <= previous + 1e-12  # every step descends
                np.testing.assert_allclose(engine.multipliers, at, atol=1e-10)
                np.testing.assert_allclose(terms.project(at), at, atol=1e-10)
            moved = at - engine.mu
            bound = bound_at(engine, terms, at)
            assert engine.problem.bound(engine.multipliers) == pytest.approx(bound, abs=1e-10)
            primal = bound - moved @ moved / (2 * engine.weight)
            # `value` is an upper bound on the proximal problem, and `primal` is close to it.
            assert -1e-10 <= value - primal <= (1e-6 if step in STEPS[1:4] else 1e-2)
            promised, disagreed = engine.gap_quantities(engine.multipliers, bound)
            assert promised == pytest.approx(value - primal, abs=1e-10)
            assert disagreed >= 0


def test_a_move_keeps_the_planes(new_rng):
    engine, terms = make(new_rng(5))
    for _ in range(5):
        engine.iterate(np.inf)
    y, free = engine.mean_planes()
    expected = read_planes(engine, terms)
    np.testing.assert_allclose(y, expected[0], atol=1e-14)
    assert free == pytest.approx(expected[1])
    mu = engine.multipliers
    engine.move(mu, 2.5)
    np.testing.assert_allclose(engine.mean_planes()[0], y, atol=1e-14)
    np.testing.assert_allclose(engine.multipliers, mu + 2.5 * terms.project(y), atol=1e-12)


@pytest.mark.parametrize("forward", [True, False])
def test_rounding_of_trees_is_exact(forward, new_rng):
    for seed in range(40):
        plain = reference.random_tree(new_rng(seed), 2 + seed % 7, KINDS[seed % 3])
        model = MRF(*plain.arguments())
        least = reference.minimum(plain)
        if least == np.inf:
            continue
        problem = MapProblem(model, tree_cover(model.n_nodes, model.edges))
        rounding = SequentialRounding(problem, new_rng(seed).permutation(model.n_nodes))
        labels = rounding.run(np.zeros(problem.n_weights), forward)
        assert reference.energy(plain, labels) == pytest.approx(least, abs=1e-12)


def test_rounding_at_the_optimum_of_tight_models(new_rng):
    n_tight = 0
    for seed in range(30):
        plain = reference.random_model(new_rng(seed), 6, 0.5, max_labels=3)
        value, least = reference.local_polytope(plain), reference.minimum(plain)
        if least - value < 1e-9:
            n_tight += 1
            result = map_mrf(MRF(*plain.arguments()), "fwmap")
            assert result.energy == pytest.approx(least)
            assert result.gap <= 2e-6 * (1 + abs(least))
    assert n_tight >= 10


def test_weights_of_the_proximal_term(rng):
    # [SK19], section 4: |T| = 64 and 300.
    assert formula_18(64) == pytest.approx(203, rel=1e-2)
    assert formula_18(300) == pytest.approx(14.5, rel=1e-2)
    model = grid(5, 3, rng)
    default, small, paper = (
        map_mrf(model, "fwmap", proximal_weight=c, tol=1e-9, max_iter=1000, start="zero")
        for c in (None, 0.1, "paper")
    )
    assert small.lower_bound == pytest.approx(default.lower_bound, abs=1e-5)
    # This weight is far too large for these costs: convergence is slow, but bounds are valid.
    assert paper.history["lower_bound"][0] < paper.lower_bound <= default.lower_bound + 1e-7
    # The default is relative to the scale of the costs.
    scaled = MRF(
        1e6 * model.node_costs.reshape(25, 3),
        model.edges,
        [1e6 * model.edge_cost(e) for e in range(model.n_edges)],
    )
    small, large = (map_mrf(m, "fwmap", max_iter=10, start="zero") for m in (model, scaled))
    assert large.lower_bound == pytest.approx(1e6 * small.lower_bound, rel=1e-4)


def test_auto_continues_after_messages_have_stalled(new_rng, monkeypatch):
    monkeypatch.setattr("sstruct.inference._methods.elimination.MAX_TERMS", 0)
    monkeypatch.setattr("sstruct.inference._methods.map_mrf.MAX_VARIABLES", 0)
    monkeypatch.setattr("sstruct.inference._methods.map_mrf.searcher", lambda _: None)
    monkeypatch.setattr("sstruct.inference._methods.map_mrf.merge_triangles", lambda _: None)
    n_better = 0
    for seed in range(30):
        plain = frustrated_model(new_rng(seed))
        model = MRF(*plain.arguments())
        passed, result = map_mrf(model, "trws"), map_mrf(model)
        check(result, plain, reference.minimum(plain))
        # Before "fwmap", "trws" ends at a gain of 2e-6 (1 + abs(bound)) instead of none.
        assert result.lower_bound >= passed.lower_bound - 2e-6 * (1 + abs(passed.lower_bound))
        assert result.energy <= passed.energy
        assert result.method == ("fwmap" if passed.status == "STALLED" else "trws")
        if result.method == "fwmap":
            n_better += result.lower_bound > passed.lower_bound + 1e-4
    assert n_better >= 2  # about a third of them


@pytest.mark.parametrize(
    "arguments, message",
    [
        (dict(proximal_weight=0.0), "proximal_weight must be finite and above 0, found 0.0"),
        (dict(proximal_weight=np.inf), "proximal_weight must"),
        (dict(proximal_weight="18"), "proximal_weight must"),
        (dict(step="long"), r"step must be one of \('exact', 'published'\), found 'long'"),
    ],
)
def test_invalid_parameters(arguments, message, rng):
    with pytest.raises(ValueError, match=message):
        map_mrf(grid(2, 2, rng), "fwmap", **arguments)


def test_seeds_decide_on_the_order_of_trees(rng):
    edges = [(i, j) for i in range(12) for j in range(i)]
    model = MRF(rng.random((12, 3)), edges, rng.random((len(edges), 3, 3)))
    bounds = [
        map_mrf(model, "fwmap", start="zero", max_iter=10, random_state=seed).lower_bound
        for seed in (0, 0, 1)
    ]
    assert bounds[0] == bounds[1]
    assert bounds[0] != bounds[2]
