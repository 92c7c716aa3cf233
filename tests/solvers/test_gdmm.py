"""Test optima of GDMM on chains, and bounds that are valid in every state."""

import signal
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sstruct import ChainSSVM, ssvm_path
from sstruct._estimators.core.fit import prepare_training
from sstruct._estimators.core.training import Samples
from sstruct._problems.chain._chain_problem import ChainProblem
from sstruct._problems.chain.chain_arguments import ChainModel, ChainRanges
from sstruct._solvers.core.solver import Options, Setup
from sstruct._solvers.gdmm import on_chains as gdmm
from sstruct._solvers.gdmm._chain_bounds import rebuild, relaxed_hinge, set_rho
from sstruct._solvers.gdmm._chain_dual import consistent_dual
from sstruct._solvers.gdmm._chain_pass import ChainFactors
from sstruct._testing import _problem_access as access
from sstruct.datasets import make_large_domain_sequences, make_sequences
from sstruct.solvers import GDMM

TOL = 3e-5


@pytest.fixture(scope="module")
def sequences():
    X, y = make_sequences(n_samples=20, random_state=0)
    X[0], y[0] = X[0][:1], y[0][:1]
    return X, y


def seen(y):
    """Return a mask of the transitions in y and of all self-transitions."""
    mask = np.eye(4, dtype=bool)
    for labels in y:
        mask[labels[:-1], labels[1:]] = True
    return mask


VARIANTS = {
    "plain": {},
    "no transitions": {"transitions": False},
    "no boundaries": {"boundaries": False},
    "no intercept": {"fit_intercept": False},
    "count": {"loss": "hamming-count", "lam": 1.0},
    "balanced": {"loss": "balanced"},
    "node weights": {"loss": [0.5, 1.0, 2.0, 0.3]},
    "cost matrix": {"loss": (np.ones((4, 4)) - np.eye(4)) * [[1], [2], [0.5], [1]]},
    "mask": {"transition_mask": seen},
    "mask without weights": {"transition_mask": seen, "transitions": False},
    "ignored labels": {"ignore_label": 2},
    "parts": {"solver": GDMM(parts=3)},
    "large rho": {"solver": GDMM(rho=5.0)},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_optimum_of_the_other_solvers(sequences, name):
    X, y = sequences
    options = {"lam": 0.1, "random_state": 0, "max_iter": 5000, **VARIANTS[name]}
    if "transition_mask" in options:
        options["transition_mask"] = seen(y)
        assert not options["transition_mask"].all()
    weight = np.arange(len(X)) % 3 + 0.5
    model = ChainSSVM(**{"solver": "gdmm", **options}, tol=TOL).fit(X, y, weight)
    others = {key: value for key, value in options.items() if key != "solver"}
    best = ChainSSVM(tol=TOL, **others).fit(X, y, weight)
    assert model.status_ == best.status_ == "CONVERGED"
    assert model.objective_ >= best.dual_objective_ * (1 - 1e-12)
    assert model.dual_objective_ <= best.objective_ * (1 + 1e-12)
    assert abs(model.objective_ - best.objective_) <= 2 * TOL * best.objective_
    history = model.history_
    at = np.isfinite(history["primal"])
    assert at.sum() >= 1
    # The bounds hold at every check, not only at the end.
    rounding = 1 + 1e-12
    assert (history["dual"] <= best.objective_ * rounding).all()
    assert (np.diff(history["dual"]) >= 0).all()
    assert (history["primal"][at] * rounding >= best.dual_objective_).all()
    assert (history["relaxed_primal"][at] * rounding >= best.dual_objective_).all()
    # Messages are consistent at the end.
    assert history["feasibility"][-1] < 1e-5
    if options.get("transitions", True):
        np.testing.assert_allclose(model.edge_coef_, best.edge_coef_, atol=0.02)
    if "transition_mask" in options:
        assert (model.edge_coef_[~options["transition_mask"]] == 0).all()
        for labels in model.predict(X):
            assert options["transition_mask"][labels[:-1], labels[1:]].all()


def problem_of(rng, masked, K=4):
    """Return a random chain problem, and its lam and block weights."""
    lengths = rng.integers(1, 6, rng.integers(1, 6))
    labels = rng.integers(0, K, lengths.sum()).astype(np.int32)
    X = rng.standard_normal((lengths.sum(), 3))
    mask = None
    if masked:
        mask = rng.random((K, K)) < 0.3
        mask[labels[:-1], labels[1:]] = True
    problem = ChainProblem(
        sparse.csr_matrix(X) if rng.random() < 0.5 else X,
        ChainRanges(np.r_[0, np.cumsum(lengths)[:-1]], lengths),
        ChainModel(K, rng.random() < 0.5, rng.random() < 0.5, rng.random() < 0.8, mask),
        labels,
        loss_scale=1 / lengths,
    )
    weight = rng.uniform(0.1, 1, len(lengths))
    return problem, 10 ** rng.uniform(-3, 0), weight / weight.sum()


def hinge_losses(problem, w):
    """Return H_i(w) of each block, by the oracle."""
    out = np.empty(problem.n_blocks)
    for i in range(problem.n_blocks):
        _, value, _, _ = problem.best_code(i, w)
        out[i] = value - access.scores(problem, i, None, [problem.true_code(i)])[0]
    return out


@settings(max_examples=60)
@given(
    masked=st.booleans(),
    n_passes=st.integers(0, 6),
    rho=st.floats(0.01, 30),
    step=st.sampled_from([0.0, 0.3, 1.0]),
    parts=st.integers(1, 3),
    key=st.integers(0, 2**32 - 1),
)
def test_bounds_hold_at_any_state(new_rng, masked, n_passes, rho, step, parts, key):
    rng = new_rng(key)
    problem, lam, weight = problem_of(rng, masked)
    factors = ChainFactors(problem, lam, weight, rho, 2, key)
    for k in range(n_passes):
        order = rng.permutation(problem.n_blocks).astype(np.intp)
        factors.run(order, k % 2 == 0, parts, step, np.inf)
        set_rho(factors, rho * rng.uniform(0.5, 2))
    before = np.array(factors.w)
    state = rebuild(factors)
    np.testing.assert_allclose(factors.w, before, atol=1e-9 * (1 + np.abs(before).max()))
    assert 0 <= state["feasibility"] <= 1 + 1e-12
    # Lower bound: w belongs to a distribution over the labelings of each chain, so the dual is at
    # most the primal of any weights u.
    w = np.zeros(problem.n_weights)
    loss = consistent_dual(factors, w)
    dual = lam * (loss - 0.5 * w @ w)
    for u in (np.zeros_like(w), w, 0.5 * w, rng.standard_normal(len(w)) * (w != 0)):
        primal = 0.5 * lam * u @ u + weight @ hinge_losses(problem, u)
        assert dual <= primal + 1e-9 * (1 + primal)
    # Upper bound of the hinge losses at the iterate.
    w[:] = 0
    w[: factors.n_node_weights] = factors.w
    if factors.problem.transitions:
        scores = factors.pairs.scores()
        edges = w[factors.n_node_weights :].reshape(problem.n_labels, -1)
        edges[:, : problem.n_labels] = np.where(np.isinf(scores), 0, scores)
    hinge = weight @ hinge_losses(problem, w)
    assert lam * relaxed_hinge(factors) >= hinge - 1e-9 * (1 + hinge)


def solver_of(sequences, lam=0.1, tol=1e-3, max_iter=1000, rho="auto", parts=1, **own):
    kept = prepare_training(ChainSSVM(lam=lam)._structure(), Samples(*sequences))
    options = Options(tol=tol, max_iter=max_iter, rho=rho, parts=parts, **own)
    return gdmm.GDMMFit(Setup(kept.problem, lam, kept.block_weight, options))


def test_certificate_matches_weights(sequences):
    solver = solver_of(sequences)
    solution = solver.solve()
    w = solution.w
    primal = 0.05 * w @ w + solver.block_weight @ hinge_losses(solver.problem, w)
    assert solution.status == "CONVERGED"
    assert abs(primal - solution.primal) <= 1e-12 * primal
    assert solution.gap == solution.primal - solution.dual <= 1e-3 * primal


def test_a_fit_need_not_wait_for_a_tenth_pass(sequences):
    n_passes = []
    for tol in (1e-2, 3e-3, 1e-3):  # rounding decides in which pass a fit ends
        solution = solver_of(sequences, tol=tol).solve()
        gaps = solution.history["gap"] / solution.history["primal"]
        assert solution.status == "CONVERGED"
        assert np.flatnonzero(gaps <= tol).tolist() == [solution.n_passes - 1]
        n_passes.append(solution.n_passes)
    assert any(n % 10 for n in n_passes)


def test_soft_bcfw_does_not_agree(sequences):
    soft = solver_of(sequences, max_iter=30, tol=0, multiplier_step=0.0).solve()
    hard = solver_of(sequences, max_iter=30, tol=0).solve()
    assert soft.history["feasibility"][-1] > 10 * hard.history["feasibility"][-1]
    assert soft.dual < hard.dual < hard.primal < soft.primal


def test_exhaustive_search_gives_the_same_iterates(sequences):
    options = dict(max_iter=30, tol=0, rho=1.0)
    solutions = [solver_of(sequences, exhaustive=all_, **options).solve() for all_ in (False, True)]
    np.testing.assert_allclose(solutions[0].w, solutions[1].w, atol=1e-9)
    assert solutions[0].dual == pytest.approx(solutions[1].dual, rel=1e-9)


def test_with_many_labels_the_exact_primal_waits_for_the_relaxed_one(sequences, monkeypatch):
    eager = solver_of(sequences).solve()
    monkeypatch.setattr(gdmm, "MAX_EXACT_LABELS", 3)
    late = solver_of(sequences).solve()
    assert late.status == eager.status == "CONVERGED"
    history = late.history
    checks = np.isfinite(history["relaxed_primal"])
    exact = np.isfinite(history["primal"])
    passes = np.arange(1, len(checks) + 1)
    np.testing.assert_array_equal(checks, (passes >= 6) & (passes % 2 == 0))
    assert exact.sum() < checks.sum()
    assert exact[-1]
    first = np.flatnonzero(exact)[0]
    gap = history["relaxed_primal"][first] - history["dual"][first]
    assert gap <= 1e-3 * history["relaxed_primal"][first]
    assert late.n_passes >= eager.n_passes
    assert late.gap <= 1e-3 * late.primal
    # The exact primal is always computed at the end of a fit.
    assert np.isfinite(solver_of(sequences, max_iter=3, tol=0).solve().primal)


def test_with_few_transitions_every_check_has_the_exact_primal():
    X, y = make_large_domain_sequences(12, 310, n_features=10, random_state=0)
    kept = prepare_training(ChainSSVM(lam=1.0, classes=range(310))._structure(), Samples(X, y))
    problem, weight = kept.problem, kept.block_weight
    options = Options(tol=0.0, max_iter=4, certificate_every=2)
    solution = gdmm.GDMMFit(Setup(problem, 1.0, weight, options)).solve()
    assert problem.n_labels > gdmm.MAX_EXACT_LABELS
    history = solution.history
    np.testing.assert_array_equal(np.isfinite(history["primal"]), [False, True, False, True])
    checks = np.isfinite(history["primal"])
    assert (history["primal"][checks] <= history["relaxed_primal"][checks]).all()
    dense = 0.5 * solution.w @ solution.w + weight @ hinge_losses(problem, solution.w)
    assert abs(solution.primal - dense) <= 1e-12 * dense


def test_transition_weights_have_no_rounding_residues():
    X, y = make_large_domain_sequences(40, 60, n_features=10, random_state=0)
    options = dict(solver="gdmm", lam=0.1, tol=0, max_iter=30, random_state=0)
    with pytest.warns(match="after 30 passes"):
        weights = np.abs(ChainSSVM(**options).fit(X, y).edge_coef_)
    assert (weights[weights > 0] > 1e-13 * weights.max()).all()


def long_chains(n_chains):
    X, y = make_sequences(n_samples=n_chains, min_length=400, max_length=400, random_state=0)
    kept = prepare_training(ChainSSVM(lam=0.1)._structure(), Samples(X, y))
    return ChainFactors(kept.problem, 0.1, kept.block_weight, 1.0, 3, 0)


@pytest.mark.parametrize("search", [True, False])
def test_a_deadline_counts_positions_and_not_chains(search):
    factors = long_chains(5)
    for _ in range(3):
        assert factors.run(np.arange(5), search, 1, 1.0, np.inf) == 5
    assert factors.run(np.arange(5), search, 1, 1.0, 0.0) <= 3


@pytest.mark.usefixtures("sigint")
def test_ctrl_c_ends_a_pass():
    factors = long_chains(3)
    order = np.tile(np.arange(3), 10**6)  # a pass of an hour
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        factors.run(order, False, 1, 1.0, np.inf)
    assert np.isfinite(relaxed_hinge(factors))


def test_a_fit_ends_early_with_a_valid_model(sequences):
    X, y = sequences
    best = ChainSSVM(lam=0.1, tol=TOL, random_state=0).fit(X, y).objective_
    model = ChainSSVM(lam=0.1, solver="gdmm", tol=0, max_time=1e-9, random_state=0)
    with pytest.warns(match="after 1 passes"):
        model.fit(X, y)
    assert model.status_ == "TIME_LIMIT"
    assert model.dual_objective_ <= best <= model.objective_
    model = ChainSSVM(lam=0.1, solver="gdmm", tol=0, max_iter=3, random_state=0)
    with pytest.warns(match="after 3 passes"):
        model.fit(X, y)
    assert (model.status_, model.n_iter_, model.n_oracle_calls_) == ("MAX_ITER", 3, 60)
    assert model.dual_objective_ <= best <= model.objective_


def test_a_callback_ends_a_fit_with_its_certificate(sequences):
    X, y = sequences
    best = ChainSSVM(lam=0.1, tol=TOL, random_state=0).fit(X, y).objective_
    rows = []

    def fourth(info):
        rows.append(info)
        return len(rows) == 4

    model = ChainSSVM(lam=0.1, solver="gdmm", tol=0, random_state=0).set_callbacks(fourth)
    model.fit(X, y)
    assert model.status_ == "STOPPED_BY_CALLBACK"
    assert model.n_iter_ == len(rows) == 4
    assert np.isnan([row["primal"] for row in rows]).all()
    assert 0 < model.dual_objective_ <= best <= model.objective_ < np.inf
    assert model.history_["primal"][-1] == model.objective_
    assert len(model.predict(X)) == len(X)


def test_ctrl_c_leaves_a_certified_model(sequences, monkeypatch):
    solver = solver_of(sequences, tol=0)
    run, left = solver._run, [25]

    def interrupted(blocks, search):
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return run(blocks, search)

    monkeypatch.setattr(solver, "_run", interrupted)
    solution = solver.solve()
    assert solution.status == "INTERRUPTED"
    assert isinstance(solution.interruption, KeyboardInterrupt)
    assert 0 < solution.dual < solution.primal < np.inf
    assert solution.history["gap"][-1] == solution.gap


def test_invalid_parameters(sequences):
    for n_parts in (5, 10**30):
        model = ChainSSVM(solver=GDMM(parts=n_parts))
        before = dict(vars(model))
        with pytest.raises(ValueError, match=f"parts={n_parts} of GDMM, expected at most 4, the"):
            model.fit(*sequences)
        assert vars(model) == before
    with pytest.raises(ValueError, match="solver='gdmm' has no dual weights"):
        ssvm_path(ChainSSVM(solver="gdmm"), *sequences)


def test_weights_that_leave_the_range_of_floats_are_an_error(sequences):
    X, y = sequences
    with pytest.raises(ValueError, match=r"X\[0\] contains at node 0 the feature .*e\+1"):
        ChainSSVM(solver="gdmm", lam=1e-3, max_iter=3).fit([1e160 * x for x in X], y)
