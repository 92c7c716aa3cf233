"""How many threads and workers an estimator uses."""

import sys

from joblib import effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend

from sstruct._input.ragged import check_number


def active_client():
    """Return the client of joblib's active backend where that is Dask's; else None."""
    client = getattr(get_active_backend()[0], "client", None)
    distributed = sys.modules.get("distributed")
    return client if distributed is not None and isinstance(client, distributed.Client) else None


def in_task():
    """Whether this runs on a worker of a cluster, as a task of it."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return False
    try:
        distributed.get_worker()
    except ValueError:
        return False
    return True


def check_jobs(n_jobs):
    """Raise unless it is None or an integer other than 0."""
    if n_jobs is not None:
        check_number("n_jobs", n_jobs, whole=True)
        if n_jobs == 0:
            raise ValueError("n_jobs must not be 0")


def n_workers(n_jobs):
    """Number of workers that joblib gives; 1 in a task of a cluster, which waits for no other."""
    check_jobs(n_jobs)
    if active_client() is not None and in_task():
        return 1
    return effective_n_jobs(n_jobs)


def n_threads(n_jobs):
    """Number of threads for `n_jobs`, where joblib's backend may be a cluster.

    A cluster says how many workers it has, which are not for threads here: without a number of its
    own a fit takes one.
    """
    check_jobs(n_jobs)
    if active_client() is None:
        return effective_n_jobs(n_jobs)
    if n_jobs is None:
        return 1
    with parallel_config(backend="threading"):
        return effective_n_jobs(n_jobs)
