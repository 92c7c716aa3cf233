"""Test input formats and predictions of ChainSSVM."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from sstruct._input.labels import object_array
from sstruct.chain import ChainSSVM
from sstruct.masks import bio_transitions
from sstruct.sequences import Sequences


def relabel(y, names):
    return [[names[label] for label in labels] for labels in y]


def same_lists(a, b):
    assert len(a) == len(b)
    for left, right in zip(a, b, strict=True):
        np.testing.assert_array_equal(left, right)


def fit(X, y, sample_weight=None, **parameters):
    parameters = {"lam": 0.1, "tol": 1e-8, "max_iter": 20_000, "random_state": 0, **parameters}
    return ChainSSVM(**parameters).fit(X, y, sample_weight)


INPUTS = {
    "list": lambda X: X,
    "tuple": tuple,
    "object array": object_array,
    "nested lists": lambda X: [x.tolist() for x in X],
    "csr": lambda X: [sparse.csr_matrix(x) for x in X],
    "csr_array": lambda X: [sparse.csr_array(x) for x in X],
    "csc": lambda X: [sparse.csc_matrix(x) for x in X],
    "fortran": lambda X: [np.asfortranarray(x) for x in X],
    "strided": lambda X: [np.repeat(x, 2, axis=0)[::2] for x in X],
    "read-only": lambda X: [np.frombuffer(x.tobytes()).reshape(x.shape) for x in X],
    "unsorted csr": lambda X: [unsorted(x) for x in X],
}


def unsorted(x):
    """Return a CSR matrix with reversed columns, whose entries are split into two duplicates."""
    rows, columns = x.shape
    return sparse.csr_matrix(
        (
            np.repeat(x[:, ::-1].ravel() / 2, 2),
            np.tile(np.repeat(np.arange(columns)[::-1], 2), rows),
            np.arange(rows + 1) * 2 * columns,
        ),
        shape=x.shape,
    )


@pytest.mark.parametrize("kind", INPUTS)
def test_input_kinds_agree(tiny_chains, kind):
    X, y = tiny_chains
    expected = fit(X, y)
    model = fit(INPUTS[kind](X), y)
    np.testing.assert_allclose(model.w_, expected.w_, rtol=0, atol=1e-6)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-7)
    prediction = model.predict(INPUTS[kind](X))
    assert prediction.dtype == object
    assert prediction.shape == (len(X),)
    # Labels may tie at an optimum, so scores are compared.
    scores = model.decision_function(INPUTS[kind](X))
    for found, own, other in zip(prediction, scores, expected.decision_function(X), strict=True):
        np.testing.assert_allclose(own, other, rtol=0, atol=1e-5)
        np.testing.assert_array_equal(found, own.argmax(axis=1))


@pytest.mark.parametrize(
    "labels", [tuple, object_array, lambda y: [v.tolist() for v in y], lambda y: [*map(tuple, y)]]
)
def test_label_containers_agree(tiny_chains, labels):
    X, y = tiny_chains
    np.testing.assert_array_equal(fit(X, labels(y)).w_, fit(X, y).w_)


def test_single_precision_and_integers_are_exact(rng):
    X = [rng.integers(-3, 4, (n, 3)) for n in (2, 3, 1, 4, 3, 2)]
    y = [rng.integers(0, 2, len(x)) for x in X]
    expected = fit([x.astype(float) for x in X], y).w_
    for dtype in (np.float16, np.int8, np.int64, np.longdouble):
        np.testing.assert_array_equal(fit([x.astype(dtype) for x in X], y).w_, expected)
    # Another kernel may round otherwise (fused multiply-add): the same optimum, not the same bits.
    for storage in (np.asarray, sparse.csr_matrix):
        same = fit([storage(x.astype(np.float32)) for x in X], y)
        np.testing.assert_allclose(same.w_, expected, rtol=0, atol=1e-6)


def test_three_dimensional_input(rng):
    X, y = rng.standard_normal((8, 3, 2)), rng.integers(0, 3, (8, 3))
    model, expected = fit(X, y), fit(list(X), list(y))
    np.testing.assert_array_equal(model.w_, expected.w_)
    assert model.predict(X).shape == (8, 3)
    assert model.decision_function(X).shape == (8, 3, 3)
    same_lists(model.predict(X), expected.predict(list(X)))
    np.testing.assert_array_equal(fit(X, y.tolist()).w_, expected.w_)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix, sparse.csc_array])
def test_two_dimensional_input_is_chains_of_one_node(rng, storage):
    X, y = rng.standard_normal((12, 3)), rng.integers(0, 3, 12)
    model, expected = fit(storage(X), y), fit([x[np.newaxis] for x in X], [[k] for k in y])
    np.testing.assert_allclose(model.w_, expected.w_, rtol=0, atol=1e-6)
    prediction = model.predict(storage(X))
    assert prediction.shape == (12,)
    # Labels may tie at an optimum, so scores are compared.
    scores = model.decision_function(storage(X))
    np.testing.assert_array_equal(prediction, model.classes_[scores.argmax(axis=1)])
    np.testing.assert_allclose(
        scores, np.vstack(list(expected.decision_function(list(X[:, None])))), rtol=0, atol=1e-5
    )
    assert model.decision_function(storage(X)).shape == (12, 3)
    assert model.score(storage(X), y) == np.mean(prediction == y)


LABELS = {
    "strings": ["b", "aa", "c"],
    "negative": [-5, 7, 0],
    "floats": [5.0, -1.0, 2.0],
    "tuples": [(1, 2), (3,), (1, 0)],
    "mixed": ["x", (), 3],
    "large": [2**80, 5, -(2**70)],
    "fractions": [Fraction(1, 3), Fraction(1, 2), Fraction(0)],
    "sets": [frozenset(), frozenset([1]), frozenset([2])],
}


@pytest.mark.parametrize("kind", LABELS)
def test_any_hashable_label(tiny_chains, kind):
    X, y = tiny_chains
    names = LABELS[kind]
    expected = fit(X, y, classes=[0, 1, 2])
    model = fit(X, relabel(y, names), classes=names)
    np.testing.assert_array_equal(model.w_, expected.w_)
    assert model.classes_.tolist() == names
    for found, codes in zip(model.predict(X), expected.predict(X), strict=True):
        assert found.tolist() == [names[code] for code in codes]
    assert model.score(X, relabel(y, names)) == expected.score(X, y)
    found = fit(X, relabel(y, names))
    assert set(found.classes_.tolist()) == set(names)
    if kind not in ("mixed", "sets"):
        assert found.classes_.tolist() == sorted(names)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-7)


def test_boolean_labels(rng):
    X = [rng.standard_normal((n, 2)) for n in (2, 3, 2, 4)]
    y = [x[:, 0] > 0 for x in X]
    model = fit(X, y)
    assert model.classes_.tolist() == [False, True]
    assert model.predict(X)[0].dtype == bool
    assert model.score(X, y) == model.score(X, [labels.tolist() for labels in y]) == 1.0


def test_classes_fix_order_and_number(tiny_chains):
    X, y = tiny_chains
    model = fit(X, y, classes=[9, 2, 1, 0])
    assert model.classes_.tolist() == [9, 2, 1, 0]
    assert model.coef_.shape == (4, 3)
    assert model.w_.shape == (4 * 3 + 3 * 4 + 16,)
    assert model.decision_function(X)[1].shape == (2, 4)


def test_a_single_class():
    X = [np.ones((2, 2)), np.ones((1, 2))]
    model = fit(X, [["a", "a"], ["a"]])
    assert (model.objective_, model.dual_gap_, model.status_) == (0.0, 0.0, "CONVERGED")
    assert model.n_iter_ >= 1
    assert [p.tolist() for p in model.predict(X)] == [["a", "a"], ["a"]]


@pytest.mark.parametrize("ignored", [-1, "?"])
def test_ignored_nodes_are_predicted_and_not_scored(tiny_chains, ignored):
    X, y = tiny_chains
    names = ["a", "b", "c"]
    y = relabel(y, names)
    y[3][1] = y[4][0] = y[5][2] = ignored
    model = fit(X, y, ignore_label=ignored)
    assert model.classes_.tolist() == names
    prediction = model.predict(X)
    assert [len(p) for p in prediction] == [len(x) for x in X]
    right = [p == t for ps, ts in zip(prediction, y) for p, t in zip(ps, ts) if t != ignored]
    assert model.score(X, y) == pytest.approx(np.mean(right))


def test_score_counts_nodes(tiny_chains):
    X, y = tiny_chains
    model = fit(X, y)
    right = [np.mean(p == t) for p, t in zip(model.predict(X), y, strict=True)]
    lengths = np.array([len(x) for x in X])
    assert model.score(X, y) == pytest.approx(np.average(right, weights=lengths))
    weights = np.arange(len(X))
    assert model.score(X, y, weights) == pytest.approx(np.average(right, weights=weights * lengths))
    unseen = [np.full(len(x), 77) for x in X]
    assert model.score(X, unseen) == 0.0
    with pytest.raises(ValueError, match=r"^y has labels like '[abc]', .* cannot be equal"):
        model.score(X, relabel(y, "abc"))


def test_numbers_and_equal_strings_are_not_two_classes(tiny_chains):
    X, y = tiny_chains
    y = [*y[:2], *([str(label) for label in item] for item in y[2:])]
    with pytest.raises(ValueError, match=r"^y contains 0 and '0', .* pass classes=\[0, "):
        fit(X, y)
    classes = [0, 1, 2, "0", "1", "2"]
    assert fit(X, y, classes=classes, tol=0.1).classes_.tolist() == classes


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("boundaries", [True, False])
@pytest.mark.parametrize("transitions", [True, False])
def test_attributes_are_parts_of_w(tiny_chains, bias, boundaries, transitions):
    model = fit(
        *tiny_chains, tol=0.1, fit_intercept=bias, boundaries=boundaries, transitions=transitions
    )
    parts = [model.coef_]
    for name, exists, shape in [
        ("intercept_", bias, (3,)),
        ("start_coef_", boundaries, (3,)),
        ("end_coef_", boundaries, (3,)),
        ("edge_coef_", transitions, (3, 3)),
    ]:
        value = getattr(model, name)
        assert value.shape == shape
        assert value.any() == exists
        parts += [value] if exists else []
    np.testing.assert_array_equal(np.concatenate([part.ravel() for part in parts]), model.w_)


def test_masks_as_array_and_callable_agree(rng):
    names = ["B-A", "B-B", "I-A", "I-B", "O"]
    y = [["B-A", "I-A", "O"], ["O", "B-B", "I-B", "B-A"], ["B-B", "B-A", "I-A"], ["O"]] * 2
    X = [rng.standard_normal((len(labels), 3)) for labels in y]
    mask = np.array([[bio_transitions(a, b) for b in names] for a in names])
    for given in (mask, bio_transitions):
        model = fit(X, y, transition_mask=given, lam=0.5)
        assert model.classes_.tolist() == names
        for labels in model.predict([rng.standard_normal((20, 3)) for _ in range(30)]):
            assert all(bio_transitions(a, b) for a, b in pairwise(labels))
            assert given is mask or labels[0] not in ("I-A", "I-B")
    scores = model.decision_function(X)[0]
    assert np.isneginf(scores[0, 2:4]).all()
    assert np.isfinite(scores[0, [0, 1, 4]]).all()


def test_input_is_not_changed(tiny_chains):
    X, y = tiny_chains
    X = [sparse.csr_matrix(unsorted(x)) for x in X]
    before = [(x.data.copy(), x.indices.copy(), x.indptr.copy()) for x in X]
    labels = [v.copy() for v in y]
    weights = np.arange(1.0, len(X) + 1)
    kept = weights.copy()
    fit(X, y, weights).score(X, y, weights)
    for x, old in zip(X, before, strict=True):
        for array, kept_array in zip((x.data, x.indices, x.indptr), old, strict=True):
            np.testing.assert_array_equal(array, kept_array)
    same_lists(y, labels)
    np.testing.assert_array_equal(weights, kept)


def test_labels_of_rows_keep_their_types():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    y = [1, "a", 1, "a"]
    model = ChainSSVM(lam=0.1).fit(X, y)
    assert model.classes_.tolist() == [1, "a"]
    assert model.predict(X).tolist()[:1] == [1]
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[4, 3\]"):
        ChainSSVM().fit(X, [(0, 1), (1, 0), (0, 1)])


def test_labels_of_rows_are_not_cut_into_longer_sequences():
    X, y = np.eye(4), Sequences.from_lengths([0, 1, 0, 1], [1, 3])
    with pytest.raises(ValueError, match=r"y\[1\] has 3 labels, but X is 2-D"):
        ChainSSVM().fit(X, y)
    ones = Sequences.from_lengths(y.flat, [1] * 4)
    assert ChainSSVM(lam=0.1).fit(X, ones).predict(X).shape == (4,)


def test_large_integers_of_different_types_are_distinct():
    X, labels = np.eye(3), 2**62 + np.arange(3)
    model = ChainSSVM(lam=0.1, classes=labels.astype(np.uint64), transitions=False).fit(X, labels)
    assert model.predict(X).tolist() == labels.tolist()
    assert model.score(X, labels) == 1
    assert model.score(X, labels.astype(np.float64)[::-1]) < 1
