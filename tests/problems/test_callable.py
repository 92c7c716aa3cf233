"""Compare CallableProblem and its table of planes with problems whose planes are enumerated."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._problems.custom._callable import CallableProblem
from sstruct._problems.custom._plane_table import dense_difference, sparse_difference
from sstruct._problems.custom.oracle_calls import OracleCalls, digest
from sstruct._problems.slack._slack_problem import SlackProblem
from sstruct._solvers.core._full_pass import full_pass
from sstruct._testing import _problem_access as access
from tests.problems.test_contract import make_enumerated


class Table:
    """Oracle of an enumerated problem: x has features and losses of labelings, y is an index."""

    def __init__(self, as_sparse=False):
        self.as_sparse = as_sparse

    def joint_feature(self, x, y):
        return sparse.csr_matrix(x[0][y]) if self.as_sparse else x[0][y]

    def loss(self, y_true, y):
        return float(y[1])

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        return int(np.argmax(x[0] @ w + loss_weight * x[1]))


class WithLoss(Table):
    """Oracle with labelings (index, loss), as `loss` expects."""

    def joint_feature(self, x, y):
        return super().joint_feature(x, y[0])

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        best = super().argmax(x, w, y_true, loss_weight)
        return best, x[1][best]


def make(rng, sizes, n_weights, as_sparse=False, sparsity=0.0):
    """Return an enumerated problem, and the same problem with a Python oracle."""
    made = make_enumerated(rng, sizes, n_weights)
    made.planes[rng.random(made.planes.shape) < sparsity] = 0
    X = [
        (np.array([made.phi(i, y) for y in allowed]), np.array([made.loss(i, y) for y in allowed]))
        for i, allowed in enumerate(made.allowed)
    ]
    calls = OracleCalls(WithLoss(as_sparse), X, [(0, 0.0)] * len(X), list(range(len(X))))
    return made, CallableProblem(calls)


def planes_of(problem, i):
    """Return the known planes of a block by code, each as (psi, loss); 0 is the true labeling's."""
    kept, found = problem.planes(), {0: (np.zeros(problem.n_weights), 0.0)}
    sizes = np.stack([kept["plane_size"], np.where(kept["plane_dense"], 0, kept["plane_size"])])
    end, index_end = sizes.cumsum(axis=1)
    for at in np.flatnonzero(kept["plane_block"] == i):
        size, psi = kept["plane_size"][at], np.zeros(problem.n_weights)
        index = kept["plane_index"][index_end[at] - size : index_end[at]]
        index = np.arange(size) if kept["plane_dense"][at] else index  # 0 entries are dense
        psi[index] = kept["plane_value"][end[at] - size : end[at]]
        found[int(kept["plane_code"][at])] = psi, kept["plane_loss"][at]
    return found


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**20),
    n_weights=st.sampled_from([1, 2, 7, 9, 30]),
    as_sparse=st.booleans(),
    sparsity=st.sampled_from([0.0, 0.5, 0.9]),
)
def test_all_methods_agree_with_enumerated_planes(new_rng, seed, n_weights, as_sparse, sparsity):
    rng = new_rng(seed)
    made, problem = make(rng, (1, 4, 2, 9), n_weights, as_sparse, sparsity)
    other = made.problem
    fork = problem.fork()
    for i in range(4):
        planes = {0: 0}
        for _ in range(12):
            w = rng.integers(-4, 5, n_weights).astype(float)
            weight = float(rng.choice([0.0, 0.25, 1.0, 2.0]))
            mine, value, work, exact = (problem if rng.random() < 0.5 else fork).best_code(
                i, w, weight
            )
            _, best, _, _ = other.best_code(i, w, weight)
            assert value == best
            assert exact
            assert work == problem.oracle_work
            psi, loss = planes_of(problem, i)[mine[0]]
            assert weight * loss - psi @ w == value
            planes[int(mine[0])] = psi, loss
        known = planes_of(problem, i)
        assert set(known) >= set(planes)
        # Known planes are distinct.
        assert len({(psi.tobytes(), loss) for psi, loss in known.values()}) == len(known)
        codes = np.array([[code] for code in known], dtype=np.int32)
        scores = access.scores(problem, i, w, codes, weight)
        for (psi, loss), score, code in zip(known.values(), scores, codes, strict=True):
            assert weight * loss - psi @ w == score
            assert problem.code_loss(i, code) == loss
            for (psi_b, _), code_b in zip(known.values(), codes, strict=True):
                distance = access.squared_distance(problem, i, code, code_b)
                assert distance == (psi - psi_b) @ (psi - psi_b)
        c = rng.integers(-3, 4, len(codes)).astype(float)
        c[0] -= c.sum()
        out = np.zeros(n_weights)
        access.scatter(problem, i, codes, c, out)
        expected = -sum(c_k * psi for c_k, (psi, _) in zip(c, known.values(), strict=True))
        np.testing.assert_array_equal(out, expected)
    kept = problem.memory()
    calls = problem.calls
    restored = CallableProblem(calls)
    restored.restore_memory(kept)
    for name, array in problem.planes().items():
        np.testing.assert_array_equal(restored.planes()[name], array)
    assert restored.counts() == problem.counts()


@pytest.mark.parametrize("slack", [False, True])
def test_certificates_do_not_store_planes(rng, slack):
    made, problem = make(rng, (5, 4, 6), 5)
    w = rng.standard_normal(5)
    solved = SlackProblem(problem) if slack else problem
    total, exact = full_pass(ThreadPool(solved), w, np.full(3, 1 / 3))
    reference = SlackProblem(made.problem, "bisecting") if slack else made.problem
    assert total == pytest.approx(full_pass(ThreadPool(reference), w, np.full(3, 1 / 3))[0])
    assert exact or slack
    assert len(problem.planes()["plane_code"]) == 0
    problem.best_code(1, w)
    assert len(problem.planes()["plane_code"]) <= 1


@given(st.lists(st.tuples(*[st.sampled_from([-1.5, -0.0, 0.0, 2.0])] * 2)))
def test_differences_do_not_store_zeros(pairs):
    a, b = np.array(pairs).reshape(-1, 2).T.copy()
    expected = a - b
    at, bt = (np.flatnonzero(vector).astype(np.int32) for vector in (a, b))
    found = {"dense": dense_difference(a, b), "sparse": sparse_difference(at, a[at], bt, b[bt])}
    for form, (index, value) in found.items():
        whole = form == "dense" and 2 * np.count_nonzero(expected) >= len(a)
        assert (index is None) == whole
        kept = slice(None) if whole else np.flatnonzero(expected)
        np.testing.assert_array_equal(value, expected[kept])
        assert whole or index.tolist() == kept.tolist()
        assert not np.signbit(value[value == 0]).any()


def test_codes_without_a_plane_raise_an_error(rng):
    _, problem = make(rng, (5, 4), 5)
    for wrong in (-1, 1, 7):
        with pytest.raises(ValueError, match=rf"block 0: there is no plane with code {wrong}"):
            problem.code_loss(0, np.array([wrong], dtype=np.int32))


@pytest.mark.parametrize(
    "name, change",
    [
        ("plane_block", lambda a: a + 7),
        ("plane_code", lambda a: a * 0),
        ("plane_code", lambda a: a + 2**40),
        ("plane_size", lambda a: a + 1),
        ("plane_size", lambda a: a[1:]),
        ("plane_loss", lambda a: -a - 1),
        ("plane_loss", lambda a: a * np.nan),
        ("plane_value", lambda a: a[1:]),
        ("plane_value", lambda a: a * np.inf),
        ("plane_index", lambda a: a - 100),
        ("plane_index", lambda a: a + 100),
        ("plane_index", lambda a: a[1:]),
        ("plane_index", lambda a: a * 0),
        ("suboptimal_answers", lambda a: a[1:]),
    ],
)
def test_corrupt_tables_raise_an_error(rng, name, change):
    _, problem = make(rng, (5, 4), 6, as_sparse=True)
    for i in range(2):
        for _ in range(4):
            problem.best_code(i, rng.standard_normal(6))
    kept = problem.memory()
    assert len(kept["plane_code"]) > 2
    CallableProblem(problem.calls).restore_memory(kept)
    with np.errstate(invalid="ignore"):
        kept[name] = change(kept[name])
    with pytest.raises(ValueError, match=f"{name}: |plane_(size|code|index): "):
        CallableProblem(problem.calls).restore_memory(kept)


def test_dense_planes_are_invalid_for_sparse_features(rng):
    _, problem = make(rng, (5, 4), 6, as_sparse=True)
    _, whole = make(rng, (5, 4), 6)
    whole.best_code(0, rng.standard_normal(6))
    kept = whole.planes()
    assert kept["plane_dense"].all()
    with pytest.raises(ValueError, match="plane_size: a dense plane"):
        problem.restore_planes(kept)


def test_different_samples_have_different_digests():
    samples = [
        np.arange(3), np.arange(3.0), np.arange(6).reshape(2, 3), np.arange(6).reshape(3, 2),
        [0, 1, 2], (0, 1, 2), [0, [1, 2]], [[0, 1], 2], "012", b"012", 12, 12.5, None, True,
        {"a": 1}, {"a": 2}, {1, 2}, {1, 3}, frozenset("ab"), sparse.csr_matrix(np.eye(2)),
        sparse.csr_matrix(np.ones((2, 2))), sparse.coo_matrix(np.eye(2)),
        np.array([1, "a", None], dtype=object), np.array([1, "b", None], dtype=object),
        np.array(["x", "y"]), np.array([]), [], object(),
    ]  # fmt: skip
    digests = [digest(sample) for sample in samples]
    assert len(set(digests)) == len(samples)
    assert digests == [digest(sample) for sample in samples]


def test_results_below_the_truth_raise_an_error_unless_by_rounding():
    class Second(WithLoss):
        def argmax(self, x, w, y_true=None, loss_weight=1.0):
            return 1, 0.0

    terms = np.array([-0.1, -0.2, 0.3])  # with a sum of -5.6e-17
    X = [(np.array([np.zeros(3), terms]), np.zeros(2))]
    problem = CallableProblem(OracleCalls(Second(), X, [(0, 0.0)], [0]))
    assert -1e-16 < problem.best_code(0, np.ones(3))[1] <= 0
    with pytest.raises(ValueError, match=r"X\[0\]: argmax returned a labeling whose score plus"):
        problem.best_code(0, np.array([1.0, 1.0, 0.999]))
