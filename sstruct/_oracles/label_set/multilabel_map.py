"""The door of decoders of label sets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sstruct._checks.arrays import flag, real_array
from sstruct._oracles.core._edges import (
    check_finite,
    checked_edge_tables,
    checked_simple_edges,
)
from sstruct._oracles.label_set._completion import LabelCompletion
from sstruct._oracles.label_set._roof_duality import RelaxedLabels


def multilabel_map(
    node_scores: ArrayLike, edges: ArrayLike, edge_scores: ArrayLike, *, return_bound: bool = False
) -> tuple[Any, ...]:
    """Find a set of labels of high score, exactly where that is possible by one cut.

    Maximizes ``sum_k node_scores[k] y_k + sum_e edge_scores[e, y_u, y_v]`` over labels that are off
    (0) or on (1), where edge e joins the labels ``(u, v) = edges[e]``.

    Parameters
    ----------
    node_scores : array-like of shape (n_labels,)
        What each label adds when it is on, finite.
    edges : array-like of int of shape (n_edges, 2)
        Pairs of different labels, each pair once.
    edge_scores : array-like of shape (n_edges,) or (n_edges, 2, 2)
        (n_edges,): what both labels on add, of any sign: they attract or repel each other.
        (n_edges, 2, 2): the score of the first label's and the second label's values. Finite.
    return_bound : bool, default=False
        Whether to return an upper bound too.

    Returns
    -------
    labels : ndarray of shape (n_labels,), dtype int32
        1 for the labels of the set, 0 for the others.
    value : float
        Its score.
    bound : float
        No set has a higher score: the maximum over the local polytope, or the value itself where
        it is known to be the maximum. Only if `return_bound` is True.

    Raises
    ------
    ValueError
        If an edge is out of range, a self-loop or given twice, a score is NaN or infinite, or
        shapes do not fit together.

    See Also
    --------
    graph_cut : Costs of binary labels of images and graphs; partial labelings by roof duality.
    tree_max_sum : Labels with any number of values on trees.

    Notes
    -----
    The linear program over the local polytope has a solution in which labels are on, off or half
    on; it is found by one minimum cut (roof duality), and labels that are on or off in it are so in
    some best set. The result is a best set if

    * all labels attract each other (or would if some were turned over), or the edges form a forest:
      no label is half on then;
    * or at most 16 labels are half on in each component of the graph of these labels: all their
      sets are tried.

    Else a local search from three starts, of which no change of one label improves the result,
    completes the set, and `bound` tells how far from the best it may be. Nothing is random.

    The cut takes the time of :func:`maxflow` with at most twice as many nodes and edges; most
    labels are decided beforehand, in O(n_labels + n_edges), where their own scores outweigh those
    of their edges. The GIL is released.

    References
    ----------
    P. L. Hammer, P. Hansen and B. Simeone. Roof duality, complementation and persistency in
    quadratic 0-1 optimization. Mathematical Programming 28, 1984.

    Examples
    --------
    Labels 0 and 1 go together, label 2 is repelled by both:

    >>> from sstruct.inference import multilabel_map
    >>> edges = [[0, 1], [1, 2], [0, 2]]
    >>> multilabel_map([1.0, -0.5, 1.2], edges, [0.8, -1.0, -1.0])
    (array([1, 1, 0], dtype=int32), 1.3)
    """
    return_bound = flag(return_bound, "return_bound")
    node = np.ascontiguousarray(real_array(node_scores, "node_scores"))
    if node.ndim != 1 or len(node) == 0:
        raise ValueError(
            f"node_scores must have shape (n_labels,), n_labels at least 1; found {node.shape}"
        )
    check_finite(node, "node_scores")
    pairs = checked_simple_edges(edges, len(node))
    E = len(pairs)
    scores = checked_edge_tables(edge_scores, E, "edge_scores")
    scores = scores.reshape(E, 4) if scores.ndim == 3 else scores.reshape(E)
    check_finite(scores, "edge_scores")
    labels, value, bound, exact, _ = LabelCompletion().decode_arrays(
        RelaxedLabels(), node, pairs, scores
    )
    if return_bound:
        return labels, value, value if exact else max(bound, value)
    return labels, value
