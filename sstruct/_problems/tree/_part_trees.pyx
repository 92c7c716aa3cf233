# Design:
# (a) A block is a tree of P parts; part p has its own states, which are rows of one flat feature
#     array: phi(x, y) = sum_p x_{p, y_p} (x) e[p, type] plus, for each edge of the tree, minus
#     (dx^2, dx, dy^2, dy) of the child's place from its parent's, the pair score where there are
#     any, and the pair of types. A code is the P states.
# (b) Places are listed (candidates) or those of score maps: state = type * H * W + y * W + x.
# (c) Parts that are not annotated leave the block with their edges, so that a child of such a part
#     is a root there: their code is -1. A problem without labels has all parts.
#     Both are divided by the block's unit.
# (d) L(y) = c_i sum_p cost_p(y_p), the cost either [y_p wrong] or min(1, squared distance):
#     computed where it is needed, as are scores and distances of labelings.
# (e) The max-oracle is TreeProblem's (_tree.pyx).
"""Trees of parts: the joint feature map and the loss of TreeSSVM."""

from libc.stdint cimport int32_t
from libc.string cimport memcpy

from sstruct._kernels._constants cimport PAIR_WORK, TRANSFORM_WORK
from sstruct._problems.core._block_problem cimport BlockProblem
from sstruct._problems.core._rows cimport (
    FeatureRows, sstruct_add_row, sstruct_row_product, sstruct_some_potentials)

import numpy as np

from sstruct._oracles.tree._max_sum import parents_first
from sstruct._problems.core._block_problem import batch_size
from sstruct._problems.core.node_arguments import of_blocks
from sstruct._problems.tree.arguments import (
    TreeModel, check_labels, check_pair_scores, check_places, check_start, n_origins)

# The kernels know rows of labels: a vector is one label.
cdef int32_t ONE_LABEL = 0


cdef class PartTrees(BlockProblem):
    """Trees of parts over flat rows: everything but the max-oracle.

    Parameters
    ----------
    X : ndarray or canonical CSR of shape (n_rows, n_features), or FeatureRows
        A row of features a state; float32 or float64 and contiguous is not copied.
    states : TreeStates
    parents : array-like of int of shape (n_parts,)
        -1 at a root.
    labels : array-like of int of shape (n_blocks, n_parts), or None
        True states, -1 where a part is not annotated. None: the problem can only decode.
    loss_scale : array-like of shape (n_blocks,), optional
        Factor of each block's sum of costs. Default 1.
    by_distance : bool
        Whether a part costs min(1, squared distance); otherwise a wrong state costs 1.
    bias : bool
        Whether each type of a part has a bias.
    """

    def __init__(
            self, X, states, parents, labels=None, *, loss_scale=None, by_distance=False,
            bias=True):
        cdef FeatureRows features = X if isinstance(X, FeatureRows) else FeatureRows(X)
        self.arguments = dict(
            X=features, states=states, parents=parents, labels=labels, loss_scale=loss_scale,
            by_distance=by_distance, bias=bias)
        if states.n_types < 1:
            raise ValueError(f"n_types must be at least 1, found {states.n_types}")
        self.maps, self.pairs = states.shape is not None, states.pair_scores is not None
        if self.maps and self.pairs:
            raise ValueError("pair_scores go with positions, not with maps")
        self.features, self.rows = features, features.rows
        tree, order = parents_first(parents)
        P, T = len(tree), states.n_types
        begins = check_start(states.start, P, features.n_rows, T)
        n = len(begins)
        self.n_blocks, self.n_parts, self.n_types, self.max_code_size = n, P, T, P
        self.n_features = features.n_features
        self.parents, self.order, self.start = tree, order, begins
        self.has_labels = labels is not None
        self.labels = (
            np.zeros((n, P), dtype=np.int32) if labels is None else check_labels(labels, begins))
        self.shape, self.positions = check_places(
            states.shape, states.positions, begins, features.n_rows, T)
        self.pair_scores, self.pair_start = check_pair_scores(
            states.pair_scores, states.pair_start, begins, tree)
        self.loss_scale = of_blocks(loss_scale, n, np.float64)
        self.by_distance = by_distance
        unit = of_blocks(states.unit, n, np.float64)
        if not (unit > 0).all():
            raise ValueError("unit must be positive")
        self.per_unit = 1 / unit
        self.bias = bias and T > 1
        self.model = TreeModel(P, self.n_features, T, bool(bias), bool(self.pairs))
        self.n_edge_features = 4 + self.pairs
        self.bias_at = P * T * self.n_features
        self.edge_at = self.bias_at + self.bias * P * T
        self.type_at = self.edge_at + P * T * self.n_edge_features
        self.n_weights = self.type_at + (T > 1) * P * T * T
        self._set_scratch()
        sizes = np.diff(begins, axis=1)
        pairs = (sizes[:, tree[tree >= 0]] * sizes[:, tree >= 0]).sum()
        edges = TRANSFORM_WORK * sizes.sum() if self.maps else PAIR_WORK * pairs
        self.oracle_work = (features.n_stored / 8 + edges) / n
        self.batch_size = batch_size(n, self.oracle_work)

    def _set_scratch(self):
        P = self.n_parts
        start = np.asarray(self.start)
        S, total = int(np.diff(start, axis=1).max()), int((start[:, P] - start[:, 0]).max())
        self.begin, self.message_at = np.zeros((2, P + 1), dtype=np.int64)
        self.parent = np.empty(P, dtype=np.int32)
        self.theta, self.belief = np.empty((2, total))
        self.edge_weights = np.zeros(self.n_weights - self.edge_at)
        size = n_origins(start, np.asarray(self.parents))
        self.message, self.origin = np.empty(size), np.empty(size, dtype=np.int32)
        self.shifted, self.shifted_from = np.empty(S), np.empty(S, dtype=np.int32)
        shape = np.asarray(self.shape)
        size = S   # a row of a table; or costs of a map, and what a transform wants
        if self.maps:
            size = int((shape.prod(axis=1) + (shape[:, 0] + 3) * shape.max(axis=1)).max())
        self.scratch, self.int_scratch = np.empty(size), np.empty(size, dtype=np.int32)
        self.change, self.rest = np.zeros(S), np.empty(2 * S)
        self.state, self.slot = np.empty((2, S), dtype=np.int32)
        self.stamp, self.now = np.zeros(S, dtype=np.int64), 0
        self.tree_value = np.empty(P)
        self.differ = np.zeros(P, dtype=np.uint8)

    cdef inline bint active(self, Py_ssize_t i, Py_ssize_t p) noexcept nogil:
        """Whether a part takes part in a block."""
        return self.labels[i, p] >= 0

    cdef inline Py_ssize_t parent_of(self, Py_ssize_t i, Py_ssize_t p) noexcept nogil:
        """The part's parent where both take part, else -1."""
        cdef Py_ssize_t parent = self.parents[p]
        return parent if parent >= 0 and self.active(i, p) and self.active(i, parent) else -1

    cdef inline Py_ssize_t type_of(
            self, Py_ssize_t i, Py_ssize_t p, Py_ssize_t s) noexcept nogil:
        if self.n_types == 1:
            return 0
        return s // ((self.start[i, p + 1] - self.start[i, p]) // self.n_types)

    cdef inline void place(
            self, Py_ssize_t i, Py_ssize_t p, Py_ssize_t s, double* x, double* y) noexcept nogil:
        cdef Py_ssize_t width
        cdef double per_unit = self.per_unit[i]
        if self.maps:
            width = self.shape[i, 1]
            s = s % (self.shape[i, 0] * width)
            x[0], y[0] = s % width * per_unit, s // width * per_unit
        else:
            x[0] = self.positions[self.start[i, p] + s, 0] * per_unit
            y[0] = self.positions[self.start[i, p] + s, 1] * per_unit

    cdef double cost(self, Py_ssize_t i, Py_ssize_t p, Py_ssize_t s) noexcept nogil:
        """Loss of one part, before loss_scale."""
        cdef double x, y, true_x, true_y, squared
        if not self.by_distance:
            return s != self.labels[i, p]
        self.place(i, p, s, &x, &y)
        self.place(i, p, self.labels[i, p], &true_x, &true_y)
        squared = (x - true_x) * (x - true_x) + (y - true_y) * (y - true_y)
        return min(1.0, squared)

    cdef double node_score(
            self, Py_ssize_t i, Py_ssize_t p, Py_ssize_t s, const double* w) noexcept nogil:
        cdef Py_ssize_t at = p * self.n_types + self.type_of(i, p, s)
        cdef double out
        sstruct_some_potentials(
            &self.rows, self.start[i, p] + s, w + at * self.n_features, 1, &ONE_LABEL, 1, &out)
        return out + (w[self.bias_at + at] if self.bias else 0)

    cdef void edge_features(
            self, Py_ssize_t i, Py_ssize_t c, Py_ssize_t p, Py_ssize_t j, Py_ssize_t s,
            double* e) noexcept nogil:
        """Features of the edge of child c in state s with its parent p in state j."""
        cdef double x, y, from_x, from_y
        self.place(i, c, s, &x, &y)
        self.place(i, p, j, &from_x, &from_y)
        x, y = x - from_x, y - from_y
        e[0], e[1], e[2], e[3] = -x * x, -x, -y * y, -y
        if self.pairs:
            e[4] = self.pair_scores[
                self.pair_start[i, c] + j * (self.start[i, c + 1] - self.start[i, c]) + s]

    cdef double edge_score(
            self, Py_ssize_t i, Py_ssize_t c, Py_ssize_t p, Py_ssize_t j, Py_ssize_t s,
            const double* w) noexcept nogil:
        """Score of that edge; w: the weights from edge_at on."""
        cdef double e[5]
        cdef double total = 0
        cdef Py_ssize_t k, T = self.n_types, t = self.type_of(i, c, s)
        self.edge_features(i, c, p, j, s, e)
        for k in range(self.n_edge_features):
            total += e[k] * w[(c * T + t) * self.n_edge_features + k]
        if T > 1:
            total += w[self.type_at - self.edge_at + (c * T + self.type_of(i, p, j)) * T + t]
        return total

    cdef int truth(self, Py_ssize_t i, int32_t* code) except -1 nogil:
        self.need_labels()
        memcpy(code, &self.labels[i, 0], self.n_parts * sizeof(int32_t))
        return 0

    cdef int loss(self, Py_ssize_t i, const int32_t* code, double* out) except -1 nogil:
        cdef Py_ssize_t p
        cdef double total = 0
        self.need_labels()
        for p in range(self.n_parts):
            if self.active(i, p):
                total += self.cost(i, p, code[p])
        out[0] = self.loss_scale[i] * total
        return 0

    cdef Py_ssize_t distinct_states(
            self, const int32_t** codes, Py_ssize_t count, Py_ssize_t p) noexcept nogil:
        """State[:n] = the states of a part in labelings, slot[s] the place of each; returns n."""
        cdef Py_ssize_t k, n = 0
        cdef int32_t s
        self.now += 1
        for k in range(count):
            s = codes[k][p]
            if self.stamp[s] != self.now:
                self.stamp[s] = self.now
                self.slot[s] = <int32_t> n
                self.state[n] = s
                n += 1
        return n

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        cdef Py_ssize_t k, p, parent, n
        cdef double scale = loss_weight * self.loss_scale[i]
        cdef const double* edge_weights = w + self.edge_at
        cdef double* value = &self.change[0]
        if w == NULL:
            edge_weights = &self.edge_weights[0]
        if w != NULL and loss_weight != 0:
            self.need_labels()
        for k in range(count):
            out[k] = 0
        for p in range(self.n_parts):
            self.differ[p] = False
            if not self.active(i, p):
                continue
            if w == NULL:
                self.differ[p] = True
                for k in range(count):
                    out[k] += self.theta[self.begin[p] + codes[k][p]]
                continue
            n = self.distinct_states(codes, count, p)
            if n == 1:
                continue
            self.differ[p] = True
            for k in range(n):
                value[k] = self.node_score(i, p, self.state[k], w)
                if scale != 0:
                    value[k] += scale * self.cost(i, p, self.state[k])
            for k in range(count):
                out[k] += value[self.slot[codes[k][p]]]
            work[0] += n * self.n_features
        work[0] += count * self.n_parts
        for p in range(self.n_parts):
            parent = self.parent_of(i, p)
            if parent >= 0 and (self.differ[p] or self.differ[parent]):
                for k in range(count):
                    out[k] += self.edge_score(
                        i, p, parent, codes[k][parent], codes[k][p], edge_weights)
                work[0] += 20 * count
        return 0

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        cdef Py_ssize_t p, parent, k, first
        cdef double total = 0, node, sign
        cdef double e[5]
        cdef double f[5]
        for p in range(self.n_parts):
            # Weights of a part and type are its own: planes of two parts are orthogonal.
            if self.active(i, p) and a[p] != b[p]:
                first = self.start[i, p]
                node = (sstruct_row_product(&self.rows, first + a[p], first + a[p])
                        + sstruct_row_product(&self.rows, first + b[p], first + b[p]))
                if self.type_of(i, p, a[p]) != self.type_of(i, p, b[p]):
                    node += 2 * self.bias
                else:
                    node -= 2 * sstruct_row_product(
                        &self.rows, first + min(a[p], b[p]), first + max(a[p], b[p]))
                total += max(node, 0.0)   # equal rows: 0 up to rounding
            parent = self.parent_of(i, p)
            if parent < 0 or (a[p] == b[p] and a[parent] == b[parent]):
                continue
            self.edge_features(i, p, parent, a[parent], a[p], e)
            self.edge_features(i, p, parent, b[parent], b[p], f)
            sign = self.type_of(i, p, a[p]) == self.type_of(i, p, b[p])
            for k in range(self.n_edge_features):
                total += e[k] * e[k] + f[k] * f[k] if sign == 0 else (e[k] - f[k]) * (e[k] - f[k])
            if self.n_types > 1:
                sign *= self.type_of(i, parent, a[parent]) == self.type_of(i, parent, b[parent])
                total += 2 * (1 - sign)
        out[0] = total
        return 0

    cdef int scatter(
            self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
            double* out) except -1 nogil:
        cdef Py_ssize_t k, m, p, parent, at, n, t, T = self.n_types
        cdef double e[5]
        cdef double* change = &self.change[0]
        for p in range(self.n_parts):
            n = self.distinct_states(codes, count, p) if self.active(i, p) else 1
            self.differ[p] = n > 1
            if n == 1:
                continue
            for k in range(n):
                change[k] = 0
            for k in range(count):
                change[self.slot[codes[k][p]]] += coefficient[k]
            for k in range(n):
                at = p * T + self.type_of(i, p, self.state[k])
                sstruct_add_row(
                    &self.rows, self.start[i, p] + self.state[k], &ONE_LABEL, &change[k], 1,
                    out + at * self.n_features, 1)
                if self.bias:
                    out[self.bias_at + at] += change[k]
        for p in range(self.n_parts):
            parent = self.parent_of(i, p)
            if parent < 0 or not (self.differ[p] or self.differ[parent]):
                continue
            for k in range(count):
                t = self.type_of(i, p, codes[k][p])
                self.edge_features(i, p, parent, codes[k][parent], codes[k][p], e)
                at = self.edge_at + (p * T + t) * self.n_edge_features
                for m in range(self.n_edge_features):
                    out[at + m] += coefficient[k] * e[m]
                if T > 1:
                    at = self.type_at + (p * T + self.type_of(i, parent, codes[k][parent])) * T
                    out[at + t] += coefficient[k]
        return 0

    cpdef int check_code(self, Py_ssize_t i, const int32_t[::1] code) except -1:
        cdef Py_ssize_t p, size
        BlockProblem.check_code(self, i, code)
        for p in range(code.shape[0]):
            size = self.start[i, p + 1] - self.start[i, p] if self.active(i, p) else 0
            if not 0 <= code[p] < size and (size > 0 or code[p] != -1):
                raise ValueError(f"block {i}: state {code[p]} of part {p} in a labeling code")
        return 0

    def weight_views(self, w):
        """Name the parts of a weight vector; see `TreeModel`."""
        self._check_weights(w)
        return self.model.views(w)
