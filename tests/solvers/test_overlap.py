"""Visits of cached labelings while oracles are asked: the dual rises, the end is the optimum."""

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstruct import StructuredSVM
from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._problems.custom._callable import CallableProblem
from sstruct._problems.custom.oracle_calls import OracleCalls
from sstruct._solvers.core._state import DualState
from sstruct._solvers.frank_wolfe._approximate_pass import PassPlan, Sampling
from sstruct._solvers.frank_wolfe._exact_pass import exact_pass
from sstruct._solvers.frank_wolfe._steps import StepKind
from sstruct.solvers import BCFW, MPBCFW
from tests.estimators.custom.choices import Choice, Fails, Trouble, make_choices, terms
from tests.estimators.custom.test_custom_jobs import assert_same_bits, fit
from tests.reference.dual_qp import optimum

pytestmark = pytest.mark.filterwarnings("ignore:.*stopped at relative duality gap")

LAM = 0.02


def problem_of(X, y):
    return CallableProblem(OracleCalls(Choice(), X, y, list(range(len(X)))), oracle_work=1e4)


@given(
    seed=st.integers(0, 10**6),
    step=st.sampled_from([StepKind.FW, StepKind.PAIRWISE, StepKind.CORRECTIVE]),
    cache=st.booleans(),
    meanwhile=st.sampled_from([1.0, 50.0, 5000.0]),
)
def test_the_dual_never_falls_and_weights_stay_those_of_the_working_sets(
    new_rng, seed, step, cache, meanwhile
):
    X, y = make_choices(new_rng(seed), n=20)
    problem = problem_of(X, y)
    state = DualState(problem, LAM, np.full(20, 1 / 20), seed)
    pool, dual, spent = ThreadPool(problem), state.dual, []
    for number in range(1, 5):
        work = state.work
        assert exact_pass(
            state,
            pool,
            PassPlan(step, Sampling.PERMUTATION, number, 10, np.inf),
            cache,
            meanwhile=meanwhile,
        )
        spent.append(state.work - work)
        assert state.dual >= dual - 1e-13
        dual = state.dual
        w = np.array(state.live_w)
        state.rebuild()
        np.testing.assert_allclose(state.live_w, w, rtol=0, atol=1e-10)
        np.testing.assert_allclose(state.dual, dual, rtol=1e-10, atol=1e-13)
    # A dual value is below every optimum, whatever was asked when.
    best, _ = optimum(terms(X, y), LAM)
    assert dual <= best + 1e-9


def test_it_does_something(rng):
    X, y = make_choices(rng, n=40)
    duals = []
    for meanwhile in (0.0, 1e4):
        problem = problem_of(X, y)
        state, pool = DualState(problem, LAM, np.full(40, 1 / 40), 0), ThreadPool(problem)
        for number in range(1, 4):
            exact_pass(
                state,
                pool,
                PassPlan(StepKind.PAIRWISE, Sampling.PERMUTATION, number, 10, np.inf),
                False,
                meanwhile=meanwhile,
            )
        assert state.n_oracle_calls == 120
        duals.append(state.dual)
    assert duals[1] > duals[0]


def test_all_blocks_at_once_leave_no_time(rng):
    X, y = make_choices(rng, n=20)
    problem = problem_of(X, y)
    state = DualState(problem, LAM, np.full(20, 1 / 20), 0)
    with pytest.raises(ValueError, match="nothing to do meanwhile"):
        exact_pass(
            state,
            ThreadPool(problem),
            PassPlan(StepKind.FW, Sampling.PERMUTATION, 1, 10, np.inf),
            False,
            np.zeros(problem.n_weights),
            1.0,
        )


@pytest.mark.parametrize("options", [{}, {"step": "fw", "cache": True}, {"average": True}], ids=str)
def test_a_fit_ends_at_the_optimum(rng, options):
    X, y = make_choices(rng, n=40)
    model = StructuredSVM(
        Choice(), lam=LAM, overlap=True, tol=1e-3 if "step" in options else 1e-6, random_state=0,
        solver=MPBCFW(**options),
    ).fit(X, y)  # fmt: skip
    best, _ = optimum(terms(X, y), LAM)
    assert model.status_ == "CONVERGED"
    assert best * (1 - 1e-9) <= model.objective_ <= best * (1 + model.tol)
    assert model.dual_objective_ <= best * (1 + 1e-9)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_workers_change_no_bit(rng, backend):
    X, y = make_choices(rng, n=40)
    alone = fit(X, y, overlap=True)
    assert not np.array_equal(alone.w_, fit(X, y).w_)
    with joblib.parallel_config(backend=backend):
        assert_same_bits(fit(X, y, overlap=True, n_jobs=2), alone)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_errors_surface(rng, n_jobs):
    X, y = make_choices(rng, n=40)
    model = StructuredSVM(Fails(), lam=LAM, overlap=True, n_jobs=n_jobs, random_state=0)
    with (
        joblib.parallel_config(backend="threading"),
        pytest.raises(Trouble) as caught,
    ):
        model.fit(X, y)
    assert "argmax of the oracle at X[" in caught.value.__notes__[0]
    assert model.status_ == "INTERRUPTED"


def test_what_has_none_is_refused(rng):
    X, y = make_choices(rng, n=8)
    with pytest.raises(ValueError, match="overlap=True does not go with solver='bcfw'"):
        StructuredSVM(Choice(), overlap=True, solver="bcfw").fit(X, y)
    with pytest.raises(ValueError, match="overlap must be"):
        StructuredSVM(Choice(), overlap="yes").fit(X, y)
    with pytest.raises(ValueError, match="overlap=True does not go with rescaling='slack'"):
        StructuredSVM(Choice(), overlap=True, rescaling="slack").fit(X, y)


def test_batches_are_as_large_as_asked_for(rng):
    class Notes(Choice):
        _asked = []  # noqa: RUF012

        def argmax(self, x, w, y_true=None, loss_weight=1.0):
            self._asked.append(w.tobytes())
            return super().argmax(x, w, y_true, loss_weight)

    X, y = make_choices(rng, n=40)
    for size, runs in ((10, [10, 10, 10, 10]), (40, [40]), ("auto", [5] * 8)):
        Notes._asked.clear()
        fit(X, y, Notes(), solver=BCFW(step="fw", cache=False), max_iter=1, batch_size=size)
        # The first pass; w changes with every batch.
        changes = [k for k in range(1, 40) if Notes._asked[k] != Notes._asked[k - 1]]
        assert np.diff([0, *changes, 40]).tolist() == runs
    for wrong in (0, 2.5, "all"):
        with pytest.raises((TypeError, ValueError), match="batch_size must be"):
            StructuredSVM(Choice(), batch_size=wrong).fit(X, y)
