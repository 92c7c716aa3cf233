"""Validation of lists of nodes, and lists of edges, factors or rays by node."""

import numpy as np

from sstruct._checks.arrays import array_of


def checked_nodes(nodes, n_nodes, name, noun="node"):
    """Return a nonempty list of distinct nodes, validated, as int32 (n,).

    name, noun : names of the list and of a node in errors
    """
    nodes = array_of(nodes, name)
    if nodes.ndim != 1 or len(nodes) == 0 or nodes.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be a nonempty list of {noun}s; found shape {nodes.shape} and dtype "
            f"{nodes.dtype}"
        )
    wrong = (nodes < 0) | (nodes >= n_nodes)
    if wrong.any():
        raise ValueError(f"{name} has {noun} {nodes[wrong.argmax()]}, expected 0 to {n_nodes - 1}")
    in_order = np.sort(nodes)
    again = in_order[1:] == in_order[:-1]
    if again.any():
        raise ValueError(
            f"{name} has {noun} {in_order[again.argmax()]} twice, expected distinct {noun}s"
        )
    return nodes.astype(np.int32)


def by_node(items, nodes, n_nodes):
    """List the items at each node.

    Parameters
    ----------
    items, nodes : ndarrays of int of shape (n,)
        ``items[k]`` is at node ``nodes[k]``, which must be in range.

    Returns
    -------
    first : ndarray of shape (n_nodes + 1,), dtype int32
    item : ndarray of shape (n,), dtype int32
        The items of node v are ``item[first[v]:first[v + 1]]``, in the given order.
    """
    first = np.zeros(n_nodes + 1, dtype=np.int32)
    np.cumsum(np.bincount(nodes, minlength=n_nodes), out=first[1:])
    return first, items[np.argsort(nodes, kind="stable")].astype(np.int32)


def edges_by_node(edges, n_nodes):
    """Return the edges (E, 2) of each node in the format of `by_node`."""
    return by_node(np.repeat(np.arange(len(edges)), 2), edges.ravel(), n_nodes)
