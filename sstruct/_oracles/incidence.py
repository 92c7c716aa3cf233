"""Edges, factors or rays listed by node."""

import numpy as np


def by_node(items, nodes, n_nodes):
    """List by node the items that touch it.

    Parameters
    ----------
    items, nodes : ndarrays of int of shape (n,)
        ``items[k]`` touches ``nodes[k]``, which is in range.

    Returns
    -------
    first : ndarray of shape (n_nodes + 1,), dtype int32
    item : ndarray of shape (n,), dtype int32
        Those of node v are ``item[first[v]:first[v + 1]]``, in the order given.
    """
    first = np.zeros(n_nodes + 1, dtype=np.int32)
    np.cumsum(np.bincount(nodes, minlength=n_nodes), out=first[1:])
    return first, items[np.argsort(nodes, kind="stable")].astype(np.int32)


def edges_by_node(edges, n_nodes):
    """The edges (E, 2) of each node, as of `by_node`."""
    return by_node(np.repeat(np.arange(len(edges)), 2), edges.ravel(), n_nodes)
