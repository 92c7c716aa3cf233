"""Samples of StructuredSVM, at hand or on a cluster, as its problem takes them."""

import numpy as np
from joblib import effective_n_jobs

from sstruct._problems.cluster import Cluster, ClusterCalls
from sstruct._problems.cluster_parts import (
    PARTS,
    active_client,
    choose,
    in_task,
    is_partitioned,
    parts_there,
    sent_parts,
)
from sstruct._problems.oracle_calls import OracleCalls, digest
from sstruct._problems.oracle_workers import Workers
from sstruct._problems.samples import items
from sstruct._validation import check_weights


def samples_of(values, name):
    """Return samples as a list, without a look at them; at least one."""
    found = items(values, name)
    if not found:
        raise ValueError(f"{name} has 0 samples, expected at least 1")
    return found


def workers_for(n_jobs):
    """Number of workers that joblib gives; 1 in a task of a cluster, which waits for no other."""
    if active_client() is not None and in_task():
        return 1
    return effective_n_jobs(n_jobs)


def oracle_calls(oracle, X, y, sample_weight, n_jobs, overlap):
    """Look at the samples.

    Returns
    -------
    calls : OracleCalls
        Over the samples of positive weight.
    workers : Workers, Cluster or None
    weights : ndarray of shape (len(calls),)
    total : float
        Of all weights.
    """
    client, partitioned = active_client(), is_partitioned(X)
    if partitioned:
        if in_task():
            raise ValueError(
                "a fit in a task of a cluster has no partitions: it would wait for itself"
            )
        if client is None:
            from distributed import default_client

            client = default_client()
        parts, lengths = parts_there(client, X, y)
        n = sum(lengths)
        if n == 0:
            raise ValueError("X has 0 samples, expected at least 1")
    else:
        if y is None:
            raise ValueError(
                "StructuredSVM requires y to be passed, but the target y is None: only partitions "
                "may be of pairs (x, y)"
            )
        samples, truths = samples_of(X, "X"), samples_of(y, "y")
        n = len(samples)
        if n != len(truths):
            raise ValueError(f"X has {n} samples and y has {len(truths)}")
    weights = check_weights(sample_weight, n)
    rows = np.flatnonzero(weights > 0).tolist()
    if not rows:
        raise ValueError("all samples have weight 0")
    total = float(weights.sum())
    if partitioned or (client is not None and not in_task()):
        if not partitioned:
            client.wait_for_workers(1)
            parts, lengths = sent_parts(samples, truths, PARTS * len(client.nthreads()))
        workers = Cluster(client, oracle, choose(parts, lengths, weights))
        return ClusterCalls(workers, oracle), workers, weights[rows], total
    calls = OracleCalls(oracle, [samples[i] for i in rows], [truths[i] for i in rows], rows)
    workers = Workers(calls, n_jobs, overlap) if workers_for(n_jobs) > 1 else None
    return calls, workers, weights[rows], total


def fingerprint_of(calls):
    """Arrays that tell these samples and this oracle from others."""
    oracle = calls.oracle
    return [
        np.array(calls.digests),
        np.array(calls.truth_digests),
        np.array([type(oracle).__qualname__, digest(_public(oracle)).hex()]),
    ]


def _public(oracle):
    """Attributes of an oracle but those it keeps to itself, such as caches."""
    found = getattr(oracle, "__dict__", {})
    return {name: found[name] for name in sorted(found) if not name.startswith("_")}
