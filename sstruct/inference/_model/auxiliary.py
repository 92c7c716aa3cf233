"""Pairwise models, in which auxiliary nodes represent factors of three or more nodes."""

import numpy as np

from sstruct.inference._model.mrf import MRF

# Limit on the entries of the tables that replace factors; equal ones are counted once.
MAX_ENTRIES = 2**27


def pairwise_model(mrf):
    """Return an equivalent model without factors, and an order of its nodes.

    Parameters
    ----------
    mrf : MRF

    Returns
    -------
    model : MRF
        The nodes of `mrf`, followed by a node for each factor, whose labels are the tuples that the
        factor allows (one forbidden tuple if it allows none). Tables of 0 and ``+inf`` tie these
        tuples to the labels of the nodes in the factor. The first ``mrf.n_nodes`` labels of a
        labeling are a labeling of `mrf` with at most the same energy. Without factors, `mrf`
        itself.
    order : ndarray of shape (model.n_nodes,), dtype int32
        All nodes, with the nodes of factors between the nodes of their scopes.

    Raises
    ------
    ValueError
        If the tables require more than 2^27 entries.

    Notes
    -----
    The linear relaxation is the one of `mrf` with exact marginals for each factor.
    """
    if mrf.n_factors == 0:
        return mrf, np.arange(mrf.n_nodes, dtype=np.int32)
    node = [mrf.node_cost(v) for v in range(mrf.n_nodes)]
    edges, tables = [mrf.edges], _tables(mrf)
    weights = [mrf.weights]
    # Factors with the same table share the derived tables.
    allowed, ties, n_entries = {}, {}, 0
    rank = list(range(mrf.n_nodes))
    for f in range(mrf.n_factors):
        scope, costs = mrf.factor(f)
        t = int(mrf.factor_table[f])
        if t not in allowed:
            entries = np.argwhere(np.isfinite(costs))
            entries = entries if len(entries) else np.zeros((1, costs.ndim), dtype=np.int64)
            n_entries += len(entries) * (1 + sum(costs.shape))
            if n_entries > MAX_ENTRIES:
                raise ValueError(
                    f"factors[{f}] has {len(entries)} allowed tuples: this method requires tables "
                    f"of more than {MAX_ENTRIES} entries for the factors"
                )
            allowed[t] = costs[tuple(entries.T)]
            for place, size in enumerate(costs.shape):
                agrees = np.arange(size)[:, None] == entries[:, place]
                ties[t, place] = np.where(agrees, 0.0, np.inf)
        node.append(allowed[t])
        rank.append(float(np.sort(scope)[len(scope) // 2 - 1 + len(scope) % 2]) + 0.5)
        edges.append(np.stack([scope, np.full(len(scope), len(node) - 1)], axis=1))
        tables += [ties[t, place] for place in range(len(scope))]
        weights.append(np.ones(len(scope)))
    model = MRF(node, np.concatenate(edges).astype(np.int32), tables, np.concatenate(weights))
    return model, np.argsort(rank, kind="stable").astype(np.int32)


def _tables(mrf):
    """Return the unweighted table of each edge; edges that share a table share the object."""
    views, out = {}, []
    for e, t in enumerate(mrf.edge_table.tolist()):
        if t not in views:
            table = mrf.tables[mrf.table_start[t] : mrf.table_start[t + 1]]
            views[t] = table.reshape(mrf.n_labels[mrf.edges[e]])
        out.append(views[t])
    return out
