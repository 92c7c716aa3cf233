"""Test labels and bounds of inference="fwmap" against enumeration, and certificates."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from sstruct import GraphCRFSSVM
from sstruct._estimators.graph.fwmap_decoder import TreeSearch
from sstruct.inference._methods._tree_decoder import TreeDecoder
from tests.estimators.graph.test_graph import LAM, make, terms_of
from tests.oracles.test_graph_decoder import random_costs
from tests.reference import brute_force, graphs
from tests.reference.energies import energy, minimum

MODELS = ["potts", "full", "directed"]


@settings(max_examples=80)
@given(
    n_nodes=st.integers(2, 6),
    n_labels=st.integers(2, 4),
    n_features=st.integers(0, 3),
    key=st.integers(0, 2**32 - 1),
)
def test_labels_and_bounds(n_nodes, n_labels, n_features, key, new_rng):
    rng = new_rng(key)
    edges = graphs.random_edges(rng, n_nodes, 0.8).astype(np.int32)
    search = TreeSearch(0, 20)
    decoder = TreeDecoder(search, 0)
    bounds = []
    for _ in range(3):  # other costs, starting from the last multipliers
        node, weights, tables, full = random_costs(rng, n_nodes, n_labels, edges, n_features, True)
        start = rng.integers(0, n_labels, n_nodes).astype(np.int32)
        labels, cost, work, exact = decoder.decode_arrays(node, edges, weights, tables, start)
        least = minimum(node, edges, full)[0]
        assert cost == pytest.approx(energy(labels, node, edges, full), abs=1e-12)
        assert cost >= least - 1e-12
        assert not exact or cost == pytest.approx(least, abs=1e-9)
        assert work > 0
    # The same costs, starting from better multipliers each time.
    for _ in range(3 if len(edges) else 0):
        found, bound, _ = search(0, node, edges, weights, tables, start.copy())
        assert bound <= least + 1e-9
        assert energy(found, node, edges, full) >= least - 1e-12
        bounds.append(bound)
    assert (np.diff(bounds) >= -1e-9).all()
    if not len(edges):
        return
    once = TreeSearch(0, 20, keeps=False)
    first, other = (once(0, node, edges, weights, tables, start.copy()) for _ in range(2))
    np.testing.assert_array_equal(first[0], other[0])
    assert first[1:] == other[1:]
    assert not once.multipliers
    assert not once.covers


def fitted(X, y, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return GraphCRFSSVM(
            **{"lam": LAM, "inference": "fwmap", "random_state": 0, "max_iter": 40, "tol": 1e-3,
               **parameters}
        ).fit(X, y)  # fmt: skip


@pytest.mark.parametrize("pairwise", MODELS)
def test_certificates_are_of_the_true_problem(pairwise, rng):
    X, y = make(rng, n=6, pairwise=pairwise, most=5)
    model = fitted(X, y, pairwise=pairwise)
    assert model.inference_ == "trees by Frank-Wolfe (bounded)"
    primal = brute_force.primal(model.w_, LAM, terms_of(X, y, pairwise, 3))
    assert model.dual_objective_ <= primal + 1e-9
    assert primal <= model.objective_ + 1e-9
    assert model.dual_gap_ == pytest.approx(model.objective_ - model.dual_objective_)
    # The relaxation is not tight, but not far off.
    assert model.dual_gap_ <= 0.5 * model.objective_
    for graph, labels in zip(X, model.predict(X), strict=True):
        assert labels.shape == (len(graph[0]),)


def test_prediction_does_not_store_multipliers(rng, monkeypatch):
    X, y = make(rng, n=6, pairwise="full", most=5)
    model, searches = fitted(X, y, pairwise="full", max_iter=5), []

    class Seen(TreeSearch):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            searches.append(self)

    monkeypatch.setattr("sstruct._estimators.graph.decoding.TreeSearch", Seen)
    model.predict(X)
    assert len(searches) == 1
    assert not searches[0].multipliers
    assert not searches[0].covers
