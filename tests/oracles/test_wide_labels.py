"""Test kernels over many labels against NumPy.

tests/package/test_instructions.py runs this file for every instruction set.
"""

import numpy as np
import pytest
from scipy import sparse

from sstruct._problems.chain._chain_problem import ChainProblem
from sstruct._problems.chain.chain_arguments import ChainModel, ChainRanges
from sstruct._testing import _problem_access as access
from sstruct.inference import viterbi

N_LABELS = [1, 3, 4, 5, 8, 12, 16, 17, 24, 26, 32, 33, 64, 100]


def max_plus_viterbi(node, edge):
    """Return the result of Viterbi with the decoder's order of additions."""
    best, origins = node[0], []
    for row in node[1:]:
        prefixes = best[:, np.newaxis] + edge
        origins.append(prefixes.argmax(axis=0))
        best = prefixes.max(axis=0) + row
    labels = [best.argmax()]
    for origin in reversed(origins):
        labels.append(origin[labels[-1]])
    return labels[::-1], best.max()


@pytest.mark.parametrize("K", N_LABELS)
@pytest.mark.parametrize("kind", ["real", "ties", "forbidden"])
def test_viterbi_equals_numpy_to_the_bit(rng, K, kind):
    for L in (2, 7):
        node, edge = rng.standard_normal((L, K)), rng.standard_normal((K, K))
        if kind == "ties":
            node, edge = node.round(), edge.round()
        if kind == "forbidden":
            edge[rng.random((K, K)) < 0.5] = -np.inf
            np.fill_diagonal(edge, 0.0)  # a way through
        labels, value = viterbi(node, edge)
        expected, best = max_plus_viterbi(node, edge)
        assert labels.tolist() == expected
        assert value == best


@pytest.mark.parametrize("K", N_LABELS)
@pytest.mark.parametrize("storage", ["dense", "csr", "ones"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_potentials_equal_numpy(rng, K, storage, dtype):
    # Sums of small integers are exact in any order. Rows have 0 to 21 features, which tests all
    # remainders of the vectorized loops.
    F = 21
    X = np.tril(rng.integers(1, 9, (F + 1, F)), -1).astype(dtype)
    if storage == "ones":
        X = X.clip(max=1)
    problem = ChainProblem(
        X if storage == "dense" else sparse.csr_matrix(X),
        ChainRanges(np.arange(F + 1), np.ones(F + 1)),
        ChainModel(K, boundaries=False, transitions=False),
        np.zeros(F + 1),
    )
    w = np.zeros(problem.n_weights)
    parts = problem.layout.views(w)
    parts["coef"][:] = rng.integers(-9, 10, (K, F))
    parts["intercept"][:] = rng.integers(-9, 10, K)
    theta = X @ parts["coef"].T + parts["intercept"] + (np.arange(K) != 0)
    codes = np.arange(K, dtype=np.int32)[:, np.newaxis]
    for i in range(F + 1):
        code, value, _ = problem.best_code(i, w)[:3]
        assert (code[0], value) == (theta[i].argmax(), theta[i].max())
        for some in np.array_split(codes, 1 + K // 64):
            expected = theta[i, some[:, 0]]
            np.testing.assert_array_equal(access.scores(problem, i, None, some), expected)
            # Only the requested labels are multiplied; scores agree up to a constant of all codes.
            lazy = access.scores(problem, i, w, some)
            np.testing.assert_array_equal(lazy - lazy[0], expected - expected[0])
