"""Test the number of threads next to a Dask cluster and in its tasks."""

import joblib
import pytest

from sstruct._input.threads import n_threads

N_JOBS = (None, 1, 3, -1)


def counts():
    """Return the number of threads, and of workers according to joblib, for each of N_JOBS."""
    return [n_threads(n) for n in N_JOBS], [joblib.effective_n_jobs(n) for n in N_JOBS]


def counts_in_dask():
    with joblib.parallel_config(backend="dask"):
        return counts()


@pytest.mark.parametrize("place", ["beside", "task", "task of joblib"])
def test_cluster_workers_are_not_counted_as_threads(client, place):
    if place == "beside":
        threads, workers = counts_in_dask()
    elif place == "task":
        threads, workers = client.submit(counts_in_dask, pure=False).result()
    else:
        with joblib.parallel_config(backend="dask"):
            ((threads, workers),) = joblib.Parallel()([joblib.delayed(counts)()])
    n_workers = len(client.nthreads())
    assert workers == [n_workers, 1, n_workers, n_workers]
    # n_jobs=None means one thread; other values mean the same as without a cluster. In a task,
    # which shares the machine with other tasks, n_jobs=-1 means one thread.
    assert threads == [1, 1, 3, n_threads(-1) if place == "beside" else 1]


def test_without_a_cluster_joblib_determines_the_number():
    assert n_threads(None) == 1
    with joblib.parallel_config(backend="threading", n_jobs=3):
        assert n_threads(None) == 3
        assert n_threads(2) == 2
