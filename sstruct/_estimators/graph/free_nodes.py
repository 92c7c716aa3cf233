"""Decoding around known labels: what is left of graphs without the nodes that have them.

A known label turns its edges into scores of its neighbors' labels. What is left is a graph model
of the other nodes, which the decoders solve as any: no score has to be so large that it forbids.
Where a label has several states, the other labels' states get such a score.
"""

from dataclasses import dataclass, replace

import numpy as np

from sstruct._estimators.graph.graph_training import Graphs, without_nodes


@dataclass(frozen=True)
class FreeNodes:
    """What of some graphs is to be labeled.

    Attributes
    ----------
    samples : ndarray of shape (n_blocks,)
        Numbers of the samples that have a free node.
    graphs : Graphs
        Their free nodes and the edges between these.
    node_scores : ndarray of shape (n_rows, K)
        What the other edges add to the scores of labels, for each row of the graphs' nodes.
    """

    samples: np.ndarray
    graphs: Graphs
    node_scores: np.ndarray


def free_nodes(graphs, known, pairwise, edge_weights, n_labels):
    """Leave out the nodes whose label is known; return the FreeNodes.

    Parameters
    ----------
    graphs : Graphs
    known : ndarray of int of shape (n_nodes,)
        Label of each node, -1 where it is free; not all known.
    pairwise : tuple
        Name of the pairwise model and its fixed cost.
    edge_weights : ndarray or None
        ``edge_coef_``.
    n_labels : int
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
    if len(partial):  # rows of known nodes go; else no graph has any among its own
        rest, scores = without_nodes(rest, free, n_free[samples], partial), scores[free]
    return FreeNodes(samples, rest, scores)


def _edge_scores(pairwise, weights, features, labels, n_labels, is_first):
    """Return the scores, (m, K), of the labels of one end of edges, given those of the other end.

    labels : (m,) of the known ends; is_first : whether these are the edges' first ones.
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
    """Return node scores, (n_nodes, K), that forbid all states but those of known labels.

    On the scale of the model's own scores, so that little is lost to rounding.

    Parameters
    ----------
    graphs : Graphs
    known : ndarray of int of shape (n_nodes,)
        Label of each node, -1 where it is free.
    pairwise : tuple
        Name of the pairwise model and its fixed cost.
    views : dict
        The model's weights by name.
    n_states : int
        Of each label: the K labels of the model are states.
    """
    scores = graphs.nodes.flat @ views["coef"].T + views.get("intercept", 0.0)
    edge, most = views.get("edge"), abs(pairwise[1])
    if edge is not None and graphs.edge_features is not None:
        largest = np.abs(edge).reshape(len(edge), -1).max(axis=1)
        most = (np.abs(graphs.edge_features) @ largest).max(initial=0)
    elif edge is not None:
        most = np.abs(edge).max()
    # Changing one node's state changes its own score, and those of its edges, by less.
    size = 1 + 2 * np.abs(scores).max() + 2 * graphs.n_edges.max() * most
    others = known[:, np.newaxis] != np.arange(scores.shape[1]) // n_states
    return np.where(others & (known >= 0)[:, np.newaxis], -size, 0.0)
