"""Weights of nodes in the loss: by their true label, and one by one."""

import numpy as np
import pytest
from sklearn.base import clone

from sstruct import ChainSSVM, GraphCRFSSVM, GridCRFSSVM
from sstruct.datasets import make_sequences
from tests.estimators import test_graph, test_grid
from tests.reference import brute_force, dual_qp
from tests.solvers.test_optimum import LOSSES, make

TIGHT = {"tol": 1e-8, "max_iter": 100_000, "random_state": 0}
CLASS_WEIGHTS = {"some": {0: 2.5, 2: 0.25}, "none": {1: 0.0}, "balanced": "balanced"}


def chain_terms(X, y, loss="hamming", weights=None, **more):
    return brute_force.blocks(X, y, brute_force.Model(3), loss, weights, **more)


def fit_chain(X, y, weights=None, **parameters):
    return ChainSSVM(lam=0.1, ignore_label=-1, **TIGHT, **parameters).fit(X, y, weights)


# Weights by true label ----------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("class_weight", CLASS_WEIGHTS)
@pytest.mark.parametrize("loss", LOSSES)
def test_class_weights_of_chains_reach_the_optimum(rng, loss, class_weight, weighted):
    X, y = make(rng, ignored=True)
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], len(X)) if weighted else None
    loss, class_weight = LOSSES[loss], CLASS_WEIGHTS[class_weight]
    model = fit_chain(X, y, weights, loss=loss, class_weight=class_weight, classes=[0, 1, 2])
    dual_qp.check_optimum(model, chain_terms(X, y, loss, weights, class_weight=class_weight))


@pytest.mark.parametrize("sizes", [False, True], ids=["plain", "sizes"])
@pytest.mark.parametrize("class_weight", [{0: 3.0, 2: 0.5}, "balanced"])
@pytest.mark.parametrize("loss", ["hamming", "hamming-count", "balanced", "table"])
def test_class_weights_of_graphs_reach_the_optimum(rng, monkeypatch, loss, class_weight, sizes):
    monkeypatch.setattr("sstruct.graph._decoder", lambda *_, **__: test_graph.graph_enumeration())
    X, y = test_graph.make(rng, sizes=sizes)
    total = np.zeros(3)
    for (*_, size), labels in zip(X, y):
        np.add.at(total, labels, np.ones(len(labels)) if size is None else size)
    balanced = total.sum() / (3 * total)
    wrong = 1 - np.eye(3)
    cost = {"balanced": balanced[:, None] * wrong, "table": LOSSES["table"]}.get(loss, wrong)
    factor = balanced if class_weight == "balanced" else np.array([3.0, 1.0, 0.5])
    model = test_graph.tight(loss=LOSSES["table"] if loss == "table" else loss,
                             class_weight=class_weight).fit(X, y)  # fmt: skip
    terms = test_graph.terms_of(
        X, y, "potts", 3, cost=factor[:, None] * cost, divided=loss != "hamming-count"
    )
    dual_qp.check_optimum(model, terms, test_graph.box(model, 3, 2, "potts"))


def cases(rng):
    X, y = make_sequences(n_samples=30, random_state=0)
    graphs, of_graphs = test_graph.make(rng, n=20)
    images, of_images = test_grid.make(rng, K=3)
    return [
        (ChainSSVM(lam=0.02, random_state=0), X, y),
        (ChainSSVM(lam=0.02, rescaling="slack", max_iter=20, random_state=0), X, y),
        (ChainSSVM(lam=0.02, solver="gdmm", max_iter=20, random_state=0), X, y),
        (GraphCRFSSVM(lam=0.1, random_state=0), graphs, of_graphs),
        (GridCRFSSVM(lam=0.5, random_state=0), images, of_images),
    ]


def fitted(model, X, y, weights=None, **parameters):
    return clone(model).set_params(**parameters).fit(X, y, weights)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_class_weights_and_losses_that_say_the_same(rng):
    # To the bit: they are the same costs.
    for model, X, y in cases(rng):
        labels = np.unique(np.concatenate([np.ravel(each) for each in y]))
        labels = labels[labels != -1]
        K = len(labels)
        factor = np.arange(1.0, K + 1)
        as_dict = dict(zip(labels.tolist(), factor.tolist()))
        one = fitted(model, X, y, loss="hamming", class_weight=as_dict)
        two = fitted(model, X, y, loss=factor)
        np.testing.assert_array_equal(one.w_, two.w_)
        assert one.objective_ == two.objective_
        one = fitted(model, X, y, loss="hamming", class_weight="balanced")
        two = fitted(model, X, y, loss="balanced")
        np.testing.assert_array_equal(one.w_, two.w_)
        table = rng.integers(1, 4, (K, K)) * (1.0 - np.eye(K))
        one = fitted(model, X, y, loss=table, class_weight=as_dict)
        two = fitted(model, X, y, loss=factor[:, None] * table)
        np.testing.assert_array_equal(one.w_, two.w_)
        # Weight 1 everywhere is no weight; of a label that never occurs it says nothing.
        one = fitted(model, X, y, loss="hamming-count", class_weight={labels[0].item(): 1.0})
        two = fitted(model, X, y, loss="hamming-count")
        np.testing.assert_array_equal(one.w_, two.w_)


def test_twice_the_weight_is_twice_the_loss(rng):
    X, y = make(rng)
    loss = chain_terms(X, y, class_weight={1: 2.0})
    for block, plain in zip(loss, chain_terms(X, y), strict=True):
        truth = block.labelings[block.truth]
        share = [np.mean([a != b and a == 1 for a, b in zip(truth, z)]) for z in block.labelings]
        np.testing.assert_allclose(block.loss, plain.loss + share)
    # All labels at once: w of twice the lambda, twice as large.
    for name in ("hamming", "hamming-count"):
        both = dict.fromkeys(range(3), 2.0)
        one = fit_chain(X, y, loss=name, class_weight=both)
        two = ChainSSVM(lam=0.2, loss=name, **TIGHT).fit(X, y)
        scores = [model.decision_function(X[:1])[0] for model in (one, two)]
        np.testing.assert_allclose(scores[0], 2 * scores[1], rtol=0, atol=2e-3)
        assert one.objective_ == pytest.approx(2 * two.objective_, rel=1e-6)


def test_a_sample_weight_is_so_many_copies_under_balanced_class_weights(rng):
    X, y = make(rng)
    counts = rng.integers(0, 3, len(X))
    copies = np.repeat(np.arange(len(X)), counts)
    for loss in ("hamming", "hamming-count"):
        one = fit_chain(X, y, counts, loss=loss, class_weight="balanced", classes=[0, 1, 2])
        two = fit_chain(
            [X[i] for i in copies], [y[i] for i in copies], loss=loss, class_weight="balanced",
            classes=[0, 1, 2],
        )  # fmt: skip
        assert one.objective_ == pytest.approx(two.objective_, rel=1e-7)


@pytest.mark.parametrize(
    "class_weight, message",
    [
        ("balance", 'class_weight must be a dict, "balanced" or None'),
        ([1, 2, 3], 'class_weight must be a dict, "balanced" or None'),
        ({0: -1.0}, "class_weight must be finite and not negative"),
        ({0: np.nan}, "class_weight must be finite and not negative"),
        ({"zero": 2.0}, "are not in class_weight"),
        (dict.fromkeys(range(3), 0.0), "class_weight gives every labeled node weight 0"),
    ],
)
def test_bad_class_weights_are_refused(rng, class_weight, message):
    X, y = make(rng)
    graphs, of_graphs = test_graph.make(rng)
    for model, samples, labels in ((ChainSSVM(), X, y), (GraphCRFSSVM(), graphs, of_graphs)):
        with pytest.raises(ValueError, match=message):
            model.set_params(class_weight=class_weight).fit(samples, labels)
        assert not hasattr(model, "classes_")


def test_a_warm_start_takes_up_other_class_weights(rng):
    X, y = make(rng)
    model = fit_chain(X, y, warm_start=True)
    again = model.set_params(class_weight={0: 5.0}).fit(X, y)
    dual_qp.check_optimum(again, chain_terms(X, y, class_weight={0: 5.0}))
    graphs, of_graphs = test_graph.make(rng, K=2, n=16)
    model = GraphCRFSSVM(lam=0.1, warm_start=True, class_weight="balanced", **TIGHT)
    model.fit(graphs[:8], of_graphs[:8]).fit(graphs, of_graphs)
    cold = clone(model).set_params(warm_start=False).fit(graphs, of_graphs)
    assert model.objective_ == pytest.approx(cold.objective_, rel=3e-8)
    assert model.dual_objective_ <= cold.objective_ * (1 + 1e-10)
