"""Test decoders of label sets with constraints against enumeration and HiGHS."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import milp

from sstruct._estimators.label_set.interactions import label_decoder
from sstruct._oracles.label_set._set_constraints import SetConstraints
from sstruct._oracles.label_set._set_decoder import nearest_sets
from sstruct._testing._oracle_access import best_set
from tests.reference import label_sets

METHODS = ("enumeration", "exact")


@given(seed=st.integers(0, 2**32), K=st.integers(1, 9))
def test_nearest_sets(new_rng, seed, K):
    rng = new_rng(seed)
    rows = label_sets.random_constraints(rng, K, int(rng.integers(0, 7)))
    sets = np.array(label_sets.label_sets(K, constraints=rows))
    assume(len(sets))
    decoder = label_decoder("exact", K, None, None, constraints=rows)
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
