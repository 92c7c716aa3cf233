"""Test predictions, max-marginals and rankings of ChainSSVM against enumeration."""

import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import NotFittedError

from sstruct import ChainSSVM, Sequences
from tests.reference import brute_force


@settings(max_examples=200)
@given(data=st.data())
def test_predictions_equal_enumeration(new_rng, data):
    K, G = data.draw(st.integers(1, 4)), data.draw(st.integers(0, 3))
    switches = data.draw(st.tuples(st.booleans(), st.booleans(), st.booleans()))
    lengths = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    masked = data.draw(st.booleans())
    rng = new_rng(data.draw(st.integers(0, 1000)))
    mask = rng.random((K, K)) < 0.7
    mask[np.arange(K), (np.arange(K) + 1) % K] = True
    reference = brute_force.Model(K, *switches, mask if masked else None)
    rows = [rng.standard_normal((n, 2)) for n in lengths]
    edges = [rng.standard_normal((n - 1, G)) for n in lengths]
    if data.draw(st.booleans()):
        edges = [f * (f > 0) for f in edges]
        X = list(zip(rows, map(sparse.csr_array, edges))) if G else rows
    else:
        X = list(zip(rows, edges)) if G else rows
    names = ("fit_intercept", "boundaries", "transitions")
    model = ChainSSVM(
        random_state=0, max_iter=1, classes=np.arange(K), transition_mask=reference.edge_mask,
        **dict(zip(names, switches, strict=True)),
    )  # fmt: skip
    training = [(np.ones((1, 2)), np.zeros((0, G))) if G else np.ones((1, 2))] * K
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it ends early
        model.fit(training, [[k] for k in range(K)])
    for part in model._model_of_fit().tables().values():
        part[...] = rng.standard_normal(part.shape)
    known = [np.where(rng.random(n) < 0.3, rng.integers(0, K, n), -1) for n in lengths]
    k = data.draw(st.sampled_from([1, 4, 1000]))
    marginals, (best, scores) = model.decision_function(X), model.predict_top_k(X, k)
    predicted = model.predict(X)
    for i, (x, f) in enumerate(zip(rows, edges, strict=True)):
        allowed = np.array(brute_force.labelings(len(x), reference))
        values = np.array(
            [
                brute_force.joint_feature(x, z, reference, edge_features=f if G else None)
                @ model.w_
                for z in allowed
            ]
        )
        order = np.argsort(-values)[:k]
        np.testing.assert_allclose(scores[i], values[order], rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(best[i], allowed[order])
        np.testing.assert_array_equal(predicted[i], allowed[order[0]])
        for node, label in product(range(len(x)), range(K)):
            through = values[allowed[:, node] == label].max(initial=-np.inf)
            assert marginals[i][node, label] == pytest.approx(through, rel=1e-10, abs=1e-12)
        fitting = ((allowed == known[i]) | (known[i] < 0)).all(axis=1)
        if fitting.any():
            around = model.predict([X[i]], y_partial=[np.where(known[i] < 0, None, known[i])])[0]
            found = (allowed == around).all(axis=1)
            assert values[found][0] == pytest.approx(values[fitting].max(), rel=1e-10, abs=1e-12)
            assert fitting[found][0]


def test_input_formats(tiny_chains):
    X, y = tiny_chains
    model = ChainSSVM(random_state=0).fit(X, y)
    labels, scores = model.predict_top_k(X, 4)
    for other in (
        Sequences.from_list(X),
        [sparse.csr_matrix(x) for x in X],
        np.array([*X, None], dtype=object)[:-1],
    ):
        again, same = model.predict_top_k(other, 4)
        for i in range(len(X)):
            assert labels[i].tolist() == again[i].tolist()
            np.testing.assert_allclose(same[i], scores[i], rtol=1e-12)
    stacked = np.stack([x for x in X if len(x) == 3])
    labels, scores = model.predict_top_k(stacked, 4)
    assert labels.shape == scores.shape == (len(stacked),)
    assert {rows.shape for rows in labels} == {(4, 3)}
    np.testing.assert_array_equal(np.stack([rows[0] for rows in labels]), model.predict(stacked))
    rows = np.concatenate(X)
    model.fit(rows, np.concatenate(y))
    labels, scores = model.predict_top_k(rows, 5)
    assert {row.shape for row in labels} == {row.shape for row in scores} == {(3,)}
    np.testing.assert_array_equal([row[0] for row in labels], model.predict(rows))


def test_labels_of_any_type():
    y = [[("a", 1), "b"], ["b"]]
    model = ChainSSVM(random_state=0).fit([[[2.0], [-1.0]], [[-2.0]]], y)
    labels, _ = model.predict_top_k([[[3.0], [0.0]]], k=2)
    assert labels[0][0].tolist() == [("a", 1), "b"]


def test_invalid_input(tiny_chains):
    X, y = tiny_chains
    with pytest.raises(NotFittedError):
        ChainSSVM().predict_top_k(X, 1)
    model = ChainSSVM(random_state=0).fit(X, y)
    for k, error in ((0, ValueError), (-2, ValueError), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(error, match="k must be"):
            model.predict_top_k(X, k)
    with pytest.raises(ValueError, match=r"X\[1\] has 2 features, expected 3"):
        model.predict_top_k([X[0], X[1][:, :2]], 2)


def test_masks_limit_the_number_of_labelings(tiny_chains):
    X, y = tiny_chains
    mask = np.array([[True, False, False], [False, True, False], [False, False, False]])
    y = [np.full(len(labels), i % 2) for i, labels in enumerate(y)]
    model = ChainSSVM(transition_mask=mask, classes=[0, 1, 2], random_state=0).fit(X, y)
    labels, _ = model.predict_top_k(X[:4], 10**30)
    assert [len(rows) for rows in labels] == [3, 2, 2, 2]
