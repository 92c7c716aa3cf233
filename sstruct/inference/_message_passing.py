"""TRW-S and belief propagation: sweeps until the gap is closed or nothing moves any more."""

import numpy as np

from sstruct._oracles._message_passing import MessagePassing
from sstruct._oracles._packed_mrf import PackedMRF
from sstruct._solvers.status import Status
from sstruct.inference._auxiliary import pairwise_model

# Iterations without any progress after which one is not waited for.
_PATIENCE = 50
# Local search after each sweep: at most so many looks at each node.
_LOOKS = 20


def message_passing(mrf, record, max_iter, *, averaged):
    """Pass messages over a model; return the status.

    Parameters
    ----------
    mrf : MRF
        Factors become nodes (`pairwise_model`).
    record : Record
        Gets labellings (after local search) and, where `averaged`, bounds.
    max_iter : int
        A sweep forward and one back each.
    averaged : bool
        TRW-S, or belief propagation.
    """
    model, order = pairwise_model(mrf)
    own = PackedMRF(mrf)
    sweeps = MessagePassing(own if model is mrf else PackedMRF(model), order, averaged)
    labels = np.zeros(model.n_nodes, dtype=np.int32)
    seen = {}
    if averaged:
        record.bound(trivial_bound(model))
    for _ in range(max_iter):
        for forward in (True, False):
            bound = sweeps.sweep(forward, labels, record.deadline)
            if bound is None:
                return Status.TIME_LIMIT
            if bound == np.inf:
                return Status.INFEASIBLE
            if averaged:
                record.bound(bound)
            found = labels[: mrf.n_nodes].copy()
            # Late sweeps often find again what the same sweep found before.
            if not np.array_equal(seen.get(forward), found):
                seen[forward] = found.copy()
                record.offer(found, own.improve(found, _LOOKS * mrf.n_nodes))
            if record.is_closed():
                return Status.CONVERGED
        record.row()
        if record.is_late():
            return Status.TIME_LIMIT
        if record.has_stalled(_PATIENCE):
            return Status.STALLED
    return Status.MAX_ITER


def trivial_bound(mrf):
    """The sum of the least costs of all terms; factors must not be there."""
    bound = np.minimum.reduceat(mrf.node_costs, mrf.node_start[:-1]).sum()
    if mrf.n_edges:
        least = np.minimum.reduceat(mrf.tables, mrf.table_start[:-1])[mrf.edge_table]
        most = np.maximum.reduceat(mrf.tables, mrf.table_start[:-1])[mrf.edge_table]
        # A negative weight turns a table round.
        bound += (mrf.weights * np.where(mrf.weights >= 0, least, most)).sum()
    return float(bound)
