"""Test optima, synthetic figures, input formats and invalid input of TreeSSVM."""

import numpy as np
import pytest

from sstruct import TreeSSVM
from sstruct.datasets import make_stick_figures
from sstruct.inference import tree_max_sum
from sstruct.metrics import mean_joint_distance
from tests.reference import brute_force, dual_qp
from tests.reference.trees import blocks


def candidates(rng, parents, n=6, F=2, pairs=False):
    """Return random samples with 2 or 3 candidates per part."""
    X, y = [], []
    for _ in range(n):
        sizes = rng.integers(2, 4, len(parents))
        X.append({
            "features": [rng.standard_normal((size, F)) for size in sizes],
            "positions": [rng.standard_normal((size, 2)) for size in sizes],
            "scale": rng.uniform(0.5, 2),
        })  # fmt: skip
        if pairs:
            X[-1]["pair_scores"] = [
                None if q < 0 else rng.standard_normal((sizes[q], sizes[p]))
                for p, q in enumerate(parents)
            ]
        y.append(np.array([rng.integers(size) for size in sizes]))
    return X, y


def maps(rng, n_parts, n_types, n=5, F=2):
    X, y = [], []
    for _ in range(n):
        height, width = rng.integers(1, 3, 2)
        types = (n_types,) if n_types > 1 else ()
        shape = (n_parts, *types, height, width, F)
        X.append({"features": rng.standard_normal(shape), "scale": rng.uniform(0.5, 2)})
        y.append(rng.integers(0, n_types * height * width, n_parts))
    return X, y


@pytest.mark.parametrize("loss", ["distance", "hamming", "hamming-count"])
@pytest.mark.parametrize("form", ["candidates", "pairs", "maps", "types"])
def test_optimum_matches_independent_qp(rng, form, loss):
    parents = np.array([-1, 0, 0])
    if form in ("candidates", "pairs"):
        X, y = candidates(rng, parents, pairs=form == "pairs")
        for x, labels in zip(X, y, strict=True):  # far from their parents, so bounds are active
            for p in (1, 2):
                x["positions"][p][labels[p]] *= 2
    else:
        X, y = maps(rng, 3, 2 if form == "types" else 1)
    y[1][0] = y[2][2] = -1  # a root and a leaf
    weights = rng.integers(1, 4, len(X)).astype(float)
    weights[0] = 0
    lam = 0.05
    model = TreeSSVM(parents=parents, lam=lam, loss=loss, tol=1e-7, max_iter=20000, random_state=0)
    model.fit(X, y, sample_weight=weights)
    assert model.converged_
    terms = blocks(model, X, y, loss, weights)
    bounds = np.full((2, len(model.w_)), [[-np.inf], [np.inf]])
    model._model_of_fit().layout.views(bounds[0])["edge"][..., [0, 2]] = 0
    value, w = dual_qp.optimum(terms, lam, bounds)
    assert model.objective_ == pytest.approx(value, rel=2e-7)
    assert model.dual_objective_ <= value * (1 + 1e-9)
    assert brute_force.primal(model.w_, lam, terms) == pytest.approx(model.objective_, rel=1e-12)
    np.testing.assert_allclose(model.w_, w, rtol=0, atol=2e-3)
    assert (model.edge_coef_[..., [0, 2]] >= 0).all()
    if form == "types":
        assert model.n_types_ == 2
        assert model.coef_.shape == (3, 2, 2)
        assert model.intercept_.shape == (3, 2)
        assert model.edge_coef_.shape == (3, 2, 4)
        assert model.type_coef_.shape == (3, 2, 2)
    free = dual_qp.optimum(terms, lam)
    if form == "candidates" and loss == "hamming":
        assert value > free[0] * (1 + 1e-6)  # the bounds are active


def test_bounds_are_combined_with_the_automatic_ones(rng):
    X, y = candidates(rng, [-1, 0], n=10)
    model = TreeSSVM(parents=[-1, 0], lam=0.01, random_state=0).fit(X, y)
    lower, upper = np.full((2, len(model.w_)), [[-np.inf], [0.1]])
    model.set_params(bounds=np.array([lower, upper])).fit(X, y)
    assert model.w_.max() <= 0.1
    assert (model.edge_coef_[:, [0, 2]] >= 0).all()
    before = model.w_
    with pytest.raises(ValueError, match="bounds of weight 4 are 0 and -1"):
        model.set_params(bounds=np.array([lower, np.full(len(lower), -1.0)])).fit(X, y)
    np.testing.assert_array_equal(model.w_, before)


@pytest.fixture(scope="module")
def figures():
    return make_stick_figures(100, random_state=0)


@pytest.fixture(scope="module")
def fitted(figures):
    return TreeSSVM(parents=figures.parents, lam=1e-3, random_state=0).fit(
        figures.data[:60], figures.target[:60]
    )


def test_stick_figures_are_recovered(figures, fitted):
    X, y = figures.data[60:], figures.target[60:]
    assert fitted.converged_
    assert fitted.inference_ == "distance transform (exact)"
    assert fitted.score(X, y) > 0.95
    # Distances are in tenths of the image size.
    assert mean_joint_distance(X, y, fitted.predict(X)) < 0.1


def test_predictions_match_max_sum(figures, fitted):
    # Images are cropped, so that tables of all pairs of positions are small.
    for size in ((6, 8), (9, 5)):
        f = figures.data[0]["features"][:, 8 : 8 + size[0], 8 : 8 + size[1]]
        sample = {"features": f, "scale": 3.2}
        y, x = np.indices(size).reshape(2, -1)
        edge = []
        for p, q in enumerate(figures.parents):
            dx, dy = np.subtract.outer(x, x).T / 3.2, np.subtract.outer(y, y).T / 3.2
            a, b, c, d = fitted.edge_coef_[p]
            edge.append(None if q < 0 else -(a * dx**2 + b * dx + c * dy**2 + d * dy))
        node = [part.reshape(-1, 2) @ w for part, w in zip(f, fitted.coef_, strict=True)]
        labels, value = tree_max_sum(node, figures.parents, edge)
        np.testing.assert_array_equal(fitted.predict([sample])[0], labels)
        for part, label in zip(fitted.decision_function([sample])[0], labels, strict=True):
            assert part.max() == pytest.approx(value, rel=1e-12)
            assert part.argmax() == label


def test_forms_of_input_agree(figures, fitted):
    """Score maps, maps with pair scores of zero, and the same samples as candidates agree."""
    X = [{"features": f["features"][:, 10:16, 10:16], "scale": 3.2} for f in figures.data[:12]]
    y = np.random.default_rng(0).integers(0, 36, (12, 11))
    rows, columns = np.indices((6, 6)).reshape(2, -1)
    as_lists = [
        {**x, "features": list(x["features"].reshape(11, 36, 2)),
         "positions": [np.c_[columns, rows]] * 11}
        for x in X
    ]  # fmt: skip
    nothing = [None if q < 0 else np.zeros((36, 36)) for q in figures.parents]
    with_pairs = [{**x, "pair_scores": nothing} for x in X]
    models = [
        TreeSSVM(parents=figures.parents, lam=0.1, tol=1e-5, random_state=0).fit(data, y)
        for data in (X, as_lists, with_pairs)
    ]
    assert models[0].inference_ == "distance transform (exact)"
    assert models[1].inference_ == models[2].inference_ == "max-sum (exact)"
    assert models[2].edge_coef_.shape == (11, 5)
    assert not models[2].edge_coef_[:, 4].any()
    for model in models[1:]:
        assert model.objective_ == pytest.approx(models[0].objective_, rel=1e-5)


def test_unannotated_samples_and_parts_are_ignored(rng):
    X, y = candidates(rng, [-1, 0, 1], n=5)
    options = dict(parents=[-1, 0, 1], tol=1e-9, max_iter=20000, random_state=0)
    weighted = TreeSSVM(**options).fit(X, y, sample_weight=[2, 1, 0, 1, 3])
    partly = [*y[:2], np.full(3, -1), *y[3:]]
    absent = TreeSSVM(**options).fit(X, partly, sample_weight=[2, 1, 5, 1, 3])
    assert weighted.objective_ == pytest.approx(absent.objective_, rel=1e-7)
    partly = [s.copy() for s in y]
    partly[0][1] = -1
    # Only annotated parts count in the score.
    predicted = weighted.predict(X)
    right = [s == t for s, t in zip(predicted, partly, strict=True)]
    known = np.ones((5, 3), dtype=bool)
    known[0, 1] = False
    assert weighted.score(X, partly) == pytest.approx(np.mean(np.array(right)[known]))
    with pytest.raises(ValueError, match=r"y\[0\] has state -1 for part 1, expected 0 to"):
        TreeSSVM(**options, ignore_label=None).fit(X, partly)


def test_attributes_of_fitted_models(figures, fitted):
    predicted = fitted.predict(figures.data[60:])
    assert predicted.shape == (40,)
    assert predicted.dtype == object
    parts = [fitted.coef_, fitted.edge_coef_]
    np.testing.assert_array_equal(fitted.w_, np.concatenate([p.ravel() for p in parts]))
    assert fitted.intercept_.shape == (11,)
    assert fitted.type_coef_ is None


def sample(**change):
    out = {
        "features": [np.ones((2, 3)), np.ones((4, 3))],
        "positions": [np.zeros((2, 2)), np.ones((4, 2))],
        "scale": 1.0,
        "pair_scores": [None, np.zeros((2, 4))],
    }
    return {key: value for key, value in {**out, **change}.items() if value is not None}


@pytest.mark.parametrize(
    "X, y, message",
    [
        ([], [], "X is empty"),
        ({"features": 1}, [[0, 0]], "X must be a list of dicts"),
        ([sample(), 3], [[0, 0]] * 2, r"X\[1\] must be a dict"),
        ([sample(), {}], [[0, 0]] * 2, r"X\[1\] has no 'features'"),
        ([sample(scales=2)], [[0, 0]], r"X\[0\] has unknown keys \['scales'\]"),
        ([sample(scale=0.0)], [[0, 0]], r"'scale' of X\[0\] must be a positive number, found 0.0"),
        ([sample(scale=np.nan)], [[0, 0]], r"'scale' of X\[0\] must be a positive number"),
        ([sample(features=[np.ones((2, 3))])], [[0, 0]], r"X\[0\] has 1 parts, expected 2"),
        ([sample(features=[[[1.0], [1.0, 2.0]], [[1.0]]])], [[0, 0]],
         r"part 0 of X\[0\] must be an array of num"),
        ([sample(features=[np.ones((2, 3)), np.ones((4, 2))])], [[0, 0]],
         r"part 1 of X\[0\] has 2 features, expected 3"),
        ([sample(features=[np.ones((2, 3)), np.ones((0, 3))])], [[0, 0]],
         r"part 1 of X\[0\] has features of shape \(0, 3\)"),
        ([sample(features=[np.ones((2, 3)), np.full((4, 3), "a")])], [[0, 0]],
         r"part 1 of X\[0\] has dtype <U1, expected real numbers"),
        ([sample(), sample(features=[np.ones((2, 3)), np.full((4, 3), np.nan)])], [[0, 0]] * 2,
         r"part 1 of X\[1\] contains NaN or infinity"),
        ([sample(positions=None)], [[0, 0]], r"X\[0\] has no 'positions'"),
        (np.array(1.0), [[0, 0]], "X must be a list of dicts"),
        ([sample(positions=3)], [[0, 0]], r"'positions' of X\[0\] must be a list of items"),
        ([sample(pair_scores=3)], [[0, 0]], r"'pair_scores' of X\[0\] must be a list of items"),
        ([sample()], [[0, [1, 2]]], r"y\[0\] must be an array of states"),
        ([sample(positions=[np.zeros((2, 2))])], [[0, 0]], r"X\[0\] has positions of 1 parts"),
        ([sample(positions=[np.zeros((2, 2)), np.zeros((4, 3))])], [[0, 0]],
         r"positions of part 1 of X\[0\] have shape \(4, 3\), expected \(4, 2\)"),
        ([sample(positions=[np.zeros((2, 2)), np.full((4, 2), np.inf)])], [[0, 0]],
         r"positions of part 1 of X\[0\] contain NaN or infinity"),
        ([sample(features=np.ones((2, 2, 2, 3)))], [[0, 0]], "score maps imply their positions"),
        ([sample(features=np.ones((2, 0, 2, 3)))], [[0, 0]], "is empty"),
        ([sample(), sample(pair_scores=None)], [[0, 0]] * 2, r"X\[1\] has no pair_scores"),
        ([sample(pair_scores=None), sample()], [[0, 0]] * 2, r"X\[1\] has pair_scores, unlike"),
        ([sample(pair_scores=[None, np.zeros((4, 2))])], [[0, 0]],
         r"pair_scores of part 1 of X\[0\] have shape \(4, 2\), expected \(2, 4\)"),
        ([sample(pair_scores=[None, np.full((2, 4), np.nan)])], [[0, 0]],
         r"pair_scores of part 1 of X\[0\] contain NaN"),
        ([sample(pair_scores=None), {"features": np.ones((2, 1, 1, 3))}], [[0, 0]] * 2,
         r"X\[1\] has .*, unlike X\[0\]"),
        ([{"features": np.ones((2, 1, 1, 1, 3))}, {"features": np.ones((2, 2, 1, 1, 3))}],
         [[0, 0]] * 2, r"X\[1\] has 2 types, expected 1"),
        ([sample()], None, "y to be passed"),
        ([sample()], [[0, 0]] * 2, "X has 1 samples but y has 2"),
        ([sample()], [[0]], r"y\[0\] has shape \(1,\), expected \(2,\)"),
        ([sample()], [["a", "b"]], r"y\[0\] has dtype <U1, expected integers"),
        ([sample()], [[0, 4]], r"y\[0\] has state 4 for part 1, expected 0 to 3, or -1"),
        ([sample()], [[-2, 0]], r"y\[0\] has state -2 for part 0"),
        ([sample()], [[-1, -1]], "no annotated part"),
    ],
)  # fmt: skip
def test_invalid_data(X, y, message):
    model = TreeSSVM(parents=[-1, 0])
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, y)
    assert set(vars(model)) == set(model.get_params())


@pytest.mark.parametrize(
    "change, message",
    [
        ({"parents": [1, 0]}, "cycle"),
        ({"parents": [-1, 2]}, r"parents\[1\] is 2"),
        ({"parents": [-1, 0, 0]}, r"X\[0\] has 2 parts, expected 3"),
        ({"parents": None}, "1-D array of integers"),
        ({"loss": "balanced"}, "loss must be one of"),
        ({"lam": -1.0}, "lam must be"),
        ({"bounds": np.zeros((2, 3))}, r"bounds has shape \(2, 3\), expected \(2, 16\)"),
    ],
)
def test_invalid_parameters(change, message):
    model = TreeSSVM(**{"parents": [-1, 0], **change})
    with pytest.raises(ValueError, match=message):
        model.fit([sample()], [[0, 0]])


def test_prediction_requires_the_format_of_the_fit(rng):
    X, y = candidates(rng, [-1, 0], n=3)
    model = TreeSSVM(parents=[-1, 0]).fit(X, y)
    wide, _ = candidates(rng, [-1, 0], n=1, F=3)
    paired, _ = candidates(rng, [-1, 0], n=1, pairs=True)
    for other, message in (
        (wide, "has 3 features, expected 2"),
        (paired, "has pair_scores, unlike"),
        (candidates(rng, [-1, 0, 0], n=1)[0], "has 3 parts, expected 2"),
    ):
        with pytest.raises(ValueError, match=message):
            model.predict(other)
