# Design:
# (a) A block is a tree of P parts; each part p has its own states, which are rows of one flat feature
#     array: phi(x, y) = sum_p x_{p, y_p} (x) e[p, type] plus a bias for each part and type if there are
#     types and, for each edge of the tree, minus (dx^2, dx, dy^2, dy) of the child's position relative to
#     its parent's, the pair score if there are any, and the pair of types. A code consists of the P
#     states.
# (b) States have listed positions (candidates), or are the places of score maps: state = type * H * W
#     + y * W + x. Positions of both kinds are divided by the block's unit.
# (c) Parts that are not annotated have code -1 and are removed from the block with their edges, so that
#     their children are roots. A problem without labels has all parts.
# (d) L(y) = c_i sum_p cost_p(y_p), where the cost is either [y_p wrong] or min(1, squared distance). It is
#     computed when needed, like scores and distances of labelings.
# (e) The max-oracle is max-sum: messages are passed up, labels down. Messages of candidates are maxima
#     over tables, O(S_parent S_child); messages of score maps are distance transforms, O(S), which require
#     nonnegative quadratic weights. Solvers enforce this by bounds; it is checked here.
# (f) Types: a child's map of each type is transformed with the weights of that type; at each position, a
#     type of the parent then takes the best of the child's types.
# (g) Under slack rescaling with a Hamming loss, the best scores of candidates are tabulated by number of
#     errors, for which the scores of an edge are first written to a table.
# (h) A known state forbids all other states of its part: their scores are -inf.
# (i) For max-marginals, a parent sends to each child its best scores without that child's message.
"""Joint feature map, loss and max-oracle of TreeSSVM."""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from sstruct._kernels._constants cimport PAIR_WORK, TRANSFORM_WORK
from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.tree._distance_transform cimport Parabola, transform_grid
from sstruct._oracles.tree._max_sum cimport best_sum, tree_labels
from sstruct._kernels._random cimport Random
from sstruct._oracles.tree._subtree_error_table cimport TreeErrorTable
from sstruct._oracles.tree._tree_sums cimport TableSums
from sstruct._problems.core._range cimport check_scores
from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems.core._rows cimport (
    SSTRUCT_DOUBLE, FeatureRows, sstruct_add_row, sstruct_row_product, sstruct_row_size,
    sstruct_rows, sstruct_some_potentials)

import numpy as np

from sstruct._oracles.tree._max_sum import parents_first
from sstruct._problems.core._block_problem import batch_size
from sstruct._problems.core._node_arguments import check_in_loss, check_known, of_blocks
from sstruct._problems.tree.tree_arguments import (
    TreeModel, check_labels, check_pair_scores, check_places, check_start, n_origins)

cdef extern from "sstruct/_kernels/kernels.h":
    void sstruct_products(
        const double* rows, int64_t count, int64_t n, const double* w, double* out) noexcept nogil

# The kernels expect a column of weights for each label. A weight vector is one column: its label is 0.
cdef int32_t ONE_LABEL = 0


cdef class TreeProblem(BlockProblem):
    """Trees of parts over flat rows.

    Parameters
    ----------
    X : ndarray or canonical CSR of shape (n_rows, n_features), or FeatureRows
        One row of features per state; contiguous float32 and float64 arrays are not copied.
    states : TreeStates
    parents : array-like of int of shape (n_parts,)
        -1 for a root.
    labels : array-like of int of shape (n_blocks, n_parts), or None
        True states, -1 for parts that are not annotated. With None, the problem can only decode.
    loss_scale : array-like of shape (n_blocks,), optional
        Factor of each block's sum of costs. Default 1.
    by_distance : bool
        Whether a part costs min(1, squared distance); otherwise a wrong state costs 1.
    bias : bool
        Whether each type of a part has a bias. Without effect if there is only one type.
    known : array-like of int of shape (n_blocks, n_parts), optional
        State that every labeling must have, or -1. For decoding only: the working sets of training
        ignore it.
    in_loss : array-like of bool of shape (n_blocks, n_parts), optional
        Which annotated parts count in the loss. Default: all.
    """

    # Data, shared by forks.
    cdef dict arguments
    cdef FeatureRows features
    cdef sstruct_rows rows                  # view of `features`, which owns the arrays
    cdef readonly object model
    cdef const int32_t[::1] parents, order
    cdef const int64_t[:, ::1] start        # first row of each part of each block, and end of the last
    cdef const int32_t[:, ::1] labels       # true state of each part, -1: not annotated
    cdef const int32_t[:, ::1] known        # state that each part must have, -1: unknown
    cdef const unsigned char[:, ::1] in_loss    # whether each part counts in the loss
    cdef const int64_t[:, ::1] shape        # height and width of each block's maps, or empty
    cdef const double[:, ::1] positions     # (x, y) of each row, or empty
    cdef const double[::1] pair_scores
    cdef const int64_t[:, ::1] pair_start
    cdef const double[::1] loss_scale, per_unit
    cdef readonly Py_ssize_t n_parts, n_types, n_features
    cdef Py_ssize_t n_edge_features, bias_at, edge_at, type_at
    cdef bint by_distance, bias, maps, pairs, has_known, has_unscored
    # Scratch memory of this object: for the block that was decoded last ...
    cdef int64_t[::1] begin, message_at
    cdef int32_t[::1] parent
    cdef double[::1] theta, edge_weights
    # ... and for a call.
    cdef double[::1] belief, message, shifted, rest, scratch, change, tree_value
    cdef int32_t[::1] origin, shifted_from, int_scratch, state, slot
    cdef int64_t[::1] stamp
    cdef int64_t now
    cdef unsigned char[::1] differ
    # Scratch memory for `maximize_product` and sums.
    cdef TreeErrorTable error_table
    cdef double[::1] tables
    cdef int64_t[::1] table_at
    cdef TableSums sums

    def __init__(
            self, X, states, parents, labels=None, *, loss_scale=None, by_distance=False,
            bias=True, known=None, in_loss=None):
        cdef FeatureRows features = X if isinstance(X, FeatureRows) else FeatureRows(X)
        self.arguments = dict(
            X=features, states=states, parents=parents, labels=labels, loss_scale=loss_scale,
            by_distance=by_distance, bias=bias, known=known, in_loss=in_loss)
        if states.n_types < 1:
            raise ValueError(f"n_types must be at least 1, found {states.n_types}")
        self.maps, self.pairs = states.shape is not None, states.pair_scores is not None
        if self.maps and self.pairs:
            raise ValueError("pair_scores require positions, found maps")
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
        self.has_known = known is not None
        self.known = check_known(known, (n, P), np.diff(begins, axis=1))
        self.shape, self.positions = check_places(
            states.shape, states.positions, begins, features.n_rows, T)
        self.pair_scores, self.pair_start = check_pair_scores(
            states.pair_scores, states.pair_start, begins, tree)
        self.loss_scale = of_blocks(loss_scale, n, np.float64)
        self.by_distance = by_distance
        self.has_unscored, self.in_loss = in_loss is not None, check_in_loss(in_loss, (n, P))
        unit = of_blocks(states.unit, n, np.float64)
        if not (unit > 0).all():
            raise ValueError("unit must be positive")
        self.per_unit = 1 / unit
        self.bias = bias and T > 1
        self.model = TreeModel(P, self.n_features, T, bool(bias), bool(self.pairs))
        self.n_edge_features = 4 + self.pairs
        self._layout = layout = self.model.layout
        at, self.n_weights = layout.starts, layout.size
        self.bias_at, self.edge_at, self.type_at = at["intercept"], at["edge"], at["type"]
        self._set_scratch()
        sizes = np.diff(begins, axis=1)
        pairs = (sizes[:, tree[tree >= 0]] * sizes[:, tree >= 0]).sum()
        edges = TRANSFORM_WORK * sizes.sum() if self.maps else PAIR_WORK * pairs
        self.oracle_work = (features.n_stored / 8 + edges) / n
        self.batch_size = batch_size(n, self.oracle_work)
        self.bounded = True
        # Tables by number of errors require the scores of an edge as a table, and count wrong states.
        self.has_product = self.has_labels and not (
            self.maps or self.by_distance or self.has_unscored)
        self.product_work = self.oracle_work * (self.n_parts + 1) / 2

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
        size = S   # a row of a table; or costs of a map, and memory of a transform
        if self.maps:
            size = int((shape.prod(axis=1) + (shape[:, 0] + 3) * shape.max(axis=1)).max())
        self.scratch, self.int_scratch = np.empty(size), np.empty(size, dtype=np.int32)
        self.change, self.rest = np.zeros(S), np.empty(2 * S)
        self.state, self.slot = np.empty((2, S), dtype=np.int32)
        self.stamp, self.now = np.zeros(S, dtype=np.int64), 0
        self.tree_value = np.empty(P)
        self.differ = np.zeros(P, dtype=np.uint8)
        self.error_table, self.tables = TreeErrorTable(), np.empty(1)
        self.table_at = np.zeros(P, dtype=np.int64)
        self.sums = TableSums()

    cpdef BlockProblem fork(self):
        return TreeProblem(**self.arguments)

    def feature_rows(self):
        """Return the rows of state features."""
        return [(self.features, np.asarray(self.start)[:, 0])]

    def norms(self):
        """Return upper bounds of |phi|: for each part the largest row, its bias and its edge."""
        start = np.asarray(self.start)
        P, n = self.n_parts, self.n_blocks
        cuts = np.stack([start[:, :P], start[:, 1:]], axis=-1).ravel()
        largest = np.maximum.reduceat(np.append(self.features.norms(), 0.0), cuts)[::2].reshape(n, P)
        # |(dx^2, dx, dy^2, dy)| <= d^2 + d for a distance d.
        if self.maps:
            far = np.hypot(*np.asarray(self.shape, dtype=np.float64).T)
        else:
            places = np.abs(np.asarray(self.positions)).sum(axis=1)
            cuts = start[:, [0, P]].ravel()
            far = 2 * np.maximum.reduceat(np.append(places, 0.0), cuts)[::2]
        far = far * np.asarray(self.per_unit)
        edge = far * far + far + (self.n_types > 1)
        if self.pairs:
            edge = edge + np.abs(self.pair_scores).max(initial=0)
        return largest.sum(axis=1) + P * (self.bias + edge)

    cdef inline bint active(self, Py_ssize_t i, Py_ssize_t p) noexcept nogil:
        """Whether a part is included in a block."""
        return self.labels[i, p] >= 0

    cdef inline Py_ssize_t parent_of(self, Py_ssize_t i, Py_ssize_t p) noexcept nogil:
        """Return the parent of a part if both are included, else -1."""
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
        """Return the loss of one part, before loss_scale."""
        cdef double x, y, true_x, true_y, squared
        if self.has_unscored and not self.in_loss[i, p]:
            return 0
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
        """Compute the features of the edge of child c in state s with its parent p in state j."""
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
        """Return the score of the edge, given the weights from `edge_at` on."""
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
        """List the n distinct states of a part in `state`, and their indices in `slot`; return n."""
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
            # Each part and type has separate weights: planes of two parts are orthogonal.
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
                expected = f"0 to {size - 1}" if size else "-1, since the part is not included"
                raise ValueError(f"block {i}: part {p} has state {code[p]}, expected {expected}")
        return 0

    cdef double potentials(
            self, Py_ssize_t i, const double* w, double loss_weight) except -1 nogil:
        """Set the block's parts, the edge weights and theta = node scores + loss_weight * loss_scale * costs.

        Known states forbid the other states of their parts.

        Returns the work of an oracle call without its messages.
        """
        cdef Py_ssize_t p, t, s, row, M, messages = 0, T = self.n_types, F = self.n_features
        cdef int32_t known
        cdef double scale = loss_weight * self.loss_scale[i], total = 0
        cdef double* theta
        memcpy(&self.edge_weights[0], w + self.edge_at,
               (self.n_weights - self.edge_at) * sizeof(double))
        for p in range(self.n_parts):
            M = (self.start[i, p + 1] - self.start[i, p]) // T if self.active(i, p) else 0
            self.begin[p + 1] = self.begin[p] + T * M
            self.parent[p] = <int32_t> self.parent_of(i, p)
            self.message_at[p] = messages
            if self.parent[p] >= 0:
                messages += self.start[i, self.parent[p] + 1] - self.start[i, self.parent[p]]
            for t in range(T if M > 0 else 0):
                theta = &self.theta[self.begin[p] + t * M]
                row = self.start[i, p] + t * M
                if self.rows.kind == SSTRUCT_DOUBLE and self.rows.indices == NULL:
                    sstruct_products(
                        <const double*> self.rows.values + row * F, M, F, w + (p * T + t) * F,
                        theta)
                else:
                    for s in range(M):
                        sstruct_some_potentials(
                            &self.rows, row + s, w + (p * T + t) * F, 1, &ONE_LABEL, 1, theta + s)
                for s in range(M if self.bias else 0):
                    theta[s] += w[self.bias_at + p * T + t]
                for s in range(M if scale != 0 else 0):
                    theta[s] += scale * self.cost(i, p, t * M + s)
                for s in range(M):
                    total += fabs(theta[s])
            known = self.known[i, p] if self.has_known else -1
            for s in range(T * M if known >= 0 else 0):
                if s != known:
                    self.theta[self.begin[p] + s] = -INFINITY
            poll_signals(<double> T * M * (4 + self.n_features / 8.0))
        for s in range(self.n_weights - self.edge_at):
            total += fabs(self.edge_weights[s])
        check_scores(i, total)
        return 100 + self.begin[self.n_parts] * (
            4 + self.n_features / 8.0 if self.rows.indices == NULL
            else 4 + sstruct_row_size(&self.rows, self.start[i, 0]))

    cdef int maximize(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef Py_ssize_t P = self.n_parts
        if loss_weight != 0:
            self.need_labels()
        answer.work = self.potentials(i, w, loss_weight)
        self.pass_up(i, &answer.work)
        answer.value = tree_labels(
            P, &self.order[0], &self.parent[0], &self.begin[0], &self.belief[0], &self.origin[0],
            &self.message_at[0], code)
        answer.exact = True
        return 0

    cdef int pass_up(self, Py_ssize_t i, double* work) except -1 nogil:
        """Compute `belief`, the best scores of subtrees, and the messages with their argmaxes (`origin`)."""
        cdef Py_ssize_t k, c, p, j, t, u, s, M, T = self.n_types, n
        cdef double value
        cdef double* message
        cdef int32_t* origin
        cdef const double* together
        memcpy(&self.belief[0], &self.theta[0], self.begin[self.n_parts] * sizeof(double))
        for k in range(self.n_parts - 1, -1, -1):
            c = self.order[k]
            p = self.parent[c]
            if p < 0:
                continue
            message = &self.message[self.message_at[c]]
            origin = &self.origin[self.message_at[c]]
            n = self.begin[p + 1] - self.begin[p]
            if not self.maps:
                self.table_message(i, c, p, message, origin)
                work[0] += PAIR_WORK * n * (self.begin[c + 1] - self.begin[c])
            else:
                M = n // T
                for t in range(T):
                    self.map_message(
                        i, c, t, &self.belief[self.begin[c] + t * M], -1,
                        &self.shifted[t * M], &self.shifted_from[t * M])
                # Type u of the parent takes the best of the child's types at each position.
                for u in range(T):
                    together = (
                        &self.edge_weights[self.type_at - self.edge_at + (c * T + u) * T]
                        if T > 1 else NULL)
                    for t in range(T):
                        for s in range(M):
                            value = self.shifted[t * M + s] + (together[t] if T > 1 else 0)
                            if t == 0 or value > message[u * M + s]:
                                message[u * M + s] = value
                                origin[u * M + s] = <int32_t> (t * M + self.shifted_from[t * M + s])
                work[0] += TRANSFORM_WORK * n + n * T
            for j in range(n):
                self.belief[self.begin[p] + j] += message[j]
        return 0

    cdef int table_message(
            self, Py_ssize_t i, Py_ssize_t c, Py_ssize_t p, double* out,
            int32_t* origin) except -1 nogil:
        """Compute out[j] = max_s belief[c][s] + edge score, and its argmax `origin`."""
        cdef Py_ssize_t j, S = self.begin[c + 1] - self.begin[c]
        cdef double* row = &self.scratch[0]
        for j in range(self.begin[p + 1] - self.begin[p]):
            self.edge_row(i, c, p, j, row)
            origin[j] = <int32_t> best_sum(&self.belief[self.begin[c]], row, S, &out[j])
            poll_signals(PAIR_WORK * S)
        return 0

    cdef void edge_row(
            self, Py_ssize_t i, Py_ssize_t c, Py_ssize_t p, Py_ssize_t j, double* row) noexcept nogil:
        """Compute the edge scores of child c in each of its states with its parent p in state j."""
        cdef Py_ssize_t s, t, T = self.n_types
        cdef Py_ssize_t S = self.begin[c + 1] - self.begin[c], M = S // T
        cdef double x, y, dx, dy, together, per_unit = self.per_unit[i]
        cdef const double* weight
        cdef const double* pair = NULL
        cdef const double* at = &self.positions[self.start[i, c], 0]
        self.place(i, p, j, &x, &y)
        if self.pairs:
            pair = &self.pair_scores[self.pair_start[i, c] + j * S]
        for t in range(T):
            weight = &self.edge_weights[(c * T + t) * self.n_edge_features]
            together = 0 if T == 1 else self.edge_weights[
                self.type_at - self.edge_at + (c * T + self.type_of(i, p, j)) * T + t]
            for s in range(t * M, (t + 1) * M):
                dx, dy = at[2 * s] * per_unit - x, at[2 * s + 1] * per_unit - y
                row[s] = together - dx * (weight[0] * dx + weight[1]) - dy * (
                    weight[2] * dy + weight[3])
            if pair != NULL:
                for s in range(t * M, (t + 1) * M):
                    row[s] += weight[4] * pair[s]

    cdef int fill_tables(self, Py_ssize_t i, double* work) except -1 nogil:
        """Fill in `tables`, the scores of all edges, after `potentials`; set `work` to the work of this."""
        cdef Py_ssize_t c, j, p, n, size = 0, P = self.n_parts
        for c in range(P):
            self.table_at[c] = size
            if self.parent[c] >= 0:
                n = self.begin[self.parent[c] + 1] - self.begin[self.parent[c]]
                size += n * (self.begin[c + 1] - self.begin[c])
        if self.tables.shape[0] < size:
            with gil:
                self.tables = np.empty(size)
        for c in range(P):
            p = self.parent[c]
            n = self.begin[c + 1] - self.begin[c]
            for j in range(self.begin[p + 1] - self.begin[p] if p >= 0 else 0):
                self.edge_row(i, c, p, j, &self.tables[self.table_at[c] + j * n])
                poll_signals(PAIR_WORK * n)
        work[0] = PAIR_WORK * size
        return 0

    cdef int maximize_product(
            self, Py_ssize_t i, const double* w, double margin, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef Py_ssize_t d, best = 0, P = self.n_parts
        cdef double value, table_work, true_score = 0
        cdef const int32_t* codes[1]
        self.need_labels()
        answer.work = self.potentials(i, w, 0)
        self.fill_tables(i, &table_work)
        self.error_table.fill(
            P, &self.order[0], &self.parent[0], &self.begin[0], &self.message_at[0], &self.theta[0],
            &self.tables[0], &self.table_at[0], &self.labels[i, 0])
        codes[0] = &self.labels[i, 0]
        self.scores(i, NULL, 0, codes, 1, &true_score, &answer.work)
        answer.value = 0
        for d in range(1, self.error_table.n_errors + 1):
            value = self.loss_scale[i] * d * (margin + self.error_table.best[d] - true_score)
            if value > answer.value:
                answer.value = value
                best = d
        if best > 0:
            self.error_table.labels(best, code)
        else:
            self.truth(i, code)
        answer.work += table_work * (self.error_table.n_errors + 1) / 2.0
        answer.exact = True
        return 0

    cdef int map_message(
            self, Py_ssize_t i, Py_ssize_t c, Py_ssize_t t, const double* scores, int sign,
            double* values, int32_t* places) except -1 nogil:
        """Compute values[p] = max_q scores[q] + deformation score of child c of type t, for all positions p.

        sign -1: q is the child's position and p the parent's; 1: the reverse. `places` has the argmaxes.
        """
        cdef const double* weight = &self.edge_weights[
            (c * self.n_types + t) * self.n_edge_features]
        cdef Py_ssize_t s, height = self.shape[i, 0], width = self.shape[i, 1], M = height * width
        cdef double per_unit = self.per_unit[i]
        cdef double* costs = &self.scratch[0]
        cdef Parabola down, right
        if weight[0] < 0 or weight[2] < 0:
            with gil:
                raise ValueError(
                    f"part {c}: distance transforms require nonnegative quadratic weights, found "
                    f"{weight[0]:g} and {weight[2]:g}")
        right.quadratic = weight[0] * per_unit * per_unit
        right.linear = sign * weight[1] * per_unit
        down.quadratic = weight[2] * per_unit * per_unit
        down.linear = sign * weight[3] * per_unit
        for s in range(M):
            costs[s] = -scores[s]
        transform_grid(
            costs, height, width, down, right, values, places, costs + M, &self.int_scratch[0])
        for s in range(M):
            values[s] = -values[s]
        return 0

    cdef int marginals(self, Py_ssize_t i, const double* w, double* out) except -1 nogil:
        """Compute, for each state of each part, the best score of a labeling with this state."""
        cdef Py_ssize_t k, p, s
        cdef double total = 0, value, work = 0
        cdef double* tree_value = &self.tree_value[0]
        self.potentials(i, w, 0)
        self.pass_up(i, &work)
        self.pass_down(i)
        memcpy(out, &self.belief[0], self.begin[self.n_parts] * sizeof(double))
        for p in range(self.n_parts):
            value = out[self.begin[p]]
            for s in range(self.begin[p], self.begin[p + 1]):
                value = max(value, out[s])
            tree_value[p] = value
            if self.parent[p] < 0:
                total += value
        for k in range(self.n_parts):
            p = self.order[k]
            if self.parent[p] >= 0:
                tree_value[p] = tree_value[self.parent[p]]
            for s in range(self.begin[p], self.begin[p + 1]):
                out[s] += total - tree_value[p]
        return 0

    cdef Py_ssize_t n_values(self, Py_ssize_t i) noexcept nogil:
        return self.start[i, self.n_parts] - self.start[i, 0]

    cdef double log_partition(
            self, Py_ssize_t i, const double* w, double scale, const int32_t* known) except? -1 nogil:
        """Supports only candidates, since score maps would need an entry for each pair of positions."""
        cdef double work
        if self.maps:
            self.lacks(b"log_partition of score maps")
        self.potentials(i, w, 0)
        self.fill_tables(i, &work)
        self.sums.tables, self.sums.table_at = &self.tables[0], &self.table_at[0]
        return self.sums.log_partition(
            self.n_parts, &self.order[0], &self.parent[0], &self.begin[0], &self.theta[0], known,
            scale)

    cdef int probabilities(self, double* out) except -1 nogil:
        return self.sums.marginals(out)

    cdef int sample(self, Random* random, int32_t* labels) except -1 nogil:
        return self.sums.sample(random, labels)

    cdef int pass_down(self, Py_ssize_t i) except -1 nogil:
        """After `pass_up`, set `belief` to the best scores of the tree of each part, given its states."""
        cdef Py_ssize_t k, c, p, j, s, t, u, n, M, T = self.n_types
        cdef double value
        cdef double* belief
        cdef double* rest = &self.rest[0]
        cdef double* source = rest + self.change.shape[0]
        for k in range(self.n_parts):
            c = self.order[k]
            p = self.parent[c]
            if p < 0:
                continue
            n = self.begin[p + 1] - self.begin[p]
            for j in range(n):
                rest[j] = self.belief[self.begin[p] + j] - self.message[self.message_at[c] + j]
            belief = &self.belief[self.begin[c]]
            if not self.maps:
                for s in range(self.begin[c + 1] - self.begin[c]):
                    value = -INFINITY
                    for j in range(n):
                        value = max(value, rest[j] + self.edge_score(
                            i, c, p, j, s, &self.edge_weights[0]))
                    belief[s] += value
                    poll_signals(10.0 * n)
                continue
            M = n // T
            for t in range(T):
                for u in range(T):
                    value = 0 if T == 1 else self.edge_weights[
                        self.type_at - self.edge_at + (c * T + u) * T + t]
                    for s in range(M):
                        if u == 0 or rest[u * M + s] + value > source[s]:
                            source[s] = rest[u * M + s] + value
                self.map_message(i, c, t, source, 1, &self.shifted[0], &self.shifted_from[0])
                for s in range(M):
                    belief[t * M + s] += self.shifted[s]
        return 0


def max_marginals(TreeProblem problem not None, const double[::1] w):
    """Compute the best score of a labeling through each state of each part, without loss.

    Parameters
    ----------
    problem : TreeProblem
        Must not have labels, which would remove parts that are not annotated.
    w : ndarray of shape (n_weights,)

    Returns
    -------
    ndarray of shape (n_rows,)
        The score of the state of each row of features; undefined for rows outside of blocks.
    """
    problem._check_weights(w)
    if problem.has_labels:
        raise ValueError("max-marginals require a problem without labels")
    cdef Py_ssize_t i
    out = np.empty(problem.features.n_rows)
    cdef double[::1] scores = out
    with nogil:
        for i in range(problem.n_blocks):
            problem.marginals(i, &w[0], &scores[problem.start[i, 0]])
    return out
