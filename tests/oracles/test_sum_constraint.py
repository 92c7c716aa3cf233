"""Test labels with a given sum against enumeration and a simple dynamic program."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct._oracles.mrf._sum_constraint import SumConstraint
from sstruct._testing._oracle_access import labels_of_sum


def random_costs(rng, n, n_labels, kind):
    costs = rng.integers(-2, 3, (n, n_labels)).astype(float)
    if kind == "integer":
        return costs
    costs = rng.normal(size=(n, n_labels))
    if kind == "forbidding":
        costs[rng.random(costs.shape) < 0.3] = np.inf
    return costs


def value(costs, labels):
    return float(costs[np.arange(len(costs)), labels].sum())


@settings(max_examples=300)
@given(
    n=st.integers(1, 6),
    n_labels=st.integers(1, 4),
    kind=st.sampled_from(["real", "integer", "forbidding"]),
    seed=st.integers(0, 10**6),
)
def test_enumeration(n, n_labels, kind, seed, new_rng):
    costs = random_costs(new_rng(seed), n, n_labels, kind)
    solver = SumConstraint(n, n_labels)
    least = np.full(n * (n_labels - 1) + 1, np.inf)
    for labels in product(range(n_labels), repeat=n):
        least[sum(labels)] = min(least[sum(labels)], value(costs, labels))
    for total, expected in enumerate(least):
        labels = labels_of_sum(solver, costs, total)
        assert labels.sum() == total
        assert ((labels >= 0) & (labels < n_labels)).all()
        assert value(costs, labels) == pytest.approx(expected, abs=1e-12)


def least_cost(costs, total):
    """Return the least cost by dynamic programming over positions."""
    n_labels = costs.shape[1]
    least = np.full(total + 1, np.inf)
    least[0] = 0
    for row in costs:
        next_ = np.full(total + 1, np.inf)
        for label in range(min(n_labels, total + 1)):
            np.minimum(next_[label:], least[: total + 1 - label] + row[label], out=next_[label:])
        least = next_
    return least[total]


def test_long_rays(new_rng):
    for seed, (n, n_labels) in enumerate([(37, 3), (64, 8), (100, 2), (61, 70)]):
        rng = new_rng(seed)
        costs = random_costs(rng, n, n_labels, "real")
        solver = SumConstraint(100, 70)
        for total in rng.integers(0, n * (n_labels - 1) + 1, 3):
            labels = labels_of_sum(solver, costs, total)
            assert labels.sum() == total
            assert value(costs, labels) == pytest.approx(least_cost(costs, total), rel=1e-12)


def test_invalid_sizes():
    solver = SumConstraint(3, 2)
    with pytest.raises(ValueError, match="total is 4, expected 0 to 3"):
        labels_of_sum(solver, np.zeros((3, 2)), 4)
    with pytest.raises(ValueError, match="4 positions with 2 labels, more than"):
        labels_of_sum(solver, np.zeros((4, 2)), 1)
    with pytest.raises(ValueError, match="at least 1, found 0"):
        SumConstraint(0, 2)
