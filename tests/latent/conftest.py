"""Data that are partly labeled."""

import numpy as np
import pytest

from sstruct.datasets import make_sequences


@pytest.fixture(scope="package")
def data():
    """Return sequences, their labels, and the labels with half of them hidden."""
    X, y = make_sequences(n_samples=60, random_state=0)
    rng = np.random.default_rng(0)
    return X, y, [np.where(rng.random(len(labels)) < 0.5, -1, labels) for labels in y]
