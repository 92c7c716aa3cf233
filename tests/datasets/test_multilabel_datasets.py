"""Test generated, local and downloaded multilabel data sets."""

import bz2
import gzip
import hashlib
import inspect
import os
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.utils.multiclass import type_of_target

from sstruct import datasets
from sstruct.datasets import _fetched, fetch_scene, fetch_yeast, make_multilabel_pairwise
from sstruct.preprocessing import hierarchical_labels
from tests.datasets.test_datasets import real_file
from tests.estimators.equal import equal

# File, rows of each split (or of all data), features, labels, ones in all label sets.
SETS = {
    "bibtex": ("multilabel_bibtex.npz", (4880, 2515), 1836, 159, 17762),
    "corel16k": ("multilabel_corel16k001.npz", (13766,), 500, 153, 39353),
    "corel5k": ("multilabel_corel5k.npz", (4500, 500), 499, 374, 17610),
    "delicious": ("multilabel_delicious.npz", (12920, 3185), 500, 983, 306317),
    "enron": ("multilabel_enron.npz", (1123, 579), 1001, 53, 5750),
    "rcv1_subset": ("multilabel_rcv1sub1.npz", (6000,), 47236, 101, 17278),
    "reuters_k500": ("multilabel_reutersk500.npz", (6000,), 500, 103, 8773),
    "tmc2007": ("multilabel_tmc2007_500.npz", (21519, 7077), 500, 22, 61708),
}


def csr_arrays(rng, part, n_rows, n_features, n_labels):
    """Return the arrays of an archive, and the corresponding features and label sets."""
    X = rng.integers(0, 3, (n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.4)
    Y = (rng.random((n_rows, n_labels)) < 0.3).astype(np.int64)
    rows, sets = sparse.csr_matrix(X.astype(np.uint8)), sparse.csr_matrix(Y)
    arrays = {
        f"X_{part}_data": rows.data,
        f"X_{part}_indices": rows.indices,
        f"X_{part}_indptr": rows.indptr.astype(np.int64),
        f"Y_{part}_indices": sets.indices,
        f"Y_{part}_indptr": sets.indptr.astype(np.int64),
    }
    return arrays, X, Y


@pytest.mark.parametrize("name", SETS)
def test_archives_are_read(tmp_path, rng, name):
    file_name, rows = SETS[name][:2]
    fetch = getattr(datasets, f"fetch_{name}")
    arrays = {"n_features": 7, "n_labels": 4, "label_names": np.array(["a", "bb", "c", "d"])}
    expected_X, expected_Y = {}, {}
    for part in ("train", "test") if len(rows) == 2 else ("all",):
        more, expected_X[part], expected_Y[part] = csr_arrays(rng, part, 5, 7, 4)
        arrays |= more
    np.savez(tmp_path / file_name, **arrays)
    if len(rows) == 2:
        expected_X["all"] = np.vstack([expected_X["train"], expected_X["test"]])
        expected_Y["all"] = np.vstack([expected_Y["train"], expected_Y["test"]])
    for subset in expected_X:
        bunch = fetch(subset=subset, data_home=tmp_path)
        assert bunch.data.dtype == np.float64
        assert bunch.data.format == bunch.target.format == "csr"
        assert type_of_target(bunch.target) == "multilabel-indicator"
        np.testing.assert_array_equal(bunch.data.toarray(), expected_X[subset])
        np.testing.assert_array_equal(bunch.target.toarray(), expected_Y[subset])
        assert bunch.target_names == ["a", "bb", "c", "d"]
        assert "license" in bunch.DESCR
        X, Y = fetch(subset=subset, data_home=tmp_path, return_X_y=True, return_indicator="dense")
        assert (X != bunch.data).nnz == 0
        assert type_of_target(Y) == "multilabel-indicator"
        np.testing.assert_array_equal(Y, expected_Y[subset])


@pytest.mark.parametrize("name", [*SETS, "scene"])
def test_missing_files_and_unknown_subsets(tmp_path, rng, name):
    fetch = getattr(datasets, f"fetch_{name}")
    file_name = SETS[name][0] if name in SETS else "scene.npz"
    with pytest.raises(OSError, match=f"{file_name} not found"):
        fetch(data_home=tmp_path)
    with pytest.raises(ValueError, match="return_indicator must be one of"):
        fetch(data_home=tmp_path, return_indicator=True)
    split = name == "scene" or len(SETS[name][1]) == 2
    arrays, _, _ = csr_arrays(rng, "train" if split else "all", 2, 3, 2)
    np.savez(tmp_path / file_name, **arrays)
    expected = (
        '"train", "test" or "all"; got' if split else f'"all", since {file_name} has no split; got'
    )
    with pytest.raises(ValueError, match=f"subset must be {expected} 'dev'"):
        fetch(data_home=tmp_path, subset="dev")


def test_documentation_is_made_from_the_table():
    for name, (file_name, rows, n_features, n_labels, _) in SETS.items():
        fetch = getattr(datasets, f"fetch_{name}")
        assert fetch.__name__ == f"fetch_{name}"
        assert f"(({rows[0]}, {n_features}), ({rows[0]}, {n_labels}))" in fetch.__doc__
        assert file_name in fetch.__doc__
        # All placeholders of the template are filled.
        assert not re.search(r"\{(?!\"(train|all|sparse)\")", fetch.__doc__)
        default = inspect.signature(fetch).parameters["subset"].default
        assert default == ("train" if len(rows) == 2 else "all")


@pytest.mark.parametrize("name", SETS)
def test_real_archives(name):
    file_name, rows, n_features, n_labels, n_on = SETS[name]
    folder = real_file(file_name).parent
    fetch = getattr(datasets, f"fetch_{name}")
    whole = fetch(subset="all", data_home=folder)
    assert whole.data.shape == (sum(rows), n_features)
    assert whole.target.shape == (sum(rows), n_labels)
    assert whole.target.sum() == n_on
    assert len(set(whole.target_names)) == n_labels
    if len(rows) == 2:
        for subset, n_rows in zip(("train", "test"), rows, strict=True):
            assert fetch(subset=subset, data_home=folder).data.shape[0] == n_rows
    words = name not in ("rcv1_subset", "reuters_k500")
    assert not words or set(np.unique(whole.data.data)) == {1.0}


def test_real_enron_is_a_hierarchy():
    enron = datasets.fetch_enron(data_home=real_file("multilabel_enron.npz").parent)
    Y, names, parents = hierarchical_labels(enron.target, enron.target_names)
    assert names[53:] == ["A", "B", "C", "D"]
    assert [names[p] for p in parents[:53]] == [name[0] for name in names[:53]]
    assert parents[53:].tolist() == [-1] * 4
    assert (Y[:, :53] != enron.target).nnz == 0
    np.testing.assert_array_equal(
        Y[:, 53].toarray(), enron.target[:, :8].toarray().max(axis=1, keepdims=True)
    )


def test_scene_is_dense(tmp_path, rng):
    arrays = {}
    for part, n in (("train", 3), ("test", 2)):
        arrays[f"X_{part}"] = rng.random((n, 294), dtype=np.float32)
        arrays[f"Y_{part}"] = rng.integers(0, 2, (n, 6), dtype=np.uint8)
    np.savez(tmp_path / "scene.npz", **arrays)
    scene = fetch_scene(subset="all", data_home=tmp_path, return_indicator="dense")
    np.testing.assert_array_equal(scene.data, np.vstack([arrays["X_train"], arrays["X_test"]]))
    np.testing.assert_array_equal(scene.target, np.vstack([arrays["Y_train"], arrays["Y_test"]]))
    assert scene.data.dtype == np.float64
    assert scene.target_names[1] == "Sunset"
    assert sparse.issparse(fetch_scene(data_home=tmp_path).target)


def test_real_scene():
    X, Y = fetch_scene(subset="all", data_home=real_file("scene.npz").parent, return_X_y=True)
    assert X.shape == (2407, 294)
    assert Y.shape == (2407, 6)
    assert X.min() == 0
    assert X.max() == 1
    assert (Y.sum(axis=1) >= 1).all()


YEAST = "0,13 1:0.5 103:-0.25\n2 2:1\n 3:2e-1\n"


def serve_yeast(monkeypatch, server, text, known=None):
    folder, url, requests = server
    (folder / "train.bz2").write_bytes(bz2.compress(text.encode()))
    source = replace(_fetched.SOURCES["yeast"], url=url + "/{part}.bz2")
    if known is not None:
        features, label_sets = _fetched._parse_yeast(known.encode())
        arrays = features, label_sets.astype(np.uint8)
        hashes = tuple(hashlib.sha256(array.tobytes()).hexdigest() for array in arrays)
        source = replace(source, sha256={"train": hashes})
    monkeypatch.setitem(_fetched.SOURCES, "yeast", source)
    return requests


def test_yeast_download(monkeypatch, server, tmp_path):
    requests = serve_yeast(monkeypatch, server, YEAST, known=YEAST)
    yeast = fetch_yeast(data_home=tmp_path / "new", return_indicator="dense")
    assert yeast.data.shape == (3, 103)
    assert yeast.data[0, [0, 102]].tolist() == [0.5, -0.25]
    assert yeast.data[2, 2] == 0.2
    assert [np.flatnonzero(row).tolist() for row in yeast.target] == [[0, 13], [2], []]
    assert len(yeast.target_names) == 14
    # The second call downloads nothing, and no temporary file is left.
    X, Y = fetch_yeast(data_home=tmp_path / "new", return_X_y=True)
    np.testing.assert_array_equal(X, yeast.data)
    np.testing.assert_array_equal(Y.toarray(), yeast.target)
    assert len(requests) == 1
    assert os.listdir(tmp_path / "new") == ["yeast_train.svm.gz"]
    written = (tmp_path / "new" / "yeast_train.svm.gz").read_bytes()
    assert gzip.decompress(written).decode() == YEAST


@pytest.mark.parametrize(
    "served, what",
    [(YEAST.replace("0.5", "0.6"), "features"), (YEAST.replace("0,13", "0,12"), "label sets")],
)
def test_damaged_yeast_download_leaves_no_file(monkeypatch, server, tmp_path, served, what):
    serve_yeast(monkeypatch, server, served, known=YEAST)
    with pytest.raises(OSError, match=f"SHA256 checksum of the {what} in "):
        fetch_yeast(data_home=tmp_path / "new")
    assert os.listdir(tmp_path / "new") == []


def test_real_yeast(monkeypatch, server, tmp_path):
    folder = real_file("yeast_train.svm.gz").parent
    text = gzip.decompress((folder / "yeast_train.svm.gz").read_bytes()).decode()
    # Checked against the hashes in the package.
    requests = serve_yeast(monkeypatch, server, text)
    downloaded = fetch_yeast(data_home=tmp_path)
    cached = fetch_yeast(data_home=folder)
    assert len(requests) == 1
    np.testing.assert_array_equal(downloaded.data, cached.data)
    whole = fetch_yeast(data_home=folder, subset="all", download_if_missing=False)
    assert whole.data.shape == (2417, 103)
    assert whole.target.sum() == 6342 + 3899
    np.testing.assert_array_equal(whole.data[:1500], cached.data)
    assert (whole.target[:1500] != cached.target).nnz == 0


def test_yeast_is_downloaded_only_on_request(tmp_path):
    with pytest.raises(OSError, match="not found and download_if_missing is False"):
        fetch_yeast(data_home=tmp_path, download_if_missing=False)
    with pytest.raises(ValueError, match='subset must be "train", "test" or "all"; got \'dev\''):
        fetch_yeast(data_home=tmp_path, subset="dev")


def test_make_multilabel_pairwise_layout():
    X, Y = make_multilabel_pairwise(30, n_features=4, n_labels=5, random_state=0)
    assert X.shape == (30, 4)
    assert Y.shape == (30, 5)
    assert set(np.unique(Y)) == {0, 1}
    *again, edges, interactions = make_multilabel_pairwise(
        30, n_features=4, n_labels=5, return_interactions=True, random_state=0
    )
    assert equal(again, [X, Y])
    assert edges.shape == (5, 2)
    assert (edges[:, 0] < edges[:, 1]).all()
    assert len({tuple(pair) for pair in edges.tolist()}) == 5
    assert interactions.tolist() == [2.0, -2.0, 2.0, -2.0, 2.0]
    assert make_multilabel_pairwise(2, n_labels=1, random_state=0)[1].shape == (2, 1)


def test_sets_are_drawn_from_the_model():
    # For one pair of labels that ignore the features, the four probabilities are known.
    _, Y, edges, interactions = make_multilabel_pairwise(
        40_000, n_features=1, n_labels=2, n_pairs=1, informativeness=0.0, strength=1.5,
        return_interactions=True, random_state=0,
    )  # fmt: skip
    assert edges.tolist() == [[0, 1]]
    own = np.log(0.3 / 0.7) - 0.3 * 1.5
    weights = np.exp([0.0, own, own, 2 * own + interactions[0]])
    shares = np.bincount(2 * Y[:, 0] + Y[:, 1], minlength=4) / len(Y)
    np.testing.assert_allclose(shares, weights / weights.sum(), atol=0.01)


def test_features_are_informative():
    X, Y = make_multilabel_pairwise(20_000, n_labels=1, random_state=0)
    coef = np.linalg.lstsq(X, Y[:, 0] - Y.mean(), rcond=None)[0]
    # At probability p the slope of a logistic model is p (1 - p) times its weights.
    spread = np.std(X @ coef)
    assert 0.1 < spread < 0.3
    assert abs(Y.mean() - expit(np.log(0.3 / 0.7))) < 0.05
