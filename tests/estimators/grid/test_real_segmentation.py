"""Models with and without pairwise terms on held-out photographs."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from sstruct import GraphCRFSSVM, GridCRFSSVM
from sstruct.datasets import fetch_snakes, fetch_weizmann_horses
from sstruct.preprocessing import superpixel_labels

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("SSTRUCT_DATA"), reason="SSTRUCT_DATA is not set"),
]


@pytest.fixture(scope="module")
def features():
    sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
    try:
        import segmentation_features
    finally:
        del sys.path[0]
    return segmentation_features


@pytest.fixture(scope="module")
def horses():
    return fetch_weizmann_horses(), fetch_weizmann_horses(subset="test")


def scores(found, truth):
    """Return the accuracy and the intersection over union of all pixels."""
    found = np.concatenate([labels.ravel() for labels in found])
    truth = np.concatenate([labels.ravel() for labels in truth])
    return (found == truth).mean(), (found & truth).sum() / (found | truth).sum()


def test_snakes_need_their_neighbors(features):
    train, test = fetch_snakes(), fetch_snakes(subset="test")
    X, y = [features.snake_graph(x) for x in train.data], [y.ravel() for y in train.target]
    held_out = [features.snake_graph(x) for x in test.data], [y.ravel() for y in test.target]
    # lam was selected from 1e-4, 1e-3 and 1e-2 on the last fifth of the training pictures.
    model = GraphCRFSSVM(lam=0.001, pairwise="directed", loss="hamming-count", random_state=0).fit(
        X, y
    )
    assert model.inference_ == "fusion moves (approximate)"
    assert model.score(*held_out) >= 0.95
    alone = GraphCRFSSVM(lam=0.001, pairwise=0.0, loss="hamming-count", random_state=0).fit(X, y)
    assert alone.score(*held_out) < 0.8


def test_horses_of_superpixels(features, horses):
    train, test = horses
    steps = features.expansion(train.data[:50], n_components=60, n_pixels=10_000)
    X, y, regions = [], [], []
    for image, labels in zip(train.data[:100] + test.data, train.target[:100] + test.target):
        region = features.superpixels(image, side=12)
        X.append(features.superpixel_graph(image, region, features.expanded(image, steps)))
        y.append(superpixel_labels(region, labels))
        regions.append(region)
    found = {}
    for pairwise in (0.0, "contrast"):
        model = GraphCRFSSVM(lam=0.3, loss="hamming", pairwise=pairwise, random_state=0)
        model.fit(X[:100], y[:100])
        assert model.inference_ == "graph cut (exact)"
        assert model.converged_
        painted = [labels[region] for labels, region in zip(model.predict(X[100:]), regions[100:])]
        found[pairwise] = scores(painted, test.target)
    assert found["contrast"][0] > found[0.0][0]
    assert found["contrast"][1] > found[0.0][1]


def test_horses_of_pixels(features, horses):
    train, test = horses
    steps = features.expansion(train.data[:50], n_components=40, n_pixels=10_000)
    images = [features.expanded(image, steps).astype(np.float32) for image in train.data[:60]]
    held_out = [features.expanded(image, steps).astype(np.float32) for image in test.data]
    found = {}
    for pairwise in (0.0, "contrast"):
        model = GridCRFSSVM(lam=1.0, pairwise=pairwise, loss="hamming-count", random_state=0)
        model.fit(images, train.target[:60])
        assert model.converged_
        found[pairwise] = scores(model.predict(held_out), test.target)
    assert found["contrast"][0] > found[0.0][0]
    assert found["contrast"][1] > found[0.0][1]
