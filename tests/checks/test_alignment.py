"""Arrays with unaligned data are copied before compiled code reads them.

On common processors unaligned reads return correct values; the sanitizers report them as errors.
"""

import numpy as np
import pytest
from scipy import sparse

from sstruct import ChainSSVM, MulticlassSSVM, Sequences, inference
from sstruct._checks.arrays import array_of, contiguous, real_array


def unaligned(array):
    """Reconvert a copy of an array whose data start at an unaligned address."""
    array = np.asarray(array)
    text = np.frombuffer(b"\0" + array.tobytes(), dtype=np.uint8)
    view = text[1:].view(array.dtype).reshape(array.shape)
    assert not view.flags.aligned
    return view


def unaligned_csr(array):
    matrix = sparse.csr_matrix(array)
    matrix.data = unaligned(matrix.data)
    matrix.indices, matrix.indptr = unaligned(matrix.indices), unaligned(matrix.indptr)
    return matrix


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int32, np.int64])
def test_only_unaligned_arrays_are_copied(kind):
    array = np.arange(6, dtype=kind).reshape(2, 3)
    for convert in (contiguous, lambda a: array_of(a, "a")):
        assert convert(array) is array
        copy = convert(unaligned(array))
        assert copy.flags.aligned
        assert copy.dtype == kind
        np.testing.assert_array_equal(copy, array)
    assert real_array(unaligned(array), "a").flags.aligned
    assert contiguous(unaligned(array).T).flags.c_contiguous


def test_inference_functions_accept_unaligned_arrays(rng):
    node, pair = rng.standard_normal((5, 3)), rng.standard_normal((3, 3))
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, 4]])
    for function, *given in (
        (inference.viterbi, node, pair),
        (inference.max_marginals, node, pair),
        (inference.distance_transform, node, np.ones(2)),
        (inference.alpha_expansion, node, edges.astype(np.int32), np.ones(4)),
        (inference.graph_cut, node[:, :2], edges.astype(np.int32), np.ones(4)),
    ):
        found, expected = function(*map(unaligned, given)), function(*given)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("convert", [unaligned, unaligned_csr])
@pytest.mark.filterwarnings("ignore:.*stopped at relative duality gap")
def test_estimators_accept_unaligned_arrays(rng, convert):
    X, y = rng.standard_normal((30, 4)) * rng.integers(0, 2, (30, 4)), rng.integers(0, 3, 30)
    plain = sparse.csr_matrix(X) if convert is unaligned_csr else X
    model, same = (MulticlassSSVM(max_iter=5, random_state=0) for _ in range(2))
    model.fit(convert(X), unaligned(y))
    np.testing.assert_array_equal(model.w_, same.fit(plain, y).w_)
    np.testing.assert_array_equal(model.predict(convert(X)), same.predict(plain))
    offsets = np.array([0, 10, 30])
    chain, same = (ChainSSVM(max_iter=5, random_state=0) for _ in range(2))
    targets = [y[:10], y[10:]]
    chain.fit(Sequences(convert(X), unaligned(offsets)), [unaligned(v) for v in targets])
    np.testing.assert_array_equal(chain.w_, same.fit(Sequences(plain, offsets), targets).w_)
