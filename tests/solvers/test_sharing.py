"""Test the decision whether lanes share the next run of visits."""

import numpy as np

from sstruct._testing._solver_access import shared_runs

REST = 16
COMPARE = 32
SHORT, LONG = 100.0, 1e5  # work of a visit


def shared(alone, together, left=False, alike=True, of_visit=SHORT, work=1e5, n_weights=10):
    """Return which of 200 runs are shared, given milliseconds per run alone and together."""
    seconds = [1e-3 * np.broadcast_to(taken, 200).astype(float) for taken in (alone, together)]
    kinds = [np.broadcast_to(which, 200).astype(np.uint8) for which in (left, alike)]
    return shared_runs(*seconds, *kinds, work, of_visit, n_weights)


def test_some_runs_are_not_shared_for_comparison():
    alone = np.flatnonzero(~shared(1.0, 0.6))
    np.testing.assert_array_equal(alone, 1 + (COMPARE + 1) * np.arange(len(alone)))
    assert len(alone) == 7


def test_slower_runs_are_shared_ever_more_rarely():
    runs = np.flatnonzero(shared(1.0, 1.4))
    # The first run has no comparison yet, and a single slow run is not enough to stop sharing.
    np.testing.assert_array_equal(runs, [0, 2, 3, 4 + REST, 5 + 3 * REST, 6 + 7 * REST])


def test_a_little_slower_may_be_noise():
    assert shared(1.0, 1.05).mean() > 0.9


def test_one_slow_run_may_be_noise():
    together = np.where(np.arange(200) % 7 == 0, 2.0, 0.6)
    assert shared(1.0, together).mean() > 0.9


def test_sharing_resumes_when_it_becomes_faster():
    together = np.where(np.arange(200) < 50, 2.0, 0.6)
    assert shared(1.0, together)[60:].mean() > 0.8


def test_runs_that_a_lane_leaves_are_not_shared_for_a_while():
    runs = np.flatnonzero(shared(1.0, 0.6, left=True))
    # One run in between is not shared for comparison, so the pause is longer by one.
    np.testing.assert_array_equal(runs[:2], [0, 2 + REST])
    assert len(runs) < 6


def test_short_exact_visits_go_by_approximate_ones():
    exact = np.arange(200) % 5 == 0
    assert shared(1.0, 1.4, alike=~exact)[exact].mean() < 0.3
    assert shared(1.0, 1.4, alike=~exact, of_visit=LONG)[exact].all()
    assert shared(1.0, 0.6, alike=~exact)[exact].all()


def test_exact_visits_continue_after_a_lane_leaves_approximate_ones():
    exact = np.arange(200) % 5 == 0
    runs = shared(1.0, 0.6, left=~exact, alike=~exact)
    assert runs[exact].all()
    assert runs[~exact].mean() < 0.1


def test_all_runs_are_shared_if_copies_are_expensive():
    assert shared(1.0, 0.6, n_weights=10**7).all()


def test_runs_without_work_are_ignored():
    assert shared(1.0, 5.0, work=0.0).mean() > 0.9
