"""Values of any length are short in messages."""

import numpy as np
import pytest

from sstruct import Sequences, inference, masks, metrics

LONG = "x" * 10**6
CALLS = {
    "quadratic": lambda: inference.distance_transform(np.zeros(3), LONG, 0.0),
    "index": lambda: Sequences(np.zeros((2, 1)), [0, 2])[(0, LONG)],
    "feature name": lambda: Sequences(np.zeros((2, 1)), [0, 2], feature_names=[(LONG, 1)]),
    "tag": lambda: metrics.chunk_f1_score([[LONG]], [["O"]]),
    "masks": lambda: masks.bio_transitions([LONG]),
}


@pytest.mark.parametrize("name", CALLS)
def test_long_values_are_shortened(name):
    with pytest.raises((ValueError, TypeError, IndexError)) as found:
        CALLS[name]()
    assert 0 < len(str(found.value)) < 1000
