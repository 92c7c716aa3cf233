"""Test graph matching against enumeration and the linear program with assignment marginals."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sstruct.inference import graph_matching, map_mrf
from sstruct.inference._applications.matching_model import matching_model


def random_problem(rng, n_left, n_right, density=0.5):
    unary = rng.normal(size=(n_left, n_right))
    unary[rng.random(unary.shape) < 0.2] = np.inf
    pairwise = rng.normal(size=(unary.size, unary.size))
    pairwise[rng.random(pairwise.shape) >= density] = 0
    return unary, pairwise


def cost(unary, pairwise, matching):
    """Return the cost of a matching by definition; inf if a right node is used twice."""
    taken = [a for a in matching if a >= 0]
    if len(set(taken)) < len(taken):
        return np.inf
    at = [i * unary.shape[1] + a for i, a in enumerate(matching) if a >= 0]
    total = sum(unary[i, a] for i, a in enumerate(matching) if a >= 0)
    return total + sum(pairwise[p, q] for p in at for q in at if p != q)


def minimum(unary, pairwise):
    n_left, n_right = unary.shape
    return min(cost(unary, pairwise, y) for y in product(range(-1, n_right), repeat=n_left))


@settings(max_examples=60)
@given(
    n_left=st.integers(1, 4),
    n_right=st.integers(1, 4),
    density=st.sampled_from([0.0, 0.2, 1.0]),
    seed=st.integers(0, 10**6),
)
def test_matchings_and_bounds(n_left, n_right, density, seed, new_rng):
    unary, pairwise = random_problem(new_rng(seed), n_left, n_right, density)
    least = minimum(unary, pairwise)
    result = graph_matching(unary, pairwise, max_iter=300)
    assert result.energy == pytest.approx(cost(unary, pairwise, result.labels), abs=1e-12)
    assert result.energy >= least - 1e-12
    assert result.lower_bound <= least + 1e-9
    assert result.gap == result.energy - result.lower_bound
    if density == 0:  # a linear assignment
        assert result.energy == pytest.approx(least, abs=1e-12)
        assert result.gap <= 2e-6 * (1 + abs(least))


def relaxation(unary, pairwise):
    """Minimize over the local polytope with node marginals that are a fractional matching.

    All pairs of left nodes must have costs, since the tables of other pairs, which only forbid
    equal right nodes, would tighten this relaxation.
    """
    model = matching_model(unary, pairwise)
    mrf, n = model.mrf, len(model.mrf.node_costs)
    costs, rows = [mrf.node_costs], []
    at = n
    for e, (u, v) in enumerate(mrf.edges):
        table = mrf.edge_cost(e)
        entries = at + np.arange(table.size).reshape(table.shape)
        for node, marginal in ((u, entries), (v, entries.T)):
            rows += [(row, [mrf.node_start[node] + k]) for k, row in enumerate(marginal)]
        at += table.size
        costs.append(table.ravel())
    sums = [0.0] * len(rows)
    for v in range(mrf.n_nodes):
        rows.append((np.arange(mrf.node_start[v], mrf.node_start[v + 1]), []))
        sums.append(1.0)
    matrix = np.zeros((len(rows), at))
    for row, (plus, minus) in zip(matrix, rows, strict=True):
        row[plus], row[minus] = 1, -1
    right = np.concatenate(model.candidates)
    once = np.zeros((unary.shape[1], at))
    for a in range(unary.shape[1]):
        once[a, np.flatnonzero(right == a)] = 1
    costs = np.concatenate(costs)
    allowed = np.isfinite(costs)
    answer = linprog(
        costs[allowed],
        A_ub=once[:, allowed],
        b_ub=np.ones(len(once)),
        A_eq=matrix[:, allowed],
        b_eq=sums,
    )
    assert answer.status == 0
    return answer.fun


def test_bounds_converge_to_the_relaxation(new_rng):
    n_stronger = 0
    for seed in range(12):
        unary, pairwise = random_problem(new_rng(seed), 4, 4, 1.0)
        value = relaxation(unary, pairwise)
        result = graph_matching(unary, pairwise, tol=1e-8, max_iter=2000)
        assert result.lower_bound <= value + 1e-8
        if result.status == "PROVEN" and result.gap <= 1e-6:
            assert value <= result.energy + 1e-8
        assert min(value, result.energy) - result.lower_bound <= 1e-4 * (1 + abs(value))
        without = map_mrf(matching_model(unary, pairwise, exclusive=False).mrf, "fwmap").lower_bound
        n_stronger += result.lower_bound > without + 1e-3
    assert n_stronger >= 6


def test_invalid_input():
    with pytest.raises(ValueError, match=r"pairwise must have shape \(4, 4\)"):
        graph_matching(np.zeros((2, 2)), np.zeros((3, 3)))
    with pytest.raises(ValueError, match="tol must be at least 0"):
        graph_matching(np.zeros((2, 2)), np.zeros((4, 4)), tol=-1)
