"""Models whose pairwise costs are merged into factors of three nodes."""

import numpy as np

from sstruct.inference._model.mrf import MRF

# Limits on the visits of edges in the search for triangles, and on the table entries that message
# passing requires for the factors, 256 MB.
MAX_VISITS = 2**20
MAX_ENTRIES = 2**25


def merge_triangles(mrf):
    """Return an equivalent model in which triangles of edges are factors.

    Parameters
    ----------
    mrf : MRF

    Returns
    -------
    merged : MRF or None
        The same nodes, labels and energies. Each edge belongs to at most one factor. The linear
        relaxation is at least as tight as the one of `mrf`. None if `mrf` has no triangle or has
        factors, or if a limit is exceeded.
    """
    triangles = [] if mrf.n_factors else _edge_disjoint_triangles(mrf)
    scopes = [np.unique(mrf.edges[list(edges)]) for edges in triangles]
    sizes = mrf.n_labels[np.array(scopes, dtype=int).reshape(-1, 3)].astype(float)
    n_entries = (sizes.prod(axis=1) * (1 + sizes.sum(axis=1))).sum()
    if not triangles or n_entries > MAX_ENTRIES:
        return None
    factors = [(scope, _sum(mrf, scope, edges)) for scope, edges in zip(scopes, triangles)]
    left = np.setdiff1d(np.arange(mrf.n_edges), np.ravel(triangles))
    return MRF(
        [mrf.node_cost(v) for v in range(mrf.n_nodes)],
        mrf.edges[left],
        [mrf.edge_cost(e) for e in left],
        factors=factors,
    )


def _sum(mrf, scope, edges):
    """Return the sum of the costs of three edges, with an axis for each node of the scope."""
    total = np.zeros(mrf.n_labels[scope])
    for e in edges:
        ends, costs = mrf.edges[e], mrf.edge_cost(e)
        if ends[0] > ends[1]:
            costs = costs.T
        total += np.expand_dims(costs, int(np.flatnonzero(~np.isin(scope, ends))[0]))
    return total


def _edge_disjoint_triangles(mrf):
    """Return triples of edges, largest ranges of costs first; none if a limit is exceeded."""
    around = [{} for _ in range(mrf.n_nodes)]
    for e, (u, v) in enumerate(mrf.edges.tolist()):
        around[u][v] = around[v][u] = e
    if sum(len(around[u]) for u in mrf.edges[:, 0].tolist()) > MAX_VISITS:
        return []
    in_one = [
        e for e, (u, v) in enumerate(mrf.edges.tolist()) if around[u].keys() & around[v].keys()
    ]
    spread = {e: _range(mrf.edge_cost(e)) for e in in_one}
    found = []
    for e in sorted(in_one, key=lambda e: -spread[e]):
        u, v = mrf.edges[e].tolist()
        third = around[u].keys() & around[v].keys()
        if v in around[u] and third:
            w = max(third, key=lambda w: (spread[around[u][w]] + spread[around[v][w]], -w))
            found.append((e, around[u][w], around[v][w]))
            for a, b in ((u, v), (u, w), (v, w)):
                del around[a][b], around[b][a]
    return found


def _range(costs):
    """Return the difference of the largest and the smallest finite cost, 0 if there is none."""
    finite = costs[np.isfinite(costs)]
    return float(np.ptp(finite)) if len(finite) else 0.0
