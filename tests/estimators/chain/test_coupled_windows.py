"""Test that multipliers of coupled windows and tiles make copies of nodes agree."""

import signal
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

from sstruct import ChainSSVM, GridCRFSSVM, LatentSSVM, PathCV, datasets, ssvm_path
from sstruct._estimators.core.fit import Fit, prepare_training
from sstruct._estimators.core.training import Samples
from sstruct._estimators.graph import graph_structure
from sstruct._solvers.core.solver import objective_at
from sstruct._solvers.proximal import coupled
from sstruct._solvers.proximal.coupled import Coupled
from sstruct._testing._graph_enumeration import graph_enumeration
from sstruct.solvers import MPBCFW
from tests.estimators.grid import test_tiles
from tests.estimators.same_bits import assert_same_bits
from tests.options import solver_with
from tests.reference import brute_force, dual_qp

K = 3
LAM = 0.1
MASK = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=bool)


def coupled_terms(terms, shared, multipliers):
    """Return hinge terms whose losses include multipliers on shared nodes."""
    losses = [block.loss.copy() for block in terms]
    for blocks, positions, m in zip(shared.block, shared.position, multipliers, strict=True):
        for i, at, sign in zip(blocks, positions, (1, -1), strict=True):
            truth = terms[i].labelings[terms[i].truth][at]
            losses[i] += [sign * (m[y[at]] - m[truth]) for y in terms[i].labelings]
    return [replace(block, loss=loss) for block, loss in zip(terms, losses, strict=True)]


class Problem:
    """A fit of windows with multipliers, and its hinge terms by their definition.

    windows, whole : terms of the windows, without multipliers, and of whole samples
    """

    def __init__(self, estimator, X, y, sample_weight, windows, whole, box=None):
        self.lam, self.windows, self.whole, self.box = estimator.lam, windows, whole, box
        solver = solver_with(estimator.solver, couple_windows=True)
        estimator = clone(estimator).set_params(solver=solver)
        structure = estimator._structure()
        self.training = prepare_training(structure, Samples(X, y, sample_weight))
        self.setup = Fit(structure, self.training).setup

    def public(self, w):
        """Return weights in the order of the terms' vectors."""
        return self.training.problem.layout.public(w)

    def solve(self):
        self.run = Coupled(self.setup)
        self.solution = self.run.solve()
        self.w = self.public(self.solution.w)
        return self.solution

    def objective_of_whole(self):
        problem, first = self.training.whole()
        weight = self.training.block_weight[first]
        return objective_at(problem, self.training.solver_lam, weight, self.solution.w, 1)

    def check_certificate(self):
        """Compare objective, dual value and bound with their definitions."""
        solution, shared = self.solution, self.training.problem.shared_nodes()
        terms = coupled_terms(self.windows, shared, self.run.multipliers)
        objective = brute_force.primal(self.w, self.lam, terms)
        assert solution.primal == pytest.approx(objective, rel=1e-9)
        best, _ = dual_qp.optimum(terms, self.lam, self.box)
        assert solution.dual <= best * (1 + 1e-8)
        assert best <= solution.primal * (1 + 1e-8)
        whole = brute_force.primal(self.w, self.lam, self.whole)
        assert self.objective_of_whole() == pytest.approx(whole, rel=1e-9)
        assert whole <= solution.primal * (1 + 1e-12)
        least, _ = dual_qp.optimum(self.whole, self.lam, self.box)
        assert least <= solution.primal * (1 + 1e-8)
        return least


def make_chains(rng, lengths=(7, 4, 6), noise=1.0):
    y = [np.repeat(rng.integers(0, K, length), 2)[:length] for length in lengths]
    X = [np.eye(K)[labels] + noise * rng.standard_normal((len(labels), K)) for labels in y]
    return X, y


def make_images(rng, shapes, noise=1.5):
    y = [np.tile(np.arange(width) >= width // 2, (height, 1)).astype(int)
         for height, width in shapes]  # fmt: skip
    signs = [2 * labels[..., np.newaxis] - 1 for labels in y]
    return [own + noise * rng.standard_normal((*own.shape[:2], 2)) for own in signs], y


def chains(rng, window_size=2, X=None, y=None, sample_weight=None, edges=None, model=None, **more):
    if X is None:
        X, y = make_chains(rng)
    model = brute_force.Model(K) if model is None else model
    options = {"lam": LAM, "tol": 1e-6, "max_iter": 20_000, "random_state": 0} | more
    estimator = ChainSSVM(
        pairwise_scale=1, window_size=window_size, transition_mask=model.edge_mask,
        boundaries=model.boundaries, fit_intercept=model.bias, classes=range(K),
        transitions=True if model.groups is None else model.groups, **options,
    )  # fmt: skip
    objective = {"loss": more.get("loss", "hamming-count"), "edge_features": edges}
    windows, whole = (
        brute_force.blocks(X, y, model, weights=sample_weight, window_size=size, **objective)
        for size in (window_size, None)
    )
    given = X if edges is None else list(zip(X, edges, strict=True))
    return Problem(estimator, given, y, sample_weight, windows, whole, more.get("bounds"))


def images(rng, window_size=4, pairwise="potts", connectivity=4, X=None, y=None, **more):
    if X is None:
        X, y = make_images(rng, [(2, 4), (3, 3), (1, 6), (1, 2)])
    options = {"lam": LAM, "tol": 1e-6, "max_iter": 20_000, "random_state": 0} | more
    estimator = GridCRFSSVM(
        pairwise=pairwise, connectivity=connectivity, window_size=window_size, **options
    )
    keywords = {"divided": True} if more.get("loss") == "hamming" else {}
    windows, whole = (
        test_tiles.terms_of(X, y, pairwise, connectivity, size, **keywords)
        for size in (window_size, None)
    )
    box = test_tiles.box(pairwise, windows[0].phi.shape[1])
    return Problem(estimator, X, y, None, windows, whole, box)


CHAINS = {
    "plain": {},
    "windows of one node": {"window_size": 1},
    "share of wrong nodes": {"loss": "hamming"},
    "costs": {"loss": [[0, 1, 2], [1, 0, 1], [3, 1, 0]]},
    "weights": {"sample_weight": [0.5, 3.0, 1.0]},
    "no bias and boundaries": {"model": brute_force.Model(K, bias=False, boundaries=False)},
    "tied": {"model": brute_force.Model(K, groups=np.array([[0, 1, 1], [2, 0, -1], [1, 2, 0]]))},
    "gaps": {"solver": MPBCFW(cache=True, sampling="gap", step="corrective")},
    "bcfw": {"solver": "bcfw"},
    "bounds": {"bounds": np.outer([-0.4, 0.3], np.ones(27))},
}
IMAGES = {
    "plain": {},
    "8 neighbors": {"connectivity": 8},
    "tiles of one pixel": {"window_size": 1},
    "contrast": {"pairwise": "contrast", "window_size": 3},
    "fixed": {"pairwise": 0.5},
    "share of wrong pixels": {"loss": "hamming"},
}


@pytest.mark.parametrize("case", CHAINS)
def test_the_optimum_of_whole_chains_is_reached(rng, case):
    problem = chains(rng, **CHAINS[case])
    assert problem.solve().status.name == "CONVERGED"
    least = problem.check_certificate()
    assert problem.solution.primal == pytest.approx(least, rel=1e-4)
    # Without multipliers, the optimum is larger.
    assert dual_qp.optimum(problem.windows, LAM, problem.box)[0] > 1.01 * least


def test_edge_features_and_masks(rng):
    X, y = make_chains(rng)
    edges = [rng.standard_normal((len(x) - 1, 2)) for x in X]
    problem = chains(rng, X=X, y=y, edges=edges)
    problem.solve()
    assert problem.solution.primal == pytest.approx(problem.check_certificate(), rel=1e-4)
    model = brute_force.Model(K, edge_mask=MASK)
    choices = [brute_force.labelings(len(x), model) for x in X]
    y = [np.array(own[rng.integers(len(own))]) for own in choices]
    problem = chains(rng, X=X, y=y, model=model)
    problem.solve()
    assert problem.solution.primal == pytest.approx(problem.check_certificate(), rel=1e-4)


@pytest.mark.parametrize("case", IMAGES)
def test_the_optimum_of_whole_images_is_reached(rng, case):
    problem = images(rng, **IMAGES[case])
    assert problem.solve().status.name == "CONVERGED"
    least = problem.check_certificate()
    assert problem.solution.primal == pytest.approx(least, rel=1e-4)
    assert dual_qp.optimum(problem.windows, LAM, problem.box)[0] > 1.01 * least


@pytest.mark.parametrize("pairwise", ["full", "directed"])
def test_certificate_with_repulsive_neighbors(rng, monkeypatch, pairwise):
    # Tiles may have no common labeling, so the bound may exceed the optimum.
    monkeypatch.setattr(graph_structure, "decoder_of", lambda *_, **__: graph_enumeration())
    problem = images(rng, pairwise=pairwise, tol=1e-4)
    problem.solve()
    problem.check_certificate()


@pytest.mark.parametrize("make", [chains, images])
def test_the_bound_holds_at_every_pass(rng, make):
    problem, found = make(rng, solver=MPBCFW(certificate_every=1), tol=1e-4), []

    def check(info, solution):
        primal, now = info["primal"], solution()
        shared = problem.training.problem.shared_nodes()
        w = problem.public(now.w)
        terms = coupled_terms(problem.windows, shared, problem.run.multipliers)
        assert primal == pytest.approx(brute_force.primal(w, LAM, terms), rel=1e-9)
        assert brute_force.primal(w, LAM, problem.whole) <= primal * (1 + 1e-12)
        assert info["dual"] <= dual_qp.optimum(terms, LAM, problem.box)[0] * (1 + 1e-8)
        found.append(primal)
        return len(found) == 12

    problem.setup.callback = check
    problem.run = Coupled(problem.setup)
    problem.run.solve()
    assert len(found) >= 5


@pytest.mark.usefixtures("sigint")
def test_interrupts_wait_until_losses_have_changed(rng, monkeypatch):
    problem, shift, calls = chains(rng), coupled.shift_losses, []

    def interrupt(*arguments):
        calls.append(1)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
        shift(*arguments)

    monkeypatch.setattr(coupled, "shift_losses", interrupt)
    assert problem.solve().status.name == "INTERRUPTED"
    assert len(calls) == 3
    kept, of_run = problem.run.state.export(), problem.run.problem
    blocks = np.repeat(np.arange(of_run.n_blocks), kept["size"])
    codes = np.split(kept["code"], np.cumsum(of_run.code_sizes()[blocks])[:-1])
    losses = [of_run.code_loss(i, code) for i, code in zip(blocks, codes, strict=True)]
    np.testing.assert_array_equal(kept["loss"], losses)
    problem.check_certificate()


def sequences(rng, lengths=(300, 200, 90)):
    y = [np.repeat(rng.integers(0, K, length), 3)[:length] for length in lengths]
    return [np.eye(K)[own] + rng.standard_normal((len(own), K)) for own in y], y


def estimators(rng):
    X, y = sequences(rng)
    solver = MPBCFW(couple_windows=True)
    yield ChainSSVM(lam=0.1, window_size=7, random_state=0, solver=solver), X, y
    X, y = datasets.make_grids(4, shape=(9, 11), n_labels=2, random_state=0)
    yield GridCRFSSVM(lam=0.1, window_size=20, random_state=0, solver=clone(solver)), X, y


def test_the_bound_of_a_fit_is_close_to_whole_samples(rng):
    for model, X, y in estimators(rng):
        model.fit(X, y)
        assert model.converged_
        assert model.whole_objective_ <= model.objective_ <= 1.01 * model.whole_objective_
        loose = clone(model).set_params(solver__couple_windows=False).fit(X, y)
        assert loose.objective_ > 1.05 * loose.whole_objective_
        whole = clone(model).set_params(window_size=None).fit(X, y)
        assert model.objective_ == pytest.approx(whole.objective_, rel=0.02)
        assert model.w_.shape == loose.w_.shape
        assert model.score(X, y) > 0.7


def test_warm_starts_turn_couplings_off_and_on(rng):
    for model, X, y in estimators(rng):
        model.set_params(warm_start=True, tol=1e-3, max_iter=10_000)
        model.fit(X, y)
        model.set_params(solver__couple_windows=False).fit(X, y)
        assert model.objective_ > 1.05 * model.whole_objective_
        model.set_params(solver__couple_windows=True).fit(X, y)
        assert model.objective_ <= 1.01 * model.whole_objective_


def test_warm_starts_from_fits_without_multipliers(rng):
    for model, X, y in estimators(rng):
        model.set_params(warm_start=True, solver__couple_windows=False).fit(X, y)
        model.set_params(solver__couple_windows=True)
        if isinstance(model, GridCRFSSVM):  # whose planes hold losses
            with pytest.raises(ValueError, match="warm_start continues from the last fit"):
                model.fit(X, y)
        else:
            model.fit(X, y)
            assert model.objective_ <= 1.01 * model.whole_objective_


def test_samples_that_are_not_cut_need_no_multipliers(rng):
    for model, X, y in estimators(rng):
        model.set_params(window_size=1000)
        other = clone(model).set_params(solver__couple_windows=False)
        assert_same_bits(model.fit(X, y), other.fit(X, y))
        assert not hasattr(model, "whole_objective_")


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"solver__couple_windows": "yes"}, "couple_windows of MPBCFW must be one of"),
        (
            {"solver__average": True},
            "couple_windows=True of MPBCFW cannot be combined with average=True",
        ),
        (
            {"solver__early_stopping": True},
            "couple_windows=True of MPBCFW cannot be combined with early_stopping=True",
        ),
    ],
)
def test_unsupported_parameters(rng, parameters, message):
    for model, X, y in estimators(rng):
        with pytest.raises((ValueError, TypeError), match=message):
            model.set_params(**parameters).fit(X, y)
        assert not hasattr(model, "w_")


def test_paths_and_hidden_labels_are_not_supported(rng):
    for model, X, y in estimators(rng):
        message = "couple_windows=True of the solver is not supported by"
        for fit in (partial(ssvm_path, model), PathCV(model, cv=2).fit, LatentSSVM(model).fit):
            with pytest.raises(ValueError, match=message):
                fit(X, y)
