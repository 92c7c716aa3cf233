"""The door of expansion and fusion moves."""

import numpy as np

from sstruct._oracles._binary_energy import checked_node_costs
from sstruct._oracles._edges import checked_simple_edges
from sstruct._oracles._graph_decoder import GraphDecoder


def alpha_expansion(
    node_costs, edges, edge_costs, label_distance=None, *, labels=None, random_state=None
):
    """Lower an energy of many labels by expansion moves.

    Minimises, approximately,
    ``sum_v node_costs[v, y_v] + sum_e edge_costs[e] label_distance[y_u, y_v]``, where edge e joins
    the nodes ``(u, v) = edges[e]``. A move of one label lets every node keep its label or take that
    one; the moves of all labels are tried until none lowers the energy.

    Parameters
    ----------
    node_costs : array-like of shape (n_nodes, n_labels)
        Cost of each label at each node, finite.
    edges : array-like of int of shape (n_edges, 2)
        Pairs of different nodes, each pair once.
    edge_costs : array-like of shape (n_edges,)
        What each edge multiplies the distance of its labels with, finite.
    label_distance : array-like of shape (n_labels, n_labels) or None, default=None
        Row: label of an edge's first node, column: of its second; finite. None: Potts, 1 for
        different labels and 0 for equal ones.
    labels : array-like of int of shape (n_nodes,) or None, default=None
        The labelling to start from. None: each node's cheapest label.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        Draws the order in which labels are tried. An int makes the result reproducible.

    Returns
    -------
    labels : ndarray of shape (n_nodes,), dtype int32
        A labelling with no more energy than the start.
    value : float
        Its energy.

    Raises
    ------
    ValueError
        If an edge is out of range, a self-loop or given twice, a label is out of range, a cost is
        NaN or infinite, or shapes do not fit together.

    Notes
    -----
    For edge costs >= 0 and a metric distance each move is a minimum cut, so that no move improves
    the result, and its energy is at most D + 2 c S, where D and S are the node and the edge part
    of the least energy and c is the largest distance divided by the smallest between different
    labels. It is the least energy itself if there are two labels, one label, or no edges.

    For any other signs and distances a move is found by roof duality, which may decide only a part
    of the nodes (a fusion move), in turn with moves of random forests, whose nodes take their best
    labels given the others' exactly; the energy still never rises, but there is no bound.

    A cycle over the labels takes n_labels minimum cuts; a few cycles are usual. The GIL is
    released.

    References
    ----------
    Y. Boykov, O. Veksler and R. Zabih. Fast approximate energy minimization via graph cuts. IEEE
    PAMI 23(11), 2001. V. Lempitsky, C. Rother, S. Roth and A. Blake. Fusion moves for Markov random
    field optimization. IEEE PAMI 32(8), 2010.

    Examples
    --------
    >>> from sstruct.inference import alpha_expansion
    >>> node_costs = [[0.0, 2.0, 2.0], [1.0, 0.9, 0.8], [2.0, 2.0, 0.0]]
    >>> alpha_expansion(node_costs, [[0, 1], [1, 2]], [0.5, 1.0], random_state=0)
    (array([0, 2, 2], dtype=int32), 1.3)
    """
    node = checked_node_costs(node_costs)
    V, K = node.shape
    pairs = checked_simple_edges(edges, V)
    weights = np.ascontiguousarray(edge_costs, dtype=np.float64)
    if weights.shape != (len(pairs),):
        raise ValueError(
            f"edge_costs must have shape {(len(pairs),)}, one entry for each edge; "
            f"found {weights.shape}"
        )
    if not np.isfinite(weights).all():
        e = int((~np.isfinite(weights)).argmax())
        raise ValueError(f"edge_costs[{e}] = {weights[e]} must be finite")
    distance = None
    if label_distance is not None:
        distance = np.ascontiguousarray(label_distance, dtype=np.float64)
        if distance.shape != (K, K) or not np.isfinite(distance).all():
            raise ValueError(
                f"label_distance must be finite and have shape {(K, K)}, as many labels as "
                f"node_costs; found shape {distance.shape}"
            )
        distance = distance[np.newaxis]
    start = node.argmin(axis=1) if labels is None else np.asarray(labels)
    if start.shape != (V,) or start.dtype.kind not in "iu":
        raise ValueError(
            f"labels must be integers of shape {(V,)}; found dtype {start.dtype} "
            f"and shape {start.shape}"
        )
    if ((start < 0) | (start >= K)).any():
        v = int(((start < 0) | (start >= K)).argmax())
        raise ValueError(f"labels[{v}] = {start[v]} is out of range: {K} labels")
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31)
    seed = int(np.random.default_rng(random_state).integers(2**63))
    labels, value, _, _ = GraphDecoder("expansion", seed).py_decode(
        node, pairs, weights[:, np.newaxis], distance, start
    )
    return labels, value
