"""Decoders of label sets with constraints against enumeration and HiGHS."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import milp

from sstruct._estimators.label_set.interactions import label_decoder
from sstruct._oracles.label_set._set_constraints import SetConstraints
from sstruct._oracles.label_set._set_decoder import nearest_sets
from sstruct._testing._oracle_access import best_between, best_product, best_set, set_marginals
from tests.reference import label_sets

METHODS = ("enumeration", "exact")


def make(rng, method, K, share, real):
    """Return a decoder, the sets that satisfy its constraints, their scores, and the scores."""
    edges = label_sets.random_edges(rng, K, share)
    rows = label_sets.random_constraints(rng, K, int(rng.integers(0, 7)))
    sets = label_sets.label_sets(K, constraints=rows)
    if not sets:
        with pytest.raises(ValueError, match="no set of labels satisfies the constraints"):
            label_decoder(method, K, edges, None, constraints=rows)
    assume(sets)
    decoder = label_decoder(method, K, edges, None, constraints=rows)
    draw = rng.standard_normal if real else lambda size: rng.integers(-4, 5, size).astype(float)
    theta, pair = draw(K), draw(len(edges))
    scores = label_sets.score(theta, edges, pair, sets)
    return decoder, np.array(sets, dtype=bool), scores, (theta, pair)


def place(sets, code):
    """Return the index of the set of a code."""
    (index,) = np.flatnonzero((sets == (code == 2)).all(axis=1))
    return index


@pytest.mark.parametrize("method", METHODS)
@given(
    seed=st.integers(0, 2**32),
    K=st.integers(1, 11),
    share=st.sampled_from([0, 0.3, 0.6]),
    real=st.booleans(),
)
def test_maxima_and_marginals_equal_enumeration(new_rng, method, seed, K, share, real):
    decoder, sets, scores, given_scores = make(new_rng(seed), method, K, share, real)
    for one in (decoder, decoder.fork()):
        code, work, exact = best_set(one, *given_scores)
        assert scores[place(sets, code)] == pytest.approx(scores.max(), rel=1e-10, abs=1e-10)
        assert work > 0
        assert exact
        marginals = set_marginals(one, *given_scores)
        for k in range(K):
            most = [max(scores[sets[:, k] == on], default=-np.inf) for on in (True, False)]
            assert marginals[k] == pytest.approx(most[0] - most[1], rel=1e-10, abs=1e-10)
        np.testing.assert_array_equal(best_set(one, *given_scores)[0], code)


@given(seed=st.integers(0, 2**32), K=st.integers(1, 9))
def test_products_and_intervals_of_enumeration_satisfy_constraints(new_rng, seed, K):
    rng = new_rng(seed)
    decoder, sets, scores, given_scores = make(rng, "enumeration", K, 0.5, True)
    truth = sets[rng.integers(len(sets))]
    cost = rng.uniform(0.5, 2, (2, K))
    cost[truth.astype(int), np.arange(K)] = 0
    losses = np.where(sets, cost[1], cost[0]).sum(axis=1)
    code = best_product(decoder, *given_scores, 2 * truth.astype(np.int32), cost, 0.5)
    products = losses * (0.5 + scores)
    assert products[place(sets, code)] == pytest.approx(max(products.max(), 0), abs=1e-10)
    code = best_between(
        decoder, *given_scores, 2 * truth.astype(np.int32), cost, 0.5, 0.7, 0.2, 1.5
    )
    margins = 0.5 + scores
    inside = (margins > 0) & (losses >= 0.2 * margins) & (losses <= 1.5 * margins)
    if not inside.any():
        assert code is None
    else:
        values = margins + 0.7 * losses
        assert values[place(sets, code)] == pytest.approx(values[inside].max(), abs=1e-10)


@given(seed=st.integers(0, 2**32), K=st.integers(1, 9))
def test_nearest_sets(new_rng, seed, K):
    rng = new_rng(seed)
    decoder, sets, *_ = make(rng, "exact", K, 0, True)
    wanted = rng.integers(0, 2, (5, K))
    known = np.where(rng.random((5, K)) < 0.3, sets[rng.integers(len(sets), size=5)], -1)
    for target, fixed, found in zip(wanted, known, nearest_sets(decoder, wanted, known)):
        agreeing = sets[((fixed < 0) | (sets == fixed)).all(axis=1)]
        distance = ((agreeing != target) & (fixed < 0)).sum(axis=1).min()
        assert ((found != target) & (fixed < 0)).sum() == distance
        assert (found == agreeing).all(axis=1).any()


@pytest.mark.parametrize("n_edges", [0, 199])
def test_many_labels_equal_highs(rng, n_edges):
    K = 200
    for _ in range(3):
        # Only constraints that a random set satisfies, so that they are feasible.
        y = (rng.random(K) < 0.25).astype(int)
        rows = label_sets.random_constraints(rng, K, 400)
        rows = rows[[label_sets.satisfies(y, row[np.newaxis]) for row in rows]][:100]
        assert len(rows) == 100
        pairs = [np.sort(rng.choice(K, 2, replace=False)) for _ in range(n_edges)]
        edges = np.unique(np.reshape(pairs, (-1, 2)).astype(int), axis=0)
        decoder = label_decoder("exact", K, edges, None, constraints=rows)
        theta, pair = rng.standard_normal(K), rng.standard_normal(len(edges))
        code, _, exact = best_set(decoder, theta, pair)
        assert exact
        assert label_sets.satisfies(code // 2, rows)
        score = label_sets.score(theta, edges, pair, code // 2)
        assert score == pytest.approx(optimum_of_highs(theta, edges, pair, rows), abs=1e-6)


def optimum_of_highs(theta, edges, pair, rows):
    """Return the best score by HiGHS, with a variable for each product of two labels."""
    K, E = len(theta), len(edges)
    products = np.zeros((3 * E, K + E))
    for e, labels in enumerate(edges):
        products[3 * e : 3 * e + 3, K + e] = 1
        products[[3 * e, 3 * e + 1], labels] = -1
        products[3 * e + 2, labels] = -1
    matrix = np.vstack([np.pad(rows[:, 2:], ((0, 0), (0, E))), products])
    lower = np.concatenate([rows[:, 0], np.tile([-np.inf, -np.inf, -1], E)])
    upper = np.concatenate([rows[:, 1], np.tile([0, 0, np.inf], E)])
    result = milp(
        -np.concatenate([theta, pair]),
        integrality=np.ones(K + E),
        bounds=(0, 1),
        constraints=(matrix, lower, upper),
        options={"mip_rel_gap": 0},
    )
    return -result.fun


def test_a_search_that_reaches_its_limit_is_not_exact(rng):
    """Decode frustrated labels of a dense graph, which require too many nodes for a proof."""
    K = 60
    edges = label_sets.random_edges(rng, K)
    rows = np.zeros((1, K + 2), dtype=np.int32)
    rows[0, :2], rows[0, 2:] = [20, 25], 1
    decoder = label_decoder("exact", K, edges, None, constraints=rows)
    code, _, exact = best_set(decoder, rng.standard_normal(K), 3 * rng.standard_normal(len(edges)))
    assert not exact
    assert 20 <= (code == 2).sum() <= 25


@pytest.mark.parametrize(
    "matrix, lower, upper, message",
    [
        ([[2, 0]], [0], [1], "a matrix of -1, 0 and 1"),
        ([1, 0], [0], [1], "a matrix of -1, 0 and 1"),
        ([[1, 0]], [0, 0], [1], "one bound per constraint"),
        ([[1, 0]], [2], [1], "a lower bound of constraints is above"),
    ],
)
def test_invalid_constraints(matrix, lower, upper, message):
    with pytest.raises(ValueError, match=message):
        SetConstraints(matrix, lower, upper)


@pytest.mark.parametrize("method", METHODS)
def test_bounds_at_the_limits_of_int32(method):
    rows = np.array([[-(2**31), 2**31 - 1, 1, 1, -1]], dtype=np.int32)
    decoder = label_decoder(method, 3, np.array([[0, 1]]), None, constraints=rows)
    code, _, exact = best_set(decoder, np.array([1.0, 2.0, -1.0]), np.array([1.0]))
    assert code[:3].tolist() == [2, 2, 0]
    assert exact
    decoder.check_code(code)


def test_another_number_of_labels():
    rows = np.zeros((1, 5), dtype=np.int32)
    for method in METHODS:
        with pytest.raises(ValueError, match="constraints are for 3 labels, expected 4"):
            label_decoder(method, 4, None, None, constraints=rows)
