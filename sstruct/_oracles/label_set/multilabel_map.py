"""MAP inference of label sets."""

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
    """Find a label set of high score by one cut, exactly if possible.

    Maximizes ``sum_k node_scores[k] y_k + sum_e edge_scores[e, y_u, y_v]`` over labels that are off
    (0) or on (1), where edge e joins the labels ``(u, v) = edges[e]``.

    Parameters
    ----------
    node_scores : array-like of shape (n_labels,)
        Finite score that each label adds if it is on.
    edges : array-like of int of shape (n_edges, 2)
        Pairs of different labels, without duplicates.
    edge_scores : array-like of shape (n_edges,) or (n_edges, 2, 2)
        (n_edges,): score if both labels are on; attractive if positive, repulsive if negative.
        (n_edges, 2, 2): score of the values of the first and the second label. Must be finite.
    return_bound : bool, default=False
        Whether to also return an upper bound.

    Returns
    -------
    labels : ndarray of shape (n_labels,), dtype int32
        1 for the labels in the set, 0 for the others.
    value : float
        The score of the set.
    bound : float
        Upper bound on the score of all label sets: the maximum over the local polytope, or `value`
        if it is known to be optimal. Only returned if `return_bound` is True.

    Raises
    ------
    ValueError
        If an edge is out of range, a self-loop or a duplicate, a score is NaN or infinite, or
        shapes are inconsistent.

    See Also
    --------
    graph_cut : Minimize costs of binary labels; partial labelings by roof duality.
    tree_max_sum : Find the best labels on trees, with any number of values.

    Notes
    -----
    The linear program over the local polytope has a solution in which every label is on, off or one
    half; it is found by one minimum cut (roof duality). Labels that are on or off in it have the
    same value in some optimal label set. The result is optimal if

    * all labels attract each other (possibly after complementing some), or the edges form a forest:
      no label is one half then;
    * or each component of the graph of the labels that are one half has at most 16 labels: all
      their sets are enumerated.

    Otherwise, a local search from three starts completes the set, such that no change of a single
    label improves it, and `bound` limits the distance from the optimum. The result is
    deterministic.

    The cut takes the time of :func:`maxflow` with at most twice as many nodes and edges. Most
    labels are decided beforehand in O(n_labels + n_edges), because their own scores outweigh those
    of their edges. The GIL is released.

    References
    ----------
    P. L. Hammer, P. Hansen and B. Simeone. Roof duality, complementation and persistency in
    quadratic 0-1 optimization. Mathematical Programming 28, 1984.

    Examples
    --------
    Labels 0 and 1 attract each other, and label 2 is repelled by both:

    >>> from sstruct.inference import multilabel_map
    >>> edges = [[0, 1], [1, 2], [0, 2]]
    >>> multilabel_map([1.0, -0.5, 1.2], edges, [0.8, -1.0, -1.0])
    (array([1, 1, 0], dtype=int32), 1.3)
    """
    return_bound = flag(return_bound, "return_bound")
    node = np.ascontiguousarray(real_array(node_scores, "node_scores"))
    if node.ndim != 1 or len(node) == 0:
        raise ValueError(
            f"node_scores must have shape (n_labels,) with n_labels >= 1; found {node.shape}"
        )
    check_finite(node, "node_scores")
    pairs = checked_simple_edges(edges, len(node), "labels")
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
