"""Minimum cuts and expansion moves for models that allow them."""

import numpy as np

from sstruct._oracles.cut._binary_energy import graph_cut
from sstruct._oracles.graph.alpha_expansion import alpha_expansion
from sstruct._solvers.core.status import Status
from sstruct.inference._model.table_forms import POTTS

# Tolerance for rounding, relative to the largest cost of an edge.
_ROUNDING = 1e-12


def _common_reason(mrf):
    """Return the reason why neither cuts nor moves support a model, or None."""
    if mrf.n_factors:
        return f"the model has {mrf.n_factors} factors of three or more nodes"
    if not np.isfinite(mrf.tables).all():
        return "the model forbids pairs of labels"
    return None


def _forbids_a_node(mrf):
    """Return True if some node has no allowed label."""
    return not np.logical_or.reduceat(np.isfinite(mrf.node_costs), mrf.node_start[:-1]).all()


def no_cut(mrf):
    """Return the reason why a minimum cut does not minimize the energy, or None if it does."""
    reason = _common_reason(mrf)
    if reason is not None:
        return reason
    if (mrf.n_labels != 2).any():
        v = int((mrf.n_labels != 2).argmax())
        return f"node {v} has {mrf.n_labels[v]} labels, not two"
    tables = _binary_tables(mrf)
    attraction = tables[:, 0, 1] + tables[:, 1, 0] - tables[:, 0, 0] - tables[:, 1, 1]
    repulsive = attraction < -_ROUNDING * np.abs(tables).sum(axis=(1, 2))
    if repulsive.any():
        e = int(repulsive.argmax())
        return f"edge {e} = {tuple(mrf.edges[e].tolist())} is repulsive"
    return None


def _binary_tables(mrf):
    """Return the weighted tables (E, 2, 2)."""
    entries = mrf.table_start[mrf.edge_table][:, None] + np.arange(4)
    return (mrf.weights[:, None] * mrf.tables[entries]).reshape(-1, 2, 2)


def _are_potts(tables):
    """Return True if all tables (E, 2, 2) depend only on whether the labels are equal."""
    return (tables == tables[:, ::-1, ::-1]).all()


def cut(mrf, record):
    """Find a minimum by a graph cut; return the status."""
    reason = no_cut(mrf)
    if reason is not None:
        raise ValueError(f'method="graph-cut" requires two labels and attractive pairs: {reason}')
    if _forbids_a_node(mrf):
        return Status.INFEASIBLE
    labels, _ = graph_cut(mrf.node_costs.reshape(-1, 2), mrf.edges, _binary_tables(mrf))
    return record.prove(labels)


def _no_metric(table):
    """Return the reason why a table (K, K) is not a metric (up to zero distances), or None."""
    slack = _ROUNDING * np.abs(table).max(initial=1.0)
    if (np.abs(np.diag(table)) > slack).any():
        return "the cost of equal labels is not 0"
    if (table < 0).any():
        return "a cost is negative"
    if (np.abs(table - table.T) > slack).any():
        return "the table is not symmetric"
    for middle in range(len(table)):
        if (table > table[:, [middle]] + table[middle] + slack).any():
            return f"label {middle} violates the triangle inequality"
    return None


def expansion_arguments(mrf):
    """Return weights and label distances for moves, None for a Potts model; or raise ValueError."""
    wrong = _common_reason(mrf)
    K = int(mrf.n_labels[0])
    weights, distance = mrf.weights, None
    if wrong is None and (mrf.n_labels != K).any():
        wrong = "nodes have different numbers of labels"
    if wrong is None and (mrf.table_form == POTTS).all():
        equal, different = mrf.table_parameters[mrf.edge_table].T
        weights = weights * (different - equal)
    elif wrong is None and K == 2 and _are_potts(tables := _binary_tables(mrf)):
        # The form of tables of two labels is not detected by the model.
        weights = tables[:, 0, 1] - tables[:, 0, 0]
    elif wrong is None and len(mrf.table_form) > 1:
        wrong = "edges have different tables, not all of them Potts"
    elif wrong is None:
        distance = mrf.tables.reshape(K, K)
        wrong = _no_metric(distance)
    if wrong is None and (weights < 0).any():
        e = int((weights < 0).argmax())
        wrong = f"edge {e} = {tuple(mrf.edges[e].tolist())} has a negative weight"
    if wrong is not None:
        raise ValueError(
            f'method="alpha-expansion" requires a Potts model or one metric table: {wrong}'
        )
    return weights, distance


def expansion(mrf, record, random_state):
    """Lower the energy by expansion moves; return the status."""
    weights, distance = expansion_arguments(mrf)
    if _forbids_a_node(mrf):
        return Status.INFEASIBLE
    labels, _ = alpha_expansion(
        mrf.node_costs.reshape(mrf.n_nodes, -1),
        mrf.edges,
        weights,
        distance,
        labels=record.labels,
        random_state=random_state,
    )
    record.offer(labels, mrf.energy(labels))
    return Status.CONVERGED
