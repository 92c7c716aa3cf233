"""Samples of StructuredSVM, at hand or on a cluster, as its problem takes them."""

import numpy as np
from joblib import effective_n_jobs

from sstruct._compiled_oracles import compiled_problem, is_compiled
from sstruct._problems._callable import CallableProblem
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
from sstruct._problems.oracle_calls import OracleCalls, digest, public
from sstruct._problems.oracle_workers import Workers, for_searches
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


def custom_problem(oracle, X, y, sample_weight, n_jobs, work, batch_size, overlap, searches):
    """Look at the samples, and make a problem of those of positive weight.

    searches: whether each call of a block depends on the one before it.

    Returns
    -------
    problem : BlockProblem
    data : list of ndarray
        Tell these samples and this oracle from others.
    weights : ndarray of shape (problem.n_blocks,)
    total : float
        Of all weights.
    """
    client, partitioned = active_client(), is_partitioned(X)
    if is_compiled(oracle):
        if partitioned:
            raise TypeError("partitions on a cluster are for oracles in Python")
        samples, truths = _pairs(X, y)
        weights, rows = _positive(sample_weight, len(samples))
        kept = [samples[i] for i in rows], [truths[i] for i in rows], rows
        problem, data = compiled_problem(oracle, *kept)
        if batch_size is not None:
            problem.batch_size = batch_size
        return problem, data, weights[rows], float(weights.sum())
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
        samples, truths = _pairs(X, y)
        n = len(samples)
    weights, rows = _positive(sample_weight, n)
    if partitioned or (client is not None and not in_task()):
        if not partitioned:
            client.wait_for_workers(1)
            parts, lengths = sent_parts(samples, truths, PARTS * len(client.nthreads()))
        workers = Cluster(client, oracle, choose(parts, lengths, weights))
        calls = ClusterCalls(workers, oracle)
    else:
        calls = OracleCalls(oracle, [samples[i] for i in rows], [truths[i] for i in rows], rows)
        workers = None
        if workers_for(n_jobs) > 1 and searches:
            calls = for_searches(calls, n_jobs)
        elif workers_for(n_jobs) > 1:
            workers = Workers(calls, n_jobs, overlap)
    problem = CallableProblem(calls, oracle_work=work, batch_size=batch_size, workers=workers)
    return problem, _fingerprint(calls), weights[rows], float(weights.sum())


def _pairs(X, y):
    """Return samples and true labelings as lists."""
    if y is None:
        raise ValueError(
            "StructuredSVM requires y to be passed, but the target y is None: only partitions "
            "may be of pairs (x, y)"
        )
    samples, truths = samples_of(X, "X"), samples_of(y, "y")
    if len(samples) != len(truths):
        raise ValueError(f"X has {len(samples)} samples and y has {len(truths)}")
    return samples, truths


def _positive(sample_weight, n):
    """Return the weights, and the places of those above 0."""
    weights = check_weights(sample_weight, n)
    rows = np.flatnonzero(weights > 0).tolist()
    if not rows:
        raise ValueError("all samples have weight 0")
    return weights, rows


def _fingerprint(calls):
    """Arrays that tell these samples and this oracle from others."""
    oracle = calls.oracle
    return [
        np.array(calls.digests),
        np.array(calls.truth_digests),
        np.array([type(oracle).__qualname__, digest(public(oracle)).hex()]),
    ]
