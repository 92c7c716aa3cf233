"""Test Viterbi with sparse transitions against Viterbi with dense transitions."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from sstruct.inference import viterbi

FORMATS = {"csr": sparse.csr_matrix, "csc": sparse.csc_array, "coo": sparse.coo_array}


def random_scores(rng, L, K, density, ties, forbidden):
    """Return integer scores, whose sums are exact, so that ties are broken in the same way."""
    high = 1 if ties else 10**6
    node = rng.integers(-high, high + 1, (L, K)).astype(float)
    edge = rng.integers(-high, high + 1, (K, K)) * (rng.random((K, K)) < density).astype(float)
    if forbidden:
        node[rng.random(node.shape) < 0.15] = -np.inf
        edge[rng.random(edge.shape) < 0.3 * density] = -np.inf
    return node, edge


def value_of(labels, node, edge):
    return node[np.arange(len(labels)), labels].sum() + edge[labels[:-1], labels[1:]].sum()


def beam_reference(node, edge, beam):
    """Return the best score of the recursion over the `beam` best predecessors."""
    score = node[0].copy()
    for row in node[1:]:
        kept = np.lexsort((np.arange(len(score)), -score))[:beam]
        score = (score[kept][:, None] + edge[kept]).max(axis=0) + row
    return score.max()


SIZES = dict(
    L=st.integers(1, 6),
    K=st.integers(1, 40),
    density=st.sampled_from([0.0, 0.05, 0.3, 0.9, 1.0]),
    ties=st.booleans(),
    forbidden=st.booleans(),
    key=st.integers(0, 2**32 - 1),
)


@settings(max_examples=400)
@given(**SIZES, layout=st.sampled_from(sorted(FORMATS)))
@example(L=6, K=1, density=1.0, ties=True, forbidden=True, key=0, layout="csr")
def test_equals_dense_with_the_same_choice(new_rng, L, K, density, ties, forbidden, key, layout):
    node, edge = random_scores(new_rng(key), L, K, density, ties, forbidden)
    expected, best = viterbi(node, edge)
    labels, value = viterbi(node, FORMATS[layout](edge), missing="zero")
    assert labels.dtype == np.int32
    assert value == best
    if best > -np.inf:
        np.testing.assert_array_equal(labels, expected)
    else:
        assert ((labels >= 0) & (labels < K)).all()


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_rounds_as_dense(rng, scale):
    # With large node scores, rows are skipped; with small ones, none.
    for _ in range(30):
        node = scale * rng.standard_normal((8, 60))
        edge = rng.standard_normal((60, 60)) * (rng.random((60, 60)) < 0.1)
        expected, best = viterbi(node, edge)
        labels, value = viterbi(node, sparse.csr_array(edge), missing="zero")
        assert value == best
        np.testing.assert_array_equal(labels, expected)


@given(**SIZES, beam=st.integers(1, 45))
def test_beam_is_the_recursion_over_the_best_predecessors(
    new_rng, L, K, density, ties, forbidden, key, beam
):
    node, edge = random_scores(new_rng(key), L, K, density, ties, forbidden)
    labels, value = viterbi(node, sparse.csr_array(edge), missing="zero", beam=beam)
    assert value == beam_reference(node, edge, beam)
    assert value <= viterbi(node, edge)[1]
    if value > -np.inf:
        assert value == value_of(labels, node, edge)
    if beam >= K:
        assert value == viterbi(node, edge)[1]


def test_duplicates_add_up_and_zeros_may_be_stored():
    node = np.array([[1.0, 0.0], [0.0, 0.0]])
    edge = sparse.coo_array(([1.0, 1.0, 0.0], ([1, 1, 0], [1, 1, 0])), shape=(2, 2))
    labels, value = viterbi(node, edge, missing="zero")
    assert (labels.tolist(), value) == ([1, 1], 2.0)
    assert edge.nnz == 3


def test_matrices_that_scipy_does_not_convert():
    edge = sparse.csc_array((np.ones(2, dtype=np.float16), [0, 1], [0, 1, 2]), shape=(2, 2))
    labels, value = viterbi(np.array([[1.0, 0.0], [0.0, 0.0]]), edge)
    assert (labels.tolist(), value) == ([0, 0], 2.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros((2, 3)), sparse.csr_array((2, 3))), "sparse edge_scores must have shape"),
        ((np.zeros(3), sparse.csr_array((3, 3))), "node_scores must be nonempty with shape"),
        ((np.full((1, 2), np.nan), sparse.csr_array((2, 2))), "node_scores must not contain NaN"),
        ((np.zeros((1, 1)), sparse.csr_array([[np.inf]])), "edge_scores must not contain NaN"),
        ((np.zeros((1, 1)), sparse.csr_array((1, 1)), 0), "beam must be a positive integer"),
        *(
            ((np.zeros((1, 1)), sparse.csr_array((1, 1)), beam), "beam must be a positive integer")
            for beam in (1.5, np.inf, np.nan, "x", [2])
        ),
        ((np.zeros((1, 1)), np.zeros((1, 1)), 2), "beam requires a sparse matrix"),
    ],
)
def test_invalid_arguments(arguments, message):
    scores, beam = arguments[:2], (arguments[2:] or (None,))[0]
    with pytest.raises(ValueError, match=message):
        viterbi(*scores, missing="zero", beam=beam)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
@pytest.mark.parametrize(
    ("indices", "indptr", "message"),
    [
        ([10**9], [0, 1, 1], r"indices\[0\] is 1000000000, expected 0 to 1"),
        ([1, -1], [0, 1, 2], r"indices\[1\] is -1, expected 0 to 1"),
        ([0, 1], [0, 10**9, 2], r"nondecreasing, but .*\[1\] is 1000000000 and .*\[2\] is 2"),
        ([0, 1], [0, 10**9, 0], r"nondecreasing, but .*\[1\] is 1000000000 and .*\[2\] is 0"),
        ([0, 1], [0, 1, 3], "indices has 2 entries, expected 3, the last entry of indptr"),
    ],
)
def test_indices_out_of_range(kind, indices, indptr, message):
    edge = kind((2, 2))
    edge.data, edge.indices = np.ones(len(indices)), np.array(indices)
    edge.indptr = np.array(indptr)
    with pytest.raises(ValueError, match=message):
        viterbi(np.zeros((3, 2)), edge)
