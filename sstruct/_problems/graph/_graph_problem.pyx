# Design:
# (a) A block is a graph: V rows of one flat feature array (dense or CSR, float32 or float64) and E
#     edges with ends numbered within the block. phi(x, y) = sum_v x_v (x) e[y_v], a bias per
#     label, and a pairwise model (_pairwise.pyx). A code consists of the V labels.
# (b) Weights have the layout that the kernels need, with labels padded to KP: node F x KP, then bias
#     (KP), then the pairwise part, without padding. `graph_layout` has the positions.
# (c) Scores are maximized here, costs are minimized by the decoder: its costs are minus the potentials.
#     Whatever the decoder returns, the answer is never worse than the truth, and its value is computed
#     here by the same sums as the truth's, so a hinge is never negative.
# (d) A fixed cost f of neighbors with different labels is not a weight. It is part of every score, so
#     L(y) = sum_v c_v cost[truth_v, y_v] - f(y) + f(truth) in planes.
# (e) If labels are known, the caller removes their nodes and passes the contributions of their edges to
#     the neighbors as node scores.
# (f) Max-marginals are computed by cuts or forests if these are exact; otherwise by single changes of the
#     decoder's labeling. All scores are minus costs.
# (g) Blocks may share edges and their features: all images of one size have the same.
# (h) During a fit, expansion moves for Potts costs with more than two labels start from the labeling found
#     by the block's last training call, if it costs less than the cheapest label of each node. Moves for
#     other costs do not, since they find too few improvements of such a start. Training calls stop early, and
#     if they start from such a labeling, they skip the cuts for partial optimality. A labeling found from
#     the truth is not stored, see `maximize`. Certificates use the stored labelings, but do not replace
#     them, and make all moves.
# (i) A block may be a tile of an image. An edge to a pixel of another tile ends at a copy of that pixel,
#     one for each such edge, with a free label and without features and loss. A copy has one neighbor, so
#     that its best label is known for each label of the neighbor, and decoders only see costs of the
#     neighbor. Each edge is in exactly one tile; the sum of the tiles' maxima is therefore an upper bound
#     of the image's.
# (j) Nodes of different types have different numbers of labels: the first of the K labels. Decoders use the
#     same K for all nodes; the other labels get a cost at the node that exceeds any gain at the node and
#     its edges, so no minimum contains them, and a lower bound for all labels is also valid for the
#     allowed ones. Labels that are not allowed but remain after a heuristic are replaced, with a gain.
"""Joint feature map, loss and max-oracle of GraphCRFSSVM and GridCRFSSVM."""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from sstruct._kernels._constants cimport CUT_WORK, VECTOR_WORK
from sstruct._oracles.core._graph_costs cimport GraphAnswer, GraphCosts, edge_cost, labeling_cost
from sstruct._kernels._random cimport Random
from sstruct._oracles.graph._decoder cimport GraphDecoder
from sstruct._oracles.graph._forest cimport Forest
from sstruct._oracles.graph._forest_sums cimport ForestSums
from sstruct._oracles.graph._min_marginals cimport CutMarginals
from sstruct._problems.core._range cimport check_scores
from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems.core._node_labels cimport collect_labels, differ_at, forget_labels
from sstruct._problems.core._node_weights cimport (
    NodeWeights, add_row_of, some_potentials_of, some_work_of)
from sstruct._problems.core._rows cimport (
    FeatureRows, sstruct_padded, sstruct_row_size, sstruct_row_start, sstruct_rows)
from sstruct._problems.core._thread_pool cimport ThreadPool
from sstruct._problems.graph._pairwise cimport PairwiseModel

import numpy as np

from sstruct._problems.core._block_problem import batch_size
from sstruct._problems.core.kept_arrays import kept_array
from sstruct._problems.core._node_arguments import (
    check_labels, check_node_weights, padded, sums_over_blocks)
from sstruct._problems.core.shared_nodes import SharedNodes
from sstruct._problems.graph.graph_arguments import check_label_counts, check_node_scores, graph_layout

cdef extern from "sstruct/_kernels/kernels.h":
    double sstruct_squared_norm(const double* w, int64_t size) noexcept nogil


cdef class LastLabelings:
    """The labeling found by the last training call of each block; shared by forks.

    Only one thread processes a block at a time, so no lock is required.
    """

    cdef int32_t[::1] labels                    # labels of all blocks, concatenated
    cdef const int64_t[::1] first               # (n_blocks,) position of the first label of each block
    cdef unsigned char[::1] is_known            # (n_blocks,)
    cdef bint is_used, is_open

    def begin(self, length):
        """Forget all labelings, and store those of the following calls."""
        self.first = np.cumsum(length) - length
        self.labels = np.zeros(length.sum(), dtype=np.int32)
        self.is_known = np.zeros(len(length), dtype=np.uint8)
        self.is_used = self.is_open = True


cdef class GraphProblem(BlockProblem):
    """Graphs over flat rows.

    Parameters
    ----------
    X : ndarray or canonical CSR of shape (n_rows, n_features), or FeatureRows
        Feature rows of all nodes; contiguous float32 and float64 arrays are not copied.
    graphs : GraphRanges
    pairwise : PairwiseModel
        The pairwise model, with the features of all edges.
    decoder : GraphDecoder
    labels : array-like of shape (n_rows,), dtype int32, or None
        True label of each row; ignored for rows outside of blocks. With None, the problem can only
        decode.
    cost : array-like of shape (K, K), optional
        Node cost, with the truth along rows; zero diagonal, nonnegative. Default: 0 and 1 (Hamming).
    node_weight : array-like of shape (n_rows,), optional
        Factor of each node's cost. Default 1.
    bias : bool
        Whether each label has a bias.
    node_scores : array-like of shape (n_rows, K), optional
        Values added to the scores of each node's labels. For decoding only, as they do not belong to
        weights.
    label_counts : array-like of shape (n_rows,), dtype int32, optional
        Number of labels, the first of the K, that each node may have. Default: all.
    """

    # Data, shared by forks.
    cdef dict arguments
    cdef FeatureRows features
    cdef sstruct_rows rows                      # view of `features`, which owns the arrays
    cdef const int64_t[::1] start, length       # node rows of each block
    cdef const int64_t[::1] n_copies            # number of additional nodes of each block, without rows
    cdef const int64_t[::1] copy_start, copies  # first copy of each block; row of the copied node
    cdef const int64_t[::1] edge_start, n_edges, feature_start
    cdef const int32_t[:, ::1] edges            # ends, numbered within the block
    cdef const int64_t[:, ::1] grids
    cdef const int32_t[::1] labels              # true label of each row
    cdef const double[:, ::1] cost              # K x KP
    cdef const double[::1] node_weight
    cdef const double[:, ::1] node_scores       # (n_rows, K), or one row if there are none
    cdef const int32_t[::1] label_counts        # (n_rows,), or one entry if all nodes have K labels
    cdef readonly Py_ssize_t n_labels, n_features
    cdef readonly bint bias, has_scores, has_counts
    cdef Py_ssize_t KP, bias_at, edge_at
    cdef readonly Py_ssize_t n_copied
    cdef LastLabelings last
    cdef bint has_partial                       # setting of the decoder, unless a call starts from `last`
    # Scratch memory of this object.
    cdef NodeWeights nodes
    cdef readonly PairwiseModel pairwise
    cdef GraphDecoder decoder
    cdef GraphCosts costs                       # costs of the last call of maximize
    cdef GraphCosts own_costs                   # without copies, in the form that is decoded
    cdef bint has_copy_costs                    # whether copies have offsets; see `offset_nodes`
    cdef double[::1] copy_costs                 # (copies of a block, K)
    cdef Py_ssize_t n_offsets
    cdef const int32_t* offset_position
    cdef const double* offsets
    cdef double[::1] node_costs, own_node_costs, label_score, accumulator
    cdef double[::1] max_of_tables, max_of_edges
    cdef int32_t[::1] place, label, other_labels, true_labels
    cdef unsigned char[::1] differs
    cdef CutMarginals cuts
    cdef Forest forest
    cdef ForestSums sums

    def __init__(
            self, X, graphs, pairwise, decoder, labels=None, *, cost=None, node_weight=None,
            bias=True, node_scores=None, label_counts=None):
        cdef FeatureRows features = X if isinstance(X, FeatureRows) else FeatureRows(X)
        cdef Py_ssize_t n_rows = features.n_rows, K = pairwise.n_labels
        graphs = graphs.checked(n_rows, pairwise.n_rows if pairwise.has_features else None)
        if labels is not None:
            labels = check_labels(labels, graphs.start, graphs.length, n_rows, K)
        label_counts = check_label_counts(label_counts, labels, n_rows, K)
        self._set(dict(
            X=features, graphs=graphs, pairwise=pairwise, decoder=decoder, labels=labels,
            cost=padded(1.0 - np.eye(K) if cost is None else cost, (K, K), sstruct_padded(K),
                        "cost"),
            node_weight=check_node_weights(node_weight, n_rows), bias=bias,
            node_scores=check_node_scores(node_scores, n_rows, K), label_counts=label_counts,
            last=LastLabelings()))
        if self.n_copied and (self.has_counts or labels is None):
            raise ValueError("copies are supported only with labels and without label_counts")
        if self.n_copied and not ((labels[graphs.copies] >= 0) & (labels[graphs.copies] < K)).all():
            raise ValueError(f"labels of nodes with copies must be between 0 and {K - 1}")

    def _set(self, arguments):
        """Set validated arguments."""
        cdef FeatureRows features = arguments["X"]
        graphs = arguments["graphs"]
        self.arguments, self.features, self.rows = arguments, features, features.rows
        self.start, self.length = graphs.start, graphs.length
        self.edges, self.edge_start, self.n_edges = graphs.edges, graphs.edge_start, graphs.n_edges
        self.feature_start, self.grids = graphs.feature_start, graphs.grids
        self.n_copies, self.copies = graphs.n_copies, graphs.copies
        self.copy_start = np.cumsum(graphs.n_copies) - graphs.n_copies
        self.pairwise, self.decoder = arguments["pairwise"], arguments["decoder"]
        self.has_labels = arguments["labels"] is not None
        self.labels = arguments["labels"] if self.has_labels else np.zeros(1, dtype=np.int32)
        self.cost, self.node_weight = arguments["cost"], arguments["node_weight"]
        self.has_scores = arguments["node_scores"] is not None
        self.node_scores = arguments["node_scores"] if self.has_scores else np.zeros((1, 1))
        counts = arguments["label_counts"]
        self.has_counts = counts is not None
        self.label_counts = counts if self.has_counts else np.zeros(1, dtype=np.int32)
        self.bias, self.bounded = arguments["bias"], self.decoder.bounded
        self.may_be_hasty = self.decoder.may_be_hasty
        self.last, self.has_partial = arguments["last"], self.decoder.has_partial
        self.n_blocks, self.n_labels = len(graphs.length), self.pairwise.n_labels
        self.n_features, self.KP = features.n_features, sstruct_padded(self.n_labels)
        self.max_code_size = int((graphs.length + graphs.n_copies).max())
        self.n_copied = int(graphs.n_copies.sum())
        self._layout = layout = graph_layout(
            self.pairwise.name, self.n_labels, self.n_features, self.bias, self.pairwise.n_features,
            features.n_scores > 0)
        self.bias_at, self.edge_at = layout.starts["intercept"], layout.starts["edge"]
        self.n_weights = layout.size
        self.pairwise.reserve(graphs.n_edges.max())
        self._set_scratch()
        work = VECTOR_WORK * self.KP * features.n_stored / max(features.n_rows, 1) * (
            graphs.length.mean())
        if graphs.n_edges.any():
            cuts = 1 if self.n_labels == 2 else 2 * self.n_labels
            work += CUT_WORK * cuts * (graphs.length + graphs.n_edges).mean()
        self.oracle_work, self.batch_size = work, batch_size(self.n_blocks, work)

    @property
    def oracle_is_slow(self):
        """Always True, since cuts take longer than estimated if weights are far from the optimum."""
        return True

    def _set_scratch(self):
        self.nodes = NodeWeights(self.features, self.n_labels)
        cdef Py_ssize_t n_nodes = self.max_code_size
        self.node_costs = np.empty(n_nodes * self.KP)
        self.own_node_costs = np.empty(n_nodes * self.KP if self.n_copied else 1)
        self.copy_costs = np.empty(n_nodes * self.n_labels if self.n_copied else 1)
        self.label_score = np.empty(self.KP)
        self.place = np.full(self.KP, -1, dtype=np.int32)
        self.label = np.empty(self.KP, dtype=np.int32)
        self.other_labels, self.true_labels = np.empty((2, n_nodes), dtype=np.int32)
        self.differs = np.empty(n_nodes, dtype=np.uint8)
        self.max_of_tables = np.empty(max(self.pairwise.n_features, 1))
        self.max_of_edges = np.empty(n_nodes if self.has_counts else 1)
        self.accumulator = None
        self.cuts, self.forest, self.sums = CutMarginals(), Forest(), ForestSums()

    cpdef BlockProblem fork(self):
        cdef GraphProblem other = GraphProblem.__new__(GraphProblem)
        self.decoder.has_partial = self.has_partial    # the last call may have changed it
        own = {"decoder": self.decoder.fork(), "pairwise": self.pairwise.fork()}
        other._set({**self.arguments, **own})
        return other

    def begin_fit(self):
        """Forget the labelings found before; store those of expansion moves from now on."""
        self.last.is_open = True
        is_potts = self.pairwise.name not in ("full", "directed")
        if self.has_labels and is_potts and self.n_labels > 2 and self.decoder.method == "expansion":
            self.last.begin(np.asarray(self.length))

    cpdef remember(self, bint kept):
        self.last.is_open = kept

    def set_tolerance(self, tolerance):
        self.decoder.begin_certificate(tolerance)

    def counts(self):
        """Return the counts of the decoder."""
        return self.decoder.counts()

    def memory(self):
        """Return the last labelings and the state that the decoder stores for each graph."""
        kept = self.decoder.memory(self.n_blocks)
        if self.last.is_used:
            kept["last_labels"] = np.array(self.last.labels)
            kept["has_last_labels"] = np.array(self.last.is_known, dtype=np.int32)
        return kept

    def restore_memory(self, kept):
        """Restore the state of `memory` after validating it."""
        cdef Py_ssize_t i, at
        cdef int32_t[::1] labels
        if self.last.is_used:
            labels = kept_array(kept, "last_labels", np.int32, self.last.labels.shape[0])
            known = kept_array(kept, "has_last_labels", np.int32, self.n_blocks, least=0, most=1)
            for i in np.flatnonzero(known):
                at = self.last.first[i]
                self.check_code(i, np.append(
                    labels[at:at + self.length[i]], np.zeros(self.n_copies[i], dtype=np.int32)))
            np.asarray(self.last.labels)[:] = labels
            np.asarray(self.last.is_known)[:] = known
        edges, start = np.asarray(self.edges), np.asarray(self.edge_start)
        n_own = np.asarray(self.n_edges) - np.asarray(self.n_copies)
        self.decoder.restore_memory(kept, [
            (int(self.length[i]), edges[start[i]:start[i] + n_own[i]], self.n_labels)
            for i in range(self.n_blocks)])

    def feature_rows(self):
        """Return the rows of node features."""
        return [(self.features, np.asarray(self.start))]

    def norms(self):
        """Return upper bounds of |phi|, from rows, biases and edge features."""
        n_edges = np.asarray(self.n_edges)
        rows = self.features.norms() + self.bias
        edges = n_edges.astype(np.float64)
        if self.pairwise.has_features:
            features = np.sqrt(np.square(self.pairwise.features).sum(axis=1))
            edges = sums_over_blocks(features, np.asarray(self.feature_start), n_edges)
        return sums_over_blocks(rows, np.asarray(self.start), np.asarray(self.length)) + edges

    def fixed_scores(self):
        """Return the magnitudes of fixed pairwise costs; labels that are all the same have none."""
        strength = self.pairwise.strength if self.n_labels > 1 else 0.0
        return strength * np.asarray(self.n_edges, dtype=np.float64)

    cdef Py_ssize_t code_size(self, Py_ssize_t i) noexcept nogil:
        return self.length[i] + self.n_copies[i]

    cdef int truth(self, Py_ssize_t i, int32_t* code) except -1 nogil:
        self.need_labels()
        memcpy(code, self.true_code_of(i), self.code_size(i) * sizeof(int32_t))
        return 0

    cdef const int32_t* true_code_of(self, Py_ssize_t i) noexcept nogil:
        """Return the true labels of a block's nodes and copies, in scratch memory if it has copies."""
        cdef Py_ssize_t c, n_nodes = self.length[i]
        cdef const int32_t* labels = &self.labels[0] + self.start[i]
        if self.n_copies[i] == 0:
            return labels
        memcpy(&self.true_labels[0], labels, n_nodes * sizeof(int32_t))
        for c in range(self.n_copies[i]):
            self.true_labels[n_nodes + c] = self.labels[self.copies[self.copy_start[i] + c]]
        return &self.true_labels[0]

    cdef void track(self, const double* w) noexcept nogil:
        self.nodes.track(w)

    cdef int potentials(self, Py_ssize_t i, const double* w, double loss_weight) except -1 nogil:
        """Set the costs: minus the scores of labels and of pairs, minus loss_weight times node losses.

        node_costs = -(X @ W + bias + loss_weight * node_weight * cost[truth] + node_scores + offsets);
        also sets own_costs.
        """
        cdef Py_ssize_t v, k, first = self.start[i], n_nodes = self.length[i], KP = self.KP
        cdef const double* loss
        cdef double scale, total = 0
        cdef double* theta = &self.node_costs[0]
        cdef GraphCosts* costs = &self.costs
        self.nodes.potentials(
            first, n_nodes, w, w + self.bias_at if self.bias else NULL, NULL, NULL, 0,
            loss_weight == 0, theta)
        if loss_weight != 0:
            self.need_labels()
            for v in range(n_nodes):
                loss = &self.cost[self.labels[first + v], 0]
                scale = loss_weight * self.node_weight[first + v]
                for k in range(self.n_labels):
                    theta[v * KP + k] += scale * loss[k]
        if self.has_scores:
            for v in range(n_nodes):
                for k in range(self.n_labels):
                    theta[v * KP + k] += self.node_scores[first + v, k]
        self.has_copy_costs = False
        if self.n_offsets > 0:
            total += self.add_offsets(i)
            self.n_offsets = 0
        for k in range(n_nodes * KP):
            total += fabs(theta[k])
            theta[k] = -theta[k]
        for k in range(self.edge_at, self.n_weights):
            total += fabs(w[k])
        check_scores(i, total)
        costs.n_nodes, costs.n_labels, costs.n_edges = n_nodes, self.n_labels, self.n_edges[i]
        costs.stride, costs.node_costs = KP, theta
        costs.edges = &self.edges[0, 0] + 2 * self.edge_start[i]
        costs.height, costs.width = self.grids[i, 0], self.grids[i, 1]
        costs.connectivity = <int> self.grids[i, 2]
        self.pairwise.price(self.feature_start[i], self.n_edges[i], w + self.edge_at, costs)
        if self.has_counts:
            self.forbid_labels(i)
        self.own_costs = costs[0]
        if self.n_copies[i]:
            self.leave_copies_out(i)
        return 0

    cdef double add_offsets(self, Py_ssize_t i) noexcept nogil:
        """Add offsets to the scores of nodes, and subtract those of copies from copy_costs.

        Return the sum of the magnitudes of the offsets of copies.
        """
        cdef Py_ssize_t e, k, v, K = self.n_labels
        cdef double total = 0
        self.has_copy_costs = self.n_copies[i] > 0
        for k in range(self.n_copies[i] * K):
            self.copy_costs[k] = 0
        for e in range(self.n_offsets):
            v = self.offset_position[e]
            for k in range(K):
                if v < self.length[i]:
                    self.node_costs[v * self.KP + k] += self.offsets[e * K + k]
                else:
                    self.copy_costs[(v - self.length[i]) * K + k] -= self.offsets[e * K + k]
                    total += fabs(self.offsets[e * K + k])
        return total

    cdef double copy_cost(self, Py_ssize_t i, Py_ssize_t c, Py_ssize_t b) noexcept nogil:
        """Return the cost of a label of a copy."""
        return self.copy_costs[c * self.n_labels + b] if self.has_copy_costs else 0.0

    cdef double total_cost(self, Py_ssize_t i, const int32_t* y) noexcept nogil:
        """Return the cost of the labels of nodes and copies."""
        cdef Py_ssize_t c
        cdef double cost = labeling_cost(&self.costs, y)
        for c in range(self.n_copies[i] if self.has_copy_costs else 0):
            cost += self.copy_cost(i, c, y[self.costs.n_nodes + c])
        return cost

    cdef int offset_nodes(
            self, Py_ssize_t count, const int32_t* position, const double* offsets) except -1 nogil:
        self.n_offsets, self.offset_position, self.offsets = count, position, offsets
        return 0

    def shared_nodes(self):
        """Return the copies of pixels of other tiles."""
        start, length = np.asarray(self.start), np.asarray(self.length)
        n_copies, first = np.asarray(self.n_copies), np.asarray(self.copy_start)
        row = np.asarray(self.copies)[:self.n_copied]
        block = np.repeat(np.arange(self.n_blocks), n_copies)
        position = length[block] + np.arange(self.n_copied) - first[block]
        order = np.argsort(start, kind="stable")
        owner = order[np.searchsorted(start[order], row, side="right") - 1]
        cost = np.asarray(self.node_weight)[row] * np.max(self.cost)
        usual = cost.mean() if cost.size and cost.mean() > 0 else 1.0
        return SharedNodes(
            np.column_stack([block, owner]), np.column_stack([position, row - start[owner]]),
            np.where(cost > 0, cost, usual))

    cdef void leave_copies_out(self, Py_ssize_t i) noexcept nogil:
        """Add the minimum cost of each copy's edge to the node costs of its neighbor, in own_costs.

        own_costs.node_costs[u, a] += (cost_e(a, :) + copy_cost_c).min() for the edges e from a node u to a
        copy c
        """
        cdef GraphCosts* costs = &self.costs
        cdef Py_ssize_t e, a, b, K = self.n_labels, n_own = costs.n_edges - self.n_copies[i]
        cdef double least
        cdef double* node
        cdef double* own = &self.own_node_costs[0]
        self.own_costs.n_edges = n_own
        for e in range(n_own, costs.n_edges):
            if costs.tables != NULL or costs.edge_weights[e] < 0 or self.has_copy_costs:
                break
        else:
            return    # Potts: a copy has its neighbor's label, at no cost
        memcpy(own, costs.node_costs, costs.n_nodes * costs.stride * sizeof(double))
        self.own_costs.node_costs = own
        for e in range(n_own, costs.n_edges):
            node = own + costs.edges[2 * e] * costs.stride
            for a in range(K):
                least = edge_cost(costs, e, a, a) + self.copy_cost(i, e - n_own, a)
                for b in range(K):
                    least = min(least, edge_cost(costs, e, a, b) + self.copy_cost(i, e - n_own, b))
                node[a] += least

    cdef void label_copies(self, Py_ssize_t i, int32_t* y) noexcept nogil:
        """Give each copy its best label for its neighbor's label, preferring the same label."""
        cdef const GraphCosts* costs = &self.costs
        cdef Py_ssize_t c, e, b
        cdef int32_t a, best
        cdef double cost, least
        for c in range(self.n_copies[i]):
            e = costs.n_edges - self.n_copies[i] + c
            a = best = y[costs.edges[2 * e]]
            least = edge_cost(costs, e, a, a) + self.copy_cost(i, c, a)
            for b in range(self.n_labels):
                cost = edge_cost(costs, e, a, b) + self.copy_cost(i, c, b)
                if cost < least:
                    best, least = <int32_t> b, cost
            y[costs.n_nodes + c] = best

    cdef void forbid_labels(self, Py_ssize_t i) noexcept nogil:
        """Give labels that a node may not have a cost above any possible gain. O(V K + E G + G K^2).

        max_of_edges[v]: the sum of the largest costs of the edges at v.
        """
        cdef GraphCosts* costs = &self.costs
        cdef Py_ssize_t v, e, g, k, K = self.n_labels, KP = self.KP, G = costs.n_features
        cdef double* table = &self.max_of_tables[0]
        cdef double* edges = &self.max_of_edges[0]
        cdef double* node
        cdef double most, least
        cdef int32_t n_own
        for g in range(G):
            table[g] = 1 if costs.tables == NULL else 0
            for k in range(K * K if costs.tables != NULL else 0):
                table[g] = max(table[g], fabs(costs.tables[g * K * K + k]))
        memset(edges, 0, costs.n_nodes * sizeof(double))
        for e in range(costs.n_edges):
            most = 0
            for g in range(G):
                most += fabs(costs.edge_weights[e * G + g]) * table[g]
            edges[costs.edges[2 * e]] += most
            edges[costs.edges[2 * e + 1]] += most
        for v in range(costs.n_nodes):
            node, n_own = &self.node_costs[v * KP], self.label_counts[self.start[i] + v]
            least = most = node[0]
            for k in range(1, n_own):
                least, most = min(least, node[k]), max(most, node[k])
            # Changing the label of v changes the costs of the edges at v by at most twice their largest
            # absolute values. Twice that amount and the range of the node's costs allow for rounding.
            most += 1 + (most - least) + 4 * edges[v] + 1e-6 * fabs(most)
            for k in range(n_own, K):
                node[k] = most

    cdef void replace_forbidden(self, Py_ssize_t i, int32_t* y) noexcept nogil:
        """Replace labels that a node may not have by the best one given its neighbors' labels."""
        cdef const GraphCosts* costs = &self.costs
        cdef const int32_t* ends
        cdef Py_ssize_t v, e, k
        cdef double cost, least
        cdef int32_t n_own, best
        for v in range(costs.n_nodes):
            n_own = self.label_counts[self.start[i] + v]
            if y[v] < n_own:
                continue
            best, least = 0, 0
            for k in range(n_own):
                cost = self.node_costs[v * self.KP + k]
                for e in range(costs.n_edges):
                    ends = costs.edges + 2 * e
                    if ends[0] == v:
                        cost += edge_cost(costs, e, k, y[ends[1]])
                    elif ends[1] == v:
                        cost += edge_cost(costs, e, y[ends[0]], k)
                if k == 0 or cost < least:
                    best, least = <int32_t> k, cost
            y[v] = best

    cdef void label_nodes_alone(self, Py_ssize_t i, int32_t* y) noexcept nogil:
        """Set y = own_costs.node_costs.argmin(axis=1)."""
        cdef Py_ssize_t v, k
        cdef const double* node
        for v in range(self.length[i]):
            node = self.own_costs.node_costs + v * self.KP
            y[v] = 0
            for k in range(1, self.n_labels):
                if node[k] < node[y[v]]:
                    y[v] = <int32_t> k

    cdef bint start_from_last(self, Py_ssize_t i, int32_t* y) noexcept nogil:
        """Use the labels of the last training call if they cost less; return whether they do."""
        cdef const int32_t* last
        if not self.last.is_used or not self.last.is_known[i]:
            return False
        last = &self.last.labels[self.last.first[i]]
        if not labeling_cost(&self.own_costs, last) < labeling_cost(&self.own_costs, y):
            return False
        memcpy(y, last, self.length[i] * sizeof(int32_t))
        return True

    cdef double descend(self, Py_ssize_t i, int32_t* y, OracleAnswer* answer) except? -1 nogil:
        """Improve labels by the decoder; return their cost."""
        cdef GraphAnswer found
        self.decoder.decode(&self.own_costs, y, &found)
        answer.exact = found.exact
        answer.work += found.work
        if self.bounded and not found.exact:
            answer.bound = -found.bound
        if self.has_counts:
            self.replace_forbidden(i, y)
        self.label_copies(i, y)
        return self.total_cost(i, y)

    cdef void set_hasty(self, bint hasty) noexcept nogil:
        self.decoder.is_hasty = hasty

    cdef int maximize(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef Py_ssize_t first = self.start[i], n_nodes = self.length[i]
        cdef double cost, of_truth
        cdef const int32_t* truth = NULL
        cdef int32_t* y = &self.other_labels[0]
        cdef bint is_kept = self.last.is_used and self.last.is_open
        self.potentials(i, w, loss_weight)
        self.label_nodes_alone(i, code)
        answer.exact, answer.work = True, 100
        if (self.own_costs.n_edges == 0 or self.n_labels == 1) and not self.decoder.is_constrained:
            self.label_copies(i, code)
            cost = self.total_cost(i, code)
        else:
            self.decoder.block = i
            self.decoder.has_partial = (
                self.has_partial and not (self.start_from_last(i, code) and is_kept))
            self.decoder.stops_early, self.decoder.is_training = is_kept, self.last.is_open
            cost = self.descend(i, code, answer)
        of_truth = cost
        if self.has_labels:
            truth = self.true_code_of(i)
            of_truth = self.total_cost(i, truth)
        if of_truth < cost:
            # Start from the truth only now: moves from the truth find little beyond its neighborhood,
            # and training would end with hinge losses that are too small.
            memcpy(y, truth, self.code_size(i) * sizeof(int32_t))
            # If bounded, the bound does not depend on the start.
            cost = of_truth if answer.exact or self.bounded else self.descend(i, y, answer)
            if cost > of_truth:    # by rounding
                memcpy(y, truth, self.code_size(i) * sizeof(int32_t))
                cost = of_truth
            memcpy(code, y, self.code_size(i) * sizeof(int32_t))
            is_kept = False
        if is_kept:
            memcpy(&self.last.labels[self.last.first[i]], code, n_nodes * sizeof(int32_t))
            self.last.is_known[i] = True
        answer.value = -cost
        if self.bounded:
            answer.bound = answer.value if answer.exact else max(answer.bound, answer.value)
        answer.work += n_nodes * self.n_labels + self.n_edges[i] * 3 * self.pairwise.n_features
        answer.work += VECTOR_WORK * self.KP * (
            sstruct_row_start(&self.rows, first + n_nodes) - sstruct_row_start(&self.rows, first))
        return 0

    cdef int marginals(
            self, Py_ssize_t i, const double* w, bint is_forest, double* out) except -1 nogil:
        """Set out[v, k] to the best known score of a labeling with label k at node v: (V, K).

        Exact without edges, for forests, and for two labels with attractive edges; with constraints, by a
        decoding for each label; otherwise that of the decoder's labeling with one label changed. Raises
        ValueError if is_forest is true for a graph with a cycle.
        """
        cdef Py_ssize_t k
        cdef bint is_done = False
        cdef OracleAnswer answer
        self.potentials(i, w, 0)
        if is_forest and not self.decoder.is_constrained:
            self.forest.marginals(&self.costs, out)
            is_done = True
        elif self.n_labels == 2 and not self.decoder.is_constrained:
            is_done = self.cuts.fill(&self.costs, out)
        if not is_done:
            self.maximize(i, w, 0, &self.other_labels[0], &answer)
            self.decoder.marginals(&self.costs, &self.other_labels[0], out)
        for k in range(self.length[i] * self.n_labels):
            out[k] = -out[k]
        return 0

    cdef Py_ssize_t n_values(self, Py_ssize_t i) noexcept nogil:
        return self.length[i] * self.n_labels

    cdef double log_partition(
            self, Py_ssize_t i, const double* w, double scale, const int32_t* known) except? -1 nogil:
        """Requires a graph without cycles and copies; raises ValueError otherwise."""
        if self.n_copies[i]:
            with gil:
                raise ValueError(
                    f"block {i} is a tile of an image, for which sums over labelings are not defined")
        self.potentials(i, w, 0)
        return self.sums.log_sum(
            &self.costs, &self.label_counts[self.start[i]] if self.has_counts else NULL, known, scale)

    cdef int probabilities(self, double* out) except -1 nogil:
        return self.sums.marginals(out)

    cdef int sample(self, Random* random, int32_t* labels) except -1 nogil:
        return self.sums.sample(random, labels)

    cdef void find_differing_copies(
            self, Py_ssize_t i, const int32_t** codes, Py_ssize_t count) noexcept nogil:
        """Set `differs` for the copies of a block: whether any labelings differ there."""
        cdef Py_ssize_t v
        for v in range(self.length[i], self.code_size(i)):
            self.differs[v] = differ_at(codes, count, v)

    cdef bint edge_differs(self, const int32_t* edge) noexcept nogil:
        """Whether the labelings compared last differ at an end of an edge."""
        return self.differs[edge[0]] or self.differs[edge[1]]

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        cdef Py_ssize_t k, v, e, r, n_nodes = self.length[i], first = self.start[i]
        cdef double scale, spent = 20 + count * (n_nodes + self.n_edges[i]) * 0.5
        cdef double* label_score = &self.label_score[0]
        cdef int32_t* place = &self.place[0]
        cdef int32_t* label = &self.label[0]
        cdef int32_t n_labels
        cdef const int32_t* edge = &self.edges[0, 0] + 2 * self.edge_start[i]
        if w == NULL:
            for k in range(count):
                out[k] = -self.total_cost(i, codes[k])
            work[0] += spent
            return 0
        if loss_weight != 0:
            self.need_labels()
        memset(out, 0, count * sizeof(double))
        for v in range(n_nodes):
            n_labels = collect_labels(codes, count, v, place, label)
            self.differs[v] = n_labels > 1
            if n_labels == 1:
                continue
            r = first + v
            some_potentials_of(self.nodes, &self.rows, r, w, label, n_labels, label_score)
            scale = loss_weight * self.node_weight[r]
            for k in range(n_labels):
                if self.bias:
                    label_score[k] += w[self.bias_at + label[k]]
                if scale != 0:
                    label_score[k] += scale * self.cost[self.labels[r], label[k]]
            for k in range(count):
                out[k] += label_score[place[codes[k][v]]]
            forget_labels(place, label, n_labels)
            spent += some_work_of(self.nodes, &self.rows, r, w, n_labels) + 2 * count
        self.find_differing_copies(i, codes, count)
        for e in range(self.n_edges[i]):
            if self.edge_differs(edge + 2 * e):
                for k in range(count):
                    out[k] += self.pairwise.score(
                        self.feature_start[i] + e, codes[k][edge[2 * e]],
                        codes[k][edge[2 * e + 1]], w + self.edge_at)
                spent += count * (2 + self.pairwise.n_features)
        work[0] += spent
        return 0

    cdef int loss(self, Py_ssize_t i, const int32_t* code, double* out) except -1 nogil:
        cdef Py_ssize_t v, e, first = self.start[i]
        cdef int64_t more = 0      # neighbors that differ, minus those that differ in the truth
        cdef const int32_t* truth
        cdef const int32_t* edge = &self.edges[0, 0] + 2 * self.edge_start[i]
        cdef double total = 0
        self.need_labels()
        truth = self.true_code_of(i)
        for v in range(self.length[i]):
            total += self.node_weight[first + v] * self.cost[truth[v], code[v]]
        if self.pairwise.strength > 0:
            for e in range(self.n_edges[i]):
                more += code[edge[2 * e]] != code[edge[2 * e + 1]]
                more -= truth[edge[2 * e]] != truth[edge[2 * e + 1]]
            total -= self.pairwise.strength * more
        out[0] = total
        return 0

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        cdef Py_ssize_t v, f, at, r, KP = self.KP, others = self.n_features * KP
        cdef double total = 0, large, small
        cdef double* sums
        cdef const int32_t* column
        if self.accumulator is None:   # as large as w, so allocated only if needed
            with gil:
                self.accumulator = np.zeros(self.n_weights)
        sums = &self.accumulator[0]
        # Exchanging a and b only changes the signs of all entries, and no bit of the result.
        self.exchange(i, a, b, 1.0, sums)
        if self.rows.indices == NULL:
            out[0] = sstruct_squared_norm(sums, self.n_weights)
            memset(sums, 0, self.n_weights * sizeof(double))
            return 0
        # Every modified entry is squared once and reset to zero.
        for v in range(self.length[i]):
            if a[v] == b[v]:
                continue
            r = self.start[i] + v
            column = self.rows.indices + self.rows.indptr[r]
            for f in range(sstruct_row_size(&self.rows, r)):
                at = column[f] * KP
                # With fused operations, rounding depends on the order.
                large = max(fabs(sums[at + a[v]]), fabs(sums[at + b[v]]))
                small = min(fabs(sums[at + a[v]]), fabs(sums[at + b[v]]))
                total += large * large + small * small
                sums[at + a[v]] = sums[at + b[v]] = 0
        total += sstruct_squared_norm(sums + others, self.n_weights - others)
        memset(sums + others, 0, (self.n_weights - others) * sizeof(double))
        out[0] = total
        return 0

    cdef int scatter(
            self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
            double* out) except -1 nogil:
        cdef Py_ssize_t k, v, e, first = self.start[i]
        cdef double* change = &self.label_score[0]
        cdef int32_t* place = &self.place[0]
        cdef int32_t* label = &self.label[0]
        cdef int32_t n_labels
        cdef const int32_t* edge = &self.edges[0, 0] + 2 * self.edge_start[i]
        for v in range(self.length[i]):
            n_labels = collect_labels(codes, count, v, place, label)
            self.differs[v] = n_labels > 1
            if n_labels == 1:
                continue
            memset(change, 0, n_labels * sizeof(double))
            for k in range(count):
                change[place[codes[k][v]]] += coefficient[k]
            add_row_of(self.nodes, &self.rows, first + v, label, change, n_labels, out)
            if self.bias:
                for k in range(n_labels):
                    out[self.bias_at + label[k]] += change[k]
            forget_labels(place, label, n_labels)
        self.find_differing_copies(i, codes, count)
        if self.pairwise.n_weights > 0:
            for e in range(self.n_edges[i]):
                if self.edge_differs(edge + 2 * e):
                    self.pairwise.add(
                        self.feature_start[i] + e, edge[2 * e], edge[2 * e + 1], codes,
                        coefficient, count, out + self.edge_at)
        return 0

    cpdef int check_code(self, Py_ssize_t i, const int32_t[::1] code) except -1:
        cdef Py_ssize_t v
        self.check_node_labels(i, code, self.n_labels)
        for v in range(self.length[i] if self.has_counts else 0):
            if code[v] >= self.label_counts[self.start[i] + v]:
                raise ValueError(
                    f"block {i}: label {code[v]} at node {v}, expected one of the first "
                    f"{self.label_counts[self.start[i] + v]} labels")
        return 0


cdef struct Marginals:
    const double* weights
    const unsigned char* is_forest      # whether each block is a forest
    const Py_ssize_t* start             # first node of each block
    double* out


cdef int fill_marginals(
        void* context, BlockProblem problem, Py_ssize_t thread, Py_ssize_t i) except -1 nogil:
    cdef Marginals* work = <Marginals*> context
    return (<GraphProblem> problem).marginals(
        i, work.weights, work.is_forest[i],
        work.out + work.start[i] * (<GraphProblem> problem).n_labels)


def max_marginals(GraphProblem problem not None, const double[::1] w, is_forest, n_threads=1):
    """Compute the best score of a labeling through each label of each node, without loss.

    Parameters
    ----------
    problem : GraphProblem
        Without labels.
    w : ndarray of shape (n_weights,)
    is_forest : array-like of bool of shape (n_blocks,)
        Whether a graph has no cycles; it is then decoded exactly. Must not be true for a graph with a
        cycle.
    n_threads : int
        Number of threads; the scores do not depend on it.

    Returns
    -------
    ndarray of shape (n_nodes, K)
        One row per node, concatenated over graphs. Exact for forests, and for two labels with attractive
        edges; with constraints, the best scores found by a decoding for each label; otherwise scores of the
        decoder's labeling with the label of the node changed.
    """
    problem._check_weights(w)
    if problem.has_labels:
        raise ValueError("max-marginals require a problem without labels")
    cdef ThreadPool pool = ThreadPool(problem, n_threads)
    cdef Py_ssize_t n = problem.n_blocks
    cdef const unsigned char[::1] forests = np.ascontiguousarray(is_forest, dtype=np.uint8)
    if forests.shape[0] != n:
        raise ValueError(f"is_forest has {forests.shape[0]} entries, expected {n}")
    cdef Py_ssize_t[::1] start = np.r_[0, np.cumsum(problem.length, dtype=np.intp)]
    out = np.empty((start[n], problem.n_labels))
    cdef double[:, ::1] scores = out
    cdef Marginals work
    work.weights, work.is_forest = &w[0], &forests[0]
    work.start, work.out = &start[0], &scores[0, 0]
    pool.run_blocks(fill_marginals, &work, NULL, 0, n)
    return out
