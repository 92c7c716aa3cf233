"""`predict` around known labels: against enumeration, and what is refused."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct import ChainSSVM, GraphCRFSSVM, GridCRFSSVM, Sequences
from sstruct.masks import bio_transitions
from tests.reference import brute_force, graphs

MODELS = ["potts", "contrast", "full", "directed", 0.7]
ROUGH = {"max_iter": 1, "tol": 1e6, "random_state": 0}


def with_weights(model, rng, signs=None):
    """Give a fitted model weights of its own, so that scores do not depend on a fit."""
    w = np.zeros_like(model._w)
    model._w = w
    for name, view in {**model._views()}.items():
        view[...] = rng.standard_normal(view.shape)
        if signs is not None and name == "edge":
            view[...] = signs * abs(view)
    return model


def some_known(rng, y, share=0.4, unknown=-1):
    """y where it is known; and as what marks the rest."""
    return np.where(rng.random(np.shape(y)) < share, y, unknown)


def best_of(labelings, known, score):
    """The highest score of the labelings that agree with known labels, -1 where they are not."""
    agree = [z for z in labelings if all(k in (-1, a) for k, a in zip(known, z, strict=True))]
    return max(score(z) for z in agree)


# --------------------------------------------------------------------------------------------------
# Chains.


def small_chains(rng, K=3, n=6):
    X = [rng.standard_normal((rng.integers(1, 6), 2)) for _ in range(n)]
    y = [np.sort(rng.integers(0, K, len(x))) for x in X]
    return [*X, np.ones((K, 2))], [*y, np.arange(K)]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    terms=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    masked=st.booleans(),
)
def test_chains_equal_enumeration(seed, terms, masked):
    rng = np.random.default_rng(seed)
    X, y = small_chains(rng)
    mask = np.triu(np.ones((3, 3), dtype=bool)) if masked else None
    names = dict(zip(("fit_intercept", "boundaries", "transitions"), terms, strict=True))
    model = with_weights(ChainSSVM(transition_mask=mask, **names, **ROUGH).fit(X, y), rng)
    reference = brute_force.Model(3, *terms, mask)
    known = [some_known(rng, labels) for labels in y]
    for x, labels, kept in zip(X, model.predict(X, known), known, strict=True):

        def score(z, x=x):
            return brute_force.joint_feature(x, z, reference) @ model.w_

        assert (labels[kept >= 0] == kept[kept >= 0]).all()
        best = best_of(brute_force.labelings(len(x), reference), kept, score)
        assert score(labels.tolist()) == pytest.approx(best, rel=0, abs=1e-9)


def test_chains_of_many_labels_and_few_transitions(rng):
    """Where `predict` takes the sparse decoder."""
    K, L = 220, 5
    X, y = [rng.standard_normal((L, 2)) for _ in range(44)], np.arange(K).reshape(44, L)
    model = with_weights(ChainSSVM(**ROUGH).fit(X, list(y)), rng)
    edge = model._views()["edge"]
    edge[rng.random((K, K)) > 0.02] = 0
    dense = ChainSSVM(**ROUGH, transition_mask=np.ones((K, K), dtype=bool)).fit(X, list(y))
    dense._w = model._w
    known = [some_known(rng, rng.integers(0, K, L)) for _ in X]
    for found, other, kept in zip(
        model.predict(X, known), dense.predict(X, known), known, strict=True
    ):
        np.testing.assert_array_equal(found, other)
        assert (found[kept >= 0] == kept[kept >= 0]).all()


# --------------------------------------------------------------------------------------------------
# What marks unknown labels, and the forms that y_partial has.


def test_all_marks_and_containers_of_chains_agree(rng):
    X, y = small_chains(rng)
    X, y = X[:6], [labels.astype(float) for labels in y[:6]]
    model = with_weights(ChainSSVM(ignore_label=99, classes=[0, 1, 2], **ROUGH).fit(X, y), rng)
    known = [some_known(rng, labels) for labels in y]
    expected = model.predict(X, known)
    lengths = [len(x) for x in X]
    forms = [
        [[mark if k == -1 else k for k in own] for own in known] for mark in (None, np.nan, 99)
    ]
    forms += [[np.where(own == -1, np.nan, own) for own in known]]
    forms += [Sequences.from_lengths(np.concatenate(known), lengths)]
    forms += [[pd.Series(own) for own in known]]
    forms += [[None if (own == -1).all() else own for own in known]]
    forms += [brute_object_array(known)]
    for form in forms:
        for found, other in zip(model.predict(X, form), expected, strict=True):
            np.testing.assert_array_equal(found, other)
    for found, other in zip(model.predict(X, [None] * 6), model.predict(X), strict=True):
        np.testing.assert_array_equal(found, other)


def brute_object_array(items):
    out = np.empty(len(items), dtype=object)
    out[:] = items
    return out


def test_minus_one_is_a_label_where_it_is_a_class(rng):
    X = [rng.standard_normal((3, 2)) for _ in range(4)]
    model = ChainSSVM(**ROUGH).fit(X, [[-1, 1, 1], [1, -1, -1], [1, 1, 1], [-1, -1, -1]])
    (labels,) = model.predict(X[:1], [[-1, None, -1]])
    assert labels[[0, 2]].tolist() == [-1, -1]


def test_strings_and_tuples_are_labels(rng):
    X = [rng.standard_normal((3, 2)) for _ in range(2)]
    for a, b in (("a", "b"), (("x", 1), ("x", 2))):
        model = ChainSSVM(**ROUGH).fit(X, [[a, b, a], [b, a, b]])
        assert model.predict(X[:1], [[a, None, b]])[0][[0, 2]].tolist() == [a, b]


def test_rows_and_stacks_have_their_forms(rng):
    rows = rng.standard_normal((6, 2))
    model = ChainSSVM(**ROUGH).fit(rows, [0, 1, 2, 0, 1, 2])
    known = [2, None, 0, -1, np.nan, 1]
    found = model.predict(rows, known)
    assert found.shape == (6,)
    assert found[[0, 2, 5]].tolist() == [2, 0, 1]
    np.testing.assert_array_equal(found[[1, 3, 4]], model.predict(rows)[[1, 3, 4]])
    stack = rng.standard_normal((4, 3, 2))
    known = np.full((4, 3), -1)
    known[2, 1] = 1
    found = model.predict(stack, known)
    assert found.shape == (4, 3)
    assert found[2, 1] == 1


BIO = ["B-A", "B-B", "I-A", "I-B", "O"]


@pytest.mark.parametrize(
    "known, message",
    [
        ([None, ["B-A", "I-B", -1, -1]], r"\[1\] is 'I-B' at node 1, expected .* 'B-A' at node 0"),
        (
            [["I-A", None, None], None],
            r"y_partial\[0\] is 'I-A' at node 0, expected .* at the start",
        ),
        ([["O", "I-A", None], None], r"y_partial\[0\] is 'I-A' at node 1, expected one of 'B-A'"),
        (
            [["O", "X", None], None],
            r"y_partial\[0\] at node 1 is 'X', expected one of 'B-A'.* None",
        ),
        ([["O", ["O"], None], None], r"y_partial\[0\] at node 1 is \['O'\], expected a label"),
        ([["O", "O"], None], r"X\[0\] has 3 nodes but y_partial\[0\] has 2 labels"),
        ([None], "X has 2 samples but y_partial has 1"),
        (["OOO", None], r"y_partial\[0\] must be an array of labels or None, found str"),
        ({0: "O", 1: "O"}, "y_partial must have the known labels of each sample, .* found dict"),
        ("OO", "y_partial must have .* found str"),
        ([np.zeros((3, 1)), None], r"y_partial\[0\] has shape \(3, 1\), expected .*\(3,\)"),
    ],
)
def test_chains_refuse_by_name(rng, known, message):
    X = [rng.standard_normal((3, 2)), rng.standard_normal((4, 2))]
    model = ChainSSVM(classes=BIO, transition_mask=bio_transitions, **ROUGH)
    model.fit(X, [["O", "B-A", "I-A"], ["B-B", "I-B", "O", "O"]])
    with pytest.raises((ValueError, TypeError), match=message):
        model.predict(X, known)


def test_dead_ends_and_ends_of_masks_are_named(rng):
    X = [rng.standard_normal((3, 2))] * 2
    model = ChainSSVM(**ROUGH, transition_mask=lambda a, b: not (a == "c" or (a, b) == ("b", None)))
    model.classes = ["a", "b", "c"]
    model.fit(X, [["a", "b", "a"], ["b", "b", "a"]])
    with pytest.raises(ValueError, match=r"\[1\] is 'c' at node 0, expected a label .* to node 1"):
        model.predict(X, [None, ["c", None, None]])
    with pytest.raises(
        ValueError, match=r"\[0\] is 'b' at node 2, expected a label .* end at node 2"
    ):
        model.predict(X, [[None, None, "b"], None])


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_known_labels_are_refused_where_no_labeling_has_them(seed):
    rng = np.random.default_rng(seed)
    K, L = 3, 4
    edge = rng.random((K, K)) < 0.5
    np.fill_diagonal(edge, [True, True, False])
    model = ChainSSVM(**ROUGH, classes=range(K), transition_mask=edge)
    X = [rng.standard_normal((L, 2))]
    model.fit(X, [[0] * L])
    known = some_known(rng, rng.integers(0, K, L), 0.6)
    allowed = brute_force.labelings(L, brute_force.Model(K, edge_mask=edge))
    if any(all(k in (-1, a) for k, a in zip(known, z, strict=True)) for z in allowed):
        (labels,) = model.predict(X, [known])
        assert tuple(labels.tolist()) in allowed
    else:
        with pytest.raises(ValueError, match=r"y_partial\[0\] is \d at node \d, expected"):
            model.predict(X, [known])


# --------------------------------------------------------------------------------------------------
# Graphs and grids.


def small_graphs(rng, K, n=5, forests=False):
    X, y = [], []
    for i in range(n):
        V = K if i == 0 else int(rng.integers(1, 6))
        edges = graphs.random_edges(rng, V, 0.8)
        if forests:
            edges = np.array([(v, rng.integers(v)) for v in range(1, V)], np.int32).reshape(-1, 2)
        X.append((rng.standard_normal((V, 2)), edges, abs(rng.standard_normal((len(edges), 2)))))
        y.append(np.arange(K) if i == 0 else rng.integers(0, K, V))
    return X, y


def graph_score(model, graph, z):
    x, edges, features = graph
    pairwise = model.pairwise
    fixed = isinstance(pairwise, float)
    phi = graphs.joint_feature(x, z, edges, features, pairwise, len(model.classes_))
    return phi @ model.w_ - (pairwise * graphs.disagreements(z, edges) if fixed else 0)


@settings(max_examples=120, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    pairwise=st.sampled_from(MODELS),
    inference=st.sampled_from(["auto", "cut", "max-sum", "expansion", "fwmap"]),
)
def test_graphs_equal_enumeration(seed, pairwise, inference):
    rng = np.random.default_rng(seed)
    K = 2 if inference == "cut" else 3
    free = pairwise in ("full", "directed")
    bounds = "submodular" if inference == "cut" and free else None
    model = GraphCRFSSVM(pairwise=pairwise, inference=inference, bounds=bounds, **ROUGH)
    X, y = small_graphs(rng, K, forests=inference == "max-sum")
    signs = np.where(np.eye(K, dtype=bool), 1, -1) if bounds else None if free else -1
    model = with_weights(model.fit(X, y), rng, signs)
    known = [some_known(rng, labels, 0.5) for labels in y]
    exact = inference in ("cut", "max-sum")
    for graph, labels, kept in zip(X, model.predict(X, known), known, strict=True):
        assert (labels[kept >= 0] == kept[kept >= 0]).all()
        labelings = product(range(K), repeat=len(labels))
        best = best_of(labelings, kept, lambda z, graph=graph: graph_score(model, graph, z))
        found = graph_score(model, graph, labels.tolist())
        assert found <= best + 1e-9
        if exact or (inference == "fwmap" and not free):
            assert found == pytest.approx(best, rel=0, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    pairwise=st.sampled_from(MODELS),
    connectivity=st.sampled_from([4, 8]),
)
def test_grids_equal_enumeration(seed, pairwise, connectivity):
    rng = np.random.default_rng(seed)
    free = pairwise in ("full", "directed")
    model = GridCRFSSVM(
        pairwise=pairwise, connectivity=connectivity, bounds="submodular" if free else None, **ROUGH
    )
    shapes = [(2, 3), (3, 2), (1, 4), (2, 3), (3, 3)]
    X = [rng.standard_normal((*shape, 2)) for shape in shapes]
    y = [rng.integers(0, 2, shape) for shape in shapes]
    y[0][0, :2] = [0, 1]
    signs = np.where(np.eye(2, dtype=bool), 1, -1) if free else -1
    model = with_weights(model.fit(X, y), rng, signs)
    known = [some_known(rng, labels) for labels in y]
    for x, labels, kept in zip(X, model.predict(X, known), known, strict=True):
        assert labels.shape == kept.shape
        assert (labels[kept >= 0] == kept[kept >= 0]).all()
        graph = as_graph(x, pairwise, connectivity)
        labelings = product(range(2), repeat=labels.size)
        best = best_of(labelings, kept.ravel(), lambda z, graph=graph: graph_score(model, graph, z))
        found = graph_score(model, graph, labels.ravel().tolist())
        assert found == pytest.approx(best, rel=0, abs=1e-9)


def as_graph(x, pairwise, connectivity):
    """A grid written out: edges right, down and both diagonals, with the features of the model."""
    height, width = x.shape[:2]
    pixel = np.arange(height * width).reshape(height, width)
    pairs = [(pixel[:, :-1], pixel[:, 1:]), (pixel[:-1], pixel[1:])]
    if connectivity == 8:
        pairs += [(pixel[:-1, :-1], pixel[1:, 1:]), (pixel[:-1, 1:], pixel[1:, :-1])]
    edges = np.concatenate([np.column_stack([a.ravel(), b.ravel()]) for a, b in pairs])
    features = np.repeat(np.eye(len(pairs)), [a.size for a, _ in pairs], axis=0)
    flat = x.reshape(-1, x.shape[2])
    if pairwise == "contrast":
        square = ((flat[edges[:, 0]] - flat[edges[:, 1]]) ** 2).sum(axis=1)
        features = np.column_stack([np.ones(len(edges)), np.exp(-square / (2 * square.mean()))])
    return flat, edges, features


def test_all_known_none_known_and_single_nodes(rng):
    X, y = small_graphs(rng, 3)
    model = GraphCRFSSVM(**ROUGH).fit(X, y)
    for found, labels in zip(model.predict(X, y), y, strict=True):
        np.testing.assert_array_equal(found, labels)
    for nothing in ([None] * 5, [np.full(len(labels), -1) for labels in y]):
        for found, other in zip(model.predict(X, nothing), model.predict(X), strict=True):
            np.testing.assert_array_equal(found, other)
    rows = rng.standard_normal((4, 2))
    found = model.predict(rows, [2, None, -1, 0])
    assert found[[0, 3]].tolist() == [2, 0]
    np.testing.assert_array_equal(found[1:3], model.predict(rows)[1:3])


def test_known_labels_may_leave_a_forest(rng):
    """A cycle is one no more where a node of it is known."""
    edges = [[0, 1], [1, 2], [2, 0]]
    tree = (rng.standard_normal((3, 2)), edges[:2])
    model = GraphCRFSSVM(inference="max-sum", **ROUGH).fit([tree], [[0, 1, 2]])
    cycle = (rng.standard_normal((3, 2)), edges)
    assert model.predict([tree, cycle], [None, [None, 1, None]])[1][1] == 1
    with pytest.raises(ValueError, match=r"X\[1\] has a cycle"):
        model.predict([tree, cycle], [[0, 1, 2], None])


@pytest.mark.parametrize(
    "known, message",
    [
        (
            [None, [0, 7, None]],
            r"y_partial\[1\] at node 1 is 7, expected one of 0, 1, or None, NaN or",
        ),
        ([[0, 1], None], r"X\[0\] has 3 nodes but y_partial\[0\] has 2 labels"),
    ],
)
def test_graphs_refuse_by_name(rng, known, message):
    X = [(rng.standard_normal((3, 2)), [[0, 1]])] * 2
    model = GraphCRFSSVM(**ROUGH).fit(X, [[0, 1, 1], [1, 0, 0]])
    with pytest.raises(ValueError, match=message):
        model.predict(X, known)


def test_grids_refuse_by_name(rng):
    X = rng.standard_normal((2, 3, 4, 1))
    model = GridCRFSSVM(**ROUGH).fit(X, rng.integers(0, 2, (2, 3, 4)))
    known = np.full((2, 3, 4), -1)
    known[1, 2, 3] = 5
    with pytest.raises(ValueError, match=r"y_partial\[1\] at pixel \(2, 3\) is 5, expected one of"):
        model.predict(X, known)
    with pytest.raises(ValueError, match=r"y_partial\[0\] has shape \(4, 3\), expected .*\(3, 4\)"):
        model.predict(X, known.reshape(2, 4, 3))
