"""Decode graphs given known labels, by removing the nodes that have them.

The edges of a node with a known label become scores of the labels of its neighbors. The remaining
nodes form an ordinary graph model for the decoders, without large scores that forbid labels. Only
if a label has several states, such scores forbid the states of other labels.
"""

from dataclasses import replace

import numpy as np

from sstruct._estimators.graph.graph_training import without_nodes


def free_nodes(graphs, known, pairwise, edge_weights, n_labels):
    """Remove the nodes whose label is known.

    Parameters
    ----------
    graphs : Graphs
        All of them have nodes.
    known : ndarray of int of shape (n_nodes,)
        Label of each node, -1 if it is free. At least one node is free.
    pairwise : tuple
        Name of the pairwise model and its fixed cost.
    edge_weights : ndarray or None
        ``edge_coef_``.
    n_labels : int

    Returns
    -------
    samples : ndarray of shape (n_blocks,)
        Indices of the graphs that have a free node.
    graphs : Graphs
        Their free nodes and the edges between free nodes.
    node_scores : ndarray of shape (n_rows, K)
        Contribution of the other edges to the scores of labels, for each row of `graphs`.
    """
    free = known < 0
    scores = np.zeros((len(known), n_labels))
    touched = np.flatnonzero(np.add.reduceat(~free, graphs.start) > 0)
    for i in touched.tolist():
        first, count = int(graphs.start[i]), int(graphs.length[i])
        at, n_edges = int(graphs.edge_start[i]), int(graphs.n_edges[i])
        edges, own = graphs.edges[at : at + n_edges], known[first : first + count]
        for one, other in ((0, 1), (1, 0)):
            rows = np.flatnonzero((own[edges[:, one]] >= 0) & (own[edges[:, other]] < 0))
            features = None
            if graphs.edge_features is not None:
                features = graphs.edge_features[int(graphs.feature_start[i]) + rows]
            added = _edge_scores(
                pairwise, edge_weights, features, own[edges[rows, one]], n_labels, one == 0
            )
            np.add.at(scores, first + edges[rows, other], added)
    n_free = np.add.reduceat(free.astype(np.int64), graphs.start)
    samples = np.flatnonzero(n_free)
    rest = replace(graphs.selected(samples), sizes=None)
    partial = np.flatnonzero(n_free[samples] < rest.length)
    if len(partial):  # drop the rows of known nodes; other graphs have none
        rest, scores = without_nodes(rest, free, n_free[samples], partial), scores[free]
    return samples, rest, scores


def _edge_scores(pairwise, weights, features, labels, n_labels, is_first):
    """Return the scores, (m, K), of the labels of one end of edges, given those of the other end.

    labels : labels of the known ends, (m,); is_first : whether these are the first ends of edges
    """
    name, strength = pairwise
    if name == "full":
        return 0.5 * (weights[labels] + weights.T[labels])
    if name == "directed":
        tables = weights if is_first else weights.transpose(0, 2, 1)
        return np.einsum("mg,gmk->mk", features, tables[:, labels])
    differs = labels[:, np.newaxis] != np.arange(n_labels)
    if name == "fixed":
        return -strength * differs
    if name == "potts":
        return weights[0] * differs
    return (features @ weights)[:, np.newaxis] * differs


def state_scores(graphs, known, pairwise, views, n_states):
    """Return node scores, (n_nodes, K), that forbid states of other labels than the known ones.

    They have the scale of the scores of the model, to limit rounding errors.

    Parameters
    ----------
    graphs : Graphs
    known : ndarray of int of shape (n_nodes,)
        Label of each node, -1 if it is free.
    pairwise : tuple
        Name of the pairwise model and its fixed cost.
    views : dict
        The weights of the model by name.
    n_states : int
        Number of states per label; the K labels of the model are states.
    """
    scores = graphs.nodes.flat @ views["coef"].T + views.get("intercept", 0.0)
    edge, most = views.get("edge"), abs(pairwise[1])
    if edge is not None and graphs.edge_features is not None:
        largest = np.abs(edge).reshape(len(edge), -1).max(axis=1)
        most = (np.abs(graphs.edge_features) @ largest).max(initial=0)
    elif edge is not None:
        most = np.abs(edge).max()
    # Changing the state of one node changes its score, and the scores of its edges, by less.
    size = 1 + 2 * np.abs(scores).max() + 2 * graphs.n_edges.max() * most
    others = known[:, np.newaxis] != np.arange(scores.shape[1]) // n_states
    return np.where(others & (known >= 0)[:, np.newaxis], -size, 0.0)
