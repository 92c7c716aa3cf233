"""Test perceptron and passive-aggressive solvers against the published updates."""

import math
import pickle
import signal
import threading
import warnings

import numpy as np
import pytest

from sstruct import ChainSSVM
from sstruct._problems.chain._chain_problem import ChainProblem
from sstruct._problems.chain.chain_arguments import ChainModel, ChainRanges
from sstruct._problems.core._explicit import ExplicitProblem
from sstruct._solvers.core.solver import Options, Setup
from sstruct._solvers.online._perceptron_pass import PerceptronState
from sstruct._solvers.online.perceptron import PassiveAggressiveFit, PerceptronFit
from sstruct.datasets import make_sequences
from sstruct.solvers import PassiveAggressive, Perceptron
from tests.problems import test_multiclass, test_multilabel
from tests.problems.test_contract import make_chains, make_enumerated, make_graphs
from tests.problems.trees import make_trees
from tests.reference import brute_force

LATER = math.inf
SOLVERS = {"perceptron": PerceptronFit, "pa": PassiveAggressiveFit}


def explicit_graphs(rng):
    case = make_graphs(rng, "potts", 3, (3, 2, 4, 3, 3, 2))
    case.problem = ExplicitProblem(case.problem)
    return case


CASES = {
    "chains": lambda rng: make_chains(rng, 3, (1, 4, 5)),
    "sparse chains": lambda rng: make_chains(
        rng, 5, (3, 4, 1, 3, 2, 2), storage="csr", masked=True
    ),
    "weighted nodes": lambda rng: make_chains(rng, 3, (3, 2, 4), weighted=True),
    "trees": lambda rng: make_trees(rng, [-1, 0, 0], n_types=2, n_blocks=4),
    "maps": lambda rng: make_trees(rng, [-1, 0, 0], "maps", n_blocks=4),
    "full graphs": lambda rng: make_graphs(rng, "full", 3, (3, 4, 2, 3, 3, 2)),
    "fixed graphs": lambda rng: make_graphs(rng, "fixed", 3, (3, 4, 2, 3, 3, 2)),
    "explicit graphs": explicit_graphs,
    "label sets": lambda rng: test_multilabel.make(rng, "enumeration", 4, n=6),
    "half labels": lambda rng: test_multilabel.make(rng, "halves", 3, n=6),
    "hierarchies": lambda rng: test_multilabel.make(rng, "hierarchy", 4, n=6),
    "classes": lambda rng: test_multiclass.make(rng, 4, n=8),
    "planes": lambda rng: make_enumerated(rng, (3, 4, 2, 5, 4, 5, 3, 5), 6),
}


def box_of(case, rng, bounded):
    """Return bounds in the public order and in the problem's, with those of tree deformations."""
    d = case.problem.n_weights
    layout = np.full((2, d), [[-np.inf], [np.inf]])
    model = getattr(case.problem, "model", None)
    if hasattr(model, "attractive_bounds"):
        public = np.array(model.attractive_bounds(), dtype=float)
    else:
        public = np.full((2, len(case.w)), [[-np.inf], [np.inf]])
    if bounded:
        some = rng.random(public.shape[1]) < 0.5
        public[0, some] = np.maximum(public[0, some], -rng.random(some.sum()))
        public[1, some] = np.maximum(public[0, some], rng.random(some.sum()))
    place = case.problem.layout.public(np.arange(d, dtype=float)).astype(int)
    layout[:, place] = public
    return public, layout


def follow(case, w, order, factor, aggressiveness, box):
    """Return all iterates of the papers' update, by enumeration."""
    constant = getattr(case, "constant", lambda i, y: 0.0)
    w, iterates = np.clip(w, *box), []
    true_code = getattr(case.problem, "problem", case.problem).true_code
    for i in order.tolist():
        truth, allowed = true_code(i).tolist(), case.allowed[i]
        phi = np.array([case.phi(i, y) for y in allowed])
        score = phi @ w + [constant(i, y) for y in allowed]
        best = int(np.argmax(score))
        loss = case.loss(i, allowed[best])
        if loss > 0:
            at = [tuple(y) for y in allowed].index(tuple(truth))
            direction, length = phi[at] - phi[best], 1.0
            if aggressiveness:
                norm = direction @ direction
                error = score[best] - score[at] + math.sqrt(loss)
                length = min(aggressiveness, error / norm if norm > 0 else math.inf)
            w = np.clip(w + factor[i] * length * direction, *box)
        iterates.append(w)
    return np.array(iterates)


@pytest.mark.parametrize("bounded", [False, True], ids=["free", "bounded"])
@pytest.mark.parametrize("aggressiveness", [0, 0.02, 1.0], ids=["perceptron", "pa slow", "pa"])
@pytest.mark.parametrize("kind", CASES)
def test_every_structure_by_enumeration(rng, kind, aggressiveness, bounded):
    n_different = 0
    while n_different <= 2:  # draw data with at least two mistakes
        case = CASES[kind](rng)
        n, (box, layout) = case.problem.n_blocks, box_of(case, rng, bounded)
        factor = rng.choice([0.5, 1.0, 3.0], n)
        factor[0] = 0
        # Start at random weights, where no two labelings have the same score.
        start = 3 * rng.standard_normal(len(case.w))
        order = np.concatenate([rng.permutation(n), rng.integers(0, n, 3 * n)]).astype(np.intp)
        iterates = follow(case, start, order, factor, aggressiveness, box)
        n_different = len(np.unique(iterates, axis=0))
    kept = {"weights": case.problem.layout.padded(start)}
    kept["moment"] = kept["weights"]
    state = PerceptronState(case.problem, factor, aggressiveness, layout, **kept)
    np.testing.assert_array_equal(case.public(state.average), np.clip(start, *box))
    for t, i in enumerate(order, start=1):
        assert state.run(np.array([i]), LATER)
        np.testing.assert_allclose(case.public(state.last), iterates[t - 1], rtol=0, atol=1e-10)
        mean = iterates[:t].mean(axis=0)
        np.testing.assert_allclose(case.public(state.average), mean, rtol=0, atol=1e-10)
        assert (case.public(state.average) >= box[0]).all()
        assert (case.public(state.average) <= box[1]).all()
    assert state.n_steps == len(order)
    together = PerceptronState(case.problem, factor, aggressiveness, layout, **kept)
    assert together.run(order, LATER)
    np.testing.assert_array_equal(together.average, state.average)
    assert together.n_mistakes == state.n_mistakes


def test_weights_of_whole_numbers_are_exact(rng):
    # Sums have the same bits in any order, so the lazy average is the mean of all iterates.
    X = [rng.integers(-2, 3, (length, 3)) for length in (3, 1, 4, 2)]
    y = [rng.integers(0, 3, len(x)) for x in X]
    model = ChainSSVM(solver=Perceptron(sampling="given"), max_iter=8, classes=range(3))
    w = np.zeros(3 * 3 + 3 + 6 + 9)
    reference, total, steps = brute_force.Model(3, True, True, True), np.zeros(len(w)), 0
    for _ in range(8):
        n_mistakes = 0
        for x, truth in zip(X, y, strict=True):
            labelings = brute_force.labelings(len(x), reference)
            phi = np.array([brute_force.joint_feature(x, each, reference) for each in labelings])
            scores = phi @ w
            best = np.flatnonzero(scores == scores.max())
            steps += 1
            predicted = decoded(x, w)
            assert labelings.index(predicted) in best
            w = (
                w
                + brute_force.joint_feature(x, tuple(truth), reference)
                - phi[labelings.index(predicted)]
            )
            total += w
            n_mistakes += predicted != tuple(truth)
        if n_mistakes == 0:  # the last pass
            break
    model.fit(X, y)
    np.testing.assert_allclose(model.w_, total / steps, rtol=1e-14)
    np.testing.assert_array_equal(flat(model, model._steps["weights"]), w)
    assert model.n_oracle_calls_ == steps


def flat(model, w):
    """Return weights of a ChainSSVM's layout in the public order."""
    return model._model_of_fit().layout.public(w)


def decoded(x, w):
    """Return the labeling that ChainSSVM predicts at given public weights, as a tuple."""
    chains, model = ChainRanges(np.zeros(1, int), np.array([len(x)])), ChainModel(3)
    problem = ChainProblem(np.asarray(x, float), chains, model)
    return tuple(problem.best_code(0, problem.layout.padded(w), 0.0)[0].tolist())


@pytest.mark.parametrize("name", SOLVERS)
def test_state_with_wrong_shapes(rng, name):
    problem = make_chains(rng, 3, (2, 3)).problem
    d, one = problem.n_weights, np.ones(2)
    with pytest.raises(ValueError, match="step_weight has 3 entries, expected 2"):
        PerceptronState(problem, np.ones(3))
    for shape in ((2, d + 1), (1, d), (d,)):
        with pytest.raises(ValueError, match="bounds have shape"):
            PerceptronState(problem, one, 0, np.zeros(shape))
    for weights, moment in ((d + 1, d), (d, d - 1)):
        with pytest.raises(ValueError, match="weights and moment have"):
            PerceptronState(
                problem, one, 0, weights=np.zeros(weights), moment=np.zeros(moment), n_steps=1
            )
    for order in ([0, 2], [-1, 0]):
        with pytest.raises(IndexError, match="expected 0 to 1"):
            PerceptronState(problem, one).run(np.array(order, np.intp), LATER)
    kept = {"weights": np.zeros(d), "moment": np.zeros(d), "n_steps": 3}
    options = Options(sampling="given", max_iter=1)
    for field, value in (
        ("weights", np.zeros(d + 1)),
        ("moment", np.full(d, np.nan)),
        ("moment", None),
        ("n_steps", -1),
        ("n_steps", 2.0),
    ):
        with pytest.raises(ValueError, match=field):
            SOLVERS[name](
                Setup(problem, 0.0, one / 2, options, warm=kept | {field: value}, online=True)
            )


def test_scores_out_of_range_are_an_error(rng):
    problem = make_chains(rng, 3, (3, 4)).problem
    state = PerceptronState(problem, np.full(2, 1e308))
    with pytest.raises(ValueError, match="scores exceed the range of float64"):
        state.run(np.arange(2).repeat(50), LATER)


def test_a_mean_out_of_range_is_an_error(rng):
    problem = make_chains(rng, 1, (3,)).problem
    w = np.full(problem.n_weights, 1e308)
    state = PerceptronState(problem, np.ones(1), weights=w, moment=-w, n_steps=1)
    with pytest.raises(ValueError, match="weights exceed the range of float64"):
        _ = state.average


# Tests of the estimator.


def chains(n=60):
    return make_sequences(n_samples=n, random_state=0)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_fit_has_no_objective(name):
    X, y = chains()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ChainSSVM(solver=name, max_iter=3, random_state=0).fit(X, y)
    assert (model.solver_, model.status_, model.converged_) == (name, "MAX_ITER", False)
    assert (model.lam_, model.n_iter_, model.n_oracle_calls_) == (0, 3, 180)
    found = model.objective_, model.dual_objective_, model.dual_gap_
    assert np.isnan(found).all()
    history = model.history_
    assert history["passes"].tolist() == [1, 2, 3]
    for column in ("primal", "dual", "gap"):
        assert np.isnan(history[column]).all()
    assert (history["mistakes"] > 0).all()
    assert (history["mistakes"] <= 60).all()
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("name", SOLVERS)
def test_a_pass_without_a_mistake_is_the_last(name):
    X, y = [np.eye(3)[[0, 1]], np.eye(3)[[2]], np.eye(3)[[1, 2, 0]]], [[0, 1], [2], [1, 2, 0]]
    model = ChainSSVM(solver=name, random_state=0).fit(X, y)
    assert (model.status_, model.converged_) == ("CONVERGED", True)
    assert model.n_iter_ < 50
    mistakes = model.history_["mistakes"]
    assert mistakes[-1] == 0
    assert (mistakes[:-1] > 0).all()


@pytest.mark.parametrize("value", [0, -1.0, math.inf, math.nan])
def test_aggressiveness_is_positive(value):
    X, y = chains(5)
    with pytest.raises(ValueError, match=r"^aggressiveness of PassiveAggressive must be"):
        ChainSSVM(solver=PassiveAggressive(aggressiveness=value)).fit(X, y)


def test_less_aggressive_steps_are_shorter():
    X, y = chains()
    norms = [
        np.linalg.norm(
            ChainSSVM(solver=PassiveAggressive(aggressiveness=most), max_iter=1, random_state=0)
            .fit(X, y)
            .w_
        )
        for most in (1e-4, 1e-2, 1.0)
    ]
    assert 5 * norms[0] < norms[1] < norms[2]


def test_sample_weights_scale_steps():
    X, y = chains(6)
    weights = np.array([0.0, 1.0, 2.0, 0.5, 0.0, 4.0])
    model = ChainSSVM(solver=Perceptron(sampling="given"), max_iter=1, classes=range(4))
    kept = weights > 0
    chosen = [X[i] for i in np.flatnonzero(kept)], [y[i] for i in np.flatnonzero(kept)]
    w = model.fit(X, y, weights).w_
    np.testing.assert_array_equal(w, model.fit(*chosen, weights[kept]).w_)
    # A common factor of all sample weights scales w.
    np.testing.assert_array_equal(2 * w, model.fit(X, y, 2 * weights).w_)


@pytest.mark.parametrize("name", SOLVERS)
def test_limits_of_time_and_callbacks(name):
    X, y = chains()
    model = ChainSSVM(solver=name, max_iter=10**6, max_time=0.2, random_state=0).fit(X, y)
    assert model.status_ == "TIME_LIMIT"
    assert len(model.history_["passes"]) == model.n_iter_
    model = ChainSSVM(solver=name, random_state=0)
    model.set_callbacks(lambda info: info["passes"] == 3).fit(X, y)
    assert (model.status_, model.n_iter_) == ("STOPPED_BY_CALLBACK", 3)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.usefixtures("sigint")
def test_control_c_leaves_a_model(name):
    X, y = chains()
    model = ChainSSVM(solver=name, max_iter=10**7, random_state=0)
    timer = threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    timer.join()
    assert model.status_ == "INTERRUPTED"
    assert len(model.history_["passes"]) == model.n_iter_
    assert model.score(X, y) > 0.8
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.w_, model.w_)
    assert again.partial_fit(X, y).n_oracle_calls_ == model.n_oracle_calls_ + 60
