"""What benchmarks of the solvers rest on: watching changes nothing; what limits prove."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sstruct._solvers.core._state import DualState
from sstruct._solvers.core.solver import Setup
from sstruct._solvers.frank_wolfe.block_coordinate import FrankWolfe

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")


@pytest.fixture
def modules(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import benchmark_problems
    import observed_fit
    import solver_family_claims

    return benchmark_problems, observed_fit, solver_family_claims


@pytest.mark.parametrize("multi_plane", [False, True])
@pytest.mark.parametrize("hungry", [False, True])
def test_watching_a_fit_does_not_change_it(modules, multi_plane, hungry):
    problems, observed, _ = modules
    (data,) = problems.packed("digits", (0.01,))
    parameters = {"solver": "mp-bcfw" if multi_plane else "bcfw", "average": hungry}
    if hungry:
        parameters |= {"sampling": "gap", "cache": True}
    options = observed.options_of(data, seed=3, **parameters)
    curve = observed.watch(data, options, limit=60, least_gap=1e-3)
    state = DualState(
        data.problem, data.lam, data.block_weight, 3, draw=options.sampling == "gap", average=hungry
    )
    n = len(curve.dual)
    calls = int(curve.calls[-1])
    setup = Setup(
        data.problem, state.lam, data.block_weight,
        replace(options, max_iter=calls // data.n + 1),
    )  # fmt: skip
    alone = FrankWolfe(setup, state).solve()
    assert n > 5
    np.testing.assert_array_equal(curve.dual[: n - 1], alone.history["dual"][: n - 1])
    refreshed = np.arange(1, n + 1) // 10 if hungry else 0
    np.testing.assert_array_equal(
        (curve.calls - refreshed * data.n)[: n - 1], alone.history["oracle_calls"][: n - 1]
    )
    assert (np.diff(curve.primal) <= 0).all()
    assert curve.gaps()[-1] <= 1e-3 < curve.gaps()[-2]


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
def test_a_run_that_did_not_get_there_bounds_a_ratio(modules, a, b, expected):
    assert modules[2].ratio(a, b, 0.1) == expected


def table(n, lam, **calls):
    names = {
        "plain": "bcfw, fw, uniform",
        "gap": "bcfw, fw, gap",
        "pairwise": "bcfw, pairwise, uniform",
        "cache": "bcfw, fw, uniform, cache",
        "multi": "mp-bcfw, fw, uniform",
    }
    rows = {names[key]: row(value, end=100) for key, value in calls.items()}
    return {"problem": "toy", "n": n, "lam": lam, "rows": rows}


def test_claims_are_judged_by_the_table(modules, capsys):
    claimed = [
        table(
            10,
            0.1,
            plain=[4, 20, 90],
            gap=[4, 20, 90],
            pairwise=[4, 10, 10],
            cache=[3, 9, 20],
            multi=[4, 5, 6],
        ),
        table(
            99,
            0.01,
            plain=[4, 20, 90],
            gap=[2, 9, 20],
            pairwise=[4, 12, 40],
            cache=[3, 9, 20],
            multi=[4, 5, 6],
        ),
    ]
    verdicts = [found["verdict"] for found in modules[2].judge(claimed)]
    assert verdicts == ["reproduced"] * 4
    # Small and large trade places; caching and cached planes cost calls.
    claimed[0]["n"], claimed[1]["n"] = 99, 10
    claimed[0]["lam"], claimed[1]["lam"] = 0.01, 0.1
    for problem in claimed:
        problem["rows"]["mp-bcfw, fw, uniform"] = row([5, 5, 6])
        problem["rows"]["bcfw, fw, uniform, cache"] = row([8, 30, 99])
    verdicts = [found["verdict"] for found in modules[2].judge(claimed)]
    assert verdicts == ["not reproduced"] * 4
    assert "more in 2 of 6 comparisons" in capsys.readouterr().out
    assert [found["verdict"] for found in modules[2].judge([])] == ["undecided"] * 4
