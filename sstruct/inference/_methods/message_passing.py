"""TRW-S and belief propagation."""

import numpy as np

from sstruct._oracles.mrf._message_passing import MessagePassing
from sstruct._oracles.mrf._packed_mrf import PackedMRF
from sstruct._solvers.core.status import Status
from sstruct.inference._model.auxiliary import pairwise_model

# Iterations without progress before stopping.
_PATIENCE = 50
# Before other methods, stop if this many iterations gain at most this fraction of 1 + abs(bound).
_FIRST_ITERATIONS = 10
_FIRST_GAIN = 2e-6
# Limit on the visits by the local search after each sweep, divided by the number of nodes.
_VISITS_PER_NODE = 20


def message_passing(mrf, record, max_iter, *, averaged, is_first=False):
    """Pass messages over a model; return the status and the MessagePassing.

    Parameters
    ----------
    mrf : MRF
        Factors become nodes (`pairwise_model`).
    record : Record
        Receives labelings (after local search) and, if `averaged`, bounds.
    max_iter : int
        Limit on iterations, each of which is a forward and a backward sweep.
    averaged : bool
        True for TRW-S, False for belief propagation.
    is_first : bool
        Stop early, with status STALLED, once another method is likely to gain more.
    """
    model, order = pairwise_model(mrf)
    own = PackedMRF(mrf)
    sweeps = MessagePassing(own if model is mrf else PackedMRF(model), order, averaged)
    labels = np.zeros(model.n_nodes, dtype=np.int32)
    seen, begin = {}, len(record.rows)
    if averaged:
        record.bound(trivial_bound(model))
    for _ in range(max_iter):
        for forward in (True, False):
            bound = sweeps.sweep(forward, labels, record.deadline)
            if bound is None:
                return Status.TIME_LIMIT, sweeps
            if bound == np.inf:
                return Status.INFEASIBLE, sweeps
            if averaged:
                record.bound(bound)
            rounded = labels[: mrf.n_nodes].copy()
            # Late sweeps often repeat the labels of the previous sweep in the same direction.
            if not np.array_equal(seen.get(forward), rounded):
                seen[forward] = rounded.copy()
                record.offer(rounded, own.improve(rounded, _VISITS_PER_NODE * mrf.n_nodes))
            if record.is_closed():
                return Status.CONVERGED, sweeps
        record.row()
        if record.is_late():
            return Status.TIME_LIMIT, sweeps
        if record.is_infeasible():
            return Status.INFEASIBLE, sweeps
        if record.has_stalled(_PATIENCE, begin - 1) or (is_first and _gains_little(record)):
            return Status.STALLED, sweeps
    return Status.MAX_ITER, sweeps


def _gains_little(record):
    """Return True if the last iterations hardly raised the bound."""
    if len(record.rows) <= _FIRST_ITERATIONS:
        return False
    before = record.rows[-1 - _FIRST_ITERATIONS][1]
    return record.lower_bound - before <= _FIRST_GAIN * (1 + abs(record.lower_bound))


def trivial_bound(mrf):
    """Return the sum of the minima of all terms of a model without factors."""
    bound = np.minimum.reduceat(mrf.node_costs, mrf.node_start[:-1]).sum()
    if mrf.n_edges:
        least = np.minimum.reduceat(mrf.tables, mrf.table_start[:-1])[mrf.edge_table]
        highest = np.maximum.reduceat(mrf.tables, mrf.table_start[:-1])[mrf.edge_table]
        # A negative weight swaps minimum and maximum.
        bound += (mrf.weights * np.where(mrf.weights >= 0, least, highest)).sum()
    return float(bound)
