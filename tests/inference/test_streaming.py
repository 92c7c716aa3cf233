"""Test StreamingViterbi against decoding of whole chains."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import NotFittedError

from sstruct import ChainSSVM, MulticlassSSVM
from sstruct.inference import StreamingViterbi, viterbi


def pushed(stream, node, rng):
    """Push rows in random portions; return the labels of each push and of the flush."""
    out, first = [], 0
    while first < len(node):
        last = min(first + int(rng.integers(1, 4)), len(node))
        out.append(stream.push(node[first:last]))
        first = last
        assert sum(map(len, out)) + stream.n_pending == first
    return [*out, stream.flush()]


SIZES = dict(
    L=st.integers(1, 60),
    K=st.sampled_from([1, 2, 3, 9, 33]),
    ties=st.booleans(),
    stored=st.booleans(),
    key=st.integers(0, 2**32 - 1),
)


def scores_of(rng, L, K, ties, stored):
    node = rng.integers(-2, 3, (L, K)).astype(float) if ties else rng.standard_normal((L, K))
    edge = rng.integers(-2, 3, (K, K)).astype(float) if ties else rng.standard_normal((K, K))
    node[rng.random((L, K)) < 0.1] = -np.inf
    if stored:
        edge = sparse.csr_array(np.where(rng.random((K, K)) < 0.6, edge + 10, 0))
    return node, edge, rng.standard_normal((2, K))


@settings(max_examples=300)
@given(**SIZES)
def test_without_lag_equals_viterbi(new_rng, L, K, ties, stored, key):
    rng = new_rng(key)
    node, edge, (start, end) = scores_of(rng, L, K, ties, stored)
    stream = StreamingViterbi(edge, start=start, end=end)
    for _ in range(2):  # the second time after a flush
        expected, best = viterbi(node, edge, start=start, end=end)
        if best == -np.inf:
            with pytest.raises(ValueError, match="every labeling of the chain"):
                pushed(stream, node, rng)
            return
        found = np.concatenate(pushed(stream, node, rng))
        assert found.dtype == np.int32
        assert found.tolist() == expected.tolist()
        assert stream.n_pending == 0


def survivors(node, edge):
    """Return the best labeling that ends in each label, or None if it is forbidden."""
    K, out = node.shape[1], []
    for k in range(K):
        end = np.where(np.arange(K) == k, 0, -np.inf)
        labels, value = viterbi(node, edge, end=end)
        out.append(labels.tolist() if value > -np.inf else None)
    return out


@settings(max_examples=150)
@given(
    L=st.integers(1, 14),
    K=st.integers(1, 5),
    lag=st.sampled_from([None, 0, 1, 2, 5]),
    key=st.integers(0, 2**32 - 1),
)
def test_each_push_follows_the_definition(new_rng, L, K, lag, key):
    rng = new_rng(key)
    node, edge = rng.standard_normal((L, K)), 2 * rng.standard_normal((K, K))
    edge[rng.random((K, K)) < 0.15] = -np.inf
    stream, returned = StreamingViterbi(edge, lag=lag), []
    alive = node.copy()  # -inf for labels that contradict returned ones
    for t in range(L):
        expected = list(returned)
        paths = [path for path in survivors(alive[: t + 1], edge) if path is not None]
        if not paths:
            with pytest.raises(ValueError, match=rf"forbidden from rows\[0\] on, position {t}"):
                stream.push(node[t : t + 1])
            assert stream.n_pending == t - len(returned)
            return
        while len(expected) <= t:
            p = len(expected)  # the position to decide
            if len({path[p] for path in paths}) > 1:
                if lag is None or t - p < lag:
                    break
                best = viterbi(alive[: t + 1], edge)[0][p]
                alive[t, [path[t] for path in paths if path[p] != best]] = -np.inf
                paths = [path for path in paths if path[p] == best]
            expected.append(paths[0][p])
            alive[p, np.arange(K) != expected[p]] = -np.inf
        found = stream.push(node[t : t + 1]).tolist()
        assert returned + found == expected
        returned = expected
    assert returned + stream.flush().tolist() == viterbi(alive, edge)[0].tolist()


def test_memory_of_a_long_stream_is_bounded():
    rng = np.random.default_rng(0)
    node, edge = rng.standard_normal((5000, 4)), rng.standard_normal((4, 4))
    stream = StreamingViterbi(edge, lag=20)
    found = []
    for row in node:
        found += stream.push([row]).tolist()
        assert stream.n_pending <= 20
    found += stream.flush().tolist()
    assert found == viterbi(node, edge)[0].tolist()  # paths of this chain meet within 20 positions


def test_invalid_rows_change_nothing():
    stream = StreamingViterbi(np.eye(2), lag=1, classes=["a", "b"])
    assert stream.push(np.empty((0, 2))).tolist() == []
    stream.push([[1.0, 0.0]])
    for rows, message in [
        ([[1.0, 0.0], [np.nan, 0.0]], "rows must not contain NaN"),
        ([[1.0, 0.0, 2.0]], "rows has 3 columns, expected 2"),
        ([1.0, 0.0], "one row is"),
    ]:
        with pytest.raises(ValueError, match=message):
            stream.push(rows)
    assert stream.n_pending == 1
    assert stream.flush().tolist() == ["a"]
    with pytest.raises(ValueError, match=r"rows\[1\] on, position 1"):
        stream.push([[3.0, 0.0], [-np.inf, -np.inf]])
    assert stream.flush().tolist() == ["a"]


@pytest.mark.parametrize("function", [pickle.dumps, copy.copy, copy.deepcopy])
def test_streams_cannot_be_copied(function):
    stream = StreamingViterbi(np.eye(2))
    with pytest.raises(TypeError, match="pickle the model or the scores, and create another"):
        function(stream)


@pytest.mark.parametrize(
    ("edge", "given", "error", "message"),
    [
        (np.eye(2), {"lag": -1}, ValueError, "lag must be at least 0"),
        (np.eye(2), {"lag": 1.5}, TypeError, "lag must be an integer"),
        (np.zeros((2, 3)), {}, ValueError, "model_or_scores must have shape"),
        (np.zeros((1, 2, 2)), {}, ValueError, "model_or_scores must have shape"),
        (np.eye(2), {"classes": ["a"]}, ValueError, "classes has 1 labels"),
    ],
)
def test_invalid_arguments(edge, given, error, message):
    with pytest.raises(error, match=message):
        StreamingViterbi(edge, **given)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"transition_mask": lambda a, b: (a, b) != (0, 1) and (a, b) != (None, 2)},
        {"transitions": False},
        {"transitions": lambda a, b: a == b},
        {"class_scores": [3, 1, 0]},
    ],
    ids=["plain", "mask", "no transitions", "tied", "class scores"],
)
def test_a_model_labels_as_predict_does(options):
    rng = np.random.default_rng(3)
    X = [rng.standard_normal((n, 6)).astype(np.float32) for n in rng.integers(1, 15, 60)]
    y = [np.argmax(x[:, [3, 1, 0]] + 0.5 * x[:, [2, 4, 5]], axis=1) for x in X]
    mask = options.get("transition_mask", lambda a, b: True)
    kept = [i for i in range(60) if all(map(mask, [None, *y[i]], [*y[i], None]))]
    X, y = [X[i] for i in kept], [y[i] for i in kept]
    model = ChainSSVM(random_state=0, **options).fit(X, y)
    stream = StreamingViterbi(model)
    for x, labels in zip(X, model.predict(X)):
        assert np.concatenate(pushed(stream, x, rng)).tolist() == labels.tolist()
        found = [*stream.push(sparse.csr_array(x)), *stream.flush()]
        assert found == labels.tolist()


def test_models_that_cannot_decode_a_stream():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((4, 6, 2)), rng.integers(0, 2, (4, 6))
    with pytest.raises(NotFittedError):
        StreamingViterbi(ChainSSVM())
    with pytest.raises(TypeError, match="a fitted ChainSSVM or scores, found MulticlassSSVM"):
        StreamingViterbi(MulticlassSSVM().fit(X[0], y[0]))
    model = ChainSSVM().fit(X, y)
    with pytest.raises(ValueError, match="must be None if a model is given"):
        StreamingViterbi(model, classes=[0, 1])
    stream = StreamingViterbi(model)
    with pytest.raises(ValueError, match="rows has 3 features, but the model is expecting 2"):
        stream.push([[0.0, 1.0, 2.0]])
    with pytest.raises(ValueError, match="rows must not contain NaN or infinity"):
        stream.push([[0.0, np.inf]])
    with_edges = [(x, rng.standard_normal((5, 3))) for x in X]
    with pytest.raises(ValueError, match="edge features cannot be exported or decode a stream"):
        StreamingViterbi(ChainSSVM().fit(with_edges, y))
