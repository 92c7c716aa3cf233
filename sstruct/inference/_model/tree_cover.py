"""Covers of a graph's edges by the smallest number of forests."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sstruct._oracles.mrf._forest_cover import ForestPartition, elimination, trees_of_forests


@dataclass(frozen=True)
class TreeCover:
    """Trees that together contain every edge of a graph once.

    Parameters
    ----------
    n_forests : int
        Number of forests that the trees form.
    start : ndarray of shape (n_trees + 1,), dtype int64
        The positions of tree t are ``start[t]:start[t + 1]``.
    node, parent, edge : ndarray of shape (start[-1],), dtype int32
        The node of each position, the position of its parent in the tree, and the edge to it, both
        -1 at a root. Parents come before children.
    """

    n_forests: int
    start: np.ndarray
    node: np.ndarray
    parent: np.ndarray
    edge: np.ndarray

    @property
    def n_trees(self):
        """Number of trees."""
        return len(self.start) - 1


def tree_cover(n_nodes, edges):
    """Cover the edges of a graph by the smallest number of forests, and list their trees.

    Parameters
    ----------
    n_nodes : int
    edges : ndarray of shape (E, 2), dtype int32
        Pairs of different nodes, without duplicates.

    Returns
    -------
    cover : TreeCover
        Nodes without edges are in no tree.

    Notes
    -----
    If the edges join nodes with few different index differences, as in grids, each difference gives
    a forest of paths; dense graphs have a cover by zigzag paths. These are used if their number
    meets the Nash-Williams bound. Otherwise exchanges (Edmonds' matroid partition) find the
    smallest number, in O((V + E) k) for each edge that does not fit directly into one of k forests.

    References
    ----------
    H. N. Gabow, H. H. Westermann. Forests, frames, and games: algorithms for matroid sums and
    applications. Algorithmica 7, 1992, section 2.
    """
    edges = np.asarray(edges, dtype=np.int32).reshape(-1, 2)
    rank, least = elimination(n_nodes, edges)
    least = max(least, least_forests(n_nodes, edges))
    forest_of = _paths(n_nodes, edges, least)
    if forest_of is None:
        # Insert nodes in reverse elimination order, so that each has few edges to earlier nodes.
        order = np.argsort(-rank[edges].min(axis=1), kind="stable")
        forest_of = np.empty(len(edges), dtype=np.int32)
        forest_of[order] = ForestPartition(n_nodes, edges[order], least).run()
    n_forests = int(forest_of.max(initial=-1)) + 1
    return TreeCover(n_forests, *trees_of_forests(n_nodes, edges, forest_of, n_forests))


def least_forests(n_nodes, edges):
    """Return a lower bound on the number of forests, from the edges of each component."""
    if len(edges) == 0:
        return 0
    graph = sparse.coo_array((np.ones(len(edges)), tuple(edges.T)), shape=(n_nodes, n_nodes))
    _, component = sparse.csgraph.connected_components(graph.tocsr(), directed=False)
    n_edges = np.bincount(component[edges[:, 0]])
    n_inside = np.bincount(component)[: len(n_edges)]
    return int(np.ceil(n_edges[n_edges > 0] / (n_inside[n_edges > 0] - 1)).max())


def _paths(n_nodes, edges, least):
    """Return a cover by paths known in closed form, or None if it needs more than `least`."""
    if len(edges) == 0:
        return np.empty(0, dtype=np.int32)
    # Edges with the same index difference form paths.
    differences, path_index = np.unique(np.abs(edges[:, 1] - edges[:, 0]), return_inverse=True)
    if len(differences) <= least:
        return path_index.astype(np.int32)
    # 0, 1, n - 1, 2, n - 2, ... and its rotations: along one, the sums of the ends of edges are s
    # and s + 1 modulo n, for even n.
    n = n_nodes + n_nodes % 2
    zigzag = edges.sum(axis=1) % n // 2
    used, path_index = np.unique(zigzag, return_inverse=True)
    return path_index.astype(np.int32) if len(used) <= least else None
