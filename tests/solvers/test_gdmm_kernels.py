"""The quadratic program of a factor of GDMM."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sstruct._solvers._gdmm_simplex import minimum


def projected(c, Q, C):
    """The same program by bisection for its multiplier."""
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
    a, b = minimum(c, Q, C)
    expected, multiplier = projected(c, Q, C)
    scale = np.abs(c).max() / Q + C
    np.testing.assert_allclose(a, expected, atol=1e-10 * scale)
    assert abs(a.sum()) <= 1e-12 * C
    assert (a[1:] <= 0).all()
    assert 0 <= a[0] <= C * (1 + 1e-12)
    # Between the entries at their bounds and the others, any multiplier is one; ours is at a kink
    # of none of them, or the only one.
    gradient = c + Q * a
    tolerance = 1e-10 * Q * scale
    assert abs(b - multiplier) <= tolerance
    below = a < np.r_[C, np.zeros(len(c) - 1)] - 1e-9 * C
    assert (np.abs(gradient[below] - b) <= tolerance).all()
    assert (gradient <= b + tolerance).all()


@given(st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=6))
def test_without_curvature_everything_goes_to_the_largest(c):
    a, b = minimum(np.array(c), 0.0, 2.0)
    assert b == max(c)
    expected = np.zeros(len(c))
    if np.argmax(c) > 0:
        expected[[0, np.argmax(c)]] = 2, -2
    np.testing.assert_array_equal(a, expected)


def test_the_program_next_to_its_rounding():
    # Q C is lost beside c: still on the simplex.
    a, _ = minimum(np.array([1e8, 1e8 + 1e-7, -1e8]), 1e-12, 1e-3)
    assert a[0] == -a[1:].sum()
    assert 0 <= a[0] <= 1e-3 * (1 + 1e-12)
