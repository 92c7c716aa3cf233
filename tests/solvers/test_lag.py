"""Concurrent visits use the moves before their lag; results do not depend on threads."""

import itertools
import signal
import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct import ChainSSVM, MulticlassSSVM, MultilabelSSVM
from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._solvers.core._snapshot import snapshot
from sstruct._solvers.core._state import DualState
from sstruct._solvers.frank_wolfe import block_coordinate
from sstruct._solvers.frank_wolfe._approximate_pass import approximate_pass
from sstruct._solvers.frank_wolfe._exact_pass import exact_pass
from sstruct._solvers.frank_wolfe._steps import StepKind
from sstruct._solvers.frank_wolfe.block_coordinate import Lag
from sstruct.datasets import make_sequences
from sstruct.solvers import MPBCFW
from tests.estimators.same_bits import assert_same_bits, check_resuming
from tests.options import solver_with
from tests.solvers.small import BOUNDS, Small, plan
from tests.solvers.test_pass_threads import PROBLEMS

pytestmark = pytest.mark.usefixtures("small_fits_at_once")


def pieces(state):
    """Return the exported arrays of a state by block."""
    kept = state.export()
    ends = np.cumsum(kept["size"])
    codes = np.cumsum(kept["size"] * state.problem.code_sizes())
    return [
        (size, kept["alpha"][end - size : end], kept["code"][code - size * width : code])
        for size, end, code, width in zip(
            kept["size"], ends, codes, state.problem.code_sizes(), strict=True
        )
    ]


def shaken(rng, parts):
    """Return the pieces of a state with slightly different dual weights."""
    alphas = [alpha * (1 + 1e-9 * rng.standard_normal(len(alpha))) for _, alpha, _ in parts]
    return [(size, alpha / alpha.sum(), code) for (size, _, code), alpha in zip(parts, alphas)]


def put_together(small, parts):
    """Return a state with these arrays, whose w is recomputed."""
    sizes, alphas, codes = zip(*parts, strict=True)
    state = small.state()
    state.restore(
        {
            "size": np.array(sizes, dtype=np.int64),
            "alpha": np.concatenate(alphas),
            "code": np.concatenate(codes),
        }
    )
    return state


@given(
    seed=st.integers(0, 2**32),
    lag=st.integers(1, 4),
    n=st.integers(2, 9),
    n_threads=st.integers(1, 3),
    step=st.sampled_from([StepKind.FW, StepKind.PAIRWISE, StepKind.AWAY]),
    box=st.sampled_from(BOUNDS),
)
@settings(max_examples=60, deadline=None)
def test_a_visit_sees_all_moves_but_the_last(seed, lag, n, n_threads, step, box):
    rng = np.random.default_rng(seed)
    small = Small(rng, box=box, n=n)
    state, pool = small.state(), ThreadPool(small.problem, n_threads)
    for number in (1, 2):
        exact_pass(state, pool, plan(number, step=step), False)
    before = pieces(state)
    assert exact_pass(state, pool, plan(3, step, lag=lag), False)
    after, order = pieces(state), snapshot(state)["order"]

    def visited(i, parts):
        alone = put_together(small, parts)
        exact_pass(alone, pool, plan(3, step=step, blocks=(i, i + 1)), False)
        return pieces(alone)[i]

    for place, i in enumerate(order):
        seen = set(order[: max(place - lag, 0)].tolist())
        parts = [after[k] if k in seen else before[k] for k in range(n)]
        size, alpha, code = visited(i, parts)
        others = [visited(i, shaken(rng, parts)) for _ in range(3)]
        if any(len(a) != size or abs(a - alpha).max() > 1e-5 for _, a, _ in others):
            continue  # rounding decides between equal scores
        assert size == after[i][0]
        np.testing.assert_array_equal(code, after[i][2])
        np.testing.assert_allclose(alpha, after[i][1], rtol=0, atol=1e-7)


@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 40),
    step=st.sampled_from(list(StepKind)),
    box=st.sampled_from(BOUNDS),
    average=st.booleans(),
    data=st.data(),
)
@settings(max_examples=40, deadline=None)
def test_state_is_valid_and_independent_of_threads(seed, n, step, box, average, data):
    passes = data.draw(
        st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=1, max_size=6)
    )
    found = []
    for n_threads in (1, 2, 3, 8):
        small = Small(np.random.default_rng(seed), box=box, n=n)
        state, pool = small.state(average=average), ThreadPool(small.problem, n_threads)
        with pool:
            for number, (exact, lag) in enumerate(passes, 1):
                of_pass = plan(number, step, keep=2, lag=lag)
                if exact or number == 1:
                    assert exact_pass(state, pool, of_pass, number > 2)
                else:
                    assert approximate_pass(state, of_pass, number % 2 == 0, pool)
        assert state.estimated == any(lag for _, lag in passes)
        state.measure_dual()
        small.check(state)
        found.append(snapshot(state))
    for other in found[1:]:
        for name, array in found[0].items():
            np.testing.assert_array_equal(other[name], array, err_msg=name)


@pytest.mark.parametrize("name", sorted(PROBLEMS.keys() - {"Python", "slack, Python"}))
def test_the_bits_of_one_thread_in_every_problem(new_rng, name):
    found = []
    for n_threads in (1, 2, 3, 8):
        problem = PROBLEMS[name](new_rng(20))
        n = problem.n_blocks
        bounds = None
        if name in ("maps", "sets by cuts", "slack, bisecting"):  # require weights of one sign
            bounds = np.broadcast_to([[0.0], [np.inf]], (2, problem.n_weights))
        problem.batch_size = 1
        pool = ThreadPool(problem, n_threads)
        state = DualState(problem, 0.1, np.full(n, 1 / n), 0, bounds)
        for number in range(1, 4):
            step = StepKind.PAIRWISE if number < 3 else StepKind.CORRECTIVE
            assert exact_pass(state, pool, plan(number, step, keep=2, lag=2), number > 1)
            assert approximate_pass(state, plan(number, step, keep=2, lag=2), True, pool)
            assert approximate_pass(state, plan(number, step, keep=2, lag=3), False, pool)
        state.measure_dual()
        found.append([state.w, state.dual, state.work, state.n_labelings])
    for other in found[1:]:
        for a, b in zip(other, found[0], strict=True):
            np.testing.assert_array_equal(a, b)


def test_state_is_valid_after_a_deadline(rng):
    small = Small(rng, n=300)
    for n_threads in (1, 2, 4):
        state, pool = small.state(), ThreadPool(small.problem, n_threads)
        late = plan(deadline=0.0, lag=3)
        assert not exact_pass(state, pool, late, False)
        assert 0 < state.n_oracle_calls < 300
        state.measure_dual()
        small.check(state)


def run_passes(state, pool):
    """Run passes until an exception is raised."""
    with pool:
        for number in itertools.count(1):
            exact_pass(state, pool, plan(number, lag=2), False)
            approximate_pass(state, plan(number, lag=2), True, pool)


@contextmanager
def interrupted_after(state, n_calls):
    """Raise a signal from another thread once a state has had `n_calls` oracle calls."""
    over = threading.Event()

    def poll():
        while not over.is_set():
            if state.n_oracle_calls >= n_calls:
                signal.raise_signal(signal.SIGINT)
                return
            time.sleep(1e-4)

    thread = threading.Thread(target=poll)
    try:
        thread.start()
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.usefixtures("sigint")
def test_state_is_valid_after_an_interruption(rng, n_threads):
    small = Small(rng, n=2000)
    pool = ThreadPool(small.problem, n_threads)
    for _ in range(6):
        state = small.state()
        n_calls = int(rng.integers(1, 10_000))
        with interrupted_after(state, n_calls), pytest.raises(KeyboardInterrupt):
            run_passes(state, pool)
        state.measure_dual()
        small.check(state)
        assert state.n_oracle_calls >= n_calls


def test_pool_of_another_problem_raises(rng):
    state = Small(rng).state()
    with pytest.raises(ValueError, match="the pool belongs to another problem"):
        approximate_pass(state, plan(), True, ThreadPool(Small(rng).problem, 2))


def test_lags_out_of_range():
    for lag in (-1, 9):
        with pytest.raises(ValueError, match=f"lag must be between 0 and 8, found {lag}"):
            plan(lag=lag)


class FakeState:
    """A state with a given dual value."""

    def __init__(self):
        self.dual, self.work, self.estimated = 0.0, 0.0, False
        self.problem = self
        self.n_weights = self.n_blocks = 10
        self.oracle_work, self.in_order = 1.0, False

    def measure_dual(self):
        self.dual, self.estimated = self.true, False


def test_lag_depends_on_the_joint_gain_of_visits():
    def learn(lag, *shares):
        for share in shares:
            state.dual, state.true, state.estimated = lag.dual + 1.0, lag.dual + share, True
            state.work += 100.0
            lag.update()
        return lag.now

    state = FakeState()
    for shares, expected in [
        ((), 1),
        ((0.99,), 2),
        ((0.99, 0.98, 0.97), 3),
        ((0.9, 0.9), 1),
        ((0.99, 0.6), 1),
        ((0.5,), 0),
        ((-0.1,), 0),
        ((-0.1, 1.0, 1.0), 0),
    ]:
        lag = Lag(state)
        lag.begin()
        assert learn(lag, *shares) == expected, shares
        again = Lag(state)
        again.resume(lag.notes())
        assert again.notes() == lag.notes()
    # After little work, the dual is only measured if `at_once` is true.
    lag = Lag(state)
    lag.begin()
    state.dual, state.true, state.estimated = lag.dual + 1.0, lag.dual, True
    state.work += 39.0
    lag.update()
    assert state.estimated
    lag.update(at_once=True)
    assert not state.estimated
    assert lag.now == 0


@pytest.mark.parametrize(
    ("n_blocks", "work", "in_order", "expected"),
    [
        (7000, 170, False, True),
        (1800, 43, False, False),
        (40, 2e5, False, False),
        (7000, 170, True, False),
    ],
)
def test_small_fits_go_in_order(monkeypatch, n_blocks, work, in_order, expected):
    monkeypatch.setattr(block_coordinate, "FEWEST_BLOCKS", 100)
    monkeypatch.setattr(block_coordinate, "MIN_WORK", 3e5)
    problem = SimpleNamespace(n_blocks=n_blocks, oracle_work=work, in_order=in_order)
    assert Lag(SimpleNamespace(problem=problem)).most == (
        block_coordinate.MAX_LAG if expected else 0
    )


def alike(n):
    """Return sequences so similar that steps of concurrent visits are too large."""
    rng = np.random.default_rng(0)
    x = [[[1.0, 2.0], [0.5, -1.0]], [[1.0, 1.5], [1.0, -0.5]]]
    y = [[0, 1], [1, 1]]
    which = rng.integers(0, 2, n)
    return [x[k] for k in which], [y[k] if rng.random() < 0.8 else [1, 0] for k in which]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n", [3, 40, 400])
@pytest.mark.parametrize("solver", ["mp-bcfw", "bcfw"])
@pytest.mark.parametrize("lam", [1e-4, 0.01])
def test_dual_never_decreases_for_similar_samples(monkeypatch, n, solver, lam):
    # Visits are concurrent until the dual has decreased.
    for name in ("MAX_LOSS_AT_ONE", "MAX_LOSS", "LITTLE_LOSS"):
        monkeypatch.setattr(block_coordinate, name, 9.0)
    seen = []
    learn = Lag._learn
    monkeypatch.setattr(Lag, "_learn", lambda self, share: (seen.append(share), learn(self, share)))
    for n_jobs in (1, 3):
        model = ChainSSVM(
            lam=lam, solver=solver_with(solver, certificate_every=3), tol=1e-6, max_iter=40,
            n_jobs=n_jobs, random_state=0,
        ).fit(*alike(n))  # fmt: skip
        dual = model.history_["dual"]
        assert (np.diff(dual) >= -1e-12 * dual[1:]).all()
        assert model.dual_gap_ >= 0
    if n > 3 and lam < 0.01:
        assert min(seen) < 0, "the dual never fell"


@given(
    seed=st.integers(0, 2**32), kind=st.sampled_from([ChainSSVM, MulticlassSSVM, MultilabelSSVM])
)
@settings(max_examples=25, deadline=None)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_dual_never_falls(seed, kind):
    rng = np.random.default_rng(seed)
    n, scale = int(rng.integers(2, 60)), 10.0 ** rng.uniform(-1, 1)
    X = scale * (rng.standard_normal((n, 3)) + rng.uniform(0, 3))
    y = rng.integers(0, 2, (n, 3)) if kind is MultilabelSSVM else rng.permutation(np.arange(n) % 2)
    if kind is ChainSSVM:
        X, y = [[row] * 3 for row in X.tolist()], [[label] * 3 for label in y.tolist()]
    lam = 10.0 ** rng.uniform(-5, 0)
    one, two = [
        kind(lam=lam, max_iter=15, tol=1e-7, n_jobs=n_jobs, random_state=0).fit(X, y)
        for n_jobs in (1, 2)
    ]
    assert_same_bits(one, two)
    dual = one.history_["dual"]
    assert (np.diff(dual) >= -1e-10 * dual[1:]).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "solver", ["auto", MPBCFW(step="fw"), "bcfw", MPBCFW(average=True)], ids=str
)
def test_resume_with_another_number_of_threads(tmp_path, monkeypatch, solver):
    X, y = make_sequences(n_samples=90, random_state=0)
    model = ChainSSVM(lam=0.01, tol=1e-4, max_iter=14, random_state=0, solver=solver)
    path = tmp_path / "fit.npz"
    kept = check_resuming(model, X, y, path, monkeypatch, least=8)
    whole = model.fit(X, y)
    for content, n_jobs in zip(kept[::4], (2, 3, 4, 8), strict=False):
        path.write_bytes(content)
        model.set_params(n_jobs=n_jobs, solver=solver_with(model.solver, checkpoint=path))
        assert_same_bits(ChainSSVM(**model.get_params(deep=False)).fit(X, y), whole)
