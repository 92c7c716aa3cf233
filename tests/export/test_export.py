"""Exported files, and errors for models that cannot be exported."""

import errno
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import DictVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from sstruct import (
    ChainSSVM,
    GraphCRFSSVM,
    LatentSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    Sequences,
)
from sstruct.calibration import CalibratedSSVM
from sstruct.datasets import make_sequences
from sstruct.export import export_model, reader_path
from sstruct.preprocessing import PerNode, SequenceVectorizer

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def chain():
    return ChainSSVM(max_iter=3, random_state=0)


@pytest.fixture
def data():
    return make_sequences(20, n_labels=3, n_features=2, random_state=0)


def content(path):
    return json.loads(path.read_text(encoding="utf-8"))


def table(written):
    if "counts" not in written:
        return np.reshape(written["values"], written["shape"])
    starts = np.concatenate([[0], np.cumsum(written["counts"])])
    rows = written["values"], written["columns"], starts
    return sparse.csr_array(rows, shape=written["shape"]).toarray()


def test_weights_are_written_to_the_last_bit(chain, data, tmp_path):
    X, y = data[0], [[min(i, 1) for i, _ in enumerate(codes)] for codes in data[1]]
    y[0] = [2, *y[0][1:]]
    chain.set_params(transition_mask=~np.diag([False, False, True])).fit(X, y)
    chain.export(tmp_path / "model.json")
    found = content(tmp_path / "model.json")
    assert np.array_equal(table(found["weights"]), chain.coef_.T)
    assert np.array_equal(table(found["transitions"]), chain.edge_coef_)
    for name in ("intercept", "start", "end"):
        assert np.array_equal(found[name], getattr(chain, f"{name}_coef_", chain.intercept_))
    assert found["allowed_next"] == [[0, 1, 2], [0, 1, 2], [0, 1]]
    assert found["classes"] == [0, 1, 2]
    assert found["vectorizer"] is found["features"] is found["center"] is found["scale"] is None


def test_tables_that_are_mostly_zero_are_sparse(chain, tmp_path):
    X = [np.eye(30)[[i, (i + 1) % 30]] for i in range(30)]
    y = [[i % 5, (i + 1) % 5] for i in range(30)]
    chain.fit(X, y).export(tmp_path / "model.json")
    found = content(tmp_path / "model.json")["weights"]
    assert np.array_equal(table(found), chain.coef_.T)
    chain._w = chain._w * (np.arange(len(chain._w)) % 4 == 0)
    chain.export(tmp_path / "model.json")
    found = content(tmp_path / "model.json")["weights"]
    assert set(found) == {"shape", "counts", "columns", "values"}
    assert np.array_equal(table(found), chain.coef_.T)


def test_a_method_and_the_function_write_the_same(chain, data, tmp_path):
    chain.fit(*data).export(str(tmp_path / "a.json"))
    export_model(make_pipeline(chain), tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b.json"]


def test_names_of_features_come_from_the_data(chain, data, tmp_path):
    X = Sequences.from_list(data[0])
    X = Sequences(X.flat, X.offsets, feature_names=["warm", "wet"])
    export_model(
        make_pipeline(PerNode(StandardScaler()), chain).fit(X, data[1]), tmp_path / "m.json"
    )
    assert content(tmp_path / "m.json")["features"] == ["warm", "wet"]


@pytest.mark.parametrize("path", ["model", "model.txt", "model.json.gz", 1, None, b"model.json"])
def test_other_paths_raise(path, chain, data):
    chain.fit(*data)
    for export in (chain.export, lambda path: export_model(chain, path)):
        with pytest.raises((TypeError, ValueError), match=r"^path must"):
            export(path)


@pytest.mark.parametrize("suffix", [".json", ".onnx"])
def test_a_file_that_cannot_be_written_is_kept(suffix, chain, data, tmp_path, monkeypatch):
    pytest.importorskip("onnx")
    chain.fit(*data)
    path = tmp_path / f"model{suffix}"
    chain.export(path)
    content = path.read_bytes()

    def fails(path, content):
        open(path, "wb").close()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fails)
    with pytest.raises(OSError, match="No space left"):
        chain.export(path)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_missing_folder(chain, data, tmp_path):
    chain.fit(*data)
    for export in (chain.export, lambda path: export_model(chain, path)):
        with pytest.raises(FileNotFoundError, match=r"path is in .*missing'"):
            export(tmp_path / "missing" / "model.json")


def test_models_that_are_not_fitted_raise(chain, data, tmp_path):
    unfitted = make_pipeline(PerNode(StandardScaler()), ChainSSVM().fit(*data))
    for model in (chain, make_pipeline(SequenceVectorizer(), chain), unfitted):
        with pytest.raises(NotFittedError):
            export_model(model, tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("model", [None, 3, "passthrough", GraphCRFSSVM(), LatentSSVM(ChainSSVM())])
def test_other_objects_raise(model, tmp_path):
    with pytest.raises((TypeError, ValueError), match="cannot be exported"):
        export_model(model, tmp_path / "model.json")


def test_searches_name_their_best_estimator(chain, data, tmp_path):
    search = GridSearchCV(chain, {"lam": [0.1, 1.0]}, cv=2).fit(*data)
    with pytest.raises(TypeError, match="best_estimator_"):
        export_model(search, tmp_path / "model.json")


def test_latent_models_name_their_estimator_unless_labels_have_states(tmp_path):
    for n_states, message in ((1, "pass its estimator_"), (2, "hidden states")):
        with pytest.raises(TypeError, match=message):
            export_model(LatentSSVM(ChainSSVM(), states_per_label=n_states), tmp_path / "a.json")


def test_other_steps_raise(chain, data, tmp_path):
    X, y = data
    with pytest.raises(ValueError, match=r"PCA.*cannot be exported"):
        export_model(make_pipeline(PerNode(PCA(1)), chain).fit(X, y), tmp_path / "model.json")
    scalers = [PerNode(StandardScaler()), PerNode(MaxAbsScaler())]
    with pytest.raises(ValueError, match="two scalers"):
        export_model(make_pipeline(*scalers, chain).fit(X, y), tmp_path / "model.json")
    pipeline = make_pipeline(PerNode(StandardScaler()), chain).fit(X, y)
    chain.fit([x[:, :1] for x in X], y)
    with pytest.raises(ValueError, match="the scaler has 2 features"):
        export_model(pipeline, tmp_path / "model.json")
    if "clip" in MaxAbsScaler().get_params():  # not in old versions of scikit-learn
        clipped = make_pipeline(PerNode(MaxAbsScaler(clip=True)), chain).fit(X, y)
        with pytest.raises(ValueError, match="clip=True cannot be exported; use clip=False"):
            export_model(clipped, tmp_path / "model.json")
    counts = make_pipeline(DictVectorizer(dtype=int), MulticlassSSVM(lam=1.0))
    with pytest.raises(ValueError, match="dtype=int64 cannot be exported; use float64 or float32"):
        export_model(counts.fit([{"a": 1}, {"b": 2}], [0, 1]), tmp_path / "model.json")
    with pytest.raises(TypeError, match="pass its estimator_; files contain no probabilities"):
        export_model(CalibratedSSVM(chain, cv=2).fit(X, y), tmp_path / "model.json")


def test_models_with_other_terms_raise(chain, data, tmp_path):
    X, y = data
    edges = [(x, np.ones((len(x) - 1, 1))) for x in X]
    with pytest.raises(ValueError, match="edge features"):
        chain.fit(edges, y).export(tmp_path / "model.json")
    rows, sets = np.vstack(X), np.vstack(X) > 0
    for parameters in ({"edges": "full"}, {"edges": [-1, 0]}):
        model = MultilabelSSVM(random_state=0, **parameters)
        if parameters["edges"] == [-1, 0]:
            sets = sets & sets[:, :1]
        with pytest.raises(ValueError, match="edges=None"):
            model.fit(rows, sets).export(tmp_path / "model.json")


@pytest.mark.parametrize("labels", [[("a", 1), ("b", 2)], [0, 2**60]])
def test_other_labels_raise(labels, chain, data, tmp_path):
    X, y = data
    y = [[labels[code % 2] for code in codes] for codes in y]
    with pytest.raises(ValueError, match=r"^classes_ contains"):
        chain.fit(X, y).export(tmp_path / "model.json")


def test_names_that_are_not_unicode_raise(chain, tmp_path):
    pipeline = make_pipeline(SequenceVectorizer(), chain)
    pipeline.fit([[{"w": "\ud800"}, {"w": "a"}]] * 2, [["x", "y"]] * 2)
    with pytest.raises(ValueError, match=r"^features contains"):
        export_model(pipeline, tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


def test_labels_of_several_types_are_not_for_onnx(chain, data, tmp_path):
    pytest.importorskip("onnx")
    X, y = data
    chain.fit(X, [["a" if code else 3 for code in codes] for codes in y])
    chain.export(tmp_path / "model.json")
    assert sorted(map(str, content(tmp_path / "model.json")["classes"])) == ["3", "a"]
    with pytest.raises(ValueError, match="several types"):
        chain.export(tmp_path / "model.onnx")


def test_readers_are_in_the_package():
    assert "SSTRUCT_IMPLEMENTATION" in reader_path("c").read_text()
    assert "export class Model" in reader_path("javascript").read_text()
    with pytest.raises(ValueError, match="language"):
        reader_path("rust")
