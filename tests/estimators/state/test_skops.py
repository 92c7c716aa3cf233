"""Models can be saved with skops, and the untrusted types are those of this package."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sstruct import ChainSSVM, DependencySSVM, Sequences, ssvm_path
from sstruct.masks import bio_transitions
from sstruct.preprocessing import ArcVectorizer, PerNode, SequenceVectorizer
from sstruct.solvers import MPBCFW
from tests.estimators.equal import equal

io = pytest.importorskip("skops.io")

TRUSTED = (
    "sstruct.chain.ChainSSVM",
    "sstruct.graph.GraphCRFSSVM",
    "sstruct.grid.GridCRFSSVM",
    "sstruct.multilabel.MultilabelSSVM",
    "sstruct.masks.bio_transitions",
    "sstruct.dependency.DependencySSVM",
    "sstruct.preprocessing.ArcVectorizer",
    "sstruct.preprocessing.PerNode",
    "sstruct.preprocessing.SequenceVectorizer",
    "sstruct.solvers.MPBCFW",
)


def round_trip(model):
    data = io.dumps(model)
    wanted = io.get_untrusted_types(data=data)
    assert set(wanted) <= set(TRUSTED)
    again = io.loads(data, trusted=wanted)
    assert type(again) is type(model)
    return again


@pytest.mark.parametrize(
    "labels",
    [[0, 1, 2], ["B", "I", "O"], [("a", 1), 7, "x"], [True, False, 2.0]],
    ids=["int", "str", "mixed", "numbers"],
)
def test_labels_of_any_type_and_warm_starts_are_restored(tiny_chains, labels):
    X, y = tiny_chains
    y = [[labels[code] for code in codes] for codes in y]
    loss = np.array([1.0, 2.0, 0.5])
    model = ChainSSVM(lam=0.05, warm_start=True, loss=loss, random_state=0).fit(X, y)
    again = round_trip(model)
    for name in ("classes_", "loss", "_warm_state"):
        assert equal(vars(again)[name], vars(model)[name])
    assert equal(again.predict(X), model.predict(X))
    assert again.fit(X, y).n_oracle_calls_ < model.n_oracle_calls_
    with pytest.raises(ValueError, match="requires its samples first"):
        again.fit(X[1:], y[1:])


@pytest.mark.parametrize("mask", ["callable", "array"])
def test_masks_and_other_settings(mask, rng):
    tags = ["B-x", "I-x", "O"]
    transitions = bio_transitions if mask == "callable" else ~np.eye(3, dtype=bool)
    y = [["B-x", "I-x", "O"], ["O", "B-x"], ["B-x", "O", "B-x", "I-x"]]
    X = [sparse.csr_matrix(rng.standard_normal((len(labels), 4))) for labels in y]
    model = ChainSSVM(
        transition_mask=transitions, classes=tags, ignore_label="?", max_time=60.0,
        random_state=np.random.RandomState(3),
    ).fit(X, y)  # fmt: skip
    again = round_trip(model)
    assert equal(again.predict(X), model.predict(X))
    assert [mask is None for mask in again._masks] == [mask is None for mask in model._masks]
    labels, scores = again.predict_top_k(X, 3)
    expected = model.predict_top_k(X, 3)
    assert equal(labels, expected[0])
    assert equal(scores, expected[1])


def test_an_unfitted_model():
    again = round_trip(ChainSSVM(lam=0.25, solver=MPBCFW(step="fw"), loss=[1, 2]))
    assert again.get_params(deep=False).keys() == ChainSSVM().get_params().keys()
    assert (again.lam, again.loss) == (0.25, [1, 2])
    assert again.solver.get_params() == MPBCFW(step="fw").get_params()


def test_pipelines(tiny_chains, rng):
    X, y = tiny_chains
    scaled = make_pipeline(
        PerNode(StandardScaler()), PerNode(PCA(2)), ChainSSVM(random_state=0)
    ).fit(X, y)
    again = round_trip(scaled)
    for data in (X, Sequences.from_list(X)):
        assert equal(again.predict(data), scaled.predict(data))
    for model in (scaled, again):
        with pytest.raises(ValueError, match="one sequence is a list of one array"):
            model.predict(X[0])
    rows = np.vstack(X)
    scaled.fit(rows, np.concatenate(y))
    assert equal(round_trip(scaled).predict(rows), scaled.predict(rows))
    words = [[{"w": f"w{rng.integers(5)}", "cap": True, "n": 2.5} for _ in labels] for labels in y]
    text = make_pipeline(SequenceVectorizer(min_count=2), ChainSSVM(random_state=0)).fit(words, y)
    again = round_trip(text)
    assert equal(again.predict(words), text.predict(words))
    assert again[0].vocabulary_ == text[0].vocabulary_
    tagged = [[(item["w"], "N") for item in sequence] for sequence in words]
    parser = make_pipeline(ArcVectorizer(n_buckets=8), DependencySSVM(random_state=0))
    parser.fit(tagged, [np.arange(len(labels)) for labels in y])
    assert equal(round_trip(parser).predict(tagged), parser.predict(tagged))
    symbols = [[[item["w"]] for item in sequence] for sequence in words]
    encoded = make_pipeline(PerNode(OneHotEncoder()), ChainSSVM(random_state=0)).fit(symbols, y)
    assert equal(round_trip(encoded).predict(symbols), encoded.predict(symbols))


def test_files_with_many_names_are_as_small_as_pickles():
    words = [[{"word": f"w{i}"}, {"word": f"w{i + 1}"}] for i in range(0, 2000, 2)]
    y = [["A", "B"]] * len(words)
    vectorizer = SequenceVectorizer()
    chains = ChainSSVM(lam=0.01, max_iter=2, tol=1.0).fit(vectorizer.fit_transform(words), y)
    names = make_pipeline(vectorizer, chains)
    labels = [[f"label {i}", f"label {i + 1}"] for i in range(0, 200, 2)]
    features = [np.eye(2)] * len(labels)
    many_labels = ChainSSVM(lam=0.01, max_iter=2, tol=1.0).fit(features, labels)
    for model in (vectorizer, names, many_labels):
        assert len(io.dumps(model)) < 2 * len(pickle.dumps(model)) + 10_000
    path = ssvm_path(ChainSSVM(), vectorizer.transform(words[:20]), y[:20], eps=0.9)
    assert len(io.dumps(path)) < 2 * len(pickle.dumps(path)) + 20_000
    again = round_trip(names)
    assert again[0].vocabulary_ == vectorizer.vocabulary_
    assert equal(again[1].feature_names_in_, chains.feature_names_in_)


def test_unknown_format(tiny_chains, monkeypatch):
    model = ChainSSVM(random_state=0).fit(*tiny_chains)
    monkeypatch.setattr("sstruct._estimators.core.base.PICKLE_FORMAT", 99)
    data = io.dumps(model)
    monkeypatch.undo()
    with pytest.raises(ValueError, match="in format 99; this version"):
        io.loads(data, trusted=io.get_untrusted_types(data=data))
