"""Test optima, predictions and hidden labels of MultilabelSSVM with constraints."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from sstruct import LatentSSVM, MultilabelSSVM
from sstruct._estimators.label_set.partial_sets import satisfying_sets
from sstruct._input.label_constraints import constraint_rows
from sstruct.calibration import CalibratedSSVM, TunedThresholdSSVM
from sstruct.constraints import at_least, at_most, exactly_one, excludes, implies, ordinal
from sstruct.solvers import MPBCFW
from tests.estimators.label_set.test_multilabel import max_marginals
from tests.reference import dual_qp, label_sets
from tests.solvers.test_slack import slack_terms

CONSTRAINTS = [exactly_one([0, 1, 2]), implies(3, 0), excludes(4, 1)]


def make(rng, n=30, K=5, constraints=CONSTRAINTS):
    """Return noisy rows, whose sets satisfy the constraints."""
    X = rng.standard_normal((n, 3))
    scores = X @ rng.standard_normal((3, K)) + rng.standard_normal((n, K))
    sets = np.array(label_sets.label_sets(K, constraints=rows_of(constraints, K)))
    return X, sets[(scores @ (2 * sets.T - 1)).argmax(axis=1)]


def rows_of(constraints, K):
    return constraint_rows(constraints, np.arange(K))


@pytest.mark.parametrize("pairwise", ["and", "full"])
@pytest.mark.parametrize("edges", ["full", "tree", None])
@pytest.mark.parametrize("inference", ["enumeration", "exact"])
def test_optimum_and_predictions(rng, inference, edges, pairwise):
    X, Y = make(rng)
    model = MultilabelSSVM(
        edges=edges, pairwise=pairwise, inference=inference, constraints=CONSTRAINTS, lam=0.05,
        tol=1e-9, max_iter=50_000, random_state=0,
    )  # fmt: skip
    model.fit(X, Y)
    rows = rows_of(CONSTRAINTS, 5)
    terms = label_sets.blocks(X, Y, model.edges_, pairwise, constraints=rows)
    _, w = dual_qp.check_optimum(model, terms)
    np.testing.assert_allclose(model.w_, w, atol=1e-3)
    sets = np.array(label_sets.label_sets(5, constraints=rows))
    new = rng.standard_normal((40, 3))
    phi = [[label_sets.joint_feature(x, y, model.edges_, pairwise) for y in sets] for x in new]
    scores = np.array(phi) @ model.w_
    np.testing.assert_array_equal(model.predict(new), sets[scores.argmax(axis=1)])
    np.testing.assert_allclose(model.decision_function(new), max_marginals(sets, scores))
    for known in ([-1, -1, -1, 1, -1], [0, -1, -1, -1, 1], [-1, 1, -1, -1, -1]):
        agree = ((np.array(known) < 0) | (sets == known)).all(axis=1)
        best = np.where(agree, scores, -np.inf).argmax(axis=1)
        np.testing.assert_array_equal(model.predict(new, [known] * 40), sets[best])


@pytest.mark.parametrize("loss", ["hamming-count", "asymmetric"])
def test_slack_rescaling(rng, loss):
    X, Y = make(rng, n=20)
    model = MultilabelSSVM(
        constraints=CONSTRAINTS, loss=loss, lam=0.1, rescaling="slack", random_state=0,
        tol=1e-8, max_iter=100_000, solver=MPBCFW(average=False),
    ).fit(X, Y)  # fmt: skip
    cost = np.array([[1.0] * 5, [1.0 if loss == "hamming-count" else 2.0] * 5])
    terms = label_sets.blocks(X, Y, model.edges_, cost=cost, constraints=rows_of(CONSTRAINTS, 5))
    dual_qp.check_optimum(model, slack_terms(terms))
    assert model.inference_ == "enumeration (exact)"


def many_labels(rng):
    """Return rows with 40 labels, and constraints of all kinds."""
    constraints = [
        *(exactly_one(range(k, k + 5)) for k in range(0, 20, 5)),
        at_most(3, range(20, 30)), at_least(1, range(30, 35)), *ordinal(range(35, 40)),
        implies(20, 0), excludes(21, 5),
    ]  # fmt: skip
    X = rng.standard_normal((300, 6))
    scores = X @ rng.standard_normal((6, 40)) + 0.5 * rng.standard_normal((300, 40))
    return X, satisfying_sets(rows_of(constraints, 40), scores > 0), constraints


@pytest.mark.parametrize("edges", [None, "tree"])
def test_many_labels(rng, edges):
    X, Y, constraints = many_labels(rng)
    rows = rows_of(constraints, 40)
    model = MultilabelSSVM(constraints=constraints, edges=edges, random_state=0)
    model.fit(X[:150], Y[:150])
    assert model.converged_
    assert model.inference_ == "branch and bound (bounded)"
    for scale in (0, 1, 100):
        assert all(label_sets.satisfies(y, rows) for y in model.predict(scale * X))
    free = clone(model).set_params(constraints=None).fit(X[:150], Y[:150])
    assert model.score(X[150:], Y[150:]) > free.score(X[150:], Y[150:])
    decisions = model.decision_function(X)
    np.testing.assert_array_equal(decisions > 0, model.predict(X))


def test_names_of_labels(rng):
    X, Y = make(rng)
    names = ["day", "dusk", "night", "sun", "moon"]
    constraints = [exactly_one(names[:3]), implies("sun", "day"), excludes("moon", "dusk")]
    frame = pd.DataFrame(Y, columns=names)
    model = MultilabelSSVM(constraints=constraints, random_state=0).fit(X, frame)
    expected = MultilabelSSVM(constraints=CONSTRAINTS, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.w_, expected.w_)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))


def test_hidden_labels_are_completed_to_valid_sets(rng):
    X, Y, constraints = many_labels(rng)
    rows = rows_of(constraints, 40)
    hidden = np.where(rng.random(Y.shape) < 0.3, -1, Y)
    hidden[5] = -1  # a row without known labels
    model = LatentSSVM(MultilabelSSVM(constraints=constraints, edges=None, random_state=0))
    model.fit(X, hidden)
    assert all(label_sets.satisfies(y, rows) for y in model.predict(X))
    impossible = hidden.copy()
    impossible[7, :2] = 1  # the constraint allows exactly one
    with pytest.raises(ValueError, match=r"no set .* agrees with the known labels of y\[7\]"):
        model.fit(X, impossible)


def test_tuned_thresholds_and_probabilities(rng):
    X, Y = make(rng, n=120)
    rows = rows_of(CONSTRAINTS, 5)
    tuned = TunedThresholdSSVM(MultilabelSSVM(constraints=CONSTRAINTS, random_state=0)).fit(X, Y)
    assert all(label_sets.satisfies(y, rows) for y in tuned.predict(3 * X))
    model = CalibratedSSVM(tuned.estimator_.set_params(random_state=0), cv=3).fit(X, Y)
    assert model.exact_
    np.testing.assert_allclose(model.predict_proba(X)[:, :3].sum(axis=1), 1)
    draws = model.sample(X[:20], 5, random_state=0)
    assert all(label_sets.satisfies(y, rows) for row in draws for y in row)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"constraints": [implies(0, 9)]}, r"constraints\[0\], implies\(0, 9\), has label 9"),
        ({"constraints": [excludes(0, 1), ordinal([0, 1])]}, r"constraints\[1\] must be made by"),
        ({"constraints": implies(0, 1)}, "constraints must be None or a list"),
        ({"constraints": "implies"}, "constraints must be None or a list"),
        ({"edges": [-1, 0, 0, 2, 2]}, "not supported together with a hierarchy"),
        ({"inference": "tree"}, "'tree' does not support constraints"),
        ({"solver": "gdmm"}, "constraints is not supported by solver='gdmm'"),
    ],
)
def test_invalid_parameters(rng, change, message):
    X, Y = make(rng)
    model = MultilabelSSVM(constraints=CONSTRAINTS).set_params(**change)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, Y)


def test_invalid_data(rng):
    X, Y = make(rng)
    model = MultilabelSSVM(constraints=CONSTRAINTS, random_state=0).fit(X, Y)
    wrong = Y.copy()
    wrong[4, :2] = 1
    message = r"y\[4\] violates constraints\[0\], exactly_one\(\[0, 1, 2\]\).* 1 of 30 do not"
    with pytest.raises(ValueError, match=message):
        model.fit(X, wrong)
    with pytest.raises(ValueError, match=r"agrees with y_partial\[1\] and the constraints"):
        model.predict(X[:2], [[-1] * 5, [1, 1, -1, -1, -1]])
    with pytest.raises(ValueError, match="constraints require sets of labels"):
        model.fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="no set of labels satisfies the constraints"):
        model.set_params(constraints=[at_least(1, [0]), at_most(0, [0])]).fit(X, Y)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: implies(0, 0), "labels of implies must differ, found 0 twice"),
        (lambda: exactly_one([]), "must contain at least one label, found none"),
        (lambda: exactly_one("abc"), "must be a sequence of labels"),
        (lambda: excludes([0], [1]), "not hashable and cannot be a label"),
        (lambda: ordinal([0, None]), "a label of ordinal is None"),
        (lambda: at_most(-1, [0]), "n of at_most must be"),
        (lambda: at_least(3, [0, 1]), "n of at_least must be"),
    ],
)
def test_invalid_constraints(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()
