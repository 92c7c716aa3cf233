"""Test that Sequences behaves like a list of arrays."""

import pickle
import sys
import weakref
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.model_selection import GridSearchCV

from sstruct import ChainSSVM
from sstruct.sequences import Sequences

FORMATS = ["dense", "csr_array", "csr_matrix", "labels", "object labels"]


def make(form, lengths):
    """Return Sequences with one of FORMATS, and the corresponding list of items."""
    n_rows = int(np.sum(lengths))
    rows = np.arange(3.0 * n_rows).reshape(n_rows, 3) % 5
    if form == "labels":
        flat = np.array([f"label {i}" for i in range(n_rows)], dtype=np.str_)
    elif form == "object labels":
        flat = np.empty(n_rows, dtype=object)
        flat[:] = [(i, "x") for i in range(n_rows)]
    else:
        flat = rows if form == "dense" else getattr(sparse, form)(rows)
    sequences = Sequences.from_lengths(flat, lengths)
    plain = rows if form in ("dense", "csr_array", "csr_matrix") else flat
    return sequences, np.split(plain, np.cumsum(lengths)[:-1])


def with_edges(form, lengths):
    """Return Sequences with edge features, and the corresponding list of pairs."""
    n_steps = np.maximum(np.array(lengths) - 1, 0)
    edges = np.arange(2.0 * n_steps.sum()).reshape(-1, 2) % 3
    nodes, items = make(form, lengths)
    given = edges if form == "dense" else getattr(sparse, form)(edges)
    sequences = Sequences(nodes.flat, nodes.offsets, edge_features=given)
    return sequences, list(zip(items, np.split(edges, np.cumsum(n_steps)[:-1]), strict=True))


def parts(item):
    """Return the dense arrays of an item: one, or two if it has edge features."""
    arrays = item if isinstance(item, tuple) else (item,)
    return [each.toarray() if sparse.issparse(each) else each for each in arrays]


def assert_same_items(sequences, items):
    assert len(sequences) == len(items)
    for found, expected in zip(sequences, items, strict=True):
        assert isinstance(found, tuple) == isinstance(expected, tuple)
        for a, b in zip(parts(found), parts(expected), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "make, form", [*((make, form) for form in FORMATS), *((with_edges, f) for f in FORMATS[:3])]
)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_indexing_matches_list(make, form, data):
    lengths = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=6))
    sequences, items = make(form, lengths)
    n = len(items)
    assert_same_items(sequences, items)
    i = data.draw(st.integers(-n, n - 1))
    assert_same_items([sequences[i]], [items[i]])
    bound = st.none() | st.integers(-n - 1, n + 1)
    step = data.draw(st.none() | st.sampled_from([-2, -1, 1, 2]))
    key = slice(data.draw(bound), data.draw(bound), step)
    assert_same_items(sequences[key], items[key])
    positions = data.draw(st.lists(st.integers(-n, n - 1), max_size=8))
    chosen = [items[i] for i in positions]
    for key in (positions, np.array(positions, dtype=np.int32), (positions, ...)):
        assert_same_items(sequences[key], chosen)
    mask = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    chosen = [item for item, keep in zip(items, mask) if keep]
    assert_same_items(sequences[mask], chosen)
    assert_same_items(sequences[np.array(mask), ...], chosen)


@pytest.mark.parametrize("form", FORMATS)
def test_slices_and_items_are_views(form):
    sequences, _ = make(form, [2, 0, 3, 4])
    for part in (sequences[1:3].flat, sequences[2]):
        if sparse.issparse(part):
            assert np.shares_memory(part.data, sequences.flat.data)
            assert np.shares_memory(part.indices, sequences.flat.indices)
            assert type(part) is type(sequences.flat)
        else:
            assert np.shares_memory(part, sequences.flat)
    assert sequences[...] is sequences


def test_sparse_items_without_shape():
    item = sparse.coo_array((2, 3))
    item._shape = None
    with pytest.raises(TypeError, match=r"items\[1\]\.shape is a NoneType"):
        Sequences.from_list([sparse.csr_array((1, 3)), item])


@pytest.mark.parametrize("form", FORMATS)
def test_array_pickle_and_list_round_trips(form):
    sequences, items = make(form, [2, 1, 3])
    array = np.asarray(sequences)
    assert array.shape == sequences.shape[:1] == (3,)
    assert array.dtype == object
    assert_same_items(pickle.loads(pickle.dumps(sequences)), items)
    assert_same_items(Sequences.from_list(list(sequences)), items)
    assert_same_items(Sequences.from_list(array), items)
    assert Sequences.from_list(sequences) is sequences


def test_array_of_equal_lengths_stays_one_dimensional():
    assert np.asarray(make("dense", [2, 2])[0]).shape == (2,)
    with pytest.raises(TypeError, match=r"an array of dtype float64.*PerNode\(transformer\)"):
        np.asarray(make("dense", [2, 2])[0], dtype=np.float64)
    with pytest.raises(ValueError, match="requires a copy"):
        make("dense", [2, 2])[0].__array__(copy=False)


def test_pickles_of_slices_are_small():
    X = Sequences.from_lengths(np.zeros((10_000, 10)), [10] * 1000)
    assert len(pickle.dumps(X[:10])) < len(pickle.dumps(X)) / 50


def test_repr_and_attributes():
    X, _ = make("csr_array", [2, 3])
    assert repr(X) == "Sequences(n=2, flat=float64 (5, 3) CSR, 12 stored)"
    assert repr(make("dense", [2, 3])[0]) == "Sequences(n=2, flat=float64 (5, 3))"
    assert isinstance(X, Sequence)
    assert weakref.ref(X)() is X
    assert X.lengths.tolist() == [2, 3]
    assert X.offsets.dtype == np.int64
    assert sys.getsizeof(Sequences.from_lengths(np.zeros((1000, 50)), [10] * 100)) > 400_000
    assert sys.getsizeof(X) > 12 * (8 + X.flat.indices.itemsize)


def test_from_list_reads_lists_and_labels():
    X = Sequences.from_list([[[1, 2], [3, 4]], [[5, 6]]])
    assert X.flat.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert Sequences.from_list([[1, 2], [3]]).flat.dtype.kind == "i"
    assert Sequences.from_list([["a"], ["bcd", "e"]]).flat.tolist() == ["a", "bcd", "e"]
    labels = Sequences.from_list([[("a", 1), "b"], [None]])
    assert labels.flat.dtype == object
    assert labels.flat.tolist() == [("a", 1), "b", None]
    assert Sequences.from_list([[(1, 2)], [(3, 4)]]).flat.shape == (2,)
    assert Sequences([(1, 2), (3, 4)], [0, 2]).flat.tolist() == [(1, 2), (3, 4)]
    mixed = Sequences.from_list([np.array([1, 2]), np.array(["a"])])
    assert mixed.flat.tolist() == [1, 2, "a"]
    assert Sequences.from_list([sparse.coo_matrix(np.eye(2))]).flat.format == "csr"


@pytest.mark.parametrize(
    "offsets, error, message",
    [
        ([[0, 5]], ValueError, r"offsets must be 1-D, found shape \(1, 2\)"),
        ([0.0, 5.0], TypeError, "offsets must be integers, found dtype float64"),
        ([], ValueError, "offsets is empty"),
        ([1, 5], ValueError, r"offsets\[0\] is 1, expected 0"),
        ([0, 4, 2, 5], ValueError, r"offsets\[1\] = 4 and offsets\[2\] = 2"),
        ([0, 4], ValueError, "ends with 4 but flat has 5 rows"),
    ],
)
def test_offsets_are_checked(offsets, error, message):
    with pytest.raises(error, match=message):
        Sequences(np.zeros((5, 2)), offsets)


@pytest.mark.parametrize(
    "items, error, message",
    [
        ([], ValueError, "items is empty"),
        ("abc", TypeError, "items must be a list of sequences, found str"),
        (["abc", "d"], TypeError, r"items\[0\] must be an array or a list, found str"),
        ([[1], 2], TypeError, r"items\[1\] must be an array or a list, found int"),
        ([np.zeros((2, 3)), np.zeros((2, 4))], ValueError, r"items\[1\] has 4 columns, expected 3"),
        ([np.zeros((2, 3)), np.zeros(2)], TypeError, "is labels but .* is dense"),
        ([np.zeros((2, 3, 4))], ValueError, r"items\[0\] must be 1-D .* found 3-D"),
        ([[[1, 2], [3]]], ValueError, r"items\[0\] is not a numeric 2-D array"),
        (
            [[{"w": "a"}]],
            TypeError,
            "is not hashable and cannot be a label; use SequenceVectorizer",
        ),
    ],
)
def test_items_are_checked(items, error, message):
    with pytest.raises(error, match=message):
        Sequences.from_list(items)


def test_lengths_and_flat_are_checked():
    with pytest.raises(ValueError, match=r"lengths\[1\] is -1"):
        Sequences.from_lengths(np.zeros((5, 2)), [6, -1])
    with pytest.raises(ValueError, match="lengths sum to 4 but flat has 5 rows"):
        Sequences.from_lengths(np.zeros((5, 2)), [2, 2])
    with pytest.raises(ValueError, match="found 3-D"):
        Sequences(np.zeros((5, 2, 2)), [0, 5])


@pytest.mark.parametrize(
    "key, message",
    [
        (3, "index 3 is out of range for 3 sequences"),
        (-4, "index -4 is out of range"),
        ([0, 3], "index 3 is out of range"),
        ([True, False], "mask has 2 entries, expected 3"),
        ([0.5], "integers or bools, found float64"),
        ([[0]], "1-D, found 2-D"),
        ((0, 1), "one axis"),
    ],
)
def test_keys_are_checked(key, message):
    with pytest.raises(IndexError, match=message):
        make("dense", [1, 2, 3])[0][key]


@pytest.mark.slow
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_grid_search_in_processes(rng, storage):
    lengths = rng.integers(1, 6, size=30)
    flat = rng.standard_normal((lengths.sum(), 3))
    X = Sequences.from_lengths(storage(flat), lengths)
    y = Sequences.from_lengths((flat[:, 0] > 0).astype(int), lengths)
    grid = {"lam": [1.0, 0.01]}
    search = GridSearchCV(ChainSSVM(random_state=0), grid, cv=2, n_jobs=2).fit(X, y)
    alone = GridSearchCV(ChainSSVM(random_state=0), grid, cv=2).fit(X, y)
    expected = alone.cv_results_["mean_test_score"]
    assert search.cv_results_["mean_test_score"].tolist() == expected.tolist()


@pytest.mark.parametrize("form", FORMATS)
def test_unpickled_states_are_validated(form):
    sequences, items = make(form, [1, 2])
    again = Sequences.__new__(Sequences)
    again.__setstate__(sequences.__getstate__())
    assert_same_items(again, items)
    flat, offsets, names = sequences.__getstate__()
    for state, message in [
        ((flat, offsets), r"found a tuple, expected a tuple \(flat"),
        ({"flat": flat}, "found a dict, expected a tuple"),
        ((flat, offsets + 1, names), r"Sequences.offsets\[0\] is 1"),
        ((flat, np.array([0, 9, 3]), names), r"found Sequences.offsets\[1\] = 9"),
        ((flat, np.array([0, 1, 2**62]), names), "Sequences.offsets ends with"),
        ((flat, offsets.tolist(), names), "Sequences.offsets must be an int64 array, found list"),
        ((flat, offsets.astype(float), names), "must be an int64 array"),
        (([1, 2, 3], offsets, names), "Sequences.flat must be an array"),
        ((sparse.coo_array(np.eye(3)), offsets, names), "Sequences.flat must be .* a CSR"),
        ((flat, offsets, np.array(["a"], dtype=object)), r"feature_names has shape \(1,\)"),
        ((flat, offsets, "a"), r"feature_names has shape \(1,\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            Sequences.__new__(Sequences).__setstate__(state)


@pytest.mark.parametrize("form", FORMATS[:3])
@pytest.mark.parametrize("lengths", [[2, 0, 4, 1], [0, 1], [3]])
def test_indexing_selects_edge_features(form, lengths):
    sequences, pairs = with_edges(form, lengths)
    positions = [-1, 0, 0]
    chosen = [pairs[i] for i in positions]
    assert_same_items(pickle.loads(pickle.dumps(sequences))[positions], chosen)
    assert_same_items(np.asarray(sequences[positions]), chosen)
    alone = sequences.without_edge_features()
    assert_same_items(alone, [nodes for nodes, _ in pairs])
    assert alone.flat is sequences.flat
    assert alone.without_edge_features() is alone
    again = Sequences.from_lengths(
        sequences.flat, lengths, edge_features=sequences.edge_features[:]
    )
    assert_same_items(again, pairs)
    if form == "dense":
        assert_same_items(Sequences.from_list(list(sequences)), pairs)


def test_edge_features_of_lists_and_frames():
    rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    sequences = Sequences.from_list([(rows, [[1], [2]]), (rows[:1], []), (rows[:2], [[3]])])
    assert repr(sequences) == "Sequences(n=3, flat=float64 (6, 2), edge_features=(3, 1))"
    assert sequences.edge_features.lengths.tolist() == [2, 0, 1]
    frame = pd.DataFrame({"down": [1.0, 2.0, 3.0]})
    for edges in (frame, Sequences(frame, [0, 2, 2, 3])):
        named = Sequences(sequences.flat, sequences.offsets, edge_features=edges)
        assert named.edge_features.feature_names.tolist() == ["down"]
        assert named[1:].edge_features.feature_names.tolist() == ["down"]
    assert sys.getsizeof(named) > sys.getsizeof(named.without_edge_features())


@pytest.mark.parametrize(
    "edges, message",
    [
        (np.ones((4, 1)), "edge_features has 4 rows, expected 3: one for each pair"),
        (np.ones(3), "which requires 2-D features and edge features"),
        (Sequences(np.ones((3, 1)), [0, 3]), r"edge_features has 1 items, expected 2"),
        (Sequences(np.ones((3, 1)), [0, 2, 3]), r"edge_features\[0\] has 2 rows, expected 1"),
        (
            Sequences(np.ones((3, 1)), [0, 1, 3], edge_features=np.ones((1, 1))),
            "edge_features must be Sequences",
        ),
    ],
    ids=["rows", "1-D", "items", "lengths", "nested"],
)
def test_edge_features_with_wrong_shape(edges, message):
    nodes = np.ones((5, 2))
    assert len(Sequences(nodes, [0, 2, 5], edge_features=np.ones((3, 1)))) == 2
    with pytest.raises(ValueError, match=message):
        Sequences(nodes, [0, 2, 5], edge_features=edges)
    with pytest.raises(ValueError, match="which requires 2-D features and edge features"):
        Sequences(["a", "b"], [0, 2], edge_features=[[1.0]])
    state = Sequences(nodes, [0, 2, 5]).__getstate__()
    with pytest.raises(ValueError, match=r"Sequences.edge_features"):
        Sequences.__new__(Sequences).__setstate__((*state, edges))


def test_changed_arrays_of_edge_features():
    X = Sequences(np.ones((5, 2)), [0, 2, 5], edge_features=np.ones((3, 1)))
    X.edge_features.offsets[1] = 3
    with pytest.raises(ValueError, match=r"X.edge_features\[0\] has 3 rows, expected 1"):
        ChainSSVM().fit(X, [[0, 1], [0, 1, 1]])


def test_sequences_unpickled_without_a_state_have_no_items():
    bare = Sequences.__new__(Sequences)
    assert len(bare) == 0
    assert [*bare] == []
    assert repr(bare) == "Sequences(n=0, flat=float64 (0,))"
    with pytest.raises(ValueError):
        ChainSSVM().fit(bare, bare)
