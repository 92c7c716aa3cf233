"""Test make_change_points."""

import numpy as np
import pytest

from sstruct.datasets import make_change_points


@pytest.mark.parametrize("kind", ["mean", "variance", "trend"])
def test_lengths_and_changes(kind):
    X, y = make_change_points(
        50, kind=kind, max_segments=4, min_length=3, max_length=5, random_state=0
    )
    assert len(X) == len(y) == 50
    lengths = [np.diff([0, *places, len(x)]) for x, places in zip(X, y, strict=True)]
    assert {len(own) for own in lengths} == {1, 2, 3, 4}
    assert set(np.concatenate(lengths)) == {3, 4, 5}
