"""Test `predict` with known labels against enumeration, and errors for invalid labels."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sstruct import ChainSSVM, GraphCRFSSVM, GridCRFSSVM, MultilabelSSVM, Sequences, TreeSSVM
from sstruct._estimators.tree.tree_state import tree_model
from sstruct._input.labels import object_array
from sstruct._oracles.label_set._forest_decoder import LabelForest
from sstruct._problems.chain._chain_problem import ChainProblem
from sstruct._problems.chain.chain_arguments import ChainModel, ChainRanges
from sstruct._problems.label_set._multilabel import MultilabelProblem
from sstruct._problems.tree._tree_problem import TreeProblem
from sstruct._problems.tree.tree_arguments import TreeStates
from sstruct.masks import bio_transitions
from tests.estimators.equal import equal
from tests.estimators.tree.test_tree import candidates, maps
from tests.reference import brute_force, graphs, label_sets, trees

MODELS = ["potts", "contrast", "full", "directed", 0.7]
ROUGH = {"max_iter": 1, "tol": 1e6, "random_state": 0}


def with_weights(model, rng, signs=None):
    """Set random weights of a fitted model, so that scores do not depend on the fit."""
    w = np.zeros_like(model._w)
    model._w = w
    for name, view in {**model._model_of_fit().tables()}.items():
        view[...] = rng.standard_normal(view.shape)
        if signs is not None and name == "edge":
            view[...] = signs * abs(view)
    return model


def some_known(rng, y, share=0.4, unknown=-1):
    """Return y with a random part of its labels replaced by `unknown`."""
    return np.where(rng.random(np.shape(y)) < share, y, unknown)


def best_of(labelings, known, score):
    """Return the highest score of labelings that agree with known labels; -1: unknown."""
    agree = [z for z in labelings if all(k in (-1, a) for k, a in zip(known, z, strict=True))]
    return max(score(z) for z in agree)


# --------------------------------------------------------------------------------------------------
# Chains.


def small_chains(rng, K=3, n=6):
    X = [rng.standard_normal((rng.integers(1, 6), 2)) for _ in range(n)]
    y = [np.sort(rng.integers(0, K, len(x))) for x in X]
    return [*X, np.ones((K, 2))], [*y, np.arange(K)]


def test_chains_of_many_labels_and_few_transitions(rng):
    """With these numbers, `predict` uses the sparse decoder."""
    K, L = 220, 5
    X, y = [rng.standard_normal((L, 2)) for _ in range(44)], np.arange(K).reshape(44, L)
    model = with_weights(ChainSSVM(**ROUGH).fit(X, list(y)), rng)
    edge = model._model_of_fit().tables()["edge"]
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
# Values that mark unknown labels, and forms of y_partial.


def test_all_marks_and_containers_of_chains_agree(rng):
    X, y = small_chains(rng)
    X, y = X[:6], [labels.astype(float) for labels in y[:6]]
    model = with_weights(ChainSSVM(ignore_label=99, classes=[0, 1, 2], **ROUGH).fit(X, y), rng)
    known = [some_known(rng, labels) for labels in y]
    expected = model.predict(X, known)
    lengths = [len(x) for x in X]
    forms = [
        [[mark if k == -1 else k for k in own] for own in known]
        for mark in (None, np.nan, pd.NA, 99)
    ]
    forms += [[np.where(own == -1, np.nan, own) for own in known]]
    forms += [Sequences.from_lengths(np.concatenate(known), lengths)]
    forms += [[pd.Series(own) for own in known]]
    forms += [[None if (own == -1).all() else own for own in known]]
    forms += [object_array(known)]
    for form in forms:
        assert equal(model.predict(X, form), expected)


def test_minus_one_is_a_known_label_if_it_is_a_class(rng):
    X = [rng.standard_normal((3, 2)) for _ in range(4)]
    model = ChainSSVM(**ROUGH).fit(X, [[-1, 1, 1], [1, -1, -1], [1, 1, 1], [-1, -1, -1]])
    (labels,) = model.predict(X[:1], [[-1, None, -1]])
    assert labels[[0, 2]].tolist() == [-1, -1]


def test_ignore_label_beyond_the_range_of_floats(rng):
    X = [rng.standard_normal((3, 2)) for _ in range(2)]
    model = ChainSSVM(ignore_label=10**400, **ROUGH).fit(X, [[0, 1, 1], [1, 0, 0]])
    (labels,) = model.predict(X[:1], [np.array([0.0, np.nan, 1.0])])
    assert labels[[0, 2]].tolist() == [0, 1]


def test_strings_and_tuples_are_labels(rng):
    X = [rng.standard_normal((3, 2)) for _ in range(2)]
    for a, b in (("a", "b"), (("x", 1), ("x", 2))):
        model = ChainSSVM(**ROUGH).fit(X, [[a, b, a], [b, a, b]])
        assert model.predict(X[:1], [[a, None, b]])[0][[0, 2]].tolist() == [a, b]


def test_known_labels_of_rows_and_of_stacked_sequences(rng):
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
        ([["O", "O"], None], r"y_partial\[0\] has 2 labels, expected 3"),
        ([None], "X has 2 samples but y_partial has 1"),
        (["OOO", None], r"y_partial\[0\] must be an array of labels or None, found str"),
        ({0: "O", 1: "O"}, "y_partial must contain the known labels of each sample, .* found dict"),
        ("OO", "y_partial must contain .* found str"),
        ([np.zeros((3, 1)), None], r"y_partial\[0\] has shape \(3, 1\), expected .*\(3,\)"),
    ],
)
def test_error_messages_of_chains(rng, known, message):
    X = [rng.standard_normal((3, 2)), rng.standard_normal((4, 2))]
    model = ChainSSVM(classes=BIO, transition_mask=bio_transitions, **ROUGH)
    model.fit(X, [["O", "B-A", "I-A"], ["B-B", "I-B", "O", "O"]])
    with pytest.raises((ValueError, TypeError), match=message):
        model.predict(X, known)


def test_errors_for_dead_ends_and_ends_of_masks(rng):
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
def test_error_if_no_labeling_has_the_known_labels(seed):
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
    inference=st.sampled_from(["auto", "cut", "max-sum", "expansion", "fwmap", "exact"]),
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
    exact = inference in ("cut", "max-sum", "exact")
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
        graph = graphs.grid_graph(x, pairwise, connectivity)
        labelings = product(range(2), repeat=labels.size)
        best = best_of(labelings, kept.ravel(), lambda z, graph=graph: graph_score(model, graph, z))
        found = graph_score(model, graph, labels.ravel().tolist())
        assert found == pytest.approx(best, rel=0, abs=1e-9)


def test_known_labels_of_single_nodes(rng):
    rows = rng.standard_normal((4, 2))
    model = GraphCRFSSVM(**ROUGH).fit(rows, [0, 1, 2, 1])
    found = model.predict(rows, [2, None, -1, 0])
    assert found[[0, 3]].tolist() == [2, 0]
    np.testing.assert_array_equal(found[1:3], model.predict(rows)[1:3])


def test_known_labels_may_leave_a_forest(rng):
    """If one node of a cycle is known, the graph of the other nodes is a forest."""
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
        ([[0, 1], None], r"y_partial\[0\] has 2 labels, expected 3"),
    ],
)
def test_error_messages_of_graphs(rng, known, message):
    X = [(rng.standard_normal((3, 2)), [[0, 1]])] * 2
    model = GraphCRFSSVM(**ROUGH).fit(X, [[0, 1, 1], [1, 0, 0]])
    with pytest.raises(ValueError, match=message):
        model.predict(X, known)


def test_error_messages_of_grids(rng):
    X = rng.standard_normal((2, 3, 4, 1))
    model = GridCRFSSVM(**ROUGH).fit(X, rng.integers(0, 2, (2, 3, 4)))
    known = np.full((2, 3, 4), -1)
    known[1, 2, 3] = 5
    with pytest.raises(ValueError, match=r"y_partial\[1\] at pixel \(2, 3\) is 5, expected one of"):
        model.predict(X, known)
    with pytest.raises(ValueError, match=r"y_partial\[0\] has shape \(4, 3\), expected .*\(3, 4\)"):
        model.predict(X, known.reshape(2, 4, 3))


# --------------------------------------------------------------------------------------------------
# Trees of parts.


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    parents=st.sampled_from([[-1], [-1, 0, 0], [2, 2, -1], [1, 2, -1], [-1, 0, -1]]),
    form=st.sampled_from(["candidates", "pairs", "maps", "types"]),
    flat=st.booleans(),
)
def test_trees_equal_enumeration(seed, parents, form, flat):
    rng = np.random.default_rng(seed)
    if form in ("maps", "types"):
        X, y = maps(rng, len(parents), 2 if form == "types" else 1, n=4)
    else:
        X, y = candidates(rng, parents, n=4, pairs=form == "pairs")
    model = TreeSSVM(parents=parents, **ROUGH).fit(X, y)
    model = with_weights(model, rng)
    edge = model._model_of_fit().tables()["edge"]
    edge[..., [0, 2]] = 0 if flat else abs(edge[..., [0, 2]])
    known = [some_known(rng, states, 0.5) for states in y]
    for sample, states, kept in zip(X, model.predict(X, known), known, strict=True):
        x, places = trees.listed(sample)

        def score(z, x=x, places=places, sample=sample):
            pair, of_model = sample.get("pair_scores"), tree_model(vars(model))
            phi = trees.joint_feature(of_model, parents, x, places, pair, z, sample["scale"])
            return phi @ model.w_

        assert (states[kept >= 0] == kept[kept >= 0]).all()
        best = best_of(product(*(range(len(part)) for part in x)), kept, score)
        assert score(states.tolist()) == pytest.approx(best, rel=0, abs=1e-9)


@pytest.mark.parametrize("ignore_label", [None, -1, 99])
def test_marks_of_trees(rng, ignore_label):
    X, y = maps(rng, 2, 1, n=4)
    model = TreeSSVM(parents=[-1, 0], ignore_label=ignore_label, **ROUGH).fit(X, y)
    expected = model.predict(X, [[-1, 0]] * 4)
    marks = [None, np.nan, -1] if ignore_label is None else [None, np.nan, ignore_label]
    for mark in marks:
        assert equal(model.predict(X, [[mark, 0]] * 4), expected)


@pytest.mark.parametrize(
    "known, message",
    [
        ([[0, 0], [3, 0]], r"y_partial\[1\] at part 0 is 3, expected a state, 0 to 2, or None"),
        ([[0, "a"], None], r"y_partial\[0\] at part 1 is 'a', expected a state, 0 to 2"),
        ([[0, 0.5], None], r"y_partial\[0\] at part 1 is 0.5, expected a state, 0 to 2"),
        ([np.array([-2, 0]), None], r"y_partial\[0\] at part 0 is -2, expected a state"),
        ([[0, [0]], None], r"y_partial\[0\] at part 1 is \[0\], expected a state"),
        ([None, [0]], r"y_partial\[1\] has 1 labels, expected 2"),
        ([None], "X has 2 samples but y_partial has 1"),
        (3, "y_partial must contain the known labels of each sample, .* found int"),
    ],
)
def test_error_messages_of_trees(rng, known, message):
    sample = {"features": rng.standard_normal((2, 1, 3, 2))}
    model = TreeSSVM(parents=[-1, 0], **ROUGH).fit([sample] * 2, [[0, 0], [1, 2]])
    with pytest.raises((ValueError, TypeError), match=message):
        model.predict([sample] * 2, known)


# --------------------------------------------------------------------------------------------------
# Sets of labels.

DECODINGS = [
    ("full", "enumeration", "and", None),
    ("full", "enumeration", "full", None),
    ("full", "relaxed", "and", None),
    ("full", "relaxed", "full", None),
    ("full", "cut", "and", "submodular"),
    ("tree", "tree", "and", None),
    ("tree", "tree", "full", None),
    (None, "independent", "and", None),
    ("hierarchy", "auto", "and", None),
]


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    decoding=st.sampled_from(DECODINGS),
    scale=st.sampled_from([1.0, 1e-6, 1e6]),
)
def test_label_sets_equal_enumeration(seed, decoding, scale):
    rng = np.random.default_rng(seed)
    edges, inference, pairwise, bounds = decoding
    n, K, parents = 12, 5, None
    X, Y = rng.standard_normal((n, 2)), rng.integers(0, 2, (n, K))
    if edges == "hierarchy":
        edges = parents = label_sets.random_parents(rng, K)
        Y[:] = 0
    model = MultilabelSSVM(
        edges=edges, inference=inference, pairwise=pairwise, bounds=bounds, **ROUGH
    )
    model = with_weights(model.fit(X, Y), rng, 1 if bounds else None)
    model._w *= scale
    possible = label_sets.label_sets(K, parents)
    # Labels of a possible set, so that no error is raised.
    known = np.array([some_known(rng, possible[rng.integers(len(possible))]) for _ in X])
    for x, found, kept in zip(X, model.predict(X, known), known, strict=True):

        def score(y, x=x):
            return label_sets.joint_feature(x, y, model.edges_, pairwise) @ model.w_

        assert (found[kept >= 0] == kept[kept >= 0]).all()
        best = best_of(possible, kept, score)
        assert score(found.tolist()) == pytest.approx(best, rel=0, abs=1e-9 * scale)


def test_marks_of_label_sets_agree(rng):
    X, Y = rng.standard_normal((8, 2)), rng.integers(0, 2, (8, 3))
    model = MultilabelSSVM(**ROUGH).fit(X, Y)
    known = some_known(rng, Y)
    expected = model.predict(X, known)
    forms = [[[mark if k == -1 else k for k in row] for row in known] for mark in (None, np.nan)]
    forms += [np.where(known == -1, np.nan, known), pd.DataFrame(known)]
    forms += [[None if (row == -1).all() else row for row in known]]
    forms += [[[None if k == -1 else bool(k) for k in row] for row in known]]
    forms += [np.ma.array(Y, mask=known == -1), list(np.ma.array(Y, mask=known == -1))]
    for form in forms:
        np.testing.assert_array_equal(model.predict(X, form), expected)
    of_sparse = MultilabelSSVM(**ROUGH).fit(X, sparse.csr_array(Y)).predict(X, known)
    assert sparse.issparse(of_sparse)
    np.testing.assert_array_equal(of_sparse.toarray(), expected)


def test_known_labels_in_a_frame_have_the_names_of_the_classes(rng):
    X, Y = rng.standard_normal((8, 2)), rng.integers(0, 2, (8, 3))
    known = some_known(rng, Y)
    model = MultilabelSSVM(**ROUGH).fit(X, pd.DataFrame(Y, columns=["a", "b", "c"]))
    found = model.predict(X, pd.DataFrame(known, columns=["a", "b", "c"]))
    np.testing.assert_array_equal(found, model.predict(X, known))
    with pytest.raises(ValueError, match=r"columns of y_partial are \['c', 'b', 'a'\], expected"):
        model.predict(X, pd.DataFrame(known[:, ::-1], columns=["c", "b", "a"]))


@pytest.mark.parametrize(
    "known, message",
    [
        (
            [[1, -1, -1], [-1, 2, 0]],
            r"y_partial\[1\] of label 1 is 2, expected 0 or 1, or None, NaN or -1",
        ),
        ([["a", -1, -1], None], r"y_partial\[0\] of label 0 is 'a', expected 0 or 1"),
        ([[1, -1], None], r"y_partial\[0\] has 2 labels, expected 3"),
        ([[1, -1, -1]], "X has 2 samples but y_partial has 1"),
        (sparse.csr_array(np.eye(2, 3)), "y_partial is sparse, and its zeros would be labels"),
        ([None, [0, -1, 1]], r"y_partial\[1\] has label 2 on and its ancestor 0 off"),
        ([[-1, 0, 1], None], r"y_partial\[0\] has label 2 on and its ancestor 1 off"),
    ],
)
def test_error_messages_of_label_sets(rng, known, message):
    X = rng.standard_normal((2, 2))
    model = MultilabelSSVM(edges=[-1, 0, 1], **ROUGH).fit(X, [[1, 1, 0], [0, 0, 0]])
    with pytest.raises((ValueError, TypeError), match=message):
        model.predict(X, known)


def test_known_labels_imply_others_in_a_hierarchy(rng):
    X = rng.standard_normal((4, 2))
    model = MultilabelSSVM(edges=[-1, 0, 1, 0], **ROUGH).fit(X, [[1, 1, 1, 1], [0] * 4] * 2)
    found = model.predict(X, [[-1, -1, 1, -1], [0, -1, -1, -1], [-1, 0, -1, 1], None])
    assert found[0, :3].tolist() == [1, 1, 1]
    assert found[1].tolist() == [0, 0, 0, 0]
    assert found[2].tolist() == [1, 0, 0, 1]


def test_one_label_a_row(rng):
    X = rng.standard_normal((6, 2))
    model = MultilabelSSVM(**ROUGH).fit(X, ["a", "b", "c"] * 2)
    scores = model.decision_function(X)
    found = model.predict(X, ["c", None, None, "a", -1, np.nan])
    best = model.classes_[scores.argmax(axis=1)]
    assert found.tolist() == ["c", best[1], best[2], "a", best[4], best[5]]
    # Only one class agrees with (0, 0, unknown), or with a known label of 1.
    off = np.full((6, 3), -1)
    off[0, :2], off[1, 1], off[2, 0] = 0, 1, 0
    found = model.predict(X, off)
    assert found[:2].tolist() == ["c", "b"]
    assert found[2] == np.array(["b", "c"])[scores[2, 1:].argmax()]
    assert found[3:].tolist() == best[3:].tolist()
    for wrong, message in [
        ([1, 1, -1], r"y_partial\[2\] has 2 labels on, expected at most one"),
        ([0, 0, 0], r"y_partial\[2\] has all labels off"),
    ]:
        off[2] = wrong
        with pytest.raises(ValueError, match=message):
            model.predict(X, off)
    with pytest.raises(ValueError, match=r"y_partial\[1\] is 'z', expected one of 'a', 'b', 'c'"):
        model.predict(X, ["a", "z", None, None, None, None])


# --------------------------------------------------------------------------------------------------
# Compiled problems validate known labels.


def test_problems_validate_known_labels(rng):
    X = rng.standard_normal((4, 2))
    for wrong in ([0, 1, 2, 3], [0, -2, 1, 1], [0, 1, 1], [[0, 1, 1, 1]]):
        with pytest.raises(ValueError, match=r"known (has shape|must contain)"):
            ChainProblem(X, ChainRanges([0], [4]), ChainModel(3), known=wrong)
    for wrong in (np.full((4, 3), 2), np.full((4, 3), -2), np.zeros((4, 2)), [0] * 4):
        with pytest.raises(ValueError, match=r"known (has shape|must contain)"):
            MultilabelProblem(X, None, LabelForest(3, None), known=wrong)
    states = TreeStates([[0, 2, 4]], positions=np.zeros((4, 2)))
    for wrong in ([[0, 2]], [[-2, 0]], [[0]], [0, 0]):
        with pytest.raises(ValueError, match=r"known (has shape|must contain)"):
            TreeProblem(X, states, [-1, 0], known=wrong)
