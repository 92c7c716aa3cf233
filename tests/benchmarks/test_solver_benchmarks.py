"""Test helpers of the solver benchmarks."""

from dataclasses import replace

import numpy as np
import pytest

from sstruct._solvers.core._state import DualState
from sstruct._solvers.core.solver import Setup
from sstruct._solvers.frank_wolfe.block_coordinate import FrankWolfeFit
from sstruct.solvers import BCFW


@pytest.fixture
def modules(script):
    return [*map(script, ("benchmark_problems", "observed_fit", "solver_family_claims"))]


@pytest.mark.parametrize("multi_plane", [False, True])
@pytest.mark.parametrize("gap_sampling", [False, True])
def test_watching_a_fit_does_not_change_it(modules, multi_plane, gap_sampling):
    problems, observed, _ = modules
    (data,) = problems.packed("digits", (0.01,))
    parameters = {"solver": "mp-bcfw" if multi_plane else "bcfw", "average": gap_sampling}
    if gap_sampling:
        parameters |= {"sampling": "gap", "cache": True}
    options = observed.options_of(data, seed=3, **parameters)
    curve = observed.watch(data, options, limit=60, least_gap=1e-3)
    state = DualState(
        data.problem, data.lam, data.block_weight, 3, draw=gap_sampling, average=gap_sampling
    )
    n = len(curve.dual)
    calls = int(curve.calls[-1])
    setup = Setup(
        data.problem, state.lam, data.block_weight,
        replace(options, max_iter=calls // data.n + 1),
    )  # fmt: skip
    unwatched = FrankWolfeFit(setup, state).solve()
    assert n > 5
    np.testing.assert_array_equal(curve.dual[: n - 1], unwatched.history["dual"][: n - 1])
    refreshed = np.arange(1, n + 1) // 10 if gap_sampling else 0
    np.testing.assert_array_equal(
        (curve.calls - refreshed * data.n)[: n - 1], unwatched.history["oracle_calls"][: n - 1]
    )
    assert (np.diff(curve.primal) <= 0).all()
    assert curve.gaps()[-1] <= 1e-3 < curve.gaps()[-2]


def test_solvers_are_given_by_name_or_as_objects(modules):
    problems, observed, _ = modules
    (data,) = problems.packed("digits", (0.01,))
    solver = BCFW(step="fw", cache=True)
    found = observed.options_of(data, solver=solver, sampling="uniform")
    expected = {"step": "fw", "cache": True, "sampling": "uniform"}
    assert found == observed.options_of(data, solver="bcfw", **expected)
    assert solver.sampling == "auto"  # a copy was changed


def test_a_baseline_without_a_dual_is_measured_against_a_lower_bound(modules):
    problems, observed, _ = modules
    (data,) = problems.packed("digits", (0.01,))
    options = observed.options_of(data)
    lower = observed.watch(data, options, limit=60, least_gap=1e-4).lower
    curve = observed.watch(data, options, 60, 0.05, baseline="ssg", lower=lower)
    assert curve.lower == -np.inf
    assert curve.primal[-1] > lower
    assert curve.reach(0.05, lower) == len(curve.primal) - 1


def row(calls, end=None):
    reached = {gap: None if c is None else [c, 0.0] for gap, c in zip((0.1, 0.01, 0.001), calls)}
    return {**reached, "end": [end, 0.0]}


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (row([6]), row([2]), 3.0),
        (row([None], end=8), row([2]), 4.0),  # at least 4
        (row([None], end=1), row([2]), None),
        (row([2]), row([None], end=8), 0.25),  # at most 1/4
        (row([2]), row([None], end=1), None),
        (row([None], end=1), row([None], end=8), None),
    ],
)
def test_an_unfinished_run_bounds_the_ratio(modules, a, b, expected):
    assert modules[2].ratio(a, b, 0.1) == expected


def problem(n, lam, **calls):
    names = {
        "plain": "bcfw, fw, uniform",
        "gap": "bcfw, fw, gap",
        "pairwise": "bcfw, pairwise, uniform",
        "cache": "bcfw, fw, uniform, cache",
        "multi": "mp-bcfw, fw, uniform",
    }
    rows = {names[key]: row(value, end=100) for key, value in calls.items()}
    return {"problem": "toy", "n": n, "lam": lam, "rows": rows}


def test_comparisons_of_runs_that_differ_in_one_option(modules):
    family = modules[2]
    problems = [
        problem(
            10, 0.1, plain=[4, 20, 90], gap=[4, 20, 90], pairwise=[4, 10, 10],
            cache=[3, 10, 30], multi=[4, 5, 6],
        ),
        problem(
            99, 0.01, plain=[4, 20, 90], gap=[2, 10, 30], pairwise=[4, 10, 45],
            cache=[8, 40, None], multi=[4, 5, 9],
        ),
    ]  # fmt: skip
    assert family.ratios(problems, family.SOLVER, "mp-bcfw", "bcfw") == pytest.approx(
        [1, 1 / 4, 1 / 15, 1, 1 / 4, 1 / 10]
    )
    # The last of them: at least 100 / 90.
    assert family.cache_ratios(problems) == pytest.approx([3 / 4, 1 / 2, 1 / 3, 2, 2, 10 / 9])
    assert family.gain_by_size(problems) == (99, 1.0, 2.0)
    assert family.gain_by_lam(problems) == {"toy": (2.0, 9.0)}


def test_rows_of_the_table_become_runs(modules):
    line = {"problem": "toy", "n": "10", "lam": "0.1", "method": "bcfw, fw, uniform"}
    line |= {"calls_0.1": "4", "seconds_0.1": "0.5", "calls_0.01": "", "seconds_0.01": ""}
    line |= {"calls_0.001": "", "seconds_0.001": "", "calls_end": "9", "seconds_end": "1"}
    (found,) = modules[2].group_by_problem([line])
    runs = found.pop("rows")
    assert found == {"problem": "toy", "n": 10, "lam": 0.1}
    run = {0.1: (4.0, 0.5), 0.01: None, 0.001: None, "end": (9.0, 1.0)}
    assert runs == {"bcfw, fw, uniform": run}


def test_seconds_are_compared_as_calls_are(modules):
    family = modules[2]
    a, b = ({0.1: (1, seconds), "end": (1, seconds)} for seconds in (3.0, 2.0))
    assert family.ratio(a, b, 0.1, family.SECONDS) == 1.5
