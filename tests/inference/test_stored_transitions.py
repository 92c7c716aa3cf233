"""Test transitions that are stored in a sparse matrix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sstruct._oracles.chain._chain_decoder import ChainDecoder
from sstruct.inference import max_marginals, top_k, viterbi
from sstruct.inference._chain_scores import ChainScores
from tests.oracles.test_viterbi import best_scores, enumerate_all, ranking

FORMATS = {"csr": sparse.csr_matrix, "csc": sparse.csc_array, "coo": sparse.coo_array}


def stored_scores(rng, L, K, density, ties):
    """Return integer scores, whose sums are exact, and transitions, sparse and dense with -inf."""
    high = 1 if ties else 10**6
    node = rng.integers(-high, high + 1, (L, K)).astype(float)
    node[rng.random(node.shape) < 0.1] = -np.inf
    rows, columns = np.nonzero(rng.random((K, K)) < density)
    values = rng.integers(-high, high + 1, len(rows)).astype(float)
    dense = np.full((K, K), -np.inf)
    dense[rows, columns] = values
    return node, sparse.coo_array((values, (rows, columns)), shape=(K, K)), dense


@settings(max_examples=200)
@given(
    L=st.integers(1, 6),
    K=st.integers(1, 4),
    density=st.sampled_from([0.0, 0.3, 0.6, 1.0]),
    ties=st.booleans(),
    key=st.integers(0, 2**32 - 1),
    layout=st.sampled_from(sorted(FORMATS)),
    mask=st.booleans(),
)
def test_equals_enumeration(new_rng, L, K, density, ties, key, layout, mask):
    rng = new_rng(key)
    node, edge, dense = stored_scores(rng, L, K, density, ties)
    edge = FORMATS[layout](edge)
    allowed = rng.random((K, K)) < 0.8 if mask else np.ones((K, K), dtype=bool)
    start, end = rng.integers(-2, 3, (2, K)).astype(float)
    given = {"start": start, "end": end} | ({"mask": allowed} if mask else {})
    scores = {
        y: value + start[y[0]] + end[y[-1]]
        for y, value in enumerate_all(node, np.where(allowed, dense, -np.inf)).items()
    }
    labels, value = viterbi(node, edge, **given)
    ranked, values = top_k(node, edge, 12, **given)
    order = ranking(scores)[:12]
    assert [*map(tuple, ranked.tolist())] == order
    assert values.tolist() == [scores[y] for y in order]
    assert value == max(scores.values())
    assert not order or tuple(labels.tolist()) == order[0]
    through = max_marginals(node, edge, **given)
    np.testing.assert_array_equal(through, best_scores(scores, node.shape))


@settings(max_examples=100)
@given(
    L=st.integers(1, 30),
    K=st.sampled_from([2, 7, 40, 70, 130]),
    density=st.sampled_from([0.02, 0.2, 0.7]),
    key=st.integers(0, 2**32 - 1),
)
def test_equals_the_dense_table(new_rng, L, K, density, key):
    node, edge, dense = stored_scores(new_rng(key), L, K, density, False)
    labels, value = viterbi(node, edge)
    expected, best = viterbi(node, dense)
    assert value == best
    rows, values = top_k(node, edge, 5)
    dense_rows, dense_values = top_k(node, dense, 5)
    assert rows.tolist() == dense_rows.tolist()
    assert values.tolist() == dense_values.tolist()
    np.testing.assert_array_equal(max_marginals(node, edge), max_marginals(node, dense))
    if best > -np.inf:
        assert labels.tolist() == expected.tolist()


def test_a_stored_zero_is_allowed():
    edge = sparse.coo_array(([0.0, 1.0, 1.0], ([0, 1, 1], [1, 0, 0])), shape=(2, 2))
    node = np.array([[3.0, 0.0], [9.0, 0.0]])
    labels, value = viterbi(node, edge)
    assert (labels.tolist(), value) == ([1, 0], 11.0)  # duplicates are summed
    assert viterbi(node, edge, start=[0, -np.inf])[0].tolist() == [0, 1]
    assert edge.nnz == 3
    assert viterbi(node, edge, missing="zero")[1] == 12.0
    assert viterbi(node, edge, missing="zero", start=[0, 2], end=[-5, 0])[1] == 8.0
    # Duplicates of CSC remain until they are added.
    edge = sparse.csc_array(([1.0, 1.0, 0.0], [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    assert viterbi(node, edge)[1] == 11.0
    assert edge.nnz == 3


@settings(max_examples=100)
@given(
    L=st.integers(1, 40),
    K=st.sampled_from([1, 3, 9, 65, 90]),
    kind=st.sampled_from(["dense", "positions", "stored"]),
    stretch=st.integers(1, 41),
    key=st.integers(0, 2**32 - 1),
)
def test_stretches_have_the_same_bits(new_rng, L, K, kind, stretch, key):
    rng = new_rng(key)
    node = (rng.standard_normal((L, K)) * rng.choice([1, 10])).astype(np.float32)
    edge = rng.standard_normal((L - 1, K, K) if kind == "positions" else (K, K))
    if kind == "stored":
        edge = sparse.csr_array(edge * (rng.random((K, K)) < 0.5))
    start, end = rng.standard_normal((2, K))
    terms = ChainScores(K, edge, None, None, start, end).terms
    decoder = ChainDecoder(terms)
    labels, value = ChainDecoder(terms).decode(node, "x", L)
    for size in (stretch, L):
        again, same = decoder.decode(node, "x", size)
        assert same == value
        if value > -np.inf:
            assert again.tolist() == labels.tolist()
    expected, best = viterbi(node.astype(np.float64), edge, start=start, end=end)
    assert value == best
    if value > -np.inf:
        assert labels.tolist() == expected.tolist()


def test_size_of_stretches():
    decoder = ChainDecoder(ChainScores(60, np.zeros((60, 60)), None, None, None, None).terms)
    assert decoder.size_of(5000) == 5000
    assert decoder.size_of(10**6) <= 2**10
    assert decoder.size_of(10**8) == 10**4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("K", [3, 70])
def test_views_are_read_in_place(dtype, K):
    rng = np.random.default_rng(0)
    edge = rng.standard_normal((K, K))
    node = rng.standard_normal((20, K)).astype(dtype)
    expected, best = viterbi(np.ascontiguousarray(node, dtype=np.float64), edge)
    wide = np.zeros((40, 3 * K), dtype=dtype)
    wide[::2, ::3] = node
    record = np.zeros((20, K), dtype=[("flag", "u1"), ("x", dtype)])
    record["x"] = node
    read_only = node.copy()
    read_only.setflags(write=False)
    views = (wide[::2, ::3], np.asfortranarray(node), node[::-1][::-1], record["x"], read_only)
    for view in views:
        labels, value = viterbi(view, edge)
        assert value == best
        assert labels.tolist() == expected.tolist()
    assert viterbi(node.astype(np.dtype(dtype).newbyteorder()), edge)[1] == best


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
@pytest.mark.parametrize("decode", [viterbi, top_k])
def test_threads_have_the_same_results(decode, n_jobs):
    rng = np.random.default_rng(3)
    chains = [rng.standard_normal((n, 5)).astype(np.float32) for n in rng.integers(0, 30, 50)]
    edge = rng.standard_normal((5, 5))
    labels, values = decode(chains, edge)
    again, same = decode(chains, edge, n_jobs=n_jobs)
    assert [rows.tolist() for rows in again] == [rows.tolist() for rows in labels]
    assert [np.ravel(row).tolist() for row in same] == [np.ravel(row).tolist() for row in values]
    chains[-1] = np.full((2, 5), np.nan)
    with pytest.raises(ValueError, match=r"node_scores\[49\] must not contain NaN"):
        decode(chains, edge, n_jobs=n_jobs)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"missing": "no"}, "missing must be"),
        ({"beam": 2}, "beam requires a sparse matrix as edge_scores and missing='zero'"),
        ({"n_jobs": 0}, "n_jobs must be 1 or more"),
        ({"edge_scores": np.zeros((1, 2, 2))}, r"edge_scores must have shape \(2, 2\) or \(2, 2,"),
        ({"edge_scores": sparse.csr_array((2, 3))}, "sparse edge_scores must have shape"),
        ({"edge_scores": sparse.csr_array([[np.nan, 1], [0, 0]])}, "edge_scores must not contain"),
    ],
)
def test_invalid_arguments(given, message):
    with pytest.raises(ValueError, match=message):
        viterbi(np.zeros((3, 2)), **given)


def numpy_viterbi(node, edge):
    """Return the best labels by the Viterbi recursion, the lowest labels in ties."""
    score, back = node[0], []
    for row in node[1:]:
        total = score[:, None] + edge
        back.append(total.argmax(axis=0))
        score = total.max(axis=0) + row
    path = [int(score.argmax())]
    for origin in reversed(back):
        path.append(int(origin[path[-1]]))
    return path[::-1]


def test_logits_have_the_path_of_the_recursion():
    rng = np.random.default_rng(5)
    edge = rng.standard_normal((33, 33))
    chains = [rng.standard_normal((n, 33)) for n in rng.integers(1, 60, 60)]
    for node, labels in zip(chains, viterbi(chains, edge)[0]):
        assert labels.tolist() == numpy_viterbi(node, edge)
