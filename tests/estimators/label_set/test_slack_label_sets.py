"""Test optima, searches and steps of MultilabelSSVM with slack rescaling."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sstruct import MulticlassSSVM, MultilabelSSVM
from sstruct.solvers import MPBCFW
from tests.estimators.label_set.test_multilabel import (
    EDGES,
    costs,
    half_integral,
    make,
    reference,
    repelling,
)
from tests.problems.test_label_mixtures import parts_of
from tests.reference import dual_qp
from tests.reference.mixtures import mixed_optimum, mixed_primal
from tests.solvers.test_slack import slack_terms

SLACK = {"rescaling": "slack", "random_state": 0}
TIGHT = {"tol": 1e-8, "max_iter": 100_000, "solver": MPBCFW(average=False)}


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("pairwise", ["and", "full"])
@pytest.mark.parametrize("edges", EDGES)
def test_optimum_of_every_model(rng, edges, pairwise, weighted):
    X, Y = make(rng, closed=edges == "hierarchy")
    weights = rng.choice([0.5, 1.0, 3.0], len(X)) if weighted else None
    if weighted:
        weights[7] = 0
    model = MultilabelSSVM(
        edges=EDGES[edges],
        pairwise=pairwise,
        lam=0.02,
        fit_intercept=not weighted,
        **SLACK,
        **TIGHT,
    ).fit(X, Y, weights)
    dual_qp.check_optimum(model, slack_terms(reference(model, X, Y, weights)))
    assert model.inference_ == {
        "full": "enumeration (exact)",
        "none": "label by label, error table (exact)",
    }.get(edges, "max-sum, error table (exact)")
    assert model.history_["queries"][-1] > 0


@pytest.mark.parametrize("step", ["pairwise", "away", "corrective"])
@pytest.mark.parametrize("edges", ["full", "tree", "hierarchy"])
def test_every_step(rng, edges, step):
    X, Y = make(rng, closed=edges == "hierarchy")
    model = MultilabelSSVM(
        edges=EDGES[edges],
        lam=0.05,
        **SLACK,
        **TIGHT | {"solver": MPBCFW(step=step, average=False)},
    ).fit(X, Y)
    dual_qp.check_optimum(model, slack_terms(reference(model, X, Y)))


@pytest.mark.parametrize("search", ["angular", "auto"])
@pytest.mark.parametrize("loss", ["hamming-count", "balanced", "costs"])
def test_every_loss_by_enumeration(rng, loss, search):
    X, Y = make(rng)
    if loss == "costs":
        loss = np.array([0.5, 1.0, 2.0, 0.0])
    model = MultilabelSSVM(lam=0.05, loss=loss, search=search, **SLACK, **TIGHT).fit(X, Y)
    terms = reference(model, X, Y, cost=costs(loss, Y, np.ones(len(X))))
    dual_qp.check_optimum(model, slack_terms(terms))
    angular = "enumeration, angular search (exact)"
    assert model.inference_ == (angular if search == "angular" else "enumeration (exact)")


@pytest.mark.parametrize("loss", ["balanced", "costs"])
@pytest.mark.parametrize("edges", ["tree", "none"])
def test_unequal_costs_are_enumerated(rng, edges, loss):
    # The other decoders search directly only if all errors cost the same.
    X, Y = make(rng)
    if loss == "costs":
        loss = np.array([0.5, 1.0, 2.0, 0.0])
    model = MultilabelSSVM(edges=EDGES[edges], lam=0.05, loss=loss, **SLACK, **TIGHT).fit(X, Y)
    assert model.inference_ == "enumeration (exact)"
    terms = reference(model, X, Y, cost=costs(loss, Y, np.ones(len(X))))
    dual_qp.check_optimum(model, slack_terms(terms))
    # Margin rescaling, and slack rescaling with equal costs, use the other decoders.
    name = "max-sum" if edges == "tree" else "label by label"
    margin = clone(model).set_params(rescaling="margin").fit(X, Y)
    assert margin.inference_ == f"{name} (exact)"
    equal = clone(model).set_params(loss="hamming").fit(X, Y)
    assert equal.inference_ == f"{name}, error table (exact)"
    many = np.tile(Y, (1, 5))  # 20 labels
    bounded = clone(model).set_params(loss="balanced", max_iter=1, edges=None)
    with pytest.warns(ConvergenceWarning):
        bounded.fit(X, many)
    assert bounded.inference_ == "label by label, bisecting search (bounded)"


@pytest.mark.parametrize("edges", ["full", "tree"])
def test_optimum_within_bounds(rng, edges):
    X, Y = make(rng)
    model = MultilabelSSVM(edges=edges, lam=0.05, bounds="submodular", **SLACK, **TIGHT).fit(X, Y)
    box = np.full((2, len(model.w_)), [[-np.inf], [np.inf]])
    box[0, -len(model.edges_) :] = 0
    dual_qp.check_optimum(model, slack_terms(reference(model, X, Y)), box)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "change, inference",
    [
        ({"search": "bisecting"}, "enumeration, bisecting search (bounded)"),
        ({"search": "binary"}, "enumeration, binary search (bounded)"),
        (
            {"edges": "tree", "loss": "balanced", "inference": "tree"},
            "max-sum, bisecting search (bounded)",
        ),
        ({"edges": None, "search": "binary"}, "label by label, binary search (bounded)"),
        ({"inference": "cut", "bounds": "submodular"}, "graph cut, bisecting search (bounded)"),
    ],
    ids=["bisecting", "binary", "unequal costs", "independent", "cut"],
)
def test_searches_that_are_not_exact_bound_the_optimum(rng, change, inference):
    X, Y = make(rng)
    model = MultilabelSSVM(lam=0.02, tol=1e-4, max_iter=20_000, **SLACK)
    model.set_params(**change).fit(X, Y)
    assert model.inference_ == inference
    cost = costs(model.loss, Y, np.ones(len(X)))
    terms = slack_terms(reference(model, X, Y, cost=cost))
    box = np.full((2, len(model.w_)), [[-np.inf], [np.inf]])
    if "bounds" in change:
        box[0, -len(model.edges_) :] = 0
    dual_qp.check_bounds(model, terms, box)
    reached = model.dual_gap_ <= 1e-4 * model.objective_
    assert model.status_ == ("CONVERGED" if reached else "STALLED")


@pytest.mark.slow
@pytest.mark.parametrize("search", ["auto", "angular"])
@pytest.mark.parametrize("pairwise", ["and", "full"])
def test_optimum_of_the_relaxation(pairwise, search):
    X, Y = repelling(0)
    model = MultilabelSSVM(
        inference="relaxed", pairwise=pairwise, search=search, lam=0.01, tol=1e-6,
        max_iter=20_000, warm_start=True, **SLACK,
    ).fit(X, Y)  # fmt: skip
    assert model.status_ == "CONVERGED"
    name = "edges of a polygon" if search == "auto" else "angular search"
    assert model.inference_ == f"roof duality, {name} (LP relaxation)"
    terms = half_integral(X, Y, model.edges_, pairwise)
    # The objective by all pairs of half-integral labelings; the optimum by cutting planes and a QP.
    assert model.objective_ == pytest.approx(mixed_primal(model.w_, 0.01, terms), rel=1e-8)
    below, above = mixed_optimum(terms, 0.01, 1e-7)
    assert model.dual_objective_ <= above * (1 + 1e-9)
    assert below <= model.objective_ * (1 + 1e-9)
    assert model.objective_ == pytest.approx(below, rel=2e-6)
    # It differs from the optima over sets and over half-integral labelings.
    corners, _ = dual_qp.optimum(slack_terms(terms), 0.01)
    sets, _ = dual_qp.optimum(slack_terms(reference(model, X, Y)), 0.01)
    assert sets < corners < below * (1 - 1e-4)
    codes = model._warm_state["code"].reshape(-1, 2 + 2 * (3 + 1))
    mixed = np.array([parts_of(y)[0] > 0 for y in codes])
    assert model._warm_state["alpha"][mixed].max() > 1e-3
    assert set(np.unique(model.predict(X))) <= {0, 1}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["bcfw", "fw", "ssg", "cutting-plane"])
@pytest.mark.parametrize("inference", ["enumeration", "relaxed"])
def test_every_solver(inference, solver):
    X, Y = repelling(1)
    model = MultilabelSSVM(
        inference=inference, lam=0.05, solver=solver, tol=1e-3, max_iter=3000, **SLACK
    ).fit(X, Y)
    if inference == "enumeration":
        best, _ = dual_qp.optimum(slack_terms(reference(model, X, Y)), 0.05)
    else:
        best, _ = mixed_optimum(half_integral(X, Y, model.edges_, "and"), 0.05, 1e-6)
    assert best * (1 - 1e-9) <= model.objective_ <= best * 1.05


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("step", ["fw", "pairwise", "away", "corrective"])
@pytest.mark.parametrize("bounds", [None, "submodular"])
def test_every_step_of_the_relaxation(step, bounds):
    X, Y = repelling(2)
    model = MultilabelSSVM(
        inference="relaxed",
        lam=0.02,
        solver=MPBCFW(step=step),
        bounds=bounds,
        tol=1e-3,
        max_iter=5000,
        **SLACK,
    ).fit(X, Y)
    assert model.status_ == "CONVERGED"
    terms = half_integral(X, Y, model.edges_, "and")
    assert model.objective_ == pytest.approx(mixed_primal(model.w_, 0.02, terms), rel=1e-8)
    if bounds is None:
        below, above = mixed_optimum(terms, 0.02, 1e-6)
        assert model.dual_objective_ <= above
        assert below <= model.objective_ <= above * (1 + 1e-3)
    else:
        assert (model.edge_coef_ >= 0).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_relaxed_search_that_is_not_exact_bounds_the_optimum():
    X, Y = repelling(3)
    model = MultilabelSSVM(
        inference="relaxed", lam=0.01, search="bisecting", tol=1e-4, **SLACK
    ).fit(X, Y)
    assert model.inference_ == "roof duality, bisecting search (LP relaxation, bounded)"
    below, above = mixed_optimum(half_integral(X, Y, model.edges_, "and"), 0.01, 1e-6)
    assert model.dual_objective_ <= above
    assert below <= model.objective_
    assert model.status_ == "STALLED"


@pytest.mark.parametrize("loss", ["hamming", "balanced"])
def test_one_label_a_sample(rng, loss):
    X, y = rng.standard_normal((40, 3)), rng.integers(0, 3, 40)
    model = MultilabelSSVM(lam=0.1, loss=loss, **SLACK, **TIGHT).fit(X, y)
    on = np.bincount(y)
    cost = 2 / 3 if loss == "hamming" else None
    if cost is None:
        of_on, of_off = 40 / (2 * 3 * on), 40 / (2 * 3 * (40 - on))
        cost = of_on[:, np.newaxis] + of_off
    table = cost * (1 - np.eye(3))
    other = MulticlassSSVM(lam=0.1, loss=table, **SLACK, **TIGHT).fit(X, y)
    assert model.objective_ == pytest.approx(other.objective_, rel=1e-7)
    assert model.inference_ == "enumeration (exact)"


def test_a_search_that_finds_no_labeling_warns(rng):
    with pytest.warns(ConvergenceWarning, match="no labeling was found"):
        MultilabelSSVM(lam=0.1, search="bisecting", tol=1e-6, **SLACK).fit(*make(rng))
