"""Test optima, certificates and reproducibility of slack rescaling with every solver."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct._problems.slack._slack_problem import SlackProblem
from sstruct._solvers.baselines.batch_frank_wolfe import BatchFrankWolfe
from sstruct._solvers.baselines.cutting_plane import CuttingPlaneFit
from sstruct._solvers.core._snapshot import resume, snapshot
from sstruct._solvers.core.solver import Options, Setup
from sstruct._solvers.core.status import Status
from sstruct._solvers.online.subgradient import StochasticSubgradient
from sstruct._testing._enumerated import EnumeratedProblem
from tests.reference.brute_force import slack_terms
from tests.solvers.small import BOUNDS, Small
from tests.solvers.test_family import BOXES, OPTIONS, STEPS, check_bracket, check_passes, solver


class SmallSlack(Small):
    """A small problem under slack rescaling; with `planes` its labelings are enumerated."""

    def __init__(self, rng, search="auto", planes=False, batch=1, **keywords):
        self.planes = False
        super().__init__(rng, batch=batch, **keywords)
        self.terms = slack_terms(self.terms)
        problem = self.problem
        if planes:
            # The true labeling is first; weights are in the order of the reference.
            order = [
                np.r_[block.truth, np.delete(np.arange(len(block.loss)), block.truth)]
                for block in self.terms
            ]
            loss = [block.loss[rows] for block, rows in zip(self.terms, order)]
            psi = [
                np.divide(block.psi[rows], losses[:, np.newaxis], where=losses[:, np.newaxis] > 0,
                          out=np.zeros_like(block.psi))
                for block, rows, losses in zip(self.terms, order, loss)
            ]  # fmt: skip
            self.terms = [
                replace(block, labelings=[(k,) for k in range(len(rows))], phi=block.phi[rows],
                        loss=block.loss[rows], truth=0)
                for block, rows in zip(self.terms, order)
            ]  # fmt: skip
            offsets = np.r_[0, np.cumsum([len(rows) for rows in order])]
            problem = EnumeratedProblem(
                np.concatenate(psi), np.concatenate(loss), offsets, batch_size=batch
            )
            self.place = np.arange(problem.n_weights)
        self.problem = SlackProblem(problem, search)
        self.problem.batch_size = batch

        self.planes = planes

    def flat(self, w):
        return np.asarray(w) if self.planes else super().flat(w)


FORMS = ("table", "classes", "product", "angular")


def certify(small, solution):
    """Check the primal and dual values of a solution by enumeration; return the primal."""
    w = small.flat(solution.w)
    primal = small.primal(w)
    if solution.exact:
        assert solution.primal == pytest.approx(primal, rel=1e-9)
    assert solution.primal >= primal * (1 - 1e-12)
    assert not solution.dual > primal * (1 + 1e-12)
    return primal


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("multi_plane", [False, True], ids=["bcfw", "mp-bcfw"])
@pytest.mark.parametrize("sampling", ["permutation", "gap"])
@pytest.mark.parametrize("step", STEPS)
def test_the_optimum(rng, step, sampling, multi_plane, form):
    # Each box is combined with every step and with every form.
    box = BOXES[(STEPS.index(step) + FORMS.index(form)) % 3]
    tol = 1e-3 if step == "fw" else 1e-7
    options = Options(
        multi_plane=multi_plane, step=step, sampling=sampling, cache=sampling == "gap", tol=tol,
        max_iter=100_000,
    )  # fmt: skip
    small = SmallSlack(
        rng,
        "angular" if form == "angular" else "product",
        form in ("product", "angular"),
        kind="multiclass" if form == "classes" else "chain",
        lam=0.2,
        box=box,
    )
    best = small.optimum()
    run = solver(small, options)
    solution = run.solve()
    assert solution.status is Status.CONVERGED
    assert solution.exact
    certify(small, solution)
    small.check(run.state)
    check_bracket(solution, best, step)
    queries = solution.history["queries"]
    assert (np.diff(queries) >= 0).all()
    if form != "angular":
        assert queries[-1] == solution.n_oracle_calls


@pytest.mark.parametrize("box", ["free", "mixed"])
@pytest.mark.parametrize("kind", ["fw", "cutting-plane", "ssg"])
def test_baselines(rng, kind, box):
    small = SmallSlack(rng, lam=0.5, box=box)
    bounds = None
    if small.boxed:
        bounds = np.full((2, small.problem.n_weights), [[-np.inf], [np.inf]])
        bounds[:, small.place] = small.bounds
    solvers = {
        "fw": BatchFrankWolfe,
        "cutting-plane": CuttingPlaneFit,
        "ssg": StochasticSubgradient,
    }
    options = Options(
        tol=1e-7 if kind == "cutting-plane" else 1e-3,
        max_iter=2000 if kind == "ssg" else 100_000,
        certificate_every=100,
    )
    solution = solvers[kind](Setup(small.problem, 0.5, small.q, options, bounds)).solve()
    certify(small, solution)
    best = small.optimum()
    assert solution.primal >= best * (1 - 1e-8)
    if kind == "cutting-plane":
        assert solution.primal == pytest.approx(best, rel=1e-6)
        assert solution.dual == pytest.approx(best, rel=1e-6)
    elif kind == "fw":
        assert solution.status is Status.CONVERGED
        assert solution.primal - best <= 1e-3 * solution.primal
    else:
        assert solution.primal == pytest.approx(best, rel=5e-3)


SEARCHES = st.tuples(st.sampled_from(["auto", "bisecting", "binary"]), st.booleans())
SEARCHES |= st.just(("angular", True))


@settings(max_examples=100)
@given(
    options=OPTIONS,
    key=st.integers(0, 2**32 - 1),
    lam=st.sampled_from([1e-2, 0.05, 1.0]),
    search=SEARCHES,
    box=st.sampled_from(BOUNDS),
    batch=st.sampled_from([1, 3]),
)
def test_every_pass_leaves_a_valid_state(new_rng, options, key, lam, search, box, batch):
    small = SmallSlack(new_rng(key), *search, lam=lam, box=box, batch=batch)
    _, solution = check_passes(small, options, key, certify)
    certify(small, solution)


@pytest.mark.parametrize("search", ["bisecting", "binary"])
@pytest.mark.parametrize("planes", [False, True])
def test_searches_that_are_not_exact_bound_the_optimum(rng, search, planes):
    n_inexact = 0
    for _ in range(6):
        small = SmallSlack(rng, search, planes, lam=0.2, n=12)
        options = Options(tol=1e-5, max_iter=10_000)
        solution = solver(small, options).solve()
        certify(small, solution)
        best = small.optimum()
        assert solution.dual <= best * (1 + 1e-8)
        assert solution.primal >= best * (1 - 1e-8)
        assert solution.status is (Status.CONVERGED if solution.gap <= 1e-5 * solution.primal
                                   else Status.STALLED)  # fmt: skip
        n_inexact += not solution.exact
    # Bisecting searches visit all labelings of these chains by rank if necessary.
    assert (n_inexact == 0) == (search == "bisecting" and not planes)


@pytest.mark.parametrize("seed", range(5))
def test_batch_steps_use_the_labelings_found(new_rng, seed):
    # The certificate's bound would make steps too long, and the dual fall.
    small = SmallSlack(new_rng(seed), "bisecting", True, lam=0.05, n=12)
    options = Options(tol=0, max_iter=150)
    solution = BatchFrankWolfe(Setup(small.problem, 0.05, small.q, options)).solve()
    dual, primal = solution.history["dual"], solution.history["primal"]
    assert (np.diff(dual) >= -1e-12 * primal.max()).all()
    assert solution.dual <= small.optimum() <= primal.min() * (1 + 1e-8)


def test_batch_steps_stall_if_only_the_bound_has_a_gap(rng):
    n_stalled = 0
    for _ in range(4):
        small = SmallSlack(rng, "bisecting", True, lam=0.02, n=12)
        options = Options(tol=1e-2, max_iter=100_000)
        solution = BatchFrankWolfe(Setup(small.problem, 0.02, small.q, options)).solve()
        certify(small, solution)
        assert solution.dual <= small.optimum() <= solution.primal
        reached = solution.gap <= 1e-2 * solution.primal
        assert solution.status is (Status.CONVERGED if reached else Status.STALLED)
        n_stalled += not reached
    assert n_stalled > 0


def test_snapshot_contains_the_memory_of_searches(new_rng):
    options = Options(tol=0, max_iter=3, step="corrective")
    first = SmallSlack(new_rng(3), "bisecting", lam=0.05, n=20)
    run = solver(first, options)
    run.solve()
    kept = snapshot(run.state)
    second = SmallSlack(new_rng(3), "bisecting", lam=0.05, n=20)
    state = second.state()
    resume(state, kept)
    for name, array in snapshot(state).items():
        np.testing.assert_array_equal(array, kept[name])
    assert second.problem.counts() == first.problem.counts() != {"queries": 0}
