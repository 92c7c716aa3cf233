"""Test the proximal bundle of prices on concave piecewise linear functions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sstruct.inference._methods._price_bundle import PriceBundle


@settings(max_examples=100)
@given(
    n=st.integers(1, 5), n_pieces=st.integers(1, 20), scale=st.sampled_from([1e-3, 1.0, 1e3]),
    seed=st.integers(0, 10**6),
)  # fmt: skip
def test_maximum_matches_linear_program(n, n_pieces, scale, seed, new_rng):
    rng = new_rng(seed)
    slopes = scale * rng.integers(-3, 4, size=(n_pieces, n)).astype(float)
    heights = scale * rng.standard_normal(n_pieces)
    # Bounded above, since |p| is subtracted with a large factor.
    wall = 20.0 * scale

    def function(point):
        values = heights + slopes @ point
        i = values.argmin()
        return values[i] - wall * np.abs(point).sum(), slopes[i] - wall * np.sign(point)

    start = rng.standard_normal(n)
    bundle = PriceBundle(5, 3000)  # 10 are enough for most functions
    point, value = bundle.maximize(function, start, 1.0)
    assert value == pytest.approx(function(point)[0], rel=1e-9, abs=1e-9 * scale)
    # max t - wall sum(a): t <= heights + slopes p, -a <= p <= a
    cost = np.concatenate([[-1], np.zeros(n), np.full(n, wall)])
    eye = np.eye(n)
    A = np.block(
        [
            [np.ones((n_pieces, 1)), -slopes, np.zeros((n_pieces, n))],
            [np.zeros((n, 1)), eye, -eye],
            [np.zeros((n, 1)), -eye, -eye],
        ]
    )
    best = linprog(
        cost,
        A,
        np.append(heights, np.zeros(2 * n)),
        bounds=[(None, None)] * (1 + n) + [(0, None)] * n,
    )
    assert best.status == 0
    assert value == pytest.approx(-best.fun, abs=1e-4 * scale * (1 + n))


def test_values_that_are_too_high_are_corrected_by_later_cuts():
    # Like moves that find labels with too high a cost: only the first value is wrong.
    calls = []

    def function(point):
        calls.append(point)
        return -abs(point[0] - 3) + (100 if len(calls) == 1 else 0), -np.sign(point - 3)

    point, _ = PriceBundle(1, 40).maximize(function, np.zeros(1), 0.1)
    assert point[0] == pytest.approx(3)


def test_numbers_of_variables_are_checked():
    def function(point):
        return 0.0, np.zeros(2)

    bundle = PriceBundle(1, 4)
    for start in (np.zeros(0), np.zeros(2)):
        with pytest.raises(ValueError, match="expected 1 to 1 variables"):
            bundle.maximize(function, start, 1.0)
    with pytest.raises(ValueError, match="expected a supergradient of 1 entries, found 2"):
        bundle.maximize(function, np.zeros(1), 1.0)
