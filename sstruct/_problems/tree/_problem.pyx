# Design:
# (a) Max-sum on the trees of parts of _part_trees.pyx: messages up, labels down. Candidates send
#     maxima over tables, O(S_parent S_child); score maps send distance transforms, O(S), which
#     want quadratic weights >= 0: bounds of the solver, checked here.
# (b) Types: a child's map of each type is transformed under that type's weights; at each place a
#     type of the parent then takes the best of the child's types.
# (c) Under slack rescaling with a Hamming loss, candidates' best scores are tabled by number of
#     errors, where an edge's scores are first written out.
# (d) Max-marginals send what a parent knows without the child down again.
"""The max-oracle of TreeSSVM."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from sstruct._kernels._constants cimport PAIR_WORK, TRANSFORM_WORK
from sstruct._oracles.tree._distance_transform cimport Parabola, transform_grid
from sstruct._oracles.tree._max_sum cimport best_sum, tree_labels
from sstruct._oracles.tree._subtree_error_table cimport TreeErrorTable
from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems.tree._part_trees cimport PartTrees
from sstruct._problems.core._rows cimport (
    SSTRUCT_DOUBLE, sstruct_row_size, sstruct_some_potentials)

import numpy as np

cdef extern from "sstruct/_kernels/kernels.h":
    void sstruct_products(
        const double* rows, int64_t count, int64_t n, const double* w, double* out) noexcept nogil

cdef int32_t ONE_LABEL = 0


cdef class TreeProblem(PartTrees):
    """Trees of parts with their max-oracle; parameters as of PartTrees."""

    def __init__(self, *arguments, **keywords):
        PartTrees.__init__(self, *arguments, **keywords)
        self.bounded = True
        # Tables by number of errors want an edge's scores as a table, and count wrong states.
        self.has_product = self.has_labels and not (self.maps or self.by_distance)
        self.product_work = self.oracle_work * (self.n_parts + 1) / 2
        self.error_table, self.tables = TreeErrorTable(), np.empty(1)
        self.table_at = np.zeros(self.n_parts, dtype=np.int64)

    cpdef BlockProblem fork(self):
        return TreeProblem(**self.arguments)

    cdef void potentials(self, Py_ssize_t i, const double* w, double loss_weight) noexcept nogil:
        """The block's parts, the edge weights and theta = node scores + loss_weight * costs."""
        cdef Py_ssize_t p, t, s, row, M, messages = 0, T = self.n_types, F = self.n_features
        cdef double scale = loss_weight * self.loss_scale[i]
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

    cdef int maximize(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef Py_ssize_t P = self.n_parts
        if loss_weight != 0:
            self.need_labels()
        self.potentials(i, w, loss_weight)
        answer.work = 100 + self.begin[P] * (
            4 + self.n_features / 8.0 if self.rows.indices == NULL
            else 4 + sstruct_row_size(&self.rows, self.start[i, 0]))
        self.pass_up(i, &answer.work)
        answer.value = tree_labels(
            P, &self.order[0], &self.parent[0], &self.begin[0], &self.belief[0], &self.origin[0],
            &self.message_at[0], code)
        answer.exact = True
        return 0

    cdef int pass_up(self, Py_ssize_t i, double* work) except -1 nogil:
        """belief = best scores of the trees below; message and origin: what went up."""
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
                # The parent's type u takes the best of the child's types at each place.
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

    cdef void table_message(
            self, Py_ssize_t i, Py_ssize_t c, Py_ssize_t p, double* out,
            int32_t* origin) noexcept nogil:
        """out[j] = max_s belief[c][s] + edge score; origin its argmax."""
        cdef Py_ssize_t j, S = self.begin[c + 1] - self.begin[c]
        cdef double* row = &self.scratch[0]
        for j in range(self.begin[p + 1] - self.begin[p]):
            self.edge_row(i, c, p, j, row)
            origin[j] = <int32_t> best_sum(&self.belief[self.begin[c]], row, S, &out[j])

    cdef void edge_row(
            self, Py_ssize_t i, Py_ssize_t c, Py_ssize_t p, Py_ssize_t j, double* row) noexcept nogil:
        """row = edge scores of child c in each of its states with its parent p in state j."""
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

    cdef int maximize_product(
            self, Py_ssize_t i, const double* w, double margin, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef Py_ssize_t c, d, j, p, n, best = 0, size = 0, P = self.n_parts
        cdef double value, true_score = 0
        cdef const int32_t* codes[1]
        self.need_labels()
        self.potentials(i, w, 0)
        answer.work = 100 + self.begin[P] * (
            4 + self.n_features / 8.0 if self.rows.indices == NULL
            else 4 + sstruct_row_size(&self.rows, self.start[i, 0]))
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
        answer.work += PAIR_WORK * size * (self.error_table.n_errors + 1) / 2.0
        answer.exact = True
        return 0

    cdef int map_message(
            self, Py_ssize_t i, Py_ssize_t c, Py_ssize_t t, const double* scores, int sign,
            double* values, int32_t* places) except -1 nogil:
        """values[p] = max_q scores[q] + deformation of child c of type t, one place its parent's.

        sign -1: q is the child's place, p the parent's; 1: the reverse.
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
                    f"part {c}: distance transforms want quadratic weights >= 0, found "
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
        """out = for each state of each part, the best score of a labeling that takes it."""
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

    cdef int pass_down(self, Py_ssize_t i) except -1 nogil:
        """After `pass_up`: belief = the best scores of the part's whole tree."""
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
        Without labels: all parts take part.
    w : ndarray of shape (n_weights,)

    Returns
    -------
    ndarray
        One score a row of features, block by block.
    """
    problem._check_weights(w)
    if problem.has_labels:
        raise ValueError("max-marginals are those of a problem without labels")
    cdef Py_ssize_t i
    out = np.empty(problem.features.n_rows)
    cdef double[::1] scores = out
    with nogil:
        for i in range(problem.n_blocks):
            problem.marginals(i, &w[0], &scores[problem.start[i, 0]])
    return out
