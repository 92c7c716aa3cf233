"""What holds after every pass of every kind: weights, dual value and w belong together."""

import signal
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct._kernels import _interruption
from sstruct._kernels._clock import seconds
from sstruct._problems.chain._chain_problem import ChainProblem
from sstruct._problems.chain.chain_arguments import ChainModel, ChainRanges
from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._solvers.core import _full_pass
from sstruct._solvers.core._state import DualState, squared_norm
from sstruct._solvers.frank_wolfe import _approximate_pass, _exact_pass
from sstruct._solvers.frank_wolfe._approximate_pass import PassPlan, Sampling
from sstruct._solvers.frank_wolfe.block_coordinate import STEPS
from tests.reference import brute_force

LATER = float("inf")
POLICIES = [
    (step, permute, batch) for step, permute in product(STEPS, [True, False]) for batch in (1, 4)
]


def exact_pass(state, kind, permute, number, keep, deadline, cache=False):
    sampling = Sampling.PERMUTATION if permute else Sampling.UNIFORM
    plan = PassPlan(kind, sampling, number, keep, deadline)
    return _exact_pass.exact_pass(state, ThreadPool(state.problem), plan, cache)


def approximate_pass(state, kind, all_blocks, number, keep, deadline):
    plan = PassPlan(kind, Sampling.PERMUTATION, number, keep, deadline)
    return _approximate_pass.approximate_pass(state, plan, all_blocks)


def full_pass(problem, w, q):
    return _full_pass.full_pass(ThreadPool(problem), w, q)


class Fit:
    """A state, its problem, and the enumerated definition of both."""

    def __init__(self, rng, lam, n=7, K=3, batch=1, seed=0):
        model = brute_force.Model(K)
        lengths = self.lengths = rng.integers(1, 5, n)
        X = [rng.standard_normal((length, 2)) for length in lengths]
        y = [rng.integers(0, K, length) for length in lengths]
        weights = rng.integers(1, 4, n).astype(float)
        self.lam, self.q = lam, weights / weights.sum()
        self.terms = brute_force.blocks(X, y, model, "hamming", weights)
        offsets = np.r_[0, np.cumsum(lengths)]
        self.problem = ChainProblem(
            np.vstack(X),
            ChainRanges(offsets[:-1], lengths),
            ChainModel(K),
            np.concatenate(y),
            loss_scale=1 / lengths,
        )
        self.problem.batch_size = batch
        self.state = DualState(self.problem, lam, self.q, seed)
        self.number = 0

    def exact(self, step, permute, keep=10, deadline=LATER):
        self.number += 1
        return exact_pass(self.state, STEPS[step], permute, self.number, keep, deadline)

    def approximate(self, all_blocks=True, keep=10, deadline=LATER, step="pairwise"):
        number = max(self.number, 1)
        return approximate_pass(self.state, STEPS[step], all_blocks, number, keep, deadline)

    @property
    def w(self):
        return self.problem.layout.public(self.state.w)

    @property
    def primal(self):
        return brute_force.primal(self.w, self.lam, self.terms)

    def check(self):
        """Compare the state with what follows from its working sets; return the true dual."""
        alphas = brute_force.read_working_sets(self.state.export(), self.terms)
        assert sum(map(len, alphas)) == self.state.n_labelings
        for of_block, block in zip(alphas, self.terms, strict=True):
            values = np.array(list(of_block.values()))
            assert (values >= 0).all()
            assert abs(values.sum() - 1) <= 1e-12
            assert next(iter(of_block)) == block.labelings[block.truth]
        expected = brute_force.weights_of(alphas, self.lam, self.terms)
        np.testing.assert_allclose(
            self.w, expected, rtol=0, atol=1e-12 * max(1, abs(expected).max())
        )
        true = brute_force.dual(alphas, self.lam, self.terms)
        primal = self.primal
        assert abs(self.state.dual - true) <= 1e-12 * primal
        assert true <= primal * (1 + 1e-12)
        return true


def run(fit, step, permute, n_passes, rng, multi_plane=True):
    """Passes of random kinds; after each all invariants, and no fall of the dual."""
    dual = fit.check()
    for _ in range(n_passes):
        keep = int(rng.integers(0, 4))
        if multi_plane and rng.random() < 0.6:
            assert fit.approximate(bool(rng.integers(2)), keep, step=step)
        else:
            calls = fit.state.n_oracle_calls
            assert fit.exact(step, permute, keep)
            assert fit.state.n_oracle_calls == calls + fit.problem.n_blocks
        now = fit.check()
        assert now >= dual - 1e-12 * fit.primal
        dual = now


@pytest.mark.parametrize("step, permute, batch", POLICIES)
@settings(max_examples=12)
@given(key=st.integers(0, 2**32 - 1), lam=st.sampled_from([1e-3, 0.05, 1.0, 30.0]))
def test_every_pass_keeps_the_state_consistent(new_rng, step, permute, batch, key, lam):
    rng = new_rng(key)
    fit = Fit(rng, lam, batch=batch, seed=key)
    run(fit, step, permute, 10, rng)


@pytest.mark.parametrize("step, permute, batch", POLICIES)
def test_dual_rises_to_the_primal(rng, step, permute, batch):
    fit = Fit(rng, 0.3, batch=batch)
    run(fit, step, permute, 5, rng, multi_plane=False)
    limit = 0.03 if step == "fw" else 1e-4
    for _ in range(3000):
        fit.exact(step, permute)
        fit.state.rebuild()
        if fit.primal - fit.state.dual <= limit * fit.primal:
            break
    else:
        pytest.fail(f"gap {fit.primal - fit.state.dual} after 3000 passes")
    fit.check()


def test_rebuild_changes_nothing_but_rounding(rng):
    fit = Fit(rng, 0.1)
    for _ in range(15):
        fit.exact("pairwise", True)
        fit.approximate()
    w, dual = fit.w, fit.state.dual
    fit.state.rebuild()
    np.testing.assert_allclose(fit.w, w, rtol=0, atol=1e-13 * abs(w).max())
    assert abs(fit.state.dual - dual) <= 1e-13 * dual
    fit.check()


def test_an_interrupted_rebuild_leaves_what_was_there(rng, monkeypatch):
    # Blocks of the same rows, large enough for a look before the end.
    n, length, n_labels = 32, 100, 200
    problem = ChainProblem(
        rng.standard_normal((length, 2)),
        ChainRanges(np.zeros(n), np.full(n, length)),
        ChainModel(n_labels),
        rng.integers(0, n_labels, length),
    )
    state = DualState(problem, 0.1, np.full(n, 1 / n), 0)
    exact_pass(state, STEPS["fw"], True, 1, 10, LATER)
    w, dual = state.w, state.dual
    monkeypatch.setattr(_interruption, "LAST_SECONDS", -1)
    with pytest.raises(KeyboardInterrupt), _interruption.LastMoment():
        state.rebuild()
    np.testing.assert_array_equal(state.w, w)
    assert state.dual == dual
    state.rebuild()
    np.testing.assert_allclose(state.w, w, rtol=0, atol=1e-13 * abs(w).max())


def test_certificate_is_the_primal_and_moves_nothing(rng):
    fit = Fit(rng, 0.1)
    for _ in range(3):
        fit.exact("pairwise", True)
        w, dual = fit.state.w, fit.state.dual
        hinge, exact = full_pass(fit.problem, w, fit.q)
        assert exact
        primal = 0.5 * fit.lam * squared_norm(fit.state.w) + hinge
        assert primal == pytest.approx(fit.primal, rel=1e-13)
        np.testing.assert_array_equal(fit.state.w, w)
        assert fit.state.dual == dual


def test_estimated_gap_is_the_gap_where_nothing_moves(rng):
    # Near the optimum a pass takes no step worth mentioning, so that all gaps are current.
    fit = Fit(rng, 0.3)
    assert fit.state.estimated_gap == np.inf
    for _ in range(3000):
        fit.exact("pairwise", True)
    assert fit.state.estimated_gap >= 0
    fit.state.rebuild()
    gap = fit.primal - fit.state.dual
    assert fit.state.estimated_gap == pytest.approx(gap, abs=1e-9 * fit.primal)


@pytest.mark.parametrize("step, permute, batch", POLICIES)
def test_same_seed_same_bits(new_rng, step, permute, batch):
    def weights(seed):
        fit = Fit(new_rng(3), 0.05, batch=batch, seed=seed)
        for _ in range(3):
            fit.exact(step, permute)
            fit.approximate(False)
        return fit.state.w, fit.state.dual, fit.state.work

    first, again, other = weights(11), weights(11), weights(12)
    np.testing.assert_array_equal(first[0], again[0])
    assert first[1:] == again[1:]
    assert (first[0] != other[0]).any()


@pytest.mark.parametrize("batch", [1, 4])
def test_sampling_without_replacement_visits_each_block_once(rng, batch):
    # After one permuted pass every block has met its oracle; uniform draws miss some.
    fit = Fit(rng, 0.05, n=40, batch=batch)
    fit.exact("pairwise", True)
    assert np.isfinite(fit.state.estimated_gap)
    fit = Fit(rng, 0.05, n=40, batch=batch)
    fit.exact("pairwise", False)
    assert fit.state.estimated_gap == np.inf


@pytest.mark.parametrize("step, permute, batch", POLICIES)
def test_a_deadline_in_the_past_stops_early_with_a_valid_state(rng, step, permute, batch):
    fit = Fit(rng, 0.05, n=100, batch=batch)
    assert fit.exact(step, permute, deadline=seconds() - 1) is False
    # The clock is looked at every 16 visits; the batch under way is finished.
    assert 0 < fit.state.n_oracle_calls <= 20
    dual = fit.check()
    assert fit.exact(step, permute)
    dual_after = fit.check()
    assert dual_after >= dual
    assert fit.approximate(deadline=seconds() - 1) is False
    assert fit.check() >= dual_after - 1e-12 * fit.primal


@pytest.mark.parametrize("batch", [1, 4])
def test_export_and_restore_are_a_round_trip(new_rng, batch):
    fit = Fit(new_rng(5), 0.05, batch=batch)
    for _ in range(4):
        fit.exact("pairwise", True)
        fit.approximate()
    exported = fit.state.export()
    fit.state.rebuild()
    twin = Fit(new_rng(5), 0.05, batch=batch)
    twin.state.restore(exported)
    np.testing.assert_array_equal(twin.state.w, fit.state.w)
    assert twin.state.dual == fit.state.dual
    assert twin.state.n_labelings == fit.state.n_labelings
    for name, values in twin.state.export().items():
        if name != "last_active":
            np.testing.assert_array_equal(values, exported[name], err_msg=name)
    twin.check()
    # Another lam: the same alphas, w rebuilt.
    twin = Fit(new_rng(5), 0.2, batch=batch)
    twin.state.restore(exported)
    np.testing.assert_allclose(twin.w, fit.w / 4, rtol=1e-12)
    twin.check()
    twin.exact("pairwise", True)
    twin.check()


def test_restore_into_a_used_state_forgets_what_was_there(new_rng):
    fit, twin = Fit(new_rng(5), 0.05), Fit(new_rng(5), 0.05, seed=9)
    fit.exact("fw", True)
    for _ in range(3):
        twin.exact("corrective", False)
    fit.state.rebuild()
    twin.state.restore(fit.state.export())
    twin.check()
    np.testing.assert_array_equal(twin.state.w, fit.state.w)


def test_restore_of_the_first_blocks_leaves_the_others_as_they_are(new_rng):
    fit, twin = Fit(new_rng(5), 0.05), Fit(new_rng(5), 0.05)
    fit.exact("pairwise", True)
    exported = fit.state.export()
    m, at = 4, exported["size"][:4].sum()
    first = {
        "size": exported["size"][:m],
        "alpha": exported["alpha"][:at],
        "code": exported["code"][: exported["size"][:m] @ fit.lengths[:m]],
    }
    twin.state.restore(first)
    twin.check()
    kept = twin.state.export()
    np.testing.assert_array_equal(kept["size"], np.r_[first["size"], 1, 1, 1])
    np.testing.assert_array_equal(kept["alpha"], np.r_[first["alpha"], 1, 1, 1])
    assert twin.state.n_labelings == kept["size"].sum()


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda e: {**e, "size": np.append(e["size"], 1)}, "size: the counts do not sum"),
        (lambda e: {**e, "size": e["size"][:0]}, "size: the counts do not sum"),
        (lambda e: {**e, "size": e["size"][:-1]}, "size: the counts do not sum"),
        (lambda e: {**e, "alpha": e["alpha"][:-1]}, "size: the counts do not sum"),
        (
            lambda e: {**e, "code": e["code"][:-1]},
            "are too few for the .* labelings of block 6",
        ),
        (lambda e: {**e, "code": e["code"] + 3}, "block 0: label"),
        (lambda e: {**e, "code": e["code"] - 3}, "block 0: label"),
    ],
)
def test_restore_refuses_what_does_not_fit(rng, change, message):
    fit = Fit(rng, 0.05)
    fit.exact("pairwise", True)
    exported = change(fit.state.export())
    with pytest.raises(ValueError, match=message):
        fit.state.restore(exported)


def test_growing_and_dropping_never_loses_weight(rng):
    # Many labelings a block (no drop), then all idle ones dropped at once.
    fit = Fit(rng, 1e-3, n=5, K=4)
    for _ in range(60):
        fit.exact("fw", True, keep=10**6)
    sizes = fit.state.export()["size"]
    assert sizes.max() > 4  # the memory of a working set has grown several times
    dual = fit.check()
    active = int((fit.state.export()["alpha"] > 0).sum())
    for _ in range(5):
        fit.exact("pairwise", True, keep=10**6)
    assert fit.check() >= dual
    fit.exact("pairwise", True, keep=0)
    fit.check()
    exported = fit.state.export()
    firsts = np.r_[0, np.cumsum(exported["size"])[:-1]]
    idle = np.flatnonzero(exported["alpha"] == 0)
    assert set(idle) <= set(firsts)  # only the truth may stay without weight
    assert fit.state.n_labelings <= active + 2 * fit.problem.n_blocks


@pytest.mark.parametrize("scale", [1e-24, 1e-6, 1e6, 1e15])
@pytest.mark.parametrize("step", STEPS)
def test_features_of_any_scale(rng, step, scale):
    X, lengths = rng.standard_normal((6, 2)) * scale, [1, 2, 3]
    problem = ChainProblem(
        X, ChainRanges([0, 1, 3], lengths), ChainModel(2, False, False, False), [0, 1, 1, 0, 0, 1]
    )
    q = np.full(3, 1 / 3)
    state = DualState(problem, 0.1, q, 0)
    dual = 0.0
    for number in range(1, 6):
        exact_pass(state, STEPS[step], True, number, 10, LATER)
        approximate_pass(state, STEPS[step], True, number, 10, LATER)
        state.rebuild()
        assert np.isfinite(state.dual)
        hinge, _ = full_pass(problem, state.w, q)
        primal = 0.05 * squared_norm(state.w) + hinge
        assert state.dual >= dual - 1e-12 * primal
        dual = state.dual
    alpha = state.export()["alpha"]
    assert (alpha >= 0).all()
    assert abs(alpha.sum() - 3) <= 1e-12


@pytest.mark.parametrize("step", STEPS)
def test_infinite_distances_are_refused(rng, step):
    # They made weights NaN, and a loop without end.
    X = rng.standard_normal((6, 2)) * 1e200
    problem = ChainProblem(X, ChainRanges([0, 1, 3], [1, 2, 3]), ChainModel(3), [0, 1, 1, 2, 0, 1])
    state = DualState(problem, 0.1, np.full(3, 1 / 3), 0)
    with pytest.raises(
        ValueError, match=r"block \d: the squared distance of two .* scale the features"
    ):
        exact_pass(state, STEPS[step], True, 1, 10, LATER)


def test_a_state_needs_a_positive_lam_and_a_weight_for_each_block(rng):
    problem = Fit(rng, 1.0).problem
    for lam in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="lam must be positive"):
            DualState(problem, lam, np.ones(7), 0)
    with pytest.raises(ValueError, match="6 block weights for 7 blocks"):
        DualState(problem, 1.0, np.ones(6), 0)
    state = DualState(problem, 1.0, np.ones(7), -1)  # any integer is a seed
    for w, q in ((state.w[:-1], np.ones(7)), (state.w, np.ones(6))):
        with pytest.raises(ValueError, match="does not fit the problem"):
            full_pass(problem, w, q)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this platform")
def test_a_signal_does_not_wait_for_the_last_oracle_of_a_batch(rng):
    # All blocks are the same rows, and 32 oracles on them take half a second or more.
    n, length, n_labels = 32, 3000, 200
    labels = rng.integers(0, n_labels, length)
    problem = ChainProblem(
        rng.standard_normal((length, 20)),
        ChainRanges(np.zeros(n), np.full(n, length)),
        ChainModel(n_labels),
        labels,
    )
    problem.batch_size = n
    state = DualState(problem, 0.1, np.full(n, 1 / n), 0)

    def interrupt(*_):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            exact_pass(state, STEPS["pairwise"], True, 1, 10, LATER)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert state.n_steps == 0
    assert state.dual == 0


def test_a_block_without_dual_weight_is_an_error_that_names_it(rng):
    fit = Fit(rng, 1e-3, n=3)
    exported = fit.state.export()
    for alpha in (0.0, np.nan):
        exported["alpha"][1] = alpha
        with pytest.raises(
            ValueError, match=r"alpha: (the dual weights of block 1|entry 1 is nan)"
        ):
            fit.state.restore(exported)


def test_the_norm_of_an_empty_vector_is_zero():
    # Windows that share no node have no multipliers; fails on a build with bounds checks.
    assert squared_norm(np.zeros(0)) == 0
