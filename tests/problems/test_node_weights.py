"""Products of dense rows with the copy of tracked weights equal those with the original."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sstruct import ChainSSVM, GraphCRFSSVM, MulticlassSSVM
from sstruct._problems.core._decode import decode
from sstruct._problems.label_set._multiclass import MulticlassProblem
from sstruct._testing._problem_access import scatter, scores, squared_distance, track
from sstruct.solvers import MPBCFW
from tests.problems.flat import chain_problem

LENGTHS = [1, 2, 11, 5, 40]


def chains(X, labels, n_labels, start, length):
    return chain_problem(X=X, start=start, length=length, labels=labels, n_labels=n_labels)


def classes(X, labels, n_labels, start, length):
    return MulticlassProblem(X, labels, n_labels)


MAKERS = {"chain": chains, "multiclass": classes}


def made(rng, make, n_labels, n_features, dtype):
    """Return a problem with small integer features, and labelings of each block."""
    length = np.array(LENGTHS)
    X = rng.integers(-3, 4, (length.sum(), n_features)).astype(dtype)
    labels = rng.integers(0, n_labels, len(X)).astype(np.int32)
    start = np.append(0, np.cumsum(length)[:-1])
    problem = make(X, labels, n_labels, start, length)
    sizes = problem.code_sizes()
    codes = [rng.integers(0, n_labels, (5, size)).astype(np.int32) for size in sizes[:8]]
    return problem, codes


def answers(problem, codes, w):
    """Return all scores of labelings without common constants, and the results of the oracle."""
    out = []
    for i, table in enumerate(codes):
        found = scores(problem, i, w, table)
        out.append(np.subtract(found, found[0]).tolist())
        out.append(problem.best_code(i, w)[1])
        out.append(problem.best_code(i, w, 0.0)[1])
    return out


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@settings(max_examples=40)
@given(
    n_labels=st.integers(1, 13),
    n_features=st.sampled_from([63, 64, 65, 71, 100]),
    dtype=st.sampled_from([np.float32, np.float64]),
    key=st.integers(0, 2**32 - 1),
)
def test_moves_and_scores_of_tracked_weights(make, new_rng, n_labels, n_features, dtype, key):
    rng = new_rng(key)
    problem, codes = made(rng, make, n_labels, n_features, dtype)
    other = problem.fork()
    w = problem.layout.padded(rng.integers(-4, 5, problem.layout.public_size).astype(float))
    expected = w.copy()
    track(problem, w)
    for _ in range(3):
        for i in rng.permutation(len(codes)):
            change = rng.integers(-2, 3, 5).astype(float)
            change[0] -= change.sum()
            scatter(problem, i, codes[i], change, w)
            scatter(other, i, codes[i], change, expected)
            elsewhere = np.zeros_like(w)
            scatter(problem, i, codes[i], change, elsewhere)
            again = np.zeros_like(w)
            scatter(other, i, codes[i], change, again)
            np.testing.assert_array_equal(elsewhere, again)
        assert answers(problem, codes, w) == answers(other, codes, expected)
    track(problem)
    np.testing.assert_array_equal(w, expected)
    assert answers(problem, codes, w) == answers(other, codes, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_factor_of_features(rng, dtype):
    problem, codes = made(rng, chains, 6, 70, dtype)
    problem.scale_features(0.5)
    w = problem.layout.padded(rng.integers(-4, 5, problem.layout.public_size).astype(float))
    half = w.copy()
    half[: problem.n_feature_weights] *= 0.5
    track(problem, w)
    found = answers(problem, codes, w)
    track(problem)
    problem.scale_features(1.0)
    assert found == answers(problem, codes, half)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_labels", [3, 4, 9])
def test_scores_do_not_depend_on_other_samples(rng, n_labels, dtype):
    lengths = [1, 3, 7, 8, 9, 10, 11, 30, 41]
    X = [rng.normal(size=(n, 70)).astype(dtype) for n in lengths]
    y = [rng.integers(0, n_labels, n) for n in lengths]
    model = ChainSSVM(classes=np.arange(n_labels), tol=0.5, random_state=0).fit(X, y)
    together = model.decision_function(X)
    for i in rng.permutation(len(X)):
        np.testing.assert_array_equal(model.decision_function([X[i]])[0], together[i])


@pytest.mark.parametrize("bounds", [False, True])
@pytest.mark.parametrize("sampling", ["auto", "gap", "uniform"])
def test_threads_do_not_change_bits(rng, bounds, sampling):
    X = [rng.normal(size=(rng.integers(1, 15), 80)).astype(np.float32) for _ in range(220)]
    y = [rng.integers(0, 7, len(x)) for x in X]
    options = {"solver": MPBCFW(sampling=sampling), "tol": 0.1, "random_state": 0}
    if bounds:
        options["bounds"] = np.array([[-0.1], [0.1]]).repeat(80 * 7 + 7 + 14 + 49, axis=1)
    one, two = (ChainSSVM(n_jobs=n_jobs, **options).fit(X, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.w_, two.w_)
    np.testing.assert_array_equal(one.history_["dual"], two.history_["dual"])


def dense_chains(rng):
    X = [rng.normal(size=(9, 90)) for _ in range(60)]
    return ChainSSVM, X, [rng.integers(0, 5, 9) for _ in X]


def dense_graphs(rng):
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
    X = [(rng.normal(size=(4, 90)), edges) for _ in range(60)]
    return GraphCRFSSVM, X, [rng.integers(0, 2, 4) for _ in X]


def dense_classes(rng):
    return MulticlassSSVM, rng.normal(size=(150, 90)), rng.integers(0, 5, 150)


@pytest.mark.parametrize("make", [dense_chains, dense_graphs, dense_classes])
def test_dense_and_sparse_rows_have_the_same_optimum(rng, make):
    kind, X, y = make(rng)
    if isinstance(X, np.ndarray):
        X_sparse = sparse.csr_matrix(X)
    elif kind is GraphCRFSSVM:
        X_sparse = [(sparse.csr_matrix(x), edges) for x, edges in X]
    else:
        X_sparse = [sparse.csr_matrix(x) for x in X]
    dense, stored = (
        kind(lam=0.5, tol=1e-6, max_iter=2000, random_state=0).fit(rows, y)
        for rows in (X, X_sparse)
    )
    for one, other in ((dense, stored), (stored, dense)):
        assert one.dual_objective_ <= other.objective_ * (1 + 1e-12)
    assert dense.objective_ == pytest.approx(stored.objective_, rel=3e-6)


def test_decoding_does_not_change_weights(rng):
    problem, _ = made(rng, chains, 5, 70, np.float32)
    w = problem.layout.padded(rng.normal(size=problem.layout.public_size))
    before = w.copy()
    first = decode(problem, w)
    np.testing.assert_array_equal(w, before)
    w *= -1
    assert decode(problem, w).tolist() == decode(problem.fork(), w).tolist()
    assert (decode(problem, w) != first).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("factor", [1.0, 0.3])
def test_stored_squares_of_rows_do_not_change_distances(rng, dtype, factor):
    problem, codes = made(rng, chains, 5, 70, dtype)
    problem.scale_features(factor)

    def distances(of):
        pairs = [(i, a, b) for i, block in enumerate(codes) for a in block for b in block]
        return [squared_distance(of, i, a, b) for i, a, b in pairs]

    before = distances(problem)
    problem.norms()
    assert distances(problem) == distances(problem.fork()) == before
