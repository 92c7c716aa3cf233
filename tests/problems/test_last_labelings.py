"""Approximate decoders start from the last labeling of the block."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstruct import GridCRFSSVM
from sstruct._oracles.graph._decoder import GraphDecoder
from sstruct._testing import _problem_access as access
from tests.estimators.same_bits import assert_same_bits
from tests.problems.test_contract import make_graphs

SIZES = [6, 8, 5]
given_key = given(key=st.integers(0, 2**32 - 1))


def made(rng, pairwise="potts", n_labels=4, method="expansion"):
    """Return a small problem."""
    return make_graphs(rng, pairwise, n_labels, SIZES, decoder=GraphDecoder(method, 0)).problem


def random_weights(rng, problem, attractive=False):
    w = rng.standard_normal(problem.n_weights)
    if attractive:
        problem.layout.views(w)["edge"][...] = -rng.random()
    return problem.without_padding(w)


def called(problem, w):
    """Return the labelings of all blocks, decoded one after another."""
    return [problem.best_code(i, w)[0] for i in range(problem.n_blocks)]


def assert_same_labelings(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("certifies", [False, True])
@pytest.mark.parametrize("pairwise", ["potts", "contrast", "fixed"])
@settings(max_examples=40)
@given_key
def test_no_call_is_worse_than_the_last_labeling(new_rng, pairwise, certifies, key):
    rng = new_rng(key)
    problem = made(rng, pairwise)
    problem.begin_fit()
    last = called(problem, random_weights(rng, problem))
    kept = problem.memory()
    problem.remember(not certifies)
    w = random_weights(rng, problem)
    for i in range(problem.n_blocks):
        is_kept = kept["has_last_labels"][i]
        code, value, _, _ = problem.best_code(i, w)
        score = access.scores(problem, i, None, np.array([code, last[i]]))
        assert value == pytest.approx(score[0], abs=1e-9)
        if is_kept:
            assert score[1] <= score[0] + 1e-9


@settings(max_examples=40)
@given_key
def test_a_certificate_makes_all_moves(new_rng, key):
    rng = new_rng(key)
    problem = made(rng, n_labels=3)
    problem.begin_fit()
    called(problem, random_weights(rng, problem, attractive=True))
    problem.remember(False)
    w = random_weights(rng, problem, attractive=True)
    for i, size in enumerate(SIZES):
        code, value, _, _ = problem.best_code(i, w)
        takes = np.array(list(product([False, True], repeat=size)))
        for label in range(3):
            moved = np.where(takes, label, code).astype(np.int32)
            for some in np.array_split(moved, 4):
                assert access.scores(problem, i, None, some).max() <= value + 1e-9


def test_certificates_leave_no_labelings_behind(rng):
    problem = made(rng)
    problem.begin_fit()
    called(problem, random_weights(rng, problem))
    before = problem.memory()
    assert before["has_last_labels"].any()
    problem.remember(False)
    called(problem, random_weights(rng, problem))
    for name, array in problem.memory().items():
        np.testing.assert_array_equal(array, before[name])


def test_calls_outside_fits_do_not_depend_on_earlier_ones(rng):
    problem = made(rng)
    first, second = (random_weights(rng, problem) for _ in range(2))
    expected = called(problem.fork(), second)
    called(problem, first)
    assert_same_labelings(called(problem, second), expected)
    assert problem.memory() == {}


def test_a_fit_begins_without_labelings(rng):
    problem = made(rng)
    problem.begin_fit()
    called(problem, random_weights(rng, problem))
    problem.begin_fit()
    assert not problem.memory()["has_last_labels"].any()


def test_forks_share_labelings_and_files_keep_them(rng):
    problem = made(rng)
    problem.begin_fit()
    first, second = (random_weights(rng, problem) for _ in range(2))
    fork = problem.fork()
    called(fork, first)
    kept = problem.memory()
    assert kept["has_last_labels"].any()
    expected = called(problem, second)
    problem.restore_memory(kept)
    assert_same_labelings(called(fork, second), expected)


def test_forks_of_a_used_problem_still_find_exact_answers(rng):
    problem = made(rng)
    problem.begin_fit()
    w = random_weights(rng, problem)
    alone = w.copy()
    problem.layout.views(w)["edge"][...] = -1.0
    problem.layout.views(alone)["edge"][...] = 0.0
    for _ in range(2):  # the second calls start from the labelings of the first ones
        called(problem, w)
    problem.remember(False)
    assert all(problem.fork().best_code(i, alone)[3] for i in range(problem.n_blocks))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("last_labels", lambda a: a[:-1]),
        ("last_labels", lambda a: a + 4),
        ("last_labels", lambda a: a - 5),
        ("last_labels", lambda a: a.astype(np.int64)),
        ("has_last_labels", lambda a: a[1:]),
        ("has_last_labels", lambda a: a + 2),
    ],
)
def test_damaged_labelings_are_rejected(rng, name, wrong):
    problem = made(rng)
    problem.begin_fit()
    called(problem, random_weights(rng, problem))
    kept = problem.memory()
    kept["has_last_labels"][:] = 1
    with pytest.raises(ValueError, match=r"labels|label "):
        problem.restore_memory({**kept, name: wrong(kept[name])})


@pytest.mark.parametrize(("pairwise", "n_labels"), [("potts", 2), ("full", 4), ("directed", 4)])
def test_exact_cuts_and_fusion_moves_keep_nothing(rng, pairwise, n_labels):
    problem = made(rng, pairwise, n_labels)
    problem.begin_fit()
    called(problem, random_weights(rng, problem))
    assert problem.memory() == {}


def test_threads_find_the_same_fit():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, (130, 2, 1)).repeat(2, axis=2)
    X = np.eye(3)[y] + rng.normal(size=(130, 2, 2, 3))
    one, two = (
        GridCRFSSVM(random_state=0, n_jobs=n_jobs, max_iter=12, tol=1e-6).fit(X, y)
        for n_jobs in (1, 2)
    )
    assert_same_bits(one, two)
