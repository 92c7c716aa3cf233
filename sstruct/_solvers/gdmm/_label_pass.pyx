# Design:
# (a) Dual-decomposed learning of label sets: the dual of the relaxation over the local polytope, with
#     a factor for each label and each edge of a sample. The augmented Lagrangian has the constraints
#     that the masses of an edge have the marginals of its labels (_label_block.pxd has the variables).
#     In the units of [Y16]: 1/2 |w|^2 plus linear terms, C_i = q_i / lam.
# (b) A visit of a sample admits at most one label; then it repeats a few times: minimize over all admitted
#     labels (which share no term, so each minimum is a clip), minimize over each edge between them (4
#     outcomes, majorized by 1 + 2 rho on the diagonal) and update the multipliers. If no label was
#     admitted, it finally searches for an edge that admits labels.
# (c) The search for labels uses their scores, over all labels or one label group drawn per visit. A
#     label that is not admitted has no messages, so it enters if its score plus cost is positive.
#     Groups are ranges: one is drawn at random, so that all labels have the same chance, and products
#     with a range vectorize.
# (d) For an edge without variables, only the outcome (1, 1) has a score, its weight v. Messages may be
#     put on such an edge within the slacks of its ends; the slack of a label that is off is its distance
#     from entering (at most 0). The remainder v + slack_u + slack_v is the gain of turning both on. The
#     largest gain is found by branch and bound over v, with an upper bound for each BLOCK of edges; bounds
#     are raised if v increases and corrected by searches. At least one end of such an edge is not
#     admitted; its slack is at most the largest score plus cost of these labels, which tightens the
#     bound. An exhaustive search, for comparison, scans every edge.
# (e) These searches miss labels that are a gain only if three or more of them are turned on together.
#     The oracles of the certificates (_label_bounds.pyx) find these.
# (f) A visit works on a copy of the sample's edges in the layout of outcomes.h, and adds its changes to
#     shared data once, at its end; the scores of its labels are updated after each step, using |x|^2.
# [Y16], Algorithm 3 and Appendix C-2
"""Factors of GDMM on label sets, and a pass over them."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free

from sstruct._problems.label_set._multilabel cimport MultilabelProblem
from sstruct._problems.core._rows cimport (
    range_potentials, some_potentials, sstruct_add_row, sstruct_row_size)
from sstruct._solvers.gdmm._label_block cimport LabelBlock, admit, free_block
from sstruct._kernels._random cimport random_below, random_seed, random_shuffle
from sstruct._solvers.core._watch cimport Watch, poll, sstruct_seconds, start_watch

import numpy as np

from sstruct._solvers.core._state import aligned_zeros

cdef enum:
    BLOCK = 32      # number of edges per bound


cdef class LabelFactors:
    """State of GDMM on label sets.

    Parameters
    ----------
    problem : MultilabelProblem
        A problem with labels and one weight per edge.
    lam : float
        Regularization parameter, positive.
    block_weight : array-like of shape (n_blocks,)
        q_i, positive.
    rho : float
        Penalty of the augmented Lagrangian, positive.
    n_parts : int
        Number of label groups, of which one is searched per visit.
    seed : int
    n_sweeps : int
        Number of updates of the admitted variables per visit, at least 1.
    multiplier_step : float
        Step size of the multipliers.
    exhaustive : bool
        Whether searches for edges scan all edges.
    prior : ndarray of shape (n_weights,), optional
        The center of the regularizer, at which the weights start; default: 0.

    Attributes
    ----------
    residual, change : float
        Of the last pass: the sum of squared differences between the masses of edges and the marginals
        of labels, and the sum of squared steps of the former, both in the units of C.
    search_seconds, update_seconds : float
        Total time of searches for labels and edges, and of updates.
    """

    def __cinit__(self, MultilabelProblem problem not None, *args, **kwargs):
        self.n_blocks = problem.n_blocks
        self.blocks = <LabelBlock*> calloc(self.n_blocks, sizeof(LabelBlock))
        if self.blocks == NULL:
            raise MemoryError(f"not enough memory for the label sets of {self.n_blocks} samples")

    def __dealloc__(self):
        cdef Py_ssize_t i
        if self.blocks != NULL:
            for i in range(self.n_blocks):
                free_block(&self.blocks[i])
            free(self.blocks)

    def __init__(
            self, MultilabelProblem problem not None, double lam, block_weight, double rho,
            Py_ssize_t n_parts=1, seed=0, Py_ssize_t n_sweeps=1, double multiplier_step=1,
            bint exhaustive=False, prior=None):
        cdef Py_ssize_t i, at, K = problem.n_labels
        if problem.full or not problem.has_labels:
            raise ValueError("the problem must have labels and one weight per edge")
        if not 1 <= n_parts <= K:
            raise ValueError(f"n_parts={n_parts}, expected 1 to {K}, the number of labels")
        self.problem, self.lam, self.rho, self.n_sweeps = problem, lam, rho, n_sweeps
        self.multiplier_step, self.exhaustive = multiplier_step, exhaustive
        self.n_parts = n_parts
        self.factor = np.asarray(block_weight, dtype=np.float64) / lam
        if self.factor.shape[0] != self.n_blocks or not np.min(self.factor) > 0:
            raise ValueError(
                f"expected {self.n_blocks} positive block weights, found {self.factor.shape[0]}, the "
                f"smallest of them {np.min(block_weight)}")
        # One extra entry, so that an address exists even without edges.
        self.weights = aligned_zeros(problem.n_weights + 1)
        self.first = problem.decoder.first
        self.index.edges, self.index.first = problem.model.edges, &self.first[0]
        random_seed(&self.random, seed)
        self.bound = np.zeros((problem.n_edges + BLOCK - 1) // BLOCK)
        self.prior = prior
        if prior is not None:
            np.asarray(self.weights)[:problem.n_weights] = prior
            for at in range(problem.n_edges):
                self.bound[at // BLOCK] = max(
                    self.bound[at // BLOCK], self.weights[problem.edge_at + at])
        self.theta = np.zeros(max(problem.KP, K))
        self.found, self.total, self.degree, self.slack, self.begin = np.zeros((5, K))
        self.wanted, self.place = np.full((2, K), -1, dtype=np.int32)
        for i in range(self.n_blocks):
            for at in range(problem.first_on[i], problem.first_on[i + 1]):
                admit(&self.blocks[i], problem.on[at], &self.index)
            self.blocks[i].n_true = self.blocks[i].n_labels

    def run(self, double deadline):
        """Visit every sample once, in random order.

        Returns
        -------
        bool
            Whether all were visited. An exception of a signal handler keeps the visits before it.
        """
        cdef Py_ssize_t a = 0, n = self.n_blocks
        cdef double work = 0
        cdef Watch watch = start_watch(deadline)
        cdef Py_ssize_t[::1] order = np.arange(n)
        random_shuffle(&self.random, &order[0], n)
        self.residual = self.change = 0
        with nogil:
            for a in range(n):
                self._visit(order[a])
                work += (
                    sstruct_row_size(&self.problem.rows, order[a])
                    + 50 * self.blocks[order[a]].n_pairs)
                if poll(&watch, work):
                    break
        return a == n - 1

    def set_rho(self, double rho):
        """Change the penalty without changing the multipliers."""
        cdef Py_ssize_t i, p, side
        cdef LabelBlock* block
        cdef double residual, ratio = self.rho / rho
        for i in range(self.n_blocks):
            block = &self.blocks[i]
            for p in range(block.n_pairs):
                for side in range(2):
                    residual = block.beta[3 * p + 2] + block.beta[3 * p + 1 - side] - (
                        block.alpha[block.end[2 * p + side]])
                    block.message[2 * p + side] = residual + ratio * (
                        block.message[2 * p + side] - residual)
        self.rho = rho

    cdef void _score(self, Py_ssize_t i, LabelBlock* block, Py_ssize_t part) noexcept nogil:
        """Set `theta` of the admitted labels and of a label group, the range from `low` to `high`."""
        cdef Py_ssize_t j, k, count = 0, K = self.problem.n_labels
        cdef const double* w = &self.weights[0]
        cdef const double* bias = w + self.problem.bias_at if self.problem.bias else NULL
        self.low, self.high = part * K // self.n_parts, (part + 1) * K // self.n_parts
        for k in range(self.low, self.high):
            self.theta[k] = bias[k] if bias != NULL else 0
        range_potentials(
            &self.problem.rows, i, w, self.problem.KP, self.low, self.high, &self.theta[0])
        for j in range(block.n_labels):
            k = block.label[j]
            if not self.low <= k < self.high:
                self.wanted[count] = <int32_t> k
                count += 1
        some_potentials(
            &self.problem.rows, i, w, self.problem.KP, &self.wanted[0], count, &self.found[0])
        for j in range(count):
            k = self.wanted[j]
            self.theta[k] = self.found[j] + (bias[k] if bias != NULL else 0)

    cdef int32_t _best_label(self, double* top) noexcept nogil:
        """Return the best label of the group that is not admitted, or -1; `top` is its score + cost."""
        cdef Py_ssize_t k
        cdef int32_t best = -1
        cdef double value
        top[0] = -INFINITY
        for k in range(self.low, self.high):
            value = self.theta[k] + self.problem.cost[0, k]
            if value > top[0] and self.place[k] < 0:
                top[0], best = value, <int32_t> k
        return best

    cdef int _lay_out(self, Py_ssize_t i, LabelBlock* block) except -1 nogil:
        """Copy the sample's edges to `table`."""
        cdef Py_ssize_t o, p, truth, n = block.n_pairs, room = self.room
        cdef double mass, C = self.factor[i]
        cdef double* table
        for p in range(block.n_labels):
            self.begin[p], self.degree[p] = block.alpha[p], 0
        if n + SSTRUCT_EDGE_LANES > room:
            with gil:
                room = self.room = (n + n // 4) // SSTRUCT_EDGE_LANES * SSTRUCT_EDGE_LANES + 32
                self.table = aligned_zeros(SSTRUCT_EDGE_ROWS * room)
        table = &self.table[0]
        for p in range(n):
            truth = 2 * (block.end[2 * p] < block.n_true) + (block.end[2 * p + 1] < block.n_true)
            mass = C
            for o in range(1, 4):
                table[o * room + p] = (C if o == truth else 0) - block.beta[3 * p + o - 1]
                mass -= table[o * room + p]
            table[p] = max(mass, 0)
            for o in range(2):
                table[(SSTRUCT_MESSAGE + o) * room + p] = block.message[2 * p + o]
                self.degree[block.end[2 * p + o]] += 1
            table[SSTRUCT_WEIGHT * room + p] = self.weights[self.problem.edge_at + block.edge[p]]
        # Padding after the last edge, with masses that do not change.
        for p in range(n, n + SSTRUCT_EDGE_LANES):
            for o in range(SSTRUCT_EDGE_ROWS):
                table[o * room + p] = 0
            table[p] = C
        return 0

    cdef void _write_back(self, Py_ssize_t i, LabelBlock* block) noexcept nogil:
        """Copy the sample's edges from `table`; add the changes to the weights."""
        cdef Py_ssize_t o, p, truth, e, count = 0, room = self.room
        cdef double old, C = self.factor[i]
        cdef const double* table = &self.table[0]
        cdef double* v = &self.weights[self.problem.edge_at]
        for p in range(block.n_pairs):
            truth = 2 * (block.end[2 * p] < block.n_true) + (block.end[2 * p + 1] < block.n_true)
            e, old = block.edge[p], block.beta[3 * p + 2]
            for o in range(1, 4):
                block.beta[3 * p + o - 1] = (C if o == truth else 0) - table[o * room + p]
            for o in range(2):
                block.message[2 * p + o] = table[(SSTRUCT_MESSAGE + o) * room + p]
            if block.beta[3 * p + 2] != old:
                v[e] += block.beta[3 * p + 2] - old
                if v[e] > self.bound[e // BLOCK]:
                    self.bound[e // BLOCK] = v[e]
        for p in range(block.n_labels):
            if block.alpha[p] == self.begin[p]:
                continue
            self.wanted[count] = block.label[p]
            self.found[count] = block.alpha[p] - self.begin[p]
            if self.problem.bias:
                self.weights[self.problem.bias_at + block.label[p]] += self.found[count]
            count += 1
        sstruct_add_row(
            &self.problem.rows, i, &self.wanted[0], &self.found[0], count, &self.weights[0],
            self.problem.KP)

    cdef void _update_labels(self, Py_ssize_t i, LabelBlock* block) noexcept nogil:
        """Minimize over the alphas of the admitted labels."""
        cdef Py_ssize_t at, p, k, room = self.room
        cdef double low, high, gradient, curvature, alpha, C = self.factor[i]
        cdef double norm = self.problem.squared_norm[i]
        cdef double* message = &self.table[SSTRUCT_MESSAGE * room]
        cdef double* on = &self.table[SSTRUCT_LABEL_VALUE * room]
        cdef double* total = &self.total[0]
        for at in range(block.n_labels):
            total[at] = 0
        for p in range(block.n_pairs):
            total[block.end[2 * p]] += message[p]
            total[block.end[2 * p + 1]] += message[room + p]
        for at in range(block.n_labels):
            k = block.label[at]
            low, high = (0.0 if at < block.n_true else -C), (C if at < block.n_true else 0.0)
            gradient = self.theta[k] - self.rho * total[at] + (
                -self.problem.cost[1, k] if at < block.n_true else self.problem.cost[0, k])
            curvature = norm + self.rho * self.degree[at]
            if curvature > 0:
                alpha = min(max(block.alpha[at] - gradient / curvature, low), high)
            else:
                alpha = low if gradient > 0 else high
            # For a label that is off, how much its score must increase until it enters, with a minus
            # sign; 0 if the label is partly on.
            self.slack[at] = min(gradient, 0) if at >= block.n_true and alpha == 0 else 0
            # From here on, `total` is the step.
            total[at] = alpha - block.alpha[at]
            self.theta[k] += norm * total[at]
            block.alpha[at] = alpha
        for p in range(block.n_pairs):
            at, k = block.end[2 * p], block.end[2 * p + 1]
            message[p] -= total[at]
            message[room + p] -= total[k]
            on[p] = (C if at < block.n_true else 0) - block.alpha[at]
            on[room + p] = (C if k < block.n_true else 0) - block.alpha[k]

    cdef double _slack_of(self, const LabelBlock* block, int32_t k) noexcept nogil:
        """Return the slack of a label, at most 0; -inf if the label was not scored."""
        if self.place[k] >= 0:
            return self.slack[self.place[k]]
        if not self.low <= k < self.high:
            return -INFINITY
        return min(self.theta[k] + self.problem.cost[0, k], 0)

    cdef Py_ssize_t _best_edge(self, LabelBlock* block, double top, double* joint) noexcept nogil:
        """Return the edge without variables with the largest gain `joint` > 0 of its ends, or -1.

        top : largest score plus cost of a label that is not admitted.
        """
        cdef Py_ssize_t c, e, best = -1
        cdef int32_t u, v
        cdef double value, high
        cdef const double* weight = &self.weights[self.problem.edge_at]
        joint[0], top = 0, min(top, 0)
        for c in range(self.bound.shape[0]):
            if not (self.bound[c] + top > joint[0] or self.exhaustive):
                continue
            high = -INFINITY
            for e in range(c * BLOCK, min((c + 1) * BLOCK, self.problem.n_edges)):
                high = max(high, weight[e])
                if not (weight[e] + top > joint[0] or self.exhaustive):
                    continue
                u, v = self.index.edges[2 * e], self.index.edges[2 * e + 1]
                if self.place[u] >= 0 and self.place[v] >= 0:
                    continue
                value = weight[e] + self._slack_of(block, u) + self._slack_of(block, v)
                if value > joint[0]:
                    joint[0], best = value, e
            self.bound[c] = high
        return best

    cdef int _visit(self, Py_ssize_t i) except -1 nogil:
        """Visit a sample; see (b)."""
        cdef LabelBlock* block = &self.blocks[i]
        cdef Py_ssize_t e, part = 0
        cdef Py_ssize_t _sweep, lanes
        cdef double[2] sums
        cdef int32_t at, k
        cdef double top, joint, begin = sstruct_seconds(), middle
        if self.n_parts > 1:
            part = random_below(&self.random, self.n_parts)
        sums[0] = sums[1] = 0
        self._score(i, block, part)
        for at in range(block.n_labels):
            self.place[block.label[at]] = at
        k = self._best_label(&top)
        if k >= 0 and top > 0:
            self.place[k] = block.n_labels
            admit(block, k, &self.index)
            # No second search: the scores of other labels depend on the step of this one.
        middle = sstruct_seconds()
        self.search_seconds += middle - begin
        lanes = (block.n_pairs + SSTRUCT_EDGE_LANES - 1) // SSTRUCT_EDGE_LANES * SSTRUCT_EDGE_LANES
        self._lay_out(i, block)
        for _sweep in range(self.n_sweeps):
            self._update_labels(i, block)
            sstruct_outcome_steps(
                &self.table[0], self.room, lanes, self.rho, self.factor[i], self.multiplier_step,
                sums)
        self.residual += sums[0]
        self.change += sums[1]
        self._write_back(i, block)
        begin = sstruct_seconds()
        self.update_seconds += begin - middle
        if k >= 0 and not top > 0:
            e = self._best_edge(block, top, &joint)
            if e >= 0:
                for at in range(2):
                    k = self.index.edges[2 * e + at]
                    if self.place[k] < 0:
                        self.place[k] = block.n_labels
                        admit(block, k, &self.index)
        for at in range(block.n_labels):
            self.place[block.label[at]] = -1
        self.search_seconds += sstruct_seconds() - begin
        return 0

    @property
    def running_weights(self):
        """Copy of the weights that correspond to the current variables."""
        return np.array(self.weights[:self.problem.n_weights])
