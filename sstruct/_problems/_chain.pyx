# Design:
# (a) A block is a chain of L rows of one flat feature array (dense or CSR, float32 or float64):
#     phi(x, y) = sum_l x_l (x) e[y_l], and, where asked for, a bias per label, start and end
#     terms, and transition counts. A code is the L labels.
# (b) Weights are laid out for the oracle, labels padded to KP: node F x KP, then bias, start,
#     end (KP each), then transitions K x KP. `weight_views` names the parts.
# (c) Unlabelled nodes are cut out by the caller; the pieces are blocks without a start or end
#     term at a cut. L(y) = c_i sum_l cost[truth_l, y_l].
# (d) Nothing is stored per labeling: scores and distances look only where labelings differ.
"""Chains: the joint feature map, the loss and the max-oracle of ChainSSVM."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from sstruct._oracles._viterbi cimport chain_max_marginals, viterbi_labels
from sstruct._problems._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems._rows cimport FeatureRows, sstruct_rows

import numpy as np

from sstruct._problems.chain_arguments import check_blocks, check_labels, penalties
from sstruct._problems.node_arguments import fill_views, of_blocks, padded, weight_views

cdef extern from "_kernels.h":
    int64_t sstruct_padded(int64_t K) noexcept nogil
    int64_t sstruct_row_start(const sstruct_rows* rows, int64_t r) noexcept nogil
    int64_t sstruct_row_size(const sstruct_rows* rows, int64_t r) noexcept nogil
    void sstruct_potentials(
        const sstruct_rows* rows, int64_t first, int64_t count, const double* w, int64_t KP,
        const double* bias, const double* cost, const int32_t* truth, double scale,
        double* theta) noexcept nogil
    double sstruct_one_potential(
        const sstruct_rows* rows, int64_t r, const double* w, int64_t KP) noexcept nogil
    void sstruct_move_row(
        const sstruct_rows* rows, int64_t r, double c, int64_t gain, int64_t lose, double* w,
        int64_t KP) noexcept nogil
    double sstruct_row_product(const sstruct_rows* rows, int64_t r, int64_t s) noexcept nogil

# Work of one vectorized multiply-add over labels, in scalar ones (measured with AVX-512).
cdef double VECTOR_WORK = 1.0 / 24
# Oracles that cost less than this are not worth a batch: one call at the current w gains more.
cdef double BATCH_WORK = 20000
# Up to so many differing positions, pairs of rows are multiplied; beyond, planes are added up.
cdef Py_ssize_t MAX_PAIRS = 64


cdef class ChainProblem(BlockProblem):
    """Chains over flat rows.

    Parameters
    ----------
    X : ndarray or canonical CSR of shape (n_rows, n_features)
        Feature rows of all positions; float32 or float64 and contiguous is not copied.
    start, length : array-like of shape (n_blocks,)
        First row and number of rows (at least 1) of each chain.
    n_labels : int
        K.
    labels : array-like of shape (n_rows,), dtype int32, or None
        True label of each row, -1 where no block covers it. None: the problem can only decode.
    cost : array-like of shape (K, K), optional
        Node cost, rows the truth; zero diagonal, nonnegative. Default: 0 and 1 (Hamming).
    loss_scale : array-like of shape (n_blocks,), optional
        Factor of each block's sum of node costs. Default 1.
    starts_here, ends_here : array-like of bool of shape (n_blocks,), optional
        Whether a block has a start and an end term. Default True.
    bias, boundaries, transitions : bool
        Which weights exist beside the node weights.
    edge_mask, boundary_mask : array-like of bool of shape (K, K) and (2, K), optional
        Which transitions are allowed; which labels may start and end a chain.
    """

    def __init__(
            self, X, start, length, n_labels, labels=None, *, cost=None, loss_scale=None,
            starts_here=None, ends_here=None, bias=True, boundaries=True, transitions=True,
            edge_mask=None, boundary_mask=None):
        cdef FeatureRows features = FeatureRows(X)
        cdef Py_ssize_t n, n_rows = features.n_rows, K = n_labels
        self.arguments = dict(
            X=X, start=start, length=length, n_labels=n_labels, labels=labels, cost=cost,
            loss_scale=loss_scale, starts_here=starts_here, ends_here=ends_here, bias=bias,
            boundaries=boundaries, transitions=transitions, edge_mask=edge_mask,
            boundary_mask=boundary_mask)
        self.features, self.rows = features, features.rows
        starts, lengths = check_blocks(start, length, n_rows)
        self.start, self.length = starts, lengths
        n = self.n_blocks = len(starts)
        if K < 1:
            raise ValueError(f"n_labels must be at least 1, found {K}")
        self.n_labels, self.n_features, self.KP = K, features.n_features, sstruct_padded(K)
        self.bias, self.boundaries, self.transitions = bias, boundaries, transitions
        self.max_code_size = int(lengths.max())
        self.bias_at = self.n_features * self.KP
        self.start_at = self.bias_at + bias * self.KP
        self.end_at = self.start_at + boundaries * self.KP
        self.edge_at = self.end_at + boundaries * self.KP
        self.n_weights = self.edge_at + transitions * K * self.KP
        self.has_labels = labels is not None
        self.labels = check_labels(
            np.zeros(n_rows) if labels is None else labels, starts, lengths, n_rows, K)
        self.cost = padded(1.0 - np.eye(K) if cost is None else cost, (K, K), self.KP, "cost")
        self.loss_scale = of_blocks(loss_scale, n, np.float64)
        self.starts_here = of_blocks(starts_here, n, np.uint8)
        self.ends_here = of_blocks(ends_here, n, np.uint8)
        self.masked = edge_mask is not None
        self.edge_penalty = penalties(edge_mask, (K if self.masked else 1, K), self.KP, "edge_mask")
        self.boundary_penalty = penalties(boundary_mask, (2, K), self.KP, "boundary_mask")
        self._set_scratch()
        work = VECTOR_WORK * (
            self.KP * (features.n_stored / max(n_rows, 1) + K) * lengths.mean())
        self.batch_size = 1 if work < BATCH_WORK else max(1, min(32, n // 64))

    def _set_scratch(self):
        size = self.max_code_size * self.KP
        self.theta, self.best = np.empty(size), np.empty(size)
        self.origin = np.empty(size, dtype=np.int32)
        self.table = np.empty(self.n_labels * self.KP if self.masked else 1)
        self.label_score = np.empty(self.KP)
        self.label_seen = np.zeros(self.KP, dtype=np.int32)
        self.where, self.where_edge = np.empty((2, self.max_code_size), dtype=np.int32)
        self.accumulator = None

    cpdef BlockProblem fork(self):
        return ChainProblem(**self.arguments)

    cdef Py_ssize_t code_size(self, Py_ssize_t i) noexcept nogil:
        return self.length[i]

    cdef int truth(self, Py_ssize_t i, int32_t* code) except -1 nogil:
        self.need_labels()
        memcpy(code, &self.labels[self.start[i]], self.length[i] * sizeof(int32_t))
        return 0

    cdef int need_labels(self) except -1 nogil:
        if not self.has_labels:
            with gil:
                raise ValueError("a problem without labels has no truth and no loss")
        return 0

    cdef int potentials(self, Py_ssize_t i, const double* w, double loss_weight) except -1 nogil:
        """theta = B_i^T w + loss_weight * node costs, in scratch; `edge` the transition scores."""
        cdef Py_ssize_t first = self.start[i], L = self.length[i], K = self.n_labels, KP = self.KP
        cdef Py_ssize_t k
        if loss_weight != 0:
            self.need_labels()
        sstruct_potentials(
            &self.rows, first, L, w, KP, w + self.bias_at if self.bias else NULL,
            &self.cost[0, 0] if loss_weight != 0 else NULL, &self.labels[first],
            loss_weight * self.loss_scale[i], &self.theta[0])
        if self.starts_here[i]:
            for k in range(K):
                self.theta[k] += self.boundary_penalty[0, k] + (
                    w[self.start_at + k] if self.boundaries else 0)
        if self.ends_here[i]:
            for k in range(K):
                self.theta[(L - 1) * KP + k] += self.boundary_penalty[1, k] + (
                    w[self.end_at + k] if self.boundaries else 0)
        if not self.masked:
            self.edge = w + self.edge_at if self.transitions else NULL
        else:
            self.edge = &self.table[0]
            for k in range(K * KP):
                self.table[k] = (&self.edge_penalty[0, 0])[k] + (
                    w[self.edge_at + k] if self.transitions else 0)
        return 0

    cdef int maximize(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef Py_ssize_t L = self.length[i], first = self.start[i]
        cdef double n_values
        self.potentials(i, w, loss_weight)
        answer.value = viterbi_labels(
            &self.theta[0], L, self.n_labels, self.KP, self.edge, 0, code, &self.best[0],
            &self.origin[0])
        if answer.value == -INFINITY:
            with gil:
                raise ValueError(f"block {i}: the masks forbid every labelling of {L} positions")
        n_values = sstruct_row_start(&self.rows, first + L) - sstruct_row_start(&self.rows, first)
        answer.work = 100 + 20 * L + VECTOR_WORK * self.KP * (n_values + L * self.n_labels)
        answer.exact = True
        return 0

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        cdef Py_ssize_t L = self.length[i], first = self.start[i], KP = self.KP
        cdef Py_ssize_t k, l
        cdef int32_t y
        cdef bint differ, before = False
        cdef double scale = loss_weight * self.loss_scale[i], value, spent = count * L * 0.5 + 20
        cdef const double* edge
        cdef const double* cost = NULL
        cdef int32_t* seen = &self.label_seen[0]
        cdef double* label_score = &self.label_score[0]
        if w == NULL:
            for k in range(count):
                value = self.theta[codes[k][0]]
                for l in range(1, L):
                    value += self.theta[l * KP + codes[k][l]]
                if self.edge != NULL:
                    for l in range(1, L):
                        value += self.edge[codes[k][l - 1] * KP + codes[k][l]]
                out[k] = value
            work[0] += spent
            return 0
        if scale != 0:
            self.need_labels()
        edge = w + self.edge_at if self.transitions else NULL
        memset(out, 0, count * sizeof(double))
        for l in range(L):
            differ = False
            y = codes[0][l]
            for k in range(1, count):
                if codes[k][l] != y:
                    differ = True
                    break
            if differ:
                if self.token == 0x7fffffff:
                    self.label_seen[:] = 0
                    self.token = 0
                self.token += 1
                if scale != 0:
                    cost = &self.cost[self.labels[first + l], 0]
                for k in range(count):
                    y = codes[k][l]
                    if seen[y] != self.token:
                        seen[y] = self.token
                        value = sstruct_one_potential(&self.rows, first + l, w + y, KP)
                        spent += sstruct_row_size(&self.rows, first + l)
                        if self.bias:
                            value += w[self.bias_at + y]
                        if self.boundaries:
                            if l == 0 and self.starts_here[i]:
                                value += w[self.start_at + y]
                            if l == L - 1 and self.ends_here[i]:
                                value += w[self.end_at + y]
                        if scale != 0:
                            value += scale * cost[y]
                        label_score[y] = value
                    out[k] += label_score[y]
                spent += 2 * count
            if edge != NULL and l > 0 and (differ or before):
                for k in range(count):
                    out[k] += edge[codes[k][l - 1] * KP + codes[k][l]]
                spent += count
            before = differ
        work[0] += spent
        return 0

    cdef int loss(self, Py_ssize_t i, const int32_t* code, double* out) except -1 nogil:
        cdef Py_ssize_t l, first = self.start[i]
        cdef double total = 0
        self.need_labels()
        for l in range(self.length[i]):
            total += self.cost[self.labels[first + l], code[l]]
        out[0] = self.loss_scale[i] * total
        return 0

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        cdef Py_ssize_t L = self.length[i], first = self.start[i]
        cdef Py_ssize_t l, m, p, q, n_nodes = 0, n_edges = 0
        cdef int sign
        cdef double total = 0, bias = self.bias
        cdef int32_t* where = &self.where[0]
        cdef int32_t* where_edge = &self.where_edge[0]
        for l in range(L):
            if a[l] != b[l]:
                where[n_nodes] = <int32_t> l
                n_nodes += 1
        if n_nodes > MAX_PAIRS:
            return self._accumulated_distance(i, a, b, where, n_nodes, out)
        # sum over pairs (l, m) of <e[a_l] - e[b_l], e[a_m] - e[b_m]> <x_l, x_m>
        for p in range(n_nodes):
            l = where[p]
            total += 2 * (sstruct_row_product(&self.rows, first + l, first + l) + bias)
            for q in range(p):
                m = where[q]
                sign = (a[l] == a[m]) - (a[l] == b[m]) - (b[l] == a[m]) + (b[l] == b[m])
                if sign != 0:
                    total += 2 * sign * (
                        sstruct_row_product(&self.rows, first + l, first + m) + bias)
        if self.boundaries:
            if self.starts_here[i] and a[0] != b[0]:
                total += 2
            if self.ends_here[i] and a[L - 1] != b[L - 1]:
                total += 2
        if self.transitions:
            for l in range(1, L):
                if a[l] != b[l] or a[l - 1] != b[l - 1]:
                    where_edge[n_edges] = <int32_t> l
                    n_edges += 1
            for p in range(n_edges):
                l = where_edge[p]
                total += 2
                for q in range(p):
                    m = where_edge[q]
                    total += 2 * (
                        (a[l] == a[m] and a[l - 1] == a[m - 1])
                        - <int> (a[l] == b[m] and a[l - 1] == b[m - 1])
                        - <int> (b[l] == a[m] and b[l - 1] == a[m - 1])
                        + <int> (b[l] == b[m] and b[l - 1] == b[m - 1]))
        out[0] = total
        return 0

    cdef int _accumulated_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, const int32_t* where,
            Py_ssize_t n_nodes, double* out) except -1 nogil:
        """The same for labelings that differ in many places: linear in their number."""
        cdef Py_ssize_t first = self.start[i], KP = self.KP
        cdef Py_ssize_t l, p, f, size, at
        cdef double total = 0
        cdef double* sums
        if self.accumulator is None:   # as large as w, so only where it is wanted
            with gil:
                self.accumulator = np.zeros(self.n_weights)
        sums = &self.accumulator[0]
        self.scatter(i, a, b, 1.0, sums)
        # Every touched entry is squared once and put back to zero.
        for p in range(n_nodes):
            l = where[p]
            size = sstruct_row_size(&self.rows, first + l)
            for f in range(size):
                at = (f if self.rows.indices == NULL
                      else self.rows.indices[self.rows.indptr[first + l] + f]) * KP
                total += sums[at + a[l]] * sums[at + a[l]]
                sums[at + a[l]] = 0
                total += sums[at + b[l]] * sums[at + b[l]]
                sums[at + b[l]] = 0
        for at in range(self.bias_at, self.n_weights):
            total += sums[at] * sums[at]
            sums[at] = 0
        out[0] = total
        return 0

    cdef int scatter(
            self, Py_ssize_t i, const int32_t* gain, const int32_t* lose, double c,
            double* out) except -1 nogil:
        cdef Py_ssize_t L = self.length[i], first = self.start[i], KP = self.KP
        cdef Py_ssize_t l
        cdef bint differ, before = False
        for l in range(L):
            differ = gain[l] != lose[l]
            if differ:
                sstruct_move_row(&self.rows, first + l, c, gain[l], lose[l], out, KP)
                if self.bias:
                    out[self.bias_at + gain[l]] += c
                    out[self.bias_at + lose[l]] -= c
            if self.transitions and l > 0 and (differ or before):
                out[self.edge_at + gain[l - 1] * KP + gain[l]] += c
                out[self.edge_at + lose[l - 1] * KP + lose[l]] -= c
            before = differ
        if self.boundaries:
            if self.starts_here[i] and gain[0] != lose[0]:
                out[self.start_at + gain[0]] += c
                out[self.start_at + lose[0]] -= c
            if self.ends_here[i] and gain[L - 1] != lose[L - 1]:
                out[self.end_at + gain[L - 1]] += c
                out[self.end_at + lose[L - 1]] -= c
        return 0

    cpdef int check_code(self, Py_ssize_t i, const int32_t[::1] code) except -1:
        BlockProblem.check_code(self, i, code)
        for k in range(code.shape[0]):
            if not 0 <= code[k] < self.n_labels:
                raise ValueError(f"block {i}: label {code[k]} at position {k} of a labeling code")
        return 0

    def weight_views(self, w):
        """Name the parts of a weight vector in this problem's layout; see `node_arguments`."""
        self._check_weights(w)
        terms = (self.bias, self.boundaries, self.transitions)
        return weight_views(w, self.n_labels, self.n_features, terms)

    def padded_weights(self, public):
        """Return weights in this problem's layout from those one after another."""
        w = np.zeros(self.n_weights)
        fill_views(self.weight_views(w), public)
        return w

    def max_marginals(self, const double[::1] w):
        """Return, for each row of each block in turn, the best score through each label: (N, K)."""
        self._check_weights(w)
        cdef Py_ssize_t i, l, k, at = 0, K = self.n_labels, KP = self.KP
        out = np.empty((int(np.asarray(self.length).sum()), K))
        cdef double[:, ::1] scores = out
        cdef double[::1] backward = np.empty(2 * KP)
        with nogil:
            for i in range(self.n_blocks):
                self.potentials(i, &w[0], 0.0)
                chain_max_marginals(
                    &self.theta[0], self.length[i], K, KP, self.edge, 0, &self.best[0],
                    &backward[0], &self.origin[0])
                for l in range(self.length[i]):
                    for k in range(K):
                        scores[at + l, k] = self.best[l * KP + k]
                at += self.length[i]
        return out
