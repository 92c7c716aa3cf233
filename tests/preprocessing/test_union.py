"""FeatureUnion concatenates ragged features of each node."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, StandardScaler

from sstruct import ChainSSVM, GridCRFSSVM
from sstruct.preprocessing import PerNode, SequenceVectorizer
from sstruct.sequences import Sequences


def words_of(samples):
    return [[{"word": item["word"]} for item in sample] for sample in samples]


def vectors_of(samples):
    return [[item["vector"] for item in sample] for sample in samples]


RNG = np.random.default_rng(0)
Y = [RNG.integers(0, 3, n) for n in RNG.integers(1, 8, size=30)]
VECTORS = [np.eye(3)[y] + RNG.normal(0, 0.3, (len(y), 3)) for y in Y]
X = [
    [{"word": f"w{k}", "vector": list(vector)} for k, vector in zip(y, vectors)]
    for y, vectors in zip(Y, VECTORS)
]
WORDS = make_pipeline(FunctionTransformer(words_of), SequenceVectorizer())
SCALED = make_pipeline(FunctionTransformer(vectors_of), PerNode(StandardScaler()))


def joined_by_hand():
    words = SequenceVectorizer().fit_transform(words_of(X)).flat.toarray()
    flat = np.concatenate(VECTORS)
    return np.hstack([words, StandardScaler().fit_transform(flat)])


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_words_and_vectors(n_jobs):
    union = make_union(WORDS, SCALED, n_jobs=n_jobs)
    rows = union.fit_transform(X)
    assert rows.lengths.tolist() == [len(y) for y in Y]
    np.testing.assert_array_equal(rows.flat.toarray(), joined_by_hand())
    np.testing.assert_array_equal(union.transform(X[4:]).flat.toarray(), rows[4:].flat.toarray())


@pytest.mark.parametrize(
    "union",
    [
        make_union(WORDS, SCALED),
        make_union(SCALED, WORDS),
        make_union(SCALED, SCALED),
        make_union(WORDS, WORDS),
        make_union(WORDS, FunctionTransformer(vectors_of)),
    ],
)
def test_a_pipeline_with_a_union_fits_and_predicts_empty_samples(union):
    model = make_pipeline(union, ChainSSVM(random_state=0)).fit(X, Y)
    assert model.score(X, Y) > 0.9
    predicted = model.predict([[], X[3], []])
    assert [len(labels) for labels in predicted] == [0, len(Y[3]), 0]
    np.testing.assert_array_equal(predicted[1], model.predict(X)[3])
    assert len(model.predict([])) == 0
    assert [len(labels) for labels in model.predict([[], []])] == [0, 0]


def test_dense_parts_stay_dense_and_names_are_kept_if_all_have_some():
    frames = [pd.DataFrame(x, columns=list("abc")) for x in VECTORS]
    named = make_union(PerNode(StandardScaler()), PerNode(PCA(2))).fit_transform(frames)
    assert isinstance(named.flat, np.ndarray)
    assert named.feature_names.tolist() == ["a", "b", "c", "pca0", "pca1"]
    twice = make_union(PerNode(StandardScaler()), PerNode(MaxAbsScaler())).fit_transform(frames)
    assert twice.feature_names is None
    sequences = Sequences.from_list(VECTORS)
    both = make_union(PerNode(StandardScaler()), PerNode(MaxAbsScaler())).fit_transform(sequences)
    flat = np.concatenate(VECTORS)
    expected = [StandardScaler().fit_transform(flat), MaxAbsScaler().fit_transform(flat)]
    np.testing.assert_array_equal(both.flat, np.hstack(expected))


def test_edge_features_are_kept_once():
    pairs = [(x, np.arange(len(x) - 1.0)[:, np.newaxis]) for x in VECTORS]
    rows = make_union(PerNode(StandardScaler()), PerNode(PCA(1))).fit_transform(pairs)
    assert rows.shape == (len(Y), 4)
    np.testing.assert_array_equal(rows[2][1], pairs[2][1])
    other = PerNode(StandardScaler(), StandardScaler())
    with pytest.raises(ValueError, match="different edge features"):
        make_union(PerNode(StandardScaler()), other).fit_transform(pairs)
    wider = FunctionTransformer(lambda X: [(x, np.c_[e, e]) for x, e in X])
    with pytest.raises(ValueError, match="different edge features"):
        make_union(PerNode(StandardScaler()), wider).fit_transform(pairs)


def test_parts_that_do_not_fit_together():
    shorter = FunctionTransformer(lambda X: [x[:-1] if len(x) > 3 else x for x in X])
    first = next(i for i, y in enumerate(Y) if len(y) > 3)
    n = len(Y[first])
    union = make_union(PerNode(StandardScaler()), make_pipeline(shorter, PerNode(PCA(1))))
    with pytest.raises(ValueError, match=f"{n} and {n - 1} rows for sample {first},"):
        union.fit_transform(VECTORS)
    fewer = make_pipeline(FunctionTransformer(lambda X: X[1:]), PerNode(PCA(1)))
    with pytest.raises(ValueError, match="return 30 and 29 samples"):
        make_union(PerNode(StandardScaler()), fewer).fit_transform(VECTORS)
    first_column = FunctionTransformer(lambda X: [x[:, 0] for x in X])
    with pytest.raises(TypeError, match="expected sequences of feature arrays, found Sequences"):
        make_union(PerNode(StandardScaler()), first_column).fit_transform(VECTORS)


@pytest.mark.parametrize(
    "samples, kind",
    [
        ([np.ones((2, 3, 1)), np.zeros((2, 3, 1))], "images"),
        ([(np.eye(3), [[0, 1]]), (np.ones((3, 3)), [[0, 1]])], "graphs"),
    ],
)
def test_images_and_graphs_are_joined_inside(samples, kind):
    scalers = StandardScaler(), MaxAbsScaler()
    with pytest.raises(TypeError, match=rf"{kind} cannot be concatenated; .* PerNode\(make_union"):
        make_union(*map(PerNode, scalers)).fit_transform(samples)
    out = PerNode(make_union(*scalers)).fit_transform(samples)
    assert len(out) == 2


def test_other_functions_of_numpy_read_lists_of_arrays():
    sequences = Sequences.from_list([np.ones((2, 2)), np.zeros((1, 2))])
    assert np.ndim(sequences) == 1
    assert np.concatenate(sequences).shape == (3, 2)
    assert np.concatenate([sequences, sequences]).shape == (4,)
    listed = PerNode(StandardScaler()).fit_transform([np.eye(2), np.ones((2, 2))])
    assert isinstance(listed, list)
    assert np.shape(listed) == (2, 2, 2)
    assert isinstance(pickle.loads(pickle.dumps(listed)), list)


def test_features_and_labels_have_different_shapes():
    sequences = Sequences.from_list([np.ones((2, 3)), np.zeros((1, 3))])
    assert sequences.shape == (2, 3)
    assert sequences[:0].shape == (0, 3)
    assert Sequences.from_list([["a"], ["b", "c"]]).shape == (2,)
    assert Sequences(sparse.csr_array(np.eye(3)), [0, 3]).shape == (1, 3)


TEXTS = [["the dog ran", "a cat"], ["the cat sat", "dogs ran", "the end"]]


@pytest.mark.parametrize("vectorizer", [CountVectorizer(), TfidfVectorizer()])
def test_a_text_for_each_node(vectorizer):
    flat = [text for texts in TEXTS for text in texts]
    expected = vectorizer.fit_transform(flat).toarray()
    columns = make_column_transformer((vectorizer, 0), sparse_threshold=1)
    rows = PerNode(columns).fit_transform([[[text] for text in texts] for texts in TEXTS])
    np.testing.assert_array_equal(sparse.vstack(rows).toarray(), expected)
    frames = [pd.DataFrame({"text": texts, "length": map(len, texts)}) for texts in TEXTS]
    columns = make_column_transformer((vectorizer, "text"), (MaxAbsScaler(), ["length"]))
    out = PerNode(columns).fit_transform(frames)
    np.testing.assert_array_equal(np.vstack(out)[:, :-1], expected)
    model = make_pipeline(PerNode(columns), ChainSSVM(random_state=0))
    model.fit(frames, [["x", "y"], ["y", "x", "y"]])
    assert [len(p) for p in model.predict([frames[0][:0], frames[1], frames[0][:0]])] == [0, 3, 0]


def test_error_for_texts_without_column():
    with pytest.raises(ValueError, match=r"make_column_transformer\(\(TfidfVectorizer\(\), 0\)\)"):
        PerNode(TfidfVectorizer()).fit(TEXTS)


def test_grids_of_joined_channels():
    X, y = RNG.normal(size=(4, 3, 3, 2)), RNG.integers(0, 2, (4, 3, 3))
    union = PerNode(make_union(StandardScaler(), PCA(1)))
    model = make_pipeline(union, GridCRFSSVM(random_state=0)).fit(X, y)
    assert model.predict(X).shape == (4, 3, 3)


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_unions_do_not_return_data_frames(output):
    pytest.importorskip(output)
    rows = [np.arange(6.0).reshape(3, 2), np.ones((1, 2))]
    # Different names of columns: scikit-learn 1.6 cannot join data frames of polars otherwise.
    inside = PerNode(make_union(StandardScaler(), PCA(1)))
    expected = inside.fit_transform(rows)
    outside = make_union(PerNode(StandardScaler()), PerNode(MaxAbsScaler()))
    with config_context(transform_output=output):
        with pytest.raises(TypeError, match=f"as {output} data frames; set transform_output"):
            outside.fit_transform(rows)
        for found, array in zip(inside.fit_transform(rows), expected, strict=True):
            np.testing.assert_array_equal(found, array)
