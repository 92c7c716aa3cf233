# Design:
# (a) Dual-decomposed learning of label sets: the dual of the relaxation over the local polytope, with
#     a factor for each label and each edge of a sample, in the augmented Lagrangian of the
#     constraints that an edge's masses have its labels' marginals (_gdmm_label_block has the
#     variables). In the units of the paper: 1/2 |w|^2 plus linear terms, C_i = q_i / lam.
# (b) A visit to a sample: let one label in; a few times minimise over all admitted labels (they meet
#     in no term, so each is a clip), minimise over each edge between them (4 outcomes, majorised by
#     1 + 2 rho on the diagonal) and move the multipliers; look for an edge that would let labels in.
# (c) Labels are searched by their scores, whole or one part of them drawn a visit. A label not
#     admitted has no messages, so it enters when its score and cost are positive.
# (d) Of edges that have no variables the outcome (1, 1) alone has a score, its weight v. Messages may
#     be put on such an edge freely as far as its ends' slack allows, the distance of a label that is
#     off from entering: what is then left, v + slack_u + slack_v, slacks <= 0, is the gain of turning
#     both on. The greatest is found in one heap over v by branch and bound, the bound being v plus
#     the least slack of a label that is not admitted.
# (e) What such searches miss (labels that pay only three at a time) the certificate's oracles find
#     (_gdmm_label_bounds).
# [Yen et al., NIPS 2016, Algorithm 3 and Appendix C-2]
"""GDMM's factors of label sets: their state, and one pass."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free

from sstruct._problems._multilabel cimport MultilabelProblem
from sstruct._problems._rows cimport sstruct_add_row, sstruct_row_size, sstruct_some_potentials
from sstruct._solvers._gdmm_label_block cimport (
    LabelBlock, admit, free_block, outcome_minimum)
from sstruct._solvers._gdmm_ordered cimport (
    HeapWalk, heap_build, heap_update, walk_begin, walk_next)
from sstruct._solvers._random cimport random_below, random_seed, random_shuffle
from sstruct._solvers._watch cimport Watch, look, start_watch

import numpy as np

from sstruct._solvers._state import aligned_zeros

cdef extern from "_clock.h":
    double sstruct_seconds() noexcept nogil


cdef class LabelFactors:
    """State of GDMM on label sets.

    Parameters
    ----------
    problem : MultilabelProblem
        With labels, and one weight an edge.
    lam : float
        Regularisation, positive.
    block_weight : array-like of shape (n_blocks,)
        q_i, positive.
    rho : float
        Penalty of the augmented Lagrangian, positive.
    n_parts : int
        Parts of the labels, of which one is searched a visit.
    seed : int
    n_sweeps : int
        Updates of the admitted variables a visit, at least 1.

    Attributes
    ----------
    residual, change : float
        Of the last pass: the sum of squared differences between edges' masses and labels'
        marginals, and of the steps of the former, both in the units of C.
    search_seconds, update_seconds : float
        Spent so far in searches for labels and edges, and in updates.
    """

    def __cinit__(self, MultilabelProblem problem not None, *args, **kwargs):
        self.n_blocks = problem.n_blocks
        self.blocks = <LabelBlock*> calloc(self.n_blocks, sizeof(LabelBlock))
        if self.blocks == NULL:
            raise MemoryError

    def __dealloc__(self):
        cdef Py_ssize_t i
        if self.blocks != NULL:
            for i in range(self.n_blocks):
                free_block(&self.blocks[i])
            free(self.blocks)

    def __init__(
            self, MultilabelProblem problem not None, double lam, block_weight, double rho,
            Py_ssize_t n_parts=1, seed=0, Py_ssize_t n_sweeps=1):
        cdef Py_ssize_t i, at, K = problem.n_labels
        if problem.full or not problem.has_labels:
            raise ValueError("the problem must have labels, and one weight an edge")
        self.problem, self.lam, self.rho, self.n_sweeps = problem, lam, rho, n_sweeps
        self.factor = np.asarray(block_weight, dtype=np.float64) / lam
        if self.factor.shape[0] != self.n_blocks or not np.min(self.factor) > 0:
            raise ValueError("block_weight must be positive, one for each block")
        # A place more than there are weights: there may be no edge to take the address of.
        self.weights = aligned_zeros(problem.n_weights + 1)
        self.first = problem.decoder.first
        self.index.edges, self.index.first = problem.model.edges, &self.first[0]
        random_seed(&self.random, seed)
        self.item = np.arange(max(problem.n_edges, 1), dtype=np.int32)
        self.where = np.zeros(max(problem.n_edges, 1), dtype=np.int32)
        self.heap.key, self.heap.stride = &self.weights[problem.edge_at], 1
        self.heap.size, self.heap.item = problem.n_edges, &self.item[0]
        self.heap.place = &self.where[0]
        heap_build(&self.heap)
        self._set_parts(n_parts)
        self.theta = np.zeros(max(problem.KP, K))
        self.found, self.total, self.degree, self.step, self.slack = np.zeros((5, K))
        self.wanted, self.place, self.scored = np.full((3, K), -1, dtype=np.int32)
        for i in range(self.n_blocks):
            for at in range(problem.first_on[i], problem.first_on[i + 1]):
                admit(&self.blocks[i], problem.on[at], &self.index)
            self.blocks[i].n_true = self.blocks[i].n_labels

    def _set_parts(self, Py_ssize_t n_parts):
        """Cut the labels, in random order, into parts whose sizes differ by at most 1."""
        cdef Py_ssize_t K = self.problem.n_labels
        if not 1 <= n_parts <= K:
            raise ValueError(f"{n_parts} parts, expected 1 to {K}, the number of labels")
        cdef Py_ssize_t[::1] order = np.arange(K)
        if n_parts > 1:
            random_shuffle(&self.random, &order[0], K)
        self.part_label = np.asarray(order).astype(np.int32)
        self.part_first = np.arange(n_parts + 1) * K // n_parts

    def run(self, double deadline):
        """Visit every sample once, in random order.

        Returns
        -------
        bool
            Whether all were visited. A signal's exception leaves the visits before it.
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
                if look(&watch, work):
                    break
        return a == n - 1

    def set_rho(self, double rho):
        """Change the penalty; the multipliers stay."""
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

    cdef Py_ssize_t _score(self, Py_ssize_t i, LabelBlock* block, Py_ssize_t part) noexcept nogil:
        """Set `theta` of admitted labels and those of a part, and mark which."""
        cdef Py_ssize_t j, k, count, n_part
        cdef Py_ssize_t begin = self.part_first[part], end = self.part_first[part + 1]
        cdef const double* w = &self.weights[0]
        self.visit += 1
        if end - begin == self.problem.n_labels:
            self.problem.node_scores(i, w, &self.theta[0])
            for k in range(self.problem.n_labels):
                self.scored[k] = self.visit
            return 0
        count = n_part = end - begin
        for j in range(n_part):
            self.wanted[j] = self.part_label[begin + j]
            self.scored[self.wanted[j]] = self.visit
        for j in range(block.n_labels):
            k = block.label[j]
            if self.scored[k] != self.visit:
                self.wanted[count] = <int32_t> k
                self.scored[k] = self.visit
                count += 1
        sstruct_some_potentials(
            &self.problem.rows, i, w, self.problem.KP, &self.wanted[0], count, &self.found[0])
        for j in range(count):
            k = self.wanted[j]
            self.theta[k] = self.found[j] + (w[self.problem.bias_at + k] if self.problem.bias else 0)
        return 0

    cdef int32_t _best_label(self, LabelBlock* block, Py_ssize_t part, double* top) noexcept nogil:
        """The label of a part, not admitted, with the highest score and cost, `top`; or -1."""
        cdef Py_ssize_t j
        cdef int32_t k, best = -1
        cdef double value
        top[0] = -INFINITY
        for j in range(self.part_first[part], self.part_first[part + 1]):
            k = self.part_label[j]
            value = self.theta[k] + self.problem.cost[0, k]
            if value > top[0] and self.place[k] < 0:
                top[0], best = value, k
        return best

    cdef void _update_labels(self, Py_ssize_t i, LabelBlock* block) noexcept nogil:
        """Minimise over the admitted labels' alpha."""
        cdef int32_t at, p, k, n_moved = 0
        cdef double low, high, gradient, curvature, alpha, C = self.factor[i]
        for at in range(block.n_labels):
            self.total[at] = self.degree[at] = 0
        for p in range(block.n_pairs):
            for at in range(2):
                self.total[block.end[2 * p + at]] += block.message[2 * p + at]
                self.degree[block.end[2 * p + at]] += 1
        for at in range(block.n_labels):
            k = block.label[at]
            low, high = (0.0 if at < block.n_true else -C), (C if at < block.n_true else 0.0)
            gradient = self.theta[k] - self.rho * self.total[at] + (
                -self.problem.cost[1, k] if at < block.n_true else self.problem.cost[0, k])
            curvature = self.problem.squared_norm[i] + self.rho * self.degree[at]
            if curvature > 0:
                alpha = min(max(block.alpha[at] - gradient / curvature, low), high)
            else:
                alpha = low if gradient > 0 else high
            self.step[at] = alpha - block.alpha[at]
            # How far a label that is off is from entering; where it is partly on it costs nothing.
            self.slack[at] = min(gradient, 0) if at >= block.n_true and alpha == 0 else 0
            block.alpha[at] = alpha
            if self.step[at] != 0:
                self.wanted[n_moved], self.found[n_moved] = k, self.step[at]
                n_moved += 1
                self.theta[k] += self.problem.squared_norm[i] * self.step[at]
                if self.problem.bias:
                    self.weights[self.problem.bias_at + k] += self.step[at]
        sstruct_add_row(
            &self.problem.rows, i, &self.wanted[0], &self.found[0], n_moved, &self.weights[0],
            self.problem.KP)
        for p in range(block.n_pairs):
            for at in range(2):
                block.message[2 * p + at] -= self.step[block.end[2 * p + at]]

    cdef void _update_edges(self, Py_ssize_t i, LabelBlock* block) noexcept nogil:
        """Minimise a majoriser over each edge's beta; then move the multipliers."""
        cdef int32_t p, o, truth
        cdef Py_ssize_t e
        cdef double Q = 1 + 2 * self.rho, C = self.factor[i], move, residual, left, right
        cdef double[4] gradient, c, solved, beta
        cdef double* v = &self.weights[self.problem.edge_at]
        cdef double* message
        gradient[0] = 0
        for p in range(block.n_pairs):
            e, message = block.edge[p], &block.message[2 * p]
            gradient[1], gradient[2] = self.rho * message[1], self.rho * message[0]
            gradient[3] = v[e] + gradient[1] + gradient[2]
            beta[0] = 0
            for o in range(1, 4):
                beta[o] = block.beta[3 * p + o - 1]
                beta[0] -= beta[o]
            truth = 2 * (block.end[2 * p] < block.n_true) + (block.end[2 * p + 1] < block.n_true)
            # The truth comes first in the program.
            c[0] = gradient[truth] - Q * beta[truth]
            for o in range(1, 4):
                c[o] = gradient[o ^ truth] - Q * beta[o ^ truth]
            if beta[truth] == 0 and c[1] <= c[0] and c[2] <= c[0] and c[3] <= c[0]:
                solved[0] = solved[1] = solved[2] = solved[3] = 0
            else:
                outcome_minimum(c, Q, C, solved)
            left = solved[2 ^ truth] + solved[3 ^ truth] - beta[2] - beta[3]
            right = solved[1 ^ truth] + solved[3 ^ truth] - beta[1] - beta[3]
            self.change += left * left + right * right
            message[0] += left
            message[1] += right
            move = solved[3 ^ truth] - beta[3]
            for o in range(1, 4):
                block.beta[3 * p + o - 1] = solved[o ^ truth]
            if move != 0:
                v[e] += move
                heap_update(&self.heap, e)
            for o in range(2):
                residual = block.beta[3 * p + 2] + block.beta[3 * p + 1 - o] - (
                    block.alpha[block.end[2 * p + o]])
                self.residual += residual * residual
                message[o] += residual

    cdef double _slack_of(self, const LabelBlock* block, int32_t k) noexcept nogil:
        """How far a label is from entering, at most 0; -inf where it was not scored."""
        if self.place[k] >= 0:
            return self.slack[self.place[k]]
        if self.scored[k] != self.visit:
            return -INFINITY
        return min(self.theta[k] + self.problem.cost[0, k], 0)

    cdef Py_ssize_t _best_edge(self, LabelBlock* block, double top, double* joint) noexcept nogil:
        """The edge without variables whose ends gain most, `joint` > 0, by turning on; or -1.

        top : the highest score and cost of a label that is not admitted.
        """
        cdef HeapWalk walk
        cdef Py_ssize_t e, best = -1
        cdef int32_t u, v
        cdef double value
        joint[0], top = 0, min(top, 0)
        walk_begin(&walk, &self.heap)
        while True:
            e = walk_next(&walk, &self.heap, joint[0] - top)
            if e < 0:
                return best
            u, v = self.index.edges[2 * e], self.index.edges[2 * e + 1]
            if self.place[u] >= 0 and self.place[v] >= 0:
                continue
            value = self.heap.key[e] + self._slack_of(block, u) + self._slack_of(block, v)
            if value > joint[0]:
                joint[0], best = value, e

    cdef int _visit(self, Py_ssize_t i) except -1 nogil:
        """One visit to a sample; see (b)."""
        cdef LabelBlock* block = &self.blocks[i]
        cdef Py_ssize_t e, part = 0
        cdef Py_ssize_t _sweep
        cdef int32_t at, k
        cdef double top, joint, begin = sstruct_seconds(), middle
        if self.part_first.shape[0] > 2:
            part = random_below(&self.random, self.part_first.shape[0] - 1)
        self._score(i, block, part)
        for at in range(block.n_labels):
            self.place[block.label[at]] = at
        k = self._best_label(block, part, &top)
        if k >= 0 and top > 0:
            self.place[k] = block.n_labels
            admit(block, k, &self.index)
            # The next one is not looked for: what it scores depends on what this one takes.
        middle = sstruct_seconds()
        self.search_seconds += middle - begin
        for _sweep in range(self.n_sweeps):
            self._update_labels(i, block)
            self._update_edges(i, block)
        begin = sstruct_seconds()
        self.update_seconds += begin - middle
        if self.heap.size > 0 and k >= 0 and not top > 0:
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

    def search(self, Py_ssize_t i, Py_ssize_t part, w=None, slack=None):
        """Search a sample's factors as a visit does, and move nothing; for tests.

        Parameters
        ----------
        i, part : int
        w : ndarray of shape (n_weights,), optional
            Weights to take the place of the running ones, for good.
        slack : ndarray of shape (K,), optional
            Slacks of the admitted labels, at most 0; None: 0.

        Returns
        -------
        label, top, edge, joint : as of `_best_label` and `_best_edge`
        """
        cdef LabelBlock* block = &self.blocks[i]
        cdef double top, joint = 0
        cdef int32_t at, label
        cdef Py_ssize_t edge
        if not 0 <= i < self.n_blocks or not 0 <= part < self.part_first.shape[0] - 1:
            raise IndexError(f"there is no block {i}, or no part {part}")
        if w is not None:
            np.asarray(self.weights)[:self.problem.n_weights] = w
            heap_build(&self.heap)
        self._score(i, block, part)
        for at in range(block.n_labels):
            self.place[block.label[at]] = at
            self.slack[at] = 0 if slack is None else slack[block.label[at]]
        label = self._best_label(block, part, &top)
        edge = self._best_edge(block, top, &joint) if self.heap.size > 0 else -1
        for at in range(block.n_labels):
            self.place[block.label[at]] = -1
        return label, top, edge, joint

    @property
    def parts(self):
        """Labels of each part: a list of arrays."""
        return np.split(np.asarray(self.part_label), list(self.part_first)[1:self.part_first.shape[0] - 1])

    @property
    def running_weights(self):
        """Weights that go with the running variables, a copy."""
        return np.array(self.weights[:self.problem.n_weights])
