"""Threads of a fit while a Dask cluster runs, and within its tasks."""

import joblib
import pytest

from sstruct._input.threads import n_threads

ASKED = (None, 1, 3, -1)


def counts():
    """Return the numbers of threads, and of workers according to joblib, for each `n_jobs`."""
    return [n_threads(n) for n in ASKED], [joblib.effective_n_jobs(n) for n in ASKED]


def counts_in_dask():
    with joblib.parallel_config(backend="dask"):
        return counts()


@pytest.mark.parametrize("place", ["beside", "task", "task of joblib"])
def test_the_workers_of_a_cluster_are_not_for_threads(client, place):
    if place == "beside":
        threads, workers = counts_in_dask()
    elif place == "task":
        threads, workers = client.submit(counts_in_dask, pure=False).result()
    else:
        with joblib.parallel_config(backend="dask"):
            ((threads, workers),) = joblib.Parallel()([joblib.delayed(counts)()])
    n_workers = len(client.nthreads())
    assert workers == [n_workers, 1, n_workers, n_workers]
    # The workers are not counted: n_jobs=None is one thread, other numbers are those without a
    # cluster. In a task, which shares the machine with others, n_jobs=-1 is one thread.
    assert threads == [1, 1, 3, n_threads(-1) if place == "beside" else 1]


def test_without_a_cluster_joblib_decides():
    assert n_threads(None) == 1
    with joblib.parallel_config(backend="threading", n_jobs=3):
        assert n_threads(None) == 3
        assert n_threads(2) == 2
