"""How many threads of this machine an estimator uses."""

from joblib import effective_n_jobs, parallel_config

from sstruct._problems.cluster_parts import active_client


def n_threads(n_jobs):
    """Number of threads for `n_jobs`, where joblib's backend may be a cluster.

    A cluster says how many workers it has, which are not for threads here: without a number of its
    own a fit takes one.
    """
    if active_client() is None:
        return effective_n_jobs(n_jobs)
    if n_jobs is None:
        return 1
    with parallel_config(backend="threading"):
        return effective_n_jobs(n_jobs)
