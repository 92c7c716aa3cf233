"""Frank-Wolfe on the toy problem of [O16], appendix C."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._solvers.core._state import DualState, squared_norm
from sstruct._solvers.core.solver import Options, Setup
from sstruct._solvers.frank_wolfe._exact_pass import exact_pass
from sstruct._solvers.frank_wolfe._steps import StepKind
from sstruct._solvers.frank_wolfe.block_coordinate import FrankWolfeFit
from sstruct._testing._enumerated import EnumeratedProblem
from tests.reference import brute_force, dual_qp
from tests.reference.toy import toy
from tests.solvers.small import plan


def solve(data, **options):
    problem = EnumeratedProblem(data.planes, data.losses, data.offsets)
    state = DualState(
        problem, data.lam, data.block_weight, 0, draw=options.get("sampling") == "gap"
    )
    options = Options(multi_plane=False, certificate_every=1, max_iter=10**6, **options)
    return FrankWolfeFit(Setup(problem, state.lam, data.block_weight, options), state).solve()


def test_known_optimum_matches_qp_solver():
    data = toy(4, 6)
    terms = [
        SimpleNamespace(
            phi=-data.planes[a:b], psi=data.planes[a:b], loss=data.losses[a:b], weight=weight
        )
        for a, b, weight in zip(data.offsets, data.offsets[1:], data.block_weight)
    ]
    best, w = dual_qp.optimum(terms, data.lam)
    assert best == pytest.approx(data.optimum, rel=1e-9)
    np.testing.assert_allclose(w, data.w, atol=1e-6)
    assert brute_force.primal(data.w, data.lam, terms) == pytest.approx(best, rel=1e-9)


def test_gap_of_the_hard_block_after_t_steps():
    # Only the hard block, as block weights and lam of 1/n only scale the objective by 1/n.
    K = 12
    data = toy(1, K)
    problem = EnumeratedProblem(data.planes, data.losses, data.offsets)
    state = DualState(problem, data.lam, data.block_weight, 0)
    pool = ThreadPool(problem)
    for t in range(1, K + 1):
        exact_pass(state, pool, plan(t, StepKind.FW, keep=0), False)
        np.testing.assert_allclose(state.export()["alpha"][-t:], 1 / t, rtol=1e-12)
        assert state.dual == pytest.approx(1 - 1 / (4 * t), rel=1e-12)
        _, value, _, _ = problem.best_code(0, state.w)
        gap = 0.5 * squared_norm(state.w) + value - state.dual
        # The bound of the paper; at t = K, all vertices have been added, so the gap is 0.
        assert gap == pytest.approx(1 / (2 * t) if t < K else 0, abs=1e-12)


def test_uniform_sampling_needs_about_n_calls_for_each_step_on_the_hard_block():
    data = toy(20, 60)
    epsilon = 1 / (2 * 20 * 60)
    solution = solve(data, step="fw", sampling="uniform", tol=0.99 * epsilon / data.optimum)
    assert solution.primal - solution.dual < epsilon
    calls = solution.n_oracle_calls
    # Each of K steps has probability 1/n per call: mean n K, standard deviation n sqrt(K).
    assert abs(calls - 20 * 60) < 5 * 20 * math.sqrt(60)


@pytest.mark.slow
def test_gap_sampling_avoids_calls_for_the_easy_blocks():
    # The full size: gap sampling does not visit the 49 easy blocks again after their first visit.
    n, K = 50, 500
    data = toy(n, K)
    epsilon = 1 / (2 * n * K)
    calls = {}
    for sampling in ("uniform", "gap"):
        solution = solve(data, step="fw", sampling=sampling, tol=0.99 * epsilon / data.optimum)
        assert solution.primal - solution.dual < epsilon
        calls[sampling] = solution.n_oracle_calls
    assert calls["uniform"] >= 0.5 * n * calls["gap"]
