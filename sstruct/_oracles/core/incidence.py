"""Lists of nodes, checked; and edges, factors or rays listed by node."""

import numpy as np

from sstruct._checks.arrays import array_of


def checked_nodes(nodes, n_nodes, name, noun="node"):
    """Return a list of different nodes, one at least, as int32 (n,), or raise ValueError.

    name, noun : what errors call the list and a node
    """
    nodes = array_of(nodes, name)
    if nodes.ndim != 1 or len(nodes) == 0 or nodes.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be a list of {noun}s, one at least; found shape {nodes.shape} and dtype "
            f"{nodes.dtype}"
        )
    wrong = (nodes < 0) | (nodes >= n_nodes)
    if wrong.any():
        raise ValueError(f"{name} has {noun} {nodes[wrong.argmax()]}, expected 0 to {n_nodes - 1}")
    in_order = np.sort(nodes)
    again = in_order[1:] == in_order[:-1]
    if again.any():
        raise ValueError(f"{name} has {noun} {in_order[again.argmax()]} twice")
    return nodes.astype(np.int32)


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
