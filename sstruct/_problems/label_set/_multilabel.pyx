# Design:
# (a) A block is one row of features (dense or CSR, float32 or float64) with a set of K labels:
#     phi(x, q) = x (x) q, a bias per label, and for every edge (u, v) the mass of the outcome (1, 1)
#     ("and") or of all four outcomes ("full"). A code has twice the value of each label
#     (_oracles/label_set/_codes.pxd): a relaxed decoder may return halves, and everything here is linear
#     in q and in the masses.
# (b) Weights have the layout that the kernels need, with labels padded to KP: F x KP, then bias (KP), then
#     one or four numbers per edge (00, 01, 10, 11), without padding.
# (c) The decoder uses sum_k theta_k q_k + sum_e pair_e q_e(1, 1): tables of four outcomes are converted to
#     this form, which results in a constant and adds to node scores.
# (d) L_i(q) = sum_k c_k |q_k - y_k|, over the labels that count in the row's loss. True labels are
#     stored as lists, since most of thousands of labels are off.
# (e) A label that is known to be on or off gets a score that exceeds the sum of its edge scores, but is of
#     the magnitude of the other scores, so that rounding errors remain small. The caller completes known
#     labels of a hierarchy.
# (f) Squared distances: |x|^2 times the squared change of q, plus that of edges, independent of weights.
"""Joint feature map, loss and max-oracle of MultilabelSSVM."""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from sstruct._kernels._constants cimport VECTOR_WORK
from sstruct._oracles.core._interval cimport Interval
from sstruct._kernels._random cimport Random
from sstruct._oracles.label_set._set_decoder cimport LabelAnswer, LabelDecoder, LabelLoss
from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems.core._range cimport check_scores
from sstruct._problems.label_set._label_edges cimport add_edges, edge_distance, edge_scores
from sstruct._problems.core._rows cimport (
    FeatureRows, add_scores, add_some_scores, collect_scores, row_potentials, some_potentials,
    sstruct_add_row, sstruct_padded, sstruct_row_product, sstruct_row_size)

import numpy as np

from sstruct._problems.core._block_problem import batch_size
from sstruct._problems.core._node_arguments import check_in_loss, check_known
from sstruct._problems.label_set.label_set_arguments import (
    check_label_lists, check_label_costs, label_set_layout)


cdef class MultilabelProblem(BlockProblem):
    """One set of labels for each row.

    Parameters
    ----------
    X : ndarray or canonical CSR of shape (n_blocks, n_features), or FeatureRows
        Feature rows; contiguous float32 and float64 arrays are not copied.
    labels : tuple of (first, labels) or None
        Row i has the labels ``labels[first[i]:first[i + 1]]``, ascending, each 0 ... K - 1. None for
        prediction only.
    decoder : LabelDecoder
        For K labels and the model's edges.
    full : bool
        Whether all four outcomes of an edge have weights, or only (1, 1).
    cost : array-like of shape (2, K), optional
        Cost of an error at each label if it is off and if it is on; nonnegative. Default 1.
    bias : bool
        Whether each label has a bias.
    known : array-like of int of shape (n_blocks, K), optional
        1 if a label must be on, 0 if it must be off, -1 if it is unknown. For decoding only: the
        working sets of training ignore it. In a hierarchy, it must include the ancestors of labels
        that are on and the descendants of labels that are off.
    in_loss : array-like of bool of shape (n_blocks, K), optional
        Which labels of a row count in its loss. Default: all.

    Raises
    ------
    ValueError
        If shapes do not match, a label is invalid, or the labels of a row are not a set that the
        decoder can return.
    """

    def __init__(
            self, X, labels, decoder, *, full=False, cost=None, bias=True, known=None,
            in_loss=None):
        cdef FeatureRows features = X if isinstance(X, FeatureRows) else FeatureRows(X)
        cdef Py_ssize_t i, n = features.n_rows, K = decoder.n_labels
        if n < 1:
            raise ValueError("found 0 rows, expected at least one")
        if features.n_scores not in (0, K):
            raise ValueError(f"found scores of {features.n_scores} labels, expected {K}")
        cdef double[::1] squared_norm = np.empty(n)
        for i in range(n):
            squared_norm[i] = sstruct_row_product(&features.rows, i, i) + bool(bias)
        cost = check_label_costs(cost, K)
        self._set(dict(
            X=features, labels=None if labels is None else check_label_lists(*labels, n, K),
            decoder=decoder, full=bool(full), cost=cost, bias=bool(bias), squared_norm=squared_norm,
            uniform=bool((cost == cost[0, 0]).all() and cost[0, 0] > 0 and in_loss is None),
            has_unscored=in_loss is not None, in_loss=check_in_loss(in_loss, (n, K)),
            known=None if known is None else check_known(known, (n, K), 2)))
        if self.has_labels:
            for i in range(n):
                self.check_code(i, self.true_code(i))

    def _set(self, arguments):
        """Set validated arguments."""
        cdef FeatureRows features = arguments["X"]
        cdef LabelDecoder decoder = arguments["decoder"]
        cdef Py_ssize_t n = features.n_rows, K = decoder.n_labels
        self.arguments, self.features, self.rows = arguments, features, features.rows
        self.decoder, self.n_edges = decoder, decoder.n_edges
        self.has_labels = arguments["labels"] is not None
        if self.has_labels:
            self.first_on, self.on = arguments["labels"]
        else:
            self.first_on, self.on = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int32)
        self.full, self.bias, self.cost = arguments["full"], arguments["bias"], arguments["cost"]
        self.has_known = arguments["known"] is not None
        self.known = arguments["known"] if self.has_known else np.zeros((1, 1), dtype=np.int32)
        self.has_unscored, self.in_loss = arguments["has_unscored"], arguments["in_loss"]
        self.uniform, self.squared_norm = arguments["uniform"], arguments["squared_norm"]
        self.n_blocks, self.n_labels, self.n_features = n, K, features.n_features
        self.KP = sstruct_padded(K)
        self.model.edges, self.model.n_labels = &decoder.edges[0, 0], K
        self.model.full, self.model.relaxed = self.full, decoder.relaxed
        self.outcomes = 4 if self.full else 1
        self._layout = layout = label_set_layout(
            K, self.n_features, self.bias, self.n_edges, self.full, features.n_scores > 0)
        self.bias_at, self.edge_at = layout.starts["intercept"], layout.starts["edge"]
        self.n_weights = layout.size
        self.max_code_size = decoder.code_size
        self.has_product = decoder.has_product and (self.uniform or not decoder.counts_errors)
        self.has_between = decoder.has_between
        self.bounded = True
        self.oracle_work = self.product_work = (
            VECTOR_WORK * self.KP * features.n_stored / n + self.outcomes * self.n_edges)
        self.oracle_work += decoder.work
        self.batch_size = batch_size(n, self.oracle_work)
        self.product_work += decoder.product_work
        self.theta, self.lazy_theta, self.change = np.zeros((3, max(self.KP, K)))
        self.pair = np.zeros(max(self.n_edges, 1))
        self.label_loss, self.reach = np.zeros((2, K)), np.zeros(K)
        self.differs, self.occurs, self.label = np.zeros((3, K), dtype=np.int32)
        self.edge = np.zeros(max(self.n_edges, 1), dtype=np.int32)
        self.truth_code = np.zeros(self.max_code_size, dtype=np.int32)

    cpdef BlockProblem fork(self):
        cdef MultilabelProblem other = MultilabelProblem.__new__(MultilabelProblem)
        other._set({**self.arguments, "decoder": self.decoder.fork()})
        return other

    def feature_rows(self):
        """Return the rows of features."""
        return [(self.features, np.arange(self.n_blocks))]

    def norms(self):
        """Return upper bounds of |phi|: a row, a bias and a score for each label, and all edges."""
        # sum_k |w_k| <= sqrt(K) |w|
        norms = np.sqrt(self.n_labels * np.asarray(self.squared_norm)) + self.n_edges**0.5
        if self.features.scores is not None:
            norms += np.abs(self.features.scores).sum(axis=1)
        return norms

    cdef int truth(self, Py_ssize_t i, int32_t* code) except -1 nogil:
        cdef Py_ssize_t at
        self.need_labels()
        memset(code, 0, self.max_code_size * sizeof(int32_t))
        for at in range(self.first_on[i], self.first_on[i + 1]):
            code[self.on[at]] = 2
        return 0

    cdef void node_scores(self, Py_ssize_t i, const double* w, double* theta) noexcept nogil:
        """Compute theta = x_i @ W + bias, plus the weighted scores of the labels."""
        row_potentials(
            &self.rows, i, 1, w, self.KP, w + self.bias_at if self.bias else NULL, NULL, NULL, 0,
            theta)
        if self.rows.scores != NULL:
            add_scores(&self.rows, i, 1, w, self.n_labels, self.KP, theta)

    cdef int potentials(self, Py_ssize_t i, const double* w, double loss_weight) except -1 nogil:
        """Set `theta`, `pair` and `constant` to the scores, plus loss_weight times the loss, of sets."""
        cdef Py_ssize_t k, e, at
        cdef double total = 0
        cdef const double* v = w + self.edge_at
        cdef double* theta = &self.theta[0]
        cdef const int32_t* edge = &self.decoder.edges[0, 0]
        self.node_scores(i, w, theta)
        self.constant = 0
        if self.full:
            for e in range(self.n_edges):
                theta[edge[2 * e]] += v[2] - v[0]
                theta[edge[2 * e + 1]] += v[1] - v[0]
                self.pair[e] = (v[3] - v[1]) - (v[2] - v[0])
                self.constant += v[0]
                v += 4
        else:
            memcpy(&self.pair[0], v, self.n_edges * sizeof(double))
        if self.has_known:
            self.force_known(i)
        for k in range(self.n_labels):
            total += fabs(theta[k])
        for e in range(self.n_edges):
            total += fabs(self.pair[e])
        check_scores(i, total)
        if loss_weight == 0:
            return 0
        self.need_labels()
        for k in range(self.n_labels):
            self.lazy_theta[k] = loss_weight * self.cost[0, k] if counts(self, i, k) else 0
        for at in range(self.first_on[i], self.first_on[i + 1]):
            k = self.on[at]
            if counts(self, i, k):
                self.lazy_theta[k] = -loss_weight * self.cost[1, k]
                self.constant += loss_weight * self.cost[1, k]
        for k in range(self.n_labels):
            theta[k] += self.lazy_theta[k]
        return 0

    cdef void force_known(self, Py_ssize_t i) noexcept nogil:
        """Set theta of known labels to more than all of their edges if on, and to minus that if off.

        Uses twice the largest sum of edge scores at a label plus the largest score: this has the magnitude
        of the other scores, and the result is exact, since the other labels depend on the value of a known
        label, not on its score. With constraints, a label can determine all others; twice the sum of all
        scores is then used.
        """
        cdef Py_ssize_t k, e
        cdef const int32_t* edge = &self.decoder.edges[0, 0]
        cdef double size, most = 0, widest = 0, total = 0
        for k in range(self.n_labels):
            self.reach[k] = 0
            most = max(most, fabs(self.theta[k]))
            total += fabs(self.theta[k])
        for e in range(self.n_edges):
            size = fabs(self.pair[e])
            self.reach[edge[2 * e]] += size
            self.reach[edge[2 * e + 1]] += size
            total += size
        for k in range(self.n_labels):
            widest = max(widest, self.reach[k])
        size = most + 2 * widest if self.decoder.constraints is None else 2 * total
        if size == 0:
            size = 1
        for k in range(self.n_labels):
            if self.known[i, k] >= 0:
                self.theta[k] = size if self.known[i, k] else -size

    cdef int maximize(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef LabelAnswer found
        self.potentials(i, w, loss_weight)
        self.decoder.maximize(&self.theta[0], &self.pair[0], code, &found)
        answer.value = self.constant + self.decoder.score(&self.theta[0], &self.pair[0], code)
        answer.exact = found.exact
        answer.bound = answer.value if found.exact else max(
            self.constant + found.bound, answer.value)
        answer.work = (
            30 + found.work + VECTOR_WORK * self.KP * sstruct_row_size(&self.rows, i)
            + self.outcomes * self.n_edges)
        return 0

    cdef Py_ssize_t n_values(self, Py_ssize_t i) noexcept nogil:
        return self.n_labels

    cdef double log_partition(
            self, Py_ssize_t i, const double* w, double scale, const int32_t* known) except? -1 nogil:
        """Requires a decoder whose sums are exact."""
        self.potentials(i, w, 0)
        cdef double value = self.decoder.log_partition(&self.theta[0], &self.pair[0], known, scale)
        return value + scale * self.constant

    cdef int probabilities(self, double* out) except -1 nogil:
        return self.decoder.probabilities(out)

    cdef int sample(self, Random* random, int32_t* labels) except -1 nogil:
        return self.decoder.sample(random, labels)

    cdef double prepare_product(
            self, Py_ssize_t i, const double* w, double margin,
            LabelLoss* loss) except? -1 nogil:
        """Set potentials, truth and loss; return margin - f(truth), the decoder's offset."""
        cdef Py_ssize_t k
        self.potentials(i, w, 0)
        self.truth(i, &self.truth_code[0])
        for k in range(self.n_labels):
            self.label_loss[0, k], self.label_loss[1, k] = 0, self.cost[0, k]
            if not counts(self, i, k):
                self.label_loss[1, k] = 0
            elif self.truth_code[k] != 0:
                self.label_loss[0, k], self.label_loss[1, k] = self.cost[1, k], 0
        loss.truth = &self.truth_code[0]
        loss.off, loss.on = &self.label_loss[0, 0], &self.label_loss[1, 0]
        loss.unit = self.cost[0, 0] if self.uniform else 0
        return margin - self.decoder.score(&self.theta[0], &self.pair[0], &self.truth_code[0])

    cdef int maximize_product(
            self, Py_ssize_t i, const double* w, double margin, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef LabelLoss loss
        cdef LabelAnswer found
        cdef double of_loss, offset = self.prepare_product(i, w, margin, &loss)
        self.decoder.maximize_product(
            &self.theta[0], &self.pair[0], &loss, offset, code, &found)
        self.loss(i, code, &of_loss)
        answer.value = of_loss * (
            offset + self.decoder.score(&self.theta[0], &self.pair[0], code))
        answer.bound = answer.value
        answer.exact = found.exact
        answer.work = found.work + self.oracle_work - self.decoder.work
        return 0

    cdef int maximize_between(
            self, Py_ssize_t i, const double* w, double loss_weight, double margin,
            const Interval* interval, int32_t* code, OracleAnswer* answer) except -1 nogil:
        cdef LabelLoss loss
        cdef LabelAnswer decoded
        cdef double of_loss, offset = self.prepare_product(i, w, margin, &loss)
        self.decoder.maximize_between(
            &self.theta[0], &self.pair[0], &loss, offset, loss_weight, interval, code, &decoded)
        answer.value, answer.found = 0, decoded.found
        if answer.found:
            self.loss(i, code, &of_loss)
            answer.value = (
                offset + self.decoder.score(&self.theta[0], &self.pair[0], code)
                + loss_weight * of_loss)
        answer.bound = answer.value
        answer.exact = decoded.exact
        answer.work = decoded.work + self.oracle_work - self.decoder.work
        return 0

    cdef void compare(
            self, const int32_t** codes, Py_ssize_t count, Py_ssize_t* n_labels,
            Py_ssize_t* n_edges) noexcept nogil:
        """List the labels (`label`) and the edges (`edge`) at which labelings differ."""
        # Both lists are written without branches, which the processor could not predict.
        cdef Py_ssize_t k, u, e, of_labels = 0, of_edges = 0, K = self.n_labels
        cdef int32_t v, either
        cdef bint full = self.full, is_half
        cdef int32_t* differs = &self.differs[0]
        cdef int32_t* occurs = &self.occurs[0]
        cdef int32_t* label = &self.label[0]
        cdef int32_t* listed = &self.edge[0]
        cdef const int32_t* code = codes[0]
        cdef const int32_t* edge = &self.decoder.edges[0, 0]
        for u in range(K):
            differs[u], occurs[u] = 0, code[u]
        for k in range(1, count):
            for u in range(K):
                differs[u] |= codes[k][u] ^ code[u]
                occurs[u] |= codes[k][u]
        for u in range(K):
            label[of_labels] = <int32_t> u
            of_labels += differs[u] != 0
            # The outcome (1, 1) does not occur if a label is off in all labelings.
            if not full and not occurs[u]:
                continue
            # If both labels are 1/2, labelings may differ only in the edge.
            is_half = self.decoder.relaxed and code[u] == 1
            for e in range(self.decoder.first[u], self.decoder.first[u + 1]):
                v = edge[2 * e + 1]
                either = differs[u] | differs[v] | (is_half & (code[v] == 1))
                listed[of_edges] = <int32_t> e
                of_edges += (either != 0) & (full | (occurs[v] != 0))
        n_labels[0], n_edges[0] = of_labels, of_edges

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        cdef Py_ssize_t k, j, at, n_labels, n_edges
        cdef double* theta = &self.lazy_theta[0]
        cdef double total
        cdef int32_t* label = &self.label[0]
        work[0] += 10 + 0.2 * count * self.n_labels
        if w == NULL:
            for k in range(count):
                out[k] = self.constant + self.decoder.score(
                    &self.theta[0], &self.pair[0], codes[k])
            work[0] += 0.1 * count * self.n_edges
            return 0
        self.compare(codes, count, &n_labels, &n_edges)
        # Single columns are read one value at a time, all columns eight at a time.
        if 8 * n_labels < self.KP:
            some_potentials(&self.rows, i, w, self.KP, label, n_labels, &self.change[0])
            if self.rows.scores != NULL:
                add_some_scores(&self.rows, i, w, self.KP, label, n_labels, &self.change[0])
            for j in range(n_labels):
                theta[label[j]] = self.change[j] + (w[self.bias_at + label[j]] if self.bias else 0)
            work[0] += n_labels * sstruct_row_size(&self.rows, i)
        else:
            self.node_scores(i, w, theta)
            work[0] += VECTOR_WORK * self.KP * sstruct_row_size(&self.rows, i)
        if loss_weight != 0:
            self.need_labels()
            for j in range(n_labels):
                if counts(self, i, label[j]):
                    theta[label[j]] += loss_weight * self.cost[0, label[j]]
            for at in range(self.first_on[i], self.first_on[i + 1]):
                k = self.on[at]
                if self.differs[k] and counts(self, i, k):
                    theta[k] -= loss_weight * (self.cost[0, k] + self.cost[1, k])
        for k in range(count):
            total = 0
            for j in range(n_labels):
                total += codes[k][label[j]] * theta[label[j]]
            total += edge_scores(
                &self.model, codes[k], &self.edge[0], n_edges, w + self.edge_at)
            out[k] = 0.5 * total
        work[0] += count * (n_labels + 2 * self.outcomes * n_edges)
        return 0

    cdef int loss(self, Py_ssize_t i, const int32_t* code, double* out) except -1 nogil:
        cdef Py_ssize_t k, at
        cdef double total = 0
        self.need_labels()
        # Summed in the order of labels, so that equal sets have equal bits; exactly 0 for the truth.
        at = self.first_on[i]
        for k in range(self.n_labels):
            if at < self.first_on[i + 1] and self.on[at] == k:
                total += self.cost[1, k] * (2 - code[k]) if counts(self, i, k) else 0
                at += 1
            elif counts(self, i, k):
                total += self.cost[0, k] * code[k]
        out[0] = 0.5 * total
        return 0

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        cdef Py_ssize_t j, n_labels, n_edges
        cdef int64_t change, of_labels = 0, of_edges
        cdef double of_scores = 0
        cdef const int32_t* codes[2]
        codes[0], codes[1] = a, b
        self.compare(codes, 2, &n_labels, &n_edges)
        for j in range(n_labels):
            change = a[self.label[j]] - b[self.label[j]]
            of_labels += change * change
            if self.rows.scores != NULL:
                of_scores += change * self.rows.scores[i * self.KP + self.label[j]]
        of_edges = edge_distance(&self.model, a, b, &self.edge[0], n_edges)
        out[0] = 0.25 * (self.squared_norm[i] * of_labels + of_edges + of_scores * of_scores)
        return 0

    cdef int scatter(
            self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
            double* out) except -1 nogil:
        cdef Py_ssize_t k, j, n_labels, n_edges
        cdef double* change = &self.change[0]
        cdef int32_t* label = &self.label[0]
        self.compare(codes, count, &n_labels, &n_edges)
        # Changes relative to the first labeling, since the coefficients sum to zero.
        for j in range(n_labels):
            change[j] = 0
            for k in range(1, count):
                change[j] += 0.5 * coefficient[k] * (codes[k][label[j]] - codes[0][label[j]])
            if self.bias:
                out[self.bias_at + label[j]] += change[j]
        sstruct_add_row(&self.rows, i, label, change, n_labels, out, self.KP)
        if self.rows.scores != NULL:
            collect_scores(&self.rows, i, label, change, n_labels, out, self.KP)
        add_edges(
            &self.model, codes, coefficient, count, &self.edge[0], n_edges, out + self.edge_at)
        return 0

    cpdef int check_code(self, Py_ssize_t i, const int32_t[::1] code) except -1:
        BlockProblem.check_code(self, i, code)
        try:
            self.decoder.check_code(code)
        except ValueError as error:
            raise ValueError(f"block {i}: {error}") from None
        return 0


cdef inline bint counts(MultilabelProblem problem, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
    """Whether a label counts in the loss of a row."""
    return not problem.has_unscored or problem.in_loss[i, k]


def label_marginals(MultilabelProblem problem not None, const double[::1] w):
    """Return, for each row and label, the best score with the label on minus that with it off: (n, K)."""
    problem._check_weights(w)
    cdef Py_ssize_t i
    out = np.empty((problem.n_blocks, problem.n_labels))
    cdef double[:, ::1] values = out
    with nogil:
        for i in range(problem.n_blocks):
            problem.potentials(i, &w[0], 0.0)
            problem.decoder.marginals(&problem.theta[0], &problem.pair[0], &values[i, 0])
    return out
