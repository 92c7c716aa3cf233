"""Test distance transforms against their definition."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sstruct.inference import distance_transform

COEFFICIENT = st.floats(-100, 100)
QUADRATIC = st.one_of(st.just(0.0), st.floats(0, 100), st.sampled_from([1e-12, 1e-300, 1e12]))
COST = st.one_of(st.floats(-1e6, 1e6), st.integers(-3, 3).map(float), st.just(np.inf))


def definition(costs, quadratic, linear):
    """Return the cost of each pair of positions p (rows) and q (columns), both flattened."""
    total = np.zeros((costs.size, costs.size))
    for axis, (a, b) in enumerate(zip(quadratic, linear, strict=True)):
        at = np.indices(costs.shape)[axis].ravel()
        offset = at[:, np.newaxis] - at
        total += a * offset**2 + b * offset
    return costs.ravel() + total


def check(costs, quadratic, linear, exact):
    every = definition(costs, quadratic, linear)
    values, places = distance_transform(costs, quadratic, linear)
    assert values.shape == places.shape == costs.shape
    assert places.dtype == np.int32
    values, places = values.ravel(), places.ravel()
    if np.isinf(costs).all():
        assert (values == np.inf).all()
        assert (places == -1).all()
        return
    chosen = every[np.arange(costs.size), places]
    if exact:  # integers: no rounding anywhere, so ties are known
        np.testing.assert_array_equal(values, every.min(axis=1))
        np.testing.assert_array_equal(places, every.argmin(axis=1))
        return
    # Rounding errors are relative to the summands, not to their sum.
    finite = np.abs(costs[np.isfinite(costs)]).max()
    reach = np.array(costs.shape) - 1
    size = finite + (np.abs(quadratic) * reach**2 + np.abs(linear) * reach).sum()
    tolerance = 1e-14 * size
    np.testing.assert_allclose(values, chosen, rtol=0, atol=tolerance)
    np.testing.assert_allclose(values, every.min(axis=1), rtol=0, atol=tolerance)


@settings(max_examples=500)
@given(costs=st.lists(COST, min_size=1, max_size=40), quadratic=QUADRATIC, linear=COEFFICIENT)
@example(costs=[np.inf], quadratic=1.0, linear=0.0)
@example(costs=[0.0, 0.0, 0.0], quadratic=0.0, linear=0.0)
@example(costs=[1e6, -1e6, 1e6, np.inf], quadratic=5e-324, linear=1.0)
def test_line_equals_the_definition(costs, quadratic, linear):
    check(np.array(costs), [quadratic], [linear], exact=False)


@settings(max_examples=200)
@given(
    shape=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    quadratic=st.tuples(QUADRATIC, QUADRATIC),
    linear=st.tuples(COEFFICIENT, COEFFICIENT),
    forbidden=st.sampled_from([0.0, 0.3, 0.9, 1.0]),
    key=st.integers(0, 2**32 - 1),
)
def test_grid_equals_the_definition(new_rng, shape, quadratic, linear, forbidden, key):
    rng = new_rng(key)
    costs = 100 * rng.standard_normal(shape)
    costs[rng.random(shape) < forbidden] = np.inf
    check(costs, quadratic, linear, exact=False)


@settings(max_examples=300)
@given(
    shape=st.one_of(st.tuples(st.integers(1, 30)), st.tuples(st.integers(1, 7), st.integers(1, 7))),
    high=st.sampled_from([1, 5, 1000]),
    key=st.integers(0, 2**32 - 1),
)
def test_integers_agree_to_the_bit_with_the_lowest_place(new_rng, shape, high, key):
    rng = new_rng(key)
    costs = rng.integers(-high, high + 1, shape).astype(float)
    costs[rng.random(shape) < 0.1] = np.inf
    quadratic, linear = rng.integers(0, 4, len(shape)), rng.integers(-4, 5, len(shape))
    check(costs, quadratic, linear, exact=True)


def test_numbers_stand_for_both_axes(rng):
    costs = rng.standard_normal((6, 5))
    for one, both in zip(
        distance_transform(costs, 0.3, -0.2), distance_transform(costs, [0.3, 0.3], [-0.2, -0.2])
    ):
        np.testing.assert_array_equal(one, both)
    transposed, _ = distance_transform(costs.T, [0.1, 2.0], [0.5, -0.5])
    values, _ = distance_transform(costs, [2.0, 0.1], [-0.5, 0.5])
    np.testing.assert_allclose(transposed.T, values, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"costs": []}, "must be nonempty"),
        ({"costs": 3.0}, r"shape \(n,\) or \(height, width\)"),
        ({"costs": np.zeros((2, 2, 2))}, r"shape \(n,\) or \(height, width\)"),
        ({"costs": [0.0, np.nan]}, "NaN or -inf"),
        ({"costs": [0.0, -np.inf]}, "NaN or -inf"),
        ({"quadratic": -1.0}, "quadratic must not be negative"),
        ({"quadratic": np.inf}, "quadratic must be finite"),
        ({"linear": np.nan}, "linear must be finite"),
        ({"quadratic": [1.0, 1.0]}, "quadratic must be a number or 1"),
        ({"costs": np.zeros((2, 2)), "linear": [1.0]}, "linear must be a number or 2"),
    ],
)
def test_invalid_arguments(change, message):
    arguments = dict(costs=[1.0, 2.0], quadratic=1.0, linear=0.0)
    distance_transform(**arguments)
    with pytest.raises(ValueError, match=message):
        distance_transform(**{**arguments, **change})
