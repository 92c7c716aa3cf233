"""Test probabilities of CalibratedSSVM for all structures against enumeration."""

import pickle
from itertools import product

import numpy as np
import pytest
import skops.io
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logsumexp, softmax
from sklearn.frozen import FrozenEstimator

from sstruct import (
    GraphCRFSSVM,
    GridCRFSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    TreeSSVM,
    TypedGraphCRFSSVM,
)
from sstruct._estimators.label_set.interactions import AUTO_ENUMERATES
from sstruct.calibration import CalibratedSSVM
from tests.estimators.equal import equal
from tests.reference import graphs, label_sets

COMMON = {"lam": 0.1, "random_state": 0}


def rows(rng, n):
    y = rng.integers(0, 3, n)
    return np.eye(3)[y] + 0.8 * rng.standard_normal((n, 3)), y


def forests(rng, n, K=3):
    X, y = [], []
    for _ in range(n):
        V = rng.integers(1, 5)
        labels = rng.integers(0, K, V)
        edges = [(rng.integers(v), v) for v in range(1, V) if rng.random() < 0.8]
        features = np.eye(K)[labels] + 0.8 * rng.standard_normal((V, K))
        X.append((features, np.array(edges, dtype=int).reshape(-1, 2)))
        y.append(labels)
    return X, y


def cyclic(rng, n, K=2):
    X, y = [], []
    for _ in range(n):
        labels = rng.integers(0, K, 5)
        features = np.eye(K)[labels] + 0.8 * rng.standard_normal((5, K))
        X.append((features, np.array([[0, 1], [1, 2], [2, 0]])))
        y.append(labels)
    return X, y


def sets(rng, n, K=4):
    z = rng.random((n, K)) + 0.5 * rng.random((n, 1)) > 0.75
    return z + 0.8 * rng.standard_normal((n, K)), z.astype(int)


def nested_sets(rng, n):
    X, Y = sets(rng, n)
    Y[:, 1] &= Y[:, 0]
    Y[:, 3] &= Y[:, 1]
    return X, Y


def many_labels(rng, n):
    return sets(rng, n, K=AUTO_ENUMERATES + 1)


def poses(rng, n, maps=False):
    X, y = [], []
    for _ in range(n):
        sizes = np.full(3, 4) if maps else rng.integers(1, 4, 3)
        states = np.array([rng.integers(size) for size in sizes])
        features = [
            np.eye(size)[s][:, None] * [1.0, 0.5] + 0.8 * rng.standard_normal((size, 2))
            for size, s in zip(sizes, states)
        ]
        if maps:
            X.append({"features": np.array(features).reshape(3, 2, 2, 2)})
        else:
            X.append({"features": features, "positions": [f[:, ::-1] for f in features]})
        y.append(states)
    return X, y


def typed(rng, n, cycle=False):
    X, y = [], []
    for _ in range(n):
        labels = [rng.integers(0, 2, 3), rng.integers(0, 3, 1)]
        features = [
            np.eye(2 + t)[own] + 0.8 * rng.standard_normal((len(own), 2 + t))
            for t, own in enumerate(labels)
        ]
        pairs = np.array([[0, 1], [1, 2], [2, 0]][: 3 if cycle else 1])
        X.append((features, {(0, 0): pairs, (0, 1): np.array([[0, 0]])}))
        y.append(labels)
    return X, y


def images(rng, n, height=2):
    y = rng.integers(0, 2, (n, height, 3))
    return list(np.eye(2)[y] + 0.8 * rng.standard_normal((n, height, 3, 2))), list(y)


# Estimator, data, and whether probabilities are exact.
CASES = {
    "rows": (MulticlassSSVM(**COMMON), rows, True),
    "forests": (GraphCRFSSVM(pairwise="full", **COMMON), forests, True),
    "potts": (GraphCRFSSVM(pairwise="potts", **COMMON), forests, True),
    "typed forests": (TypedGraphCRFSSVM(**COMMON), typed, True),
    "image rows": (GridCRFSSVM(**COMMON), lambda rng, n: images(rng, n, 1), True),
    "sets": (MultilabelSSVM(edges="full", **COMMON), sets, True),
    "tree of labels": (MultilabelSSVM(edges="tree", pairwise="full", **COMMON), sets, True),
    "no edges": (MultilabelSSVM(edges=None, **COMMON), sets, True),
    "relaxed": (MultilabelSSVM(inference="relaxed", **COMMON), sets, True),
    "hierarchy": (MultilabelSSVM(edges=np.array([-1, 0, -1, 1]), **COMMON), nested_sets, True),
    "one label": (MultilabelSSVM(**COMMON), rows, True),
    "parts": (TreeSSVM(parents=[1, -1, 1], **COMMON), poses, True),
    "cycles": (GraphCRFSSVM(**COMMON), cyclic, False),
    "typed cycles": (
        TypedGraphCRFSSVM(**COMMON), lambda rng, n: typed(rng, n, cycle=True), False
    ),
    "images": (GridCRFSSVM(**COMMON), images, False),
    "many labels": (MultilabelSSVM(edges="full", **COMMON), many_labels, False),
    "maps": (TreeSSVM(parents=[1, -1, 1], **COMMON), lambda rng, n: poses(rng, n, True), False),
}  # fmt: skip
EXACT = [name for name, (*_, exact) in CASES.items() if exact]
APPROXIMATE = [name for name in CASES if name not in EXACT]
_models = {}


def made(name, n=40):
    """Return a calibrated model and its data; each is fitted once."""
    if name not in _models:
        estimator, make, _ = CASES[name]
        X, y = make(np.random.default_rng(0), n)
        _models[name] = CalibratedSSVM(estimator, cv=3).fit(X, y), X, y
    return _models[name]


def nodes_of(value):
    """Return the arrays of scores or probabilities of the nodes of one sample."""
    parts = value if isinstance(value, list) else [value]
    return [row for part in parts for row in np.reshape(part, (-1, np.shape(part)[-1]))]


def labelings(name, model, X, i):
    """Return all labelings of a sample, in the format of y and as flat lists."""
    x, estimator = X[i], model.estimator_
    if name in ("rows", "one label"):
        flat = [[k] for k in range(3)]
        return [k for (k,) in flat], flat
    if isinstance(estimator, MultilabelSSVM):
        parents = CASES[name][0].edges if name == "hierarchy" else None
        flat = label_sets.label_sets(4, parents)
        return [list(y) for y in flat], flat
    if isinstance(estimator, TreeSSVM):
        flat = list(product(*(range(len(part)) for part in x["features"])))
        return [list(y) for y in flat], flat
    if isinstance(estimator, TypedGraphCRFSSVM):
        flat = list(product(*[range(2)] * 3, range(3)))
        return [[list(y[:3]), list(y[3:])] for y in flat], flat
    if isinstance(estimator, GridCRFSSVM):
        flat = list(product(range(2), repeat=3))
        return [np.reshape(y, (1, 3)) for y in flat], flat
    flat = list(product(range(3), repeat=len(x[0])))
    return [list(y) for y in flat], flat


@pytest.mark.parametrize("name", EXACT)
def test_probabilities_match_enumeration(name):
    model, X, _ = made(name)
    assert model.exact_
    found = model.predict_proba(X)
    for i in range(8):
        given, flat = labelings(name, model, X, i)
        x = [X[i]] * len(given)
        log_p = model.log_proba(np.array(x) if isinstance(X, np.ndarray) else x, given)
        assert logsumexp(log_p) == pytest.approx(0, abs=1e-10)
        if isinstance(model.estimator_, MultilabelSSVM) and name != "one label":
            np.testing.assert_allclose(found[i], np.exp(log_p) @ np.array(flat), atol=1e-10)
            continue
        here = [found[i]] if name in ("rows", "one label") else nodes_of(found[i])
        for v, p in enumerate(here):
            expected = np.bincount([y[v] for y in flat], weights=np.exp(log_p), minlength=len(p))
            np.testing.assert_allclose(p, expected, rtol=0, atol=1e-10)


def score_of(name, model, x):
    """Return a function that computes the score of a labeling by the joint feature map."""
    w = model.estimator_.w_
    if name in ("forests", "potts"):
        pairwise = model.estimator_.pairwise
        return lambda y: w @ graphs.joint_feature(x[0], y, x[1], None, pairwise, 3)
    pairwise = model.estimator_.pairwise
    return lambda y: w @ label_sets.joint_feature(x, y, model.estimator_.edges_, pairwise)


@pytest.mark.parametrize("name", ["forests", "potts", "sets", "tree of labels", "hierarchy"])
def test_log_probabilities_are_scores_over_the_temperature(name):
    model, X, _ = made(name)
    for i in range(8):
        given, flat = labelings(name, model, X, i)
        score = score_of(name, model, X[i])
        scores = np.array([score(y) for y in flat]) / model.temperature_
        np.testing.assert_allclose(
            model.log_proba([X[i]] * len(given), given), scores - logsumexp(scores), atol=1e-10
        )


def test_classes_are_a_softmax():
    model, X, y = made("rows")
    p = softmax(model.decision_function(X) / model.temperature_, axis=1)
    np.testing.assert_allclose(model.predict_proba(X), p, atol=1e-12)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    two = CalibratedSSVM(MulticlassSSVM(**COMMON)).fit(X, y == 0)
    assert two.predict_proba(X).shape == (len(X), 2)
    odds = np.log(two.predict_proba(X)[:, 1] / two.predict_proba(X)[:, 0])
    np.testing.assert_allclose(odds, two.decision_function(X) / two.temperature_, atol=1e-9)


def held_out_loss(name, estimators, X, y, splits):
    """Return the loss at a temperature: of labelings, or of nodes for approximate models."""

    def loss(t):
        total = 0
        for estimator, test in zip(estimators, splits):
            model = CalibratedSSVM(FrozenEstimator(estimator))
            here = [X[i] for i in test], [y[i] for i in test]
            model._publish(
                {"estimator_": estimator, "temperature_": np.exp(t), "exact_": name in EXACT}
            )
            if name in EXACT:
                total -= model.log_proba(*here).sum()
                continue
            for p, labels in zip(model.predict_proba(here[0]), here[1]):
                if name == "many labels":
                    total -= np.log(np.where(labels, p, 1 - p)).sum()
                    continue
                labels = np.concatenate([np.ravel(own) for own in labels]) if name == (
                    "typed cycles"
                ) else np.ravel(labels)  # fmt: skip
                total -= sum(np.log(q[k]) for q, k in zip(nodes_of(p), labels))
        return total

    return loss


# Without those whose folds are stratified.
@pytest.mark.parametrize("name", [name for name in CASES if name not in ("rows", "one label")])
def test_the_temperature_has_the_largest_held_out_likelihood(name):
    model, X, y = made(name)
    splits = np.array_split(np.arange(len(X)), 3)
    estimators = []
    for test in splits:
        train = np.setdiff1d(np.arange(len(X)), test)
        given = [X[i] for i in train], [y[i] for i in train]
        estimators.append(CASES[name][0].fit(*(map(np.array, given) if isinstance(X, np.ndarray)
                                               else given)).__copy__())  # fmt: skip
    t = np.log(model.temperature_)
    best = minimize_scalar(
        held_out_loss(name, estimators, X, y, splits), bounds=(t - 0.5, t + 0.5), method="bounded",
        options={"xatol": 1e-7},
    )  # fmt: skip
    assert best.x == pytest.approx(t, abs=2e-5)


@pytest.mark.parametrize("name", APPROXIMATE)
def test_approximate_probabilities_are_a_softmax_of_max_marginals(name):
    model, X, _ = made(name)
    assert model.exact_ is False
    scores, found = model.decision_function(X), model.predict_proba(X)
    for i in range(len(X)):
        if name == "many labels":
            expected = 1 / (1 + np.exp(-scores[i] / model.temperature_))
            np.testing.assert_allclose(found[i], expected, atol=1e-12)
            continue
        for p, s in zip(nodes_of(found[i]), nodes_of(scores[i]), strict=True):
            np.testing.assert_allclose(p, softmax(s / model.temperature_), atol=1e-12)
    for method in ("log_proba", "sample"):
        assert not hasattr(model, method)
        with pytest.raises(AttributeError, match="exact_ is False"):
            getattr(model, method)
    assert hasattr(CalibratedSSVM(CASES[name][0]), "sample")


@pytest.mark.parametrize("name", EXACT)
def test_samples_follow_the_marginals(name):
    model, X, _ = made(name)
    X = X[:3]
    draws = model.sample(X, 3000, random_state=0)
    for drawn, p, truth in zip(draws, model.predict_proba(X), model.predict(X)):
        if name in ("rows", "one label"):
            shares = [(drawn[:, None] == model.classes_).mean(axis=0)]
            p = [p]
        elif isinstance(model.estimator_, MultilabelSSVM):
            assert drawn.shape == (3000, 4)
            shares, p = [drawn.mean(axis=0)], [p]
        elif name == "typed forests":
            assert [own.shape for own in drawn] == [(3000, 3), (3000, 1)]
            shares = [
                (own[:, v, None] == classes).mean(axis=0)
                for own, classes in zip(drawn, model.classes_)
                for v in range(own.shape[1])
            ]
            p = nodes_of(p)
        else:
            assert drawn.shape == (3000, *np.shape(truth))
            p, flat = nodes_of(p), drawn.reshape(3000, -1)
            shares = [np.bincount(of, minlength=len(q)) / 3000 for of, q in zip(flat.T, p)]
        for a, b in zip(shares, p, strict=True):
            np.testing.assert_allclose(a, b, atol=0.04)
    again = model.sample(X[:1], 3000, random_state=0)
    assert equal(again[0], draws[0])


@pytest.mark.parametrize("name", CASES)
def test_files_and_threads(name):
    model, X, _ = made(name)
    expected = [nodes_of(p) for p in model.predict_proba(X)]
    stored = skops.io.dumps(model)
    trusted = skops.io.get_untrusted_types(data=stored)
    assert all(each.startswith("sstruct.") for each in trusted)
    threaded = model.__copy__()
    threaded.estimator_ = model.estimator_.__copy__().set_params(n_jobs=2)
    others = pickle.loads(pickle.dumps(model)), skops.io.loads(stored, trusted=trusted), threaded
    for other in others:
        assert other.exact_ == model.exact_
        found = [nodes_of(p) for p in other.predict_proba(X)]
        assert equal(found, expected)
    state = model.__getstate__() | {"exact_": 1}
    with pytest.raises(ValueError, match=r"exact_ is 1.*True or False"):
        CalibratedSSVM(CASES[name][0]).__setstate__(state)


def test_unknown_labels_are_summed_over():
    rng = np.random.default_rng(1)
    X, y = forests(rng, 60)
    estimator = GraphCRFSSVM(pairwise="full", ignore_label=-1, **COMMON)
    hidden = [np.where(np.arange(len(own)) % 3 == 1, -1, own) for own in y]
    model = CalibratedSSVM(estimator).fit(X, hidden)
    big = next(i for i, own in enumerate(y) if len(own) == 4)
    total = [
        model.log_proba([X[big]], [np.where(hidden[big] == -1, k, hidden[big])]) for k in range(3)
    ]
    found = model.log_proba([X[big]], [hidden[big]])
    assert found == pytest.approx(logsumexp(total), rel=1e-10)
    none = np.full(4, -1)
    np.testing.assert_allclose(model.log_proba([X[big]], [none]), 0, atol=1e-12)
    assert model.log_proba([X[big]], [[0, 0, 0, 9]]) == [-np.inf]

    model, X, Y = made("sets")
    partly = Y[:5].astype(float)
    partly[:, 2] = np.nan
    total = [model.log_proba(X[:5], np.where(np.isnan(partly), k, partly)) for k in (0, 1)]
    np.testing.assert_allclose(
        model.log_proba(X[:5], partly), logsumexp(total, axis=0), rtol=1e-10, atol=1e-12
    )
    model, X, Y = made("hierarchy")
    assert model.log_proba(X[:1], [[0, 1, 0, 0]]) == [-np.inf]
    model, X, y = made("rows")
    assert model.log_proba(X[:2], [7, 1])[0] == -np.inf
    rng = np.random.default_rng(0)
    X, y = poses(rng, 40)
    partly = [np.r_[-1, own[1:]] for own in y]
    model = CalibratedSSVM(TreeSSVM(parents=[1, -1, 1], **COMMON)).fit(X, partly)
    total = [model.log_proba(X[:1], [np.r_[s, y[0][1:]]]) for s in range(len(X[0]["features"][0]))]
    assert model.log_proba(X[:1], partly[:1]) == pytest.approx(logsumexp(total), rel=1e-10)


def test_exact_model_raises_for_cycles():
    model, X, _ = made("forests")
    rng = np.random.default_rng(0)
    loops, labels = cyclic(rng, 1, K=3)
    for call in (
        lambda: model.predict_proba([X[0], loops[0]]),
        lambda: model.log_proba([X[0], loops[0]], [[0] * len(X[0][0]), labels[0]]),
        lambda: model.sample([X[0], loops[0]]),
    ):
        with pytest.raises(ValueError, match=r"X\[1\] cannot .* it has a cycle.*exact_ is True"):
            call()
    assert len(model.predict([loops[0]])[0]) == 5
    empty = np.empty((0, 3)), np.empty((0, 2), dtype=int)
    with pytest.raises(ValueError, match=r"X\[2\] cannot"):
        model.predict_proba([empty, X[0], loops[0]])
    assert len(model.predict_proba([empty])[0]) == 0
    assert model.log_proba([empty, X[0]], [[], [0] * len(X[0][0])])[0] == 0
    assert model.sample([empty], 2)[0].shape == (2, 0)
    model, X, _ = made("parts")
    maps, _ = poses(rng, 1, maps=True)
    with pytest.raises(ValueError, match=r"X\[0\] cannot .* score maps"):
        model.predict_proba(maps)


def test_one_graph_with_a_cycle_makes_a_model_approximate():
    rng = np.random.default_rng(0)
    X, y = forests(rng, 30)
    loops, labels = cyclic(rng, 1, K=3)
    model = CalibratedSSVM(GraphCRFSSVM(**COMMON), cv=3).fit(X + loops, y + labels)
    assert not model.exact_
    scores = model.decision_function(X)  # forests too
    for p, s in zip(model.predict_proba(X), scores):
        expected = np.exp(log_softmax(s / model.temperature_, axis=1))
        np.testing.assert_allclose(p, expected, atol=1e-12)
    one = [np.where(np.arange(len(own)) == 0, own, -1) for own in y + labels]
    graph = GraphCRFSSVM(ignore_label=-1, **COMMON)
    partly = CalibratedSSVM(FrozenEstimator(graph.fit(X, y))).fit(X + loops, one)
    assert not partly.exact_


def test_methods_that_an_estimator_lacks():
    model, X, _ = made("rows")
    assert not hasattr(model, "predict_spans")
    with pytest.raises(AttributeError, match=r"no predict_log_proba: use .* of predict_proba"):
        model.predict_log_proba(X)
    with pytest.raises(AttributeError, match=r"\(MulticlassSSVM\(\)\) has no predict"):
        model.predict_spans(X)
    with pytest.raises(TypeError, match="MulticlassSSVM does not support y_partial"):
        model.predict(X, [0] * len(X))
    model, X, _ = made("parts")
    assert not hasattr(model, "classes_")
    assert len(model.predict(X, [[-1, 0, -1]] * len(X))) == len(X)


def test_invalid_labels():
    model, X, _ = made("sets")
    with pytest.raises(ValueError, match=r"y\[0, 1\] is 2"):
        model.log_proba(X[:1], [[0, 2, 0, 0]])
    with pytest.raises(ValueError, match="y has 3 columns, expected 4 labels"):
        model.log_proba(X[:1], [[0, 1, 0]])
    model, X, _ = made("parts")
    with pytest.raises(ValueError, match=r"y\[0\] has state 9 for part 1"):
        model.log_proba(X[:1], [[0, 9, 0]])


@pytest.mark.parametrize("name", ["forests", "cycles"])
def test_held_out_samples_of_weight_zero_are_ignored(name):
    _, X, y = made(name)
    estimator = CASES[name][0]
    once = estimator.fit(X[:20], y[:20])
    weights = np.r_[np.zeros(10), np.ones(10)]
    model = CalibratedSSVM(FrozenEstimator(once)).fit(X[20:], y[20:], weights)
    other = CalibratedSSVM(FrozenEstimator(once)).fit(X[30:], y[30:])
    assert model.temperature_ == pytest.approx(other.temperature_, rel=1e-5)


def test_held_out_samples_whose_labels_are_impossible_are_ignored():
    model, X, Y = made("hierarchy")
    frozen = CalibratedSSVM(FrozenEstimator(model.estimator_))
    expected = frozen.fit(X, Y).temperature_
    impossible = np.vstack([Y, [[0, 1, 0, 0]]])
    found = frozen.fit(np.vstack([X, X[:1]]), impossible).temperature_
    assert found == pytest.approx(expected, rel=1e-5)
