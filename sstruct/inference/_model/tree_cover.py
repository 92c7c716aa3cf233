"""The fewest forests that cover a graph's edges, and their trees."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sstruct._oracles.mrf._forest_cover import ForestPartition, elimination, trees_of_forests


@dataclass(frozen=True)
class TreeCover:
    """Trees that have every edge of a graph once.

    Parameters
    ----------
    n_forests : int
        The trees are those of so many forests.
    start : ndarray of shape (n_trees + 1,), dtype int64
        Tree t has the places ``start[t]:start[t + 1]``.
    node, parent, edge : ndarray of shape (start[-1],), dtype int32
        Of each place its node, its parent's place in the tree and the edge to it, both -1 at a
        root; parents come before children.
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
    """Cover the edges of a graph by the fewest forests, and list their trees.

    Parameters
    ----------
    n_nodes : int
    edges : ndarray of shape (E, 2), dtype int32
        Pairs of different nodes, none twice.

    Returns
    -------
    cover : TreeCover
        Nodes without edges are in no tree.

    Notes
    -----
    Where the edges join nodes at a few differences of their numbers, as in grids, the differences
    make forests of paths, and nodes of dense graphs have zigzag paths; these are taken where they
    are as few as Nash-Williams allows. Else exchanges (Edmonds' matroid partition) find the least
    number, in O(V + E) k for each edge that finds no place of itself among k forests.

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
        # Nodes come back with their edges to those that are there: few, as few were left with them.
        order = np.argsort(-rank[edges].min(axis=1), kind="stable")
        forest_of = np.empty(len(edges), dtype=np.int32)
        forest_of[order] = ForestPartition(n_nodes, edges[order], least).run()
    n_forests = int(forest_of.max(initial=-1)) + 1
    return TreeCover(n_forests, *trees_of_forests(n_nodes, edges, forest_of, n_forests))


def least_forests(n_nodes, edges):
    """How many forests the connected components need at least, by their numbers of edges."""
    if len(edges) == 0:
        return 0
    graph = sparse.coo_array((np.ones(len(edges)), tuple(edges.T)), shape=(n_nodes, n_nodes))
    _, component = sparse.csgraph.connected_components(graph.tocsr(), directed=False)
    n_edges = np.bincount(component[edges[:, 0]])
    n_inside = np.bincount(component)[: len(n_edges)]
    return int(np.ceil(n_edges[n_edges > 0] / (n_inside[n_edges > 0] - 1)).max())


def _paths(n_nodes, edges, least):
    """Forests of paths that are known without a search, or None where `least` are too few."""
    if len(edges) == 0:
        return np.empty(0, dtype=np.int32)
    # Nodes joined at one difference make paths along it.
    differences, of_edge = np.unique(np.abs(edges[:, 1] - edges[:, 0]), return_inverse=True)
    if len(differences) <= least:
        return of_edge.astype(np.int32)
    # 0, 1, n - 1, 2, n - 2, ... and its rotations: ends of edges along one have the sums s, s + 1
    # modulo n, n even.
    n = n_nodes + n_nodes % 2
    zigzag = edges.sum(axis=1) % n // 2
    used, of_edge = np.unique(zigzag, return_inverse=True)
    return of_edge.astype(np.int32) if len(used) <= least else None
