"""Test the contract and the decoder of the problem of change points."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct._problems.segment._change_problem import ChangePointProblem, NoSegmentsError
from sstruct._problems.segment.change_arguments import COSTS, ChangePointModel, SignalSums
from sstruct._problems.segment.segment_arguments import windows_of
from sstruct._testing import _problem_access as access
from tests.problems.test_contract import check_access, check_against_definition
from tests.reference import changes

# Sums of up to 7 multiples of this number have exact means.
EXACT = 420.0


def make_signals(
    rng, lengths, *, F=1, costs=("mean",), bins=(), tolerance=1, least=1, most=100, unit=EXACT
):
    """Return a problem of signals of multiples of `unit`, and its definition."""
    X = [unit * rng.integers(-3, 4, (L, F)) for L in lengths]
    model = ChangePointModel(
        np.array([COSTS.index(name) for name in costs], dtype=np.int32),
        least,
        most,
        np.array(bins, dtype=np.int64) if len(bins) else None,
    )
    lengths = np.array(lengths, dtype=np.int64)
    floor = rng.choice([1e-4, 0.5], (len(X), F))
    sums = SignalSums.from_signals(np.concatenate(X), lengths, floor, model.with_positions)
    allowed = [changes.labelings(L, least, most) for L in lengths.tolist()]
    truths = [own[rng.integers(len(own))] for own in allowed]
    truth = np.concatenate(truths).astype(np.int32)
    windows = all_windows(truth, lengths, tolerance)
    n_costs = len(costs) * F
    w = np.r_[rng.integers(0, 4, n_costs), rng.integers(-9, 10, len(bins) + 1)].astype(float)
    return SimpleNamespace(
        problem=ChangePointProblem(sums, model, truth, windows),
        phi=lambda i, y: changes.joint_feature(X[i], y, costs, bins, floor[i]),
        loss=lambda i, y: float(changes.loss(truths[i], y, tolerance)),
        w=w,
        padded=w.copy(),
        public=lambda w: w,
        allowed=allowed,
    )


def all_windows(truth, lengths, tolerance):
    """Return the windows of the known changes of all blocks."""
    parts = np.split(truth, np.cumsum(lengths)[:-1])
    places = [np.flatnonzero(part) for part in parts]
    windows = [
        windows_of(a, a, len(part), tolerance) for a, part in zip(places, parts, strict=True)
    ]
    return np.concatenate(windows)


@pytest.mark.parametrize("tolerance", [0, 1, 3])
@pytest.mark.parametrize("F", [1, 2])
@pytest.mark.parametrize(
    "options", [{}, {"bins": (1, 2, 4)}, {"bins": (1,)}, {"least": 2}, {"least": 2, "most": 3}]
)
def test_contract(rng, tolerance, F, options):
    made = make_signals(rng, (7, 2, 5, 6), F=F, tolerance=tolerance, **options)
    made.w[:F] *= 2.0**-16  # so that the loss matters; sums remain exact
    made.padded[:] = made.w
    check_against_definition(made, rng)


def check_case(seed):
    """Compare the decoder with enumeration on random signals."""
    rng = np.random.default_rng(seed)
    costs = rng.permutation(COSTS)[: rng.integers(1, 5)].tolist()
    least = int(rng.integers(1, 4))
    made = make_signals(
        rng,
        [int(rng.integers(least, 9))],
        F=int(rng.integers(1, 3)),
        costs=costs,
        bins=[(), (1, 2), (1, 3, 4)][rng.integers(3)],
        tolerance=int(rng.integers(4)),
        least=least,
        most=100 if rng.random() < 0.7 else 8,
        unit=rng.choice([0.1, 1.0]),
    )
    w = made.w * rng.choice([0.1, 1.0, 5.0])
    if rng.random() < 0.2:
        w[0] *= -1  # prevents pruning
    allowed = made.allowed[0]
    phi, losses = (
        np.array([part(0, y) for y in allowed], dtype=float) for part in (made.phi, made.loss)
    )
    for weight in (0.0, 1.0, rng.choice([0.3, 4.0, -1.0])):
        scores = phi @ w + weight * losses
        code, value, _, exact = made.problem.best_code(0, w, weight)
        assert exact
        assert value == pytest.approx(scores.max(), rel=1e-9, abs=1e-8)
        assert scores[allowed.index(tuple(code.tolist()))] == pytest.approx(value, abs=1e-8)
        made.problem.check_code(0, code)


@pytest.mark.parametrize("first", range(0, 1000, 100))
def test_equals_enumeration(first):
    for seed in range(first, first + 100):
        check_case(seed)


@settings(max_examples=200, deadline=None)
@given(st.integers(1000, 2**32))
def test_equals_enumeration_of_any_case(seed):
    check_case(seed)


@pytest.mark.parametrize("least", [1, 4])
@pytest.mark.parametrize("bins", [(), (1, 5, 9)])
@pytest.mark.parametrize("cost", COSTS)
def test_pruning_does_not_change_results_of_long_signals(rng, cost, bins, least):
    """Compare with a negative weight of a constant feature, which only prevents pruning."""
    for _ in range(5):
        L = 150
        level = np.repeat(rng.normal(0, 3, 10), 15)
        x = np.column_stack([level + rng.normal(size=L), np.zeros(L)])
        truth = np.zeros(L, dtype=np.int32)
        truth[15::15] = 1
        lengths = np.array([L], dtype=np.int64)
        kinds = np.array([COSTS.index("mean"), COSTS.index(cost)], dtype=np.int32)
        model = ChangePointModel(kinds, least, 10**6, np.array(bins) if bins else None)
        sums = SignalSums.from_signals(x, lengths, np.ones((1, 2)), True)
        problem = ChangePointProblem(sums, model, truth, all_windows(truth, lengths, 3))
        w = np.r_[0.0, 0, 0.3, 0, rng.normal(0, 2, len(bins)), 2]
        whole = w.copy()
        whole[1] = -1.0
        for weight in (0.0, 1.0, 5.0):
            code, value, work, _ = problem.best_code(0, w, weight)
            other, same, more, _ = problem.best_code(0, whole, weight)
            assert value == pytest.approx(same, rel=1e-12)
            assert code.tolist() == other.tolist()
            assert work < more


def test_windows():
    changes_at = np.zeros(20, dtype=np.int32)
    changes_at[[3, 4, 10, 14]] = 1
    windows = all_windows(changes_at, np.array([12, 8]), 3)
    expected = np.zeros(20, dtype=np.int32)
    expected[1:4], expected[4:7], expected[7:12] = 1, 4, 7
    expected[12 + 1 : 12 + 6] = 1
    assert windows.tolist() == expected.tolist()
    assert not all_windows(np.zeros(5, dtype=np.int32), np.array([5]), 3).any()


def test_windows_of_intervals():
    first, last = np.array([3, 8]), np.array([5, 8])
    assert windows_of(first, last, 12, 0).tolist() == [0] * 3 + [3] * 3 + [0] * 2 + [8] + [0] * 3
    assert windows_of(first, last, 12, 1).tolist() == [0, 0] + [2] * 5 + [7] * 3 + [0, 0]
    assert windows_of(first, last, 12, 99).tolist() == [0] + [1] * 6 + [7] * 5


@pytest.mark.parametrize("seed", range(10))
def test_one_change_in_each_interval(seed):
    """Compare the best segments with one change in each interval with enumeration."""
    rng = np.random.default_rng(seed)
    for _ in range(25):
        bins = (1, 2, 4) if rng.random() < 0.5 else ()
        least = int(rng.integers(1, 3))
        lengths = rng.integers(1, 9, 4)
        made = make_signals(rng, np.maximum(lengths, least), bins=bins, least=least)
        length = np.asarray(made.problem.code_sizes())
        numbers = [some_intervals(rng, L) for L in length]
        problem = ChangePointProblem(
            made.problem.signals, made.problem.model, intervals=np.concatenate(numbers)
        )
        for i, (own, allowed) in enumerate(zip(numbers, made.allowed, strict=True)):
            kept = [
                y for y in allowed if own[np.array(y) == 1].tolist() == [*range(1, own.max() + 1)]
            ]
            if not kept:
                with pytest.raises(NoSegmentsError):
                    problem.best_code(i, made.padded, 0.0)
                continue
            scores = [made.phi(i, y) @ made.w for y in kept]
            code, value, _, exact = problem.best_code(i, made.padded, 0.0)
            assert value == pytest.approx(max(scores), abs=1e-9)
            assert scores[kept.index(tuple(code.tolist()))] == pytest.approx(value, abs=1e-9)
            assert exact


def some_intervals(rng, length):
    """Return the number of the interval at each position (0: none); intervals may be adjacent."""
    out, number = np.zeros(length, dtype=np.int32), 0
    position = 1 + rng.integers(0, 3)
    while position < length and rng.random() < 0.8:
        number += 1
        stop = position + rng.integers(1, 4)
        out[position:stop] = number
        position = stop + rng.integers(0, 3)
    return out


def test_rounding_of_long_signals():
    """Compare the costs of short segments at the end of a long signal, computed from its sums."""
    rng = np.random.default_rng(0)
    L = 200_000
    x = np.cumsum(rng.normal(size=L))[:, np.newaxis]
    x -= np.median(x)
    code = np.zeros(L, dtype=np.int32)
    code[[L - 60, L - 40]] = 1
    for cost in COSTS:
        kinds = np.array([COSTS.index(cost)], dtype=np.int32)
        sums = SignalSums.from_signals(x, np.array([L]), np.full((1, 1), 1e-4), True)
        problem = ChangePointProblem(sums, ChangePointModel(kinds, 1, L))
        # The difference of two codes has only the segments at the end.
        other = code.copy()
        other[L - 40] = 0
        out = np.zeros(2)
        access.scatter(problem, 0, [code, other], [1.0, -1.0], out)
        parts = [changes.cost(cost, x[a:b, 0]) for a, b in ((-60, -40), (-40, L), (-60, L))]
        assert out[0] == pytest.approx(parts[2] - parts[0] - parts[1], rel=1e-5)


def test_invalid_codes_and_arguments(rng):
    made = make_signals(rng, (5, 4), least=2)
    check_access(
        made.problem,
        (0, 0, 1, 0, 0),
        [
            ((0, 1, 0, 0, 0), "a labeling code has a segment of 1 positions from 0 on"),
            ((1, 0, 0, 0, 0), "a labeling code has a change before its first position"),
            ((0, 0, 2, 0, 0), "label 2 at position 2"),
        ],
        made.padded,
    )
    sums, model = made.problem.signals, made.problem.model
    with pytest.raises(NoSegmentsError, match="block 0 of 5 nodes has no segments of allowed"):
        ChangePointProblem(sums, ChangePointModel(model.kinds, 3, 4)).best_code(0, np.zeros(2), 0.0)
    truth = np.array([0, 0, 1, 0, 0, 0, 0, 1, 0], dtype=np.int32)
    windows = all_windows(truth, sums.length, 1)
    for wrong in (np.ones(9, dtype=np.int32), -truth, truth[:-1]):
        with pytest.raises(ValueError, match="intervals must"):
            ChangePointProblem(sums, model, intervals=wrong)
    with pytest.raises(ValueError, match="true segments have durations of"):
        ChangePointProblem(sums, ChangePointModel(model.kinds, 3, 9), truth, windows)
    for wrong, message in (
        (truth[:-1], "must have 9 entries"),
        (truth + 1, "must be 0 or 1"),
        (np.r_[1, truth[1:]].astype(np.int32), "0 at the first node"),
    ):
        with pytest.raises(ValueError, match=message):
            ChangePointProblem(sums, model, wrong, windows)
    for wrong, message in (
        (windows - 1, "windows must be 0 or start at"),
        (windows + 5, "windows must be 0 or start at"),
        (0 * windows, "a separate window"),
    ):
        with pytest.raises(ValueError, match=message):
            ChangePointProblem(sums, model, truth, wrong)
    for change, message in (
        ({"length": sums.length[:0]}, "expected at least one signal"),
        ({"sums": sums.sums[1:]}, "sums have shape"),
        ({"floor": 0 * sums.floor}, "floor must have a positive entry for each block and feature"),
    ):
        with pytest.raises(ValueError, match=message):
            ChangePointProblem(replace(sums, **change), model)
    for kinds in ([], [4], [-1]):
        with pytest.raises(ValueError, match="kinds of costs"):
            ChangePointProblem(sums, ChangePointModel(np.array(kinds, dtype=np.int32), 1, 2))
    for least, most in ((0, 2), (3, 2)):
        with pytest.raises(ValueError, match="must satisfy 1 <= least <= most"):
            ChangePointProblem(sums, ChangePointModel(model.kinds, least, most))
