"""Error messages shorten long values."""

import numpy as np
import pandas as pd
import pytest

from sstruct import ChainSSVM, MulticlassSSVM, PathCV, Sequences, inference, masks, metrics
from sstruct.plotting import SegmentationDisplay

LONG = "x" * 10**6


class Wordy:
    """A label or a splitter whose methods raise errors with long messages."""

    def __lt__(self, other):
        raise TypeError(LONG)

    def get_n_splits(self, *data):
        return 2

    def split(self, *data):
        raise ValueError(LONG)


CALLS = {
    "quadratic": lambda: inference.distance_transform(np.zeros(3), LONG, 0.0),
    "index": lambda: Sequences(np.zeros((2, 1)), [0, 2])[(0, LONG)],
    "feature name": lambda: Sequences(np.zeros((2, 1)), [0, 2], feature_names=[(LONG, 1)]),
    "tag": lambda: metrics.chunk_f1_score([[LONG]], [["O"]]),
    "masks": lambda: masks.bio_transitions([LONG]),
    # Other libraries repeat these values in their own errors.
    "seed": lambda: ChainSSVM(random_state=LONG).fit([np.eye(2)], [[0, 1]]),
    "chain": lambda: ChainSSVM().fit([np.array([[LONG]], dtype=object), [[1.0]]], [[0], [1]]),
    "frame": lambda: MulticlassSSVM().fit(pd.DataFrame({"a": [LONG, "1"]}), [0, 1]),
    "items": lambda: Sequences.from_list([[[LONG]], [[1.0]]]),
    "labels": lambda: SegmentationDisplay.from_predictions(None, [[Wordy(), Wordy()]]),
    "splitter": lambda: PathCV(MulticlassSSVM(), cv=Wordy()).fit(np.eye(2), [0, 1]),
}


@pytest.mark.parametrize("name", CALLS)
def test_long_values_are_shortened(name):
    with pytest.raises((ValueError, TypeError, IndexError)) as found:
        CALLS[name]()
    assert 0 < len(str(found.value)) < 1000
