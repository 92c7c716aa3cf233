"""ChainSSVM.predict_top_k against enumeration with the fitted weights."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from sstruct import ChainSSVM, Sequences
from tests.reference import brute_force

MASK = np.array([[True, True, False], [True, False, True], [True, True, True]])
NAMES = np.array(["x", "y", "z"])


def check(model, reference, X, labels, scores, k):
    assert labels.shape == scores.shape == (len(X),)
    best = model.predict(X)
    for i, x in enumerate(X):
        allowed = np.array(brute_force.labelings(len(x), reference))
        expected = np.array(
            [brute_force.joint_feature(x, y, reference) @ model.w_ for y in allowed]
        )
        order = np.argsort(-expected)[:k]
        assert (np.diff(np.sort(expected)) > 1e-9).all()  # otherwise the order would be undefined
        assert labels[i].tolist() == NAMES[allowed[order]].tolist()
        np.testing.assert_allclose(scores[i], expected[order], rtol=1e-10, atol=1e-12)
        assert labels[i][0].tolist() == best[i].tolist()


@pytest.mark.parametrize("masked", [False, True], ids=["free", "masked"])
@pytest.mark.parametrize("switches", list(product([True, False], repeat=3)), ids=str)
def test_equals_enumeration(rng, tiny_chains, switches, masked):
    X, y = tiny_chains
    bias, boundaries, transitions = switches
    reference = brute_force.Model(3, *switches, MASK if masked else None)
    if masked:
        y = [np.resize([0, 1, 2], len(labels)) for labels in y]
        y = [np.where(np.arange(len(t)) % 3 == 2, 0, t % 2) for t in y]
    model = ChainSSVM(
        lam=0.01, fit_intercept=bias, boundaries=boundaries, transitions=transitions, classes=NAMES,
        transition_mask=MASK if masked else None, random_state=0,
    ).fit(X, [NAMES[labels] for labels in y])  # fmt: skip
    # Fitted weights sum to 0 over the labels, which would cause ties.
    for part in model._model_of_fit().tables().values():
        part[...] = rng.standard_normal(part.shape)
    for k in (1, 2, 5, 100):
        check(model, reference, X, *model.predict_top_k(X, k), k)


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
