# Design:
# (a) Max-sum on rooted forests whose nodes may have different labels: messages are passed up in the
#     reverse of an order with parents first, then labels are determined from the roots down.
# (b) A node's scores become its belief: the best score of the tree below it, by label. The caller of
#     `tree_labels` computes the messages of edges: from a table here, or by a distance transform for
#     parts on a grid (TreeProblem).
# (c) Flat arrays: node v has the entries start[v] ... start[v + 1] - 1. `tree_labels` ignores nodes
#     without labels, which get label -1; `tree_max_sum_labels` requires labels at all nodes. Labels of score
#     -inf are forbidden.
"""Max-sum on trees and forests."""

from libc.stdint cimport int32_t, int64_t

import numpy as np

from sstruct._kernels._interruption cimport poll_signals
from sstruct._checks.arrays import (
    array_of, concatenated, concatenated_rows, is_sized, real_array, without_view)
from sstruct._checks.shown import shortened


cdef Py_ssize_t best_sum(
        const double* a, const double* b, Py_ssize_t n, double* value) noexcept nogil:
    """Return the lowest argmax of a + b; value = max(a + b)."""
    cdef Py_ssize_t k, best = 0
    cdef double highest = a[0] + b[0]
    for k in range(1, n):
        if a[k] + b[k] > highest:
            highest = a[k] + b[k]
            best = k
    value[0] = highest
    return best


cdef double tree_labels(
        Py_ssize_t n_nodes, const int32_t* order, const int32_t* parents, const int64_t* start,
        const double* belief, const int32_t* origin, const int64_t* origin_at,
        int32_t* labels) noexcept nogil:
    """Determine the best labels from the roots down; return their score.

    origin[origin_at[v] + j]: best label of v if its parent has label j.
    """
    cdef Py_ssize_t k, v, s, best
    cdef double value = 0
    for k in range(n_nodes):
        v = order[k]
        if start[v + 1] == start[v]:
            labels[v] = -1
        elif parents[v] >= 0:
            labels[v] = origin[origin_at[v] + labels[parents[v]]]
        else:
            best = start[v]
            for s in range(start[v] + 1, start[v + 1]):
                if belief[s] > belief[best]:
                    best = s
            labels[v] = <int32_t> (best - start[v])
            value += belief[best]
    return value


cdef double tree_max_sum_labels(
        Py_ssize_t n_nodes, const int32_t* order, const int32_t* parents, const int64_t* start,
        const double* tables, const int64_t* table_at, double* belief, int32_t* origin,
        const int64_t* origin_at, int32_t* labels) except? -1 nogil:
    """Maximize sum_v belief[v, y_v] + sum_v table_v[y_parent, y_v]; return the maximum.

    order : n_nodes, parents first    parents : n_nodes, -1 at a root    Each node has a label.
    tables + table_at[v] : labels of the parent x labels of v    IN
    belief : node scores IN, best scores of the trees below OUT    origin, labels    OUT
    O(sum over edges of the product of the numbers of labels).
    """
    cdef Py_ssize_t k, v, p, j, n
    cdef double value
    cdef const double* table
    for k in range(n_nodes - 1, -1, -1):
        v = order[k]
        p = parents[v]
        if p < 0:
            continue
        n = start[v + 1] - start[v]
        table = tables + table_at[v]
        for j in range(start[p + 1] - start[p]):
            origin[origin_at[v] + j] = <int32_t> best_sum(
                belief + start[v], table + j * n, n, &value)
            belief[start[p] + j] += value
            poll_signals(<double> n)
    return tree_labels(n_nodes, order, parents, start, belief, origin, origin_at, labels)


def depth_by_depth(parents):
    """Return the list of the nodes connected to a root, in breadth-first order.

    parents : (n_nodes,), -1 at a root, in range
    """
    children, order = [], []
    for _ in range(len(parents)):
        children.append([])
        poll_signals(100)
    for v, p in enumerate(parents.tolist()):
        (children[p] if p >= 0 else order).append(v)
        poll_signals(100)
    for v in order:
        order += children[v]
        poll_signals(100)
    return order


def parents_first(parents):
    """Sort the nodes of a forest such that parents come before their children.

    Parameters
    ----------
    parents : array-like of int of shape (n_nodes,)
        Parent of each node, -1 at a root.

    Returns
    -------
    parents, order : ndarray of shape (n_nodes,), dtype int32
        The validated parents, and the nodes in an order in which parents precede their children.

    Raises
    ------
    ValueError
        If `parents` is not an array of integers, empty, out of range, or has a cycle.
    """
    array = array_of(parents, "parents")
    if array.ndim != 1 or len(array) == 0 or array.dtype.kind not in "iu":
        raise ValueError(
            "parents must be a nonempty 1-D array of integers, with -1 at a root; found "
            f"{shortened(parents)}")
    n = len(array)
    wrong = np.flatnonzero((array < -1) | (array >= n))
    if len(wrong):
        raise ValueError(
            f"parents[{wrong[0]}] is {array[wrong[0]]}, expected -1 or a node, 0 to {n - 1}")
    array = np.ascontiguousarray(array, dtype=np.int32)
    order = depth_by_depth(array)
    if len(order) < n:
        cyclic = sorted(set(range(n)) - set(order))
        raise ValueError(f"parents has a cycle: {shortened(cyclic)} are not connected to a root (-1)")
    return array, np.array(order, dtype=np.int32)


def _edge_scores(edge_scores, parents, sizes):
    """Return the concatenated tables, and the start of each node's table."""
    n = len(parents)
    edge_scores = without_view(edge_scores)
    if not is_sized(edge_scores):
        raise ValueError(f"edge_scores must be an array or a list of tables, "
                         f"found {shortened(edge_scores)}")
    given = list(edge_scores)
    if given and array_of(given[0], "edge_scores[0]").ndim == 1:   # the rows of one table
        given = [real_array(edge_scores, "edge_scores")] * n
    if len(given) != n:
        raise ValueError(f"edge_scores has {len(given)} tables, expected {n}, one for each node")
    tables, at, begins, size = [], np.zeros(n, dtype=np.int64), {}, 0
    for v in range(n):
        if parents[v] < 0:
            continue
        if id(given[v]) not in begins:
            begins[id(given[v])] = size
            table = real_array(given[v], f"edge_scores of node {v}")
            tables.append(table.ravel())
            size += table.size
        expected = (int(sizes[parents[v]]), int(sizes[v]))
        if np.shape(given[v]) != expected:
            raise ValueError(
                f"edge_scores of node {v} must have shape {expected}, the labels of the parent and "
                f"of the node; found {np.shape(given[v])}")
        at[v] = begins[id(given[v])]
    return concatenated(tables, "edge_scores") if tables else np.zeros(1), at


def tree_max_sum(node_scores, parents, edge_scores):
    """Find the highest-scoring labeling of a tree or forest.

    Maximizes ``sum_v node_scores[v][y_v] + sum_v edge_scores[v][y_parent, y_v]``, where the second
    sum is over nodes with a parent.

    Parameters
    ----------
    node_scores : list of V array-likes of shape (S_v,), or array-like of shape (V, K)
        Score of each label of each node; ``-inf`` forbids a label.
    parents : array-like of int of shape (V,)
        Parent of each node, -1 at a root; a forest has several roots.
    edge_scores : array-like of shape (K, K) or (V, K, K), or list of V (S_parent, S_v) arrays
        Score of each pair of labels, with rows for the parent and columns for the node: a single
        table for all edges, or one for the edge from each node to its parent. Entries of roots are
        ignored and may be None. ``-inf`` forbids a pair.

    Returns
    -------
    labels : ndarray of shape (V,), dtype int32
        The best labeling. Ties are resolved by the lowest label of each root, and then the lowest
        label of each other node given that of its parent.
    value : float
        The score of the labeling; ``-inf`` if every labeling is forbidden.

    Raises
    ------
    ValueError
        If shapes are inconsistent, a score is NaN or ``+inf``, or `parents` is out of range or has a
        cycle.

    Notes
    -----
    The time is O(sum over edges of S_parent S_v). :class:`sstruct.TreeSSVM` uses the same exact method
    for training and prediction; for score maps, :func:`distance_transform` replaces the tables.

    References
    ----------
    P. F. Felzenszwalb, D. P. Huttenlocher. Pictorial structures for object recognition. IJCV 61,
    2005.

    Examples
    --------
    A star: node 0 is the parent of nodes 1 and 2, which have different numbers of labels.

    >>> from sstruct.inference import tree_max_sum
    >>> labels, value = tree_max_sum(
    ...     [[0.0, 1.0], [2.0, 0.0, 0.0], [1.0, 0.0]], [-1, 0, 0],
    ...     [None, [[0.0, 0.0, 3.0], [0.0, 0.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]])
    >>> labels, value
    (array([0, 2, 0], dtype=int32), 5.0)
    """
    scores, begin = concatenated_rows(node_scores, "node_scores")
    parent_of, nodes = parents_first(parents)
    cdef Py_ssize_t n = len(begin) - 1
    if len(parent_of) != n:
        raise ValueError(f"parents has {len(parent_of)} entries, but there are {n} nodes")
    sizes = np.diff(begin)
    all_tables, begins = _edge_scores(edge_scores, parent_of, sizes)
    for name, values in (("node_scores", scores), ("edge_scores", all_tables)):
        if np.isnan(values).any() or np.isposinf(values).any():
            raise ValueError(f"{name} must not contain NaN or +inf (-inf forbids a label or pair)")
    # One origin for each label of the parent of each node.
    n_origins = np.where(parent_of >= 0, sizes[parent_of], 0)
    labels = np.empty(n, dtype=np.int32)
    cdef double[::1] belief = scores
    cdef const int64_t[::1] start = begin
    cdef const int64_t[::1] table_at = begins
    cdef const int64_t[::1] origin_at = np.cumsum(n_origins) - n_origins
    cdef const int32_t[::1] parent = parent_of
    cdef const int32_t[::1] order = nodes
    cdef const double[::1] tables = all_tables
    cdef int32_t[::1] origin = np.empty(max(n_origins.sum(), 1), dtype=np.int32)
    cdef int32_t[::1] out = labels
    cdef double value
    with nogil:
        value = tree_max_sum_labels(
            n, &order[0], &parent[0], &start[0], &tables[0], &table_at[0], &belief[0], &origin[0],
            &origin_at[0], &out[0])
    return labels, value
