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
    again, _ = make_change_points(
        50, kind=kind, max_segments=4, min_length=3, max_length=5, random_state=0
    )
    assert all((a == b).all() for a, b in zip(X, again, strict=True))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "level"}, "kind must be one of"),
        ({"n_samples": 0}, "n_samples must be at least 1"),
        ({"max_segments": 0}, "max_segments must be at least 1"),
        ({"min_length": 9, "max_length": 8}, "max_length=8 is below min_length=9"),
    ],
)
def test_invalid_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        make_change_points(**change)
