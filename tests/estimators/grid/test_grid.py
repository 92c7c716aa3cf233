"""Test GridCRFSSVM against graphs with explicit edges, image formats and invalid input."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict

from sstruct import GraphCRFSSVM, GridCRFSSVM
from sstruct._estimators.graph import graph_structure
from sstruct._estimators.graph.graph_samples import pack_grids
from sstruct._input.ragged import ExpectedInput
from sstruct._problems.graph.grid_edges import grid_directions, grid_edges
from sstruct._testing._graph_enumeration import graph_enumeration
from tests.reference import graphs

MODELS = ["potts", "contrast", "full", "directed", 0.2]
SHAPES = [(3, 4), (1, 5), (4, 1), (1, 1), (3, 4), (2, 2)]


def make(rng, shapes=SHAPES, F=2, K=2):
    X = [rng.standard_normal((*shape, F)) for shape in shapes]
    y = [(x[..., 0] + 0.5 * rng.standard_normal(x.shape[:2]) > 0).astype(int) for x in X]
    y[0][0, :K] = np.arange(K)
    return X, y


@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("height, width", [(1, 1), (1, 4), (3, 1), (2, 2), (3, 5)])
def test_edges_of_grids(height, width, connectivity):
    edges, directions = graphs.neighbors(height, width, connectivity)
    np.testing.assert_array_equal(grid_edges(height, width, connectivity), edges)
    np.testing.assert_array_equal(grid_directions(height, width, connectivity), directions)


def both(X, y, pairwise, connectivity, **parameters):
    """Fit a grid and the same graph with explicit edges; return both models and X of the graph."""
    bounds = None if isinstance(pairwise, float) else "submodular"
    parameters |= dict(pairwise=pairwise, bounds=bounds, lam=0.1, random_state=0)
    grid = GridCRFSSVM(connectivity=connectivity, **parameters).fit(X, y)
    explicit = [graphs.grid_graph(x, pairwise, connectivity) for x in X]
    graph = GraphCRFSSVM(**parameters).fit(explicit, [labels.ravel() for labels in y])
    assert grid.inference_ == graph.inference_ == "graph cut (exact)"
    return grid, graph, explicit


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("ignored", [False, True], ids=["", "ignored"])
@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("pairwise", MODELS)
def test_a_grid_equals_a_graph(rng, monkeypatch, pairwise, connectivity, ignored):
    monkeypatch.setattr(graph_structure, "decoder_of", lambda *_, **__: graph_enumeration(True))
    X, y = make(rng)
    if ignored:
        y = [np.where(rng.random(labels.shape) < 0.2, -1, labels) for labels in y]
    grid, graph, explicit = both(X, y, pairwise, connectivity, max_iter=20, tol=1e-6)
    np.testing.assert_array_equal(grid.w_, graph.w_)
    assert grid.objective_ == graph.objective_
    for a, b, x in zip(grid.predict(X), graph.predict(explicit), X, strict=True):
        assert a.shape == x.shape[:2]
        np.testing.assert_array_equal(a.ravel(), b)


@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("pairwise", MODELS)
def test_cuts_of_grids_reach_the_optimum_of_graphs(rng, pairwise, connectivity):
    # Ties may be decided differently, so the steps may differ, but not the optimum.
    y = [np.tile(np.arange(width) >= width // 2, (height, 1)).astype(int)
         for height, width in [(6, 7), (5, 9), (6, 7)]]  # fmt: skip
    X = [2 * labels[..., np.newaxis] - 1 + rng.standard_normal((*labels.shape, 2)) for labels in y]
    grid, graph, _ = both(X, y, pairwise, connectivity, max_iter=10_000, tol=1e-6)
    assert grid.converged_
    assert graph.converged_
    assert grid.objective_ == pytest.approx(graph.objective_, rel=1e-6)


def test_forms_of_images(rng):
    X, y = make(rng, [(3, 4)] * 6)
    one = GridCRFSSVM(lam=0.1, random_state=0)
    stacked = clone(one).fit(np.array(X), np.array(y))
    for images, labels in [(X, y), (tuple(X), list(y)), (np.array(X), [k.tolist() for k in y])]:
        np.testing.assert_array_equal(clone(one).fit(images, labels).w_, stacked.w_)
    assert stacked.predict(np.array(X)).shape == (6, 3, 4)
    ragged = stacked.predict(X)
    assert ragged.dtype == object
    np.testing.assert_array_equal(np.stack(ragged), stacked.predict(np.array(X)))
    np.testing.assert_array_equal(stacked.predict(X[:1])[0], ragged[0])
    names = np.array(["sky", "ground"])
    named = clone(one).fit(X, [names[k] for k in y])
    assert set(named.predict(X)[0].ravel()) <= {"sky", "ground"}
    assert stacked.score(X, y) == stacked.score(np.array(X), np.array(y))
    assert len(cross_val_predict(one, X, y, cv=3)) == 6


def test_stacked_images_are_not_copied(rng):
    X, _ = make(rng, [(3, 4)] * 4)
    X = np.array(X)
    expected = ExpectedInput("GridCRFSSVM")
    assert np.shares_memory(pack_grids(expected, X, "potts", 4).nodes.flat, X)
    assert np.shares_memory(pack_grids(expected, [X[0]], "potts", 4).nodes.flat, X)


def test_images_of_one_size_share_their_edges(rng):
    X, _ = make(rng, [(3, 4), (2, 2), (3, 4)])
    expected = ExpectedInput("GridCRFSSVM")
    assert len(pack_grids(expected, X, "directed", 4).edges) == 17 + 4


def test_an_image_without_contrast(rng):
    X, y = make(rng, [(2, 3)] * 3)
    X[0][:] = 1.0
    model = GridCRFSSVM(pairwise="contrast", lam=0.1).fit(X, y)
    assert np.isfinite(model.w_).all()
    assert model.edge_coef_.shape == (2,)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda X, y: X.__setitem__(1, np.ones((2, 2, 3))), r"X\[1\] has 3 features, expected 2"),
        (lambda X, y: X.__setitem__(1, np.ones((2, 2))), r"X\[1\] has shape \(2, 2\), expected"),
        (lambda X, y: X.__setitem__(1, np.ones((0, 2, 2))), r"X\[1\] is .* shape \(0, 2\) but y"),
        (lambda X, y: X.__setitem__(1, np.full((1, 5, 2), np.inf)), r"X\[1\] contains NaN or"),
        (lambda X, y: y.__setitem__(1, np.zeros((5, 1))), r"shape \(1, 5\) but y\[1\] has shape"),
        (lambda X, y: y.__setitem__(1, np.zeros(5)), r"shape \(1, 5\) but y\[1\] has shape \(5,\)"),
        (lambda X, y: y.pop(), "X has 6 samples but y has 5"),
    ],
)
def test_errors_name_invalid_images(rng, change, message):
    X, y = make(rng)
    change(X, y)
    model = GridCRFSSVM()
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "w_")


def test_bad_connectivity_and_forms(rng):
    X, y = make(rng)
    for connectivity in (6, "4", True, None):
        with pytest.raises(ValueError, match="connectivity must be 4 or 8"):
            GridCRFSSVM(connectivity=connectivity).fit(X, y)
    with pytest.raises(ValueError, match=r"for a single image x use \[x\]"):
        GridCRFSSVM().fit(X[0], y[0])
    with pytest.raises(ValueError, match="no samples, or images without pixels"):
        GridCRFSSVM().fit(np.ones((2, 0, 3, 1)), np.ones((2, 0, 3)))
    with pytest.raises(ValueError, match="X is empty"):
        GridCRFSSVM().fit([], [])


def test_error_for_images_with_channels_first(rng):
    X, y = [rng.random((3, 5, 4))], [rng.integers(2, size=(5, 4))]
    with pytest.raises(ValueError, match=r"first axis, use np.moveaxis\(X\[0\], 0, -1\)$"):
        GridCRFSSVM().fit(X, y)
    GridCRFSSVM(random_state=0).fit([np.moveaxis(X[0], 0, -1)], y)
    with pytest.raises(ValueError, match=r"of shape \(3, 5\) but y\[0\] has shape \(5, 3\)$"):
        GridCRFSSVM().fit(X, [rng.integers(2, size=(5, 3))])
