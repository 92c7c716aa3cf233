"""Samples of StructuredSVM, as local lists or partitions on a cluster."""

from dataclasses import dataclass

import numpy as np

from sstruct._cluster.dask_cluster import Cluster, ClusterCalls
from sstruct._cluster.partition import PARTS, choose, existing_partitions, sent_parts
from sstruct._cluster.processes import Workers, for_searches
from sstruct._input.threads import active_client, current_client, in_task, n_workers
from sstruct._problems.custom.oracle_calls import OracleCalls, samples_of


@dataclass(frozen=True)
class CallOptions:
    """Parameters of StructuredSVM for oracle calls.

    `batch_size` is None for "auto". `searches` is True for slack rescaling, where the search in a
    sample makes several calls, each of which depends on the previous result.
    """

    n_jobs: int | None
    batch_size: int | None
    searches: bool


class OracleSamples:
    """Samples and their true labelings, as lists.

    Parameters
    ----------
    X, y : list, or an array or a table whose rows are samples
    """

    def __init__(self, X, y):
        if y is None:
            raise ValueError(
                "StructuredSVM requires y to be passed, but the target y is None; only partitions "
                "may contain pairs (x, y)"
            )
        self.X, self.y = some_samples(X, "X"), some_samples(y, "y")
        if len(self.X) != len(self.y):
            raise ValueError(f"X has {len(self.X)} samples but y has {len(self.y)}")

    def __len__(self):
        return len(self.X)

    def chosen(self, weights):
        """Return X, y and indices of the samples of positive weight."""
        rows = np.flatnonzero(weights > 0).tolist()
        return [self.X[i] for i in rows], [self.y[i] for i in rows], rows

    def calls(self, oracle, weights, options):
        """Return an OracleCalls, and an executor of batches of its calls or None.

        The calls run on the cluster of joblib's active backend, in this process, or in its workers.
        """
        client = active_client()
        if client is not None and not in_task():
            client.wait_for_workers(1)
            parts, lengths = sent_parts(self.X, self.y, PARTS * len(client.nthreads()))
            return _calls_on_cluster(client, oracle, choose(parts, lengths, weights), options)
        calls = OracleCalls(oracle, *self.chosen(weights))
        if n_workers(options.n_jobs) == 1:
            return calls, None
        if options.searches:
            return for_searches(calls, options.n_jobs), None
        return calls, Workers(calls, options.n_jobs)


class OraclePartitions:
    """Samples in partitions on a cluster: see `StructuredSVM.fit`."""

    def __init__(self, X, y):
        if in_task():
            raise ValueError(
                "partitions are not supported if fit runs in a task of a Dask cluster, because the "
                "task would wait for its own worker; call fit outside of tasks, or pass lists"
            )
        self.client = current_client()
        self.parts, self.lengths = existing_partitions(self.client, X, y)
        if len(self) == 0:
            raise ValueError("X has 0 samples, expected at least 1")

    def __len__(self):
        return sum(self.lengths)

    def calls(self, oracle, weights, options):
        """See `OracleSamples`."""
        parts = choose(self.parts, self.lengths, weights)
        return _calls_on_cluster(self.client, oracle, parts, options)


def some_samples(values, name):
    """Return samples as a list without inspecting them; raise ValueError if there are none."""
    samples = samples_of(values, name)
    if not samples:
        raise ValueError(f"{name} has 0 samples, expected at least 1")
    return samples


def _calls_on_cluster(client, oracle, parts, options):
    cluster = Cluster(client, oracle, parts)
    calls = ClusterCalls(cluster, oracle)
    if options.searches:
        # One thread of the caller per worker, which waits for its results.
        calls.n_threads = cluster.n_workers
    return calls, cluster
