"""Combine good labelings by solving small models of the nodes on which they differ."""

import numpy as np
from scipy import sparse

from sstruct.inference._methods.exact import integer_program
from sstruct.inference._model.mrf import MRF

# Limits on the variables and the search nodes of an integer program; counted, so that results are
# reproducible. On the side chain models jmx and fmj, 22 to 34 nodes with two or three labels each
# remain, which takes 0.04 s. On Ising models, four times as many variables take three times as long
# for a gain of 0.2 %.
MAX_VARIABLES = 2**9
MAX_BRANCHES = 100


def combine(mrf, labelings, record):
    """Offer combinations of labelings, in which each node has its label in one of them.

    Combine the best labeling with all others together. If some of the resulting parts are too
    large, combine it with half of the labelings, the result with the other half, and so on.

    Parameters
    ----------
    mrf : MRF
        A model without factors.
    labelings : list of ndarray of shape (V,), dtype int32
        Distinct labelings, best first.
    record : Record
    """
    best, others = labelings[0], labelings[1:]
    count, is_complete = len(others), False
    while count > 0 and not is_complete:
        is_complete = True
        for first in range(0, len(others), count):
            candidates = np.stack([best, *others[first : first + count]])
            parts, none_left = _disputed(mrf, candidates)
            is_complete &= none_left
            for nodes in parts:
                if record.is_late():
                    return
                best = _best_of(mrf, candidates, best, nodes, record)
                record.offer(best, mrf.energy(best))
        count //= 2


def _disputed(mrf, labelings):
    """Return groups of nodes on which labelings differ, and True if these are all such nodes.

    A group is a connected component of these nodes or several small ones. Components that are too
    large are omitted.
    """
    disputed = (labelings != labelings[0]).any(axis=0)
    u, v = mrf.edges[disputed[mrf.edges].all(axis=1)].T
    ranked = np.sort(labelings, axis=0)
    size = 1 + (np.diff(ranked, axis=0) != 0).sum(axis=0)
    graph = sparse.coo_array((np.ones(len(u)), (u, v)), shape=(mrf.n_nodes, mrf.n_nodes))
    n_parts, part = sparse.csgraph.connected_components(graph, directed=False)
    n_variables = np.bincount(part, size, n_parts) + np.bincount(
        part[u], size[u] * size[v], n_parts
    )
    fits = n_variables <= MAX_VARIABLES
    nodes = np.flatnonzero(disputed)
    small = nodes[fits[part[nodes]]]
    groups, total = [], np.inf
    for p in np.unique(part[small]):
        if total + n_variables[p] > MAX_VARIABLES:
            groups.append([])
            total = 0.0
        groups[-1].append(p)
        total += n_variables[p]
    return [small[np.isin(part[small], group)] for group in groups], len(small) == len(nodes)


def _best_of(mrf, candidates, best, nodes, record):
    """Return the best labeling found that has labels of `candidates` at `nodes`, `best` elsewhere.

    The labels of `best` at these nodes must occur in `candidates`.
    """
    place = np.full(mrf.n_nodes, -1)
    place[nodes] = np.arange(len(nodes))
    labels = [np.unique(candidates[:, v]) for v in nodes]
    node_costs = [mrf.node_cost(v)[k] for v, k in zip(nodes, labels)]
    a, b = place[mrf.edges.T]
    tables, inside = [], (a >= 0) & (b >= 0)
    for e in np.flatnonzero((a >= 0) | (b >= 0)):
        table, (u, v) = mrf.edge_cost(e), mrf.edges[e]
        if inside[e]:
            tables.append(table[np.ix_(labels[a[e]], labels[b[e]])])
        elif a[e] >= 0:
            node_costs[a[e]] = node_costs[a[e]] + table[labels[a[e]], best[v]]
        else:
            node_costs[b[e]] = node_costs[b[e]] + table[best[u], labels[b[e]]]
    model = MRF(node_costs, place[mrf.edges[inside]], tables)
    at_best = [int(np.searchsorted(k, best[v])) for v, k in zip(nodes, labels)]
    own = record.of_part(model, np.array(at_best, dtype=np.int32))
    integer_program(model, own, MAX_BRANCHES)
    combined = best.copy()
    combined[nodes] = [k[chosen] for k, chosen in zip(labels, own.labels)]
    return combined
