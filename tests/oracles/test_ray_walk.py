"""Test walks to labels with given sums."""

import numpy as np
import pytest

from sstruct._oracles.mrf._ray_walk import RayWalk
from sstruct._problems.graph.grid_edges import grid_edges
from sstruct.inference import MRF, projection_rays
from sstruct.inference._applications.rays import checked_rays


def make(rng, size, angles, n_levels):
    image = rng.integers(0, n_levels, size * size).astype(np.int32)
    rays = projection_rays((size, size), angles)
    sums = np.array([image[ray].sum() for ray in rays])
    table = rng.normal(size=(n_levels, n_levels))
    model = MRF(rng.normal(size=(size * size, n_levels)), grid_edges(size, size), table)
    return image, rays, sums, model, RayWalk(model, *checked_rays(rays, size * size), sums, 3)


@pytest.mark.parametrize("angles, n_levels", [([0, 90], 3), ([0], 5), ([0, 45, 90], 2)])
def test_walks_end_at_the_sums_and_go_down_from_there(angles, n_levels, rng):
    n_found = n_lower = 0
    for _ in range(20):
        _, rays, sums, model, walk = make(rng, 6, angles, n_levels)
        labels = rng.integers(0, n_levels, 36).astype(np.int32)
        found = walk.walk(labels, 5000, 1.0)
        assert ((labels >= 0) & (labels < n_levels)).all()
        assert found == all(labels[ray].sum() == b for ray, b in zip(rays, sums, strict=True))
        if not found:
            continue
        n_found += 1
        before = model.energy(labels)
        walk.improve(labels, 2000, 1.0)
        assert ((labels >= 0) & (labels < n_levels)).all()
        np.testing.assert_array_equal([labels[ray].sum() for ray in rays], sums)
        assert model.energy(labels) <= before + 1e-9
        n_lower += model.energy(labels) < before - 1e-3
    assert n_found >= 15
    assert n_lower >= 4


def test_other_sums_are_not_improved(rng):
    image, _, _, _, walk = make(rng, 4, [0, 90], 3)
    image[0] = (image[0] + 1) % 3
    with pytest.raises(ValueError, match="do not match those of the rays"):
        walk.improve(image, 10, 1.0)


def test_images_with_the_given_sums_are_unchanged(rng):
    image, _, _, _, walk = make(rng, 4, [0, 90], 3)
    before = image.copy()
    assert walk.walk(image, 10, 1.0)
    np.testing.assert_array_equal(image, before)
