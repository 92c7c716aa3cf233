"""Image data sets, generated and read from the data folder."""

import numpy as np
import pytest

from sstruct.datasets import fetch_lspet_pose, fetch_snakes, fetch_weizmann_horses, make_grids

SETS = [
    (fetch_snakes, "snakes.npz", "labels"),
    (fetch_weizmann_horses, "weizmann_horses.npz", "mask"),
]
FILES = {fetch: name for fetch, name, _ in SETS} | {fetch_lspet_pose: "lspet400_pose.npz"}


@pytest.mark.parametrize(("fetch", "file_name", "labels"), SETS)
def test_pictures_are_cut_from_flat_arrays(tmp_path, rng, fetch, file_name, labels):
    shapes = {"train": [(2, 3), (4, 1)], "test": [(1, 5)]}
    arrays, expected = {}, {}
    for subset, sizes in shapes.items():
        data = [rng.integers(0, 255, (*size, 3), dtype=np.uint8) for size in sizes]
        target = [rng.integers(0, 2, size, dtype=np.uint8) for size in sizes]
        expected[subset] = data, target
        arrays[f"rgb_{subset}"] = np.vstack([picture.reshape(-1, 3) for picture in data])
        arrays[f"{labels}_{subset}"] = np.concatenate([picture.ravel() for picture in target])
        arrays[f"shape_{subset}"] = np.array(sizes, dtype=np.int32)
    np.savez(tmp_path / file_name, **arrays)
    for subset, (data, target) in expected.items():
        bunch = fetch(subset=subset, data_home=tmp_path)
        for found, picture in zip(bunch.data + bunch.target, data + target, strict=True):
            np.testing.assert_array_equal(found, picture)
        X, y = fetch(subset=subset, data_home=tmp_path, return_X_y=True)
        assert (len(X), len(y)) == (len(data), len(target))


@pytest.mark.parametrize("fetch", FILES)
def test_error_names_expected_folder_of_missing_files(tmp_path, fetch):
    message = f"{FILES[fetch]} not found, and it cannot be downloaded.*_DATA"
    with pytest.raises(OSError, match=message):
        fetch(data_home=tmp_path)


@pytest.mark.parametrize("fetch", [fetch for fetch, *_ in SETS])
def test_unknown_subsets(tmp_path, fetch):
    with pytest.raises(ValueError, match=r"subset must be one of .*, found 'all'"):
        fetch(subset="all", data_home=tmp_path)


def test_make_grids_layout():
    X, y = make_grids(4, shape=(7, 9), n_labels=3, n_features=2, random_state=0)
    assert X.shape == (4, 7, 9, 2)
    assert y.shape == (4, 7, 9)
    assert set(np.unique(y)) == {0, 1, 2}


def test_make_grids_without_noise_returns_the_label_centers():
    X, y = make_grids(5, noise=0, n_labels=4, random_state=1)
    for label in np.unique(y):
        assert len(np.unique(X[y == label], axis=0)) == 1
