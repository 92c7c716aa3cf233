"""Test MultilabelSSVM with GDMM against the quadratic program over half-integral labelings."""

import signal
import threading
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from sstruct import MultilabelSSVM
from sstruct._estimators.core.fit import prepare_training
from sstruct._estimators.core.training import Samples
from sstruct._solvers.core.solver import Options, Setup
from sstruct._solvers.gdmm.on_label_sets import SWEEPS, LabelGDMM
from sstruct._testing._solver_access import label_state
from sstruct.datasets import make_multilabel_pairwise
from sstruct.solvers import GDMM
from tests.estimators.label_set.test_multilabel import half_integral
from tests.reference import dual_qp


def small_problem(rng):
    n, K, F = rng.integers(2, 7), rng.integers(2, 5), rng.integers(1, 4)
    X = rng.normal(size=(n, F))
    Y = (rng.random((n, K)) < rng.choice([0.2, 0.5])).astype(int)
    pairs = np.array([(u, v) for u in range(K) for v in range(u + 1, K)])
    edges = pairs[rng.random(len(pairs)) < rng.choice([0.5, 1.0])].reshape(-1, 2)
    weights = rng.uniform(0.2, 2, n)
    costs = rng.uniform(0.5, 2, K)
    return X, Y, edges, weights, costs


@settings(max_examples=25)
@given(key=st.integers(0, 2**32 - 1), lam=st.sampled_from([0.03, 0.3, 2.0]), bias=st.booleans())
def test_optimum_matches_relaxation(new_rng, key, lam, bias):
    X, Y, edges, weights, costs = small_problem(new_rng(key))
    K = Y.shape[1]
    model = MultilabelSSVM(
        solver=GDMM(certificate_every=5), inference="relaxed", edges=edges, lam=lam, loss=costs,
        fit_intercept=bias, tol=1e-4, max_iter=3000, random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, Y, weights)
    terms = [
        replace(
            block,
            loss=abs(np.array([y[:K] for y in block.labelings]) / 2 - truth) @ (costs / K),
            weight=weight / weights.sum(),
        )
        for block, truth, weight in zip(half_integral(X, Y, edges, "and", bias), Y, weights)
    ]
    best, _ = dual_qp.optimum(terms, lam)
    slack = 1e-7 * max(best, 1)
    assert model.dual_objective_ <= best + slack
    assert model.objective_ >= best - slack
    assert model.objective_ <= best * (1 + 1e-3) + slack
    assert model.dual_gap_ == pytest.approx(model.objective_ - model.dual_objective_, abs=1e-12)
    # Bounds are valid at every certificate.
    history = model.history_
    certified = ~np.isnan(history["primal"])
    assert (history["primal"][certified] >= best - slack).all()
    assert (history["dual"] <= best + slack).all()
    assert (np.diff(history["dual"]) >= 0).all()


@pytest.fixture(scope="module")
def sets():
    return make_multilabel_pairwise(120, n_labels=9, n_features=6, random_state=0)


@pytest.mark.parametrize("edges", ["full", "tree", None], ids=str)
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("parts", [1, 3])
def test_agrees_with_frank_wolfe(sets, edges, storage, parts):
    X, Y = sets
    options = dict(edges=edges, lam=0.02, loss="balanced", class_weight="balanced")
    model = MultilabelSSVM(solver=GDMM(parts=parts), tol=3e-3, random_state=0, **options).fit(
        storage(X), Y
    )
    expected = MultilabelSSVM(inference="relaxed", tol=1e-4, random_state=0, **options).fit(X, Y)
    assert model.status_ == "CONVERGED"
    assert model.solver_ == "gdmm"
    assert model.history_["dual"][-1] <= expected.objective_
    assert model.objective_ >= expected.dual_objective_
    assert model.objective_ == pytest.approx(expected.objective_, rel=4e-3)
    assert (
        model.inference_
        == {
            "full": "roof duality (LP relaxation)",
            "tree": "max-sum (exact)",
            None: "label by label (exact)",
        }[edges]
    )
    assert (model.predict(X) == expected.predict(X)).mean() > 0.97


def test_same_seed_same_weights(sets):
    X, Y = sets
    options = dict(solver=GDMM(parts=2), tol=0, max_iter=12, lam=0.05)
    fits = []
    for seed, n_jobs in ((5, None), (5, 2), (6, None)):
        with pytest.warns(ConvergenceWarning, match="after 12 passes"):
            model = MultilabelSSVM(random_state=seed, n_jobs=n_jobs, **options).fit(X, Y)
        fits.append(model.w_)
    np.testing.assert_array_equal(fits[0], fits[1])
    assert (fits[0] != fits[2]).any()


def test_weights_and_copies(sets):
    X, Y = sets[0][:20], sets[1][:20]
    times = np.arange(20) % 3
    options = dict(solver="gdmm", inference="relaxed", lam=0.1, tol=1e-2, random_state=0)
    weighted = MultilabelSSVM(**options).fit(X, Y, times)
    copied = MultilabelSSVM(**options).fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
    assert weighted.dual_objective_ <= copied.objective_
    assert copied.dual_objective_ <= weighted.objective_
    assert weighted.lam_ == pytest.approx(copied.lam_, rel=1e-12)


def test_negligible_sample_weights(sets):
    X, Y = sets
    weights = np.ones(len(X))
    weights[:3] = 1e-17
    options = dict(solver="gdmm", tol=1e-3, max_iter=2000, random_state=0)
    tiny = MultilabelSSVM(**options).fit(X, Y, weights)
    absent = MultilabelSSVM(**options).fit(X, Y, weights == 1)
    assert tiny.objective_ == pytest.approx(absent.objective_, rel=2e-3)


def test_history_and_fixed_penalty(sets):
    X, Y = sets
    model = MultilabelSSVM(solver=GDMM(rho=0.7, certificate_every=7), tol=1e-2, random_state=0).fit(
        X, Y
    )
    history = model.history_
    assert (history["rho"] == 0.7).all()
    assert (history["feasibility"] >= 0).all()
    assert (history["active_labels"] <= history["working_set_size"]).all()
    assert (history["working_set_size"] <= 9).all()
    assert (np.diff(history["working_set_size"]) >= 0).all()
    assert (np.diff(history["update_seconds"]) > 0).all()
    assert history["passes"].tolist() == list(range(1, model.n_iter_ + 1))
    certified = np.flatnonzero(~np.isnan(history["primal"])) + 1
    assert (certified == np.arange(7, model.n_iter_ + 1, 7)).all()
    calls = model.n_oracle_calls_ / len(X)
    assert len(certified) < calls <= 2 * len(certified)


@pytest.mark.usefixtures("sigint")
def test_time_limit_callback_and_interrupt(sets):
    X, Y = sets
    endless = dict(solver="gdmm", inference="relaxed", tol=0, max_iter=10**7, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model = MultilabelSSVM(max_time=0.05, **endless).fit(X, Y)
    assert model.status_ == "TIME_LIMIT"
    assert 0 < model.dual_objective_ <= model.objective_ < np.inf
    interrupted = MultilabelSSVM(**endless)
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    begin = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        interrupted.fit(X, Y)
    assert time.monotonic() - begin < 20
    assert interrupted.status_ == "INTERRUPTED"
    assert interrupted.dual_objective_ <= interrupted.objective_ < np.inf
    assert interrupted.predict(X).shape == Y.shape


def test_a_callback_ends_a_fit_with_its_certificate(sets):
    X, Y = sets
    rows = []

    def stop(info):
        rows.append(info)
        return len(rows) == 13

    model = MultilabelSSVM(
        solver="gdmm", inference="relaxed", tol=0, lam=0.05, random_state=0
    ).set_callbacks(stop)
    model.fit(X, Y)
    assert model.status_ == "STOPPED_BY_CALLBACK"
    assert model.n_iter_ == len(rows) == 13
    assert rows[9]["primal"] >= rows[9]["dual"] > 0
    assert model.history_["primal"][-1] == model.objective_
    best = MultilabelSSVM(inference="relaxed", tol=1e-3, lam=0.05, random_state=0).fit(X, Y)
    assert model.dual_objective_ <= best.objective_
    assert model.objective_ >= best.dual_objective_
    assert model.predict(X).shape == Y.shape


def solver_of(X, Y, lam=0.05, max_iter=1000, n_sweeps=SWEEPS, **own):
    kept = prepare_training(MultilabelSSVM(solver="gdmm", lam=lam)._structure(), Samples(X, Y))
    options = Options(tol=0.0, max_iter=max_iter, certificate_every=10, **own)
    return LabelGDMM(Setup(kept.problem, lam, kept.block_weight, options), n_sweeps=n_sweeps)


def test_soft_bcfw_does_not_agree(sets):
    hard = solver_of(*sets, max_iter=60, rho=1.0).solve()
    soft = solver_of(*sets, max_iter=60, rho=1.0, multiplier_step=0.0).solve()
    assert soft.history["feasibility"][-1] > 10 * hard.history["feasibility"][-1]
    assert soft.dual < hard.dual < hard.primal < soft.primal


def test_feasibility_matches_variables(rng):
    # The sample has all labels, so its working set is full: ten sweeps equal ten passes of one.
    data = rng.normal(size=(1, 4)), np.ones((1, 4), dtype=int)
    whole, single = (solver_of(*data, rho=1.0, n_sweeps=n_sweeps) for n_sweeps in (10, 1))
    squares = []
    for _ in range(10):
        assert single.factors.run(np.inf)
        state = label_state(single.factors, 0)
        beta = state["beta"]
        residual = beta[:, [1, 0]] + beta[:, 2:] - state["alpha"][state["end"]]
        squares.append((residual**2).sum())
        single._record()
        assert single._measures()["feasibility"] == pytest.approx(np.sqrt(squares[-1]), abs=1e-13)
    assert whole.factors.run(np.inf)
    whole._record()
    assert squares[0] > 0
    assert whole._measures()["feasibility"] == pytest.approx(np.sqrt(np.mean(squares)), rel=1e-9)


def test_the_exhaustive_search_makes_the_same_steps(sets):
    own = dict(max_iter=20, parts=2)
    pruned, all_ = (solver_of(*sets, exhaustive=value, **own).solve() for value in (False, True))
    np.testing.assert_allclose(pruned.w, all_.w, atol=1e-12)
    assert pruned.dual == all_.dual


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"pairwise": "full"}, "pairwise='full' is not supported by solver='gdmm'"),
        ({"edges": [-1] + [0] * 8}, "a hierarchy is not supported by solver='gdmm'"),
        ({"inference": "enumeration"}, "inference='enumeration' is not supported"),
        ({"bounds": "submodular"}, "bounds='submodular' is not supported by solver='gdmm'"),
        ({"rescaling": "slack"}, "rescaling='slack' is not supported by solver='gdmm'"),
        ({"warm_start": True}, "warm_start=True is not supported by solver='gdmm'"),
        ({"solver": GDMM(rho=0)}, "rho of GDMM must be"),
        ({"solver": GDMM(rho="none")}, "rho of GDMM must be"),
        ({"solver": GDMM(parts=0)}, "parts of GDMM must be"),
        ({"solver": GDMM(parts=10)}, "parts=10 of GDMM, expected at most 9"),
    ],
)
def test_unsupported_parameters(sets, parameters, message):
    model = MultilabelSSVM(**{"solver": "gdmm", **parameters})
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(*sets)
    assert vars(model) == before


@pytest.mark.parametrize("y", [None, [], [[0, 1], [1]], [0, 1], [[[0]]]], ids=str)
def test_errors_for_targets_match_other_solvers(sets, y):
    errors = []
    for solver in ("mp-bcfw", "gdmm"):
        with pytest.raises((ValueError, TypeError)) as caught:
            MultilabelSSVM(solver=solver).fit(sets[0], y)
        errors.append((caught.type, str(caught.value)))
    assert errors[0] == errors[1]


def test_multiclass_targets_raise(sets):
    with pytest.raises(ValueError, match="solver='gdmm' requires sets of labels"):
        MultilabelSSVM(solver="gdmm").fit(sets[0], sets[1].argmax(axis=1))


def test_auto_does_not_change_the_solver_with_lam(sets):
    X, Y = sets
    for lam in (1e-3, 1 / len(X), 5 / len(X), 0.1):
        model = MultilabelSSVM(loss="hamming-count", lam=lam, max_iter=1, tol=1.0).fit(X, Y)
        assert model.solver_ == "mp-bcfw"


def test_the_bound_of_the_relaxation_is_not_reported_for_the_exact_problem(rng):
    X, Y = rng.standard_normal((30, 3)), rng.integers(0, 2, (30, 5))
    options = dict(lam=0.01, tol=1e-2, max_iter=2000, random_state=0)
    exact = MultilabelSSVM(**options).fit(X, Y)
    model = MultilabelSSVM(solver="gdmm", **options).fit(X, Y)
    assert exact.inference_ == "enumeration (exact)"
    assert model.inference_ == "roof duality (LP relaxation)"
    assert np.isnan(model.dual_objective_)
    assert np.isnan(model.dual_gap_)
    # The bound of the relaxation, which may exceed the exact optimum, is in the history.
    assert model.history_["dual"][-1] > 0
    assert model.objective_ > exact.dual_objective_
    # With inference="relaxed", the certificate is that of the relaxation.
    relaxed = MultilabelSSVM(solver="gdmm", inference="relaxed", **options).fit(X, Y)
    assert relaxed.dual_objective_ == model.history_["dual"][-1]
    assert relaxed.dual_gap_ == relaxed.objective_ - relaxed.dual_objective_
    forest = MultilabelSSVM(solver="gdmm", edges=[[0, 1]], **options).fit(X, Y)
    assert forest.inference_ == "max-sum (exact)"
    assert np.isfinite(forest.dual_objective_)
