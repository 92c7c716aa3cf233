# Design:
# (a) A block is one row of features (dense or CSR, float32 or float64) with one label:
#     phi(x, y) = x (x) e[y] and, optionally, a bias per label. A code consists of the label.
# (b) Weights have the layout of a chain's node weights: F x KP, then the bias (KP).
# (c) L_i(y) = c_i cost[truth_i, y]. The squared distance between any two classes is 2 (|x|^2 + bias),
#     computed once per row.
# (d) The arithmetic of a visit takes well under a microsecond, so methods must avoid unnecessary work.
"""Joint feature map, loss and max-oracle of MulticlassSSVM."""

from libc.stdint cimport int32_t

from sstruct._kernels._constants cimport VECTOR_WORK
from sstruct._oracles.core._interval cimport Interval, is_inside
from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems.core._node_weights cimport (
    NodeWeights, add_row_of, some_potentials_of, some_work_of)
from sstruct._problems.core._rows cimport (
    FeatureRows, sstruct_padded, sstruct_row_product, sstruct_row_size, sstruct_rows)

import numpy as np

from sstruct._problems.core._block_problem import batch_size
from sstruct._problems.core._node_arguments import check_labels, of_blocks, padded
from sstruct._problems.core.weight_layout import label_layout


cdef class MulticlassProblem(BlockProblem):
    """One label for each row.

    Parameters
    ----------
    X : ndarray or canonical CSR of shape (n_blocks, n_features)
        Feature rows; contiguous float32 and float64 arrays are not copied.
    labels : array-like of shape (n_blocks,), dtype int32
        True label of each row, 0 ... K - 1.
    n_labels : int
        K.
    cost : array-like of shape (K, K), optional
        Loss of each label, with the truth along rows; zero diagonal, nonnegative. Default: 0 and 1.
    loss_scale : array-like of shape (n_blocks,), optional
        Factor of each block's loss. Default 1.
    bias : bool
        Whether each label has a bias.

    Raises
    ------
    ValueError
        If shapes do not match, or a label is invalid.
    """

    cdef dict arguments
    # Data, shared by forks.
    cdef readonly FeatureRows features
    cdef sstruct_rows rows           # view of `features`, which owns the arrays
    cdef const int32_t[::1] labels
    cdef const double[:, ::1] cost   # K x KP
    cdef const double[::1] loss_scale
    cdef const double[::1] distance  # squared distance between any two classes, for each row
    cdef readonly Py_ssize_t n_labels, n_features
    cdef readonly bint bias
    cdef Py_ssize_t KP, bias_at
    # Scratch memory of this object.
    cdef NodeWeights nodes
    cdef double[::1] theta, lazy_theta
    cdef int32_t[::1] label

    def __init__(self, X, labels, n_labels, *, cost=None, loss_scale=None, bias=True):
        cdef FeatureRows features = FeatureRows(X)
        cdef Py_ssize_t i, n = features.n_rows, K = n_labels
        if n < 1 or K < 1:
            raise ValueError(f"found {n} rows and {K} labels, expected at least one of each")
        labels = check_labels(labels, np.arange(n, dtype=np.int64), np.ones(n, dtype=np.int64), n, K)
        cost = padded(1.0 - np.eye(K) if cost is None else cost, (K, K), sstruct_padded(K), "cost")
        cdef double[::1] distance = np.empty(n)
        for i in range(n):
            distance[i] = 2 * (sstruct_row_product(&features.rows, i, i) + bias)
        self._set(dict(
            X=features, labels=labels, cost=cost, loss_scale=of_blocks(loss_scale, n, np.float64),
            distance=distance, bias=bias))

    def _set(self, arguments):
        cdef FeatureRows features = arguments["X"]
        self.arguments, self.features, self.rows = arguments, features, features.rows
        self.labels, self.cost = arguments["labels"], arguments["cost"]
        self.loss_scale, self.distance = arguments["loss_scale"], arguments["distance"]
        self.n_blocks, self.n_features = features.n_rows, features.n_features
        self.n_labels, self.KP = self.cost.shape[0], self.cost.shape[1]
        self.bias = arguments["bias"]
        self._layout = layout = label_layout(self.n_labels, self.n_features, self.bias)
        self.bias_at, self.n_weights = layout.starts["intercept"], layout.size
        self.max_code_size, self.n_choices = 1, self.n_labels
        self.oracle_work = VECTOR_WORK * self.KP * features.n_stored / self.n_blocks
        self.batch_size = batch_size(self.n_blocks, self.oracle_work)
        self.nodes = NodeWeights(features, self.n_labels)
        self.bounded = self.has_product = self.has_between = True
        self.theta, self.lazy_theta = np.empty((2, self.KP))
        # A working set has each label at most once, but other callers of `scatter` may repeat labels.
        self.label = np.empty(max(self.KP, 64) + 1, dtype=np.int32)

    cpdef BlockProblem fork(self):
        cdef MulticlassProblem other = MulticlassProblem.__new__(MulticlassProblem)
        other._set(self.arguments)
        return other

    def feature_rows(self):
        """Return the rows of features."""
        return [(self.features, np.arange(self.n_blocks))]

    def norms(self):
        """Return |phi|, from rows and biases."""
        return np.sqrt(np.asarray(self.distance) / 2)

    cdef int truth(self, Py_ssize_t i, int32_t* code) except -1 nogil:
        code[0] = self.labels[i]
        return 0

    cdef int potentials(
            self, Py_ssize_t i, const double* w, double loss_weight, double* theta) except -1 nogil:
        """Compute theta = x_i @ W + bias + loss_weight L_i."""
        self.nodes.potentials(
            i, 1, w, w + self.bias_at if self.bias else NULL,
            &self.cost[0, 0] if loss_weight != 0 else NULL, &self.labels[i],
            loss_weight * self.loss_scale[i], loss_weight == 0, theta)
        return 0

    cdef int maximize(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef Py_ssize_t k
        cdef int32_t best = 0
        cdef double* theta = &self.theta[0]
        self.potentials(i, w, loss_weight, theta)
        for k in range(1, self.n_labels):
            if theta[k] > theta[best]:
                best = <int32_t> k
        code[0] = best
        answer.value = theta[best]
        answer.work = 30 + self.nodes.potential_work(w, sstruct_row_size(&self.rows, i))
        answer.exact = True
        return 0

    cdef void track(self, const double* w) noexcept nogil:
        self.nodes.track(w)

    cdef const double* choice_scores(self) noexcept nogil:
        return &self.theta[0]

    cdef int maximize_product(
            self, Py_ssize_t i, const double* w, double margin, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef Py_ssize_t k
        cdef double value, offset, scale = self.loss_scale[i]
        cdef const double* cost = &self.cost[self.labels[i], 0]
        cdef double* theta = &self.theta[0]
        self.potentials(i, w, 0, theta)
        offset = theta[self.labels[i]]
        code[0] = self.labels[i]
        answer.value = 0
        for k in range(self.n_labels):
            value = scale * cost[k] * (margin + theta[k] - offset)
            if value > answer.value:
                answer.value = value
                code[0] = <int32_t> k
        answer.work = 30 + self.KP + VECTOR_WORK * self.KP * sstruct_row_size(&self.rows, i)
        answer.exact = True
        return 0

    cdef int maximize_between(
            self, Py_ssize_t i, const double* w, double loss_weight, double margin,
            const Interval* interval, int32_t* code, OracleAnswer* answer) except -1 nogil:
        cdef Py_ssize_t k
        cdef double h, g, offset
        cdef double* theta = &self.theta[0]
        self.potentials(i, w, 0, theta)
        offset = theta[self.labels[i]]
        answer.found = False
        for k in range(self.n_labels):
            h = margin + theta[k] - offset
            g = self.loss_scale[i] * self.cost[self.labels[i], k]
            if not is_inside(interval, h, g):
                continue
            if not answer.found or h + loss_weight * g > answer.value:
                answer.found = True
                answer.value = h + loss_weight * g
                code[0] = <int32_t> k
        answer.work = 30 + self.KP + VECTOR_WORK * self.KP * sstruct_row_size(&self.rows, i)
        answer.exact = True
        return 0

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        cdef Py_ssize_t k, size
        cdef double* theta = &self.theta[0]
        cdef const double* cost
        cdef double scale
        work[0] += count
        if w != NULL:
            size = sstruct_row_size(&self.rows, i)
            # Without a copy, single columns are read one value at a time, all columns eight at a time.
            if 8 * count < self.KP or self.nodes.copy_of(w) != NULL:
                scale = loss_weight * self.loss_scale[i]
                cost = &self.cost[self.labels[i], 0]
                for k in range(count):
                    self.label[k] = codes[k][0]
                some_potentials_of(self.nodes, &self.rows, i, w, &self.label[0], count, out)
                for k in range(count):
                    out[k] += scale * cost[codes[k][0]]
                    if self.bias:
                        out[k] += w[self.bias_at + codes[k][0]]
                work[0] += some_work_of(self.nodes, &self.rows, i, w, count)
                return 0
            theta = &self.lazy_theta[0]
            self.potentials(i, w, loss_weight, theta)
            work[0] += VECTOR_WORK * self.KP * size
        for k in range(count):
            out[k] = theta[codes[k][0]]
        return 0

    cdef int loss(self, Py_ssize_t i, const int32_t* code, double* out) except -1 nogil:
        out[0] = self.loss_scale[i] * self.cost[self.labels[i], code[0]]
        return 0

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        out[0] = self.distance[i] if a[0] != b[0] else 0
        return 0

    cdef int scatter(
            self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
            double* out) except -1 nogil:
        cdef Py_ssize_t k
        for k in range(count):
            self.label[k] = codes[k][0]
        add_row_of(self.nodes, &self.rows, i, &self.label[0], coefficient, count, out)
        if self.bias:
            for k in range(count):
                out[self.bias_at + codes[k][0]] += coefficient[k]
        return 0

    cpdef int check_code(self, Py_ssize_t i, const int32_t[::1] code) except -1:
        return self.check_node_labels(i, code, self.n_labels)
