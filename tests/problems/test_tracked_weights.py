"""Bounds of transitions are updated when weights change and do not affect results."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from sstruct import ChainSSVM
from sstruct._problems.core._decode import decode
from sstruct._testing._problem_access import scatter, track
from sstruct.solvers import BCFW
from tests.problems.flat import chain_problem
from tests.problems.test_contract import some_groups


def made(rng, n_labels, lengths, n_groups=0, masked=False):
    """Return a problem of chains and labelings of each; `n_groups` tie the transitions."""
    lengths = np.array(lengths)
    X = np.round(rng.normal(size=(lengths.sum(), 3)))
    labels = rng.integers(0, n_labels, len(X)).astype(np.int32)
    start = np.append(0, np.cumsum(lengths)[:-1])
    groups = some_groups(rng, n_labels, n_groups) if n_groups else None
    codes = [rng.integers(0, n_labels, (4, n)).astype(np.int32) for n in lengths]
    mask = rng.random((n_labels, n_labels)) < 0.3
    for labelings in (labels[np.newaxis], *codes):
        mask[labelings[:, :-1], labelings[:, 1:]] = True
    problem = chain_problem(
        X=X, start=start, length=lengths, labels=labels, n_labels=n_labels, groups=groups,
        bias=True, boundaries=True, transitions=True, edge_mask=mask if masked else None,
    )  # fmt: skip
    return problem, codes


def answer(problem, i, w):
    code, value = problem.best_code(i, w)[:2]
    return code.tolist(), value


@settings(max_examples=200)
@given(
    n_labels=st.sampled_from([3, 20, 64, 75]),
    n_groups=st.sampled_from([0, 1, 4]),
    masked=st.booleans(),
    strength=st.sampled_from([0.1, 1.0, 10.0]),
    key=st.integers(0, 2**32 - 1),
)
def test_answers_follow_the_weights(new_rng, n_labels, n_groups, masked, strength, key):
    """Answers also follow changes of the table of transitions that share weights."""
    rng = new_rng(key)
    problem, codes = made(rng, n_labels, [2, 12, 7], n_groups, masked)
    other = problem.fork()
    w = np.zeros(problem.n_weights)
    track(problem, w)
    for _ in range(12):
        i = int(rng.integers(3))
        change = np.round(strength * rng.normal(size=4), 1)
        scatter(problem, i, codes[i], change - change.mean(), w)
        # Changes of other vectors have no effect.
        scatter(problem, i, codes[i], change - change.mean(), np.zeros_like(w))
        for block in range(3):
            for v in (w, rng.permutation(w)):
                assert answer(problem, block, v) == answer(other, block, v)
    track(problem)
    w *= -1
    assert answer(problem, 1, w) == answer(other, 1, w)


def test_other_weights_than_the_tracked_ones(rng):
    problem, codes = made(rng, 70, [10])
    w, lower = np.zeros((2, problem.n_weights))
    scatter(problem, 0, codes[0], [1.0, -1.0, 5.0, -5.0], w)
    track(problem, lower)
    assert answer(problem, 0, lower) == answer(problem.fork(), 0, lower)
    assert answer(problem, 0, w) == answer(problem.fork(), 0, w)


def test_decoding_reads_new_weights(rng):
    """Decode repeatedly with the same array, whose values change."""
    problem, _ = made(rng, 64, [9, 9])
    w = np.zeros(problem.n_weights)
    for _ in range(3):
        w[:] = rng.normal(size=len(w))
        assert decode(problem, w).tolist() == decode(problem.fork(), w).tolist()


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("solver", [{}, {"sampling": "gap"}, {"cache": True}])
def test_fits_with_and_without_bounds_have_the_same_bits(rng, solver, n_jobs):
    """Compare with a mask that forbids nothing, for which no bounds are kept."""
    X = [rng.normal(size=(9, 4)) for _ in range(25)]
    y = [rng.integers(0, 64, 9) for _ in X]
    options = {"classes": np.arange(64), "max_iter": 6, "tol": 1e-9, "random_state": 0}
    solver = {"sampling": "permutation", "cache": False, "average": False} | solver
    solver = BCFW(sequential_visits=True, **solver)
    plain, masked = (
        ChainSSVM(solver=solver, n_jobs=n_jobs, transition_mask=mask, **options)
        for mask in (None, np.ones((64, 64), dtype=bool))
    )
    for model in (plain, masked):
        with pytest.warns(ConvergenceWarning):
            model.fit(X, y)
    np.testing.assert_array_equal(plain.w_, masked.w_)
    assert plain.objective_ == masked.objective_


def test_threads_do_not_change_bits(rng):
    """Compare numbers of threads, each of which has bounds of weights at different times."""
    X = [rng.normal(size=(12, 4)) for _ in range(220)]
    y = [rng.integers(0, 64, 12) for _ in X]
    one, two = (
        ChainSSVM(n_jobs=n_jobs, tol=0.2, window_size=None, random_state=0).fit(X, y)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.w_, two.w_)
    for name in ("dual", "oracle_calls", "approximate_passes"):
        np.testing.assert_array_equal(one.history_[name], two.history_[name])
