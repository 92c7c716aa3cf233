"""Warnings for features of very different or too large scales."""

import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from sstruct import ChainSSVM, GraphCRFSSVM, GridCRFSSVM, MulticlassSSVM, MultilabelSSVM, TreeSSVM
from sstruct._estimators.core.scales import Scales
from sstruct.preprocessing import PerNode

FACTORS = np.array([1.0, 1.0, 2.0, 1e4])
EDGES = np.array([[0, 1], [1, 2]])


def warned(estimator, X, y, **more):
    """Return the text and category of the only warning of a fit, or None."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.set_params(random_state=0, **more).fit(X, y)
    assert len(caught) <= 1
    assert all(w.filename == __file__ for w in caught)
    return (str(caught[0].message), caught[0].category) if caught else None


def warned_early(estimator, X, y):
    """Return the text of the warning of a fit that is stopped after one pass."""
    text, category = warned(estimator, X, y, max_iter=1, tol=0.0)
    assert category is ConvergenceWarning
    return text


@pytest.fixture
def chains(rng):
    X = [rng.standard_normal((length, 4)) for length in (4, 2, 3, 3)]
    return X, [(x[:, 0] > 0).astype(int) for x in X]


def test_unconverged_fit_warns_about_unscaled_features():
    X, y = load_wine(return_X_y=True)
    text = warned_early(MulticlassSSVM(lam=1 / len(X)), X, y)
    assert "max_iter=1 passes were made; scale the features: feature 12 has values of" in text
    assert re.search(r"about 810, 313 times the median feature, 2\.59", text)
    assert "make_pipeline(StandardScaler(), MulticlassSSVM(...))" in text
    assert "Increase" not in text
    frame = load_wine(as_frame=True).data
    assert "feature 12 ('proline') has" in warned_early(MulticlassSSVM(lam=1 / len(X)), frame, y)
    scaled = warned_early(MulticlassSSVM(lam=1 / len(X)), StandardScaler().fit_transform(X), y)
    assert "Increase max_iter" in scaled
    assert "scale" not in scaled


def test_converged_fit_warns_about_unscaled_features():
    X, y = load_wine(return_X_y=True)
    lam = (X**2).sum(axis=1).mean() / len(X)
    text, category = warned(MulticlassSSVM(lam=lam), X, y)
    assert category is UserWarning
    assert text.startswith("MulticlassSSVM: scale the features: feature 12")
    assert warned(MulticlassSSVM(lam=1e-2), StandardScaler().fit_transform(X), y) is None


def test_recommended_scaler_depends_on_the_structure(chains, rng):
    X, y = chains
    X = [x * FACTORS for x in X]
    assert "make_pipeline(PerNode(StandardScaler()), ChainSSVM(...))" in warned_early(
        ChainSSVM(), X, y
    )
    rows = [sparse.csr_matrix(x * rng.integers(0, 2, x.shape)) for x in X]
    assert "make_pipeline(PerNode(MaxAbsScaler()), Ch" in warned_early(ChainSSVM(), rows, y)
    graphs = [(rng.standard_normal((3, 4)) * FACTORS, EDGES) for _ in range(4)]
    labels = [[0, 1, 0]] * 4
    text = warned_early(GraphCRFSSVM(lam=1e-3), graphs, labels)
    assert "make_pipeline(PerNode(StandardScaler()), GraphCRFSSVM(...))" in text
    images = [rng.standard_normal((3, 3, 4)) * FACTORS for _ in range(3)]
    text = warned_early(GridCRFSSVM(lam=1e-3), images, rng.integers(0, 2, (3, 3, 3)))
    assert "make_pipeline(PerNode(StandardScaler()), GridCRFSSVM(...))" in text
    rows = rng.standard_normal((20, 4))
    Y = (rows[:, :3] + rng.standard_normal((20, 3)) > 0).astype(int)
    text = warned_early(MultilabelSSVM(lam=1e-3), rows * FACTORS, Y)
    assert "make_pipeline(StandardScaler(), MultilabelSSVM(...))" in text
    places = np.zeros((2, 2))
    trees = [
        {"features": [rng.standard_normal((2, 4)) * FACTORS] * 2, "positions": [places] * 2}
        for _ in range(4)
    ]
    text = warned_early(TreeSSVM(parents=[-1, 0], loss="hamming", lam=1e-3), trees, [[0, 1]] * 4)
    assert "scale the features: feature 3" in text
    assert "Divide each feature by its standard deviation" in text


def test_scales_of_edge_features_are_checked_if_used(rng):
    graphs = [
        (rng.standard_normal((3, 2)), EDGES, np.c_[np.ones(2), rng.uniform(5e3, 1e4, 2)])
        for _ in range(6)
    ]
    labels = [rng.integers(0, 2, 3) for _ in graphs]
    text = warned_early(GraphCRFSSVM(pairwise="contrast", lam=1e-3), graphs, labels)
    assert "scale the features: edge feature 1 has values" in text
    assert "PerNode(StandardScaler(), MaxAbsScaler())" in text
    assert "scale" not in warned_early(GraphCRFSSVM(lam=1e-3), graphs, labels)
    scaled = PerNode(StandardScaler(), MaxAbsScaler()).fit_transform(graphs)
    assert "scale" not in warned_early(GraphCRFSSVM(pairwise="contrast", lam=1e-3), scaled, labels)


def test_warning_for_large_features_without_convergence(chains):
    X, y = chains
    text = warned_early(ChainSSVM(lam=0.1), [200 * np.abs(x) + 100 for x in X], y)
    assert re.search(
        r"the features: the median feature has values of about \d+, the largest,", text
    )
    assert warned(ChainSSVM(lam=1e5), [200 * np.abs(x) + 100 for x in X], y) is None


@pytest.mark.parametrize("offset", [20, 200])
def test_warning_for_features_far_from_zero(chains, offset):
    X, y = chains
    text = warned_early(ChainSSVM(lam=0.1), [x + offset for x in X], y)
    assert "scale the features: the median feature has values of about" in text
    assert "Increase" not in text
    assert "scale" not in warned_early(ChainSSVM(lam=0.1), [x + 1 for x in X], y)


def test_warning_for_small_features_with_auto_lam(chains):
    X, y = chains
    small = [1e-4 * x for x in X]
    text, category = warned(ChainSSVM(pairwise_scale=1), small, y)
    assert category is UserWarning
    assert "scale the features: no feature has larger values than feature" in text
    assert "make_pipeline(PerNode(StandardScaler()), ChainSSVM(...))" in text
    assert warned(ChainSSVM(pairwise_scale=1, lam=0.1), small, y) is None
    assert warned(ChainSSVM(pairwise_scale=1), [0.1 * x for x in X], y) is None
    text = warned_early(ChainSSVM(pairwise_scale=1), small, y)
    assert "no feature has larger values" in text
    assert "Increase" not in text


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_warning_for_features_larger_than_pairwise_features(chains, rng, rescaling):
    X, y = chains
    large = [100 * x for x in X]
    text, category = warned(ChainSSVM(pairwise_scale=1, rescaling=rescaling), large, y)
    assert category is UserWarning
    assert "the scale of the bias and pairwise terms" in text
    assert (
        warned(ChainSSVM(pairwise_scale=1, transitions=False, boundaries=False), large, y) is None
    )
    assert warned(MulticlassSSVM(), np.vstack(large), np.concatenate(y)) is None
    images = rng.integers(0, 256, (4, 3, 3, 1), dtype=np.uint8)
    labels = (images[..., 0] > 90).astype(int)
    assert "PerNode(StandardScaler()), GridCRFSSVM" in warned(GridCRFSSVM(), images, labels)[0]


@pytest.mark.parametrize("kind", ["frequencies", "dense", "counts", "a column of ones"])
def test_no_warning_about_the_scale_of_indicators(rng, kind):
    # Rare words are a thousandth as frequent as common ones.
    rows = (rng.random((3000, 30)) < np.geomspace(1e-3, 0.9, 30)).astype(float)
    if kind == "counts":
        rows *= rng.integers(1, 9, rows.shape)
    if kind == "a column of ones":
        rows = np.column_stack([rows, np.ones(len(rows)), rng.standard_normal((len(rows), 2))])
    data = rows if kind == "dense" else sparse.csr_matrix(rows)
    y = (rows[:, -5:].sum(axis=1) + rng.standard_normal(len(rows)) > 2).astype(int)
    assert "scale" not in warned_early(MulticlassSSVM(lam=1e-4), data, y)
    found = warned(MulticlassSSVM(lam=1.0), data, y)
    assert found is None or "predicts the label 1 for all 3000 nodes" in found[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
def test_scales_are_root_mean_squares_of_nonzero_entries(rng, monkeypatch, storage, dtype):
    monkeypatch.setattr("sstruct._estimators.core.scales.AT_ONCE", 7)
    X = rng.standard_normal((50, 5)) * rng.integers(0, 2, (50, 5)) * [1, 2, 5, 0, 300]
    X = X.astype(dtype)
    expected = [np.sqrt(np.mean(x[x != 0] ** 2)) if x.any() else 0 for x in X.T.astype(float)]
    scales = Scales.from_arrays(storage(X))
    np.testing.assert_allclose(scales.scale, expected, rtol=1e-12)
    assert scales.median == sorted(scales.scale)[2]  # the lower one of four
    assert scales.largest == 4
    assert Scales.from_arrays(storage(np.zeros((3, 2)))) is None
    ones = storage((X != 0).astype(dtype))
    assert Scales.from_arrays(ones).scale.tolist() == [1, 1, 1, 0, 1]
    both = Scales.from_arrays(ones, storage(X))
    np.testing.assert_allclose(both.scale[5:], expected, rtol=1e-12)


def test_features_whose_squares_overflow():
    X = np.array([[1e200, 1.0], [1e-200, 1.0]])
    assert Scales.from_arrays(X).ratio == np.inf
