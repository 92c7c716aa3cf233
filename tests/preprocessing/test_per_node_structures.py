"""Test that PerNode transforms the nodes and edges of images and graphs as rows."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder, StandardScaler

from sstruct import ChainSSVM, GraphCRFSSVM, Sequences
from sstruct._input.labels import object_array
from sstruct.preprocessing import PerNode
from tests.preprocessing.test_per_node import Recorder, nodes_of

SHAPES = (3, 2), (1, 4), (2, 2)
V = (3, 1, 4, 2)


@pytest.fixture
def images(rng):
    return [rng.standard_normal((*shape, 3)) * [1, 50, 0.1] for shape in SHAPES]


@pytest.fixture
def graphs(rng):
    """Return four graphs with 2 edge features, one of them without edges, one with node sizes."""
    out = []
    for i, v in enumerate(V):
        edges = np.array([(a, a + 1) for a in range(v - 1)]).reshape(-1, 2)
        parts = rng.standard_normal((v, 3)) + 5, edges, 100 * rng.random((v - 1, 2))
        out.append((*parts, np.arange(1.0, v + 1)) if i == 2 else parts)
    return out


def test_images_of_one_size_stay_one_array(rng):
    X = rng.standard_normal((4, 3, 2, 5)).astype(np.float32)
    out = PerNode(PCA(2)).fit_transform(X)
    assert out.shape == (4, 3, 2, 2)
    np.testing.assert_array_equal(out.reshape(-1, 2), PCA(2).fit_transform(X.reshape(-1, 5)))
    assert PerNode(StandardScaler()).fit_transform(X).dtype == np.float32
    # A 3-D array contains sequences, not images.
    assert PerNode(PCA(2)).fit_transform(X[0]).shape == (3, 2, 2)


def test_nodes_and_edges_of_graphs(graphs):
    rows, edge_rows = np.vstack([g[0] for g in graphs]), np.vstack([g[2] for g in graphs])
    for X in (graphs, object_array(graphs)):
        per_node = PerNode(StandardScaler(), MaxAbsScaler())
        for out in (per_node.fit_transform(X), per_node.transform(X)):
            assert isinstance(out, type(X))
            assert [len(graph) for graph in out] == [3, 3, 4, 3]
            new = np.vstack([g[0] for g in out])
            np.testing.assert_array_equal(new, StandardScaler().fit_transform(rows))
            new = np.vstack([g[2] for g in out])
            np.testing.assert_array_equal(new, MaxAbsScaler().fit_transform(edge_rows))
            for a, b in zip(out, X):
                assert a[1] is b[1]
                assert a[3:] == b[3:]
        back = per_node.inverse_transform(out)
        np.testing.assert_allclose(np.vstack([g[2] for g in back]), edge_rows, rtol=1e-12)
    alone = PerNode(StandardScaler()).fit_transform(graphs)
    assert all(a[2] is b[2] for a, b in zip(alone, graphs))
    assert not hasattr(PerNode(StandardScaler()).fit(graphs), "edge_transformer_")


def test_edge_features_may_be_missing_or_change_their_number(graphs):
    graphs[0] = graphs[0][:2]
    graphs[3] = (*graphs[3][:2], None, np.ones(2))
    graphs.append((np.ones((1, 3)), np.zeros((0, 2), int), []))
    per_node = PerNode(StandardScaler(), PCA(1))
    out = per_node.fit_transform(graphs)
    assert [len(graph) for graph in out] == [2, 3, 4, 4, 3]
    assert out[3][2] is None
    assert [out[i][2].shape for i in (1, 2, 4)] == [(0, 1), (3, 1), (0, 1)]
    assert len(per_node.transform(graphs[:1])) == 1  # none of these has any
    for last in (graphs[-1], (*graphs[-1][:2], np.zeros((0, 2)))):
        assert per_node.transform([last])[0][2].shape == (0, 1)
        assert per_node.inverse_transform(per_node.transform([last]))[0][2].shape == (0, 2)
    labels = [np.arange(len(g[0])) % 2 for g in graphs]
    with pytest.raises(ValueError, match=r"X\[0\] has no edge features"):
        GraphCRFSSVM(pairwise="directed").fit(out, labels)
    GraphCRFSSVM(pairwise="directed", lam=1).fit(
        [out[i] for i in (1, 2, 4)], [labels[1], labels[2], [0]]
    )


@pytest.mark.parametrize("edges", [PCA(1), FunctionTransformer(lambda rows: rows[:, :1])])
def test_predictions_without_edges(graphs, edges):
    labels = [np.arange(len(g[0])) % 2 for g in graphs]
    model = make_pipeline(PerNode(StandardScaler(), edges), GraphCRFSSVM(pairwise="directed"))
    assert len(model.fit(graphs, labels).predict([(np.ones((1, 3)), [], np.zeros((0, 2)))])) == 1
    chains = [(x, np.eye(len(x), 2)[1:]) for x in (np.eye(4, 3), np.eye(3))]
    model = make_pipeline(PerNode(StandardScaler(), edges), ChainSSVM())
    model.fit(chains, [[0, 1, 0, 1], [1, 0, 1]])
    for empty in (np.zeros((0, 2)), []):
        assert len(model.predict([(np.ones((1, 3)), empty)])[0]) == 1
    with pytest.raises(ValueError, match="found sequences without edge features"):
        model.fit([(x[:1], e[:0]) for x, e in chains], [[0], [1]])


def test_node_features_of_graphs_may_be_sparse_or_frames(graphs):
    expected = MaxAbsScaler().fit_transform(np.vstack([g[0] for g in graphs]))
    rows = [(sparse.csr_matrix(g[0]), *g[1:]) for g in graphs]
    out = PerNode(MaxAbsScaler()).fit_transform(rows)
    of_sparse = MaxAbsScaler().fit_transform(sparse.vstack([g[0] for g in rows]))
    np.testing.assert_array_equal(sparse.vstack([g[0] for g in out]).toarray(), of_sparse.toarray())
    frames = [(pd.DataFrame(g[0], columns=list("abc")), *g[1:]) for g in graphs]
    per_node = PerNode(MaxAbsScaler())
    np.testing.assert_array_equal(
        np.vstack([g[0] for g in per_node.fit_transform(frames)]), expected
    )
    assert per_node.feature_names_in_.tolist() == ["a", "b", "c"]
    lists = [(g[0].tolist(), g[1].tolist(), g[2].tolist()) for g in graphs]
    out = PerNode(MaxAbsScaler(), MaxAbsScaler()).fit_transform(lists)
    np.testing.assert_array_equal(np.vstack([g[0] for g in out]), expected)
    parts = [list(g) for g in graphs]  # a graph as a list of its arrays
    out = PerNode(MaxAbsScaler()).fit_transform(parts)
    np.testing.assert_array_equal(np.vstack([g[0] for g in out]), expected)


def test_labels_of_pixels_and_nodes_are_flat(images, graphs, rng):
    select = SelectKBest(k=1)
    y = [rng.integers(0, 2, shape) for shape in SHAPES]
    expected = select.fit_transform(nodes_of(images), np.concatenate([v.ravel() for v in y]))
    np.testing.assert_array_equal(nodes_of(PerNode(select).fit_transform(images, y)), expected)
    with pytest.raises(ValueError, match=r"X\[1\] is an image of shape \(1, 4\) but y\[1\] has"):
        PerNode(select).fit(images, [y[0], y[2], y[2]])
    with pytest.raises(ValueError, match="X has 3 samples but y has 2"):
        PerNode(select).fit(images, y[:2])
    y = [rng.integers(0, 2, v) for v in V]
    rows = np.vstack([g[0] for g in graphs])
    out = PerNode(select, PCA(1)).fit_transform(graphs, y)
    expected = select.fit_transform(rows, np.concatenate(y))
    np.testing.assert_array_equal(np.vstack([g[0] for g in out]), expected)


class Plain(TransformerMixin, BaseEstimator):
    """A transformer whose fit accepts only X and y."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


def test_weights_are_repeated_for_pixels_nodes_and_edges(images, graphs):
    fitted = PerNode(Recorder()).fit(images, sample_weight=[1, 2, 3], groups=np.array(list("pqr")))
    weights, groups, _ = fitted.transformer_.given_
    np.testing.assert_array_equal(weights, np.repeat([1, 2, 3], [6, 4, 4]))
    assert "".join(groups) == "ppppppqqqqrrrr"
    weights, groups = [1.0, 2.0, 0.0, 5.0], np.array(list("pqrs"))
    for method in ("fit", "fit_transform"):
        per_node = PerNode(Recorder(), Recorder())
        getattr(per_node, method)(graphs, sample_weight=weights, groups=groups)
        found, names, _ = per_node.transformer_.given_
        np.testing.assert_array_equal(found, np.repeat(weights, V))
        assert "".join(names) == "pppqrrrrss"
        found, names, _ = per_node.edge_transformer_.given_
        np.testing.assert_array_equal(found, [1, 1, 0, 0, 0, 5])
        assert "".join(names) == "pprrrs"
    # Weights are not passed to a transformer of edges that does not accept them.
    PerNode(Recorder(), Plain()).fit(graphs, sample_weight=weights)
    with pytest.raises(ValueError, match=r"sample_weight has shape \(3,\)"):
        PerNode(Plain(), Recorder()).fit(graphs, sample_weight=weights[:3])


@pytest.mark.parametrize("asks", [(True, True), (True, False), (False, True)])
def test_metadata_are_routed_to_each_transformer_that_requests_them(graphs, asks):
    weights = np.array([1.0, 2.0, 0.0, 5.0])
    y = [np.arange(v) % 2 for v in V]
    with config_context(enable_metadata_routing=True):
        inner = [Recorder().set_fit_request(sample_weight=ask) for ask in asks]
        model = GraphCRFSSVM(lam=1).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(PerNode(*inner), model)
        pipeline.fit(graphs, y, sample_weight=weights)
        alone = PerNode(*inner).fit(graphs, sample_weight=weights)
        for per_node in (pipeline[0], alone):
            for fitted, ask, lengths in (
                (per_node.transformer_, asks[0], V),
                (per_node.edge_transformer_, asks[1], [2, 0, 3, 1]),
            ):
                found = fitted.given_[0]
                if ask:
                    np.testing.assert_array_equal(found, np.repeat(weights, lengths))
                else:
                    assert found is None
        router = PerNode(*inner).get_metadata_routing()
        assert router.consumes("fit", ["sample_weight"]) == {"sample_weight"}
        with pytest.raises(ValueError, match="sample_weight"):
            PerNode(Plain(), Recorder()).fit(graphs, sample_weight=weights)


@pytest.mark.parametrize(
    "X, message",
    [
        ([np.ones((2, 2, 3)), np.ones((2, 3))], r"X\[1\] has shape \(2, 3\), expected \(height"),
        ([np.ones((2, 2, 3)), np.ones((2, 2, 4))], r"X\[1\] has 4 features, expected 3"),
        ([np.ones((2, 2, 3)), np.ones((0, 2, 4))], r"X\[1\] has 4 features, expected 3"),
        (np.ones((2, 0, 2, 3)), r"X has shape \(2, 0, 3\): no samples"),
        ([np.ones((2, 3)), np.ones((2, 2, 3))], r"X\[1\] has 3 dimensions, expected 2"),
        (
            [(np.ones((2, 3)), np.array([[0, 1]])), np.ones(2)[:1]],
            r"X\[1\] is not a graph like X\[0\]",
        ),
        ([(np.ones((2, 3)), np.array([[0, 1]])), 7], r"X\[1\] is not a graph like X\[0\]"),
        ([(np.ones((2, 3)), [[0, 1]]), (np.ones((2, 2)), [[0, 1]])], r"X\[1\] has 2 features"),
    ],
)
def test_invalid_images_and_graphs(X, message):
    with pytest.raises(ValueError, match=message):
        PerNode(StandardScaler()).fit(X)


def test_invalid_edges(images, graphs):
    both = PerNode(StandardScaler(), StandardScaler())
    with pytest.raises(TypeError, match=r"^edge_transformer must be a transformer, found 3"):
        PerNode(StandardScaler(), 3).fit(graphs)
    for X, found in (
        (images, "images"),
        ([image[0] for image in images], "sequences"),
        (images[0][0], "a 2-D array"),
        ([graph[:2] for graph in graphs], "graphs without edge features"),
    ):
        with pytest.raises(ValueError, match=f"requires graphs with edge .*, found {found}$"):
            both.fit(X)
    with pytest.raises(ValueError, match=r"the edge features of X\[0\] have shape \(2,\)"):
        both.fit([(*graphs[0][:2], np.ones(2))])
    wider = (*graphs[2][:2], np.ones((3, 5)))
    with pytest.raises(ValueError, match=r"X\[1\] has 5 edge features, but X\[0\] has 2"):
        both.fit([graphs[0], wider])
    assert not hasattr(both, "transformer_")
    with pytest.raises(ValueError, match="StandardScaler is expecting 2 features"):
        both.fit(graphs).transform([wider])
    with pytest.raises(ValueError, match=r"sparse rows, but images are dense.*sparse_output=False"):
        PerNode(OneHotEncoder()).fit_transform([np.ones((2, 2, 1)), np.zeros((1, 2, 1))])


def test_a_refit_forgets_the_transformer_of_edges(graphs):
    per_node = PerNode(StandardScaler(), StandardScaler()).fit(graphs)
    assert hasattr(per_node, "inverse_transform")
    assert not hasattr(PerNode(StandardScaler(), Plain()), "inverse_transform")
    per_node.set_params(edge_transformer=None).fit(graphs)
    assert not hasattr(per_node, "edge_transformer_")


def test_parameters_of_both_transformers_nest(graphs):
    per_node = PerNode(StandardScaler(), MaxAbsScaler())
    per_node.set_params(edge_transformer=StandardScaler(), edge_transformer__with_mean=False)
    assert clone(per_node).edge_transformer.with_mean is False
    again = pickle.loads(pickle.dumps(per_node.fit(graphs)))
    np.testing.assert_array_equal(again.transform(graphs)[2][2], per_node.transform(graphs)[2][2])


@given(st.data())
def test_transformed_nodes_keep_their_places(new_rng, data):
    """Compare the nodes with the rows of one array, for any mixture of sizes."""
    rng = new_rng(data.draw(st.integers(0, 2**16)))
    sizes = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=5)
    shapes, F = data.draw(sizes), data.draw(st.integers(1, 3))
    kind = data.draw(st.sampled_from(["images", "graphs", "sequences"]))
    arrays = [rng.standard_normal((*shape, F)) for shape in shapes]
    rows = [array.reshape(-1, F) for array in arrays]
    edges = np.zeros((0, 2), dtype=int)
    X = {"images": arrays, "graphs": [(own, edges) for own in rows], "sequences": rows}[kind]
    X = object_array(X) if data.draw(st.booleans()) else X
    out = PerNode(MaxAbsScaler()).fit_transform(X)
    expected = MaxAbsScaler().fit_transform(np.vstack(rows))
    found = [item[0] if kind == "graphs" else item for item in out]
    np.testing.assert_array_equal(np.vstack([item.reshape(-1, F) for item in found]), expected)
    assert [item.shape for item in found] == [
        (array.shape if kind == "images" else own.shape) for array, own in zip(arrays, rows)
    ]


@pytest.fixture
def chains(rng):
    """Return sequences with 2 edge features, one of them of a single node."""
    return [(rng.standard_normal((v, 3)) + 5, 100 * rng.random((v - 1, 2))) for v in V]


FORMS = {
    "list": list,
    "object array": object_array,
    "array of pairs": lambda X: np.array([*X, (None, None)], dtype=object)[:-1],
    "sequences": Sequences.from_list,
    "sparse": lambda X: [(x, sparse.csr_array(f)) for x, f in X],
    "sparse sequences": lambda X: Sequences.from_list([(x, sparse.csr_array(f)) for x, f in X]),
    "lists": lambda X: [(x.tolist(), f.tolist()) for x, f in X],
}


@pytest.mark.parametrize("form", FORMS)
def test_edge_features_of_sequences(chains, form):
    X = FORMS[form](chains)
    nodes = np.vstack([x for x, _ in chains])
    scaled = StandardScaler().fit(nodes)
    of_edges = MaxAbsScaler().fit(np.vstack([f for _, f in chains]))
    kind = Sequences if isinstance(X, Sequences) else np.ndarray if "array" in form else list
    y = [np.arange(len(x)) % 2 for x, _ in chains]
    for per_node in (PerNode(StandardScaler()), PerNode(StandardScaler(), MaxAbsScaler())):
        out = per_node.fit_transform(X, y, sample_weight=None)
        again = per_node.transform(X)
        back = per_node.inverse_transform(out)
        for found in (out, again, back):
            assert isinstance(found, kind)
        for i, (x, f) in enumerate(chains):
            rows, edges = out[i]
            edges = edges.toarray() if sparse.issparse(edges) else np.reshape(edges, f.shape)
            expected = f
            if per_node.edge_transformer is not None and len(f):
                expected = of_edges.transform(f)
            np.testing.assert_allclose(rows, scaled.transform(x))
            np.testing.assert_allclose(edges, expected)
            np.testing.assert_allclose(back[i][0], x)
    model = make_pipeline(per_node, ChainSSVM(lam=0.1, random_state=0)).fit(X, y)
    assert model[-1].n_edge_features_in_ == 2
    assert len(model.predict(X)) == len(V)
    weighted = per_node.fit(X, y, sample_weight=np.arange(1.0, 5.0))
    copies = np.repeat(nodes, np.repeat(np.arange(1, 5), V), axis=0)
    np.testing.assert_allclose(weighted.transformer_.mean_, copies.mean(axis=0))


def test_pairs_that_are_graphs_stay_graphs(rng):
    # Paths have as many edges as a sequence has transitions.
    X = [(rng.standard_normal((v, 3)), np.array([(a, a + 1) for a in range(v - 1)])) for v in V[2:]]
    out = PerNode(StandardScaler()).fit_transform(X)
    assert out[0][1] is X[0][1]
    for edges in (lambda e: e, np.ndarray.tolist):
        given_ = [(x, edges(e)) for x, e in X]
        with pytest.raises(ValueError, match="found graphs without edge features"):
            PerNode(StandardScaler(), MaxAbsScaler()).fit(given_)


class Shorter(BaseEstimator, TransformerMixin):
    """A transformer that drops a row."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X[1:]


def test_edge_features_of_sequences_that_do_not_fit(chains):
    with pytest.raises(ValueError, match=r"shape \(5, 2\) for 6 edges, expected one row per edge"):
        PerNode(StandardScaler(), Shorter()).fit_transform(chains)
    with pytest.raises(TypeError, match=r"X\[2\] is ndarray, expected a tuple \(features, edge"):
        PerNode(StandardScaler()).fit([*chains[:2], chains[2][0]])
    wrong = [*chains[:2], (chains[2][0], chains[2][1][1:])]
    with pytest.raises(
        ValueError, match=r"features of X\[2\] have shape \(2, 2\), expected 3 rows"
    ):
        PerNode(StandardScaler(), MaxAbsScaler()).fit(wrong)
