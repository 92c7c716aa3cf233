"""Test optima, dual weights and reproducibility of distributed fits."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from sstruct._kernels.compact import compact, expand
from sstruct._problems.chain._chain_problem import ChainProblem
from sstruct._problems.chain.chain_arguments import ChainModel, ChainRanges
from sstruct._solvers.core._state import DualState
from sstruct._solvers.core.solver import Options, Setup
from sstruct._solvers.core.status import Status
from sstruct._solvers.frank_wolfe._approximate_pass import approximate_pass
from sstruct._solvers.frank_wolfe.block_coordinate import FrankWolfeFit
from sstruct._solvers.rounds._changes import compact_change
from sstruct._solvers.rounds._placing import blend, dual_weights, mix, place
from sstruct._solvers.rounds.distributed_fit import DistributedFit
from sstruct._solvers.rounds.line_search import share_within_bounds, shares_of_moves
from sstruct._solvers.rounds.partition_fit import PartitionFit
from sstruct._solvers.rounds.partitioned_blocks import (
    LocalPartitions,
    PartitionedBlocks,
    facts_of,
    size_of,
)
from tests.reference import boxed_qp, brute_force
from tests.solvers.small import make_bounds

LAM, K = 0.1, 3


class Partitioned:
    """Chains of 1 to 4 nodes in partitions, with enumerated labelings."""

    def __init__(self, rng, n_parts=2, box="free", n=9, n_features=2):
        lengths = rng.integers(1, 5, n)
        X = [rng.standard_normal((length, n_features)) for length in lengths]
        y = [rng.integers(0, K, length) for length in lengths]
        weights = rng.integers(1, 5, n).astype(float)
        self.q = weights / weights.sum()
        model = brute_force.Model(K, True, True, True)
        self.terms = brute_force.blocks(X, y, model, "hamming", weights)
        cuts = np.linspace(0, n, n_parts + 1).astype(int).tolist()
        self.problems = [(chains(X[a:b], y[a:b]), self.q[a:b]) for a, b in pairwise(cuts)]
        problem = self.problems[0][0]
        self.view = lambda w: problem.layout.public(w)
        self.bounds = make_bounds(rng, box, self.terms[0].phi.shape[1])
        self.padded = None
        if np.isfinite(self.bounds).any():
            place = self.view(np.arange(problem.n_weights, dtype=float)).astype(int)
            self.padded = np.full((2, problem.n_weights), [[-np.inf], [np.inf]])
            self.padded[:, place] = self.bounds

    def setup(self, **options):
        parts = LocalPartitions(self.problems)
        blocks = PartitionedBlocks(parts, [facts_of(problem) for problem, _ in self.problems])
        return Setup(blocks, LAM, self.q, Options(**options), self.padded)


def chains(X, y):
    lengths = np.array([len(x) for x in X])
    starts = np.cumsum(lengths) - lengths
    return ChainProblem(
        np.vstack(X), ChainRanges(starts, lengths), ChainModel(K), np.concatenate(y),
        loss_scale=1 / lengths,
    )  # fmt: skip


@pytest.mark.parametrize("box", ["free", "nonnegative", "mixed", "without zero"])
@pytest.mark.parametrize("n_parts", [1, 2, 4])
def test_optimum_matches_independent_qp(rng, n_parts, box):
    data = Partitioned(rng, n_parts, box)
    solution = DistributedFit(data.setup(tol=1e-3, max_iter=3000)).solve()
    optimum = boxed_qp.optimum(data.terms, LAM, data.bounds)[0]
    assert solution.status is Status.CONVERGED
    primal = brute_force.primal(data.view(solution.w), LAM, data.terms)
    assert abs(solution.primal - primal) <= 1e-10 * primal
    assert solution.dual - 1e-9 <= optimum <= primal + 1e-9
    assert primal - solution.dual <= 1.001e-3 * primal


@pytest.mark.parametrize("box", ["free", "mixed"])
def test_dual_never_decreases_and_matches_dual_weights_of_partitions(rng, box):
    data = Partitioned(rng, 3, box)
    run = DistributedFit(data.setup(tol=0.0, max_iter=20, certificate_every=100))
    duals = [run.dual]
    for _ in range(15):
        run._iterate()
        duals.append(run.dual)
    assert (np.diff(duals) >= -1e-12).all()
    v, dual, linear = run.v, run.dual, run.linear
    run._rebuild()
    np.testing.assert_allclose(run.v, v, rtol=0, atol=1e-12 * max(1, abs(v).max()))
    assert abs(run.linear - linear) <= 1e-12
    assert abs(run.dual - dual) <= 1e-12
    alphas = []
    for part, a, b in zip(run.parts.parts, (0, 3, 6), (3, 6, 9)):
        alphas += brute_force.read_working_sets(part.state.export(), data.terms[a:b])
    for of_block in alphas:
        values = np.array(list(of_block.values()))
        assert (values >= 0).all()
        assert abs(values.sum() - 1) <= 1e-12
    value = boxed_qp.dual(alphas, LAM, data.terms, data.bounds)
    assert abs(value - run.dual) <= 1e-12 * max(1, abs(value))


def test_one_part_is_a_fit_without_parts(rng, monkeypatch):
    monkeypatch.setattr(FrankWolfeFit, "max_lag", 0)  # as in partitions
    limits, n_equal = dict(tol=1e-2, max_iter=4, certificate_every=1), 0
    for _ in range(12):
        data = Partitioned(rng, 1, n=12)
        problem, q = data.problems[0]
        alone = FrankWolfeFit(Setup(problem, LAM, q, Options(**limits))).solve().history
        rounds = DistributedFit(data.setup(**limits)).solve().history
        n_equal += all(
            rounds[name] == pytest.approx(alone[name], rel=1e-9)
            for name in ("oracle_calls", "approximate_passes", "dual")
        )
    # In a fifth of such fits, rounding decides between equal scores.
    assert n_equal >= 6


def test_equal_moves_increase_the_dual_together(rng):
    for n_parts in (1, 2, 3, 4, 9):
        run = DistributedFit(Partitioned(rng, n_parts).setup())
        # n equal moves that are divided by the caution c increase the dual if n < 2 c.
        for part in run.parts.parts:
            assert part.caution == pytest.approx(max(1, n_parts / 2 + 0.3))


@pytest.mark.parametrize("box", ["free", "mixed"])
def test_fit_resumes_from_the_state_of_another_fit(rng, box):
    data = Partitioned(rng, 3, box)
    first = DistributedFit(data.setup(tol=1e-3))
    assert first.solve().status is Status.CONVERGED
    left = first.export()
    setup = data.setup()
    setup.warm = left
    # The same dual value, of the same dual weights.
    run = DistributedFit(setup)
    assert abs(run.dual - first.dual) <= 1e-12 * first.dual
    alphas = brute_force.read_working_sets(run.export(), data.terms)
    value = boxed_qp.dual(alphas, LAM, data.terms, data.bounds)
    assert abs(value - run.dual) <= 1e-12 * max(1, abs(value))
    # With dual weights of only the first blocks, the others start at the truth.
    n, labelings = 4, left["size"][:4].sum()
    entries = (left["size"][:4] * setup.problem.code_sizes[:4]).sum()
    ends = {"size": n, "alpha": labelings, "code": entries}
    setup.warm = {name: left[name][:end] for name, end in ends.items()}
    run = DistributedFit(setup)
    rest = brute_force.read_working_sets(run.export(), data.terms)
    assert rest[:n] == alphas[:n]
    assert all(max(of_block.values()) == 1 for of_block in rest[n:])
    value = boxed_qp.dual(rest, LAM, data.terms, data.bounds)
    assert abs(value - run.dual) <= 1e-12 * max(1, abs(value))


def test_exported_state_is_validated(rng):
    data = Partitioned(rng, 2)
    first = DistributedFit(data.setup(tol=1e-3))
    first.solve()
    left, setup = first.export(), data.setup()
    for field, value in {
        "code": np.append(left["code"], np.int32(0)),
        "alpha": 0.5 * left["alpha"],
    }.items():
        setup.warm = {**left, field: value}
        with pytest.raises(ValueError, match=f"cannot continue from the previous fit: {field}"):
            DistributedFit(setup)
    wrong = left["code"].copy()
    wrong[-1] = K
    setup.warm = {**left, "code": wrong}
    with pytest.raises(ValueError, match="cannot continue from the previous fit: "):
        DistributedFit(setup)


def test_invalid_replies_leave_no_state_to_resume(rng, monkeypatch):
    run = DistributedFit(Partitioned(rng, 2).setup(tol=1e-3))
    run.solve()
    whole = run.export()
    for answer in (None, {}, {**whole, "alpha": whole["alpha"].tolist()}, {**whole, "size": 3}):
        with monkeypatch.context() as patch:
            patch.setattr(PartitionFit, "export_state", lambda self, *news, answer=answer: answer)
            assert run.export() is None
        assert "returned an invalid reply" in str(run.problem.failure)
        run.parts.failure = None


def test_a_blend_is_a_convex_combination(rng):
    data = Partitioned(rng, 1, n=6)
    problem, q = data.problems[0]
    run = FrankWolfeFit(Setup(problem, LAM, q, Options()))
    run._passes()
    kept, before, linear = run.state.export(), run.state.v(), run.state.linear
    for _ in range(12):  # enough passes to drop labelings
        run._passes()
        run.n_passes += 1
    after, linear_after = run.state.v(), run.state.linear
    blend(run.state, kept, 0.25)
    run.state.rebuild()
    np.testing.assert_allclose(run.state.v(), 0.25 * after + 0.75 * before, rtol=0, atol=1e-12)
    assert abs(run.state.linear - (0.25 * linear_after + 0.75 * linear)) <= 1e-12
    for share in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match="share must be between 0 and 1"):
            blend(run.state, kept, share)


def test_after_an_approximate_pass_mixing_is_blending(rng):
    data = Partitioned(rng, 1, n=12)
    problem, q = data.problems[0]
    mixed, blended = (FrankWolfeFit(Setup(problem, LAM, q, Options())) for _ in range(2))
    for run in (mixed, blended):
        run._passes()
    kept, before = blended.state.export(), dual_weights(mixed.state)
    for run in (mixed, blended):
        assert approximate_pass(run.state, run._plan(), True)
    assert (dual_weights(mixed.state) != before).any()
    mix(mixed.state, before, 0.25)
    blend(blended.state, kept, 0.25)
    np.testing.assert_array_max_ulp(dual_weights(mixed.state), dual_weights(blended.state))
    for share in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match="share must be between 0 and 1"):
            mix(mixed.state, before, share)
    with pytest.raises(ValueError, match="dual weights of 1 labelings, expected"):
        mix(mixed.state, before[:1], 0.5)


@given(
    v=arrays(float, st.integers(1, 30), elements=st.sampled_from([0.0, -0.0, 1.0, 2.5, np.nan])),
    seed=st.integers(0, 99),
    share=st.floats(0, 1),
    divisor=st.floats(1, 4),
)
def test_a_compact_change_is_the_difference_compacted(v, seed, share, divisor):
    before = np.where(np.random.default_rng(seed).random(len(v)) < share, v, 7.0)
    index, value = compact_change(v, before, divisor)
    expected_index, expected = compact((v - before) / divisor)
    assert (index is None) == (expected_index is None)
    if index is not None:
        assert index.dtype == np.int32
        np.testing.assert_array_equal(index, expected_index)
    np.testing.assert_array_equal(value, expected)


def test_weights_with_wrong_shape(rng):
    with pytest.raises(ValueError, match="before has 2 weights, expected 3"):
        compact_change(np.zeros(3), np.zeros(2), 1.0)
    problem, q = Partitioned(rng, 1).problems[0]
    with pytest.raises(ValueError, match="expected"):
        place(DualState(problem, LAM, q, 0), np.zeros(problem.n_weights + 1), 0.0)
    with pytest.raises(ValueError, match="averages"):
        place(DualState(problem, LAM, q, 0, average=True), np.zeros(problem.n_weights), 0.0)


def test_shares_meet_the_optimality_conditions(rng):
    for _ in range(20):
        moves, v = rng.standard_normal((4, 7)), rng.standard_normal(7)
        linear = rng.standard_normal(4)
        share = shares_of_moves(sparse.csr_matrix(moves), linear, v, LAM)
        slope = linear - LAM * moves @ (v + share @ moves)
        assert ((share >= 0) & (share <= 1)).all()
        assert (slope[share < 1] <= 1e-6).all()
        assert (slope[share > 0] >= -1e-6).all()


def test_a_share_within_bounds_is_the_best_of_a_grid(rng):
    def clip(w):
        return np.clip(w, -0.5, 0.5)

    def value(t, move, linear, v):
        at = v + t * move
        w = clip(at)
        return t * linear - LAM * w @ at + 0.5 * LAM * w @ w

    for _ in range(10):
        given = rng.standard_normal(6), rng.standard_normal(), rng.standard_normal(6)
        share = share_within_bounds(*given, LAM, clip)
        best = max(value(t, *given) for t in np.linspace(0, 1, 101))
        assert value(share, *given) >= best - 1e-12


def test_recreated_partition_continues_with_identical_results(rng):
    data = Partitioned(rng, 2)
    run = DistributedFit(data.setup(tol=0.0, certificate_every=100))
    for _ in range(4):
        run._iterate()
    news = run._updates()
    kept = [part.keep(*some) for part, some in zip(run.parts.parts, news)]
    again = DistributedFit(data.setup(tol=0.0, certificate_every=100))
    for part, state in zip(again.parts.parts, kept):
        part.restore_state(state, run.v)
    for turn in (0, 1, 2):
        news = [(*of_part, turn) for of_part in run._updates()]
        there = run.parts.ask("advance", news)
        here = again.parts.ask("advance", news)
        for one, other in zip(there, here):
            for a, b in zip(one, other):
                np.testing.assert_array_equal(a, b)
        run._move(there, np.array([numbers[0] for _, _, numbers in there]))


WRONG = {
    "rebuild": [
        (None, np.zeros(3), np.zeros(1)),
        (np.array([0], dtype=np.int32), np.zeros(1), 0.0),
    ],
    "measure": [([], 3), ([(0.0, True)], None), ([0.0], 3), "none"],
    "advance": [
        (np.array([10**6], dtype=np.int32), np.zeros(1), np.zeros(5)),
        (np.array([-1], dtype=np.int32), np.zeros(1), np.zeros(5)),
        (np.array([1, 10**6, 2], dtype=np.int32), np.zeros(3), np.zeros(5)),
        (np.array([1, 1], dtype=np.int32), np.zeros(2), np.zeros(5)),
        (np.array([1]), np.zeros(1), np.zeros(5)),
        (np.array([1], dtype=np.int32), np.zeros(2), np.zeros(5)),
        (np.array([1], dtype=np.int32), np.zeros((1, 1)), np.zeros(5)),
        (np.array([1], dtype=np.int32), [0.0], np.zeros(5)),
        (np.array([1], dtype=np.int32), np.zeros(1, dtype=np.float32), np.zeros(5)),
        (np.array([1], dtype=np.int32), np.zeros(1), np.zeros(4)),
        (np.array([1], dtype=np.int32), np.zeros(1)),
        None,
    ],
}


@pytest.mark.parametrize("name, answer", [(n, a) for n, some in WRONG.items() for a in some])
def test_answers_that_do_not_fit_end_the_fit(rng, name, answer):
    run = DistributedFit(Partitioned(rng, 2).setup(tol=1e-6, certificate_every=1))
    ask = run.parts.ask

    def other(asked, arguments):
        found = ask(asked, arguments)
        return [found[0], answer] if asked == name and run.n_rounds > 20 else found

    run.parts.ask = other
    solution = run.solve()
    assert solution.status is Status.INTERRUPTED
    assert str(solution.interruption).startswith(
        f"partition 1 returned an invalid reply to '{name}'"
    )
    assert 0 < solution.dual < np.inf


def test_traffic_is_of_changes_and_not_of_data(rng):
    received = []
    for n in (8, 32):
        data = Partitioned(rng, 2, n=n)
        run = DistributedFit(data.setup(tol=0.0, certificate_every=100))
        run._iterate()
        received.append(run.parts.received / run.n_rounds)
        nonzeros = np.count_nonzero(run.v)
    # Each of the two parts sends at most all entries of v, and five numbers.
    assert max(received) <= 2 * (8 * len(run.v) + 5 * 8)
    assert nonzeros > 0


def test_missed_weight_changes_raise(rng):
    run = DistributedFit(Partitioned(rng).setup())
    run._iterate()
    (share, (version, _, _, _), dual), *_ = run._updates()
    few = version + 5, version + 4, np.array([0], dtype=np.int32), np.array([1.0])
    with pytest.raises(RuntimeError, match="has missed"):
        run.parts.parts[0].advance(share, few, dual, 0)


def test_an_interrupted_round_leaves_a_certificate(rng):
    data = Partitioned(rng)
    setup = data.setup(tol=0.0, certificate_every=100)
    parts, ask = setup.problem.parts, setup.problem.parts.ask

    def interrupted(name, arguments):
        if name == "advance" and run.n_passes == 3:
            parts.parts[0].advance(*arguments[0])
            raise KeyboardInterrupt
        return ask(name, arguments)

    parts.ask = interrupted
    run = DistributedFit(setup)
    solution = run.solve()
    assert solution.status is Status.INTERRUPTED
    primal = brute_force.primal(data.view(solution.w), LAM, data.terms)
    assert abs(solution.primal - primal) <= 1e-10 * primal
    optimum = boxed_qp.optimum(data.terms, LAM, data.bounds)[0]
    assert solution.dual <= optimum + 1e-9 <= primal + 2e-9


@pytest.mark.parametrize("options", [{"multi_plane": False}, {"step": "corrective"}])
def test_other_steps_reach_the_optimum_too(rng, options):
    data = Partitioned(rng, 3)
    solution = DistributedFit(data.setup(tol=1e-2, max_iter=3000, **options)).solve()
    assert solution.status is Status.CONVERGED


def test_few_changes_travel_as_index_and_value():
    vector = np.zeros(100)
    vector[[3, 70]] = 1.5, -2
    index, value = compact(vector)
    assert index.tolist() == [3, 70]
    assert size_of((index, value, None, 1.0)) == 2 * 12 + 8
    np.testing.assert_array_equal(expand((index, value), np.ones(100)), vector)
    index, value = compact(np.ones(100))
    assert index is None
    np.testing.assert_array_equal(expand((index, value), np.ones(100)), np.ones(100))
