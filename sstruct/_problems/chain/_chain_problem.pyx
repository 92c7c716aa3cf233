# Design:
# (a) A block is a chain of L rows of one flat feature array (dense or CSR, float32 or float64):
#     phi(x, y) = sum_l x_l (x) e[y_l] and, optionally, a bias per label, start and end terms, and
#     transition counts. A code consists of the L labels. If rows have scores of the labels, phi also
#     has the sum of the scores of y_l.
# (b) Weights have the layout that the oracle needs, with labels padded to KP: node F x KP, then bias,
#     start, end (KP each), then transitions K x KP. `chain_layout` has the positions. The weight
#     of scores, if any, comes between node and bias, padded to KP.
#     If transitions are tied, there is one weight for each group of them. Decoders always get a table
#     of scores, K x KP; with tied transitions or a mask, it is computed from the weights.
# (c) The caller removes unlabeled nodes; the remaining segments are blocks without a start or end
#     term at a cut. L(y) = c_i sum_l a_l cost[truth_l, y_l]. Without node weights a_l and windows,
#     the best scores are tabulated by number of errors for slack rescaling, if costs are integers.
#     A known label forbids all other labels of its node by -inf, as masks do. If every label has S states,
#     label k has states k S to k S + S - 1, and a known label allows its own states.
# (d) Long chains may be cut into windows, each a block. The last row of a block with `copies_end` is a
#     copy of the first node of the next window: its label is free and takes part in one transition,
#     whereas its features, bias and loss belong only to the next window. The sum of the windows'
#     maxima is then an upper bound of the maximum of the chain.
# (e) Nothing is stored per labeling. Scores at given weights are relative to each other: like distances,
#     they are computed only from positions where labelings differ.
"""Joint feature map, loss and max-oracle of ChainSSVM."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from sstruct._kernels._constants cimport VECTOR_WORK
from sstruct._oracles.chain._error_table cimport ErrorTable
from sstruct._oracles.chain._max_marginals cimport chain_max_marginals
from sstruct._oracles.chain._top_k cimport ChainRanking
from sstruct._oracles.chain._viterbi cimport MIN_PRUNED_LABELS, transition_bounds, viterbi_labels
from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems.core._node_labels cimport collect_labels, forget_labels
from sstruct._problems.core._node_weights cimport (
    NodeWeights, add_row_of, some_potentials_of, some_work_of)
from sstruct._problems.core._rows cimport (
    FeatureRows, sstruct_padded, sstruct_row_product, sstruct_row_size, sstruct_row_start,
    sstruct_rows)

import numpy as np

from sstruct._oracles.core._path_ranking import ranked_arrays
from sstruct._problems.core._block_problem import batch_size
from sstruct._problems.core._rows import check_blocks
from sstruct._problems.core._node_arguments import (
    check_known, check_labels, check_node_weights, of_blocks, padded, sums_over_blocks)
from sstruct._problems.core.shared_nodes import SharedNodes
from sstruct._problems.chain.chain_arguments import (
    NoLabelingError, chain_layout,
    check_copies, check_groups, error_counts, number_of_groups, penalties)

cdef extern from "sstruct/_kernels/kernels.h":
    void sstruct_prefetch_rows(const sstruct_rows* rows, int64_t first, int64_t n) noexcept nogil
    int64_t sstruct_transition_distance(
        const int32_t* a, const int32_t* b, const int32_t* where, int64_t count) noexcept nogil

# Pruning with bounds takes about as much time per node as adding this number of vectors of K scores;
# measured on synthetic sequences with 1,000 labels.
cdef Py_ssize_t MAX_ADDED_VECTORS = 84

# For arrays that a problem does not need.
cdef double[::1] NO_VALUES = np.empty(0)
cdef int32_t[::1] NO_COUNTS = np.empty(0, dtype=np.int32)
cdef int32_t[:, ::1] NO_GROUPS = np.empty((0, 0), dtype=np.int32)


cdef class ChainProblem(BlockProblem):
    """Chains over flat rows.

    Parameters
    ----------
    X : ndarray or canonical CSR of shape (n_rows, n_features), or FeatureRows
        Feature rows of all positions; contiguous float32 and float64 arrays are not copied.
    chains : ChainRanges
    model : ChainModel
    labels : array-like of shape (n_rows,), dtype int32, or None
        True label of each row, -1 for rows outside of blocks. With None, the problem can only decode.
    cost : array-like of shape (K, K), optional
        Node cost, with the truth along rows; zero diagonal, nonnegative. Default: 0 and 1 (Hamming).
    loss_scale : array-like of shape (n_blocks,), optional
        Factor of each block's sum of node costs. Default 1.
    node_weight : array-like of shape (n_rows,), optional
        Factor of each node's cost. Default 1.
    known : array-like of shape (n_rows,), dtype int32, optional
        Label that every labeling must have at a row, or -1. For decoding only: the working sets of
        training ignore it.
    states_per_label : int
        Number of states of each label in `known`; the labels of the model are the states.
    squares : ndarray of shape (n_rows,), optional
        `FeatureRows.squares` of these rows; by default, they are computed when they are needed.
    """

    def __init__(
            self, X, chains, model, labels=None, *, cost=None, loss_scale=None, node_weight=None,
            known=None, states_per_label=1, squares=None):
        cdef FeatureRows features = X if isinstance(X, FeatureRows) else FeatureRows(X)
        cdef Py_ssize_t i, n, n_rows = features.n_rows, K = model.n_labels, longest = 0, total = 0
        self.arguments = dict(
            X=features, chains=chains, model=model, labels=labels, cost=cost,
            loss_scale=loss_scale, node_weight=node_weight, known=known,
            states_per_label=states_per_label)
        self.features, self.rows = features, features.rows
        self._keep_squares(squares)
        starts, lengths = check_blocks(chains.start, chains.length, n_rows)
        self.start, self.length = starts, lengths
        n = self.n_blocks = len(starts)
        if K < 1:
            raise ValueError(f"n_labels must be at least 1, found {K}")
        self.n_labels, self.n_features, self.KP = K, features.n_features, sstruct_padded(K)
        self.bias, self.boundaries = model.bias, model.boundaries
        self.transitions, self.masked = model.transitions, model.edge_mask is not None
        self.tied, self.group, self.group_count = False, NO_GROUPS, NO_COUNTS
        if model.transitions and model.groups is not None:
            self.tied, self.group = True, check_groups(model.groups, K, self.KP)
            self.group_count = np.zeros(number_of_groups(model.groups), dtype=np.int32)
        for i in range(n):
            longest, total = max(longest, self.length[i]), total + self.length[i]
        self.max_code_size = longest
        self._set_layout(self.layout_of(model))
        self.has_labels = labels is not None
        self.labels = (
            check_labels(labels, starts, lengths, n_rows, K) if self.has_labels
            else np.zeros(n_rows, dtype=np.int32))
        if not 1 <= states_per_label <= K or K % states_per_label:
            raise ValueError(f"found {K} states, expected a multiple of states_per_label={states_per_label}")
        self.states_per_label, self.has_known = states_per_label, known is not None
        self.known = (
            check_known(known, (n_rows,), K // states_per_label) if self.has_known else NO_COUNTS)
        if self.has_labels:
            cost = 1.0 - np.eye(K) if cost is None else cost
            self.cost = padded(cost, (K, K), self.KP, "cost")
        self.loss_scale = of_blocks(loss_scale, n, np.float64)
        self.weighted = node_weight is not None
        self.node_weight = check_node_weights(node_weight, n_rows) if self.weighted else NO_VALUES
        self.starts_here, self.ends_here = [
            of_blocks(here, n, np.uint8) for here in (chains.starts_here, chains.ends_here)]
        self.n_own = (
            check_copies(chains.copies_end, lengths, self.ends_here) if self.windowed else lengths)
        self.edge_penalty, self.boundary_penalty = np.zeros((1, self.KP)), np.zeros((2, self.KP))
        if self.masked:
            self.edge_penalty = penalties(model.edge_mask, (K, K), self.KP, "edge_mask")
        if model.boundary_mask is not None:
            self.boundary_penalty = penalties(model.boundary_mask, (2, K), self.KP, "boundary_mask")
        self._set_scratch()
        # Estimated from sizes only: the labels skipped depend on bounds, which differ between threads.
        self.n_added = min(K, MAX_ADDED_VECTORS) if self.edge_bounds.shape[0] > 0 else K
        work = features.n_stored / max(n_rows, 1) * (K if self.nodes.step > 0 else self.KP)
        self.oracle_work = VECTOR_WORK * (<double> total / n) * (work + self.KP * self.n_added)
        self.batch_size = 1 if self.oracle_is_quick else batch_size(n, self.oracle_work)
        self.bounded = True

    def prepare_product(self):
        """Prepare `maximize_product`, if costs are integers and a table by number of errors is affordable.

        Otherwise, prepare `ranked`.
        """
        cdef Py_ssize_t K = self.n_labels
        if not self.has_labels or self.windowed:
            return
        self.has_ranking, self.ranking = True, ChainRanking()
        self.no_edges = NO_VALUES if self.transitions or self.masked else np.zeros(K * self.KP)
        if self.weighted:
            return
        lengths = np.asarray(self.length)
        errors, most = error_counts(self.cost, K, self.labels, np.asarray(self.start), lengths)
        if errors is not None:
            self.has_product, self.errors, self.max_errors = True, errors, most
            # Mean number of vectorized multiply-adds for the table of a block.
            table_work = float((lengths * (most + 1)).mean()) * K * self.KP / 2
            self.product_work = self.oracle_work + VECTOR_WORK * table_work

    def _set_scratch(self):
        # Views of two arrays: allocating each would take half of the time to decode a short chain.
        cdef Py_ssize_t longest = self.max_code_size, KP = self.KP, size = longest * KP
        cdef double[::1] values = np.empty(2 * size + KP)
        cdef int32_t[::1] places = np.empty(size + 2 * KP + 2 * longest, dtype=np.int32)
        self.nodes = NodeWeights(self.features, self.n_labels)
        self.theta, self.best = values[:size], values[size:2 * size]
        self.label_score = values[2 * size:]
        self.origin = places[:size]
        self.place, self.label = places[size:size + KP], places[size + KP:size + 2 * KP]
        self.place[:] = -1
        self.where = places[size + 2 * KP:size + 2 * KP + longest]
        self.where_edge = places[size + 2 * KP + longest:]
        self.table = np.zeros(self.n_labels * KP) if self.masked or self.tied else NO_VALUES
        self.accumulator, self.error_table = None, ErrorTable()
        skips = self.transitions and not (self.masked or self.tied) and self.n_labels >= MIN_PRUNED_LABELS
        self.edge_bounds = np.empty(3 * KP) if skips else NO_VALUES

    def _keep_squares(self, squares):
        """Store the squared norms of rows for this problem and its forks; None if they are not known."""
        if squares is not None and squares.shape != (self.features.n_rows,):
            raise ValueError(
                f"squares has shape {squares.shape}, expected {(self.features.n_rows,)}")
        self.arguments["squares"] = squares
        self.squares = NO_VALUES if squares is None else squares

    cdef double square_of(self, Py_ssize_t r) noexcept nogil:
        """Return the squared norm of a row."""
        if self.squares.shape[0] > 0:
            return self.rows.factor * self.rows.factor * self.squares[r]
        return sstruct_row_product(&self.rows, r, r)

    def layout_of(self, model, n_edge_features=0):
        """Return the WeightLayout of a model with the features of this problem."""
        return chain_layout(
            self.n_labels, self.n_features, self.bias, self.boundaries, self.transitions,
            n_edge_features, self.features.n_scores > 0,
            n_groups=self.group_count.shape[0] if self.tied else None)

    def _set_layout(self, layout):
        """Set the positions of all weights."""
        at, self._layout, self.n_weights = layout.starts, layout, layout.size
        self.bias_at, self.edge_at = at["intercept"], at["edge"]
        self.start_at, self.end_at = at["start"], at["end"]

    cpdef BlockProblem fork(self):
        return ChainProblem(**self.arguments)

    @property
    def n_feature_weights(self):
        """Number of weights of node features, which come first."""
        return self.bias_at

    def scale_features(self, double factor):
        """Multiply the features of nodes by a factor; those of transitions are not changed."""
        self.features.scale(factor)
        self.rows = self.features.rows

    @property
    def oracle_is_quick(self):
        """Whether the oracle takes little longer than scoring cached labelings.

        This holds in two cases: the oracle skips labels by bounds that are kept between visits; or rows are
        dense and long enough for a copy of the weights (`NodeWeights`), and there are at most as many labels
        as features. Computing potentials then takes little longer than reading the rows, and transitions do
        not take longer than potentials.
        """
        return self.edge_bounds.shape[0] > 0 or (
            self.nodes.step > 0 and self.n_added <= self.n_features)

    @property
    def windowed(self):
        """Whether some blocks are windows."""
        return self.arguments["chains"].copies_end is not None

    def joined(self):
        """Return the problem of whole chains, and the index of the first window of each."""
        chains, first = self.arguments["chains"].joined()
        scale = self.arguments["loss_scale"]
        scale = None if scale is None else np.asarray(scale)[first]
        return self.with_chains(first, chains=chains, loss_scale=scale), first

    def shared_nodes(self):
        """Return the last rows of windows, which are copies of the first rows of the next blocks."""
        cdef double most = np.max(self.cost)
        blocks = np.flatnonzero(np.asarray(self.n_own) < np.asarray(self.length))
        position = np.column_stack([np.asarray(self.n_own)[blocks], np.zeros_like(blocks)])
        cost = np.asarray(self.loss_scale)[blocks] * (most if most > 0 else 1.0)
        return SharedNodes(np.column_stack([blocks, blocks + 1]), position, cost)

    cdef int offset_nodes(
            self, Py_ssize_t count, const int32_t* position, const double* offsets) except -1 nogil:
        self.n_offsets, self.offset_position, self.offsets = count, position, offsets
        return 0

    def with_chains(self, blocks, **arguments):
        """Return a problem with other chains, which start where the given blocks start."""
        return ChainProblem(**(self.arguments | arguments))

    def feature_rows(self):
        """Return the rows of node features."""
        return [(self.features, np.asarray(self.start))]

    def norms(self):
        """Return upper bounds of |phi|, from rows, biases, both ends and transitions."""
        lengths, squares = np.asarray(self.length), self.features.squares()
        if self.nodes.step > 0:   # long rows: squared distances of labelings need not read them again
            self._keep_squares(squares)
        rows = self.features.norms(squares) + self.bias
        nodes = sums_over_blocks(rows, np.asarray(self.start), np.asarray(self.n_own))
        return nodes + 2 * self.boundaries + self.transitions * lengths

    cdef Py_ssize_t code_size(self, Py_ssize_t i) noexcept nogil:
        return self.length[i]

    cdef void prefetch(self, Py_ssize_t i) noexcept nogil:
        sstruct_prefetch_rows(&self.rows, self.start[i], self.length[i])

    cdef int truth(self, Py_ssize_t i, int32_t* code) except -1 nogil:
        self.need_labels()
        memcpy(code, &self.labels[self.start[i]], self.length[i] * sizeof(int32_t))
        return 0

    cdef int potentials(self, Py_ssize_t i, const double* w, double loss_weight) except -1 nogil:
        """Compute theta = B_i^T w + loss_weight * node costs, and set `edge` to transition scores."""
        cdef Py_ssize_t first = self.start[i], L = self.length[i], K = self.n_labels, KP = self.KP
        cdef Py_ssize_t e, k, l, n_own = self.n_own[i]
        cdef double scale = loss_weight * self.loss_scale[i]
        if loss_weight != 0:
            self.need_labels()
        self.nodes.potentials(
            first, n_own, w, w + self.bias_at if self.bias else NULL,
            &self.cost[0, 0] if loss_weight != 0 and not self.weighted else NULL,
            &self.labels[first], scale, loss_weight == 0, &self.theta[0])
        memset(&self.theta[0] + n_own * KP, 0, (L - n_own) * KP * sizeof(double))
        if self.weighted and loss_weight != 0:
            for l in range(n_own):
                for k in range(K):
                    self.theta[l * KP + k] += (
                        scale * self.node_weight[first + l] * self.cost[self.labels[first + l], k])
        if self.starts_here[i]:
            for k in range(K):
                self.theta[k] += self.boundary_penalty[0, k] + (
                    w[self.start_at + k] if self.boundaries else 0)
        if self.ends_here[i]:
            for k in range(K):
                self.theta[(L - 1) * KP + k] += self.boundary_penalty[1, k] + (
                    w[self.end_at + k] if self.boundaries else 0)
        for e in range(self.n_offsets):
            for k in range(K):
                self.theta[self.offset_position[e] * KP + k] += self.offsets[e * K + k]
        self.n_offsets = 0
        if self.has_known:
            self.forbid_others(i)
        if not self.masked and not self.tied:
            self.edge = w + self.edge_at if self.transitions else NULL
        else:
            self.edge = &self.table[0]
            if not (self.has_table and w == self.tracked):
                self.fill_table(w)
                self.has_table = w == self.tracked
        return 0

    cdef void fill_table(self, const double* w) noexcept nogil:
        """Compute the scores of all transitions."""
        cdef Py_ssize_t k, size = self.n_labels * self.KP
        cdef int32_t g
        cdef const double* weight = w + self.edge_at
        if self.tied:
            for k in range(size):
                g = (&self.group[0, 0])[k]
                self.table[k] = weight[g] if g >= 0 else 0
        elif self.transitions:
            memcpy(&self.table[0], weight, size * sizeof(double))
        else:
            memset(&self.table[0], 0, size * sizeof(double))
        if self.masked:
            for k in range(size):
                self.table[k] += (&self.edge_penalty[0, 0])[k]

    cdef int32_t group_of(self, const int32_t* code, Py_ssize_t l) noexcept nogil:
        """Return the group of the transition into position l, -1 if it has no weight."""
        return self.group[code[l - 1], code[l]]

    cdef bint same_groups(
            self, const int32_t** codes, Py_ssize_t count, Py_ssize_t l) noexcept nogil:
        """Return whether the transitions into position l of all labelings have the same group."""
        cdef Py_ssize_t k
        for k in range(1, count):
            if self.group_of(codes[k], l) != self.group_of(codes[0], l):
                return False
        return True

    cdef void forbid_others(self, Py_ssize_t i) noexcept nogil:
        """Set theta to -inf at all labels except the known label of a node, or its states."""
        cdef Py_ssize_t l, k, S = self.states_per_label
        cdef int32_t known
        for l in range(self.length[i]):
            known = self.known[self.start[i] + l]
            for k in range(self.n_labels if known >= 0 else 0):
                if not known * S <= k < (known + 1) * S:
                    self.theta[l * self.KP + k] = -INFINITY

    cdef void track(self, const double* w) noexcept nogil:
        self.tracked, self.has_table, self.has_edge_bounds = w, False, False
        self.nodes.track(w)

    cdef const double* bounds_of_edges(self, const double* w) noexcept nogil:
        """Return bounds of the transitions at tracked weights, or NULL if no bounds are kept."""
        if w != self.tracked or self.edge != w + self.edge_at or self.edge_bounds.shape[0] == 0:
            return NULL
        if not self.has_edge_bounds:
            transition_bounds(self.edge, self.n_labels, self.KP, &self.edge_bounds[0])
            self.has_edge_bounds = True
        return &self.edge_bounds[0]

    cdef void widen(self, int32_t before, int32_t after, double score) noexcept nogil:
        """Widen the bounds of tracked transitions, so that they hold for the changed score of one."""
        cdef double* bounds = &self.edge_bounds[0]
        bounds[after] = max(bounds[after], score)
        bounds[self.KP + before] = max(bounds[self.KP + before], score)
        bounds[2 * self.KP + before] = min(bounds[2 * self.KP + before], score)

    cdef int maximize(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef Py_ssize_t L = self.length[i], first = self.start[i]
        cdef double n_values
        self.potentials(i, w, loss_weight)
        answer.value = viterbi_labels(
            &self.theta[0], L, self.n_labels, self.KP, self.edge, self.edge_step,
            self.bounds_of_edges(w), code, &self.best[0], &self.origin[0])
        if answer.value == -INFINITY:
            with gil:
                raise NoLabelingError(i, L)
        n_values = sstruct_row_start(&self.rows, first + L) - sstruct_row_start(&self.rows, first)
        answer.work = 100 + 20 * L + self.nodes.potential_work(w, n_values) + (
            VECTOR_WORK * self.KP * L * self.n_added)
        answer.exact = True
        return 0

    cdef double ranked(
            self, Py_ssize_t i, const double* w, double loss_weight, bint first, int32_t* code,
            double* work) except? -1 nogil:
        cdef Py_ssize_t L = self.length[i], K = self.n_labels
        cdef const double* edge
        if first:
            self.potentials(i, w, loss_weight)
            edge = &self.no_edges[0] if self.edge == NULL else self.edge
            work[0] += self.oracle_work
            if self.ranking.rank(
                    &self.theta[0], L, K, self.KP, edge, self.edge_step, NULL, 1) == 0:
                return -INFINITY
            self.last_way = self.ranking.end
        elif self.ranking.advance():
            self.last_way = self.ranking.ways[self.last_way].next
        else:
            return -INFINITY
        work[0] += 4 * L * K
        self.ranking.write_code(self.last_way, code)
        return self.ranking.ways[self.last_way].value

    cdef int maximize_product(
            self, Py_ssize_t i, const double* w, double margin, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef Py_ssize_t L = self.length[i], first = self.start[i], most = self.max_errors[i]
        cdef Py_ssize_t d, n_values, best = 0
        cdef double value, true_score = 0
        cdef const int32_t* codes[1]
        self.potentials(i, w, 0)
        answer.work, codes[0] = 0, &self.labels[first]
        self.scores(i, NULL, 0, codes, 1, &true_score, &answer.work)
        self.error_table.fill(
            &self.theta[0], L, self.n_labels, self.KP, self.edge, self.edge_step,
            &self.errors[0, 0], &self.labels[first], most)
        answer.value = 0
        for d in range(1, most + 1):
            value = self.loss_scale[i] * d * (margin + self.error_table.best[d] - true_score)
            if value > answer.value:
                answer.value = value
                best = d
        self.truth(i, code)
        if best > 0:
            self.error_table.labels(best, code)
        n_values = sstruct_row_start(&self.rows, first + L) - sstruct_row_start(&self.rows, first)
        answer.work += 100 + 20 * L + VECTOR_WORK * self.KP * (
            n_values + L * self.n_labels * (most + 1) / 2.0)
        answer.exact = True
        return 0

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        cdef Py_ssize_t L = self.length[i], first = self.start[i], KP = self.KP
        cdef Py_ssize_t k, l
        cdef bint differ, before = False
        cdef double scale = loss_weight * self.loss_scale[i], value, spent = count * L * 0.5 + 20
        cdef const double* edge
        cdef int32_t* place = &self.place[0]
        cdef int32_t* label = &self.label[0]
        cdef double* label_score = &self.label_score[0]
        cdef int32_t n_labels, g
        if w == NULL:
            for k in range(count):
                value = self.theta[codes[k][0]]
                for l in range(1, L):
                    value += self.theta[l * KP + codes[k][l]]
                if self.edge != NULL:
                    for l in range(1, L):
                        value += self.edge[
                            (l - 1) * self.edge_step + codes[k][l - 1] * KP + codes[k][l]]
                out[k] = value
            work[0] += spent
            return 0
        if scale != 0:
            self.need_labels()
        edge = w + self.edge_at if self.transitions else NULL
        memset(out, 0, count * sizeof(double))
        for l in range(L):
            n_labels = collect_labels(codes, count, l, place, label)
            differ = n_labels > 1
            if differ:
                self.node_scores(i, l, w, scale, label, n_labels, label_score)
                for k in range(count):
                    out[k] += label_score[place[codes[k][l]]]
                forget_labels(place, label, n_labels)
                spent += some_work_of(self.nodes, &self.rows, first + l, w, n_labels)
                spent += 2 * count
            if edge != NULL and l > 0 and (differ or before):
                if not self.tied:
                    for k in range(count):
                        out[k] += edge[codes[k][l - 1] * KP + codes[k][l]]
                elif not self.same_groups(codes, count, l):
                    for k in range(count):
                        g = self.group_of(codes[k], l)
                        out[k] += edge[g] if g >= 0 else 0
                spent += count
            before = differ
        work[0] += spent
        return 0

    cdef void node_scores(
            self, Py_ssize_t i, Py_ssize_t l, const double* w, double scale, const int32_t* label,
            Py_ssize_t count, double* out) noexcept nogil:
        """Compute the scores of some labels at position l, without transitions."""
        cdef Py_ssize_t k, r = self.start[i] + l
        cdef const double* term
        if l == self.n_own[i]:
            memset(out, 0, count * sizeof(double))
            return
        if self.weighted:
            scale *= self.node_weight[r]
        some_potentials_of(self.nodes, &self.rows, r, w, label, count, out)
        # Each condition is checked once, not for every label.
        if self.bias:
            term = w + self.bias_at
            for k in range(count):
                out[k] += term[label[k]]
        if self.boundaries and l == 0 and self.starts_here[i]:
            term = w + self.start_at
            for k in range(count):
                out[k] += term[label[k]]
        if self.boundaries and l == self.length[i] - 1 and self.ends_here[i]:
            term = w + self.end_at
            for k in range(count):
                out[k] += term[label[k]]
        if scale != 0:
            term = &self.cost[self.labels[r], 0]
            for k in range(count):
                out[k] += scale * term[label[k]]

    cdef int loss(self, Py_ssize_t i, const int32_t* code, double* out) except -1 nogil:
        cdef Py_ssize_t l, first = self.start[i]
        cdef double total = 0, cost
        self.need_labels()
        for l in range(self.n_own[i]):
            cost = self.cost[self.labels[first + l], code[l]]
            total += self.node_weight[first + l] * cost if self.weighted else cost
        out[0] = self.loss_scale[i] * total
        return 0

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        cdef Py_ssize_t L = self.length[i], first = self.start[i]
        cdef Py_ssize_t l, m, p, q, n_nodes = 0, n_edges = 0
        cdef int sign
        cdef double total = 0, bias = self.bias, score_difference = 0
        cdef int32_t* where = &self.where[0]
        cdef int32_t* where_edge = &self.where_edge[0]
        for l in range(self.n_own[i]):
            if a[l] != b[l]:
                where[n_nodes] = <int32_t> l
                n_nodes += 1
        if n_nodes > MAX_PAIRS:
            return self._accumulated_distance(i, a, b, where, n_nodes, out)
        # sum over pairs (l, m) of <e[a_l] - e[b_l], e[a_m] - e[b_m]> <x_l, x_m>
        for p in range(n_nodes):
            l = where[p]
            total += 2 * (self.square_of(first + l) + bias)
            for q in range(p):
                m = where[q]
                sign = (a[l] == a[m]) - (a[l] == b[m]) - (b[l] == a[m]) + (b[l] == b[m])
                if sign != 0:
                    total += 2 * sign * (
                        sstruct_row_product(&self.rows, first + l, first + m) + bias)
        if self.rows.scores != NULL:
            for p in range(n_nodes):
                l = where[p]
                score_difference += (
                    self.rows.scores[(first + l) * self.KP + a[l]]
                    - self.rows.scores[(first + l) * self.KP + b[l]])
            total += (self.rows.factor * score_difference) ** 2
        if self.boundaries:
            if self.starts_here[i] and a[0] != b[0]:
                total += 2
            if self.ends_here[i] and a[L - 1] != b[L - 1]:
                total += 2
        if self.tied:
            total += self.group_distance(L, a, b)
        elif self.transitions:
            for l in range(1, L):
                if a[l] != b[l] or a[l - 1] != b[l - 1]:
                    where_edge[n_edges] = <int32_t> l
                    n_edges += 1
            total += 2.0 * sstruct_transition_distance(a, b, where_edge, n_edges)
        out[0] = total
        return 0

    cdef double group_distance(
            self, Py_ssize_t L, const int32_t* a, const int32_t* b) noexcept nogil:
        """Return the squared distance between the transition counts of all groups."""
        cdef Py_ssize_t l
        cdef int32_t g
        cdef double total = 0
        cdef const int32_t* both[2]
        cdef const int32_t* code
        both[0], both[1] = a, b
        for l in range(1, L):
            if self.group_of(a, l) >= 0:
                self.group_count[self.group_of(a, l)] += 1
            if self.group_of(b, l) >= 0:
                self.group_count[self.group_of(b, l)] -= 1
        for code in both:
            for l in range(1, L):
                g = self.group_of(code, l)
                if g >= 0:
                    total += <double> self.group_count[g] * self.group_count[g]
                    self.group_count[g] = 0
        return total

    cdef int _accumulated_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, const int32_t* where,
            Py_ssize_t n_nodes, double* out) except -1 nogil:
        """Compute the distance in O(L + entries of differing rows + number of other weights)."""
        cdef Py_ssize_t first = self.start[i], KP = self.KP
        cdef Py_ssize_t l, p, f, at
        cdef double total = 0
        cdef double* sums
        if self.accumulator is None:   # as large as w, so allocated only if needed
            with gil:
                self.accumulator = np.zeros(self.n_weights)
        sums = &self.accumulator[0]
        if a[where[0]] > b[where[0]]:   # the result must not depend on the order
            a, b = b, a
        self.exchange(i, a, b, 1.0, sums)
        # Every modified entry is squared once and reset to zero.
        for p in range(n_nodes):
            l = where[p]
            for f in range(sstruct_row_size(&self.rows, first + l)):
                at = (f if self.rows.indices == NULL
                      else self.rows.indices[self.rows.indptr[first + l] + f]) * KP
                total += sums[at + a[l]] * sums[at + a[l]]
                sums[at + a[l]] = 0
                total += sums[at + b[l]] * sums[at + b[l]]
                sums[at + b[l]] = 0
        for at in range(self.n_features * KP, self.n_weights):
            total += sums[at] * sums[at]
            sums[at] = 0
        out[0] = total
        return 0

    cdef int scatter(
            self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
            double* out) except -1 nogil:
        cdef Py_ssize_t k, l, KP = self.KP
        cdef bint differ, before = False, bounded = out == self.tracked and self.has_edge_bounds
        cdef int32_t* place = &self.place[0]
        cdef int32_t* label = &self.label[0]
        cdef double* change = &self.label_score[0]
        cdef double* edge = out + self.edge_at if self.transitions else NULL
        cdef double* score
        cdef int32_t n_labels, g
        if out == self.tracked:
            self.has_table = False
        for l in range(self.length[i]):
            n_labels = collect_labels(codes, count, l, place, label)
            differ = n_labels > 1
            if differ:
                memset(change, 0, n_labels * sizeof(double))
                for k in range(count):
                    change[place[codes[k][l]]] += coefficient[k]
                self.add_node(i, l, label, change, n_labels, out)
                forget_labels(place, label, n_labels)
            if edge != NULL and l > 0 and (differ or before):
                if not self.tied:
                    for k in range(count):
                        score = edge + codes[k][l - 1] * KP + codes[k][l]
                        score[0] += coefficient[k]
                        if bounded:
                            self.widen(codes[k][l - 1], codes[k][l], score[0])
                elif not self.same_groups(codes, count, l):
                    # In one group, the coefficients cancel out; adding them would leave rounding errors.
                    for k in range(count):
                        g = self.group_of(codes[k], l)
                        if g >= 0:
                            edge[g] += coefficient[k]
            before = differ
        return 0

    cdef void add_node(
            self, Py_ssize_t i, Py_ssize_t l, const int32_t* label, const double* change,
            Py_ssize_t count, double* out) noexcept nogil:
        """Add the joint features of position l with some labels, times `change`, to `out`."""
        cdef Py_ssize_t k
        cdef double* term
        if l == self.n_own[i]:
            return
        add_row_of(self.nodes, &self.rows, self.start[i] + l, label, change, count, out)
        if self.bias:
            term = out + self.bias_at
            for k in range(count):
                term[label[k]] += change[k]
        if self.boundaries and l == 0 and self.starts_here[i]:
            term = out + self.start_at
            for k in range(count):
                term[label[k]] += change[k]
        if self.boundaries and l == self.length[i] - 1 and self.ends_here[i]:
            term = out + self.end_at
            for k in range(count):
                term[label[k]] += change[k]

    cpdef int check_code(self, Py_ssize_t i, const int32_t[::1] code) except -1:
        self.check_node_labels(i, code, self.n_labels)
        cdef Py_ssize_t l, L = self.length[i]
        for l in range(1, L if self.masked else 0):
            if self.edge_penalty[code[l - 1], code[l]] != 0:
                raise ValueError(
                    f"block {i}: a labeling code has labels {code[l - 1]} and {code[l]} at positions "
                    f"{l - 1} and {l}, which edge_mask forbids")
        if (self.starts_here[i] and self.boundary_penalty[0, code[0]] != 0
                or self.ends_here[i] and self.boundary_penalty[1, code[L - 1]] != 0):
            raise ValueError(
                f"block {i}: the first or last label of a labeling code is forbidden by boundary_mask")
        return 0


def max_marginals(ChainProblem problem not None, const double[::1] w):
    """Return the best score through each label for all rows, concatenated over blocks: (N, K)."""
    problem._check_weights(w)
    cdef Py_ssize_t i, l, k, at = 0, K = problem.n_labels, KP = problem.KP
    out = np.empty((int(np.asarray(problem.length).sum()), K))
    cdef double[:, ::1] scores = out
    cdef double[::1] backward = np.empty(2 * KP)
    problem.track(&w[0])
    try:
        with nogil:
            for i in range(problem.n_blocks):
                problem.potentials(i, &w[0], 0.0)
                chain_max_marginals(
                    &problem.theta[0], problem.length[i], K, KP, problem.edge, problem.edge_step,
                    NULL, &problem.best[0], &backward[0], &problem.origin[0])
                for l in range(problem.length[i]):
                    for k in range(K):
                        scores[at + l, k] = problem.best[l * KP + k]
                at += problem.length[i]
    finally:
        problem.track(NULL)
    return out


def chain_top_k(ChainProblem problem not None, const double[::1] w, Py_ssize_t k):
    """Return the best labelings of each block at w, without loss.

    Returns
    -------
    list of (codes, values), one per block
        ndarrays of shape (m, L) of int32 and (m,), best first; m is k, or the number of
        labelings that the masks and known labels allow if that is smaller.

    Raises
    ------
    NoLabelingError
        If the masks and known labels forbid every labeling of a block.
    """
    problem._check_weights(w)
    cdef ChainRanking ranking = ChainRanking()
    cdef double[::1] no_edges = np.zeros(problem.n_labels * problem.KP)
    cdef const double* edge
    cdef Py_ssize_t i, m
    ranked = []
    problem.track(&w[0])
    try:
        for i in range(problem.n_blocks):
            with nogil:
                problem.potentials(i, &w[0], 0.0)
                edge = problem.edge
                if edge == NULL:
                    edge = &no_edges[0]
                m = ranking.rank(
                    &problem.theta[0], problem.length[i], problem.n_labels, problem.KP, edge,
                    problem.edge_step, NULL, k)
            if m == 0:
                raise NoLabelingError(i, problem.length[i])
            ranked.append(ranked_arrays(ranking, m))
    finally:
        problem.track(NULL)
    return ranked
