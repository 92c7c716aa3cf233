"""Transformers pass names of features on to the next estimator."""

import pickle
from copy import copy, deepcopy

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder, StandardScaler

from sstruct import ChainSSVM, GraphCRFSSVM, Sequences
from sstruct._input.labels import object_array
from sstruct.preprocessing import PerNode, SequenceVectorizer

DICTS = [
    [{"w": "the", "upper": True}, {"w": "dog"}, {"w": "runs", "size": 4}],
    [{"w": "a"}, {"w": "dog"}],
    [{"w": "the"}],
]
TAGS = [["D", "N", "V"], ["D", "N"], ["D"]]
WORDS = ["w:the", "upper", "w:dog", "w:runs", "size", "w:a"]
LENGTHS = (3, 1, 4, 2)
CHAIN = ChainSSVM(lam=0.1, random_state=0)


@pytest.fixture
def arrays(rng):
    return [rng.standard_normal((length, 3)) for length in LENGTHS]


@pytest.fixture
def y(rng):
    return [rng.integers(0, 2, length).tolist() for length in LENGTHS]


@pytest.fixture(params=["pandas", "polars"])
def module(request):
    return pytest.importorskip(request.param)


def frames(module, arrays, names=("wide", "high", "deep")):
    return [module.DataFrame(dict(zip(names, item.T, strict=True))) for item in arrays]


def features_of(model, kind="coef"):
    frame = model.to_frame()
    return frame.feature[frame.kind == kind].unique().tolist()


def test_estimator_has_names_of_vectorizer():
    pytest.importorskip("pandas")
    pipeline = make_pipeline(SequenceVectorizer(), clone(CHAIN)).fit(DICTS, TAGS)
    names = pipeline[:-1].get_feature_names_out()
    assert names.tolist() == pipeline[-1].feature_names_in_.tolist() == WORDS
    frame = pipeline[-1].to_frame()
    assert features_of(pipeline[-1]) == WORDS
    assert frame.equals(pipeline[-1].to_frame(feature_names=names))
    row = frame.query("kind == 'coef' and label == 'V' and feature == 'w:runs'")
    assert row.weight.tolist() == [pipeline[-1].coef_[2, 3]]
    # With a transformer in between, and after unpickling, the steps share the array of names.
    middle = PerNode(MaxAbsScaler())
    pipeline = make_pipeline(SequenceVectorizer(min_count=2), middle, clone(CHAIN)).fit(DICTS, TAGS)
    pipeline = pickle.loads(pickle.dumps(pipeline))
    assert pipeline[:-1].get_feature_names_out().tolist() == ["w:the", "w:dog"]
    assert pipeline[1].feature_names_in_.tolist() == ["w:the", "w:dog"]
    assert pipeline[-1].feature_names_in_.tolist() == ["w:the", "w:dog"]
    assert pipeline[1].feature_names_in_ is pipeline[0].transform(DICTS).feature_names
    pipeline.predict(DICTS)


def test_rows_of_another_vectorizer_raise():
    model = ChainSSVM(lam=0.1).fit(SequenceVectorizer().fit_transform(DICTS), TAGS)
    other = [[{"w": "x"}, {"w": "dog"}], [{"w": "runs"}, {"size": 1, "upper": 1}, {"w": "a"}]]
    rows = SequenceVectorizer().fit_transform(other)
    with pytest.raises(
        ValueError, match=r"columns of X are \['w:x', .* expected those seen in fit"
    ):
        model.predict(rows)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(Sequences(rows.flat, rows.offsets))
    many = [[{f"w{k}": 1 for k in range(1000)}]]
    model = ChainSSVM(lam=0.1, classes=[0, 1]).fit(SequenceVectorizer().fit_transform(many), [[0]])
    many = [[{f"w{k}": 1 for k in (*range(999), 1000)}]]
    with pytest.raises(ValueError, match="column 999 is 'w1000', not 'w999'") as caught:
        model.predict(SequenceVectorizer().fit_transform(many))
    assert len(str(caught.value)) < 200


def test_estimator_has_names_of_frames(module, arrays, y):
    pytest.importorskip("pandas")
    X = frames(module, arrays)
    pipeline = make_pipeline(PerNode(StandardScaler()), clone(CHAIN)).fit(X, y)
    scaled = [item.to_numpy() for item in pipeline[0].transform(X)]
    model = clone(CHAIN).fit(scaled, y)
    np.testing.assert_array_equal(pipeline[-1].w_, model.w_)
    assert pipeline[0].feature_names_in_.tolist() == ["wide", "high", "deep"]
    assert pipeline[-1].feature_names_in_.tolist() == ["wide", "high", "deep"]
    assert pipeline[:-1].get_feature_names_out().tolist() == ["wide", "high", "deep"]
    assert features_of(pipeline[-1]) == ["wide", "high", "deep"]
    found = pipeline.predict(X)
    assert [labels.tolist() for labels in found] == [z.tolist() for z in model.predict(scaled)]
    # Arrays have no names, but `to_frame` accepts names.
    expected = make_pipeline(PerNode(StandardScaler()), clone(CHAIN)).fit(arrays, y)
    names = expected[:-1].get_feature_names_out(["p", "q", "r"])
    frame = expected[-1].to_frame(feature_names=names)
    assert frame.feature[frame.kind == "coef"].tolist() == ["p", "q", "r"] * 2
    assert not hasattr(expected[-1], "feature_names_in_")
    grid = {"chainssvm__lam": [0.1, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X, y)
    assert search.best_estimator_[-1].feature_names_in_.tolist() == ["wide", "high", "deep"]


def test_output_for_frames_is_frames(module, arrays):
    X = frames(module, arrays)
    if module.__name__ == "pandas":
        for i, item in enumerate(X):
            item.index = [f"{i}, {t}" for t in range(len(item))]
    inner = PCA(2, random_state=0).set_output(transform="default")
    expected = inner.fit_transform(module.concat(X).to_numpy())
    expected = np.split(expected, np.cumsum(LENGTHS)[:-1])
    for given in (X, np.array([None, *X], dtype=object)[1:]):
        per_node = PerNode(PCA(2, random_state=0))
        for out in (per_node.fit_transform(given), per_node.transform(given)):
            assert isinstance(out, type(given))
            assert len(out) == len(expected)
            for item, source, values in zip(out, X, expected, strict=True):
                assert isinstance(item, module.DataFrame)
                assert list(item.columns) == ["pca0", "pca1"]
                np.testing.assert_allclose(item.to_numpy(), values, rtol=1e-12, atol=1e-12)
                assert module.__name__ != "pandas" or item.index.equals(source.index)
    scaler = PerNode(StandardScaler()).fit(X)
    back = scaler.inverse_transform(scaler.transform(X))
    for item, source in zip(back, X, strict=True):
        assert list(item.columns) == list(source.columns)
        np.testing.assert_allclose(item.to_numpy(), source.to_numpy(), rtol=1e-12, atol=1e-12)


def test_frames_of_the_transformer_are_returned_unchanged(module):
    X = [
        module.DataFrame({"word": list("abca"[:n]), "size": [1.0 + k for k in range(n)]})
        for n in (4, 1, 2)
    ]
    keeps = ColumnTransformer(
        [("words", FunctionTransformer(feature_names_out="one-to-one"), ["word"])],
        remainder=MaxAbsScaler(), verbose_feature_names_out=False,
    )  # fmt: skip
    out = PerNode(keeps.set_output(transform=module.__name__)).fit_transform(X)
    assert [list(item.columns) for item in out] == [["word", "size"]] * 3
    assert out[0]["size"].to_numpy().dtype == np.float64
    assert out[0]["word"].to_list() == list("abca")
    assert out[2]["size"].to_list() == [0.25, 0.5]


def test_output_without_names(module, arrays, y):
    X = frames(module, arrays)
    for transformer in (FunctionTransformer(), FunctionTransformer(np.abs)):
        out = PerNode(transformer).fit_transform([item.to_numpy() for item in X])
        assert all(isinstance(item, np.ndarray) for item in out)
    nameless = PerNode(FunctionTransformer(lambda rows: np.asarray(rows) ** 2))
    out = nameless.fit_transform(X)
    assert all(isinstance(item, np.ndarray) for item in out)
    hidden = PerNode(make_pipeline(StandardScaler(), FunctionTransformer(np.asarray)))
    assert all(isinstance(item, np.ndarray) for item in hidden.fit_transform(X))
    words = [module.DataFrame({"word": list("ab")}), module.DataFrame({"word": ["a"]})]
    out = PerNode(OneHotEncoder()).fit_transform(words)
    assert all(sparse.issparse(item) for item in out)
    # If fitted on frames and applied to arrays, the output has no names.
    scaler = PerNode(StandardScaler()).fit(X)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        out = scaler.transform(arrays)
    assert all(isinstance(item, np.ndarray) for item in out)


def test_selected_columns_keep_their_names(module, arrays, y):
    pytest.importorskip("pandas")
    pipeline = make_pipeline(PerNode(SelectKBest(k=2)), clone(CHAIN)).fit(frames(module, arrays), y)
    names = pipeline[:-1].get_feature_names_out().tolist()
    assert len(names) == 2
    assert features_of(pipeline[-1]) == names == pipeline[-1].feature_names_in_.tolist()


def test_vectorizer_uses_rows_of_frames_as_dicts(module):
    dicts = [[{"w": "the", "size": 3.0, "up": True}, {"w": "dog", "size": 0.0, "up": False}]]
    dicts.append([{"w": "a", "size": 2.0, "up": False}])
    expected = SequenceVectorizer().fit_transform(dicts)
    column = module.Series(dicts)
    for X in ([module.DataFrame(items) for items in dicts], column):
        vectorizer = SequenceVectorizer()
        for found in (vectorizer.fit_transform(X), vectorizer.transform(X)):
            np.testing.assert_array_equal(found.flat.toarray(), expected.flat.toarray())
            assert found.lengths.tolist() == [2, 1]
            assert found.feature_names.tolist() == expected.feature_names.tolist()
    with pytest.raises(TypeError, match=r"X is a single data frame, .* use \[X\]"):
        SequenceVectorizer().fit(module.DataFrame(dicts[0]))
    missing = module.DataFrame({"w": ["the", None]})
    with pytest.warns(UserWarning, match=r"X has 1 missing value .* the first is of 'w'"):
        assert list(SequenceVectorizer().fit([missing]).vocabulary_) == ["w:the"]


def test_estimator_has_names_of_graph_nodes(module, arrays, y):
    pytest.importorskip("pandas")
    edges = [np.array([[t, t + 1] for t in range(length - 1)]).reshape(-1, 2) for length in LENGTHS]
    X = list(zip(frames(module, arrays), edges))
    scaler = PerNode(StandardScaler())
    pipeline = make_pipeline(scaler, GraphCRFSSVM(lam=0.1, random_state=0)).fit(X, y)
    assert features_of(pipeline[-1]) == ["wide", "high", "deep"]
    assert pipeline[:-1].get_feature_names_out().tolist() == ["wide", "high", "deep"]
    out = scaler.fit_transform(X)
    assert all(isinstance(graph[0], module.DataFrame) for graph in out)
    column = object_array(X)
    if module.__name__ == "pandas":
        for graph, expected in zip(scaler.transform(module.Series(column)), out, strict=True):
            np.testing.assert_array_equal(graph[0].to_numpy(), expected[0].to_numpy())


def test_output_for_series_is_list(arrays):
    pd = pytest.importorskip("pandas")
    series = pd.Series(object_array(arrays), index=range(7, 7 + len(arrays)))
    per_node = PerNode(StandardScaler())
    expected = PerNode(StandardScaler()).fit_transform(arrays)
    for out in (per_node.fit_transform(series), per_node.transform(series)):
        assert isinstance(out, list)
        for item, values in zip(out, expected, strict=True):
            np.testing.assert_array_equal(item, values)


def test_sequences_have_the_names_of_frames(module, arrays):
    X = frames(module, arrays)
    whole = module.concat(X)
    for sequences in (
        Sequences.from_list(X),
        Sequences.from_lengths(whole, LENGTHS),
        Sequences.from_lengths(whole.to_numpy(), LENGTHS, feature_names=list(whole.columns)),
        Sequences(
            sparse.csr_array(whole.to_numpy()), [0, 3, 4, 8, 10], feature_names=whole.columns
        ),
    ):
        assert sequences.feature_names.tolist() == ["wide", "high", "deep"]
        for part in (sequences[1:], sequences[[2, 0]], sequences[::-1], sequences[...]):
            assert part.feature_names is sequences.feature_names
        again = pickle.loads(pickle.dumps(sequences))
        assert again.feature_names.tolist() == ["wide", "high", "deep"]
        model = ChainSSVM(lam=1.0, classes=[0, 1], random_state=0)
        y = [[0, 1, 1, 0][:length] for length in LENGTHS]
        assert model.fit(sequences, y).feature_names_in_.tolist() == ["wide", "high", "deep"]
        out = PerNode(MaxAbsScaler()).fit_transform(sequences)
        assert out.feature_names.tolist() == ["wide", "high", "deep"]
    assert Sequences.from_list(arrays).feature_names is None
    nested = Sequences.from_list(module.Series([item.tolist() for item in arrays]))
    np.testing.assert_array_equal(nested.flat, np.vstack(arrays))
    labels = Sequences.from_list(module.Series([["a", "b"], ["c"]]))
    assert (labels.flat.tolist(), labels.lengths.tolist()) == (["a", "b", "c"], [2, 1])
    other = [X[0], frames(module, arrays, ["long", "high", "deep"])[1]]
    with pytest.raises(ValueError, match=r"columns of items\[1\] are \['long', 'high', 'deep'\]"):
        Sequences.from_list(other)


@pytest.mark.parametrize(
    "names", [["a", "b"], ["", ""], ["", "ä\nb"], ["a\0b", "c"], ["\0", ""], [""]]
)
def test_pickles_and_copies_keep_names(names):
    sequences = Sequences(np.ones((3, len(names))), [0, 1, 3], feature_names=names)
    for again in (pickle.loads(pickle.dumps(sequences)), copy(sequences), deepcopy(sequences)):
        assert again.feature_names.tolist() == names
        np.testing.assert_array_equal(again.flat, sequences.flat)
        assert again.offsets.tolist() == [0, 1, 3]
    empty = pickle.loads(pickle.dumps(Sequences(np.ones((3, 0)), [0, 3], feature_names=[])))
    assert len(empty.feature_names) == 0
    assert pickle.loads(pickle.dumps(Sequences(np.ones((3, 1)), [0, 3]))).feature_names is None


def test_invalid_feature_names():
    for names in (["a"], ["a", "b", "c"], "ab", [["a", "b"]]):
        with pytest.raises(ValueError, match=r"feature_names has shape .* for 2 columns"):
            Sequences(np.eye(2), [0, 2], feature_names=names)
    with pytest.raises(TypeError, match=r"feature_names\[1\] is 3, expected a string"):
        Sequences(np.eye(2), [0, 2], feature_names=["a", 3])
    with pytest.raises(ValueError, match="for labels, which have no columns"):
        Sequences(["a", "b"], [0, 2], feature_names=["a"])
