"""Complete the labels of unknown nodes from the nearest known ones along the edges."""

import numpy as np

# Maximum distance in edges. At larger distances, the nearest known label is unreliable: regions
# grown from single marks would not meet at the borders of objects. The unlabeled ("void") borders
# of objects in PASCAL VOC are 5 pixels wide. With such borders, a distance of 5 gains 6 to 11
# points of accuracy, compared with ignoring unknown pixels (benchmarks/void_labels.py).
MAX_EDGES = 5
# A graph is not completed if more than this fraction of its unknown nodes is farther away: with
# single marks, completing their surroundings loses 3 to 6 points.
LARGEST_REST = 0.1


def nearest_labels(graphs, known, n_labels):
    """Complete unknown nodes up to `MAX_EDGES` edges away from a known one.

    A node gets the most frequent label of its neighbors that are one edge closer to a known node;
    ties go to the first label. A graph is completed only if most edges between known nodes join
    equal labels (otherwise, as in text, the label of a neighbor is mostly wrong), and if almost all
    of its unknown nodes are close enough to a known one (`LARGEST_REST`).

    Parameters
    ----------
    graphs : Graphs
    known : ndarray of int32 of shape (n_nodes,)
        Label of each node, -1 if unknown.
    n_labels : int

    Returns
    -------
    ndarray of int32 of shape (n_nodes,)
        -1 if a node is still unknown.

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
    for _ in range(MAX_EDGES):
        into = into[codes[into[:, 0]] < 0]
        reached = into[codes[into[:, 1]] >= 0]
        if not len(reached):
            return
        nodes, row = np.unique(reached[:, 0], return_inverse=True)
        votes = np.bincount(row * n_labels + codes[reached[:, 1]], minlength=len(nodes) * n_labels)
        codes[nodes] = votes.reshape(len(nodes), n_labels).argmax(axis=1)
