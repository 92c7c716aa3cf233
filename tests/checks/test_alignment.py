"""Arrays with unaligned data are copied before compiled code reads them.

Under the sanitizers a read at an odd place is an error; the values alone are right by luck.
"""

import numpy as np
import pytest
from scipy import sparse

from sstruct import ChainSSVM, MulticlassSSVM, Sequences, inference
from sstruct._checks.arrays import array_of, contiguous, real_array


def odd(array):
    """Return a copy of an array whose data start at an unaligned address."""
    array = np.asarray(array)
    text = np.frombuffer(b"\0" + array.tobytes(), dtype=np.uint8)
    view = text[1:].view(array.dtype).reshape(array.shape)
    assert not view.flags.aligned
    return view


def odd_csr(array):
    matrix = sparse.csr_matrix(array)
    matrix.data = odd(matrix.data)
    matrix.indices, matrix.indptr = odd(matrix.indices), odd(matrix.indptr)
    return matrix


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int32, np.int64])
def test_arrays_are_moved_only_where_they_must_be(kind):
    array = np.arange(6, dtype=kind).reshape(2, 3)
    for turn in (contiguous, lambda a: array_of(a, "a")):
        assert turn(array) is array
        moved = turn(odd(array))
        assert moved.flags.aligned
        assert moved.dtype == kind
        np.testing.assert_array_equal(moved, array)
    assert real_array(odd(array), "a").flags.aligned
    assert contiguous(odd(array).T).flags.c_contiguous


def test_functions_of_inference_take_them(rng):
    node, pair = rng.standard_normal((5, 3)), rng.standard_normal((3, 3))
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, 4]])
    for function, *given in (
        (inference.viterbi, node, pair),
        (inference.max_marginals, node, pair),
        (inference.distance_transform, node, np.ones(2)),
        (inference.alpha_expansion, node, edges.astype(np.int32), np.ones(4)),
        (inference.graph_cut, node[:, :2], edges.astype(np.int32), np.ones(4)),
    ):
        found, expected = function(*map(odd, given)), function(*given)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("turn", [odd, odd_csr])
@pytest.mark.filterwarnings("ignore:.*stopped at relative duality gap")
def test_estimators_take_them(rng, turn):
    X, y = rng.standard_normal((30, 4)) * rng.integers(0, 2, (30, 4)), rng.integers(0, 3, 30)
    plain = sparse.csr_matrix(X) if turn is odd_csr else X
    model, same = (MulticlassSSVM(max_iter=5, random_state=0) for _ in range(2))
    model.fit(turn(X), odd(y))
    np.testing.assert_array_equal(model.w_, same.fit(plain, y).w_)
    np.testing.assert_array_equal(model.predict(turn(X)), same.predict(plain))
    offsets = np.array([0, 10, 30])
    chain, same = (ChainSSVM(max_iter=5, random_state=0) for _ in range(2))
    targets = [y[:10], y[10:]]
    chain.fit(Sequences(turn(X), odd(offsets)), [odd(v) for v in targets])
    np.testing.assert_array_equal(chain.w_, same.fit(Sequences(plain, offsets), targets).w_)
