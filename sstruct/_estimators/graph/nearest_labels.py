"""Labels of unknown nodes, completed from the nearest known ones along the edges."""

import numpy as np

# Farther away, the nearest known label is a poor guess: regions grown from single marks would not
# meet at the borders of the objects. Void borders of VOC are 5 pixels wide. Compared with leaving
# unknown pixels out, 5 edges gain 6 to 11 points of accuracy with void borders
# (benchmarks/void_labels.py).
MOST_EDGES = 5
# A graph stays as it is if more than this share of its unknown nodes is farther away: with single
# marks, completing what surrounds them loses 3 to 6 points.
LARGEST_REST = 0.1


def nearest_labels(graphs, known, n_labels):
    """Complete unknown nodes up to `MOST_EDGES` edges away from a known one.

    A node takes the most frequent label of its neighbors that are one edge closer to a known node,
    the first of several. Only graphs in which most edges between known nodes join equal labels are
    completed (elsewhere, as in text, a neighbor's label is mostly wrong), and of these only graphs
    whose unknown nodes are nearly all so close to a known one (`LARGEST_REST`).

    Parameters
    ----------
    graphs : Graphs
    known : ndarray of int32 of shape (n_nodes,)
        Label of each node, -1 where it is unknown.
    n_labels : int

    Returns
    -------
    ndarray of int32 of shape (n_nodes,)
        -1 where a node is still unknown.

    Notes
    -----
    O(E) time and memory for the largest graph.
    """
    codes = known.copy()
    graph = np.repeat(np.arange(len(graphs.length)), graphs.length)
    n_known = np.bincount(graph[known >= 0], minlength=len(graphs.length))
    for i in np.flatnonzero((n_known > 0) & (n_known < graphs.length)).tolist():
        first, at = int(graphs.start[i]), int(graphs.edge_start[i])
        own = codes[first : first + int(graphs.length[i])]
        edges = graphs.edges[at : at + int(graphs.n_edges[i])]
        ends = own[edges]
        between_known = (ends >= 0).all(axis=1)
        n_different = (ends[:, 0] != ends[:, 1])[between_known].sum()
        if 2 * n_different < between_known.sum():
            completed = own.copy()
            _complete(completed, edges[~between_known], n_labels)
            if (completed < 0).sum() <= LARGEST_REST * (own < 0).sum():
                own[:] = completed
    return codes


def _complete(codes, edges, n_labels):
    """Complete the codes of one graph in place, from known nodes outwards."""
    into = np.concatenate([edges, edges[:, ::-1]])
    for _ in range(MOST_EDGES):
        into = into[codes[into[:, 0]] < 0]
        reached = into[codes[into[:, 1]] >= 0]
        if not len(reached):
            return
        nodes, row = np.unique(reached[:, 0], return_inverse=True)
        votes = np.bincount(row * n_labels + codes[reached[:, 1]], minlength=len(nodes) * n_labels)
        codes[nodes] = votes.reshape(len(nodes), n_labels).argmax(axis=1)
