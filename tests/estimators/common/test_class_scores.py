"""Test optima, decoding, validation and stored models of the parameter `class_scores`."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sstruct import (
    ChainSSVM,
    GraphCRFSSVM,
    GridCRFSSVM,
    LatentSSVM,
    MultilabelSSVM,
    PathCV,
    Sequences,
    inference,
    ssvm_path,
)
from sstruct.preprocessing import SequenceVectorizer
from sstruct.solvers import GDMM, MPBCFW
from tests.reference import brute_force, graphs, label_sets
from tests.reference.class_scores import embedding
from tests.reference.dual_qp import check_optimum, optimum

K = 3
WEIGHTS = ("scale", "fixed")
TIGHT = {"tol": 1e-7, "max_iter": 20000, "random_state": 0}


def with_scores(terms, F, columns):
    """Return the terms of a model with class scores, given those of a model with all features."""
    small = embedding(terms[0].phi.shape[1], F, columns)
    return [replace(block, phi=block.phi @ small) for block in terms]


def box(weight, terms, at, given=None):
    """Return the bounds of a model whose weight of scores has the index `at`."""
    bounds = np.array([[-np.inf], [np.inf]]) + np.zeros(terms[0].phi.shape[1])
    bounds = bounds if given is None else given.copy()
    bounds[:, at] = (1, 1) if weight == "fixed" else (0, np.inf)
    return bounds


def chains(rng, n=6, F=5, n_most=4, missing=0.0):
    X = [rng.normal(size=(rng.integers(1, n_most + 1), F)) for _ in range(n)]
    y = [rng.integers(K, size=len(x)) for x in X]
    y[0], X[0] = np.arange(K), rng.normal(size=(K, F))  # all classes occur
    for labels in y[1:]:
        labels[rng.random(len(labels)) < missing] = -1
    return X, y


def offsets(X):
    return np.r_[0, np.cumsum([len(x) for x in X])]


def columns_of(rng, F):
    return rng.permutation(F)[:K].tolist()


@pytest.mark.filterwarnings("ignore:ChainSSVM stopped at relative duality gap:Warning")
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("F", [3, 5, 9])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fit_intercept": False, "boundaries": False},
        {"transitions": False, "loss": "hamming", "class_weight": {0: 2.0}},
        {"missing": 0.3, "loss": "balanced"},
        {"window_size": 2},
        {"sparse": True},
        {"solver": "bcfw"},
        {"solver": MPBCFW(step="away")},
        {"rescaling": "slack"},
        {"rescaling": "slack", "search": "bisecting", "tol": 1e-3},
    ],
    ids=str,
)
def test_optimum_of_chains(weight, F, options):
    options = dict(options)
    rng = np.random.default_rng(F)
    X, y = chains(rng, F=F, missing=options.pop("missing", 0.0))
    columns = columns_of(rng, F)
    given = [sparse.csr_array(x) for x in X] if options.pop("sparse", False) else X
    model = ChainSSVM(
        lam=0.1,
        pairwise_scale=1,
        class_scores=(weight, columns),
        ignore_label=-1,
        **(TIGHT | options),
    ).fit(given, y)
    reference = brute_force.Model(
        K,
        options.get("fit_intercept", True),
        options.get("boundaries", True),
        options.get("transitions", True),
    )
    loss = options.get("loss", "hamming-count")
    terms = brute_force.blocks(
        X,
        y,
        reference,
        loss,
        class_weight=options.get("class_weight"),
        window_size=options.get("window_size"),
    )
    terms = with_scores(terms, F, columns)
    if options.get("rescaling") == "slack":
        terms = brute_force.slack_terms(terms)
    bounds = box(weight, terms, K * (F - K))
    if "search" in options:  # objective_ is an upper bound
        best, _ = optimum(terms, model.lam_, bounds)
        assert model.dual_objective_ <= best * (1 + 1e-8)
        assert best <= model.objective_ * (1 + 1e-8)
        return
    check_optimum(model, terms, bounds)
    assert model.class_scores_weight_ == (1 if weight == "fixed" else model.w_[K * (F - K)])
    assert model.class_scores_weight_ >= 0


@pytest.mark.parametrize("weight", WEIGHTS)
def test_optimum_with_pairwise_scale(weight):
    """The regularizer is lam / 2 (|u|^2 + |v|^2 / r^2); the weight of scores is in u."""
    rng = np.random.default_rng(0)
    X, y = chains(rng)
    columns = columns_of(rng, 5)
    model = ChainSSVM(lam=0.1, pairwise_scale=3.0, class_scores=(weight, columns), **TIGHT)
    model.fit(X, y)
    terms = with_scores(brute_force.blocks(X, y, brute_force.Model(K)), 5, columns)
    n_own = 2 * K + 1
    terms = [
        replace(block, phi=np.hstack([block.phi[:, :n_own], 3 * block.phi[:, n_own:]]))
        for block in terms
    ]
    best, w = optimum(terms, 0.1, box(weight, terms, n_own - 1))
    assert model.objective_ == pytest.approx(best, rel=1e-6)
    assert model.class_scores_weight_ == pytest.approx(w[n_own - 1], abs=1e-3)


def test_optimum_with_other_bounds():
    """Bounds of the user are combined with those of the weight of the scores."""
    rng = np.random.default_rng(1)
    X, y = chains(rng)
    terms = with_scores(brute_force.blocks(X, y, brute_force.Model(K)), 5, [0, 1, 2])
    d = terms[0].phi.shape[1]
    for least, most in [(-1.0, 0.1), (0.3, np.inf), (-np.inf, np.inf)]:
        bounds = np.array([np.full(d, -0.2), np.full(d, 0.2)])
        bounds[:, 2 * K] = least, most
        model = ChainSSVM(
            lam=0.1, pairwise_scale=1, bounds=bounds, class_scores=slice(0, 3), **TIGHT
        ).fit(X, y)
        bounds[0, 2 * K] = max(least, 0)
        check_optimum(model, terms, bounds)


def test_weight_is_not_negative():
    """Scores that are highest for wrong labels get the weight 0."""
    y = [[0, 1], [1, 1], [1, 0, 0]] * 4
    X = [-10 * np.eye(2)[labels] for labels in y]
    model = ChainSSVM(lam=0.1, class_scores=slice(0, 2), random_state=0).fit(X, y)
    assert model.class_scores_weight_ == 0
    right = ChainSSVM(lam=0.1, class_scores=slice(0, 2), random_state=0)
    assert right.fit([-x for x in X], y).class_scores_weight_ > 0.05


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("pairwise", ["potts", "contrast", "full", "directed", 0.3])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_optimum_of_graphs(enumerated, weight, pairwise, is_sparse):
    rng = np.random.default_rng(3)
    X, y, F = [], [], 5
    columns = columns_of(rng, F)
    for _ in range(5):
        n = rng.integers(2, 5)
        edges = graphs.random_edges(rng, n)
        features = np.abs(rng.normal(size=(len(edges), 2)))
        X.append((rng.normal(size=(n, F)), edges, features, np.ones(n)))
        y.append(rng.integers(K, size=n))
    y[0][:2], y[1][0] = [0, 1], 2
    has_features = pairwise in ("contrast", "directed")
    given = [
        (sparse.csr_array(x) if is_sparse else x, edges, *([features] if has_features else []))
        for x, edges, features, _ in X
    ]
    model = GraphCRFSSVM(lam=0.1, pairwise=pairwise, class_scores=(weight, columns), **TIGHT)
    model.fit(given, y)
    strength = 0.0 if isinstance(pairwise, str) else pairwise
    name = pairwise if isinstance(pairwise, str) else "fixed"
    terms = with_scores(graphs.blocks(X, y, name, K, strength=strength), F, columns)
    bounds = box(weight, terms, K * (F - K))
    if pairwise in ("potts", "contrast"):
        bounds[1, K * (F - K) + 1 + K :] = 0
    check_optimum(model, terms, bounds)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("F", [3, 5, 70])
@pytest.mark.parametrize("options", [{}, {"window_size": 2}, {"rescaling": "slack"}], ids=str)
def test_optimum_of_grids(enumerated, weight, F, options):
    rng = np.random.default_rng(4)
    X = [rng.normal(size=(2, 2, F)) for _ in range(5)]
    y = [rng.integers(K, size=(2, 2)) for _ in X]
    y[0].flat[:3] = [0, 1, 2]
    columns = columns_of(rng, F)
    model = GridCRFSSVM(lam=0.1, class_scores=(weight, columns), **(TIGHT | options)).fit(X, y)
    given = [(*graphs.grid_graph(x, "potts", 4), None) for x in X]
    flat = [labels.ravel() for labels in y]
    if "window_size" in options:
        terms = graphs.tile_blocks(given, flat, [(2, 2)] * len(X), 2, "potts", K)
    else:
        terms = graphs.blocks(given, flat, "potts", K)
    terms = with_scores(terms, F, columns)
    if "rescaling" in options:
        terms = brute_force.slack_terms(terms)
    bounds = box(weight, terms, K * (F - K))
    bounds[1, -1] = 0
    if "rescaling" in options:  # searches for the most violated labeling may miss it
        best, _ = optimum(terms, 0.1, bounds)
        assert model.dual_objective_ <= best * (1 + 1e-8)
        value = brute_force.primal(model.w_, 0.1, terms)
        assert best <= value * (1 + 1e-8)
        assert model.objective_ <= value * (1 + 1e-8)
    else:
        check_optimum(model, terms, bounds)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("F", [3, 5, 80])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"pairwise": "full"},
        {"edges": None},
        {"fit_intercept": False},
        {"sparse": True},
        {"rescaling": "slack"},
        {"rescaling": "slack", "inference": "enumeration"},
    ],
    ids=str,
)
def test_optimum_of_label_sets(weight, F, options):
    options = dict(options)
    rng = np.random.default_rng(F)
    X = rng.normal(size=(8, F))
    Y = rng.integers(2, size=(8, K))
    columns = columns_of(rng, F)
    edges = options.pop("edges", [[0, 1], [1, 2]])
    given = sparse.csr_array(X) if options.pop("sparse", False) else X
    model = MultilabelSSVM(
        lam=0.1, edges=edges, class_scores=(weight, columns), **(TIGHT | options)
    ).fit(given, Y)
    terms = label_sets.blocks(
        X, Y, edges or (), options.get("pairwise", "and"), options.get("fit_intercept", True)
    )
    terms = with_scores(terms, F, columns)
    if "rescaling" in options:
        terms = brute_force.slack_terms(terms)
    check_optimum(model, terms, box(weight, terms, K * (F - K)))


@pytest.mark.filterwarnings("ignore:ChainSSVM stopped at relative duality gap:Warning")
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("solver", ["mp-bcfw", "fw", "ssg", "cutting-plane", "perceptron", "pa"])
def test_every_solver_keeps_the_bounds(weight, solver):
    rng = np.random.default_rng(0)
    X, y = chains(rng, n=10)
    lam = "auto" if solver in ("perceptron", "pa") else 0.1
    model = ChainSSVM(
        lam=lam, solver=solver, class_scores=(weight, [0, 1, 2]), max_iter=30, tol=0.1
    ).fit(X, y)
    assert model.class_scores_weight_ >= 0
    assert weight == "scale" or model.class_scores_weight_ == 1


@pytest.mark.parametrize("F", [5, 80])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_predictions_follow_from_coef(F, is_sparse):
    """All decoders agree with potentials computed from the public weights."""
    rng = np.random.default_rng(0)
    X, y = chains(rng, n=20, F=F, n_most=15)
    columns = columns_of(rng, F)
    model = ChainSSVM(lam=0.1, class_scores=columns, random_state=0).fit(X, y)
    assert model.coef_.shape == (K, F)
    scale = model.class_scores_weight_
    np.testing.assert_array_equal(model.coef_[:, columns], scale * np.eye(K))
    given = [sparse.csr_array(x) for x in X] if is_sparse else X
    predicted = model.predict(given)
    margins = model.decision_function(given)
    labels, values = model.predict_top_k(given, k=2)
    for i, x in enumerate(X):
        theta = x @ model.coef_.T + model.intercept_
        theta[0] += model.start_coef_
        theta[-1] += model.end_coef_
        expected, value = inference.viterbi(theta, model.edge_coef_)
        np.testing.assert_array_equal(predicted[i], model.classes_[expected])
        np.testing.assert_allclose(margins[i].max(axis=1), value, rtol=1e-9)
        np.testing.assert_array_equal(labels[i][0], predicted[i])
        assert values[i][0] == pytest.approx(value, rel=1e-9)
        known = np.full(len(x), -1)
        known[0] = 1
        assert model.predict([given[i]], [known])[0][0] == 1


def test_fixed_scores_dominate_with_large_lam():
    """With a large lam, all weights except that of fixed scores are close to 0."""
    rng = np.random.default_rng(0)
    X, y = chains(rng, n=20)
    best = [x[:, 2:].argmax(axis=1) for x in X]
    model = ChainSSVM(lam=1e6, pairwise_scale=1, class_scores=("fixed", slice(2, 5))).fit(X, y)
    for predicted, expected in zip(model.predict(X), best, strict=True):
        np.testing.assert_array_equal(predicted, expected)
    assert model.objective_ == pytest.approx(5e5, rel=1e-4)  # lam / 2 times 1 squared
    scaled = clone(model).set_params(class_scores=slice(2, 5)).fit(X, y)
    assert scaled.class_scores_weight_ < 1e-4
    only = ChainSSVM(
        transitions=False,
        boundaries=False,
        fit_intercept=False,
        class_scores=("fixed", slice(None)),
    ).fit([x[:, 2:] for x in X], y)
    assert len(only.w_) == 1
    for predicted, expected in zip(only.predict([x[:, 2:] for x in X]), best, strict=True):
        np.testing.assert_array_equal(predicted, expected)


def test_forms_of_the_parameter_are_equivalent():
    rng = np.random.default_rng(0)
    X, y = chains(rng, n=20, F=6)
    expected = ChainSSVM(lam=0.1, class_scores=[2, 3, 4], random_state=0).fit(X, y)
    names = np.array(["a", "b", "c", "d", "e", "f"])
    named = Sequences(np.concatenate(X), offsets(X), feature_names=names)
    for given, form in [
        (X, slice(2, 5)),
        (X, ("scale", slice(2, 5))),
        (X, np.array([2, 3, 4])),
        (X, [-4, -3, -2]),
        (X, slice(-4, -1)),
        (named, ["c", "d", "e"]),
        (named, ("scale", np.array(["c", "d", "e"]))),
        (named, [2, 3, 4]),
        (X, range(2, 5)),
    ]:
        model = clone(expected).set_params(class_scores=form).fit(given, y)
        np.testing.assert_array_equal(model.w_, expected.w_)
    # The scores may be anywhere in X: the other columns keep their order.
    order = [4, 0, 2, 1, 3, 5]
    moved = clone(expected).set_params(class_scores=[2, 4, 0]).fit([x[:, order] for x in X], y)
    np.testing.assert_array_equal(moved.w_, expected.w_)
    np.testing.assert_array_equal(moved.coef_, expected.coef_[:, order])
    # Columns follow the order of the classes, not that of X.
    reverse = clone(expected).set_params(class_scores=[4, 3, 2]).fit(X, y)
    assert not np.array_equal(reverse.w_, expected.w_)
    sparse_X = [sparse.csr_array(x) for x in X]
    tight = clone(expected).set_params(tol=1e-6)
    dense_w, sparse_w = tight.fit(X, y).w_, clone(tight).fit(sparse_X, y).w_
    np.testing.assert_allclose(sparse_w, dense_w, atol=1e-2)


def test_names_of_data_frames():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X, y = chains(rng, n=10)
    frames = [pd.DataFrame(x, columns=["p0", "size", "p1", "p2", "age"]) for x in X]
    model = ChainSSVM(lam=0.1, class_scores=["p0", "p1", "p2"], random_state=0).fit(frames, y)
    expected = ChainSSVM(lam=0.1, class_scores=[0, 2, 3], random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.w_, expected.w_)
    np.testing.assert_array_equal(model.feature_names_in_, frames[0].columns)
    table = model.to_frame()
    np.testing.assert_array_equal(table.weight, model.w_)
    assert table[table.kind == "coef"].feature.unique().tolist() == ["size", "age"]
    own = table[table.kind == "class_scores"]
    assert own.weight.tolist() == [model.class_scores_weight_]
    assert own.label.isna().all()
    assert own.feature.isna().all()
    index = clone(model).set_params(class_scores=frames[0].columns[[0, 2, 3]]).fit(frames, y)
    np.testing.assert_array_equal(index.w_, model.w_)
    renamed = expected.to_frame(["p0", "size", "p1", "p2", "age"])
    assert renamed.equals(table)


@pytest.mark.parametrize(
    ("form", "error", "message"),
    [
        ("scale", TypeError, "class_scores must be a slice, a list"),
        (3, TypeError, "class_scores must be"),
        ([0, 1.5, 2], TypeError, "class_scores must be"),
        ([0, "a", 2], TypeError, "class_scores must be"),
        ([True, False, True], TypeError, "class_scores must be"),
        ((0, 1, 2), TypeError, "class_scores must be"),
        (np.zeros((3, 3), dtype=int), TypeError, "class_scores must be"),
        (("scale", None), TypeError, "class_scores must be"),
        (slice("a", "c"), TypeError, "slices must contain integers"),
        (slice(0, 3, 0), ValueError, "step"),
        (("free", slice(0, 3)), ValueError, "must be 'scale' or 'fixed', found 'free'"),
        (slice(0, 2), ValueError, "selects 2 columns of X, but there are 3 classes"),
        (slice(0, 5), ValueError, "selects 5 columns of X, but there are 3 classes"),
        ([], ValueError, "selects 0 columns"),
        ([0, 1, 5], ValueError, "selects column 5, but X has 5 features"),
        ([0, 1, -6], ValueError, "selects column -6, but X has 5 features"),
        ([0, 1, -5], ValueError, "selects column 0 twice, for the classes 0 and 2"),
        (["a", "b", "c"], ValueError, "are names, but X has no feature names"),
    ],
)
def test_invalid_parameters(form, error, message):
    rng = np.random.default_rng(0)
    X, y = chains(rng)
    with pytest.raises(error, match=message):
        ChainSSVM(class_scores=form).fit(X, y)
    with pytest.raises(error, match=message):
        GraphCRFSSVM(class_scores=form).fit([(x, np.empty((0, 2))) for x in X], y)
    sets = np.eye(K, dtype=int)
    with pytest.raises(error, match=message):
        MultilabelSSVM(class_scores=form).fit(rng.normal(size=(K, 5)), sets)


def test_invalid_combinations():
    rng = np.random.default_rng(0)
    X, y = chains(rng)
    named = Sequences(np.concatenate(X), offsets(X), feature_names=list("abcde"))
    with pytest.raises(ValueError, match="contains 'z', which is not a feature name of X"):
        ChainSSVM(class_scores=["a", "b", "z"]).fit(named, y)
    bad = [x.copy() for x in X]
    bad[2][0, 1] = np.nan
    with pytest.raises(ValueError, match=r"X\[2\] contains NaN or infinity"):
        ChainSSVM(class_scores=slice(0, 3)).fit(bad, y)
    with pytest.raises(ValueError, match=r"class_scores=.* is not supported by solver='gdmm'"):
        ChainSSVM(class_scores=slice(0, 3), solver=GDMM()).fit(X, y)
    with pytest.raises(ValueError, match="class_scores requires sets of labels"):
        MultilabelSSVM(class_scores=slice(0, 3)).fit(np.ones((3, 3)), [0, 1, 2])
    bounds = np.array([[-np.inf] * 25, [np.inf] * 25])
    bounds[:, 6] = 2, 3
    with pytest.raises(
        ValueError, match="weight of class_scores are 2 and 3, but this weight is 1"
    ):
        ChainSSVM(class_scores=("fixed", slice(0, 3)), bounds=bounds).fit(X, y)
    bounds[:, 6] = -3, -2
    with pytest.raises(ValueError, match="are -3 and -2, but this weight is at least 0"):
        ChainSSVM(class_scores=slice(0, 3), bounds=bounds).fit(X, y)
    model = ChainSSVM(class_scores=slice(0, 3)).fit(X, y)
    with pytest.raises(ValueError, match=r"X\[0\] has 4 features, expected 5"):
        model.predict([x[:, :4] for x in X])
    assert not hasattr(ChainSSVM().fit(X, y), "class_scores_weight_")


def test_classes_that_do_not_occur():
    """`class_scores` has a column for labels that do not occur in the training data."""
    rng = np.random.default_rng(0)
    X, y = chains(rng)
    two = [np.minimum(labels, 1) for labels in y]
    with pytest.raises(ValueError, match="set the parameter classes"):
        ChainSSVM(class_scores=slice(0, 3)).fit(X, two)
    model = ChainSSVM(class_scores=("fixed", slice(0, 3)), classes=[0, 1, 2], lam=1e6)
    assert model.fit(X, two).predict([[[0.0, 0, 9, 0, 0]]])[0].tolist() == [2]


def test_warm_start_and_partial_fit():
    rng = np.random.default_rng(0)
    X, y = chains(rng, n=20)
    model = ChainSSVM(lam=0.1, class_scores=slice(0, 3), warm_start=True, **TIGHT)
    model.set_params(tol=1e-4).fit(X, y)
    with pytest.raises(ValueError, match="warm_start"):
        model.set_params(class_scores=slice(1, 4)).fit(X, y)
    options = {"solver": "perceptron", "class_scores": slice(0, 3)}
    one = ChainSSVM(**options).partial_fit(X, y, classes=range(K))
    two = ChainSSVM(**options).partial_fit(X[:9], y[:9], classes=range(K))
    two.partial_fit(X[9:], y[9:])
    np.testing.assert_array_equal(two.w_, one.w_)
    with pytest.raises(ValueError, match="class_scores"):
        two.set_params(class_scores=slice(1, 4)).partial_fit(X, y)


def test_paths():
    rng = np.random.default_rng(0)
    X, y = chains(rng, n=30)
    model = ChainSSVM(class_scores=("fixed", slice(0, 3)), pairwise_scale=1, random_state=0)
    for search in (ssvm_path, lambda model, X, y: PathCV(model, cv=2).fit(X, y)):
        with pytest.raises(ValueError, match="is not supported by paths over lam"):
            search(model, X, y)
    # With a prior whose weight of scores is 1, such a path is supported.
    terms = with_scores(brute_force.blocks(X, y, brute_force.Model(K)), 5, [0, 1, 2])
    prior = np.zeros(terms[0].phi.shape[1])
    prior[(5 - K) * K] = 1
    path = ssvm_path(model.set_params(prior=prior), X, y, lam_min=0.05, eps=1e-3)
    fitted = clone(model).set_params(lam=0.1, tol=1e-5).fit(X, y)
    value = brute_force.primal(path.w(0.1), 0.1, terms, prior)
    assert value == pytest.approx(fitted.objective_, rel=2e-3)
    assert path.w(0.1)[(5 - K) * K] == 1


def test_searches_and_pipelines():
    rng = np.random.default_rng(0)
    X, y = chains(rng, n=30)
    forms = [None, slice(0, 3), ("fixed", slice(0, 3))]
    search = GridSearchCV(
        ChainSSVM(random_state=0), {"class_scores": forms}, cv=2, error_score="raise"
    )
    assert len(search.fit(X, y).cv_results_["params"]) == 3
    dicts = [
        [{"p0": row[0], "p1": row[1], "p2": row[2], "word": f"w{row[3] > 0}"} for row in x]
        for x in X
    ]
    pipeline = make_pipeline(
        SequenceVectorizer(), ChainSSVM(class_scores=["p0", "p1", "p2"], random_state=0)
    )
    model = pipeline.fit(dicts, y)[-1]
    assert model.coef_.shape == (K, 5)
    assert len(model.w_) == K * 2 + 1 + 3 * K + K * K


@pytest.mark.parametrize("weight", WEIGHTS)
def test_hidden_labels_and_states(weight):
    rng = np.random.default_rng(0)
    X, y = chains(rng, n=12)
    y = [np.where(rng.random(len(labels)) < 0.3, -1, labels) for labels in y[1:]] + y[:1]
    X = X[1:] + X[:1]
    scores = (weight, slice(0, 3))
    for n_states in (1, 2):
        estimator = ChainSSVM(lam=0.1, class_scores=scores, ignore_label=-1, random_state=0)
        model = LatentSSVM(estimator, states_per_label=n_states, random_state=0).fit(X, y)
        assert model.estimator_.class_scores_weight_ >= 0
        columns = np.repeat(np.eye(K), n_states, axis=0)
        np.testing.assert_array_equal(
            model.estimator_.coef_[:, :3], columns * model.estimator_.class_scores_weight_
        )
        assert len(model.predict(X)) == len(X)
    pairs = [(x, [[k, k + 1] for k in range(len(x) - 1)]) for x in X]
    estimator = GraphCRFSSVM(lam=0.1, class_scores=scores, random_state=0)
    model = LatentSSVM(estimator, states_per_label=2, random_state=0).fit(pairs, y)
    assert len(model.predict(pairs)) == len(X)
    Y = rng.integers(2, size=(12, K))
    Y[rng.random(Y.shape) < 0.2] = -1
    rows = rng.normal(size=(12, 5))
    model = LatentSSVM(MultilabelSSVM(lam=0.1, class_scores=scores, random_state=0))
    assert model.fit(rows, Y).predict(rows).shape == Y.shape
