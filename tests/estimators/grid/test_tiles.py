"""Test GridCRFSSVM with tiles of large images that overlap in free labels."""

import numpy as np
import pytest
from sklearn.base import clone

from sstruct import GridCRFSSVM, LatentSSVM, PathCV, datasets
from sstruct._estimators.graph import graph_structure
from sstruct._estimators.graph.grid_structure import GridStructure
from sstruct._estimators.graph.tiles import tile_counts, tiles_of
from sstruct._problems.graph.grid_edges import grid_edges
from sstruct.solvers import MPBCFW
from tests.estimators.grid.test_grid import MODELS
from tests.estimators.same_bits import assert_same_bits
from tests.reference import brute_force, dual_qp, graphs

K = 2
LAM = 0.1
SHAPES = [(2, 3), (1, 2), (3, 2), (1, 5), (2, 2)]
TIGHT = {"lam": LAM, "tol": 1e-7, "max_iter": 20_000, "random_state": 0}


def make(rng, shapes=SHAPES, *, ignored=False, F=2):
    X = [rng.standard_normal((*shape, F)) for shape in shapes]
    y = [(x[..., 0] + 0.5 * rng.standard_normal(x.shape[:2]) > 0).astype(int) for x in X]
    y[0][0, :K] = np.arange(K)
    if ignored:
        y[0][1, 1] = y[2][0, 0] = y[3][0, 2] = -1
        y[3][0, 3:] = -1
    return X, y


def terms_of(X, y, pairwise, connectivity, size=None, factors=None, **keywords):
    """Return the hinge terms by their definition; of whole images if `size` is None."""
    fixed = isinstance(pairwise, float)
    sizes = [None] * len(X) if factors is None else [own.ravel() for own in factors]
    explicit = [
        (*graphs.grid_graph(x, pairwise, connectivity), own)
        for x, own in zip(X, sizes, strict=True)
    ]
    labels = [own.ravel() for own in y]
    name, strength = ("fixed", pairwise) if fixed else (pairwise, 0.0)
    if size is None:
        return graphs.blocks(explicit, labels, name, K, strength=strength, **keywords)
    shapes = [x.shape[:2] for x in X]
    return graphs.tile_blocks(explicit, labels, shapes, size, name, K, strength=strength,
                              **keywords)  # fmt: skip


def box(pairwise, n_weights):
    bounds = np.full((2, n_weights), [[-np.inf], [np.inf]])
    n_edge = {"potts": 1, "contrast": 2}.get(pairwise, 0)
    bounds[1, n_weights - n_edge :] = 0
    return bounds


@pytest.mark.parametrize(
    "height, width, connectivity, size",
    [(1, 1, 4, 1), (5, 7, 4, 6), (5, 7, 8, 12), (9, 4, 8, 1), (1, 30, 4, 7), (30, 1, 8, 4),
     (6, 6, 4, 35), (6, 6, 8, 36), (13, 3, 8, 10)],
)  # fmt: skip
def test_each_pixel_and_each_edge_is_in_one_tile(height, width, connectivity, size):
    tiles = tiles_of(height, width, connectivity, size)
    edges = grid_edges(height, width, connectivity)
    assert sorted(tiles.pixels.tolist()) == list(range(height * width))
    assert sorted(tiles.edge_order.tolist()) == list(range(len(edges)))
    at = first = copy = 0
    for (h, w, _), n_edges, n_copies in zip(tiles.grids, tiles.n_edges, tiles.n_copies):
        assert h * w <= size
        own = tiles.pixels[at : at + h * w]
        box = own.reshape(h, w)
        assert (box == box[0, 0] + width * np.arange(h)[:, None] + np.arange(w)).all()
        mine = tiles.edges[first : first + n_edges]
        inner = mine[: n_edges - n_copies]
        np.testing.assert_array_equal(inner, grid_edges(h, w, connectivity))
        copied = tiles.pixels[tiles.copies[copy : copy + n_copies]]
        assert not set(copied) & set(own)
        ends = np.r_[own, copied][mine]
        np.testing.assert_array_equal(ends, edges[tiles.edge_order[first : first + n_edges]])
        assert mine[len(inner) :, 1].tolist() == list(range(h * w, h * w + n_copies))
        at, first, copy = at + h * w, first + n_edges, copy + n_copies
    assert (at, first, copy) == (height * width, len(edges), len(tiles.copies))
    for axis in (0, 1):
        assert np.ptp(tiles.grids[:, axis]) <= 1


def test_tiles_cross_the_fewest_edges():
    for height, width, size in np.random.default_rng(0).integers(1, 12, (200, 3)).tolist():
        sides = graphs.tile_sides(height, width, size)
        assert tile_counts(height, width, size) == tuple(map(len, sides))
    assert tile_counts(512, 512, 4096) == (8, 8)
    assert tile_counts(10**6, 3, 4096) == (-(-(10**6) // 1365), 1)


CASES = {
    "plain": {},
    "share of wrong pixels": {"loss": "hamming", "ignored": True},
    "costs": {"loss": [[0, 2], [1, 0]], "ignored": True},
    "weights": {"weights": [0.5, 1.0, 0.0, 3.0, 1.0], "loss": "hamming"},
    "weights of pixels": {"of_nodes": True, "loss": "hamming"},
    "no bias": {"fit_intercept": False},
    "gap sampling": {"solver": MPBCFW(cache=True, sampling="gap", step="corrective")},
    "labelings": {"explicit": False},
}


@pytest.mark.usefixtures("enumerated", "without_completion")
@pytest.mark.parametrize("window_size", [1, 2, 4])
@pytest.mark.parametrize(
    "case, pairwise, connectivity",
    [("plain", pairwise, c) for pairwise in MODELS for c in (4, 8)]
    + [(case, pairwise, 4) for case in list(CASES)[1:] for pairwise in ("potts", "directed")],
)
def test_the_optimum_over_tiles_is_reached(
    rng, monkeypatch, case, pairwise, connectivity, window_size
):
    options = {"ignored": False, "of_nodes": False, "weights": None, **CASES[case]}
    X, y = make(rng, ignored=options.pop("ignored"))
    if not options.pop("explicit", True):
        monkeypatch.setattr(graph_structure, "explicit_where_cheaper", lambda problem: problem)
    weights = sample_weight = options.pop("weights")
    factors = None
    if options.pop("of_nodes"):
        sample_weight = factors = [rng.choice([0.5, 1.0, 3.0], x.shape[:2]) for x in X]
    model = GridCRFSSVM(
        **TIGHT, pairwise=pairwise, connectivity=connectivity, window_size=window_size, **options
    ).fit(X, y, sample_weight)
    loss = options.get("loss", "hamming-count")
    keywords = {
        "weights": weights, "bias": options.get("fit_intercept", True), "factors": factors,
        "divided": not isinstance(loss, str) or loss == "hamming",
        "cost": None if isinstance(loss, str) else loss,
    }  # fmt: skip
    terms = terms_of(X, y, pairwise, connectivity, window_size, **keywords)
    whole = terms_of(X, y, pairwise, connectivity, **keywords)
    assert len(terms) > len(whole)
    dual_qp.check_optimum(model, terms, box(pairwise, len(model.w_)))
    expected = brute_force.primal(model.w_, LAM, whole)
    assert model.whole_objective_ == pytest.approx(expected, rel=1e-9)
    assert model.whole_objective_ <= model.objective_ * (1 + 1e-12)


@pytest.mark.usefixtures("without_completion")
@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("pairwise", ["potts", "contrast", 0.5])
def test_cuts_of_tiles_reach_the_same_optimum(rng, pairwise, connectivity):
    X, y = make(rng, ignored=True)
    model = GridCRFSSVM(**TIGHT, pairwise=pairwise, connectivity=connectivity, window_size=3)
    model.fit(X, y)
    assert model.inference_ == "graph cut (exact)"
    terms = terms_of(X, y, pairwise, connectivity, 3)
    dual_qp.check_optimum(model, terms, box(pairwise, len(model.w_)))


@pytest.mark.usefixtures("enumerated")
@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("pairwise", MODELS)
def test_the_bound_holds_for_all_weights(rng, pairwise, connectivity):
    X, y = make(rng)
    whole = terms_of(X, y, pairwise, connectivity)
    for window_size in (1, 2, 3):
        terms = terms_of(X, y, pairwise, connectivity, window_size)
        model = GridCRFSSVM(lam=LAM, pairwise=pairwise, connectivity=connectivity,
                            window_size=window_size)  # fmt: skip
        problem = model._structure().train(X, y, None).problem
        for _ in range(5):
            w = rng.standard_normal(whole[0].phi.shape[1])
            bound = brute_force.primal(w, LAM, terms)
            assert bound >= brute_force.primal(w, LAM, whole) - 1e-12
            padded = problem.layout.padded(w)
            hinge = sum(problem.best_code(i, padded)[1] for i in range(problem.n_blocks))
            assert hinge / len(X) + 0.5 * LAM * w @ w == pytest.approx(bound, rel=1e-12)


def pictures(rng, shape=(9, 11), n=6, n_labels=3, **more):
    return datasets.make_grids(n, shape=shape, n_labels=n_labels, random_state=0, **more)


@pytest.mark.parametrize("pairwise", MODELS)
def test_images_that_are_not_cut_keep_their_block(rng, pairwise):
    # The first image is cut, so the rows and edges of all images are copied.
    X, y = make(rng, [(4, 4), (2, 3), (3, 3), (2, 3)])
    model = GridCRFSSVM(pairwise=pairwise, window_size=9, random_state=0)
    problem = model._structure().train(X, y, None).problem
    whole = clone(model).set_params(window_size=None)._structure().train(X, y, None).problem
    w = np.minimum(rng.standard_normal(whole.n_weights), 0)
    for i in (1, 2, 3):
        found, expected = (each.best_code(i + each.n_blocks - 4, w)[1] for each in (problem, whole))
        assert found == expected


def test_lam_does_not_depend_on_tiles(rng):
    X, y = pictures(rng)
    lam = [GridCRFSSVM(window_size=size, tol=1).fit(X, y).lam_ for size in (20, None)]
    assert lam[0] == lam[1]


def test_auto_cuts_large_images_only(rng, monkeypatch):
    monkeypatch.setattr(GridStructure, "auto_windows", (50, 20))
    X, y = make(rng, [(7, 7), (3, 17), (5, 10), (8, 8)])
    data = GridCRFSSVM()._structure().train(X, y, None).data
    length = data.arrays()[2]
    assert length.tolist() == [49, 15, 18, 18, 50, 16, 16, 16, 16]
    assert [data.blocks_of_first(n) for n in range(5)] == [0, 1, 4, 5, 9]


def test_samples_are_added_to_tiles(rng):
    X, y = make(rng, [(4, 5), (2, 2), (5, 4), (4, 4)])
    model = GridCRFSSVM(**TIGHT, window_size=5, warm_start=True, classes=range(K))
    model.fit(X[:2], y[:2]).fit(X, y)
    again = clone(model).fit(X, y)
    assert model.objective_ == pytest.approx(again.objective_, rel=1e-6)
    small = clone(model).fit(X[1:2], y[1:2])  # which is not cut
    assert not hasattr(small, "whole_objective_")
    small.fit([X[1], *X], [y[1], *y])
    assert small.whole_objective_ <= small.objective_ * (1 + 1e-12)
    before = model.w_
    model.fit(X, y)
    # Both objectives exceed the optimum by at most tol, and are strongly convex.
    distance = 2 * np.sqrt(2 * model.tol * model.objective_ / LAM)
    assert np.linalg.norm(model.w_ - before) <= distance
    model.set_params(window_size=10)
    with pytest.raises(ValueError, match="the model or its loss, differ"):
        model.fit(X, y)


@pytest.mark.parametrize(
    "parameters",
    [{"rescaling": "slack"}, {"solver": "perceptron"}, {"solver": "ssg"}, {"solver": "fw"}],
    ids=lambda p: next(iter(p.values())),
)
def test_auto_does_not_cut_unsupported_models(rng, monkeypatch, parameters):
    monkeypatch.setattr(GridStructure, "auto_windows", (20, 20))
    X, y = pictures(rng)
    assert GridCRFSSVM()._structure().train(X, y, None).problem.n_blocks > len(X)
    assert GridCRFSSVM(**parameters)._structure().train(X, y, None).problem.n_blocks == len(X)
    with pytest.raises(ValueError, match="window_size=5"):
        GridCRFSSVM(**parameters, window_size=5).fit(X, y)


def test_void_borders_are_completed_in_tiles(rng):
    X, y = make(rng, [(6, 8)] * 3)
    for labels in y:
        labels[:] = np.arange(8) >= 4
    void = [np.where(np.arange(8) == 2, -1, labels) for labels in y]
    factors = [(labels >= 0).astype(float) for labels in void]
    model = GridCRFSSVM(**TIGHT, window_size=12)
    one, other = clone(model).fit(X, void), clone(model).fit(X, y, factors)
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-6)
    assert one.whole_objective_ == pytest.approx(other.whole_objective_, rel=1e-4)


def test_tiles_without_known_pixels_are_ignored(rng):
    X, y = make(rng, [(3, 40), (3, 40)])
    y[0][:, 7:] = -1  # most of them farther than five edges from a known pixel
    model = GridCRFSSVM(lam=0.1, window_size=30, random_state=0)
    training = model._structure().train(X, y, None)
    assert training.problem.n_blocks == 1 + 4
    assert training.data.blocks_of_first(1) == 1
    fitted = model.fit(X, y)
    alone = clone(model).fit([X[0][:, :7], X[1]], [y[0][:, :7], y[1]])
    assert fitted.objective_ == pytest.approx(alone.objective_, rel=0.02)
    assert fitted.whole_objective_ <= fitted.objective_ * (1 + 1e-12)


def test_searches_and_hidden_labels(rng):
    X, y = pictures(rng, n=6, n_labels=2)
    search = PathCV(GridCRFSSVM(window_size=30, random_state=0), cv=2, eps=0.3).fit(X, y)
    assert search.best_estimator_.window_size == 30
    y[0, :2], y[3, :, 4:] = -1, -1
    model = GridCRFSSVM(lam=0.1, window_size=30, random_state=0)
    latent = LatentSSVM(model, random_state=0).fit(X, y)
    assert latent.estimator_.whole_objective_ <= latent.estimator_.objective_ * (1 + 1e-12)


def test_auto_does_not_cut_images_in_files(rng, monkeypatch, tmp_path):
    monkeypatch.setattr(GridStructure, "auto_windows", (20, 20))
    X, y = pictures(rng)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = GridCRFSSVM(lam=0.5, random_state=0)
    assert model._structure().train(X, y, None).problem.n_blocks > len(X)
    assert model._structure().train(mapped, y, None).problem.n_blocks == len(X)
    model.set_params(window_size=20)
    assert_same_bits(clone(model).fit(mapped, y), model.fit(X, y))
