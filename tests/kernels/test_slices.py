"""Test array expressions that are evaluated slice by slice."""

import numpy as np

from sstruct._kernels import slices
from sstruct._kernels.slices import SLICE, by_slices, zeros


def test_slices_equal_the_whole_expression(rng, monkeypatch):
    monkeypatch.setattr(slices, "SLICE", 8)
    a, b = rng.standard_normal((2, 27))
    seen = []

    def expression(a, b):
        seen.append(len(a))
        return a / 0.3 + 0.7 * b

    np.testing.assert_array_equal(by_slices(expression, a, b), a / 0.3 + 0.7 * b)
    assert seen == [8, 8, 8, 3]
    assert by_slices(np.negative, np.empty(0)).shape == (0,)


def test_zeros_are_zeros():
    for n in (0, 5, 2 * SLICE + 1):
        assert zeros(n).tobytes() == np.zeros(n).tobytes()
