"""Numbers of threads and workers of an estimator."""

import os
import sys

from joblib import effective_n_jobs, parallel_config
from joblib.parallel import LokyBackend, get_active_backend

from sstruct._checks.parameters import check_number
from sstruct._compat import max_threads

# More than the cores of any machine; this many processes would exhaust its memory.
MAX_JOBS = 4096

# The id of the first process that used joblib workers. A process forked from it inherits them
# without the threads that receive their results, and would wait forever.
_owner_of_workers = None


def check_n_jobs(n_jobs):
    """Raise an error unless n_jobs, which must not be None, is a nonzero integer within limits."""
    check_number("n_jobs", n_jobs, whole=True, least=-MAX_JOBS)
    if n_jobs == 0 or n_jobs > MAX_JOBS:
        expected = "1 or more, or -1 for all cores" if n_jobs == 0 else f"at most {MAX_JOBS}"
        raise ValueError(f"n_jobs must be {expected}, found {n_jobs}")


def active_client():
    """Return the Dask client of joblib's active backend, or None for other backends."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    client = getattr(get_active_backend()[0], "client", None)
    return client if isinstance(client, distributed.Client) else None


def current_client():
    """Return the client of joblib's backend, of the current task, or Dask's current client."""
    client = active_client()
    if client is None:
        from distributed import default_client, get_client

        client = get_client() if in_task() else default_client()
    return client


def in_task():
    """Return whether the caller runs in a task on a worker of a Dask cluster."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return False
    try:
        distributed.get_worker()
    except ValueError:
        return False
    return True


def n_workers(n_jobs):
    """Return the number of workers that joblib would use.

    It is 1 in a task of a cluster, which must not wait for others, and if worker processes are
    inherited from a parent process.
    """
    global _owner_of_workers
    if n_jobs is not None:
        check_n_jobs(n_jobs)
    if active_client() is not None and in_task():
        return 1
    count = effective_n_jobs(n_jobs)
    if count > 1 and isinstance(get_active_backend()[0], LokyBackend):
        if _owner_of_workers is None:
            _owner_of_workers = os.getpid()
        if _owner_of_workers != os.getpid():
            return 1
    return count


def n_threads(n_jobs):
    """Return the number of threads for `n_jobs`; joblib's backend may be a cluster.

    For a cluster, joblib returns the number of its workers, which is not a number of threads of
    this process; ``n_jobs=None`` then means one thread. Negative values refer to the number of
    cores. As in scikit-learn's compiled loops, they are limited in joblib's workers and by
    `threadpool_limits`. In a task of a cluster, they mean one thread.
    """
    if n_jobs is not None:
        check_n_jobs(n_jobs)
    if active_client() is None:
        count = effective_n_jobs(n_jobs)
    elif n_jobs is None:
        return 1
    else:
        with parallel_config(backend="threading"):
            count = effective_n_jobs(n_jobs)
    if n_jobs is None or n_jobs > 0:
        return count
    return min(count, 1 if in_task() else max_threads())
