"""Test the max-marginals and the format of `decision_function` of graphs and grids."""

import signal
from itertools import product

import numpy as np
import pytest

from sstruct import GraphCRFSSVM, GridCRFSSVM
from tests.kernels.test_interruption import signals_inside_a_call
from tests.reference import graphs

ROUGH = {"max_iter": 1, "tol": 1e6, "random_state": 0}


def enumerated(model, graph):
    x, edges, features = graph
    V, K = len(x), len(model.classes_)
    best = np.full((V, K), -np.inf)
    for z in product(range(K), repeat=V):
        phi = graphs.joint_feature(x, z, edges, features, model.pairwise, K)
        fixed = model.pairwise if isinstance(model.pairwise, float) else 0
        score = phi @ model.w_ - fixed * graphs.disagreements(z, edges)
        at = np.arange(V), np.array(z)
        best[at] = np.maximum(best[at], score)
    return best


def make(rng, K, n=5, forests=False):
    X, y = [], []
    for _ in range(n):
        edges = graphs.random_edges(rng, 4, 0.9)
        if forests:
            edges = np.array([(v, rng.integers(v)) for v in range(1, 4)], np.int32)
        X.append((rng.standard_normal((4, 2)), edges, abs(rng.standard_normal((len(edges), 2)))))
        y.append(np.arange(4) % K)
    return X, y


@pytest.mark.parametrize("pairwise", ["potts", "contrast", 0.7])
@pytest.mark.parametrize("inference", ["auto", "cut", "expansion", "fwmap", "exact"])
def test_two_labels_that_attract_are_exact(rng, pairwise, inference):
    X, y = make(rng, 2)
    model = GraphCRFSSVM(pairwise=pairwise, inference=inference, **ROUGH).fit(X, y)
    for graph, scores, labels in zip(X, model.decision_function(X), model.predict(X), strict=True):
        np.testing.assert_allclose(scores, enumerated(model, graph), rtol=0, atol=1e-9)
        own = scores[np.arange(4), labels]
        np.testing.assert_allclose(own, scores.max(axis=1), rtol=0, atol=1e-9)


@pytest.mark.parametrize("pairwise", ["potts", "contrast", "full", "directed", 0.7])
@pytest.mark.parametrize("inference", ["auto", "max-sum", "expansion", "fwmap", "exact"])
def test_forests_are_exact(rng, pairwise, inference):
    X, y = make(rng, 3, forests=True)
    model = GraphCRFSSVM(pairwise=pairwise, inference=inference, **ROUGH).fit(X, y)
    for graph, scores in zip(X, model.decision_function(X), strict=True):
        np.testing.assert_allclose(scores, enumerated(model, graph), rtol=0, atol=1e-9)


@pytest.mark.parametrize("pairwise", ["potts", "full"])
def test_approximate_scores_are_lower_bounds_and_exact_for_forests(rng, pairwise):
    X, y = make(rng, 3)
    trees, of_trees = make(rng, 3, forests=True)
    model = GraphCRFSSVM(pairwise=pairwise, **ROUGH).fit([*X, *trees], [*y, *of_trees])
    assert model.inference_.endswith("(approximate)")
    scores = model.decision_function([*X, *trees])
    for graph, found in zip(X, scores[:5], strict=True):
        best = enumerated(model, graph)
        assert (found <= best + 1e-9).all()
    for graph, found in zip(trees, scores[5:], strict=True):
        np.testing.assert_allclose(found, enumerated(model, graph), rtol=0, atol=1e-9)


def test_shapes_match_predict(rng):
    X = rng.standard_normal((3, 4, 5, 2))
    model = GridCRFSSVM(**ROUGH).fit(X, rng.integers(0, 2, (3, 4, 5)))
    stacked = model.decision_function(X)
    assert stacked.shape == (3, 4, 5, 2)
    ragged = model.decision_function([X[0], X[1][:, :2]])
    assert [scores.shape for scores in ragged] == [(4, 5, 2), (4, 2, 2)]
    np.testing.assert_array_equal(ragged[0], stacked[0])
    assert (model.classes_[stacked.argmax(axis=-1)] == model.predict(X)).all()
    graph = GraphCRFSSVM(**ROUGH).fit([(X[0, 0], [[0, 1]])], [[0, 1, 2, 3, 4]])
    assert graph.decision_function([(X[0, 0], [[0, 1]])])[0].shape == (5, 5)
    rows = GraphCRFSSVM(**ROUGH).fit(X[0, 0], [0, 1, 2, 3, 4])
    assert rows.decision_function(X[0, 1]).shape == (5, 5)


def test_one_label(rng):
    X = [(rng.standard_normal((3, 2)), [[0, 1], [1, 2], [2, 0]])]
    model = GraphCRFSSVM(**ROUGH).fit(X, [["a"] * 3])
    (scores,) = model.decision_function(X)
    assert scores.shape == (3, 1)
    assert np.ptp(scores) == 0
    # The costs of edges cannot cause rounding errors.
    assert GraphCRFSSVM(pairwise=0.5, **ROUGH).fit(X, [["a"] * 3]).status_ == "CONVERGED"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this platform")
def test_signals_are_handled_between_searches(rng):
    # Edges outweigh all features, so the search for each pixel visits most of the image.
    labels = np.zeros((100, 100), dtype=int)
    labels[25:50, 25:50] = 1
    image = (labels + rng.standard_normal(labels.shape))[..., np.newaxis]
    model = GridCRFSSVM(pairwise=1e3, lam=1.0, **ROUGH).fit([image], [labels])
    large = np.tile(image, (4, 4, 1))  # takes seconds; signals are checked every 0.05 s
    with signals_inside_a_call(0.01), pytest.raises(KeyboardInterrupt):
        model.decision_function([large])
