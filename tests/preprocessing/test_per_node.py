"""PerNode applies a transformer to the nodes of sequences."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    Normalizer,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

from sstruct import ChainSSVM, Sequences
from sstruct._input.labels import object_array
from sstruct.preprocessing import PerNode

LENGTHS = (3, 1, 4, 2)


@pytest.fixture
def items(rng):
    return [np.round(rng.standard_normal((length, 3)), 1) for length in LENGTHS]


def dense(array):
    return array.toarray() if sparse.issparse(array) else np.asarray(array)


def nodes_of(items):
    """Return the rows of sequences, or the pixels of images."""
    return np.vstack([dense(item).reshape(-1, item.shape[-1]) for item in items])


def check(found, expected, like):
    """Check that `found` has the type of `like`, and that its nodes are the rows of `expected`."""
    assert isinstance(found, list if isinstance(like, tuple) else type(like))
    assert [item.shape[:-1] for item in found] == [np.shape(item)[:-1] for item in like]
    np.testing.assert_array_equal(nodes_of(found), dense(expected))


def containers(items):
    yield items
    yield tuple(items)
    yield object_array(items)
    if items[0].ndim == 2:
        yield Sequences.from_list(items)


@pytest.mark.parametrize("kind", ["sequences", "images"])
@pytest.mark.parametrize("transformer", [StandardScaler(), PCA(2), MaxAbsScaler()], ids=str)
def test_nodes_are_rows_of_one_array_in_every_container(rng, items, transformer, kind):
    if kind == "images":
        items = [rng.standard_normal((*shape, 3)) for shape in ((3, 2), (1, 4), (2, 2))]
    rows, first = nodes_of(items), nodes_of(items[:2])
    expected = clone(transformer).fit_transform(rows)
    fitted = clone(transformer).fit(rows)
    for X in containers(items):
        per_node = PerNode(transformer)
        check(per_node.fit_transform(X), expected, X)
        check(per_node.transform(X), fitted.transform(rows), X)
        check(per_node.transform(X[:2]), fitted.transform(first), X[:2])
        check(PerNode(transformer).fit(X).transform(X), fitted.transform(rows), X)
        back = per_node.inverse_transform(per_node.transform(X))
        check(back, fitted.inverse_transform(fitted.transform(rows)), X)
        assert per_node.n_features_in_ == 3
        assert not hasattr(transformer, "n_features_in_")
    lists = PerNode(transformer).fit_transform([item.tolist() for item in items])
    np.testing.assert_array_equal(nodes_of(lists), expected)


@pytest.mark.parametrize("transformer", [TfidfTransformer(), MaxAbsScaler()], ids=str)
def test_sparse_rows_stay_sparse(items, transformer):
    items = [sparse.csr_matrix(np.abs(item)) for item in items]
    expected = clone(transformer).fit_transform(sparse.vstack(items))
    for X in containers(items):
        found = PerNode(transformer).fit_transform(X)
        check(found, expected, X)
        assert all(sparse.issparse(item) and item.format == "csr" for item in found)


def test_samples_without_nodes_are_mapped_back(items):
    per_node = PerNode(PCA(2)).fit(items)
    for empty in ([], np.empty((0, 3))):
        out = per_node.transform([empty] * 2)
        assert [item.shape for item in out] == [(0, 2)] * 2
        assert [item.shape for item in per_node.inverse_transform(out)] == [(0, 3)] * 2
    with pytest.raises(ValueError, match=r"X\[0\] has 3 features, expected 2"):
        per_node.inverse_transform(items)


def test_stacked_arrays_and_rows(rng):
    X = rng.standard_normal((4, 5, 3))
    flat = X.reshape(20, 3)
    out = PerNode(PCA(2)).fit_transform(X)
    np.testing.assert_array_equal(out, PCA(2).fit_transform(flat).reshape(4, 5, 2))
    labels = rng.integers(0, 3, (4, 5, 1)).astype(str)
    out = PerNode(OneHotEncoder()).fit_transform(labels)
    assert isinstance(out, Sequences)
    assert out.lengths.tolist() == [5] * 4
    expected = OneHotEncoder().fit_transform(labels.reshape(20, 1)).toarray()
    np.testing.assert_array_equal(out.flat.toarray(), expected)
    out = PerNode(OneHotEncoder(sparse_output=False)).fit_transform(labels)
    np.testing.assert_array_equal(out, expected.reshape(4, 5, -1))
    rows = PerNode(StandardScaler()).fit_transform(flat)
    np.testing.assert_array_equal(rows, StandardScaler().fit_transform(flat))


def test_values_are_validated_by_the_transformer_only():
    X = [[["a", 1], ["b", 2]], [["a", 2]]]
    out = PerNode(OneHotEncoder(sparse_output=False)).fit_transform(X)
    assert [item.tolist() for item in out] == [[[1, 0, 1, 0], [0, 1, 0, 1]], [[1, 0, 0, 1]]]
    for words in (np.array([["a"], ["b"]]), np.array([["a"], ["b"]], dtype=object)):
        out = PerNode(OneHotEncoder(sparse_output=False)).fit_transform([words, words[1:]])
        assert [item.tolist() for item in out] == [[[1, 0], [0, 1]], [[0, 1]]]
    rows = PerNode(OneHotEncoder(sparse_output=False)).fit_transform([["a", "x"], ["b", "x"]])
    assert rows.tolist() == [[1, 0, 1], [0, 1, 1]]  # 2-D: chains of one node
    X = [np.array([[1.0], [np.nan]]), np.array([[3.0]])]
    assert PerNode(SimpleImputer()).fit_transform(X)[0].tolist() == [[1.0], [2.0]]
    assert [item.dtype for item in PerNode(FunctionTransformer()).fit_transform(X)] == [float] * 2
    with pytest.raises(ValueError, match="NaN"):
        PerNode(PCA()).fit(X)


def test_data_frames_are_transformed_by_column(rng):
    X = [pd.DataFrame({"word": list("abca"[:n]), "size": np.arange(n) + 1.0}) for n in (4, 1, 2)]
    inner = ColumnTransformer(
        [("words", OneHotEncoder(), ["word"]), ("sizes", MaxAbsScaler(), ["size"])],
        sparse_threshold=0,
    )
    per_node = PerNode(inner)
    out = per_node.fit_transform(X)
    check(out, clone(inner).fit_transform(pd.concat(X)), X)
    assert out[1].to_numpy().tolist() == [[1, 0, 0, 0.25]]
    assert per_node.feature_names_in_.tolist() == ["word", "size"]
    assert per_node.get_feature_names_out().tolist() == [
        "words__word_a", "words__word_b", "words__word_c", "sizes__size"
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"columns of X\[0\] are \['size', 'word'\]"):
        per_node.transform([X[0][["size", "word"]]])
    with pytest.raises(ValueError, match=r"columns of X\[1\] are"):
        PerNode(inner).fit([X[0], X[1].rename(columns={"size": "length"})])
    # A refit without names removes them.
    per_node.set_params(transformer=StandardScaler()).fit([[[1.0, 2.0]]])
    assert not hasattr(per_node, "feature_names_in_")


@pytest.mark.parametrize("transformer", [SelectKBest(k=1), LinearDiscriminantAnalysis()], ids=str)
def test_labels_are_flat_for_transformers_that_learn_from_them(items, transformer):
    y = [["a", "b", "a"], ["b"], ["b", "c", "a", "c"], ["c", "b"]]
    flat = clone(transformer).fit_transform(np.vstack(items), np.concatenate(y))
    check(PerNode(transformer).fit_transform(items, y), flat, items)
    check(PerNode(transformer).fit(items, Sequences.from_list(y)).transform(items), flat, items)
    with pytest.raises(ValueError, match=r"X\[1\] has 1 nodes but y\[1\] has 2 labels"):
        PerNode(transformer).fit(items, [y[0], y[0][:2], *y[2:]])


class Recorder(TransformerMixin, BaseEstimator):
    """A transformer that stores the arguments of fit."""

    def fit(self, X, y=None, sample_weight=None, groups=None, other=None):
        self.given_ = sample_weight, groups, other
        return self

    def transform(self, X):
        return X


def test_weights_are_repeated_for_nodes(items):
    weights = [2.0, 0.0, 1.0, 3.0]
    repeated = np.repeat(weights, LENGTHS)
    fitted = PerNode(StandardScaler()).fit(items, sample_weight=weights)
    expected = StandardScaler().fit(np.vstack(items), sample_weight=repeated)
    np.testing.assert_array_equal(fitted.transformer_.mean_, expected.mean_)
    pipeline = make_pipeline(PerNode(StandardScaler()), ChainSSVM(random_state=0))
    y = [[0, 1, 0], [1], [0, 1, 1, 0], [1, 0]]
    pipeline.fit(items, y, pernode__sample_weight=weights)
    np.testing.assert_array_equal(pipeline[0].transformer_.mean_, expected.mean_)
    for method in ("fit", "fit_transform"):
        recorder = PerNode(Recorder())
        getattr(recorder, method)(
            items, sample_weight=weights, groups=pd.Series(list("pqrs")), other=[1, [2, 3], 4, 5]
        )
        sample_weight, groups, other = recorder.transformer_.given_
        np.testing.assert_array_equal(sample_weight, repeated)
        assert "".join(groups) == "pppqrrrrss"
        assert other == [1, [2, 3], 4, 5]
    with pytest.raises(ValueError, match=r"sample_weight has shape \(3,\)"):
        PerNode(StandardScaler()).fit(items, sample_weight=weights[:3])
    rows = PerNode(StandardScaler()).fit(items[0], sample_weight=weights[:3])
    expected = StandardScaler().fit(items[0], sample_weight=weights[:3])
    np.testing.assert_array_equal(rows.transformer_.mean_, expected.mean_)


def test_node_weights_match_row_weights(items, rng):
    weights = [rng.random(length) for length in LENGTHS]
    expected = StandardScaler().fit(np.vstack(items), sample_weight=np.concatenate(weights)).mean_
    for given in (weights, Sequences.from_list(weights), pd.Series(weights)):
        fitted = PerNode(StandardScaler()).fit(items, sample_weight=given)
        np.testing.assert_array_equal(fitted.transformer_.mean_, expected)
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(
            PerNode(StandardScaler().set_fit_request(sample_weight=True)),
            ChainSSVM(random_state=0).set_fit_request(sample_weight=True),
        ).fit(items, [[0, 1, 0], [1], [0, 1, 1, 0], [1, 0]], sample_weight=weights)
    np.testing.assert_array_equal(pipeline[0].transformer_.mean_, expected)
    with pytest.raises(ValueError, match=r"sample_weight\[2\] has shape \(3,\), expected \(4,\)"):
        PerNode(StandardScaler()).fit(items, sample_weight=[*weights[:2], weights[2][1:], [1, 1]])


def test_pixel_weights_match_row_weights(rng):
    images, weights = rng.standard_normal((3, 2, 4, 2)), rng.random((3, 2, 4))
    expected = StandardScaler().fit(images.reshape(-1, 2), sample_weight=weights.ravel()).mean_
    for X, given in ((images, weights), (list(images), list(weights))):
        fitted = PerNode(StandardScaler()).fit(X, sample_weight=given)
        np.testing.assert_array_equal(fitted.transformer_.mean_, expected)
        with pytest.raises(ValueError, match=r"X\[0\] is an image of shape \(2, 4\) but sample_w"):
            PerNode(StandardScaler()).fit(X, sample_weight=weights.transpose(0, 2, 1))
        with pytest.raises(ValueError, match="X has 3 samples but sample_weight has 2"):
            PerNode(StandardScaler()).fit(X, sample_weight=given[:2])


def test_edges_have_no_weights_of_nodes(rng):
    graph = rng.random((2, 2)), np.array([[0, 1]]), rng.random((1, 2))
    both = PerNode(StandardScaler(), StandardScaler())
    both.fit([graph] * 2, sample_weight=[1.0, 2.0])
    with pytest.raises(ValueError, match="node weights, which edge_transformer"):
        both.fit([graph] * 2, sample_weight=[[1.0, 2.0], [1.0, 1.0]])


class Once(BaseEstimator):
    """A transformer with its own fit_transform, without TransformerMixin."""

    def fit(self, X, y=None):
        self.how_ = "fit"
        return self

    def fit_transform(self, X, y=None):
        self.how_ = "fit_transform"
        return X

    def transform(self, X):
        return X[:, :1]


class Apart(BaseEstimator):
    """A transformer without fit_transform."""

    def fit(self, X, y=None, sample_weight=None):
        self.sum_ = np.sum(sample_weight)
        return self

    def transform(self, X):
        return X + self.sum_


def test_fit_transform_of_the_transformer_is_used(items):
    per_node = PerNode(Once())
    check(per_node.fit_transform(items), np.vstack(items), items)
    assert per_node.transformer_.how_ == "fit_transform"
    assert per_node.fit(items).transformer_.how_ == "fit"
    check(per_node.transform(items), np.vstack(items)[:, :1], items)
    assert per_node.n_features_in_ == 3
    assert not hasattr(per_node, "inverse_transform")
    assert not hasattr(per_node, "get_feature_names_out")
    weights = [1.0, 0.0, 2.0, 0.0]  # 3 and 4 nodes
    out = PerNode(Apart()).fit_transform(items, sample_weight=weights)
    check(out, np.vstack(items) + 11, items)
    with config_context(enable_metadata_routing=True):
        asks = Apart().set_fit_request(sample_weight=True)
        out = PerNode(asks).fit_transform(items, sample_weight=weights)
        check(out, np.vstack(items) + 11, items)


@pytest.mark.parametrize(
    "change, error, message",
    [
        (lambda X: X.__setitem__(2, X[2][:, :2]), ValueError, r"X\[2\] has 2 features, expected 3"),
        (lambda X: X.__setitem__(1, X[1][:0, :2]), ValueError, r"X\[1\] has 2 features"),
        (lambda X: X.__setitem__(3, X[3][0]), ValueError, r"X\[3\] has 1 dimensions, expected 2"),
        (
            lambda X: X.__setitem__(2, sparse.csr_matrix(X[2])),
            TypeError,
            "has sparse and dense arrays",
        ),
        (lambda X: X.__setitem__(1, [[1, 2, 3], [4]]), ValueError, r"X\[1\] is not a"),
    ],
)
def test_invalid_sequences_leave_transformer_unchanged(items, change, error, message):
    fitted = PerNode(StandardScaler()).fit(items)
    before = pickle.dumps(fitted)
    change(items)
    for per_node in (PerNode(StandardScaler()), fitted):
        with pytest.raises(error, match=message):
            per_node.fit(items)
    with pytest.raises(error, match=message):
        fitted.transform(items)
    assert pickle.dumps(fitted) == before


def test_other_bad_input(items):
    for X, message in (([], "X is empty"), ([[], np.ones((0, 3))], "X has no nodes")):
        with pytest.raises(ValueError, match=message):
            PerNode(StandardScaler()).fit(X)
    per_node = PerNode(StandardScaler()).fit(items)
    with pytest.raises(ValueError, match=r"X\[0\] has 2 features, expected 3"):
        per_node.transform([items[0][:, :2]])
    with pytest.raises(ValueError, match=r"X\[0\] has 2 features, expected 3"):
        per_node.transform(Sequences.from_list([items[0][:, :2]]))
    with pytest.raises(TypeError, match="SequenceVectorizer to convert dicts"):
        per_node.fit([[{"a": 1}], [{"b": 1}, {}]])
    with pytest.raises(ValueError, match=r"X\[0\] is 1-D with 2 entries"):
        PerNode(OneHotEncoder()).fit([["a", "b"], ["c"]])
    for transformer in (StandardScaler(), Normalizer()):  # the latter requires no fit
        with pytest.raises(NotFittedError):
            PerNode(transformer).transform(items)
    for wrong in (StandardScaler, None, "passthrough", ChainSSVM()):
        with pytest.raises(TypeError, match="transformer must be a transformer, found"):
            PerNode(wrong).fit(items)
    halves = PerNode(FunctionTransformer(lambda X: X[::2]))
    with pytest.raises(ValueError, match=r"shape \(5, 3\) for 10 nodes, expected one row per node"):
        halves.fit_transform(items)
    assert not hasattr(halves, "transformer_")
    with pytest.raises(ValueError, match=r"shape \(10,\) for 10 nodes"):
        PerNode(FunctionTransformer(lambda X: X[:, 0])).fit_transform(items)


def test_ragged_output_is_not_a_data_frame(items):
    expected = StandardScaler().fit_transform(np.vstack(items))
    assert not hasattr(PerNode(StandardScaler()), "set_output")
    with config_context(transform_output="pandas"):
        check(PerNode(StandardScaler()).fit_transform(items), expected, items)
    inner = StandardScaler().set_output(transform="pandas")
    out = PerNode(inner).fit(items).transform(items)
    check(out, expected, items)
    assert isinstance(out[0], np.ndarray)


def test_parameters_nest_and_state_is_plain(items):
    per_node = PerNode(StandardScaler()).set_params(transformer__with_mean=False)
    assert per_node.get_params()["transformer__with_mean"] is False
    copy = clone(per_node.fit(items))
    assert copy.transformer.with_mean is False
    assert not hasattr(copy, "transformer_")
    again = pickle.loads(pickle.dumps(per_node))
    check(again.transform(items), np.vstack(per_node.transform(items)), items)
    assert per_node.get_feature_names_out(["a", "b", "c"]).tolist() == ["a", "b", "c"]
    assert "StandardScaler" in repr(per_node)


@parametrize_with_checks([PerNode(StandardScaler()), PerNode(PCA(1)), PerNode(SelectKBest(k=1))])
def test_rows_pass_the_checks_of_the_transformer(estimator, check):
    check(estimator)
