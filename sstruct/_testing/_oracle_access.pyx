# Design:
# (a) Oracles as functions of arrays: functions that production calls only from compiled code, made
#     available to tests and benchmarks. Each takes the workspace, so that tests can reuse it.
# (b) Shapes are validated, since wrong ones would write out of bounds; indices are validated if tests
#     need it.
"""Python access to compiled oracles."""

from libc.math cimport INFINITY, exp
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from sstruct._oracles.chain._chain_terms cimport ChainTerms, ScoreRows, rows_of
from sstruct._oracles.chain._error_table cimport ErrorTable
from sstruct._oracles.chain._sum_product cimport ChainSums
from sstruct._oracles.core._graph_costs cimport GraphCosts
from sstruct._oracles.core._interval cimport Interval
from sstruct._oracles.cut._binary_energy cimport BinaryEnergy
from sstruct._oracles.cut._maxflow cimport MaxFlow
from sstruct._oracles.graph._partial_optimality cimport PartialOptimality
from sstruct._oracles.label_set._codes cimport relaxed_code_size
from sstruct._oracles.label_set._polygon cimport MixtureAnswer, RelaxedPolygon, mixture_code_size
from sstruct._oracles.label_set._roof_duality cimport RelaxedLabels, load_problem
from sstruct._oracles.label_set._set_decoder cimport LabelAnswer, LabelDecoder, LabelLoss
from sstruct._oracles.mrf._packed_mrf cimport PackedMRF
from sstruct._oracles.mrf._sum_constraint cimport SumConstraint
from sstruct._oracles.tree._subtree_error_table cimport TreeErrorTable

import numpy as np

from sstruct._checks.arrays import concatenated_rows
from sstruct._oracles.tree._max_sum import _edge_scores, parents_first


def checked_scores(LabelDecoder decoder not None, theta, pair):
    """Return scores of labels (K,) and of the decoder's edges (E,), or raise ValueError."""
    theta = np.ascontiguousarray(theta, dtype=np.float64)
    pair = np.ascontiguousarray(pair, dtype=np.float64)
    if theta.shape != (decoder.n_labels,) or pair.shape != (decoder.n_edges,):
        raise ValueError(
            f"scores have shapes {theta.shape} and {pair.shape}, expected {decoder.n_labels} labels and "
            f"{decoder.n_edges} edges")
    return theta, pair if decoder.n_edges else np.zeros(1)


def set_score(LabelDecoder decoder not None, theta, pair, code):
    """Return the score of a code."""
    cdef const double[::1] node, of_edge
    node, of_edge = checked_scores(decoder, theta, pair)
    cdef const int32_t[::1] labels = code
    decoder.check_code(labels)
    return decoder.score(&node[0], &of_edge[0], &labels[0])


def best_set(LabelDecoder decoder not None, theta, pair):
    """Return (code, work, exact) of the label set with the highest score."""
    cdef const double[::1] node, of_edge
    node, of_edge = checked_scores(decoder, theta, pair)
    cdef int32_t[::1] code = np.empty(decoder.code_size, dtype=np.int32)
    cdef LabelAnswer answer
    with nogil:
        decoder.maximize(&node[0], &of_edge[0], &code[0], &answer)
    return np.asarray(code), answer.work, bool(answer.exact)


def set_marginals(LabelDecoder decoder not None, theta, pair):
    """Return, for each label, the best score with the label minus that without it, (K,)."""
    cdef const double[::1] node, of_edge
    node, of_edge = checked_scores(decoder, theta, pair)
    cdef double[::1] out = np.empty(decoder.n_labels)
    with nogil:
        decoder.marginals(&node[0], &of_edge[0], &out[0])
    return np.asarray(out)


cdef int set_loss(
        LabelDecoder decoder, const int32_t[::1] truth, const double[:, ::1] loss,
        LabelLoss* out) except -1:
    """Set the true code and the costs (2, K) of labels off and on, which are 0 for the truth."""
    values = np.asarray(loss)
    decoder.check_code(truth)
    true = np.asarray(truth)[:decoder.n_labels] // 2
    if values.shape != (2, decoder.n_labels) or (values < 0).any() or (
            values[true, np.arange(decoder.n_labels)].any()):
        raise ValueError(f"the loss must be (2, {decoder.n_labels}), 0 for the true value")
    most = values.max(axis=0)
    out.truth, out.off, out.on, out.unit = &truth[0], &loss[0, 0], &loss[1, 0], 0
    if (most == most[0]).all():
        out.unit = most[0]
    return 0


def best_product(
        LabelDecoder decoder not None, theta, pair, const int32_t[::1] truth,
        const double[:, ::1] loss, double offset):
    """Return the code with the largest product of loss and margin.

    truth : the true code
    loss : (2, K), cost of each label off and on
    """
    cdef const double[::1] node, of_edge
    cdef LabelLoss costs
    cdef LabelAnswer answer
    node, of_edge = checked_scores(decoder, theta, pair)
    set_loss(decoder, truth, loss, &costs)
    if not decoder.has_product or (decoder.counts_errors and costs.unit == 0):
        raise ValueError("this decoder and loss do not support the direct maximum of the product")
    cdef int32_t[::1] code = np.empty(decoder.code_size, dtype=np.int32)
    with nogil:
        decoder.maximize_product(&node[0], &of_edge[0], &costs, offset, &code[0], &answer)
    return np.asarray(code)


def best_between(
        LabelDecoder decoder not None, theta, pair, const int32_t[::1] truth,
        const double[:, ::1] loss, double offset, double loss_weight, double lower, double upper,
        bint above=False, bint below=False):
    """Return the code with the highest score in an interval, or None if there is none.

    truth, loss : as for `best_product`
    """
    cdef const double[::1] node, of_edge
    cdef LabelLoss costs
    cdef LabelAnswer answer
    cdef Interval interval
    node, of_edge = checked_scores(decoder, theta, pair)
    set_loss(decoder, truth, loss, &costs)
    interval.lower, interval.upper = lower, upper
    interval.above, interval.below = above, below
    if not decoder.has_between:
        raise ValueError("this decoder does not support the constrained maximum")
    cdef int32_t[::1] code = np.empty(decoder.code_size, dtype=np.int32)
    with nogil:
        decoder.maximize_between(
            &node[0], &of_edge[0], &costs, offset, loss_weight, &interval, &code[0], &answer)
    return np.asarray(code) if answer.found else None


def relaxed_maximum(RelaxedLabels relaxed not None, node_scores, edges, edge_scores):
    """Solve a problem with scores (K,) and (E,) or (E, 4); return (code, value, work)."""
    cdef double value = 0, work = 0
    load_problem(relaxed, node_scores, edges, edge_scores)
    cdef int32_t[::1] code = np.empty(
        relaxed_code_size(relaxed.n_labels, relaxed.n_edges), dtype=np.int32)
    if len(code):
        with nogil:
            relaxed.maximize(&code[0], &value, &work)
    return np.asarray(code), value, work


def relaxed_value(RelaxedLabels relaxed not None, code):
    """Return the score of a code of the problem solved last."""
    cdef const int32_t[::1] entries = code
    if entries.shape[0] != relaxed_code_size(relaxed.n_labels, relaxed.n_edges):
        raise ValueError("the code does not belong to this graph")
    return relaxed.value(&entries[0])


def search_polygon(
        RelaxedPolygon polygon not None, node_scores, edges, edge_scores, truth, weights, margin,
        angle=None):
    """Maximize the product of a problem, or search `angle` = (loss_weight, lower, upper); scores as for
    `relaxed_maximum`. Returns (code, h, g, exact, bound, work), or None if no point lies in the
    angle."""
    cdef const int32_t[::1] labels = truth
    cdef const double[::1] costs = weights
    cdef const double[::1] node = node_scores
    cdef const double[::1] edge = np.ascontiguousarray(edge_scores).reshape(-1)
    cdef bint tables = edge_scores.ndim == 2
    cdef double width = margin
    cdef MixtureAnswer answer
    load_problem(polygon.relaxed, node_scores, edges, edge_scores)     # validates shapes
    cdef Py_ssize_t K = polygon.relaxed.n_labels, E = polygon.relaxed.n_edges
    cdef const int32_t[:, ::1] pairs = edges
    if K == 0 or labels.shape[0] != K or costs.shape[0] != K or not margin > 0:
        raise ValueError("truth and weights must have one entry per label, and margin must be positive")
    cdef int32_t[::1] code = np.empty(mixture_code_size(K, E), dtype=np.int32)
    polygon.set_graph(K, E, &pairs[0, 0] if E else NULL)
    polygon.load(&node[0], &edge[0] if E else NULL, tables, &labels[0], &costs[0], width)
    if angle is None:
        polygon.product(&code[0], &answer)
    else:
        polygon.between(angle[0], angle[1], angle[2], &code[0], &answer)
    if not answer.found:
        return None
    return np.asarray(code), answer.h, answer.g, bool(answer.exact), answer.bound, answer.work


def solve_flow(MaxFlow cut not None, n_nodes, edges, terminal, capacity, grid=None):
    """Solve a problem; return (flow, sides, work). `grid` = (height, width, connectivity) replaces
    the edges."""
    cdef const int32_t[:, ::1] edge_view
    cdef const double[::1] terminals = terminal
    cdef const double[:, ::1] capacities = capacity
    cdef Py_ssize_t n = n_nodes, E = capacities.shape[0], height, width, v, e
    cdef int connectivity
    cdef double flow, work = 0
    if grid is None:
        edge_view = edges
        if edge_view.shape[0] != E or edge_view.shape[1] != 2:
            raise ValueError("edges and capacities must have the same length")
        with nogil:
            cut.set_graph(n, E, &edge_view[0, 0] if E else NULL)
    else:
        height, width, connectivity = grid
        cut.set_grid(height, width, connectivity)
    if (cut.n_nodes != n or cut.n_edges != E or terminals.shape[0] != n
            or capacities.shape[1] != 2):
        raise ValueError("the shapes of terminals or capacities do not match the graph")
    cdef int32_t[::1] side = np.empty(n, dtype=np.int32)
    with nogil:
        for v in range(n):
            cut.terminal[v] = terminals[v]
        for e in range(E):
            cut.capacity[2 * e] = capacities[e, 0]
            cut.capacity[2 * e + 1] = capacities[e, 1]
        cut.solve(&flow, &work)
        if n:
            cut.sides(&side[0])
    return flow, np.asarray(side), work


def solve_flow_again(MaxFlow cut not None, change):
    """Continue the problem of `solve_flow` after adding `change` (n,) to terminals; return the sides."""
    cdef const double[::1] changes = change
    cdef Py_ssize_t v
    cdef double work = 0
    if changes.shape[0] != cut.n_nodes or cut.n_nodes == 0:
        raise ValueError("the shape of change does not match the graph")
    cdef int32_t[::1] side = np.empty(cut.n_nodes, dtype=np.int32)
    for v in range(cut.n_nodes):
        cut.terminal[v] = changes[v]
    cut.solve_again(&work)
    cut.sides(&side[0])
    return np.asarray(side)


cdef int set_energy_grid(
        BinaryEnergy energy, Py_ssize_t height, Py_ssize_t width, int connectivity) except -1:
    """Set a grid, whose edges have the order of `MaxFlow.set_grid`."""
    cdef Py_ssize_t d, r, c, e = 0
    cdef Py_ssize_t[4] offset
    offset[0], offset[1], offset[2], offset[3] = 1, width, width + 1, width - 1
    energy.cut.set_grid(height, width, connectivity)
    energy.reserve(energy.cut.n_nodes, energy.cut.n_edges)
    for d in range(connectivity // 2):
        for r in range(height if d == 0 else height - 1):
            for c in range(1 if d == 3 else 0, width - 1 if d == 0 or d == 2 else width):
                energy.edges[2 * e] = <int32_t> (r * width + c)
                energy.edges[2 * e + 1] = <int32_t> (r * width + c + offset[d])
                e += 1
    return 0


def minimize_energy(
        BinaryEnergy energy not None, node_costs, edges, edge_costs, roof_duality=False, grid=None):
    """Solve a problem with costs (V, 2) and (E, 4); return (labels, value, work). The value is the bound
    of roof duality. `grid` = (height, width, connectivity) replaces the edges."""
    cdef const double[:, ::1] node = node_costs, edge = edge_costs
    cdef const int32_t[:, ::1] pairs
    cdef Py_ssize_t V = node.shape[0], E = edge.shape[0], height, width
    cdef int connectivity
    cdef bint partial = roof_duality
    cdef double value = 0, work = 0
    if grid is None:
        pairs = edges
        if pairs.shape[0] != E or pairs.shape[1] != 2:
            raise ValueError("edges and edge_costs must have the same length")
        with nogil:
            energy.set_graph(V, E, &pairs[0, 0] if E else NULL)
    else:
        height, width, connectivity = grid
        set_energy_grid(energy, height, width, connectivity)
    if energy.n_nodes != V or energy.n_edges != E or node.shape[1] != 2 or edge.shape[1] != 4:
        raise ValueError("the shapes of costs do not match the graph")
    labels = np.empty(V, dtype=np.int32)
    if V == 0:
        return labels, 0.0, 0.0
    cdef int32_t[::1] out = labels
    with nogil:
        memcpy(energy.node, &node[0, 0], 2 * V * sizeof(double))
        if E:
            memcpy(energy.edge, &edge[0, 0], 4 * E * sizeof(double))
        if partial:
            energy.roof_duality(&out[0], &value, &work)
        else:
            energy.minimize(&out[0], &work)
            value = energy.value(&out[0])
    return labels, value, work


def decided_labels(PartialOptimality partial not None, node_costs, edges, edge_weights):
    """Decide arrays (V, K), (E, 2), (E,) >= 0; return labels, -1 if unknown, and the remaining problem
    (node costs, edges, edge weights). Indices are not validated."""
    cdef const double[:, ::1] node = node_costs
    cdef const int32_t[:, ::1] pairs = edges
    cdef const double[::1] weights = edge_weights
    cdef GraphCosts costs
    cdef double work = 0
    cdef Py_ssize_t v, n, E
    cdef int32_t[::1] labels = np.empty(node.shape[0], dtype=np.int32)
    costs.n_nodes, costs.n_labels, costs.stride = node.shape[0], node.shape[1], node.shape[1]
    costs.n_edges, costs.n_features = pairs.shape[0], 1
    costs.node_costs, costs.tables = &node[0, 0], NULL
    costs.edges = &pairs[0, 0] if costs.n_edges else NULL
    costs.edge_weights = &weights[0] if costs.n_edges else NULL
    costs.height = costs.width = 0
    costs.connectivity = 0
    with nogil:
        partial.decide(&costs, &work)
        partial.reduce(&costs)
        for v in range(costs.n_nodes):
            labels[v] = partial.known[v]
    n, E = partial.rest.n_nodes, partial.rest.n_edges
    rest = (
        np.array(<double[:n, :node.shape[1]]> partial.node_costs) if n else node_costs[:0],
        np.array(<int32_t[:E, :2]> partial.edges) if E else edges[:0],
        np.array(<double[:E]> partial.edge_weights) if E else edge_weights[:0],
    )
    return np.asarray(labels), rest


def labels_of_sum(SumConstraint solver not None, const double[:, ::1] costs, Py_ssize_t total):
    """Return the labels (n,) int32 of least cost whose sum is `total`."""
    cdef Py_ssize_t n = costs.shape[0], K = costs.shape[1]
    if not (1 <= n <= solver.max_places and 1 <= K <= solver.max_labels):
        raise ValueError(f"found {n} positions with {K} labels, more than the scratch memory holds")
    if not 0 <= total <= n * (K - 1):
        raise ValueError(f"total is {total}, expected 0 to {n * (K - 1)}")
    cdef int32_t[::1] found = np.empty(n, dtype=np.int32)
    with nogil:
        solver.minimize(&costs[0, 0], n, K, total, &found[0])
    return np.asarray(found)


def message(PackedMRF packed not None, Py_ssize_t e, Py_ssize_t v, const double[::1] source):
    """Return the message from v along edge e, as an array."""
    other = int(packed.model.edges[e].sum()) - v
    if v not in packed.model.edges[e] or source.shape[0] != packed.costs.n_labels[v]:
        raise ValueError("v must be an end of edge e, and source must have an entry per label of v")
    cdef double[::1] values = np.empty(packed.costs.n_labels[other])
    packed.send(e, v, &source[0], &values[0])
    return np.asarray(values)


cdef double[:, ::1] potentials(ChainTerms terms, scores):
    """Return the padded scores of the nodes of a chain."""
    terms.check(scores, "node_scores")
    cdef ScoreRows rows = rows_of(scores)
    cdef double[:, ::1] theta = np.empty((rows.n_rows, terms.KP))
    terms.load(&rows, 0, rows.n_rows, &theta[0, 0], "node_scores")
    return theta


def chain_sums(node_scores, edge_scores, scale=1.0):
    """Compute log Z and all marginals of one chain.

    Parameters
    ----------
    node_scores, edge_scores : ndarrays of float64, as in ``viterbi``
    scale : float
        Factor of all scores, the inverse temperature.

    Returns
    -------
    log_partition : float
        -inf if every labeling is forbidden; the other results are then None.
    marginals : ndarray of shape (n_positions, n_labels)
    pairs : ndarray of shape (n_positions - 1, n_labels, n_labels)
    """
    cdef ChainTerms terms = ChainTerms(edge_scores)
    cdef double[:, ::1] theta = potentials(terms, node_scores)
    cdef Py_ssize_t L = theta.shape[0], KP = terms.KP, K = terms.n_labels, l, j, k
    cdef ChainSums sums = ChainSums()
    cdef double total, value = sums.log_partition(
        &theta[0, 0], L, K, KP, terms.edge, terms.edge_step, scale)
    if value == -INFINITY:
        return value, None, None
    marginals, pairs = np.empty((L, KP)), np.empty((L - 1, K, K))
    cdef double[:, ::1] out = marginals
    cdef double[:, :, ::1] both = pairs
    sums.backward()
    sums.marginals(&out[0, 0])
    for l in range(1, L):
        total = sums.log_total(l) + sums.log_factor(l)
        for j in range(K):
            for k in range(K):
                both[l - 1, j, k] = exp(
                    sums.log_share(l - 1, j) + sums.edge_score(l, j, k)
                    + sums.scale * theta[l, k] + sums.log_rest(l, k) - total)
    return value, marginals[:, :K].copy(), pairs


def error_table(node_scores, edge_scores, errors):
    """Find the best labeling of a chain for every number of errors.

    Parameters
    ----------
    node_scores, edge_scores : as in `chain_sums`
    errors : array-like of int of shape (n_positions, n_labels)
        Contribution of each label to the count; nonnegative.

    Returns
    -------
    scores : ndarray of shape (most + 1,)
        Best score for each count, up to the largest possible one; ``-inf`` if no allowed labeling has
        this count.
    labels : ndarray of shape (most + 1, n_positions), dtype int32
        The corresponding labeling, filled with -1 if no labeling was found.
    """
    cdef ChainTerms terms = ChainTerms(edge_scores)
    cdef double[:, ::1] theta = potentials(terms, node_scores)
    cdef Py_ssize_t L = theta.shape[0], K = terms.n_labels, KP = terms.KP, d
    given = np.asarray(errors)
    if given.shape != (L, K) or given.dtype.kind not in "iu" or (given < 0).any():
        raise ValueError(f"errors must be nonnegative integers of shape {(L, K)}")
    cdef Py_ssize_t most = int(given.max(axis=1).sum())
    cdef int32_t[:, ::1] counts = np.zeros((L, KP), dtype=np.int32)
    np.asarray(counts)[:, :K] = given
    cdef int32_t[::1] row = np.arange(L, dtype=np.int32)
    scores, labels = np.empty(most + 1), np.full((most + 1, L), -1, dtype=np.int32)
    cdef int32_t[:, ::1] out = labels
    cdef ErrorTable table = ErrorTable()
    with nogil:
        table.fill(
            &theta[0, 0], L, K, KP, terms.edge, terms.edge_step, &counts[0, 0], &row[0], most)
        for d in range(most + 1):
            if table.best[d] > -INFINITY:
                table.labels(d, &out[d, 0])
    scores[:] = <double[:most + 1]> table.best
    return scores, labels


def tree_error_table(node_scores, parents, edge_scores, truth):
    """Find the best labeling of a tree or forest for every number of errors.

    Parameters
    ----------
    node_scores, parents, edge_scores : as in ``tree_max_sum``
    truth : array-like of int of shape (V,)
        The correct label of each node.

    Returns
    -------
    scores : ndarray of shape (V + 1,)
        Best score for each number of errors, ``-inf`` if no allowed labeling has it.
    labels : ndarray of shape (V + 1, V), dtype int32
        The corresponding labeling, filled with -1 if no labeling was found.
    """
    node, begin = concatenated_rows(node_scores, "node_scores")
    parent_of, nodes = parents_first(parents)
    cdef Py_ssize_t n = len(begin) - 1, d
    sizes = np.diff(begin)
    right = np.asarray(truth)
    if len(parent_of) != n or right.shape != (n,) or (right < 0).any() or (right >= sizes).any():
        raise ValueError(f"expected a parent and a true label for each of {n} nodes")
    all_tables, begins = _edge_scores(edge_scores, parent_of, sizes)
    n_origins = np.where(parent_of >= 0, sizes[parent_of], 0)
    cdef const int64_t[::1] start = begin
    cdef const int64_t[::1] table_at = begins
    cdef const int64_t[::1] origin_at = np.cumsum(n_origins) - n_origins
    cdef const int32_t[::1] parent = parent_of
    cdef const int32_t[::1] order = nodes
    cdef const int32_t[::1] true_label = right.astype(np.int32)
    cdef const double[::1] theta = node
    cdef const double[::1] tables = all_tables
    scores, out = np.empty(n + 1), np.full((n + 1, n), -1, dtype=np.int32)
    cdef int32_t[:, ::1] labels = out
    cdef TreeErrorTable table = TreeErrorTable()
    with nogil:
        table.fill(
            n, &order[0], &parent[0], &start[0], &origin_at[0], &theta[0], &tables[0], &table_at[0],
            &true_label[0])
        for d in range(n + 1):
            if table.best[d] > -INFINITY:
                table.labels(d, &labels[d, 0])
    scores[:] = <double[:n + 1]> table.best
    return scores, out
