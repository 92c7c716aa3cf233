"""Test optima, losses, formats of y and invalid input of MultilabelSSVM."""

import pickle
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import accuracy_score, hamming_loss
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer, StandardScaler
from sklearn.utils.class_weight import compute_sample_weight

from sstruct import MulticlassSSVM, MultilabelSSVM
from sstruct._estimators.label_set.interactions import interactions, mutual_information
from tests.problems.test_multilabel import half_codes, masses_of
from tests.reference import brute_force, dual_qp, label_sets

PARENTS = [-1, 0, 0, 2]
EDGES = {
    "full": "full",
    "tree": "tree",
    "none": None,
    "given": [[2, 0], [1, 3]],
    "hierarchy": PARENTS,
}


def make(rng, n=24, F=3, K=4, closed=False):
    """Return noisy rows whose labels interact; every label is both present and absent."""
    X = rng.standard_normal((n, F))
    score = X @ rng.standard_normal((F, K)) + rng.standard_normal((n, K))
    score[:, 0] += 0.5 * (score[:, 2] > 0)
    Y = (score > 0).astype(int)
    Y[0], Y[1] = 0, 1
    if closed:
        for k in (1, 2, 3):
            Y[:, k] &= Y[:, PARENTS[k]]
    return X, Y


def reference(model, X, Y, weights=None, **change):
    """Return the hinge terms of the objective, by enumeration."""
    parents = model.edges if model.edges is PARENTS else None
    return label_sets.blocks(
        X, Y, model.edges_, model.pairwise, model.fit_intercept, weights=weights, parents=parents,
        **change,
    )  # fmt: skip


def compare(model, X, Y, weights=None, csr=False, box=None, **change):
    """Fit tightly; check the certificate by its definition, and w by an independent QP."""
    model.set_params(tol=1e-9, max_iter=50_000, random_state=0)
    given = (sparse.csr_matrix(X), sparse.csr_matrix(Y)) if csr else (X, Y)
    model.fit(*given, sample_weight=weights)
    terms = reference(model, X, Y, weights, **change)
    _, w = dual_qp.check_optimum(model, terms, box)
    np.testing.assert_allclose(model.w_, w, atol=1e-3)
    return terms


@pytest.mark.parametrize("weighted, csr", [(False, False), (True, True)], ids=["plain", "weighted"])
@pytest.mark.parametrize("pairwise", ["and", "full"])
@pytest.mark.parametrize("edges", EDGES)
def test_optimum_of_every_model(rng, edges, pairwise, weighted, csr):
    X, Y = make(rng, closed=edges == "hierarchy")
    weights = None
    if weighted:
        weights = rng.choice([0.5, 1.0, 3.0], len(X))
        weights[7] = 0
    model = MultilabelSSVM(
        edges=EDGES[edges], pairwise=pairwise, lam=0.05, fit_intercept=not weighted
    )
    compare(model, X, Y, weights, csr)
    K, E = 4, len(model.edges_)
    assert {"full": 6, "tree": 3, "none": 0, "given": 2, "hierarchy": 0}[edges] == E
    assert model.coef_.shape == (K, 3)
    assert model.intercept_.shape == (K,)
    assert model.edge_coef_.shape == ((E, 2, 2) if pairwise == "full" else (E,))
    parts = [model.coef_.ravel(), *([] if weighted else [model.intercept_]),
             model.edge_coef_.ravel()]  # fmt: skip
    np.testing.assert_array_equal(model.w_, np.concatenate(parts))
    expected = {"full": "enumeration", "none": "label by label"}.get(edges, "max-sum")
    assert model.inference_ == f"{expected} (exact)"


def scores_of_sets(model, X):
    """Return the score of every allowed set, by the definition."""
    parents = model.edges if model.edges is PARENTS else None
    sets = label_sets.label_sets(len(model.classes_), parents)
    bias = model.fit_intercept
    phi = [[label_sets.joint_feature(x, y, model.edges_, model.pairwise, bias) for y in sets]
           for x in X]  # fmt: skip
    return np.array(sets), np.array(phi) @ model.w_


def max_marginals(sets, scores):
    """Return for each row and label the best score with it minus the best one without it."""
    on = (sets == 1).T
    return [[s[with_it].max() - s[~with_it].max() for with_it in on] for s in scores]


@pytest.mark.parametrize("pairwise", ["and", "full"])
@pytest.mark.parametrize("edges", EDGES)
def test_predictions_follow_the_weights(rng, edges, pairwise):
    X, Y = make(rng, n=40, closed=edges == "hierarchy")
    # Fits to dense and sparse rows round differently.
    model = MultilabelSSVM(
        edges=EDGES[edges], pairwise=pairwise, lam=0.02, tol=1e-6, random_state=0
    )
    model.fit(X, Y)
    new = rng.standard_normal((30, 3))
    sets, scores = scores_of_sets(model, new)
    predicted = model.predict(new)
    assert predicted.dtype == np.int64
    np.testing.assert_array_equal(predicted, sets[scores.argmax(axis=1)])
    expected = max_marginals(sets, scores)
    np.testing.assert_allclose(model.decision_function(new), expected, rtol=0, atol=1e-12)
    as_csr = clone(model).fit(sparse.csr_matrix(X), sparse.csr_matrix(Y))
    found = as_csr.predict(sparse.csr_matrix(new))
    assert sparse.issparse(found)
    assert found.format == "csr"
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found.toarray(), predicted)
    truth, weights = make(rng, n=30)[1], rng.random(30)
    for w in (None, weights):
        assert model.score(new, truth, w) == pytest.approx(
            accuracy_score(truth, predicted, sample_weight=w)
        )
        assert as_csr.score(new, sparse.csr_matrix(truth), w) == model.score(new, truth, w)
    assert model.score(X, Y) > 0


def test_sparse_predictions_have_the_type_of_y(rng):
    X, Y = make(rng)
    found = MultilabelSSVM(lam=0.1, random_state=0).fit(X, sparse.csc_array(Y)).predict(X)
    assert isinstance(found, sparse.csr_array)
    found = MultilabelSSVM(lam=0.1, random_state=0).fit(X, sparse.coo_matrix(Y)).predict(X)
    assert isinstance(found, sparse.csr_matrix)


def test_kinds_of_indicators_are_equivalent(rng):
    X, Y = make(rng)
    expected = MultilabelSSVM(lam=0.1, random_state=0).fit(X, Y)
    stored_zeros = sparse.csr_matrix(Y)
    stored_zeros.data[::3] = 0
    as_stored = stored_zeros.toarray()
    for same in (Y.astype(bool), Y.astype(float), Y.astype(np.uint8), Y.tolist(), list(Y),
                 sparse.csc_matrix(Y), sparse.coo_matrix(Y), Y.astype(object)):  # fmt: skip
        model = clone(expected).fit(X, same)
        np.testing.assert_array_equal(model.w_, expected.w_)
    a, b = clone(expected).fit(X, stored_zeros), clone(expected).fit(X, as_stored)
    np.testing.assert_array_equal(a.w_, b.w_)
    assert stored_zeros.nnz == Y.sum()  # the input is not changed


LOSSES = {
    "hamming": "hamming",
    "count": "hamming-count",
    "balanced": "balanced",
    "asymmetric": "asymmetric",
    "costs": np.array([0.5, 2.0, 0.0, 1.0]),
}


def costs(loss, Y, weights):
    """Return the costs of errors, (2, 4), computed explicitly."""
    if isinstance(loss, str) and loss == "asymmetric":
        return np.array([[1.0] * 4, [2.0] * 4])
    if isinstance(loss, str) and loss != "balanced":
        return np.full((2, 4), 0.25 if loss == "hamming" else 1.0)
    if not isinstance(loss, str):
        return np.array([loss, loss]) / 4
    out = np.zeros((2, 4))
    for value, k in product(range(2), range(4)):
        out[value, k] = weights.sum() / (2 * 4 * weights[Y[:, k] == value].sum())
    return out


@pytest.mark.parametrize("class_weight", [None, "balanced", "dicts"])
@pytest.mark.parametrize("loss", LOSSES)
def test_optimum_with_every_loss_and_class_weight(rng, loss, class_weight):
    X, Y = make(rng)
    weights = rng.choice([1.0, 2.0, 3.0], len(X))
    factor, parameter = np.ones(len(X)), class_weight
    if class_weight == "dicts":
        parameter = [{0: 1.0, 1: 3.0}, {1: 0.5}, {0: 2.0, 1: 2.0}, {0: 0.0, 1: 1.0}]
        for k in range(4):
            factor *= [parameter[k].get(value, 1.0) for value in Y[:, k]]
    elif class_weight == "balanced":
        copies = np.repeat(np.arange(len(X)), weights.astype(int))
        by_copy = compute_sample_weight("balanced", Y[copies])
        factor = by_copy[np.searchsorted(copies, np.arange(len(X)))]
    model = MultilabelSSVM(loss=LOSSES[loss], class_weight=parameter, lam=0.05)
    compare(model, X, Y, weights, cost=costs(LOSSES[loss], Y, weights), factor=factor)


@pytest.mark.parametrize("bounds", ["submodular", "array"])
@pytest.mark.parametrize("inference", ["auto", "cut"])
def test_optimum_within_bounds(rng, bounds, inference):
    X, Y = make(rng)
    Y[:, 1] &= 1 - Y[:, 3]  # repel
    size = 4 * 3 + 4 + 6
    box = np.full((2, size), [[-np.inf], [np.inf]])
    box[0, -6:] = 0
    if bounds == "array":
        box[1, :5], box[1, -3:] = 0.1, 0.2
    model = MultilabelSSVM(
        bounds="submodular" if bounds == "submodular" else box, inference=inference, lam=0.05
    )
    compare(model, X, Y, box=box)
    assert (model.edge_coef_ >= 0).all()
    assert (model.edge_coef_ == 0).any()
    assert model.inference_.startswith("enumeration" if inference == "auto" else "graph cut")
    sets, scores = scores_of_sets(model, X)
    np.testing.assert_array_equal(model.predict(X), sets[scores.argmax(axis=1)])
    expected = max_marginals(sets, scores)
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("edges", ["tree", [[0, 1], [2, 3]]], ids=["tree", "given"])
def test_every_exact_decoder_finds_the_same_optimum(rng, edges):
    X, Y = make(rng)
    model = MultilabelSSVM(edges=edges, lam=0.05, tol=1e-9, max_iter=50_000, random_state=0)
    models = [clone(model).set_params(inference=name).fit(X, Y) for name in ("tree", "enumeration")]
    np.testing.assert_allclose(models[0].w_, models[1].w_, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))


def test_tree_matches_chow_liu(rng):
    n, K = 300, 6
    Y = np.zeros((n, K), dtype=int)
    Y[:, 3] = rng.random(n) < 0.5
    for k, parent in ((0, 3), (5, 3), (1, 5), (2, 5), (4, 0)):
        Y[:, k] = np.where(rng.random(n) < 0.15, 1 - Y[:, parent], Y[:, parent])
    weights = rng.integers(1, 4, n).astype(float)
    found, parents = interactions("tree", sparse.csr_matrix(Y.astype(float)), weights)
    assert parents is None
    assert found.tolist() == [[0, 3], [0, 4], [1, 5], [2, 5], [3, 5]]
    information = mutual_information(sparse.csr_matrix(Y.astype(float)), weights)
    for u, v in ((0, 3), (1, 2)):
        expected = 0
        for a, b in product(range(2), repeat=2):
            p = np.average((Y[:, u] == a) & (Y[:, v] == b), weights=weights)
            q = np.average(Y[:, u] == a, weights=weights)
            q *= np.average(Y[:, v] == b, weights=weights)
            expected += p * np.log(p / q)
        assert information[u, v] == pytest.approx(expected)
    # Without mutual information there is still a tree, of the lowest labels.
    found, _ = interactions("tree", sparse.csr_matrix(np.ones((4, 4))), np.ones(4))
    assert found.tolist() == [[0, 1], [0, 2], [0, 3]]


@pytest.mark.parametrize("K, named", [(2, "full"), (20, "full"), (21, "tree"), (30, "tree")])
def test_automatic_edges_are_all_pairs_of_few_labels(K, named, rng):
    X = rng.standard_normal((40, 3))
    Y = (rng.random((40, K)) < 0.4).astype(int)
    once = {"max_iter": 1, "tol": 1.0, "random_state": 0}
    model = MultilabelSSVM(**once).fit(X, Y)
    same = MultilabelSSVM(edges=named, **once).fit(X, Y)
    np.testing.assert_array_equal(model.edges_, same.edges_)
    np.testing.assert_array_equal(model.w_, same.w_)
    assert len(model.edges_) == (K * (K - 1) // 2 if named == "full" else K - 1)


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("loss", ["hamming", "hamming-count", "balanced", "asymmetric", "costs"])
def test_one_label_a_sample(rng, loss, K):
    X = rng.standard_normal((40, 3))
    y = rng.integers(0, K, 40)
    y[:K] = np.arange(K)
    loss = np.arange(1.0, K + 1) if loss == "costs" else loss
    names = np.array(["ant", "bee", "cow", "dog"])[y]
    model = MultilabelSSVM(loss=loss, lam=0.05, tol=1e-9, max_iter=20_000, random_state=0)
    model.fit(X, names)
    onehot = np.eye(K)[y]
    cost = np.full((2, K), 1 / K if isinstance(loss, str) and loss == "hamming" else 1.0)
    if not isinstance(loss, str):
        cost = np.array([loss, loss]) / K
    elif loss == "asymmetric":
        cost[1] = 2
    elif loss == "balanced":
        on = onehot.sum(axis=0)
        cost = len(y) / (2 * K * np.array([len(y) - on, on]))
    table = [[label_sets.loss(np.eye(K, dtype=int)[a], np.eye(K, dtype=int)[b], cost)
              for b in range(K)] for a in range(K)]  # fmt: skip
    same = MulticlassSSVM(loss=table, lam=0.05, tol=1e-9, max_iter=20_000, random_state=0)
    same.fit(X, names)
    np.testing.assert_allclose(model.w_, same.w_, rtol=0, atol=1e-6)
    assert model.edges_.shape == (0, 2)
    assert model.edge_coef_.shape == (0,)
    np.testing.assert_array_equal(model.predict(X), same.predict(X))
    np.testing.assert_allclose(model.decision_function(X), same.decision_function(X), atol=1e-5)
    assert model.score(X, names) == same.score(X, names)
    assert model.classes_.tolist() == ["ant", "bee", "cow", "dog"][:K]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert model.set_params(edges=None, pairwise="full").fit(X, names).edge_coef_.size == 0


def test_a_single_column(rng):
    X = rng.standard_normal((30, 2))
    Y = (X[:, :1] + 0.3 * rng.standard_normal((30, 1)) > 0).astype(int)
    model = MultilabelSSVM(lam=0.05)
    compare(model, X, Y)
    assert model.predict(X).shape == model.decision_function(X).shape == (30, 1)
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X) > 0)
    # A column of classes is one label per row, as in scikit-learn.
    with pytest.warns(DataConversionWarning):
        assert MultilabelSSVM(lam=0.1).fit(X, Y + 1).predict(X).shape == (30,)


def test_labels_that_are_never_or_always_on(rng):
    X, Y = make(rng)
    Y[:, 1], Y[:, 3] = 0, 1
    for edges, loss in product(("full", "tree"), ("hamming", "balanced")):
        model = MultilabelSSVM(edges=edges, loss=loss, lam=0.01, random_state=0).fit(X, Y)
        assert not model.predict(X)[:, 1].any()
        assert model.predict(X)[:, 3].all() or loss == "balanced"


def test_names_of_labels(rng):
    X, Y = make(rng)
    model = MultilabelSSVM(lam=0.1, classes=["b", "a", "d", "c"], random_state=0).fit(X, Y)
    assert model.classes_.tolist() == ["b", "a", "d", "c"]
    assert MultilabelSSVM(lam=0.1).fit(X, Y).classes_.tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="has 2 labels, but y has 4 columns"):
        MultilabelSSVM(classes=["b", "a"]).fit(X, Y)
    with pytest.raises(ValueError, match="no duplicates"):
        MultilabelSSVM(classes=[1, 1, 2, 3]).fit(X, Y)


def test_warm_start_with_other_data_or_model_raises(rng):
    X, Y = make(rng, n=60)
    model = MultilabelSSVM(lam=0.02, warm_start=True, random_state=0).fit(X, Y)
    for change in ({"edges": "tree"}, {"pairwise": "full"}):
        with pytest.raises(ValueError, match="warm_start continues from the last fit"):
            clone(model).fit(X, Y).set_params(**change).fit(X, Y)
    with pytest.raises(ValueError, match="warm_start continues from the last fit"):
        model.fit(X, 1 - Y)


def test_it_is_a_classifier_of_scikit_learn(rng):
    X, Y = make_multilabel_classification(120, 8, n_classes=4, random_state=0)
    inner = MultilabelSSVM(lam=0.03, random_state=0)
    assert is_classifier(inner)
    # Chains of labels, or separate labels, with this estimator for single labels.
    for meta in (ClassifierChain(inner), OneVsRestClassifier(inner)):
        assert hamming_loss(Y, make_pipeline(StandardScaler(), meta).fit(X, Y).predict(X)) < 0.3
    names = MultiLabelBinarizer().fit([("a", "b"), ("c",)])
    assert names.inverse_transform(inner.fit(X, Y).predict(X[:2])[:, :3])


@pytest.mark.parametrize(
    "change, message",
    [
        ({"y": [[0, 2, 0, 0]] * 24}, r"y\[0, 1\] is 2, expected 0 or 1"),
        ({"y": np.full((24, 4), np.nan)}, r"y\[0, 0\] is nan, expected 0 or 1"),
        ({"y": sparse.csr_matrix([[0, 0, 1, 0.5]] * 24)}, r"y\[0, 3\] is 0.5, expected 0 or 1"),
        ({"y": [["a", "b", "c", "d"]] * 24}, r"y\[0, 0\] is 'a', expected 0 or 1"),
        ({"y": np.zeros((23, 4))}, r"inconsistent numbers of samples: \[24, 23\]"),
        ({"y": None}, "requires y to be passed"),
        ({"y": np.linspace(0, 1, 24)}, "Unknown label type: continuous"),
        ({"y": [1] * 24}, "y has one class"),
        ({"y": [[0], [0, 1]] * 12}, r"y\[1\] is \[0, 1\], a list of labels.*MultiLabelBinarizer"),
        ({"y": [(), ("a", "b")] * 12}, r"y\[1\] is \('a', 'b'\), a tuple of labels"),
        ({"y": [{"a"}, {"b"}] * 12}, r"y\[0\] is {'a'}, a set of labels; expected an \(n, K\)"),
        ({"y": pd.Series([["a"], []] * 12, index=range(24, 48))}, r"y\[0\] is \['a'\], a list of"),
        ({"y": [["a", "b"], ["b", "c"]] * 12}, r"y\[0, 0\] is 'a'.*MultiLabelBinarizer\(\)"),
        ({"y": np.arange(24) % 3, "edges": PARENTS}, "a hierarchy requires sets of labels"),
        ({"edges": "all"}, "edges must be"),
        ({"y": [[-1, 1, 1, -1]] * 24}, "all entries of y are -1 or 1.*, use y > 0"),
        ({"y": [[0, 1, 1, -1]] * 24}, r"y\[0, 3\] is -1, expected 0 or 1.*Use LatentSSVM"),
        ({"edges": [[0, 4]]}, "out of range for 4 labels"),
        ({"edges": [[1, 1]]}, "self-loop"),
        ({"edges": [[0, 1], [1, 0]]}, r"joins the same labels as edges\[0\]; keep one"),
        ({"edges": [[0, 1, 2]]}, r"found shape \(1, 3\)"),
        ({"edges": [-1, 0]}, "2 parents, expected 4"),
        ({"edges": [1, 2, 0, -1]}, r"cycle: \[0, 1, 2\] are not connected"),
        ({"edges": [-1, 9, 0, 0]}, r"parents\[1\] is 9, expected"),
        ({"edges": [-1, 2**63 - 1, 0, 0]}, r"parents\[1\] is 9223372036854775807"),
        ({"edges": [-1, 0, 1, 2], "y": [[1, 1, 1, 1]] * 20 + [[1, 0, 1, 0]] * 4},
         r"y\[20\] has label 2 without its parent 1"),
        ({"edges": PARENTS, "inference": "enumeration"}, "does not support a hierarchy"),
        ({"inference": "tree"}, "requires interactions without a cycle, found 6 edges"),
        ({"inference": "independent"}, "requires labels without interactions"),
        ({"inference": "cut"}, 'requires pairwise="and" and bounds="submodular"'),
        ({"inference": "cut", "pairwise": "full"}, 'requires pairwise="and" and bounds='),
        ({"inference": "magic"}, "inference must be one of"),
        ({"pairwise": "or"}, "pairwise must be one of"),
        ({"bounds": "submodular", "pairwise": "full"}, "is not supported with pairwise="),
        ({"bounds": "convex"}, "bounds must be one of"),
        ({"bounds": np.zeros((2, 3))}, r"expected \(2, 22\)"),
        ({"loss": np.ones((4, 4))}, r"loss has shape \(4, 4\), expected \(4,\)"),
        ({"loss": [-1.0, 1, 1, 1]}, "finite costs of at least 0, found"),
        ({"loss": "jaccard"}, "loss must be one of .*'asymmetric'.*'jaccard'"),
        ({"class_weight": {0: 1.0, 1: 2.0}}, "must be a list of 4 dicts"),
        ({"class_weight": [{0: 1.0}] * 3}, "class_weight has 3 dicts, expected 4"),
        ({"class_weight": [{0: 0.0, 1: 0.0}] * 4}, "gives every sample weight 0"),
        ({"class_weight": "heavy"}, "class_weight must be a dict"),
        ({"sample_weight": [-1.0] * 24}, r"sample_weight\[0\] is -1"),
        ({"lam": 0}, "lam must be finite and above 0"),
    ],
)  # fmt: skip
def test_invalid_input_leaves_estimator_unchanged(rng, change, message):
    X, Y = make(rng)
    data = {"X": X, "y": Y, "sample_weight": None}
    data.update({name: value for name, value in change.items() if name in data})
    model = MultilabelSSVM(**{name: v for name, v in change.items() if name not in data})
    before = dict(vars(model))
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(**data)
    assert vars(model) == before


def test_an_empty_list_of_edges_means_no_edges(rng):
    X, Y = make(rng)
    expected = MultilabelSSVM(edges=None, lam=0.1, random_state=0).fit(X, Y)
    for edges in ([], np.empty((0, 2), dtype=int)):
        model = MultilabelSSVM(edges=edges, lam=0.1, random_state=0).fit(X, Y)
        assert model.inference_ == expected.inference_
        np.testing.assert_array_equal(model.w_, expected.w_)
        np.testing.assert_array_equal(model.predict(X), expected.predict(X))


def half_integral(X, Y, edges, pairwise, bias=True):
    """Return the hinge terms of the relaxed objective: all half-integral labelings."""
    n, K = Y.shape
    codes = list(half_codes(K, edges))
    truths = [codes.index((*(2 * row), *[0] * ((len(edges) + 31) // 32))) for row in Y]
    halves = np.array([y[:K] for y in codes]) / 2
    of_edges = np.array([
        [v for m in masses_of(y, edges, K) for v in (m.flat if pairwise == "full" else m[1, 1:])]
        for y in codes
    ])  # fmt: skip
    out = []
    for i in range(n):
        parts = [np.einsum("mk,f->mkf", halves, X[i]).reshape(len(codes), -1)]
        parts += [halves] if bias else []
        loss = abs(halves - Y[i]).sum(axis=1)
        phi = np.concatenate([*parts, of_edges], axis=1)
        out.append(brute_force.Block(i, codes, phi, loss, truths[i], 1 / n))
    return out


def repelling(seed):
    """Make rows with one or two of three labels, which repel each other, so that halves occur."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((16, 2))
    Y = np.eye(3, dtype=int)[rng.permutation(np.arange(16) % 3)]
    Y[::2] = 1 - Y[::2]
    return X, Y


@pytest.mark.parametrize("pairwise", ["and", "full"])
def test_optimum_of_the_relaxation(pairwise):
    # Fixed data, since the optimum for other data may not contain halves.
    X, Y = repelling(0)
    model = MultilabelSSVM(inference="relaxed", pairwise=pairwise, lam=0.001, tol=1e-9,
                           max_iter=100_000, random_state=0, warm_start=True)  # fmt: skip
    model.fit(X, Y)
    assert model.status_ == "CONVERGED"
    assert model.inference_ == "roof duality (LP relaxation)"
    terms = half_integral(X, Y, model.edges_, pairwise)
    assert model.objective_ == pytest.approx(brute_force.primal(model.w_, 0.001, terms))
    best, _ = dual_qp.optimum(terms, 0.001)
    assert model.objective_ == pytest.approx(best, rel=1e-6)
    alphas = brute_force.read_working_sets(model._warm_state, terms)
    assert any(1 in y[:3] for block in alphas for y, alpha in block.items() if alpha > 1e-6)
    exact = clone(model).set_params(inference="enumeration", warm_start=False).fit(X, Y)
    assert exact.objective_ < model.objective_ * (1 - 1e-6)
    # Predictions are sets, the best ones.
    sets, scores = scores_of_sets(model, X)
    np.testing.assert_array_equal(model.predict(X), sets[scores.argmax(axis=1)])
    expected = max_marginals(sets, scores)
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="warm_start continues from the last fit"):
        model.set_params(inference="enumeration").fit(X, Y)


def test_too_many_labels_for_the_decoders(rng):
    X, Y = rng.standard_normal((30, 2)), rng.integers(0, 2, (30, 24))
    relaxed = MultilabelSSVM(edges="full", lam=1.0, random_state=0).fit(X, Y)
    assert relaxed.inference_ == "roof duality (LP relaxation)"
    assert set(np.unique(relaxed.predict(X))) <= {0, 1}
    with pytest.raises(ValueError, match="requires at most 20 labels, found 24"):
        MultilabelSSVM(inference="enumeration").fit(X, Y)
    cut = MultilabelSSVM(edges="full", bounds="submodular", lam=1.0, random_state=0).fit(X, Y)
    assert cut.inference_ == "graph cut (exact)"
    without = [
        MultilabelSSVM(edges=None, bounds=b, lam=1.0, random_state=0) for b in ("submodular", None)
    ]
    np.testing.assert_array_equal(*[each.fit(X, Y).w_ for each in without])
    tree = MultilabelSSVM(edges="tree", lam=1.0, random_state=0).fit(X, Y)
    assert tree.edges_.shape == (23, 2)


def test_wrong_number_of_columns_in_score(rng):
    X, Y = make(rng)
    model = MultilabelSSVM(lam=0.1).fit(X, Y)
    with pytest.raises(ValueError, match="y has 3 columns, expected 4 labels"):
        model.score(X, Y[:, :3])
    with pytest.raises(ValueError, match="has 2 features"):
        model.predict(X[:, :2])


@pytest.mark.parametrize(("n_labels", "warns"), [(4, False), (100, True)])
def test_class_weights_of_many_rare_labels_warn(rng, n_labels, warns):
    # One or two of the labels are in each sample; the absence of each has weight 50 / 98.
    X = rng.standard_normal((50, 3))
    Y = (np.arange(n_labels) % 50 == np.arange(50)[:, None]).astype(int)
    model = MultilabelSSVM(class_weight="balanced", edges=None, lam=0.1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, Y)
    found = any("class_weight gives samples a mean" in str(w.message) for w in caught)
    assert found == warns
