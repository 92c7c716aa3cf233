# Design:
# (a) A chain is decomposed into unigram factors (nodes) and bigram factors (edges), each with its own
#     dual variables: alpha of a node and beta of an edge, in a shifted simplex of mass C_i ([Y16], with
#     a separate C for every block, which includes lam). w = sum x alpha, v = sum beta; the messages at
#     the ends of an edge hold the residuals (M beta)(k) - alpha(k) and the scaled multipliers mu.
# (b) A visit of a chain updates each node, then each edge, then the multipliers. Before an edge is
#     updated, its best inactive pair becomes active; in passes with a search, so do the best few labels
#     of a node. Nodes are minimized exactly, since their Hessian is Q I. Edges make steps of the same
#     form with a safe majorizer of rho (M'M): the largest number of active pairs in a row plus that in
#     a column.
# (c) A label may become active if its gradient exceeds that of a label whose mass could move to it,
#     which is the optimality condition. Labels and pairs without mass are dropped.
# (d) Messages are lists of labels that are, or were, active at the edge or at its node.
# (e) Bounds on the optimum are in _chain_bounds.pyx and _chain_dual.pyx. The scores of transitions are
#     in `pairs`.
"""Factors of GDMM on chains, and a pass over them."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free

from sstruct._problems.chain._chain_problem cimport ChainProblem, node_scale
from sstruct._problems.core._rows cimport range_potentials, some_potentials, sstruct_row_product
from sstruct._solvers.gdmm._edge_steps cimport edge_steps
from sstruct._solvers.gdmm._entries cimport Entries, append, drop_zeros
from sstruct._solvers.gdmm._pairs cimport BoundedPairs
from sstruct._kernels._simplex cimport simplex_minimum
from sstruct._kernels._interruption cimport poll_signals
from sstruct._kernels._random cimport random_below, random_seed
from sstruct._solvers.core._watch cimport Watch, poll, sstruct_seconds, start_watch

import numpy as np

from sstruct._checks.arrays import contiguous
from sstruct._solvers.core._state import aligned_zeros


cdef class ChainFactors:
    """Dual variables and messages of all factors of a chain problem, initially zero.

    Parameters
    ----------
    problem : ChainProblem
        With labels. Its rows, costs, masks and weight layout are used, but not its oracle.
    lam : float
    block_weight : ndarray of shape (n_blocks,)
        q_i.
    rho : float
        Penalty of the augmented Lagrangian.
    n_new : int
        Largest number of labels that a search adds to a node.
    seed : int
        Seed for drawing label groups.
    exhaustive : bool
        Whether searches for pairs scan all pairs.
    prior : ndarray of shape (n_weights,), optional
        The center of the regularizer, at which w and v start; default: 0.
    """

    def __cinit__(
            self, ChainProblem problem not None, double lam, block_weight, double rho,
            Py_ssize_t n_new, seed, bint exhaustive=False, prior=None):
        cdef Py_ssize_t b, l, r, n = problem.features.n_rows, K = problem.n_labels, KP = problem.KP
        problem.need_labels()
        if problem.edge_step != 0:
            raise ValueError("GDMM does not support features of transitions")
        if problem.tied:
            raise ValueError("GDMM does not support tied transitions")
        self.problem, self.n_rows, self.n_node_weights = problem, n, problem.edge_at
        self.w = self.weights = aligned_zeros(self.n_node_weights)
        self.start = 0.0 if prior is None else prior[:self.n_node_weights]
        self.w[:] = self.start
        self.mass = contiguous(block_weight, dtype=np.float64) / lam
        if self.mass.shape[0] != problem.n_blocks or not rho > 0 or n_new < 1:
            raise ValueError(
                f"expected {problem.n_blocks} block weights and positive rho and n_new, found "
                f"{self.mass.shape[0]}, {rho} and {n_new}")
        self.rho = rho
        random_seed(&self.random, seed)
        self.active_labels = <Entries*> calloc(n, sizeof(Entries))
        self.active_pairs = <Entries*> calloc(n, sizeof(Entries))
        self.left = <Entries*> calloc(n + 1, sizeof(Entries))
        self.right = <Entries*> calloc(n + 1, sizeof(Entries))
        if not (self.active_labels and self.active_pairs and self.left and self.right):
            raise MemoryError(f"not enough memory for the active labels of {n} nodes")
        self.n_new, self.pairs = n_new, None
        if problem.transitions or problem.masked:
            penalty = np.asarray(problem.edge_penalty) if problem.masked else None
            self.pairs = BoundedPairs(K, KP, penalty, exhaustive)
            if prior is not None and problem.transitions:
                self.pairs.add(prior[self.n_node_weights:])
        self.curvature, self.chain_gain = np.zeros(n), np.zeros(problem.n_blocks)
        for b in range(problem.n_blocks):
            for l in range(problem.length[b]):
                r = problem.start[b] + l
                self.curvature[r] = sstruct_row_product(&problem.rows, r, r) + problem.bias
                if problem.boundaries:
                    self.curvature[r] += l == 0 and problem.starts_here[b]
                    self.curvature[r] += l == problem.length[b] - 1 and problem.ends_here[b]
                append(&self.active_labels[r], problem.labels[r], 0, 0)
                if l > 0 and self.pairs is not None:
                    append(&self.active_pairs[r], problem.labels[r - 1], problem.labels[r], 0)
                    self.n_edges += 1
        self.theta, self.message = np.empty(KP), np.zeros(KP)
        self.slot = np.full(KP, -1, dtype=np.int32)
        self.row_count, self.column_count = np.zeros((2, KP), dtype=np.int32)
        self.gradient = np.empty(0)
        self.reserve(64)

    def __dealloc__(self):
        cdef Py_ssize_t r
        cdef Entries* lists
        cdef Entries* every[4]
        every[0], every[1] = self.active_labels, self.active_pairs
        every[2], every[3] = self.left, self.right
        for lists in every:
            for r in range(self.n_rows if lists != NULL else 0):
                free(lists[r].at)
            free(lists)

    cdef int reserve(self, Py_ssize_t size) except -1 nogil:
        """Allocate scratch memory for `size` labels or pairs of a factor."""
        if size > self.gradient.shape[0]:
            with gil:
                self.gradient, self.linear, self.step, self.change = np.empty((4, 2 * size))
                self.label = np.empty(2 * size, dtype=np.int32)
        return 0

    cdef double stored_in_row(self) noexcept:
        """Return the mean number of features per row."""
        return <double> self.problem.features.n_stored / max(self.n_rows, 1)

    def run(self, const Py_ssize_t[::1] order, bint search, Py_ssize_t parts, double step,
            double deadline):
        """Visit chains in a given order.

        Parameters
        ----------
        order : ndarray of intp
        search : bool
            Whether nodes search for new labels. Edges, whose search is cheap, always search for pairs.
        parts : int
            Number of label groups, of which one is searched per node.
        step : float
            Step size of the multipliers; 0 leaves them unchanged.
        deadline : float

        Returns
        -------
        n_visited : int
        """
        cdef Py_ssize_t at, b, l, n_visited = 0
        cdef Watch watch = start_watch(deadline)
        cdef BoundedPairs pairs = self.pairs
        if order.shape[0] and not 0 <= np.min(order) <= np.max(order) < self.problem.n_blocks:
            raise IndexError(
                f"order has indices from {np.min(order)} to {np.max(order)}, expected 0 to "
                f"{self.problem.n_blocks - 1}")
        parts = min(max(parts, 1), self.problem.n_labels)
        cdef double before, work = 0, searched = self.problem.n_labels // parts if search else 0
        cdef double of_node = OF_NODE + searched * self.stored_in_row()
        self.residual = self.movement = self.gain = 0
        with nogil:
            for at in range(order.shape[0]):
                b = order[at]
                before = self.gain
                for l in range(self.problem.length[b]):
                    poll_signals(of_node)
                    self.visit_node(b, l, parts, search)
                for l in range(1, self.problem.length[b] if pairs is not None else 1):
                    poll_signals(OF_NODE)
                    self.visit_edge(pairs, b, l)
                self.move_multipliers(b, step)
                self.chain_gain[b] = self.gain - before
                n_visited += 1
                work += self.problem.length[b] * of_node
                if poll(&watch, work):
                    break
        return n_visited

    cdef void node_scores(
            self, Py_ssize_t b, Py_ssize_t l, const int32_t* label, Py_ssize_t count, double* out
            ) noexcept nogil:
        """Compute the loss-augmented scores of some allowed labels at position l."""
        cdef Py_ssize_t k, r = self.problem.start[b] + l
        cdef int32_t truth = self.problem.labels[r]
        cdef double scale = node_scale(self.problem, b, r)
        cdef bint is_first = l == 0 and self.problem.starts_here[b]
        cdef bint is_last = l == self.problem.length[b] - 1 and self.problem.ends_here[b]
        some_potentials(
            &self.problem.rows, r, &self.weights[0], self.problem.KP, label, count, out)
        for k in range(count):
            out[k] += scale * self.problem.cost[truth, label[k]]
            if self.problem.bias:
                out[k] += self.weights[self.problem.bias_at + label[k]]
            if self.problem.boundaries and is_first:
                out[k] += self.weights[self.problem.start_at + label[k]]
            if self.problem.boundaries and is_last:
                out[k] += self.weights[self.problem.end_at + label[k]]

    cdef void all_scores(
            self, Py_ssize_t b, Py_ssize_t l, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
        """Set theta[low:high] to the scores of all labels in the range, -inf for forbidden ones."""
        cdef Py_ssize_t k, r = self.problem.start[b] + l, KP = self.problem.KP
        cdef double* theta = &self.theta[0]
        cdef const double* w = &self.weights[0]
        cdef const double* cost = &self.problem.cost[self.problem.labels[r], 0]
        cdef double scale = node_scale(self.problem, b, r)
        cdef const double* bias = w + self.problem.bias_at if self.problem.bias else NULL
        for k in range(low, high):
            theta[k] = scale * cost[k]
        if bias != NULL:
            for k in range(low, high):
                theta[k] += bias[k]
        range_potentials(&self.problem.rows, r, w, KP, low, high, theta)
        if self.problem.starts_here[b] and l == 0:
            for k in range(low, high):
                theta[k] += self.problem.boundary_penalty[0, k] + (
                    w[self.problem.start_at + k] if self.problem.boundaries else 0)
        if self.problem.ends_here[b] and l == self.problem.length[b] - 1:
            for k in range(low, high):
                theta[k] += self.problem.boundary_penalty[1, k] + (
                    w[self.problem.end_at + k] if self.problem.boundaries else 0)

    cdef int send(
            self, Entries* messages, const int32_t* label, Py_ssize_t count, double sign
            ) except -1 nogil:
        """Add sign * change of some labels to residuals; append labels that are not listed yet."""
        cdef Py_ssize_t k
        cdef int32_t at
        for k in range(messages.size):
            self.slot[messages.at[k].first] = <int32_t> k
        for k in range(count):
            at = self.slot[label[k]]
            if at < 0:
                at = append(messages, label[k], 0, 0)
                self.slot[label[k]] = at
            messages.at[at].value += sign * self.change[k]
        for k in range(messages.size):
            self.slot[messages.at[k].first] = -1
        return 0

    cdef void messages_at(self, Py_ssize_t b, Py_ssize_t l, Entries** sources) noexcept nogil:
        """Return the messages at a node from the edges before and after it, empty if there is none."""
        cdef Py_ssize_t r = self.problem.start[b] + l
        cdef bint has_pairs = self.pairs is not None
        cdef bint has_next = has_pairs and l < self.problem.length[b] - 1
        sources[0] = &self.right[r] if has_pairs and l > 0 else &self.no_entries
        sources[1] = &self.left[r + 1] if has_next else &self.no_entries

    cdef int visit_node(
            self, Py_ssize_t b, Py_ssize_t l, Py_ssize_t parts, bint search) except -1 nogil:
        """Minimize the augmented Lagrangian over one unigram factor, including new labels."""
        cdef Py_ssize_t r = self.problem.start[b] + l, k, n
        cdef double C = self.mass[b], least = INFINITY, begin
        cdef Entries* active = &self.active_labels[r]
        cdef Entries* sources[2]
        cdef Entries* source
        self.messages_at(b, l, sources)
        if search:
            drop_zeros(active)
        self.reserve(active.size + self.n_new)
        for source in sources:
            for k in range(source.size):
                self.message[source.at[k].first] += self.rho * (
                    source.at[k].value + source.at[k].multiplier)
        n = active.size
        for k in range(n):
            self.label[k] = active.at[k].first
        self.node_scores(b, l, &self.label[0], n, &self.gradient[0])
        for k in range(n):
            self.gradient[k] -= self.message[self.label[k]]
            if active.at[k].value < (C if k == 0 else 0) and self.gradient[k] < least:
                least = self.gradient[k]
        if search:
            begin = sstruct_seconds()
            self.search_labels(b, l, parts, sources, least)
            self.label_seconds += sstruct_seconds() - begin
        for source in sources:
            for k in range(source.size):
                self.message[source.at[k].first] = 0
        return self.step_node(b, l, sources) if active.size > 1 else 0

    cdef int search_labels(
            self, Py_ssize_t b, Py_ssize_t l, Py_ssize_t parts, Entries** sources,
            double least) except -1 nogil:
        """Activate the best few labels with a gradient above `least`."""
        cdef Entries* active = &self.active_labels[self.problem.start[b] + l]
        cdef Entries* source
        cdef Py_ssize_t k, at, side, n = active.size, most = n
        cdef Py_ssize_t low = 0, high = self.problem.n_labels
        if parts > 1:
            k = random_below(&self.random, parts)
            low, high = k * high // parts, (k + 1) * high // parts
        self.all_scores(b, l, low, high)
        for side in range(2):
            source = sources[side]
            for k in range(source.size):
                self.theta[source.at[k].first] -= self.rho * (
                    source.at[k].value + source.at[k].multiplier)
        for k in range(n):
            self.theta[self.label[k]] = -INFINITY
        # Insert them after the active ones, in decreasing order.
        for k in range(low, high):
            if not self.theta[k] > least:
                continue
            if most < n + self.n_new:
                most += 1
            at = most - 1
            while at > n and self.theta[k] > self.gradient[at - 1]:
                self.label[at], self.gradient[at] = self.label[at - 1], self.gradient[at - 1]
                at -= 1
            self.label[at], self.gradient[at] = <int32_t> k, self.theta[k]
            if most == n + self.n_new:
                least = self.gradient[most - 1]
        for k in range(n, most):
            append(active, self.label[k], 0, 0)
        return 0

    cdef int step_node(self, Py_ssize_t b, Py_ssize_t l, Entries** sources) except -1 nogil:
        """Move to the minimum over the active labels, using `gradient`; update the messages."""
        cdef Py_ssize_t r = self.problem.start[b] + l, k, side, n_changed = 0
        cdef bint before = l > 0 and self.pairs is not None
        cdef bint after = l < self.problem.length[b] - 1 and self.pairs is not None
        cdef double Q = self.curvature[r] + self.rho * (before + after), difference
        cdef Entries* active = &self.active_labels[r]
        cdef Py_ssize_t n = active.size
        for k in range(n):
            self.linear[k] = self.gradient[k] - Q * active.at[k].value
        simplex_minimum(&self.linear[0], Q, self.mass[b], n, &self.step[0])
        for k in range(n):
            difference = self.step[k] - active.at[k].value
            if difference != 0:
                self.label[n_changed], self.change[n_changed] = active.at[k].first, difference
                n_changed += 1
                self.movement += (before + after) * difference * difference
                self.gain += Q * difference * difference
            active.at[k].value = self.step[k]
        self.problem.add_node(b, l, &self.label[0], &self.change[0], n_changed, &self.weights[0])
        for side in range(2):
            if sources[side] != &self.no_entries:
                self.send(sources[side], &self.label[0], n_changed, -1)
        return 0

    cdef int visit_edge(self, BoundedPairs pairs, Py_ssize_t b, Py_ssize_t l) except -1 nogil:
        """Update the bigram factor between positions l - 1 and l, including a new pair."""
        cdef Py_ssize_t r = self.problem.start[b] + l, k, n, n_changed = 0
        cdef Entries* active = &self.active_pairs[r]
        cdef double C = self.mass[b], least = INFINITY, begin, difference
        cdef int32_t j, i
        cdef bint found
        self.reserve(active.size + 1)
        drop_zeros(active)
        pairs.load(&self.left[r], &self.right[r], self.rho, False)
        for k in range(active.size):
            j, i = active.at[k].first, active.at[k].second
            self.gradient[k] = pairs.score[j * pairs.width + i] + pairs.left[j] + pairs.right[i]
            if active.at[k].value < (C if k == 0 else 0) and self.gradient[k] < least:
                least = self.gradient[k]
        begin = sstruct_seconds()
        pairs.mark(active)
        found = pairs.search(least)
        pairs.unmark()
        if found:
            append(active, pairs.best_first, pairs.best_second, 0)
            self.gradient[active.size - 1] = pairs.best
        self.pair_seconds += sstruct_seconds() - begin
        n = active.size
        if n == 1:
            pairs.unload(&self.left[r], &self.right[r])
            return 0
        edge_steps(
            pairs, active, self.problem.transitions, self.rho, C, &self.row_count[0],
            &self.column_count[0], &self.gradient[0], &self.linear[0], &self.change[0],
            &self.step[0])
        for k in range(n):
            pairs.left[active.at[k].first] = pairs.right[active.at[k].second] = 0
        pairs.unload(&self.left[r], &self.right[r])
        for k in range(n):
            difference = self.step[k] - active.at[k].value
            if difference != 0:
                if self.problem.transitions:
                    pairs.change(active.at[k].first, active.at[k].second, difference)
                self.label[n_changed], self.change[n_changed] = active.at[k].first, difference
                n_changed += 1
        self.send(&self.left[r], &self.label[0], n_changed, 1)
        n_changed = 0
        for k in range(n):
            if self.step[k] != active.at[k].value:
                self.label[n_changed] = active.at[k].second
                n_changed += 1
            active.at[k].value = self.step[k]
        self.send(&self.right[r], &self.label[0], n_changed, 1)
        return 0

    cdef void move_multipliers(self, Py_ssize_t b, double step) noexcept nogil:
        """mu += step * residual, at both ends of the edges of a chain."""
        cdef Py_ssize_t r, k
        cdef double square
        cdef Entries* ends[2]
        cdef Entries* messages
        if self.pairs is None:
            return
        for r in range(self.problem.start[b] + 1, self.problem.start[b] + self.problem.length[b]):
            ends[0], ends[1] = &self.left[r], &self.right[r]
            for messages in ends:
                for k in range(messages.size):
                    messages.at[k].multiplier += step * messages.at[k].value
                    square = messages.at[k].value * messages.at[k].value
                    self.residual += square
                    self.gain += self.rho * square
