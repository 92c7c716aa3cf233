"""Test the factorwise oracle of bigram factors against enumeration."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct._solvers.gdmm._pairs import BoundedPairs
from sstruct._testing import _solver_access as access

SIGNS = [(-1,), (0,), (1,), (-1, 0), (-1, 1), (0, 1), (-1, 0, 1)]


def messages(rng, K, signs, ties):
    """Return messages of the given signs to some labels; the others have none."""
    values = np.abs(rng.standard_normal(K)) + 0.01
    if ties:
        values = np.ceil(values)
    values *= rng.choice(signs, K)
    return {k: values[k] for k in range(K) if values[k] or rng.random() < 0.3}


def dense(entries, K):
    out = np.zeros(K)
    out[list(entries)] = list(entries.values())
    return out


@settings(max_examples=200)
@given(
    K=st.integers(1, 9) | st.sampled_from([31, 32, 33, 64, 70]),
    padding=st.integers(0, 3),
    masked=st.booleans(),
    ties=st.booleans(),
    n_turns=st.integers(1, 25),
    n_changes=st.integers(0, 60),
    share_active=st.sampled_from([0.0, 0.1, 0.3, 1.0]),
    bound=st.just(-np.inf) | st.floats(-3, 3),
    exhaustive=st.booleans(),
    key=st.integers(0, 2**32 - 1),
)
def test_every_sign_pattern_equals_enumeration(
    new_rng, K, padding, masked, ties, n_turns, n_changes, share_active, bound, exhaustive, key
):
    """Change scores in both directions between searches, which makes bounds of blocks outdated."""
    rng = new_rng(key)
    penalty = np.zeros((K, K + padding))
    if masked:
        penalty[:, :K] = np.where(rng.random((K, K)) < 0.6, 0, -np.inf)
    expected = penalty[:, :K].copy()
    pairs = BoundedPairs(K, K + padding, penalty if masked else None, exhaustive)
    choices = np.argwhere(expected == 0)
    # Most changes are in few rows and columns, so their scores decrease again.
    changed = choices[rng.permutation(len(choices))[: 2 * K]]
    for _ in range(n_turns):
        for _ in range(n_changes if len(choices) else 0):
            j, k = rng.choice(changed)
            difference = float(rng.integers(-3, 4)) if ties else rng.normal(-0.2)
            access.change_pair(pairs, j, k, difference)
            expected[j, k] += difference
        np.testing.assert_array_equal(pairs.scores(), expected)
        left, right = (messages(rng, K, SIGNS[rng.integers(7)], ties) for _ in range(2))
        active = [*map(tuple, choices[rng.random(len(choices)) < share_active].tolist())]
        value = expected + dense(left, K)[:, None] + dense(right, K)
        for pair in active:
            value[pair] = -np.inf
        for _ in range(2):  # searches do not depend on earlier ones
            pair, best, _ = access.search_pairs(pairs, left, right, active, bound)
            if value.max() > bound + 1e-9:
                assert value[pair] == best
                assert best >= value.max() - 1e-12
            elif value.max() < bound - 1e-9:
                assert pair is None


def test_few_pairs_are_evaluated(rng):
    K = 300
    pairs = BoundedPairs(K, 304, None)
    for j, k in itertools.product(range(0, K, 3), repeat=2):
        access.change_pair(pairs, j, k, rng.standard_normal())
    total = 0
    for _ in range(20):
        left = dict(zip(rng.choice(K, 40, False).tolist(), rng.standard_normal(40)))
        right = dict(zip(rng.choice(K, 40, False).tolist(), rng.standard_normal(40)))
        pair, best, work = access.search_pairs(pairs, left, right, [])
        value = pairs.scores() + dense(left, K)[:, None] + dense(right, K)
        assert value[pair] == best == value.max()
        total += work
    assert total < 20 * K


def test_invalid_pairs():
    pairs = BoundedPairs(2, 4, np.array([[0.0, 0, 0, 0], [-np.inf, 0, 0, 0]]))
    with pytest.raises(ValueError, match="1, 0 is forbidden"):
        access.change_pair(pairs, 1, 0, 1.0)
    with pytest.raises(IndexError, match="2 labels"):
        access.change_pair(pairs, 0, 2, 1.0)
    with pytest.raises(ValueError, match="too many"):
        BoundedPairs(10**5, 10**5, None)
