"""Compare batch Frank-Wolfe, subgradient and cutting-plane solvers with definitions and a QP."""

import signal
import sys
import warnings
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from sstruct._kernels._clock import seconds
from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._solvers.baselines import cutting_plane, plane_qp
from sstruct._solvers.baselines._batch_pass import Plane
from sstruct._solvers.baselines.batch_frank_wolfe import BatchFrankWolfe
from sstruct._solvers.baselines.cutting_plane import CuttingPlaneFit
from sstruct._solvers.core import solver
from sstruct._solvers.core.progress import Bar
from sstruct._solvers.core.solver import Options, Setup
from sstruct._solvers.online._perceptron_pass import PerceptronState
from sstruct._solvers.online._subgradient_pass import SubgradientState
from sstruct._solvers.online.subgradient import StochasticSubgradient
from sstruct._testing._enumerated import EnumeratedProblem
from sstruct.chain import ChainSSVM
from sstruct.solvers import GDMM, Subgradient
from tests.estimators.chain.test_chain_fit import HISTORY, long_chains
from tests.reference import brute_force, dual_qp
from tests.solvers.small import Small, alarm, repeated_chain

SOLVERS = {"fw": BatchFrankWolfe, "ssg": StochasticSubgradient, "cutting-plane": CuttingPlaneFit}
LATER = float("inf")
# Options with which each solver reaches the optimum; fw and ssg converge sublinearly.
TIGHT = {
    "fw": dict(tol=1e-3, max_iter=50_000),
    "ssg": dict(max_iter=20_000, certificate_every=20_000),
    "cutting-plane": dict(tol=1e-7, max_iter=1000),
}


class Case(Small):
    """Random chains, with methods to run solvers on them."""

    @property
    def d(self):
        return self.terms[0].phi.shape[1]

    def padded(self, box):
        return self.problem.layout.padded_bounds(box)

    def solve(self, name, lam, box=None, **options):
        bounds = None if box is None else self.padded(box)
        options = Options(**{**TIGHT[name], **options})
        return SOLVERS[name](Setup(self.problem, lam, self.q, options, bounds)).solve()

    def plane(self, answers):
        """Return the weighted sums of psi and loss over one labeling per block."""
        at = [block.labelings.index(tuple(y)) for block, y in zip(self.terms, answers, strict=True)]
        psi = sum(q * block.psi[k] for q, block, k in zip(self.q, self.terms, at))
        return psi, sum(q * block.loss[k] for q, block, k in zip(self.q, self.terms, at))

    def answer(self, i, w):
        return self.problem.best_code(i, self.problem.layout.padded(w))[0].tolist()


def boxes(rng, d):
    """Return random bounds of all kinds: around 0, not containing 0, one-sided, none, equal."""
    lower, upper = np.full(d, -np.inf), np.full(d, np.inf)
    kind = rng.integers(0, 5, d)
    lower[kind == 0], upper[kind == 0] = -0.05, 0.1
    lower[kind == 1], upper[kind == 1] = 0.02, 0.3
    upper[kind == 2] = 0.05
    lower[kind == 4] = upper[kind == 4] = -0.03
    return np.array([lower, upper])


def check(solution, case, lam, name, box=None):
    """Compare primal, bounds and certificate with their definitions and the QP."""
    w = case.flat(solution.w)
    primal = brute_force.primal(w, lam, case.terms)
    assert solution.primal == pytest.approx(primal, rel=1e-12)
    assert solution.exact
    if box is not None:
        assert (w >= box[0]).all()
        assert (w <= box[1]).all()
    best, _ = dual_qp.optimum(case.terms, lam, box)
    assert best <= solution.primal + 1e-9
    if name == "ssg":
        assert np.isnan(solution.dual)
        assert np.isnan(solution.gap)
    else:
        assert solution.dual <= best + 1e-9
        assert solution.gap == max(solution.primal - solution.dual, 0)
    return best


@pytest.mark.parametrize("bounded", [False, True], ids=["free", "bounded"])
@pytest.mark.parametrize("key, lam", [(0, 0.3), (1, 1.0), (2, 0.3)])
@pytest.mark.parametrize("name", SOLVERS)
def test_optimum(new_rng, name, lam, bounded, key):
    rng = new_rng(key)
    case = Case(rng)
    box = boxes(rng, case.d) if bounded else None
    solution = case.solve(name, lam, box)
    best = check(solution, case, lam, name, box)
    assert solution.status == ("MAX_ITER" if name == "ssg" else "CONVERGED")
    error = 1e-6 if name == "cutting-plane" else 1e-3
    assert solution.primal <= best * (1 + error)
    if name != "ssg":
        assert solution.dual >= best * (1 - error)


@pytest.mark.parametrize("bounded", [False, True], ids=["free", "bounded"])
@pytest.mark.parametrize("name", SOLVERS)
def test_any_problem_and_weights_that_sum_to_less_than_one(rng, name, bounded):
    d, sizes, lam = 5, np.array([1, 2, 4, 7, 3]), 0.5
    offsets = np.r_[0, np.cumsum(sizes)]
    planes, losses = rng.standard_normal((offsets[-1], d)), rng.random(offsets[-1])
    planes[offsets[:-1]], losses[offsets[:-1]] = 0, 0
    q = rng.random(len(sizes)) / len(sizes)
    blocks = [slice(first, after) for first, after in pairwise(offsets)]
    terms = [
        brute_force.Block(i, [], -planes[block], losses[block], 0, q[i])
        for i, block in enumerate(blocks)
    ]
    box = boxes(rng, d) if bounded else None
    options = Options(**TIGHT[name])
    problem = EnumeratedProblem(planes, losses, offsets)
    solution = SOLVERS[name](Setup(problem, lam, q, options, box)).solve()
    best, _ = dual_qp.optimum(terms, lam, box)
    assert solution.primal == pytest.approx(brute_force.primal(solution.w, lam, terms), rel=1e-12)
    error = 1e-6 if name == "cutting-plane" else 1e-3
    assert best - 1e-9 <= solution.primal <= best * (1 + error)
    if name != "ssg":
        assert best * (1 - error) <= solution.dual <= best + 1e-9


@settings(max_examples=25)
@given(
    key=st.integers(0, 2**32 - 1),
    name=st.sampled_from(list(SOLVERS)),
    lam=st.sampled_from([0.01, 0.1, 3.0]),
    bounded=st.booleans(),
    max_iter=st.integers(1, 12),
)
def test_every_certificate_holds(new_rng, key, name, lam, bounded, max_iter):
    rng = new_rng(key)
    case = Case(rng)
    box = boxes(rng, case.d) if bounded else None
    solution = case.solve(name, lam, box, max_iter=max_iter, certificate_every=1)
    best = check(solution, case, lam, name, box)
    history = solution.history
    assert list(history) == HISTORY
    assert history["passes"].tolist() == list(range(1, solution.n_passes + 1))
    assert (history["oracle_calls"] == history["passes"] * len(case.q)).all()
    assert history["oracle_calls"][-1] == solution.n_oracle_calls
    assert (history["primal"] >= best - 1e-9).all()
    assert history["primal"][-1] == solution.primal
    np.testing.assert_array_equal(
        history["gap"], np.maximum(history["primal"] - history["dual"], 0)
    )
    if name == "ssg":
        assert np.isnan(history["dual"]).all()
    else:
        assert (history["dual"] <= best + 1e-9).all()
        assert (np.diff(history["dual"]) >= -1e-12 * history["primal"][1:]).all()
    if name == "cutting-plane":
        assert (np.diff(history["primal"]) <= 0).all()
        np.testing.assert_array_equal(history["working_set_size"][:-1], history["passes"][:-1])
    else:
        assert not history["working_set_size"].any()


@pytest.mark.parametrize("bounded", [False, True], ids=["free", "bounded"])
def test_batch_frank_wolfe_by_its_definition(rng, bounded):
    case, lam = Case(rng), 0.05
    box = boxes(rng, case.d) if bounded else np.array([[-np.inf], [np.inf]])
    v, ell = np.zeros(case.d), 0.0
    for n_passes in range(1, 9):
        w = np.clip(v, *box)
        psi, loss = case.plane([case.answer(i, w) for i in range(len(case.q))])
        # The dual with bounds has the linear part ell - lam <w, v>; its gradient in v is -lam w.
        slope = loss - ell - lam * w @ (psi / lam - v)
        gamma = min(slope / (lam * np.sum((psi / lam - v) ** 2)), 1)
        v, ell = v + gamma * (psi / lam - v), ell + gamma * (loss - ell)
        w = np.clip(v, *box)
        dual = ell - lam * w @ v + lam / 2 * w @ w
        solution = case.solve("fw", lam, box if bounded else None, max_iter=n_passes)
        np.testing.assert_allclose(case.flat(solution.w), w, rtol=0, atol=1e-12)
        assert solution.dual == pytest.approx(dual, rel=1e-10)
    assert gamma < 1  # some steps are not full steps


@pytest.mark.parametrize("bounded", [False, True], ids=["free", "bounded"])
def test_subgradient_by_its_definition(rng, bounded):
    # The update of the papers or, with bounds, of dual averaging.
    case, lam, n = Case(rng), 0.05, 7
    box = boxes(rng, case.d) if bounded else None
    start = case.problem, lam, n * case.q, case.padded(box) if bounded else None
    state = SubgradientState(*start)
    w = np.zeros(case.d) if box is None else np.clip(np.zeros(case.d), *box)
    for iterate in (state.last, state.average):
        np.testing.assert_array_equal(case.flat(iterate), w)
    order = rng.integers(0, n, 40)
    mean, average = np.zeros(case.d), np.zeros(case.d)
    for t, i in enumerate(order.tolist(), start=1):
        block = case.terms[i]
        psi = block.psi[block.labelings.index(tuple(case.answer(i, w)))]
        mean = (1 - 1 / t) * mean + n * case.q[i] / (lam * t) * psi
        w = mean if box is None else np.clip(mean, *box)
        average = (1 - 2 / (t + 1)) * average + 2 / (t + 1) * w
        assert state.run(np.array([i], dtype=np.intp), LATER)
        np.testing.assert_allclose(case.flat(state.last), w, rtol=0, atol=1e-12)
        np.testing.assert_allclose(case.flat(state.average), average, rtol=0, atol=1e-12)
    together = SubgradientState(*start)
    assert together.run(order.astype(np.intp), LATER)
    assert together.n_steps == 40
    np.testing.assert_array_equal(together.last, state.last)
    np.testing.assert_array_equal(together.average, state.average)


@pytest.mark.parametrize("sampling", ["uniform", "permutation"])
def test_subgradient_keeps_its_rate(rng, sampling):
    # The expected excess of the average after T steps is at most 2 B^2 / (lam (T + 1)), where B is
    # the largest norm of a subgradient. B is at most twice the largest norm of a subgradient of a
    # hinge loss, since lam |w_t| is at most the latter.
    case, lam = Case(rng), 0.1
    best, _ = dual_qp.optimum(case.terms, lam)
    n = len(case.q)
    norm = 2 * max(
        n * q * np.linalg.norm(block.psi, axis=1).max() for q, block in zip(case.q, case.terms)
    )
    for max_iter in (1, 10, 100, 1000):
        options = dict(max_iter=max_iter, sampling=sampling)
        primals = [case.solve("ssg", lam, seed=seed, **options).primal for seed in range(10)]
        excess = np.mean(primals) - best
        assert 0 <= excess <= 2 * norm**2 / (lam * (n * max_iter + 1))


def test_subgradient_returns_the_better_iterate(rng):
    case, lam, taken = Case(rng), 0.1, set()
    for seed in range(30):
        options = Options(max_iter=1 + seed % 5, seed=seed)
        fit = StochasticSubgradient(Setup(case.problem, lam, case.q, options))
        solution = fit.solve()
        primals = {
            name: brute_force.primal(case.flat(w), lam, case.terms)
            for name, w in (("last", fit.state.last), ("average", fit.state.average))
        }
        assert solution.primal == pytest.approx(min(primals.values()), rel=1e-12)
        taken.add(min(primals, key=primals.get))
    assert taken == {"last", "average"}


def test_cutting_plane_removes_inactive_planes(rng, monkeypatch):
    case = Case(rng)
    kept = case.solve("cutting-plane", 0.01)
    monkeypatch.setattr(cutting_plane, "KEEP", 5)
    solution = case.solve("cutting-plane", 0.01)
    best = check(solution, case, 0.01, "cutting-plane")
    assert solution.primal <= best * (1 + 1e-6)
    size = solution.history["working_set_size"]
    assert (np.diff(size) < 0).any()
    assert size[-1] < kept.history["working_set_size"][-1]


def test_bounds_are_valid_with_an_inaccurate_qp_solver(rng, monkeypatch):
    case, accurate, bound, bounds = Case(rng), cutting_plane.simplex_qp, CuttingPlaneFit._bound, []

    def rough(gram, loss, lam):
        return 0.7 * accurate(gram, loss, lam) + 0.3 * rng.dirichlet(np.ones(len(loss)))

    def recorded(self, beta):
        w, dual = bound(self, beta)
        bounds.append(dual)
        return w, dual

    monkeypatch.setattr(cutting_plane, "simplex_qp", rough)
    monkeypatch.setattr(CuttingPlaneFit, "_bound", recorded)
    solution = case.solve("cutting-plane", 0.1, max_iter=30)
    best = check(solution, case, 0.1, "cutting-plane")
    assert max(bounds) <= best
    assert min(np.diff(bounds)) < 0
    dual, greatest = solution.history["dual"], np.maximum.accumulate(bounds)
    np.testing.assert_array_equal(dual[:-1], greatest[: len(dual) - 1])
    assert dual[-1] == solution.dual == greatest[-1]


@pytest.mark.parametrize("bounded", [False, True], ids=["free", "bounded"])
def test_cutting_plane_stalls_if_no_plane_is_violated(rng, bounded):
    case = Case(rng)
    box = boxes(rng, case.d) if bounded else None
    solution = case.solve("cutting-plane", 0.1, box, tol=0)
    check(solution, case, 0.1, "cutting-plane", box)
    assert solution.status in ("STALLED", "CONVERGED")
    assert solution.gap <= 1e-8 * solution.primal


def test_planes_by_their_definition(rng):
    case = Case(rng)
    plane = Plane(case.problem.n_weights)
    for _ in range(3):
        w = rng.standard_normal(case.d)
        assert plane.compute(ThreadPool(case.problem), case.problem.layout.padded(w), case.q, LATER)
        psi, loss = case.plane([case.answer(i, w) for i in range(len(case.q))])
        np.testing.assert_allclose(case.flat(plane.psi), psi, rtol=0, atol=1e-14)
        assert plane.loss == pytest.approx(loss, rel=1e-14)
        hinge = brute_force.primal(w, 0.0, case.terms)
        assert plane.hinge == pytest.approx(hinge, rel=1e-13)
        assert (plane.n_calls, plane.exact) == (len(case.q), True)


def test_passes_validate_shapes_and_orders(rng):
    case = Case(rng)
    d, n = case.problem.n_weights, len(case.q)
    for size, w, q in ((d, d - 1, n), (d - 1, d, n), (d, d, n + 1)):
        with pytest.raises(ValueError, match=f"expected {d}|block_weight has {n + 1} entries"):
            Plane(size).compute(ThreadPool(case.problem), np.zeros(w), np.ones(q), LATER)
    with pytest.raises(ValueError, match=f"step_weight has {n + 1} entries"):
        SubgradientState(case.problem, 1.0, np.ones(n + 1))
    for shape in ((2, d + 1), (1, d)):
        with pytest.raises(ValueError, match="bounds have shape"):
            SubgradientState(case.problem, 1.0, case.q, np.zeros(shape))
    for order in ([0, n], [-1, 0]):
        with pytest.raises(IndexError, match=f"expected 0 to {n - 1}"):
            SubgradientState(case.problem, 1.0, case.q).run(np.array(order, np.intp), LATER)


def new_state(kind, problem):
    """Return a new state of a solver that visits one block after another."""
    n = problem.n_blocks
    if kind == "perceptron":
        return PerceptronState(problem, np.ones(n))
    return SubgradientState(problem, 0.1, np.ones(n))


def test_a_deadline_in_the_past_stops_early(rng):
    case = Case(rng, n=100)
    plane = Plane(case.problem.n_weights)
    w = np.zeros(case.problem.n_weights)
    assert plane.compute(ThreadPool(case.problem), w, case.q, seconds() - 1) is False
    assert 0 < plane.n_calls <= 20
    for kind in ("subgradient", "perceptron"):
        state = new_state(kind, case.problem)
        assert state.run(np.arange(100), seconds() - 1) is False
        assert 0 < state.n_steps <= 20
        assert state.run(np.arange(100), LATER) is True


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this platform")
@pytest.mark.parametrize("kind", ["subgradient", "perceptron"])
def test_a_signal_leaves_whole_visits(rng, kind):
    problem = repeated_chain(rng)
    state, order = new_state(kind, problem), np.arange(problem.n_blocks, dtype=np.intp)
    with alarm(), pytest.raises(KeyboardInterrupt):
        state.run(order, LATER)
    assert state.n_steps < problem.n_blocks
    # A second state that stops at the same step is equal.
    twin = new_state(kind, problem)
    assert twin.run(order[: state.n_steps], LATER)
    np.testing.assert_array_equal(twin.average, state.average)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this platform")
def test_a_signal_does_not_wait_for_the_end_of_a_batch(rng):
    problem = repeated_chain(rng)
    plane, w = Plane(problem.n_weights), np.zeros(problem.n_weights)
    with alarm(), pytest.raises(KeyboardInterrupt):
        plane.compute(ThreadPool(problem), w, np.ones(problem.n_blocks), LATER)
    assert plane.n_calls < problem.n_blocks


# Tests of the estimator.


@pytest.mark.parametrize("bounded", [False, True], ids=["free", "bounded"])
@pytest.mark.parametrize("name", SOLVERS)
def test_estimator(rng, name, bounded):
    case = Case(rng, lam=0.3)
    box, options = boxes(rng, case.d) if bounded else None, dict(TIGHT[name])
    if name == "ssg":
        every = options.pop("certificate_every")
        options["solver"] = Subgradient(certificate_every=every)
    model = ChainSSVM(
        pairwise_scale=1, lam=0.3, loss="hamming", bounds=box, classes=range(3), random_state=0,
        **{"solver": name} | options,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(case.X, case.y, case.weights)
    assert model.solver_ == name
    assert list(model.history_) == HISTORY
    best, _ = dual_qp.optimum(case.terms, 0.3, box)
    assert model.objective_ == pytest.approx(best, rel=1e-3)
    assert model.objective_ == pytest.approx(case.primal(model.w_), rel=1e-12)
    if bounded:
        assert (model.w_ >= box[0]).all()
        assert (model.w_ <= box[1]).all()
    assert model.converged_ == (name != "ssg")
    assert model.status_ == ("MAX_ITER" if name == "ssg" else "CONVERGED")
    assert np.isnan(model.dual_gap_) == (name == "ssg")
    assert not hasattr(model, "_warm_state")


@pytest.mark.parametrize("name", SOLVERS)
def test_only_solvers_with_a_gap_warn_about_it(rng, name):
    case = Case(rng)
    model = ChainSSVM(lam=0.01, solver=name, max_iter=2, tol=1e-6)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(case.X, case.y)
    assert model.status_ == "MAX_ITER"
    assert [w.category for w in caught] == ([] if name == "ssg" else [ConvergenceWarning])
    assert all(w.filename == __file__ for w in caught)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "solver",
    [Subgradient(), Subgradient(sampling="uniform"), "perceptron", "pa", GDMM(parts=2)],
    ids=str,
)
def test_same_bits_for_a_random_state(rng, solver):
    case = Case(rng, n=20)
    first, again, other = (
        ChainSSVM(solver=solver, max_iter=4, random_state=seed, n_jobs=n_jobs).fit(case.X, case.y)
        for seed, n_jobs in ((0, 1), (0, 2), (1, 1))
    )
    assert first.w_.tobytes() == again.w_.tobytes() != other.w_.tobytes()


WARM, SLACK = {"warm_start": True}, {"rescaling": "slack"}
UNSUPPORTED = [
    *product(SOLVERS, [WARM, {"warm_start": "dual"}]),
    *product(["perceptron", "pa"], [WARM, SLACK, {"lam": 0.1}]),
    *product(["gdmm"], [WARM, SLACK, {"bounds": np.array([[-1.0], [1.0]])}]),
]


@pytest.mark.parametrize("name, parameter", UNSUPPORTED, ids=str)
def test_unsupported_parameters_raise_an_error(rng, name, parameter):
    case = Case(rng)
    model = ChainSSVM(solver=name, max_iter=1, **parameter)
    with pytest.raises(ValueError, match=f"(?s)^{next(iter(parameter))}=.* solver='{name}'"):
        model.fit(case.X, case.y)
    assert not hasattr(model, "status_")


def test_error_without_qp_solver(rng, monkeypatch):
    case = Case(rng)
    monkeypatch.setitem(sys.modules, "clarabel", None)
    model = ChainSSVM(solver="cutting-plane")
    with pytest.raises(ImportError, match=r"sstruct\[cutting-plane\]"):
        model.fit(case.X, case.y)
    assert not hasattr(model, "status_")
    for name in ("fw", "ssg"):  # these solvers do not need it
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ChainSSVM(solver=name, max_iter=2).fit(case.X, case.y)


@pytest.mark.parametrize("name", [*SOLVERS, "mp-bcfw"])
def test_max_time(rng, name):
    X, y = long_chains(rng)
    model = ChainSSVM(lam=1e-4, tol=0, max_iter=10**6, max_time=0.2, solver=name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert model.status_ == "TIME_LIMIT"
    assert 0.2 <= model.history_["seconds"][-1] < 2
    assert np.isfinite(model.objective_)
    assert model.history_["primal"][-1] == model.objective_
    assert len(model.history_["passes"]) == model.n_iter_


@pytest.mark.parametrize("name", SOLVERS)
def test_a_second_interruption_only_skips_the_certificate(rng, monkeypatch, name):
    def interrupted(*arguments, **more):
        raise KeyboardInterrupt

    case = Case(rng)
    monkeypatch.setattr(solver, "full_pass", interrupted)
    fit = SOLVERS[name](Setup(case.problem, 0.1, case.q, Options(max_iter=1, tol=0)))
    solution = fit.solve()
    assert solution.status == "INTERRUPTED"
    assert isinstance(solution.interruption, KeyboardInterrupt)
    primal = brute_force.primal(case.flat(solution.w), 0.1, case.terms)
    # The primal belongs to w, or is unknown.
    assert solution.primal in (np.inf, pytest.approx(primal))
    assert (solution.primal == np.inf) == (name != "cutting-plane")
    assert solution.history["passes"].tolist() == [1]
    if name == "ssg":
        np.testing.assert_array_equal(solution.w, fit.state.average)


@pytest.mark.parametrize("name", SOLVERS)
def test_lines_of_progress(rng, name, caplog):
    case = Case(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ChainSSVM(lam=0.01, solver=name, max_iter=3, tol=0, verbose=2).fit(case.X, case.y)
    assert len(caplog.messages) == 3
    what = "no duality gap" if name == "ssg" else "estimated relative gap"
    assert caplog.messages[-1].startswith(f"{name}, pass 3: {what}")


def test_bar_without_a_gap_counts_passes():
    pytest.importorskip("tqdm")
    with Bar("ssg", 1e-2, 4) as bar:
        bar.update(1, float("nan"))
        assert bar.bar.n == 0.25
        bar.update(5, float("nan"))
        assert bar.bar.n == 1
        assert "no gap" in str(bar.bar)
        assert "fit (ssg)" in str(bar.bar)


@pytest.mark.parametrize("certificate_every", [1, 3])
@pytest.mark.parametrize("name", SOLVERS)
def test_callbacks_see_the_certificate_of_their_pass(rng, name, certificate_every):
    case, lam, rows = Case(rng), 0.05, []

    def callback(info, solution):
        now = solution()
        w = case.flat(now.w)
        if np.isnan(info["primal"]):
            assert name == "ssg"
            assert np.isnan(now.primal)
        else:
            primal = brute_force.primal(w, lam, case.terms)
            assert now.primal == info["primal"] == pytest.approx(primal, rel=1e-12)
        rows.append(info["passes"])
        return len(rows) == 4

    options = Options(tol=0, certificate_every=certificate_every)
    solution = SOLVERS[name](Setup(case.problem, lam, case.q, options, callback=callback)).solve()
    assert solution.status == "STOPPED_BY_CALLBACK"
    assert rows == solution.history["passes"].tolist() == [1, 2, 3, 4]
    primal = brute_force.primal(case.flat(solution.w), lam, case.terms)
    assert solution.primal == solution.history["primal"][-1] == pytest.approx(primal, rel=1e-12)


def test_a_signal_ends_the_qp_solver_between_its_steps(rng, monkeypatch):
    if not hasattr(plane_qp.qp_solver().DefaultSolver, "set_termination_callback"):
        pytest.skip("this version of clarabel does not support callbacks")
    calls = []

    class Interrupted:
        error = None

        def __call__(self, info):
            calls.append(info)
            self.error = KeyboardInterrupt() if len(calls) == 2 else None
            return self.error is not None

    psi, loss = rng.standard_normal((6, 4)), rng.random(6)
    undisturbed = plane_qp.simplex_qp(psi @ psi.T, loss, 0.1)
    with monkeypatch.context() as patch:
        patch.setattr(plane_qp, "TerminationCallback", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            plane_qp.simplex_qp(psi @ psi.T, loss, 0.1)
    assert len(calls) == 2
    np.testing.assert_array_equal(plane_qp.simplex_qp(psi @ psi.T, loss, 0.1), undisturbed)
