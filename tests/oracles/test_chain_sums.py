"""Test log partition functions, marginals, spans and samples of chains against enumeration."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

from sstruct._testing._oracle_access import chain_sums
from sstruct.inference import max_marginals


def enumerated(node, edge, scale):
    """Return all labelings and their scaled scores."""
    L, K = node.shape
    tables = edge if edge.ndim == 3 else np.broadcast_to(edge, (max(L - 1, 0), K, K))
    codes = np.array(list(itertools.product(range(K), repeat=L)))
    scores = node[np.arange(L), codes].sum(axis=1)
    for l in range(1, L):
        scores = scores + tables[l - 1][codes[:, l - 1], codes[:, l]]
    return codes, scale * scores


def problem(seed):
    """Return a random chain and a scale; some have forbidden entries or scores of about 1e3."""
    rng = np.random.default_rng(seed)
    L, K = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    size = rng.choice([0.0, 1.0, 20.0, 1000.0])
    node = size * rng.standard_normal((L, K))
    edge = size * rng.standard_normal((L - 1, K, K) if seed % 2 else (K, K))
    if seed % 3 == 0:
        node[rng.random(node.shape) < 0.2] = -np.inf
        edge[rng.random(edge.shape) < 0.2] = -np.inf
    return node, edge, float(rng.choice([0.01, 0.3, 1.0, 2.0]))


@pytest.mark.parametrize("first", range(0, 300, 60))
def test_sums_equal_enumeration(first):
    for seed in range(first, first + 60):
        check_sums(*problem(seed))


def check_sums(node, edge, scale):
    (L, K), (codes, scores) = node.shape, enumerated(node, edge, scale)
    value, marginals, pairs = chain_sums(node, edge, scale)
    expected = logsumexp(scores)
    if expected == -np.inf:
        assert value == -np.inf
        assert marginals is None
        return
    assert value == pytest.approx(expected, rel=1e-12, abs=1e-10)
    p = np.exp(scores - expected)
    for l in range(L):
        want = np.bincount(codes[:, l], weights=p, minlength=K)
        np.testing.assert_allclose(marginals[l], want, rtol=0, atol=1e-10)
        if l > 0:
            want = np.bincount(codes[:, l - 1] * K + codes[:, l], weights=p, minlength=K * K)
            np.testing.assert_allclose(pairs[l - 1].ravel(), want, rtol=0, atol=1e-10)


def test_labels_that_only_forced_transitions_reach_are_not_lost():
    # A product of exponentials would underflow for the only labelings that are allowed.
    node = np.array([[0.0, -900.0], [0.0, 0.0], [-800.0, 0.0]])
    edge = np.array([[-np.inf, -np.inf], [-700.0, -600.0]])
    value, marginals, _ = chain_sums(node, edge)
    codes, scores = enumerated(node, edge, 1.0)
    assert value == pytest.approx(logsumexp(scores), rel=1e-14)
    p = np.exp(scores - logsumexp(scores))
    np.testing.assert_allclose(marginals[2, 1], p[codes[:, 2] == 1].sum(), rtol=1e-12)


@pytest.mark.parametrize("L", [3, 4, 5])
@pytest.mark.parametrize("many", [False, True])
def test_only_the_backward_sweep_may_underflow(L, many):
    # Label 1 cannot be left, so its probability is not small given the past, but tiny given the
    # future.
    node = np.zeros((L, 2))
    node[:, 1] = -150
    edge = np.array([[0.5, 0.2], [-np.inf, 0.3]])
    edge = np.broadcast_to(edge, (L - 1, 2, 2)) if many else edge
    value, marginals, pairs = chain_sums(node, edge)
    codes, scores = enumerated(node, edge, 1.0)
    assert value == pytest.approx(logsumexp(scores), rel=1e-14)
    p = np.exp(scores - logsumexp(scores))
    for l in range(L):
        want = np.bincount(codes[:, l], weights=p, minlength=2)
        np.testing.assert_allclose(marginals[l], want, rtol=1e-10)
        if l > 0:
            want = np.bincount(codes[:, l - 1] * 2 + codes[:, l], weights=p, minlength=4)
            np.testing.assert_allclose(pairs[l - 1].ravel(), want, rtol=1e-10)


@pytest.mark.parametrize("K", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 26, 33, 64, 100])
def test_the_gradient_of_the_log_partition_is_the_marginals(K):
    rng = np.random.default_rng(K)
    node, edge, step = rng.standard_normal((4, K)), rng.standard_normal((K, K)), 1e-5
    _, marginals, pairs = chain_sums(node, edge)
    np.testing.assert_allclose(pairs.sum(axis=2), marginals[:-1], rtol=0, atol=1e-13)
    np.testing.assert_allclose(pairs.sum(axis=1), marginals[1:], rtol=0, atol=1e-13)
    j, k = rng.integers(0, K, 2)
    for array, at, expected in (
        (node, (2, k), marginals[2, k]),
        (edge, (j, k), pairs[:, j, k].sum()),
    ):
        change = np.zeros(array.shape)
        change[at] = step
        high, low = (
            chain_sums(*(a + sign * change if a is array else a for a in (node, edge)))[0]
            for sign in (1, -1)
        )
        assert (high - low) / (2 * step) == pytest.approx(expected, abs=1e-8)


def test_a_million_nodes():
    rng = np.random.default_rng(0)
    L, K = 1_000_000, 2
    node, edge = rng.standard_normal((L, K)), rng.standard_normal((K, K))
    value, marginals, _ = chain_sums(node, edge)
    # The log partition function of the last 2,001 nodes, by the backward recursion.
    rest, total = np.zeros(K), 0.0
    for l in range(L - 1, L - 2001, -1):
        rest = logsumexp(edge + node[l] + rest, axis=1)
        total, rest = total + rest[0], rest - rest[0]
    short, partly, _ = chain_sums(node[-2001:], edge)
    assert short == pytest.approx(total + logsumexp(node[-2001] + rest), rel=1e-12)
    np.testing.assert_allclose(partly[1000:], marginals[-1001:], rtol=0, atol=1e-12)
    np.testing.assert_allclose(marginals.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert np.isfinite(value)


def test_low_temperatures_yield_the_best_labeling():
    rng = np.random.default_rng(1)
    node, edge = rng.standard_normal((30, 4)), rng.standard_normal((4, 4))
    value, marginals, _ = chain_sums(node, edge, 1e5)
    best = max_marginals(node, edge)
    assert value / 1e5 == pytest.approx(best.max(), rel=1e-12)
    np.testing.assert_allclose(marginals, best == best.max(axis=1, keepdims=True), atol=1e-12)
