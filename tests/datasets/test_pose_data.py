"""Test make_stick_figures and fetch_lspet_pose."""

import numpy as np

from sstruct.datasets import fetch_lspet_pose, make_stick_figures
from tests.estimators.equal import equal


def test_stick_figures_layout():
    figures = make_stick_figures(5, size=24, random_state=3)
    assert len(figures.data) == len(figures.target) == len(figures.images) == 5
    for sample, states, image, joints in zip(
        figures.data, figures.target, figures.images, figures.positions, strict=True
    ):
        assert sample["features"].shape == (11, 24, 24, 2)
        np.testing.assert_array_equal(np.column_stack([states % 24, states // 24]), joints)
        assert joints.min() >= 0
        assert joints.max() < 24
        # The drawing covers the joints.
        assert (image[joints[:, 1].astype(int), joints[:, 0].astype(int)] == 1).all()
        assert image.min() == 0
    assert len(figures.joint_names) == len(figures.parents) == 11
    X, y = make_stick_figures(5, size=24, random_state=3, return_X_y=True)
    assert equal([X, y], [figures.data, figures.target])


def test_a_detector_without_noise_responds_at_its_joint():
    figures = make_stick_figures(20, noise=0, n_distractors=0, random_state=0)
    for sample, states in zip(figures.data, figures.target, strict=True):
        maps = sample["features"].reshape(11, -1, 2)
        at = maps[np.arange(11), states]
        # Both detectors respond equally, with a strength of at least 0.8.
        np.testing.assert_array_equal(at[:, 0], at[:, 1])
        assert (at >= 0.8).all()
        assert (maps[:3].argmax(axis=1) == states[:3, np.newaxis]).all()  # not paired


def write_people(folder):
    rng = np.random.default_rng(0)
    arrays = {
        "shape": np.array([[2, 3], [4, 2]], dtype=np.int32),
        "orig_shape": np.array([[4, 6], [4, 4]], dtype=np.int32),
        "gray": np.arange(14, dtype=np.uint8),
        "joints_xy": rng.uniform(0, 4, (2, 14, 2)).astype(np.float32),
        "flag": np.ones((2, 14), dtype=np.uint8),
    }
    arrays["flag"][1, 3] = 0
    np.savez_compressed(folder / "lspet400_pose.npz", **arrays)
    return arrays


def test_fetch_reads_the_file(tmp_path):
    arrays = write_people(tmp_path)
    people = fetch_lspet_pose(data_home=tmp_path)
    np.testing.assert_array_equal(people.data[0], [[0, 1, 2], [3, 4, 5]])
    np.testing.assert_array_equal(people.data[1], np.arange(6, 14).reshape(4, 2))
    np.testing.assert_allclose(people.target[0], arrays["joints_xy"][0] / 2)
    # x is scaled by the ratio of the widths, y by that of the heights.
    np.testing.assert_allclose(people.target[1, :3], arrays["joints_xy"][1, :3] * [0.5, 1])
    assert np.isnan(people.target[1, 3]).all()
    assert np.isnan(people.target).sum() == 2
    data, target = fetch_lspet_pose(data_home=tmp_path, return_X_y=True)
    np.testing.assert_array_equal(target, people.target)
    assert len(data) == 2
    assert people.joint_names[people.parents[13]] == "neck"
    assert (people.parents == -1).sum() == 1
