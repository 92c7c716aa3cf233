"""Test optima, certificates, warm starts and checkpoints with slack rescaling."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sstruct import ChainSSVM, MulticlassSSVM, TreeSSVM
from sstruct._estimators.tree.tree_state import tree_model
from sstruct.datasets import make_sequences
from sstruct.solvers import MPBCFW
from tests.estimators.tree.test_tree import candidates
from tests.reference import brute_force, dual_qp, trees
from tests.reference.brute_force import slack_terms
from tests.registry import EXAMPLES
from tests.solvers.test_optimum import TABLE, make

SLACK = {"rescaling": "slack", "random_state": 0}
TIGHT = {"tol": 1e-8, "max_iter": 100_000, "solver": MPBCFW(average=False)}
INFERENCES = {
    "hamming": "viterbi, error table (exact)",
    "hamming-count": "viterbi, error table (exact)",
    "balanced": "viterbi, bisecting search (bounded)",
}


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("ignored", [False, True], ids=["labeled", "ignored"])
@pytest.mark.parametrize(
    "loss", ["hamming", "hamming-count", np.floor(2 * TABLE)], ids=["hamming", "count", "table"]
)
@pytest.mark.parametrize("step", ["pairwise", "away", "corrective"])
def test_optimum_of_chains(rng, step, loss, ignored, weighted):
    X, y = make(rng, ignored=ignored)
    weights = rng.choice([0.5, 1.0, 3.0], len(X)) if weighted else None
    if weighted:
        weights[7] = 0.0
    model = ChainSSVM(
        pairwise_scale=1,
        lam=0.1,
        loss=loss,
        ignore_label=-1,
        warm_start=True,
        **SLACK,
        **TIGHT | {"solver": MPBCFW(step=step, average=False)},
    ).fit(X, y, weights)
    assert model.inference_ == "viterbi, error table (exact)"
    terms = slack_terms(brute_force.blocks(X, y, brute_force.Model(3), loss, weights))
    dual_qp.check_optimum(model, terms)
    dual_qp.check_working_sets(model, terms)


@pytest.mark.parametrize("search", ["auto", "angular"])
def test_optimum_of_classes(rng, search):
    X, y = rng.standard_normal((25, 3)), rng.integers(0, 3, 25)
    weights = rng.choice([0.5, 1.0, 3.0], 25)
    model = MulticlassSSVM(lam=0.1, loss=TABLE, search=search, **SLACK, **TIGHT).fit(X, y, weights)
    chains = [row[np.newaxis] for row in X], [[label] for label in y]
    terms = brute_force.blocks(*chains, brute_force.Model(3, True, False, False), TABLE, weights)
    dual_qp.check_optimum(model, slack_terms(terms))
    assert model.inference_ == (
        "enumeration (exact)" if search == "auto" else "enumeration, angular search (exact)"
    )
    # If every error costs 1, the two surrogates are the same.
    slack, margin = (
        MulticlassSSVM(lam=0.1, rescaling=rescaling, **TIGHT).fit(X, y)
        for rescaling in ("slack", "margin")
    )
    assert slack.objective_ == pytest.approx(margin.objective_, rel=1e-7)
    assert margin.inference_ == "enumeration (exact)"
    assert "queries" not in margin.history_


@pytest.mark.parametrize("search", ["auto", "bisecting"])
def test_optimum_of_trees(rng, search):
    parents = [-1, 0, 0, 1]
    X, y = candidates(rng, parents, 8)
    model = TreeSSVM(parents=parents, lam=0.1, loss="hamming", search=search, **SLACK)
    model.set_params(**TIGHT)
    if search == "bisecting":
        model.set_params(tol=1e-6)
        with pytest.warns(ConvergenceWarning, match="no labeling was found"):
            model.fit(X, y)
    else:
        model.fit(X, y)
    terms = slack_terms(trees.blocks(model, X, y, "hamming", np.ones(8)))
    bounds = tree_model(vars(model)).attractive_bounds()
    if search == "auto":
        assert model.inference_ == "max-sum, error table (exact)"
        dual_qp.check_optimum(model, terms, bounds)
    else:
        assert model.inference_ == "max-sum, bisecting search (bounded)"
        assert model.status_ == "STALLED"
        dual_qp.check_bounds(model, terms, bounds)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("loss", INFERENCES)
def test_bounded_certificates_of_chains(rng, loss):
    X, y = make(rng, n=12)
    model = ChainSSVM(pairwise_scale=1, lam=0.05, loss=loss, tol=1e-4, **SLACK).fit(X, y)
    assert model.inference_ == INFERENCES[loss]
    terms = slack_terms(brute_force.blocks(X, y, brute_force.Model(3), loss))
    dual_qp.check_bounds(model, terms)
    reached = model.dual_gap_ <= 1e-4 * model.objective_
    assert model.status_ == ("CONVERGED" if reached else "STALLED")
    assert reached or loss == "balanced"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("search", ["auto", "bisecting", "binary"])
def test_queries_are_counted(rng, search):
    X, y = make_sequences(n_samples=30, random_state=0)
    model = ChainSSVM(lam=0.01, search=search, max_iter=5, tol=0, **SLACK).fit(X, y)
    queries, calls = model.history_["queries"], model.history_["oracle_calls"]
    assert len(queries) == 5
    if search == "auto":
        np.testing.assert_array_equal(queries, calls)
    else:
        assert (queries > 2 * calls).all()
        assert (queries < 20 * calls).all()
    # Queries of certificates are not counted, and do not affect later searches.
    more = clone(model).set_params(solver=MPBCFW(certificate_every=1)).fit(X, y)
    assert more.history_["queries"][0] == queries[0]


@pytest.mark.parametrize(
    "name, parameters, message",
    [
        ("chain", {"rescaling": "both"}, "rescaling must be one of"),
        ("chain", SLACK | {"search": "golden"}, "search must be one of"),
        ("chain", {"search": "bisecting"}, "search='bisecting' requires rescaling=\"slack\""),
        ("chain", SLACK | {"search": "angular"}, r'or "bisecting"'),
        ("grid", {"search": "bisecting"}, "search='bisecting' requires rescaling=\"slack\""),
        ("grid", SLACK | {"search": "angular"}, r'or "bisecting"'),
        ("graph", SLACK | {"pairwise": 0.5}, "a fixed pairwise cost"),
        ("grid", SLACK | {"solver": "perceptron"}, "not supported by solver"),
        ("label sets", {"rescaling": "both"}, "rescaling must be one of"),
        ("label sets", {"search": "angular"}, "search='angular' requires rescaling=\"slack\""),
        ("label sets", SLACK | {"search": "angular", "edges": "tree"}, r'or "bisecting"'),
    ],
)
def test_parameters_are_checked(name, parameters, message):
    model = EXAMPLES[name].unfitted(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(*EXAMPLES[name].samples())
    assert not hasattr(model, "status_")


def test_warm_starts_need_the_same_loss_and_rescaling(rng):
    X, y = make(rng)
    model = ChainSSVM(pairwise_scale=1, lam=0.1, warm_start=True, **SLACK).fit(X, y)
    for change in ({"rescaling": "margin"}, {"loss": "hamming"}):
        with pytest.raises(ValueError, match="the model or its loss, differ"):
            _changed(model, change).fit(X, y)
    # The search may change.
    _changed(model, {"search": "bisecting", "tol": 0.5}).fit(X, y)


def _changed(model, change):
    """Return a model with the state of the last fit and other parameters."""
    other = clone(model)
    other.__dict__.update(model.__dict__)
    return other.set_params(**change)
