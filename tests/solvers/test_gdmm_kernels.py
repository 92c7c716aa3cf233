"""Test the quadratic programs of the factors of GDMM."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstruct._testing import _solver_access as access


def projected(c, Q, C):
    """Return the solution and multiplier of the program by bisection for the multiplier."""
    u = np.zeros(len(c))
    u[0] = C
    low, high = (c - Q * C).min() - Q * C, (c + Q * u).max()
    for _ in range(200):
        b = (low + high) / 2
        if np.minimum(u, (b - c) / Q).sum() < 0:
            low = b
        else:
            high = b
    return np.minimum(u, (high - c) / Q), high


@given(
    st.lists(st.integers(-3, 3).map(float) | st.floats(-5, 5), min_size=1, max_size=12),
    st.floats(0.01, 50),
    st.floats(0.01, 20),
)
def test_the_program_of_a_factor(c, Q, C):
    c = np.array(c)
    a, b = access.simplex_minimum(c, Q, C)
    expected, multiplier = projected(c, Q, C)
    scale = np.abs(c).max() / Q + C
    np.testing.assert_allclose(a, expected, atol=1e-10 * scale)
    assert abs(a.sum()) <= 1e-12 * C
    assert (a[1:] <= 0).all()
    assert 0 <= a[0] <= C * (1 + 1e-12)
    # Optimality conditions: the gradient is b for entries below their upper bounds, and at most b
    # for the others.
    gradient = c + Q * a
    tolerance = 1e-10 * Q * scale
    assert abs(b - multiplier) <= tolerance
    below = a < np.r_[C, np.zeros(len(c) - 1)] - 1e-9 * C
    assert (np.abs(gradient[below] - b) <= tolerance).all()
    assert (gradient <= b + tolerance).all()


@given(st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=6))
def test_without_curvature_all_mass_moves_to_the_maximum(c):
    a, b = access.simplex_minimum(np.array(c), 0.0, 2.0)
    assert b == max(c)
    expected = np.zeros(len(c))
    if np.argmax(c) > 0:
        expected[[0, np.argmax(c)]] = 2, -2
    np.testing.assert_array_equal(a, expected)


def test_the_program_next_to_its_rounding():
    # Q C is smaller than the rounding error of c; the result is still on the simplex.
    a, _ = access.simplex_minimum(np.array([1e8, 1e8 + 1e-7, -1e8]), 1e-12, 1e-3)
    assert a[0] == -a[1:].sum()
    assert 0 <= a[0] <= 1e-3 * (1 + 1e-12)


@given(
    n=st.integers(1, 20),
    rho=st.floats(0.01, 30),
    C=st.floats(0.01, 20) | st.just(1e-17),  # smaller than the rounding errors of messages
    step=st.sampled_from([0.0, 1.0]),
    scale=st.sampled_from([0.0, 0.1, 1.0, 100.0]),
    key=st.integers(0, 2**32 - 1),
)
def test_steps_of_many_edges(new_rng, n, rho, C, step, scale, key):
    """The masses of each edge minimize its quadratic program; the other values follow."""
    rng = new_rng(key)
    table = np.zeros((9, -(-n // 8) * 8))
    table[0] = C
    table[:4, :n] = C * rng.dirichlet(np.ones(4), n).T
    corners = rng.random(n) < 0.3
    table[:4, :n][:, corners] = C * np.eye(4)[rng.integers(4, size=corners.sum())].T
    table[4:7, :n] = scale * rng.normal(size=(3, n))
    table[7:, :n] = C * rng.random((2, n))
    before = table.copy()
    residual, change = access.outcome_steps(table, rho, C, step)
    Q, left, right = 1 + 2 * rho, [0, 0, 1, 1], [0, 1, 0, 1]
    moved = table[:4] - before[:4]
    gradient = rho * (np.outer(left, before[4]) + np.outer(right, before[5]))
    gradient[3] += before[6]
    tolerance = 1e-12 * (C + scale)
    assert (table[:4] >= 0).all()
    np.testing.assert_allclose(table[:4].sum(axis=0), C, rtol=1e-14)
    # The gradient of the program is largest where the mass is positive.
    slope = gradient - Q * moved
    for edge in range(n):
        positive = slope[:, edge][table[:4, edge] > 1e-12 * C]
        np.testing.assert_allclose(positive, slope[:, edge].max(), atol=1e-11 * Q * (C + scale))
    np.testing.assert_allclose(table[6], before[6] - moved[3], atol=tolerance)
    for side, ends in enumerate((left, right)):
        marginal = np.dot(ends, moved)
        off = table[7 + side] - np.dot(ends, table[:4])
        expected = before[4 + side] - marginal + step * off
        np.testing.assert_allclose(table[4 + side], expected, atol=tolerance)
        residual -= (off**2).sum()
        change -= (marginal**2).sum()
    assert abs(residual) <= 1e-9 * n * C**2
    assert abs(change) <= 1e-9 * n * C**2
    # The padding does not change.
    np.testing.assert_array_equal(table[:, n:], before[:, n:])


def test_table_with_wrong_shape():
    with pytest.raises(ValueError, match="9 rows and a multiple of 8 edges"):
        access.outcome_steps(np.zeros((9, 7)), 1.0, 1.0, 1.0)
