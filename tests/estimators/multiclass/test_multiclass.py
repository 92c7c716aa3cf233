"""Test optima, losses, labels and invalid input of MulticlassSSVM."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC
from sklearn.utils.class_weight import compute_class_weight

from sstruct import MulticlassSSVM, MultilabelSSVM
from sstruct._input.losses import class_weights
from sstruct.solvers import MPBCFW
from tests.reference import brute_force, dual_qp

TABLE = np.array([[0, 1, 3], [2, 0, 0.5], [1, 1, 0]])
LOSSES = {
    "hamming": "hamming",
    "count": "hamming-count",
    "balanced": "balanced",
    "weights": np.array([0.5, 2.0, 1.0]),
    "table": TABLE,
}
CLASS_WEIGHTS = {"none": None, "balanced": "balanced", "dict": {0: 3.0, 2: 0.5}, "zero": {1: 0.0}}


def make(rng, n=18, F=3, K=3):
    """Return rows of noisy classes that are not separable; every label occurs."""
    X = rng.standard_normal((n, F))
    y = np.argmax(X @ rng.standard_normal((F, K)) + 1.5 * rng.standard_normal((n, K)), axis=1)
    y[:K] = np.arange(K)
    return X, y


def terms_of(X, y, *, bias=True, loss="hamming", class_weight=None, weights=None, K=3):
    """Return the hinge terms of chains of one node, with weights multiplied by class weights."""
    model = brute_force.Model(K, bias, False, False)
    weights = np.ones(len(y)) if weights is None else weights
    factor = np.ones(K)
    if class_weight == "balanced":
        count = np.array([weights[y == k].sum() for k in range(K)])
        factor = weights.sum() / (K * count)
    elif class_weight is not None:
        for k, value in class_weight.items():
            factor[k] = value
    blocks = brute_force.blocks([x[np.newaxis] for x in X], y[:, np.newaxis], model, loss, weights)
    for block in blocks:
        block.weight *= factor[y[block.sample]]
    return [block for block in blocks if block.weight > 0]


@pytest.mark.parametrize("csr", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("class_weight", CLASS_WEIGHTS)
@pytest.mark.parametrize("loss", LOSSES)
def test_optimum_with_every_loss_and_weight(rng, loss, class_weight, weighted, csr):
    X, y = make(rng)
    weights = rng.choice([0.5, 1.0, 3.0], len(X)) if weighted else None
    if weighted:
        weights[7] = 0.0
    costs = {"loss": LOSSES[loss], "class_weight": CLASS_WEIGHTS[class_weight]}
    model = MulticlassSSVM(
        lam=0.1, tol=1e-8, max_iter=50_000, warm_start=True, random_state=0,
        fit_intercept=not weighted, solver=MPBCFW(average=False), **costs,
    )  # fmt: skip
    model.fit(sparse.csr_matrix(X) if csr else X, y, sample_weight=weights)
    terms = terms_of(X, y, bias=not weighted, weights=weights, **costs)
    dual_qp.check_optimum(model, terms)
    dual_qp.check_working_sets(model, terms)


@pytest.mark.filterwarnings("ignore:.*multi_class:FutureWarning")
# scikit-learn 1.6 warns about this fit, although its objective is correct.
@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
def test_optimum_equals_that_of_liblinear():
    X, y = load_digits(return_X_y=True)
    X, lam, options = X / 16, 1e-3, {"fit_intercept": False, "tol": 1e-7, "random_state": 0}
    model = MulticlassSSVM(lam=lam, max_iter=10**5, **options).fit(X, y)
    C = 1 / (lam * len(X))
    reference = LinearSVC(multi_class="crammer_singer", C=C, max_iter=10**6, **options).fit(X, y)
    scores = X @ reference.coef_.T
    hinge = (scores + (np.arange(10) != y[:, None])).max(axis=1) - scores[np.arange(len(y)), y]
    expected = 0.5 * lam * np.sum(reference.coef_**2) + hinge.mean()
    assert model.objective_ == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("csr", [False, True], ids=["dense", "csr"])
def test_predictions_follow_the_weights(rng, K, csr):
    X, y = make(rng, n=40, F=4, K=K)
    names = np.array(["zebra", "ant", "cow"])[y]
    model = MulticlassSSVM(lam=0.1, random_state=0).fit(sparse.csr_matrix(X) if csr else X, names)
    np.testing.assert_array_equal(model.classes_, np.unique(names))
    assert model.coef_.shape == (K, 4)
    assert model.intercept_.shape == (K,)
    np.testing.assert_array_equal(model.w_, np.r_[model.coef_.ravel(), model.intercept_])
    scores = X @ model.coef_.T + model.intercept_
    expected = scores[:, 1] - scores[:, 0] if K == 2 else scores
    new = sparse.csr_matrix(X) if csr else X
    np.testing.assert_allclose(model.decision_function(new), expected, rtol=0, atol=1e-12)
    predicted = model.classes_[scores.argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(new), predicted)
    weights = rng.random(40)
    right = predicted == names
    assert model.score(new, names) == pytest.approx(right.mean())
    assert model.score(new, names, weights) == pytest.approx(np.average(right, weights=weights))
    assert model.score(new, np.full(40, "dog")) == 0


def test_labels_of_any_hashable_type(rng):
    X, y = make(rng)
    tuples = [(int(label), "x") for label in y]
    model = MulticlassSSVM(lam=0.1, random_state=0).fit(X, tuples)
    plain = MulticlassSSVM(lam=0.1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.w_, plain.w_)
    assert model.predict(X).tolist() == [(label, "x") for label in plain.predict(X)]
    assert model.score(X, tuples) == plain.score(X, y)
    both = {(0, "x"): 2.0, (1, "x"): 1.0}
    weighted = MulticlassSSVM(lam=0.1, random_state=0, class_weight=both).fit(X, tuples)
    expected = MulticlassSSVM(lam=0.1, random_state=0, class_weight={0: 2.0}).fit(X, y)
    np.testing.assert_array_equal(weighted.w_, expected.w_)


def test_classes_fix_the_number(rng):
    X, y = make(rng)
    cost = np.ones((4, 4)) - np.eye(4)
    model = MulticlassSSVM(lam=0.1, loss=cost, classes=[0, 1, 2, 7], tol=1e-6, random_state=0)
    model.fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2, 7]
    assert model.coef_.shape == (4, 3)
    assert set(model.predict(X)) <= {0, 1, 2, 7}
    # If one of several classes occurs, it is learned against the others.
    model.fit(X[:1], y[:1])
    assert model.predict(X[:1]) == y[:1]
    with pytest.raises(ValueError, match=r"y\[1\] contains 1, which is not in classes"):
        MulticlassSSVM(classes=[0, 2]).fit(X, y)


def test_classes_must_be_sorted(rng):
    X, y = make(rng)
    message = r"classes must be sorted.*found \[2, 0, 1\], expected \[0, 1, 2\]"
    with pytest.raises(ValueError, match=message):
        MulticlassSSVM(classes=[2, 0, 1]).fit(X, y)
    with pytest.raises(ValueError, match=message):
        MulticlassSSVM(solver="pa").partial_fit(X, y, classes=[2, 0, 1])
    with pytest.raises(ValueError, match=message):
        MultilabelSSVM(classes=[2, 0, 1]).fit(X, y)
    mixed = [2, "a", (0, 1)]  # cannot be sorted, and scikit-learn has no scores for objects
    model = MulticlassSSVM(classes=mixed, random_state=0).fit(X, [mixed[k] for k in y])
    assert model.classes_.tolist() == mixed


@pytest.mark.parametrize("class_weight", CLASS_WEIGHTS.values(), ids=list(CLASS_WEIGHTS))
def test_class_weights_match_sklearn(rng, class_weight):
    y = rng.integers(0, 3, 50)
    expected = compute_class_weight(class_weight, classes=np.arange(3), y=y)
    weights = class_weights(class_weight, np.arange(3), y, np.ones(50))
    np.testing.assert_allclose(weights, expected, rtol=1e-15)


def test_class_weights_without_samples_or_keys():
    balanced = class_weights("balanced", np.array([0, 1, 2]), np.array([0, 0, 2]), np.ones(3))
    assert balanced.tolist() == [0.75, 1, 1.5]
    # A key may be missing in y, as in a fold, if all classes that occur have a key.
    given = {"a": 2.0, "b": 3.0, "c": 4.0}
    assert class_weights(given, np.array(["a", "c"]), None, None).tolist() == [2, 4]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"y": [1] * 18}, "y has one class"),
        ({"sample_weight": [1.0] + [0.0] * 17}, "y has one class"),
        ({"y": np.linspace(0, 1, 18)}, "Unknown label type: continuous"),
        ({"y": [[0, 1]] * 18}, "y should be a 1d array"),
        ({"y": None}, "requires y to be passed"),
        ({"class_weight": "heavy"}, "class_weight must be a dict"),
        ({"class_weight": {0: -1.0}}, "finite and not negative"),
        ({"class_weight": {0: np.nan}}, "finite and not negative"),
        (
            {"class_weight": {0: 1.0, 5: 1.0}},
            r"has the keys \[5\], which are not in y, and the classes \[1, 2\] are not",
        ),
        ({"class_weight": {0: 0, 1: 0, 2: 0}}, "gives every sample weight 0"),
        ({"loss": np.ones((2, 2))}, "loss has shape"),
        ({"lam": 0}, "lam must be finite and above 0"),
        ({"sample_weight": [-1.0] * 18}, r"sample_weight\[0\] is -1"),
        ({"X": [np.ones((2, 3))] * 18}, "dim"),
    ],
    ids=lambda v: v if isinstance(v, str) else next(iter(v)),
)
def test_invalid_input_leaves_estimator_unchanged(rng, change, message):
    X, y = make(rng)
    data = {"X": X, "y": y, "sample_weight": None}
    data.update({name: value for name, value in change.items() if name in data})
    parameters = {name: value for name, value in change.items() if name not in data}
    model = MulticlassSSVM(**parameters)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(**data)
    assert vars(model) == before


def test_tol_zero_stops_at_rounding_error(rng):
    X, y = make(rng)
    model = MulticlassSSVM(lam=0.1, tol=0, max_iter=10**5, random_state=0).fit(X, y)
    assert model.status_ == "STALLED"
    assert model.dual_gap_ <= 1e-12 * model.objective_


def test_single_precision_features(rng):
    X, y = make(rng, n=60)
    X = X.astype(np.float32)
    model = MulticlassSSVM(lam=0.1, tol=1e-8, random_state=0)
    single, double = clone(model).fit(X, y), clone(model).fit(X.astype(np.float64), y)
    np.testing.assert_allclose(single.w_, double.w_, rtol=0, atol=1e-9)
    assert single.coef_.dtype == np.float64
