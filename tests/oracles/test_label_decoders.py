"""Test decoders of label sets against enumeration."""

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from sstruct._estimators.label_set.interactions import label_decoder
from sstruct._oracles.label_set._cut import LabelCut
from sstruct._oracles.label_set._forest_decoder import LabelForest
from sstruct._oracles.label_set._gray_enumeration import GrayEnumeration
from sstruct._oracles.label_set._relaxation import LabelRelaxation
from sstruct._testing._half_enumeration import HalfEnumeration
from sstruct._testing._oracle_access import (
    best_between,
    best_product,
    best_set,
    set_marginals,
    set_score,
)
from tests.reference import label_sets

CONSTRAINED = ("enumeration, constraints", "exact, constraints")
KINDS = ("enumeration", "forest", "hierarchy", "cut", *CONSTRAINED)


def make(rng, kind, K, real):
    """Return a decoder, its edges, its allowed sets and random scores."""
    parents = rows = None
    if kind in CONSTRAINED:
        edges = label_sets.random_edges(rng, K, rng.choice([0, 0.3, 0.6]))
        rows = label_sets.random_constraints(rng, K, int(rng.integers(0, 7)))
        arguments = kind.split(",")[0], K, edges, None
        if not label_sets.label_sets(K, constraints=rows):
            with pytest.raises(ValueError, match="no set of labels satisfies the constraints"):
                label_decoder(*arguments, constraints=rows)
            reject()
        decoder = label_decoder(*arguments, constraints=rows)
    elif kind == "enumeration":
        decoder = GrayEnumeration(K, label_sets.random_edges(rng, K))
    elif kind == "cut":
        decoder = LabelCut(K, label_sets.random_edges(rng, K))
    elif kind == "forest":
        decoder = LabelForest(K, label_sets.random_forest(rng, K))
    else:
        parents = label_sets.random_parents(rng, K)
        decoder = LabelForest(K, parents=parents)
    edges = decoder.edge_list
    draw = rng.standard_normal if real else lambda size: rng.integers(-4, 5, size).astype(float)
    theta, pair = draw(K), draw(len(edges))
    pair = abs(pair) if kind == "cut" else pair
    return decoder, edges, label_sets.label_sets(K, parents, constraints=rows), theta, pair


def as_code(y):
    return 2 * np.array(y, dtype=np.int32)


def as_set(code):
    assert set(code.tolist()) <= {0, 2}
    return tuple((code // 2).tolist())


def is_close(value, expected):
    return value == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32), K=st.integers(1, 11), real=st.booleans())
def test_maxima_and_marginals_equal_enumeration(new_rng, kind, seed, K, real):
    decoder, edges, sets, theta, pair = make(new_rng(seed), kind, K, real)
    scores = label_sets.score(theta, edges, pair, sets)
    on = np.array(sets, dtype=bool)
    for one in (decoder, decoder.fork()):
        code, work, exact = best_set(one, theta, pair)
        found = scores[sets.index(as_set(code))]
        assert is_close(found, scores.max())
        assert is_close(set_score(one, theta, pair, code), found)
        assert work > 0
        assert exact
        marginals = set_marginals(one, theta, pair)
        for k in range(K):
            most, other = (scores[some].max(initial=-np.inf) for some in (on[:, k], ~on[:, k]))
            assert is_close(marginals[k], most - other)
        # Calls do not depend on the workspace of earlier ones.
        np.testing.assert_array_equal(best_set(one, theta, pair)[0], code)


@given(seed=st.integers(0, 2**32), K=st.integers(1, 7), real=st.booleans())
def test_relaxed_maxima_equal_enumeration_of_halves(new_rng, seed, K, real):
    rng = new_rng(seed)
    edges = label_sets.random_edges(rng, K)
    draw = rng.standard_normal if real else lambda size: rng.integers(-4, 5, size).astype(float)
    theta, pair = 0.5 * draw(K), draw(len(edges))  # many labels are 1/2
    relaxed, every = LabelRelaxation(K, edges), HalfEnumeration(K, edges)
    expected = set_score(every, theta, pair, best_set(every, theta, pair)[0])
    for one in (relaxed, relaxed.fork()):
        code, work, exact = best_set(one, theta, pair)
        assert is_close(set_score(one, theta, pair, code), expected)
        assert work > 0
        assert exact


@given(seed=st.integers(0, 2**32), K=st.integers(1, 9), real=st.booleans())
def test_completed_sets_equal_enumeration(new_rng, seed, K, real):
    # The few labels with value 1/2 are enumerated, so the result is exact.
    rng = new_rng(seed)
    edges = label_sets.random_edges(rng, K)
    draw = rng.standard_normal if real else lambda size: rng.integers(-4, 5, size).astype(float)
    theta, pair = 0.5 * draw(K), draw(len(edges))
    every, whole = GrayEnumeration(K, edges), LabelRelaxation(K, edges, whole=True)
    expected = set_score(every, theta, pair, best_set(every, theta, pair)[0])
    for one in (whole, whole.fork()):
        code, _, exact = best_set(one, theta, pair)
        assert exact
        as_set(code)
        assert is_close(set_score(one, theta, pair, code), expected)
        np.testing.assert_allclose(
            set_marginals(one, theta, pair), set_marginals(every, theta, pair), rtol=0, atol=1e-12
        )


def random_loss(rng, K, truth, uniform):
    loss = np.zeros((2, K))
    cost = rng.choice([1.0, 0.25]) if uniform else rng.integers(0, 4, K)
    loss[1 - np.array(truth), np.arange(K)] = cost
    return loss


@pytest.mark.parametrize("kind", ["enumeration", "forest", "hierarchy", CONSTRAINED[0]])
@given(seed=st.integers(0, 2**32), K=st.integers(1, 11), real=st.booleans())
def test_products_equal_enumeration(new_rng, kind, seed, K, real):
    rng = new_rng(seed)
    decoder, edges, sets, theta, pair = make(rng, kind, K, real)
    truth = sets[rng.integers(len(sets))]
    loss = random_loss(rng, K, truth, uniform="enumeration" not in kind)
    offset = 1 - label_sets.score(theta, edges, pair, truth)
    losses = np.where(sets, loss[1], loss[0]).sum(axis=1)
    margins = offset + label_sets.score(theta, edges, pair, sets)
    value = losses * margins
    for one in (decoder, decoder.fork()):
        code = best_product(one, theta, pair, as_code(truth), loss, offset)
        found = value[sets.index(as_set(code))]
        assert is_close(found, max(value.max(), 0))
        if found == 0:
            assert as_set(code) == truth
        # Calls reuse tables of earlier calls.
        again = best_product(one, theta, pair, as_code(truth), loss, offset)
        np.testing.assert_array_equal(again, code)


@pytest.mark.parametrize("kind", ["enumeration", CONSTRAINED[0]])
@given(
    seed=st.integers(0, 2**32), K=st.integers(1, 11), real=st.booleans(), above=st.booleans(),
    below=st.booleans(),
)  # fmt: skip
def test_constrained_maxima_equal_enumeration(new_rng, kind, seed, K, real, above, below):
    rng = new_rng(seed)
    decoder, edges, sets, theta, pair = make(rng, kind, K, real)
    truth = sets[rng.integers(len(sets))]
    loss = random_loss(rng, K, truth, uniform=bool(rng.integers(2)))
    offset = 1 - label_sets.score(theta, edges, pair, truth)
    losses = np.where(sets, loss[1], loss[0]).sum(axis=1)
    margins = offset + label_sets.score(theta, edges, pair, sets)
    weight = rng.choice([0.0, 0.5, 3.0])
    # Limits are slopes of sets, 0, 1 or infinity; with integer scores, sets lie on the limits.
    positive = margins > 0
    slopes = [0.0, *(losses[positive] / margins[positive])[:3], 1.0]
    lower, upper = sorted(rng.choice(slopes, 2))
    upper = np.inf if rng.integers(3) == 0 else upper
    if real:  # otherwise, rounding decides for sets on the limits
        lower, upper = lower * 0.999, upper * 1.001
    least, most = lower * margins, np.full(len(sets), np.inf)
    np.multiply(upper, margins, out=most, where=positive)
    inside = positive & (losses > least if above else losses >= least)
    inside &= losses < most if below else losses <= most
    code = best_between(
        decoder, theta, pair, as_code(truth), loss, offset, weight, lower, upper, above, below
    )
    assert (code is not None) == inside.any()
    if code is not None:
        at = sets.index(as_set(code))
        value = margins + weight * losses
        assert inside[at]
        assert is_close(value[at], value[inside].max())


def test_a_truth_never_has_a_loss(rng):
    # Rounding errors in sums of costs must not give the truth a loss above the limit 0.
    K = 12
    decoder = GrayEnumeration(K, label_sets.random_edges(rng, K))
    truth = rng.integers(0, 2, K)
    loss = np.zeros((2, K))
    loss[1 - truth, np.arange(K)] = rng.random(K)
    theta = 100.0 * (2 * truth - 1)
    pair = np.zeros(decoder.n_edges)
    offset = 1 - float(theta @ truth)
    true = as_code(truth)
    code = best_between(decoder, theta, pair, true, loss, offset, 0.0, 0.0, np.inf, above=True)
    assert code is None
    code = best_product(decoder, theta, pair, true, loss, offset)
    np.testing.assert_array_equal(code, true)


@pytest.mark.parametrize("K", [13, 15])
def test_enumeration_agrees_with_other_decoders_of_more_labels(rng, K):
    for _ in range(5):
        edges = label_sets.random_forest(rng, K)
        forest, every = LabelForest(K, edges), GrayEnumeration(K, edges)
        theta, pair = rng.standard_normal(K), rng.standard_normal(len(edges))
        np.testing.assert_array_equal(
            best_set(forest, theta, pair)[0], best_set(every, theta, pair)[0]
        )
        np.testing.assert_allclose(
            set_marginals(forest, theta, pair),
            set_marginals(every, theta, pair),
            rtol=0,
            atol=1e-12,
        )
        truth = rng.integers(0, 2, K)
        loss = np.zeros((2, K))
        loss[1 - truth, np.arange(K)] = 1 / K
        offset = 1 - set_score(every, theta, pair, as_code(truth))
        np.testing.assert_array_equal(
            best_product(forest, theta, pair, as_code(truth), loss, offset),
            best_product(every, theta, pair, as_code(truth), loss, offset),
        )
        cut = LabelCut(K, edges)
        np.testing.assert_array_equal(
            best_set(cut, theta, abs(pair))[0], best_set(every, theta, abs(pair))[0]
        )


OFF = np.zeros(2, dtype=np.int32)
ON_COSTS = np.array([[0.0, 0.0], [1.0, 1.0]])


def test_large_forests_and_hierarchies(rng):
    # For a path, a star and no edges, the product is largest if all labels are wrong.
    K = 300
    path = np.c_[np.arange(K - 1), np.arange(1, K)]
    star = np.c_[np.zeros(K - 1, dtype=int), np.arange(1, K)]
    for edges in (path, star, None):
        decoder = LabelForest(K, edges)
        theta, pair = np.full(K, 1.0), np.zeros(decoder.n_edges)
        loss = np.zeros((2, K))
        loss[1] = 1.0
        off = np.zeros(K, dtype=np.int32)
        assert best_product(decoder, theta, pair, off, loss, 1.0).tolist() == [2] * K
        np.testing.assert_array_equal(set_marginals(decoder, theta, pair), theta)
    chain = LabelForest(K, parents=np.arange(-1, K - 1))
    theta = np.full(K, -1.0)
    theta[K - 1] = K  # outweighs all its ancestors
    assert best_set(chain, theta, [])[0].tolist() == [2] * K
    assert set_marginals(chain, theta, [])[0] == 1


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: LabelForest(3, [[0, 1], [1, 2], [2, 0]]), "closes a cycle"),
        (lambda: LabelForest(3, [[0, 3]]), "out of range"),
        (lambda: LabelForest(3, [[1, 1]]), "self-loop"),
        (lambda: LabelForest(3, [[0, 1], [1, 0]]), "joins the same labels"),
        (lambda: LabelForest(3, parents=[1, 2, 0]), r"cycle: \[0, 1, 2\] are not connected"),
        (lambda: LabelForest(3, parents=[-1, 1, 0]), r"cycle: \[1\] are not connected"),
        (lambda: LabelForest(3, parents=[-1, 3, 0]), r"parents\[1\] is 3, expected -1 or a node"),
        (lambda: LabelForest(3, parents=[-1, -2, 0]), r"parents\[1\] is -2, expected -1 or a node"),
        (lambda: LabelForest(3, parents=[-1, 0]), r"parents has shape \(2,\)"),
        (lambda: LabelForest(2, [[0, 1]], [-1, 0]), "1 edges; expected"),
        (lambda: GrayEnumeration(21), "cannot enumerate 21 labels"),
        (lambda: GrayEnumeration(0), "0 labels"),
        (lambda: best_set(LabelCut(2, [[0, 1]]), [1.0, 1.0], [-1.0]), "repulsive"),
        (lambda: best_set(LabelCut(2, [[0, 1]]), [1.0], [1.0]), "scores have shapes"),
        (lambda: best_product(LabelCut(2, None), [1.0] * 2, [], OFF, ON_COSTS, 1.0),
         "direct maximum"),
        (lambda: best_between(LabelCut(2, None), [1.0] * 2, [], OFF, ON_COSTS, 1, 1, 0, 1),
         "not support the constrained"),
        (lambda: best_product(LabelForest(2), [1.0] * 2, [], OFF, 2 * ON_COSTS * [1, 2], 1.0),
         "direct maximum"),
        (lambda: best_product(LabelForest(2), [1.0] * 2, [], OFF, np.ones((2, 2)), 1.0),
         "0 for the true value"),
        (lambda: set_score(LabelForest(2), [1.0] * 2, [], np.array([2, 1], dtype=np.int32)),
         "label 1 has the code 1"),
        (lambda: set_score(LabelForest(2), [1.0] * 2, [], np.array([2], dtype=np.int32)),
         "code of 1 entries"),
        (lambda: set_score(LabelForest(2, parents=[-1, 0]), [1.0] * 2, [],
                                                          np.array([0, 2], dtype=np.int32)),
         "label 1 without its parent 0"),
    ],
)  # fmt: skip
def test_invalid_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_edges_are_sorted():
    decoder = GrayEnumeration(4, [[3, 1], [2, 0], [1, 0]])
    assert decoder.edge_list.tolist() == [[0, 1], [0, 2], [1, 3]]
