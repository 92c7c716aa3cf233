"""The best labelling of labels that good labellings have: what they dispute is a small model."""

import time

import numpy as np

from sstruct.inference._exact import integer_program
from sstruct.inference._map_result import Record
from sstruct.inference._mrf import MRF

# Variables of an integer program, and nodes of its search tree. Side chains jmx and fmj dispute 22
# to 34 nodes with two or three labels each: 0.04 s to the minimum. Twice as many take up to 15 s on
# Ising models. Counted, so that the same comes again.
MOST_VARIABLES = 2**11
MOST_BRANCHES = 100


def combine(mrf, labellings, record):
    """Offer the record combinations of labellings: each node with a label of one of them.

    The best with all others at once, or with as many of the next as leave a small model; then what
    comes of it with those after them. Ones that differ too much are left out.

    Parameters
    ----------
    mrf : MRF
        Without factors.
    labellings : list of ndarray of shape (V,), dtype int32
        Different ones, the best first.
    record : Record
    """
    best, rest = labellings[0], labellings[1:]
    while rest and not record.is_late():
        count = len(rest)
        disputed = _disputed(mrf, np.stack([best, *rest]))
        while disputed is None and count > 1:
            count //= 2
            disputed = _disputed(mrf, np.stack([best, *rest[:count]]))
        rest = rest[count:]
        if disputed is None or len(disputed[0]) == 0:
            continue
        nodes, labels, model = disputed
        at_best = [int(np.searchsorted(k, best[v])) for v, k in zip(nodes, labels)]
        left = None if record.deadline == np.inf else record.deadline - time.monotonic()
        own = Record(model, np.array(at_best, dtype=np.int32), record.tol, left)
        integer_program(model, own, MOST_BRANCHES)
        best = best.copy()
        best[nodes] = [k[chosen] for k, chosen in zip(labels, own.labels)]
        record.offer(best, mrf.energy(best))


def _disputed(mrf, labellings):
    """Return nodes without a common label, those labels, and their model; None if it is large.

    All other nodes keep their labels in the model's costs.
    """
    best = labellings[0]
    nodes = np.flatnonzero((labellings != best).any(axis=0))
    place = np.full(mrf.n_nodes, -1)
    place[nodes] = np.arange(len(nodes))
    labels = [np.unique(labellings[:, v]) for v in nodes]
    size = np.ones(mrf.n_nodes, dtype=np.int64)
    size[nodes] = [len(k) for k in labels]
    u, v = mrf.edges.T
    inside = (place[u] >= 0) & (place[v] >= 0)
    if size[nodes].sum() + (size[u] * size[v])[inside].sum() > MOST_VARIABLES:
        return None
    node_costs = [mrf.node_cost(node)[k] for node, k in zip(nodes, labels)]
    tables = []
    for e in np.flatnonzero((place[u] >= 0) | (place[v] >= 0)):
        table, a, b = mrf.edge_cost(e), place[u[e]], place[v[e]]
        if inside[e]:
            tables.append(table[np.ix_(labels[a], labels[b])])
        elif a >= 0:
            node_costs[a] = node_costs[a] + table[labels[a], best[v[e]]]
        else:
            node_costs[b] = node_costs[b] + table[best[u[e]], labels[b]]
    return nodes, labels, MRF(node_costs, place[mrf.edges[inside]], tables)
