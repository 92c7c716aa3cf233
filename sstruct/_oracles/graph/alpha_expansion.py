"""Approximate energy minimization by expansion and fusion moves."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sstruct._checks.arrays import array_of, generator_of, real_array
from sstruct._checks.parameters import is_integer
from sstruct._checks.shown import shortened
from sstruct._oracles.core._edges import check_finite, checked_simple_edges
from sstruct._oracles.cut._binary_energy import checked_node_costs, with_finite_costs
from sstruct._oracles.graph._decoder import GraphDecoder


def alpha_expansion(
    node_costs: ArrayLike,
    edges: ArrayLike,
    edge_costs: ArrayLike,
    label_distance: ArrayLike | None = None,
    *,
    labels: ArrayLike | None = None,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
    n_starts: int = 2,
) -> tuple[NDArray[np.int32], float]:
    """Lower an energy of many labels by expansion moves.

    Minimizes, approximately,
    ``sum_v node_costs[v, y_v] + sum_e edge_costs[e] label_distance[y_u, y_v]``, where edge e joins
    the nodes ``(u, v) = edges[e]``. In a move of a label, every node keeps its label or takes that
    label; the moves of all labels are repeated until none lowers the energy.

    Parameters
    ----------
    node_costs : array-like of shape (n_nodes, n_labels)
        Cost of each label at each node, ``+inf`` if the label is forbidden.
    edges : array-like of int of shape (n_edges, 2)
        Pairs of different nodes, without duplicates.
    edge_costs : array-like of shape (n_edges,)
        Finite factor of the label distance at each edge.
    label_distance : array-like of shape (n_labels, n_labels) or None, default=None
        Finite distances; rows are labels of an edge's first node, columns of its second node. The
        default is Potts: 1 for different labels and 0 for equal ones.
    labels : array-like of int of shape (n_nodes,) or None, default=None
        The initial labeling. By default the label of lowest cost of each node.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        Controls the order of labels. Pass an int for reproducible results.
    n_starts : int, default=2
        Largest number of runs from the initial labeling, each with other orders of the labels; a
        run that finds the minimum is the last one. If two results differ, each connected region of
        differing nodes takes the labels of lower cost there.

    Returns
    -------
    labels : ndarray of shape (n_nodes,), dtype int32
        A labeling with at most the energy of the start.
    value : float
        The energy of the labeling.

    Raises
    ------
    ValueError
        If an edge is out of range, a self-loop or a duplicate, a label is out of range, a cost is
        NaN or infinite (except ``+inf`` in `node_costs`), all labels of a node or its label in
        `labels` are forbidden, shapes are inconsistent, or `n_starts` is less than 1.

    Notes
    -----
    For edge costs >= 0 and a metric distance, each move is a minimum cut. The moves end at a local
    minimum, whose energy is at most D + 2 c S, where D and S are the node and the edge part of the
    minimum energy and c is the ratio of the largest to the smallest distance between different
    labels. It is the minimum energy if there are two labels, one label, or no edges.

    For any other signs and distances, moves are found by roof duality, which may determine only a
    part of the nodes (fusion moves). They alternate with moves in which the nodes of a random
    forest take the best labels given all others. The energy never increases, but there is no bound.

    A cycle over the labels takes n_labels minimum cuts; a few cycles are typical. The GIL is
    released. The order of the labels changes the energy by some tenths of a percent; a second start
    lowers it by about as much.

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
    weights = np.ascontiguousarray(real_array(edge_costs, "edge_costs"))
    if weights.shape != (len(pairs),):
        raise ValueError(
            f"edge_costs must have shape {(len(pairs),)}, one entry for each edge; "
            f"found {weights.shape}"
        )
    check_finite(weights, "edge_costs")
    distance = None
    if label_distance is not None:
        distance = np.ascontiguousarray(real_array(label_distance, "label_distance"))
        if distance.shape != (K, K) or not np.isfinite(distance).all():
            raise ValueError(
                f"label_distance must be finite and have shape {(K, K)} like the labels of "
                f"node_costs; found shape {distance.shape}"
            )
        distance = distance[np.newaxis]
    start = node.argmin(axis=1) if labels is None else array_of(labels, "labels")
    if start.shape != (V,) or start.dtype.kind not in "iu":
        raise ValueError(
            f"labels must be integers of shape {(V,)}; found dtype {start.dtype} "
            f"and shape {start.shape}"
        )
    if ((start < 0) | (start >= K)).any():
        v = int(((start < 0) | (start >= K)).argmax())
        raise ValueError(f"labels[{v}] = {start[v]} is out of range for {K} labels")
    is_wrong = node[np.arange(V), start] == np.inf
    if is_wrong.any():
        v = int(is_wrong.argmax())
        raise ValueError(
            f"labels[{v}] = {start[v]} is forbidden: node_costs[{v}, {start[v]}] is inf; "
            "pass a label of finite cost"
        )
    if not is_integer(n_starts) or n_starts < 1:
        raise ValueError(f"n_starts must be an integer >= 1, found {shortened(n_starts)}")
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31)
    seeds = generator_of(random_state).integers(2**63, size=n_starts)
    is_forbidden = node == np.inf
    node = with_finite_costs(
        node, pairs, np.abs(weights) * (1.0 if distance is None else np.ptp(distance))
    )
    best = None
    for seed in seeds.tolist():
        found, value, _, exact = GraphDecoder("expansion", seed).decode_arrays(
            node, pairs, weights[:, np.newaxis], distance, start
        )
        if best is None or exact:
            best = found
        else:
            best = _cheaper_regions(best, found, node, pairs, weights, distance)
            value = _energy(best, node, pairs, weights, distance)
        if exact:
            break
    # Decoding the neighbors of a hub given each of its labels may end at a forbidden label; another
    # label of the hub then has lower energy.
    for v in np.flatnonzero(is_forbidden[np.arange(V), best]):
        others = [_energy(_replaced(best, v, k), node, pairs, weights, distance) for k in range(K)]
        best = _replaced(best, v, int(np.argmin(others)))
        value = min(others)
    return best, value


def _replaced(labels, v, label):
    """Return a copy of labels with another label at node v."""
    labels = labels.copy()
    labels[v] = label
    return labels


def _energy(labels, node, pairs, weights, distance):
    """Return the energy of a labeling."""
    edge_part = _edge_part(labels, pairs, weights, distance)
    return float(node[np.arange(len(node)), labels].sum() + edge_part.sum())


def _edge_part(labels, pairs, weights, distance):
    """Return the cost of each edge."""
    u, v = labels[pairs.T]
    return weights * ((u != v) if distance is None else distance[0, u, v])


def _cheaper_regions(one, other, node, pairs, weights, distance):
    """Take the labels of lower cost in each connected region of nodes where two labelings differ.

    No edge joins two regions, so the choice in one does not change the cost of another.
    """
    V = len(one)
    differ = one != other
    inside = pairs[differ[pairs].all(axis=1)]
    graph = coo_array((np.ones(len(inside)), inside.T), shape=(V, V))
    n_regions, region = connected_components(graph, directed=False)
    rows = np.arange(V)
    gain = np.bincount(region, node[rows, other] - node[rows, one], n_regions)
    end = np.where(differ[pairs[:, 0]], pairs[:, 0], pairs[:, 1])
    change = _edge_part(other, pairs, weights, distance) - _edge_part(one, pairs, weights, distance)
    gain += np.bincount(region[end], change, n_regions)
    return np.where(gain[region] < 0, other, one)
