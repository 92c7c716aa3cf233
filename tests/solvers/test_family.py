"""Test optima, validity after each pass and reproducibility of all Frank-Wolfe solvers."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct._problems.chain._chain_problem import ChainProblem
from sstruct._problems.chain.chain_arguments import ChainModel, ChainRanges
from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._solvers.core._full_pass import full_pass
from sstruct._solvers.core._sampling import SumTree
from sstruct._solvers.core._snapshot import snapshot
from sstruct._solvers.core._state import DualState
from sstruct._solvers.core.solver import Options, Setup
from sstruct._solvers.core.status import Status
from sstruct._solvers.frank_wolfe._approximate_pass import Sampling
from sstruct._solvers.frank_wolfe._exact_pass import exact_pass
from sstruct._solvers.frank_wolfe.block_coordinate import (
    CALLS_BETWEEN,
    PASSES_BETWEEN,
    FrankWolfeFit,
)
from sstruct._solvers.frank_wolfe.constants import Constants
from sstruct._testing import _solver_access as access
from tests.reference import boxed_qp
from tests.solvers.small import BOUNDS, KINDS, Small, plan

STEPS = ("fw", "pairwise", "away", "corrective")
SAMPLINGS = ("uniform", "permutation", "gap")
AVERAGES = ("last", "average", "pass_average")
BOXES = ("free", "mixed", "without zero")


def solver(small, options, seed=0, callback=None):
    state = small.state(seed, draw=options.sampling == "gap", average=options.average)
    return FrankWolfeFit(
        Setup(small.problem, state.lam, small.q, options, callback=callback), state
    )


def certify(small, solution):
    """Compare a solution with enumeration."""
    w = small.flat(solution.w)
    assert (w >= small.bounds[0]).all()
    assert (w <= small.bounds[1]).all()
    primal = small.primal(w)
    assert solution.primal == pytest.approx(primal, rel=1e-12)
    assert solution.dual <= primal * (1 + 1e-12)
    assert solution.gap == max(solution.primal - solution.dual, 0)
    assert solution.exact


def check_bracket(solution, best, step):
    """Check that the optimum lies between primal and dual, and is close unless steps are "fw"."""
    assert solution.dual <= best * (1 + 1e-8)
    assert best <= solution.primal * (1 + 1e-8)
    if step != "fw":
        assert solution.primal == pytest.approx(best, rel=1e-6)
        assert solution.dual == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("multi_plane", [False, True], ids=["bcfw", "mp-bcfw"])
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("cache", [False, True], ids=["call", "cache"])
@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("step", STEPS)
def test_every_combination_reaches_the_optimum(rng, step, sampling, cache, average, multi_plane):
    # Each box is combined with all pairs of these options.
    box = BOXES[(STEPS.index(step) + SAMPLINGS.index(sampling) + AVERAGES.index(average)) % 3]
    # Frank-Wolfe steps converge at a sublinear rate.
    tol = 1e-3 if step == "fw" else 1e-6
    options = Options(
        multi_plane=multi_plane, step=step, sampling=sampling, cache=cache,
        average=average == "average", pass_average=average == "pass_average",
        tol=tol, max_iter=100_000,
    )  # fmt: skip
    for kind in KINDS:
        small = Small(rng, kind, lam=0.2, box=box)
        best = small.optimum()
        run = solver(small, options)
        solution = solved(run)
        assert solution.status is Status.CONVERGED
        certify(small, solution)
        small.check(run.state)
        check_bracket(solution, best, step)
        assert solution.primal - solution.dual <= tol * solution.primal


@pytest.mark.parametrize("step", STEPS)
def test_the_clock_may_schedule_approximate_passes(rng, step):
    small = Small(rng, lam=0.2)
    tol = 1e-3 if step == "fw" else 1e-7
    options = Options(step=step, schedule="clock", tol=tol, max_iter=100_000)
    solution = solver(small, options).solve()
    assert solution.status is Status.CONVERGED
    certify(small, solution)
    assert solution.primal == pytest.approx(small.optimum(), rel=tol)


OPTIONS = st.builds(
    Options,
    multi_plane=st.booleans(),
    step=st.sampled_from(STEPS),
    sampling=st.sampled_from(SAMPLINGS),
    cache=st.booleans(),
    average=st.booleans(),
    pass_average=st.booleans(),
    n_jobs=st.integers(1, 2),
    tol=st.just(0.0),
    certificate_every=st.integers(1, 4),
    max_iter=st.integers(1, 12),
)


@settings(max_examples=150)
@given(
    options=OPTIONS,
    key=st.integers(0, 2**32 - 1),
    lam=st.sampled_from([1e-3, 0.05, 1.0, 30.0]),
    kind=st.sampled_from(KINDS),
    box=st.sampled_from(BOUNDS),
    batch=st.sampled_from([1, 3]),
)
def test_every_pass_leaves_a_valid_state(new_rng, options, key, lam, kind, box, batch):
    small = Small(new_rng(key), kind, lam, box, batch=batch)
    run, solution = check_passes(small, options, key, certify)
    certify(small, solution)
    # The better of the last and the averaged iterate.
    assert solution.primal <= small.primal(small.flat(run.state.w)) * (1 + 1e-12)
    if options.average or options.pass_average:
        average = small.flat(run.points[1])
        assert (average >= small.bounds[0]).all()
        assert (average <= small.bounds[1]).all()
        assert solution.primal <= small.primal(average) * (1 + 1e-12)
    else:
        np.testing.assert_array_equal(solution.w, run.state.w)


def solved(run):
    """Return the Solution of a fit, and restore the last iterate, which it may have replaced."""
    solution = run.solve()
    solution = replace(solution, w=solution.w.copy())
    run.state.rebuild()
    return solution


def check_passes(small, options, key, certify):
    """Check the state and the certificates after each pass; return the fit and its solution."""
    duals, certified = [-math.inf], []

    def after_pass(info, solution):
        dual = small.check(run.state)
        assert dual == pytest.approx(info["dual"], rel=0, abs=1e-12 * scale)
        assert dual >= duals[-1] - 1e-12 * scale
        duals.append(dual)
        if not math.isnan(info["primal"]):
            certified.append(info["passes"])
            certify(small, solution())
            assert info["gap"] == max(info["primal"] - info["dual"], 0)
        return False

    run = solver(small, options, seed=key, callback=after_pass)
    # P at the initial weights: 0, clipped to the bounds.
    scale = small.primal(np.clip(np.zeros(len(small.place)), *small.bounds))
    duals[0] = small.check(run.state)
    solution = solved(run)
    assert len(duals) == 1 + len(solution.history["dual"])
    last, every = solution.history["passes"][-1], options.certificate_every
    assert last in certified
    assert set(certified) >= set(range(every, last + 1, every))
    return run, solution


def without_clock(history):
    return {name: column for name, column in history.items() if "seconds" not in name}


@settings(max_examples=40)
@given(
    options=OPTIONS,
    key=st.integers(0, 2**32 - 1),
    box=st.sampled_from(BOUNDS),
    batch=st.sampled_from([1, 2, 5]),
)
def test_same_bits_for_every_number_of_threads(new_rng, options, key, box, batch):
    results = []
    for n_jobs in (1, 2, 3, 1):
        small = Small(new_rng(key), lam=0.05, box=box, n=40, batch=batch)
        results.append(solver(small, replace(options, n_jobs=n_jobs), seed=key).solve())
    for other in results[1:]:
        np.testing.assert_array_equal(other.w, results[0].w)
        assert (other.primal, other.dual) == (results[0].primal, results[0].dual)
        np.testing.assert_equal(without_clock(other.history), without_clock(results[0].history))


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("step", STEPS)
def test_results_depend_on_the_seed(new_rng, step, sampling):
    options = Options(step=step, sampling=sampling, tol=0, max_iter=4)
    first, again, other = (
        solver(Small(new_rng(3), lam=0.05, n=20), options, seed).solve() for seed in (11, 11, 12)
    )
    np.testing.assert_array_equal(first.w, again.w)
    assert first.dual == again.dual
    assert (first.w != other.w).any()
    assert first.dual != other.dual


@pytest.mark.parametrize("every", [1, 3, 10])
@pytest.mark.parametrize("box", ["free", "mixed", "without zero"])
@pytest.mark.parametrize("cache", [False, True])
def test_a_certificate_refreshes_the_gaps_to_draw_from(rng, cache, box, every):
    small = Small(rng, lam=0.05, box=box, n=12)
    seen = []

    def after_pass(info, solution):
        if not math.isnan(info["gap"]):
            seen.append(info["passes"])
            # The gap of the dual weights at their own w: sum_i q_i (H_i(w) - mean score).
            alphas = small.alphas(run.state)
            w = small.flat(run.state.w)
            gap = small.primal(w) - boxed_qp.dual(alphas, small.lam, small.terms, small.bounds)
            assert run.state.estimated_gap == pytest.approx(gap, rel=0, abs=1e-12 * info["primal"])

    options = Options(
        sampling="gap", cache=cache, tol=0, max_iter=12, certificate_every=every, multi_plane=False
    )
    run = solver(small, options, callback=after_pass)
    run.solve()
    assert set(range(every, 13, every)) <= set(seen)


def stamps(state):
    """Return for each block the last pass in which its oracle or cache was used."""
    exported = state.export()
    first = np.cumsum(exported["size"]) - exported["size"]
    return np.maximum.reduceat(exported["last_active"], first)


def test_blocks_without_gap_are_not_drawn(rng):
    # Blocks 3 ... 9 have neither features nor a loss: no labeling of them ever has a gap.
    n, K = 10, 3
    X = rng.standard_normal((n, 2)) * (np.arange(n) < 3)[:, np.newaxis]
    problem = ChainProblem(
        X,
        ChainRanges(np.arange(n), np.ones(n, dtype=np.int64)),
        ChainModel(K, False, False, False),
        rng.integers(0, K, n),
        loss_scale=(np.arange(n) < 3).astype(float),
    )
    q = np.full(n, 1 / n)
    for sampling in (Sampling.GAP, Sampling.UNIFORM):
        state = DualState(problem, 0.1, q, 0, draw=True)
        pool = ThreadPool(problem, 1)
        exact_pass(state, pool, plan(), False)
        assert (stamps(state) == 1).all()
        for number in range(2, 8):
            exact_pass(state, pool, plan(number, sampling=sampling, keep=100), False)
        if sampling == Sampling.GAP:
            assert (stamps(state)[3:] == 1).all()
            assert (stamps(state)[:3] > 1).all()
        else:
            assert (stamps(state)[3:] > 1).any()


def test_draws_are_in_proportion_to_the_gaps(rng):
    n, n_draws = 37, 100_000
    weights = rng.gamma(0.5, size=n) * (rng.random(n) < 0.7)
    tree = SumTree(n)
    for i in rng.permutation(n):
        access.put(tree, i, weights[i])
    draws = np.bincount(access.draws(tree, 5, n_draws), minlength=n)
    assert (draws[weights == 0] == 0).all()
    expected = n_draws * weights / weights.sum()
    likely = expected > 5
    statistic = ((draws - expected)[likely] ** 2 / expected[likely]).sum()
    # A chi-square variable with k degrees of freedom has mean k and variance 2 k.
    degrees = likely.sum() - 1
    assert statistic < degrees + 5 * math.sqrt(2 * degrees)
    for i in range(n):  # a tree with one weight draws that
        access.put(tree, i, 0.0)
    access.put(tree, 7, 1e-300)
    assert (access.draws(tree, 1, 50) == 7).all()
    access.put(tree, 7, 0.0)
    with pytest.raises(ValueError, match="zero"):
        access.draws(tree, 1, 1)


def block_gaps(small, state, cached):
    """Return the gap of each block at w, over all labelings or only over those `cached`."""
    w, gaps = small.flat(state.w), []
    for block, alphas in zip(small.terms, small.alphas(state), strict=True):
        h = dict(zip(block.labelings, block.loss - block.psi @ w, strict=True))
        best = max(h[y] for y in (alphas if cached else h))
        gaps.append(best - sum(alpha * h[y] for y, alpha in alphas.items()))
    return np.array(gaps)


@pytest.mark.parametrize("box", ["free", "mixed"])
@pytest.mark.parametrize("kind", KINDS)
def test_cache_is_used_by_the_criterion_of_the_paper(rng, kind, box):
    # All blocks are in one batch, so the cache is searched at the w before the pass.
    n = 30
    small = Small(rng, kind, lam=0.1, box=box, n=n, batch=n)
    state, pool = small.state(), ThreadPool(small.problem)
    n_hits, of_mean = 0, 0
    for number in range(1, 25):
        if number % 6 == 2:
            full_pass(pool, state.live_w, small.q, state)
            total = small.q @ block_gaps(small, state, cached=False)
        if number < 2:
            total, enough = 0.0, np.full(n, np.inf)
        else:
            seen = snapshot(state)["gap_estimates"]
            floor = 0.01 * total / (n * small.q)
            enough = np.maximum(0.25 * seen, floor)
            of_mean += (floor > 0.25 * seen).sum()
        gaps, cached = (block_gaps(small, state, cached) for cached in (False, True))
        hits = (cached >= enough) & (cached > 1e-12)
        assert (abs(cached - enough)[cached > 1e-12] > 1e-12).all(), "rounding would decide a tie"
        calls = state.n_oracle_calls
        exact_pass(state, pool, plan(number, keep=100), True)
        assert state.n_oracle_calls - calls == n - hits.sum()
        # Oracle calls update the estimate of the gap; hits of the cache do not.
        expected = gaps if number == 1 else np.where(hits, seen, gaps)
        np.testing.assert_allclose(
            snapshot(state)["gap_estimates"], np.maximum(expected, 0), rtol=0, atol=1e-12
        )
        n_hits += hits.sum()
    assert n_hits > 0
    assert of_mean > 0


def test_the_cache_saves_oracle_calls(rng):
    small = Small(rng, lam=0.1, n=30)
    calls = {}
    for cache, multi_plane in product([False, True], [False, True]):
        options = Options(cache=cache, multi_plane=multi_plane, tol=1e-4, max_iter=10_000)
        run = solver(small, options)
        solution = run.solve()
        assert solution.status is Status.CONVERGED
        calls[cache, multi_plane] = solution.n_oracle_calls
        if not cache:
            np.testing.assert_array_equal(
                solution.history["oracle_calls"], 30 * solution.history["passes"]
            )
    assert calls[True, False] < calls[False, False]


def test_early_certificates_with_a_cache_wait_for_oracle_calls(rng):
    n_waits = n_early = 0
    for multi_plane in 5 * [False, True]:
        small = Small(rng, lam=0.02, n=30)
        options = Options(
            cache=True, sampling="gap", multi_plane=multi_plane, tol=0.005, certificate_every=1000,
            constants=Constants(gap_refresh_every=1000),
        )  # fmt: skip
        run = solver(small, options)
        certified = None
        while run._iterate() is None:
            row = run.history.newest()
            if math.isnan(row["primal"]):
                n_waits += run._estimate() <= options.tol
                continue
            if certified is not None and not run.stalled:
                n_early += 1
                calls = row["oracle_calls"] - certified["oracle_calls"]
                passes = row["passes"] - certified["passes"]
                assert calls >= CALLS_BETWEEN * 30 or passes >= PASSES_BETWEEN
            certified = row
        assert run._converged()
    assert n_waits > 0
    assert n_early > 0


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("sampling", list(Sampling))
def test_exact_pass_in_parts_equals_whole_pass(rng, sampling, batch):
    small = Small(rng, n=9, batch=batch)
    whole, parted = (small.state(draw=True) for _ in range(2))
    pool = ThreadPool(small.problem, 1)

    def make(state, number, part=None):
        way = Sampling.PERMUTATION if number == 1 else sampling
        return exact_pass(state, pool, plan(number, sampling=way, part=part), number > 2)

    for number in range(1, 5):
        assert make(whole, number)
        for part in [(0, 2), (2, 8), (8, 9)]:
            assert make(parted, number, part)
        assert parted.n_oracle_calls == whole.n_oracle_calls
        for name, values in snapshot(whole).items():
            np.testing.assert_array_equal(snapshot(parted)[name], values, err_msg=name)


@pytest.mark.parametrize("sampling", ["gap", "permutation"])
def test_approximate_passes_after_each_part_save_oracle_calls(rng, sampling):
    small = Small(rng, n=20, lam=0.02)
    calls = []
    for in_parts in (False, True):
        options = Options(
            sampling=sampling, in_parts=in_parts, pass_average=not in_parts, tol=1e-6,
            max_iter=10_000,
        )  # fmt: skip
        run = solver(small, options)
        solution = run.solve()
        assert solution.status is Status.CONVERGED
        assert solution.primal == pytest.approx(small.optimum(), rel=1.1e-6)
        assert run.n_oracle_calls <= run.n_passes * 20
        calls.append(run.n_oracle_calls)
    assert calls[1] < calls[0]
