"""Test that weights, dual value and w are consistent after every kind of pass."""

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
from sstruct._solvers.core._full_pass import full_pass
from sstruct._solvers.core._state import DualState, squared_norm
from sstruct._solvers.frank_wolfe import _approximate_pass, _exact_pass
from sstruct._solvers.frank_wolfe._approximate_pass import Sampling
from sstruct._solvers.frank_wolfe.block_coordinate import STEPS
from tests.solvers.small import LATER, Small, alarm, plan, repeated_chain

POLICIES = [
    (step, permute, batch) for step, permute in product(STEPS, [True, False]) for batch in (1, 4)
]


def exact_pass(state, step, permute=True, number=1, keep=10, deadline=LATER):
    sampling = Sampling.PERMUTATION if permute else Sampling.UNIFORM
    of_pass = plan(number, STEPS[step], sampling, keep, deadline)
    return _exact_pass.exact_pass(state, ThreadPool(state.problem), of_pass, False)


def approximate_pass(state, step="pairwise", all_blocks=True, number=1, keep=10, deadline=LATER):
    of_pass = plan(number, STEPS[step], keep=keep, deadline=deadline)
    return _approximate_pass.approximate_pass(state, of_pass, all_blocks)


def after_passes(small, n=4, step="pairwise", **keywords):
    """Return a state after n exact passes, each with an approximate one."""
    state = small.state(**keywords)
    for number in range(1, n + 1):
        exact_pass(state, step, number=number)
        approximate_pass(state, number=number)
    return state


@pytest.mark.parametrize("step, permute, batch", POLICIES)
@settings(max_examples=12)
@given(key=st.integers(0, 2**32 - 1), lam=st.sampled_from([1e-3, 0.05, 1.0, 30.0]))
def test_every_pass_keeps_the_state_consistent(new_rng, step, permute, batch, key, lam):
    """Passes of random kinds, which drop labelings after 0 to 3 passes."""
    rng = new_rng(key)
    small = Small(rng, lam=lam, batch=batch)
    state, number = small.state(key), 0
    dual = small.check(state)
    for _ in range(10):
        keep = int(rng.integers(0, 4))
        if rng.random() < 0.6:
            assert approximate_pass(state, step, bool(rng.integers(2)), max(number, 1), keep)
        else:
            calls, number = state.n_oracle_calls, number + 1
            assert exact_pass(state, step, permute, number, keep)
            assert state.n_oracle_calls == calls + small.problem.n_blocks
        last, dual = dual, small.check(state)
        assert dual >= last - 1e-12 * small.primal(small.flat(state.w))


def test_interrupted_rebuild_does_not_change_the_state(rng, monkeypatch):
    problem = repeated_chain(rng, length=100, n_features=2, n_blocks=32)
    state = DualState(problem, 0.1, np.full(32, 1 / 32), 0)
    exact_pass(state, "fw")
    w, dual = state.w, state.dual
    monkeypatch.setattr(_interruption, "GRACE_CPU_SECONDS", -1)
    with pytest.raises(KeyboardInterrupt), _interruption.GracePeriod():
        state.rebuild()
    np.testing.assert_array_equal(state.w, w)
    assert state.dual == dual
    state.rebuild()
    np.testing.assert_allclose(state.w, w, rtol=0, atol=1e-13 * abs(w).max())


@pytest.mark.parametrize("step, permute, batch", POLICIES)
def test_a_deadline_in_the_past_stops_early_with_a_valid_state(rng, step, permute, batch):
    small = Small(rng, lam=0.05, n=100, batch=batch)
    state = small.state()
    assert exact_pass(state, step, permute, deadline=seconds() - 1) is False
    # The clock is read every 16 visits; the current batch is completed.
    assert 0 < state.n_oracle_calls <= 20
    dual = small.check(state)
    assert exact_pass(state, step, permute, number=2)
    dual_after = small.check(state)
    assert dual_after >= dual
    assert approximate_pass(state, deadline=seconds() - 1, number=2) is False
    assert small.check(state) >= dual_after - 1e-12


@pytest.mark.parametrize("batch", [1, 4])
def test_export_and_restore_are_a_round_trip(new_rng, batch):
    small = Small(new_rng(5), lam=0.05, batch=batch)
    state = after_passes(small)
    exported = state.export()
    state.rebuild()
    twin = small.state()
    twin.restore(exported)
    np.testing.assert_array_equal(twin.w, state.w)
    assert twin.dual == state.dual
    assert twin.n_labelings == state.n_labelings
    for name, values in twin.export().items():
        if name != "last_active":
            np.testing.assert_array_equal(values, exported[name], err_msg=name)
    small.check(twin)
    # Into a state that has had other passes, whose labelings lose their dual weight.
    twin = after_passes(small, step="corrective", seed=9)
    twin.restore(exported)
    np.testing.assert_allclose(twin.w, state.w, rtol=0, atol=1e-14)
    small.check(twin)
    # Another lam: the same alphas, w rebuilt.
    other = Small(new_rng(5), lam=0.2, batch=batch)
    twin = other.state()
    twin.restore(exported)
    np.testing.assert_allclose(twin.w, state.w / 4, rtol=1e-12)
    other.check(twin)
    exact_pass(twin, "pairwise")
    other.check(twin)


def test_restore_of_the_first_blocks_leaves_the_others_as_they_are(rng):
    small = Small(rng, lam=0.05)
    exported = after_passes(small, 1).export()
    m, at = 4, exported["size"][:4].sum()
    first = {
        "size": exported["size"][:m],
        "alpha": exported["alpha"][:at],
        "code": exported["code"][: exported["size"][:m] @ small.problem.code_sizes()[:m]],
    }
    twin = small.state()
    twin.restore(first)
    small.check(twin)
    kept = twin.export()
    np.testing.assert_array_equal(kept["size"], np.r_[first["size"], 1, 1, 1])
    np.testing.assert_array_equal(kept["alpha"], np.r_[first["alpha"], 1, 1, 1])
    assert twin.n_labelings == kept["size"].sum()


@pytest.mark.parametrize(
    "name, change, message",
    [
        ("size", lambda size: np.append(size, 1), "size: the counts do not sum"),
        ("size", lambda size: size[:0], "size: the counts do not sum"),
        ("size", lambda size: size[:-1], "size: the counts do not sum"),
        ("alpha", lambda alpha: alpha[:-1], "size: the counts do not sum"),
        ("alpha", lambda alpha: 0 * alpha, "alpha: the dual weights of block 0"),
        ("alpha", lambda alpha: np.nan * alpha, "alpha: entry 0 is nan"),
        ("code", lambda code: code[:-1], "are too few for the .* labelings of block 6"),
        ("code", lambda code: code + 3, "block 0: label"),
        ("code", lambda code: code - 3, "block 0: label"),
    ],
)
def test_restore_raises_for_arrays_that_do_not_fit(rng, name, change, message):
    state = after_passes(Small(rng, lam=0.05), 1)
    exported = state.export()
    with pytest.raises(ValueError, match=message):
        state.restore({**exported, name: change(exported[name])})


def test_growing_and_dropping_never_loses_weight(rng):
    # Many labelings per block, as none are dropped; then all idle ones are dropped at once.
    small = Small(rng, lam=1e-3, n=5, K=4)
    state = small.state()
    for number in range(1, 61):
        exact_pass(state, "fw", number=number, keep=10**6)
    assert state.export()["size"].max() > 4  # the memory of a working set has grown several times
    dual = small.check(state)
    active = int((state.export()["alpha"] > 0).sum())
    for number in range(61, 66):
        exact_pass(state, "pairwise", number=number, keep=10**6)
    assert small.check(state) >= dual
    exact_pass(state, "pairwise", number=66, keep=0)
    small.check(state)
    exported = state.export()
    firsts = np.r_[0, np.cumsum(exported["size"])[:-1]]
    idle = np.flatnonzero(exported["alpha"] == 0)
    assert set(idle) <= set(firsts)  # only the truth may stay without weight
    assert state.n_labelings <= active + 2 * small.problem.n_blocks


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
        exact_pass(state, step, number=number)
        approximate_pass(state, step, number=number)
        state.rebuild()
        assert np.isfinite(state.dual)
        hinge, _ = full_pass(ThreadPool(problem), state.w, q)
        primal = 0.05 * squared_norm(state.w) + hinge
        assert state.dual >= dual - 1e-12 * primal
        dual = state.dual
    alpha = state.export()["alpha"]
    assert (alpha >= 0).all()
    assert abs(alpha.sum() - 3) <= 1e-12


@pytest.mark.parametrize("step", STEPS)
def test_infinite_distances_raise(rng, step):
    # Without the error, weights would be NaN, and a loop would not end.
    X = rng.standard_normal((6, 2)) * 1e200
    problem = ChainProblem(X, ChainRanges([0, 1, 3], [1, 2, 3]), ChainModel(3), [0, 1, 1, 2, 0, 1])
    state = DualState(problem, 0.1, np.full(3, 1 / 3), 0)
    with pytest.raises(
        ValueError, match=r"block \d: the squared distance of two .* scale the features"
    ):
        exact_pass(state, step)


def test_a_state_requires_a_positive_lam_and_a_weight_for_each_block(rng):
    problem = Small(rng).problem
    for lam in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="lam must be positive"):
            DualState(problem, lam, np.ones(7), 0)
    with pytest.raises(ValueError, match="block_weight has 6 entries, expected 7"):
        DualState(problem, 1.0, np.ones(6), 0)
    state = DualState(problem, 1.0, np.ones(7), -1)  # any integer is a seed
    for w, q in ((state.w[:-1], np.ones(7)), (state.w, np.ones(6))):
        with pytest.raises(ValueError, match=r"w has|block_weight has 6 entries"):
            full_pass(ThreadPool(problem), w, q)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this platform")
def test_a_signal_does_not_wait_for_the_last_oracle_of_a_batch(rng):
    problem = repeated_chain(rng)
    n = problem.batch_size = problem.n_blocks
    state = DualState(problem, 0.1, np.full(n, 1 / n), 0)
    with alarm(), pytest.raises(KeyboardInterrupt):
        exact_pass(state, "pairwise")
    assert state.n_steps == 0
    assert state.dual == 0


def test_the_norm_of_an_empty_vector_is_zero():
    # Windows that share no node have no multipliers; fails on a build with bounds checks.
    assert squared_norm(np.zeros(0)) == 0
