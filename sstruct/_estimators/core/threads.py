"""How many threads and workers an estimator uses."""

import os
import sys

from joblib import effective_n_jobs, parallel_config
from joblib.parallel import LokyBackend, get_active_backend

from sstruct._compat import most_threads
from sstruct._input.ragged import check_number

# No machine has more cores; so many processes would stop one.
MOST_JOBS = 4096

# The first process that had worker processes of joblib's. One that is forked from it inherits them
# without the threads that hear their answers, and would wait for those forever.
_has_workers = None


def check_n_jobs(n_jobs):
    """Raise unless a number of jobs is None or an integer that a machine can bear."""
    if n_jobs is None:
        return
    check_number("n_jobs", n_jobs, whole=True, least=-MOST_JOBS)
    if n_jobs == 0 or n_jobs > MOST_JOBS:
        expected = "1 or more, or -1 for all cores" if n_jobs == 0 else f"at most {MOST_JOBS}"
        raise ValueError(f"n_jobs must be {expected}, found {n_jobs}")


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


def n_workers(n_jobs):
    """Number of workers that joblib gives.

    1 in a task of a cluster, which waits for no other, and where worker processes are inherited.
    """
    global _has_workers
    check_n_jobs(n_jobs)
    if active_client() is not None and in_task():
        return 1
    count = effective_n_jobs(n_jobs)
    if count > 1 and isinstance(get_active_backend()[0], LokyBackend):
        if _has_workers is None:
            _has_workers = os.getpid()
        if _has_workers != os.getpid():
            return 1
    return count


def n_threads(n_jobs):
    """Number of threads for `n_jobs`, where joblib's backend may be a cluster.

    A cluster says how many workers it has, which are not for threads here: without a number of its
    own a fit takes one. Negative numbers stand for cores, of which this process may have a share:
    as much as scikit-learn's compiled loops take inside joblib's workers or `threadpool_limits`;
    in a task of a cluster one.
    """
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
    return min(count, 1 if in_task() else most_threads())
