"""Whether threads share the next run of visits, by what such runs have taken."""

import numpy as np

from sstruct._testing._solver_doors import shared_runs

# Of runs of visits.
SHORT, LONG = 1000, 10
REST = 16
COMPARE = 32


def shared(alone, together, count=SHORT, left=False, n_runs=200, work=1e5, n_weights=10):
    """Which runs are shared, of as many milliseconds alone and together."""
    seconds = [1e-3 * np.broadcast_to(taken, n_runs).astype(float) for taken in (alone, together)]
    left = np.broadcast_to(left, n_runs).astype(np.uint8)
    return shared_runs(*seconds, left, count, work, n_weights)


def test_one_run_in_many_is_made_alone_to_compare():
    alone = np.flatnonzero(~shared(1.0, 0.6))
    np.testing.assert_array_equal(alone, 1 + (COMPARE + 1) * np.arange(len(alone)))
    assert len(alone) == 7


def test_slower_runs_are_shared_ever_more_rarely():
    runs = np.flatnonzero(shared(1.0, 1.4))
    # The third is the first that there is something to compare with.
    np.testing.assert_array_equal(runs, [0, 2, 3 + REST, 4 + 3 * REST, 5 + 7 * REST])


def test_a_little_slower_may_be_noise():
    assert shared(1.0, 1.05).mean() > 0.9


def test_what_has_become_faster_is_shared_again():
    together = np.where(np.arange(200) < 50, 2.0, 0.6)
    assert shared(1.0, together)[60:].mean() > 0.8


def test_runs_that_a_lane_leaves_are_not_shared_for_a_while():
    runs = np.flatnonzero(shared(1.0, 0.6, LONG, left=True))
    np.testing.assert_array_equal(runs, [0, 1 + REST, 2 + 3 * REST, 3 + 7 * REST])


def test_long_visits_are_always_shared():
    assert shared(1.0, 0.6, LONG).all()


def test_no_run_alone_where_lanes_would_copy_many_weights_after_it():
    assert shared(1.0, 0.6, n_weights=10**6).all()


def test_runs_without_work_teach_nothing():
    assert shared(1.0, 5.0, work=0.0).mean() > 0.9
