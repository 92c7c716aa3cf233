"""Test weights of nodes in the loss, by their true labels (class_weight) or for each node."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sstruct import (
    ChainSSVM,
    GraphCRFSSVM,
    GridCRFSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    PathCV,
    Sequences,
    TreeSSVM,
    ssvm_path,
)
from sstruct.datasets import make_sequences
from tests.estimators.graph import test_graph
from tests.estimators.grid import test_grid
from tests.estimators.tree import test_tree
from tests.reference import brute_force, dual_qp
from tests.reference.graphs import grid_graph
from tests.solvers.test_optimum import LOSSES, make

TIGHT = {"tol": 1e-8, "max_iter": 100_000, "random_state": 0}
CLASS_WEIGHTS = {"some": {0: 2.5, 2: 0.25}, "none": {1: 0.0}, "balanced": "balanced"}


def chain_terms(X, y, loss="hamming", weights=None, **more):
    return brute_force.blocks(X, y, brute_force.Model(3), loss, weights, **more)


def fit_chain(X, y, weights=None, loss="hamming", **parameters):
    model = ChainSSVM(pairwise_scale=1, lam=0.1, loss=loss, ignore_label=-1, **TIGHT, **parameters)
    return model.fit(X, y, weights)


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
def test_class_weights_of_graphs_reach_the_optimum(rng, enumerated, loss, class_weight, sizes):
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
def test_class_weights_equal_losses_with_the_same_costs(rng):
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
        # Weights of 1, and weights of labels that never occur, change nothing.
        one = fitted(model, X, y, loss="hamming-count", class_weight={labels[0].item(): 1.0})
        two = fitted(model, X, y, loss="hamming-count")
        np.testing.assert_array_equal(one.w_, two.w_)


@pytest.mark.parametrize(
    "class_weight, message",
    [
        ("balance", 'class_weight must be a dict, "balanced" or None'),
        ([1, 2, 3], 'class_weight must be a dict, "balanced" or None'),
        ({0: -1.0}, "class_weight must be finite and not negative"),
        ({0: np.nan}, "class_weight must be finite and not negative"),
        ({"zero": 2.0}, "are not in class_weight"),
        (dict.fromkeys(range(3), 0.0), "class_weight gives all labeled nodes weight 0"),
    ],
)
def test_invalid_class_weights(rng, class_weight, message):
    X, y = make(rng)
    graphs, of_graphs = test_graph.make(rng)
    for model, samples, labels in ((ChainSSVM(), X, y), (GraphCRFSSVM(), graphs, of_graphs)):
        with pytest.raises(ValueError, match=message):
            model.set_params(class_weight=class_weight).fit(samples, labels)
        assert not hasattr(model, "classes_")


def test_warm_start_with_changed_class_weights(rng):
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


def node_weights(rng, y):
    """Return weights of nodes, many of which are 0; in one sample, all are 0."""
    weights = [rng.choice([0.0, 0.5, 1.0, 3.0], np.shape(labels)) for labels in y]
    weights[1][...] = 0
    weights[2][0] = 0.7
    return weights


@pytest.mark.parametrize("ignored", [False, True], ids=["labeled", "ignored"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("loss", LOSSES)
def test_node_weights_of_chains_reach_the_optimum(rng, loss, class_weight, ignored):
    X, y = make(rng, ignored=ignored, csr=ignored)
    weights, loss = node_weights(rng, y), LOSSES[loss]
    given = {"loss": loss, "class_weight": class_weight}
    terms = chain_terms(X, y, loss, class_weight=class_weight, node_weights=weights)
    model = fit_chain(X, y, weights, classes=[0, 1, 2], **given)
    best, _ = dual_qp.check_optimum(model, terms)
    assert 1 not in {block.sample for block in terms}
    for solver in ("gdmm", "fw"):
        other = ChainSSVM(pairwise_scale=1, lam=0.1, ignore_label=-1, classes=[0, 1, 2],
                          solver=solver, tol=1e-2,
                          max_iter=20_000, random_state=0, **given).fit(X, y, weights)  # fmt: skip
        assert other.converged_
        assert other.objective_ == pytest.approx(brute_force.primal(other.w_, 0.1, terms), rel=1e-9)
        assert other.dual_objective_ <= best * (1 + 1e-8)
        assert best <= other.objective_ * (1 + 1e-8)


@pytest.mark.parametrize("sizes", [False, True], ids=["plain", "sizes"])
@pytest.mark.parametrize("pairwise", ["potts", "full"])
@pytest.mark.parametrize("loss", ["hamming", "hamming-count", "balanced", "table"])
def test_node_weights_of_graphs_reach_the_optimum(
    rng, enumerated, without_completion, loss, pairwise, sizes
):
    X, y = test_graph.make(rng, sizes=sizes, n=9)
    y[4] = np.where(np.arange(len(y[4])) > 0, -1, y[4])
    weights = node_weights(rng, y)
    weights[4][0] = 2.0
    # The reference has the weights as node sizes, and omits the sample whose weights are all 0.
    sized = [
        (x, edges, None, own * (1 if size is None else size))
        for (x, edges, _, size), own in zip(X, weights)
    ]
    kept = [i for i in range(len(X)) if weights[i][y[i] >= 0].any()]
    assert 1 not in kept
    total = np.zeros(3)
    for i in kept:
        np.add.at(total, y[i][y[i] >= 0], sized[i][3][y[i] >= 0])
    balanced = np.divide(total.sum(), 3 * total, out=np.zeros(3), where=total > 0)
    wrong = 1 - np.eye(3)
    cost = {"balanced": balanced[:, None] * wrong, "table": LOSSES["table"]}.get(loss, wrong)
    model = test_graph.tight(loss=LOSSES["table"] if loss == "table" else loss, pairwise=pairwise)
    model.fit(X, y, weights)
    terms = test_graph.terms_of(
        [sized[i] for i in kept], [y[i] for i in kept], pairwise, 3, cost=cost,
        divided=loss != "hamming-count",
    )  # fmt: skip
    dual_qp.check_optimum(model, terms, test_graph.box(model, 3, 2, pairwise))


def test_node_weights_of_grids_match_graphs(rng):
    images, y = test_grid.make(rng, K=2)
    y[0][0, 0] = -1
    weights = node_weights(rng, y)
    weights[2].flat[0] = 1.5
    as_graphs = [grid_graph(x, "potts", 4) for x in images]
    grid = GridCRFSSVM(lam=0.5, tol=1e-6, random_state=0).fit(images, y, weights)
    flat = [labels.ravel() for labels in y], [each.ravel() for each in weights]
    graph = GraphCRFSSVM(lam=0.5, tol=1e-6, random_state=0).fit(as_graphs, *flat)
    assert grid.objective_ == pytest.approx(graph.objective_, rel=2e-6)
    assert grid.score(images, y, weights) == pytest.approx(grid_score(grid, images, y, weights))


def grid_score(model, X, y, weights):
    right = [found == labels for found, labels in zip(model.predict(X), y)]
    used = [each * (labels != -1) for each, labels in zip(weights, y)]
    right, used = (np.concatenate([each.ravel() for each in part]) for part in (right, used))
    return (right * used).sum() / used.sum()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_of_one_equal_no_weights(rng):
    for model, X, y in cases(rng):
        ones = [np.ones(np.shape(labels)) for labels in y]
        one, two = fitted(model, X, y, ones), fitted(model, X, y)
        np.testing.assert_array_equal(one.w_, two.w_)
        assert one.objective_ == two.objective_
        assert one.inference_ == two.inference_
        assert one.score(X, y, ones) == two.score(X, y)


@pytest.mark.filterwarnings("ignore:ChainSSVM stopped at relative duality gap")
@pytest.mark.parametrize("search", ["auto", "binary"])
def test_node_weights_under_slack_rescaling_are_bounded(rng, search):
    X, y = make(rng)
    weights = node_weights(rng, y)
    parameters = dict(lam=0.1, loss="hamming", rescaling="slack", tol=1e-4, random_state=0)
    model = ChainSSVM(pairwise_scale=1, search=search, **parameters).fit(X, y, weights)
    name = "bisecting" if search == "auto" else search
    assert model.inference_ == f"viterbi, {name} search (bounded)"
    terms = brute_force.slack_terms(chain_terms(X, y, node_weights=weights))
    dual_qp.check_bounds(model, terms)


def test_forms_of_node_weights(rng):
    X = rng.standard_normal((6, 4, 2))
    y = rng.integers(0, 2, (6, 4))
    weights = rng.uniform(0.5, 2, (6, 4))
    held = np.empty(6, dtype=object)
    held[:] = list(weights)
    model = ChainSSVM(lam=0.1, random_state=0)
    expected = clone(model).fit(X, y, weights)
    right = expected.predict(X) == y
    flat = Sequences.from_lengths(weights.ravel(), [4] * 6)
    for form in (flat, list(weights), tuple(weights), weights.tolist(), held, pd_series(weights)):
        np.testing.assert_array_equal(clone(model).fit(X, y, form).w_, expected.w_)
        np.testing.assert_array_equal(clone(model).fit(list(X), list(y), form).w_, expected.w_)
        assert expected.score(X, y, form) == pytest.approx((right * weights).sum() / weights.sum())
    images, masks = X.reshape(6, 2, 2, 2), y.reshape(6, 2, 2)
    grid = GridCRFSSVM(lam=0.5, random_state=0)
    of_pixels = weights.reshape(6, 2, 2)
    one = grid.fit(images, masks, of_pixels).w_
    two = clone(grid).fit(list(images), list(masks), of_pixels.tolist()).w_
    np.testing.assert_array_equal(one, two)


def pd_series(weights):
    return pytest.importorskip("pandas").Series(list(weights), index=range(10, 10 + len(weights)))


def test_searches_slice_node_weights(rng):
    X, y = make_sequences(n_samples=30, random_state=0)
    weights = [rng.uniform(0.1, 2, len(labels)) for labels in y]
    model = ChainSSVM(random_state=0)
    search = GridSearchCV(model, {"lam": [0.01, 0.1]}, cv=3).fit(X, y, sample_weight=weights)
    alone = clone(search.best_estimator_).fit(X, y, weights)
    np.testing.assert_array_equal(search.best_estimator_.w_, alone.w_)
    search = PathCV(model, lams=[0.1, 0.01], eps=0.05, cv=3).fit(X, y, sample_weight=weights)
    one = clone(model).set_params(lam=search.best_lam_).fit(X, y, weights)
    np.testing.assert_array_equal(search.best_estimator_.w_, one.w_)
    path = ssvm_path(model, X, y, eps=0.1, lam_min=0.1, sample_weight=weights)
    direct = clone(model).set_params(lam=0.2, tol=1e-6).fit(X, y, weights)
    assert path.estimator(0.2).objective_ <= direct.objective_ + 0.1
    with pytest.raises(ValueError, match="X has 30 samples but sample_weight has 29"):
        PathCV(model, lams=[0.1], cv=3).fit(X, y, sample_weight=weights[1:])


CHAIN = [np.zeros((2, 1)), np.ones((3, 1))], [[0, 1], [1, 0, 1]]


@pytest.mark.parametrize(
    "weights, kind, message",
    [
        ([[1, 1], [1, 1]], ValueError, r"sample_weight\[1\] has shape \(2,\), expected \(3,\): a"),
        ([[1, 1], 2.0], ValueError, r"sample_weight\[1\] has shape \(\), expected \(3,\)"),
        ([2.0, [1, 1, 1]], ValueError, "sample_weight must be one number per sample: "),
        ([[1, 1]], ValueError, "X has 2 samples but sample_weight has 1"),
        ([[1, 1], [1, -1, 1]], ValueError, r"sample_weight\[1\] has -1.0 at node 1, expected fin"),
        ([[1, np.nan], [1, 1, 1]], ValueError, r"sample_weight\[0\] has nan at node 1"),
        ([[1, 1], ["a", "b", "c"]], TypeError, r"sample_weight\[1\] has dtype <U1"),
        ([[1, 1], [[1], [1, 2], 1]], ValueError, r"sample_weight\[1\] must be an array of shape"),
        ([[0, 0], [0, 0, 0]], ValueError, "sample_weight is zero for every node"),
        ([[1, 1], [1e-310, 0, 0]], ValueError, r"sample_weight\[1\] has 1e-310 at node 0"),
        ([[1, 1], [1e308, 1e308, 0]], ValueError, r"sample_weight\[1\] sums to inf"),
        (["ab", "abc"], TypeError, "sample_weight has dtype <U3, expected real numbers"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_invalid_node_weights(weights, kind, message):
    X, y = CHAIN
    model = ChainSSVM(lam=0.1)
    with pytest.raises(kind, match=message):
        model.fit(X, y, weights)
    assert not hasattr(model, "classes_")


def test_invalid_shapes_of_node_weights(rng):
    images, masks = [np.zeros((2, 3, 1))], [np.array([[0, 1, 0], [1, 0, 1]])]
    with pytest.raises(ValueError, match=r"has shape \(6,\), expected \(2, 3\): a weight for each"):
        GridCRFSSVM().fit(images, masks, [np.ones(6)])
    with pytest.raises(ValueError, match="no labeled node in any sample with positive weight"):
        GridCRFSSVM(ignore_label=1).fit(images, masks, [1.0 * masks[0]])
    rows, labels = rng.standard_normal((6, 2)), np.arange(6) % 2
    for model in (ChainSSVM(), MulticlassSSVM(), MultilabelSSVM()):
        with pytest.raises(ValueError, match=r"sample_weight has shape \(6, 1\), expected \(6,\)"):
            model.fit(rows, labels, np.ones((6, 1)))
    samples, states = test_tree.candidates(rng, [-1, 0])
    with pytest.raises(ValueError, match=r"sample_weight has shape \(6, 2\), expected \(6,\)"):
        TreeSSVM(parents=[-1, 0]).fit(samples, states, np.ones((6, 2)))


def test_warm_starts_with_node_weights(rng):
    X, y = make(rng)
    weights = node_weights(rng, y)
    for each in weights:
        each[0] = 0.7  # no sample is removed
    model = fit_chain(X, y, warm_start=True).fit(X, y, weights)
    dual_qp.check_optimum(model, chain_terms(X, y, node_weights=weights))
    model = fit_chain(X[:5], y[:5], weights[:5], warm_start=True).fit(X, y, weights)
    dual_qp.check_optimum(model, chain_terms(X, y, node_weights=weights))
    graphs, of_graphs = test_graph.make(rng, K=2, n=16)
    kept = GraphCRFSSVM(lam=0.1, warm_start=True, random_state=0).fit(graphs, of_graphs)
    assert kept._keeps_planes
    with pytest.raises(ValueError, match="the model or its loss, differ"):
        kept.fit(graphs, of_graphs, [np.arange(1.0, 1 + len(each)) for each in of_graphs])
