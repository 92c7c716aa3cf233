"""Test optima, predictions and warm starts of TypedGraphCRFSSVM with constraints."""

import pickle
import warnings
from itertools import chain, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sstruct import MultilabelSSVM, TypedGraphCRFSSVM, ssvm_path
from sstruct._estimators.graph import decoding
from sstruct.calibration import CalibratedSSVM
from sstruct.constraints import (
    LabelConstraint,
    at_least,
    at_most,
    exactly_one,
    excludes,
    implies,
    ordinal,
)
from sstruct.solvers import MPBCFW
from tests.estimators.state.test_states import from_skops
from tests.estimators.typed_graph.random_constraints import random_constraint, satisfying
from tests.estimators.typed_graph.test_typed_graph import LAM, PAIRS, SIZES, make, ones, tight
from tests.reference import brute_force, dual_qp, typed_constraints, typed_graphs

CONSTRAINTS = [
    at_most(1, [1, 2], nodes=0),
    implies(1, 0, nodes=(1, 0)),
    excludes(2, 1, edges=(0, 1)),
]


def samples(rng, n=20, constraints=CONSTRAINTS, **kwargs):
    """Return at least `n` samples that satisfy constraints, with random labels that all occur."""
    X, y = [], []
    while len(X) < n or any(
        len({*np.concatenate([own[t] for own in y])}) < K for t, (K, _) in enumerate(SIZES)
    ):
        graphs, labels = make(rng, 3, forests=False, **kwargs)
        labels = [
            [rng.integers(K, size=len(part)) for part, (K, _) in zip(parts, SIZES, strict=True)]
            for parts in labels
        ]
        graphs, labels = satisfying(constraints, graphs, labels)
        X, y = X + graphs, y + labels
    return X, y


def all_satisfy(constraints, X, y):
    """Whether the labels of all samples satisfy all constraints."""
    return all(
        typed_constraints.satisfies(each, graph, labels)
        for each in constraints
        for graph, labels in zip(X, y, strict=True)
    )


def terms_of(X, y, constraints=CONSTRAINTS):
    """Return the blocks of the objective, restricted to labelings that satisfy constraints."""
    terms = typed_graphs.blocks(X, y, SIZES, PAIRS, ones())
    return typed_constraints.restricted(terms, X, y, constraints, SIZES)


def labelings_and_scores(model, graph, constraints):
    """Return the labelings that satisfy the constraints, and their scores."""
    counts = [len(rows) for rows in graph[0]]
    allowed = [
        z
        for z in typed_graphs.labelings(counts, SIZES)
        if all(typed_constraints.satisfies(each, graph, z) for each in constraints)
    ]
    phi = [typed_graphs.joint_feature(graph, z, SIZES, PAIRS) for z in allowed]
    return allowed, np.array(phi) @ model.w_


def test_optimum_and_predictions(rng):
    X, y = samples(rng, 30)
    model = tight(constraints=CONSTRAINTS).fit(X, y)
    assert model.inference_ == "branch and bound (bounded)"
    dual_qp.check_optimum(model, terms_of(X, y))
    free = tight(tol=0.01).fit(*make(rng, 30, forests=False))
    new = make(rng, 60, forests=False)[0]
    assert not all_satisfy(CONSTRAINTS, new, free.predict(new))
    labels = model.predict(new)
    assert all_satisfy(CONSTRAINTS, new, labels)
    decisions = model.decision_function(new)
    for graph, found, marginals in zip(new, labels, decisions, strict=True):
        allowed, scores = labelings_and_scores(model, graph, CONSTRAINTS)
        z = tuple(tuple(own.tolist()) for own in found)
        assert scores[allowed.index(z)] == pytest.approx(scores.max(), abs=1e-9)
        for t, own in enumerate(marginals):
            for v, k in product(*map(range, own.shape)):
                scored = [score for z, score in zip(allowed, scores, strict=True) if z[t][v] == k]
                assert own[v, k] == pytest.approx(max(scored, default=-np.inf), abs=1e-9)
    with pytest.raises(AttributeError, match="predict_top_k"):
        model.predict_top_k(new, 2)


def test_predictions_given_known_labels(rng):
    X, y = samples(rng, 40)
    model = TypedGraphCRFSSVM(constraints=CONSTRAINTS, lam=LAM, random_state=0).fit(X, y)
    n_changed = 0
    for graph, truth, free in zip(X, y, model.predict(X), strict=True):
        known = [np.where(rng.random(len(part)) < 0.4, part, -1) for part in truth]
        (labels,) = model.predict([graph], [known])
        own = np.concatenate(known).tolist()
        allowed, scores = labelings_and_scores(model, graph, CONSTRAINTS)
        agree = [all(k in (-1, a) for a, k in zip(chain(*z), own, strict=True)) for z in allowed]
        z = tuple(tuple(part.tolist()) for part in labels)
        assert agree[allowed.index(z)]
        assert scores[allowed.index(z)] == pytest.approx(scores[agree].max(), abs=1e-9)
        n_changed += not all(map(np.array_equal, labels, free))
    assert n_changed > 5


def test_known_labels_that_violate_constraints(rng):
    X, y = samples(rng, 10)
    model = TypedGraphCRFSSVM(constraints=CONSTRAINTS, lam=LAM, random_state=0).fit(X, y)
    i = next(i for i, graph in enumerate(X) if len(graph[0][0]) > 1)
    known = [None] * len(X)
    known[i] = [np.ones(len(part), dtype=int) if t == 0 else None for t, part in enumerate(y[i])]
    message = rf"given the labels of y_partial, no labeling of X\[{i}\] satisfies the constraints"
    with pytest.raises(ValueError, match=message):
        model.predict(X, known)


@pytest.mark.parametrize("seed", range(12))
def test_random_constraints_have_the_optimum_of_the_qp(seed, new_rng):
    rng = new_rng(seed)
    X, y = [], []
    while len(X) < 5 or any(len({*np.concatenate([own[t] for own in y])}) < 2 for t in (0, 1)):
        constraints = [random_constraint(rng) for _ in range(rng.integers(1, 4))]
        X, y = satisfying(constraints, *make(rng, 12, forests=False))
    classes = [list(range(K)) for K, _ in SIZES]
    model = tight(constraints=constraints, classes=classes).fit(X, y)
    dual_qp.check_optimum(model, terms_of(X, y, constraints))
    assert all_satisfy(constraints, X, model.predict(X))


def test_unknown_labels_satisfy_constraints(rng):
    # No sample raises an error, since unknown labels may satisfy the constraints.
    constraints = [*CONSTRAINTS, at_least(1, [0], edges=(0, 1)), exactly_one([0, 2], nodes=0)]
    X, y = samples(rng, 25, constraints)
    hidden = [[np.where(rng.random(len(own)) < 0.35, -1, own) for own in labels] for labels in y]
    hidden[:10] = y[:10]
    model = tight(constraints=constraints).fit(X, hidden)
    terms = terms_of(X, hidden, constraints)
    dual_qp.check_optimum(model, terms)
    assert any(len(block.labelings) > 1 for block in terms[10:])
    assert all_satisfy(constraints, X, model.predict(X))


def test_constraints_of_neighbors_and_edges():
    # Chains of 4 nodes, which are neighbors of a node of type 1: exactly one of them has the label
    # "on", and the other labels do not decrease along the edges.
    rng = np.random.default_rng(0)
    constraints = [*ordinal(["a", "b", "c"], edges=(0, 0)), exactly_one(["on"], edges=(1, 0))]
    order, edges = np.array(["a", "b", "c", "on"]), [(0, 1), (1, 2), (2, 3)]
    X, y = [], []
    for _ in range(40):
        labels = np.sort(rng.integers(3, size=4))
        labels[rng.integers(4)] = 3
        features = [np.eye(4)[labels] + rng.normal(size=(4, 4)), np.ones((1, 1))]
        X.append((features, {(0, 0): edges, (0, 1): [(v, 0) for v in range(4)]}))
        y.append([order[labels], np.array(["hub"])])
    model = TypedGraphCRFSSVM(constraints=constraints, random_state=0).fit(X, y)
    for nodes, _ in model.predict(X):
        codes = [list(order).index(label) for label in nodes]
        assert codes.count(3) == 1
        assert all(a <= b or 3 in (a, b) for a, b in pairwise(codes))
    assert model.score(X, y) > clone(model).set_params(constraints=None).fit(X, y).score(X, y)


@settings(max_examples=50)
@given(
    K=st.integers(2, 4), n=st.integers(1, 6), least=st.integers(0, 3), most=st.integers(1, 3),
    n_wanted=st.integers(1, 4), scale=st.sampled_from([0.0, 1.0, 100.0]),
    seed=st.integers(0, 10**6),
)  # fmt: skip
def test_at_least_and_at_most(K, n, least, most, n_wanted, scale, seed, new_rng):
    rng = new_rng(seed)
    labels = list(range(min(n_wanted, K)))
    most = max(least, most)
    constraints = [at_least(least, labels, nodes=0), at_most(most, labels, nodes=0)]
    truth = np.append(np.zeros(max(least, 1), dtype=int), np.arange(len(labels), K))
    model = TypedGraphCRFSSVM(constraints=constraints, classes=[list(range(K))], random_state=0)
    model.fit([([np.ones((len(truth), 2))], {})], [[truth]])
    x = [([scale * rng.standard_normal((n, 2))], {})]
    if n < least or (len(labels) == K and n > most):
        with pytest.raises(ValueError, match=r"no labeling of X\[0\] satisfies the constraints"):
            model.predict(x)
        return
    ((found,),) = model.predict(x)
    assert least <= np.isin(found, labels).sum() <= most


def test_warm_starts_and_files(rng):
    X, y = samples(rng, 24)
    warm = tight(constraints=CONSTRAINTS, warm_start=True).fit(X[:15], y[:15])
    warm = from_skops(warm.set_params(lam=2 * LAM).fit(X, y))
    cold = tight(constraints=CONSTRAINTS, lam=2 * LAM).fit(X, y)
    np.testing.assert_allclose(warm.w_, cold.w_, atol=1e-3)
    assert warm.constraints == CONSTRAINTS
    with pytest.raises(ValueError, match="warm_start continues from the last fit"):
        warm.set_params(constraints=CONSTRAINTS[:2]).fit(X, y)
    # Predictions satisfy the constraints of the fit, even if the parameter has changed since.
    new = make(rng, 60, forests=False)[0]
    assert all_satisfy(CONSTRAINTS, new, warm.set_params(constraints=None).predict(new))


def test_path_early_stopping_and_partial_fit(rng):
    X, y = samples(rng, 30)
    model = TypedGraphCRFSSVM(constraints=CONSTRAINTS, random_state=0)
    path = ssvm_path(model, X, y, eps=0.1, lam_min=1e-2)
    terms = terms_of(X, y)
    for lam in (1.0, 0.1, 0.02):
        best, _ = dual_qp.optimum(terms, lam)
        assert brute_force.primal(path.w(lam), lam, terms) - best <= 0.1
        assert all_satisfy(CONSTRAINTS, X, path.estimator(lam).predict(X))
    stopped = clone(model).set_params(solver=MPBCFW(early_stopping=True)).fit(X, y)
    assert all_satisfy(CONSTRAINTS, X, stopped.predict(X))
    classes = [[0, 1, 2], [0, 1], [0]]
    learned = clone(model).set_params(solver="pa", classes=classes)
    for part in (slice(0, 15), slice(15, 30)):
        learned.partial_fit(X[part], y[part])
    assert all_satisfy(CONSTRAINTS, X, learned.predict(X))


@pytest.mark.parametrize("solver", ["bcfw", "fw", "ssg", "cutting-plane", "perceptron"])
def test_solvers(rng, solver):
    X, y = samples(rng)
    model = TypedGraphCRFSSVM(constraints=CONSTRAINTS, solver=solver, random_state=0, max_iter=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert all_satisfy(CONSTRAINTS, X, model.predict(X))
    if solver != "perceptron":
        dual_qp.check_bounds(model, terms_of(X, y))


@pytest.mark.parametrize("max_oracle_time", [0, 1e-6])
def test_time_limits_give_valid_certificates(rng, max_oracle_time):
    X, y = samples(rng, 30)
    model = TypedGraphCRFSSVM(
        constraints=CONSTRAINTS, max_oracle_time=max_oracle_time, lam=LAM, max_iter=30
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    dual_qp.check_bounds(model, terms_of(X, y))
    assert all_satisfy(CONSTRAINTS, X, model.predict(X))


def test_probabilities_are_approximate(rng):
    X, y = samples(rng, 60)
    model = CalibratedSSVM(TypedGraphCRFSSVM(constraints=CONSTRAINTS, random_state=0), cv=3)
    model.fit(X, y)
    assert not model.exact_
    for parts in model.predict_proba(X[:10]):
        for own in parts:
            np.testing.assert_allclose(own.sum(axis=1), 1)


def test_samples_without_nodes(rng):
    X, y = samples(rng)
    constraints = [*CONSTRAINTS, at_least(1, [0, 1], nodes=1)]
    X, y = satisfying(constraints, X, y)
    model = TypedGraphCRFSSVM(constraints=constraints, random_state=0).fit(X, y)
    nothing = [np.empty((0, F)) for _, F in SIZES]
    only_one_type = [np.empty((0, 2)), np.empty((0, 3)), np.ones((2, 1))]
    labels = model.predict([(nothing, {}), X[0], (only_one_type, {}), []])
    assert [[len(own) for own in parts] for parts in labels][::2] == [[0, 0, 0], [0, 0, 2]]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"constraints": implies(0, 1, nodes=0)}, "constraints must be None or a list"),
        ({"constraints": [implies(0, 1)]}, r"is for sets of labels; for graphs, pass nodes=t"),
        ({"constraints": [ordinal([0, 1], nodes=0)]}, r"constraints\[0\] must be made by"),
        ({"constraints": [at_most(1, [0], nodes=3)]}, "has type 3, but X has types 0 to 2"),
        ({"constraints": [at_most(1, [7], nodes=0)]}, "has label 7, expected labels of type 0"),
        ({"constraints": [implies(0, 2, nodes=(0, 1))]}, "label 2, expected labels of type 1"),
        ({"constraints": [at_most(1, [2], edges=(0, 1))]}, "label 2, expected labels of type 1"),
        (
            {"constraints": [excludes(0, 0, edges=(1, 1))]},
            r"is for edges \(1, 1\), but X has edges of the pairs \[\(0, 0\), \(0, 1\), \(2, 1\)\]",
        ),
        ({"inference": "fwmap"}, '"fwmap" does not support constraints'),
        ({"inference": "max-sum"}, '"max-sum" does not support constraints'),
        ({"inference": "expansion"}, '"expansion" does not support constraints'),
    ],
)
def test_invalid_parameters(rng, change, message):
    X, y = samples(rng)
    model = TypedGraphCRFSSVM(constraints=CONSTRAINTS).set_params(**change)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, y)


def test_graph_constraints_raise_for_label_sets(rng):
    with pytest.raises(ValueError, match=r"constraints\[0\], .* is for graphs; for sets"):
        MultilabelSSVM(constraints=[implies(0, 1, nodes=0)]).fit(np.eye(2), np.eye(2, dtype=int))


def test_error_for_samples_that_violate_constraints(rng):
    X, y = samples(rng)
    i = next(i for i, labels in enumerate(y) if i > 3 and len(labels[0]) == 2)
    wrong = [list(labels) for labels in y]
    wrong[i][0] = np.array([1, 2])
    model = TypedGraphCRFSSVM(constraints=CONSTRAINTS, random_state=0)
    message = (
        rf"y\[{i}\] violates constraints\[0\], at_most\(1, \[1, 2\], nodes=0\); training samples "
        rf"must satisfy all constraints, and 1 of {len(X)} do not"
    )
    with pytest.raises(ValueError, match=message):
        model.fit(X, wrong)
    assert not hasattr(model, "w_")
    # Samples of weight 0 and unknown labels cannot violate constraints.
    weights = np.arange(len(X)) != i
    model.fit(X, wrong, weights.astype(float))
    wrong[i][0] = np.array([1, -1])
    model.fit(X, wrong)


def test_error_for_samples_without_valid_labeling(rng):
    constraints = [exactly_one([0], nodes=1), at_most(0, [0, 1], edges=(0, 1))]
    X, y = samples(rng, constraints=constraints[:1])
    one = [(x, labels) for x, labels in zip(X, y, strict=True) if len(x[1][0, 1][0]) == 0]
    X, y = map(list, zip(*one, strict=True))
    model = TypedGraphCRFSSVM(
        constraints=constraints, classes=[[0, 1, 2], [0, 1], [0]], random_state=0
    ).fit(X, y)
    features = [np.ones((1, 2)), np.ones((1, 3)), np.ones((1, 1))]
    nothing = [np.empty((0, F)) for _, F in SIZES]
    impossible = features, {(0, 1): [(0, 0)]}
    for method in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match=r"no labeling of X\[2\] satisfies the constraints"):
            method([X[0], (nothing, {}), impossible])


def test_too_many_constraints(rng, monkeypatch):
    X, y = samples(rng)
    model = TypedGraphCRFSSVM(constraints=[at_most(900, [0], nodes=0)], random_state=0).fit(X, y)
    large = [np.ones((2000, 2)), np.ones((1, 3)), np.ones((1, 1))]
    with pytest.raises(ValueError, match=r"the constraints of X\[1\] require about \d+ table"):
        model.predict([X[0], (large, {})])
    monkeypatch.setattr(decoding, "LARGEST", 0)
    message = r"constraints require at most 0 table entries .*; use fewer constraints or smaller gr"
    with pytest.raises(ValueError, match=message):
        model.predict(X)


@pytest.mark.parametrize(
    "make_one, message",
    [
        (lambda: implies(0, 0, nodes=0), "labels of implies must differ"),
        (
            lambda: excludes(0, 0, nodes=(1, 1)),
            r"labels of excludes must differ, found 0 twice; at_most\(1, \[0\], nodes=",
        ),
        (lambda: at_most(1, [0, 0], edges=(0, 1)), "labels of at_most must differ"),
        (lambda: at_most(1, [0], nodes=(0, 1)), "nodes of at_most must be a type of nodes"),
        (lambda: at_most(1, [0], nodes=-1), "nodes of at_most must be"),
        (lambda: at_most(1, [0], nodes=True), "nodes of at_most must be"),
        (lambda: at_most(1, [0], nodes=2**31), "nodes of at_most must be"),
        (lambda: implies(0, 1, nodes=(0, 1, 2)), "or two such types"),
        (lambda: implies(0, 1, nodes="0"), "or two such types"),
        (lambda: implies(0, 1, edges=0), "edges of implies must be a pair of types"),
        (lambda: ordinal([0, 1], edges=(0, "1")), "edges of ordinal must be a pair of types"),
        (lambda: implies(0, 1, nodes=0, edges=(0, 1)), "takes nodes or edges, found both"),
        (lambda: at_least(2**31, [0], nodes=0), "n of at_least must be"),
    ],
)
def test_invalid_constraints(make_one, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make_one()


def test_attributes_of_graph_constraints():
    one = implies("a", "b", nodes=(0, 1))
    assert repr(one) == "implies('a', 'b', nodes=(0, 1))"
    assert repr(at_most(3, range(20, 23))) == "at_most(3, [20, 21, 22])"
    assert one == pickle.loads(pickle.dumps(one))
    assert one.is_of_graphs
    assert not implies("a", "b").is_of_graphs
    assert implies("a", "a", nodes=(0, 1)).nodes == (0, 1)
    assert ordinal(["a", "b"], nodes=2) == [implies("b", "a", nodes=2)]
    assert at_most(2**40, ["a"], nodes=0).most == 2**31 - 1
    assert isinstance(excludes("a", "a", edges=(0, 0)), LabelConstraint)
