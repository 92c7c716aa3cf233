# Design:
# (a) MAP inference as a block problem [SK19]. Blocks are the trees t of a cover of a model; f_t divides
#     the cost of a node equally among its copies. Weights are multipliers, one per label and copy of
#     nodes in several trees; those of a label's copies sum to zero. With the indicator E_t y of a
#     labeling in this space, P = identity minus the mean over copies, and a center mu,
#         phi_t(y) = -P E_t y,    L_t(y) = f_t(y0) + <mu, E_t y0> - f_t(y) - <mu, E_t y>,
#     so that sum_t H_t(w) = sum_t f_t(y0) + <mu + w, E_t y0> - h(mu + w): the engine minimizes
#     |w|^2 / (2c) - h(mu + w) + <w, sum_t E_t y0> with lam = 1 / c. A center that is moved by
#     -c P sum_t E_t y0 includes the last term: see sstruct/_solvers/proximal/ascent.py.
# (b) A code contains the label of each position in the tree, then the eight bytes of its free term
#     f_t(y), so its score requires only look-ups at shared nodes. y0 is the answer at w = 0, or at
#     the multipliers passed to `begin`.
# (c) A change of one label moves all copies of it: |psi|^2 has the factor 1 - 1 / copies, and the
#     engine's line search is exact. `published`: distances without this factor, as in the paper.
# (d) A cost of +inf forbids. It may occur in messages, but an answer with this cost is an error: the tree
#     has no allowed labeling.
# (e) Blocks after the trees are other terms (_terms), whose own cost is included in f_t.
"""Trees of a model and other terms, coupled by multipliers."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.mrf._packed_mrf cimport MRFCosts, PackedMRF
from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._problems.map._terms cimport MapTerms

import numpy as np

from sstruct._problems.map.map_arguments import (
    NothingAllowed, append_terms, oracle_work, place_multipliers)

# Entries of a code after the labels: the bytes of a double.
cdef enum:
    FREE = 2


cdef class MapProblem(BlockProblem):
    """Block problem whose blocks are trees followed by other terms.

    Parameters
    ----------
    model : MRF
        A model without factors of three or four nodes.
    trees : TreeCover
        A cover of the model's graph, with at least one tree if there are no terms.
    published : bool
        Whether squared distances ignore that copies move together. Steps are then those of the
        paper, half as long for nodes with two copies.
    terms : MapTerms, default=None
        Terms over nodes of the model.
    of : MapProblem, default=None
        The problem whose center and truths are shared; for `fork` only.

    Raises
    ------
    NothingAllowed
        If a tree, a term or a node in neither has no allowed labeling.

    Notes
    -----
    O(entries of the tree's tables) per oracle call, O(shared nodes of the tree) per score.
    """

    def __init__(self, model, trees, published=False, MapTerms terms=None, MapProblem of=None):
        self.model, self.trees, self.published, self.terms = model, trees, published, terms
        self.n_trees = trees.n_trees
        self.cover = cover = trees if terms is None else append_terms(trees, terms)
        self.packed = PackedMRF(model)
        self.start, self.node, self.parent, self.edge = (
            cover.start, cover.node, cover.parent, cover.edge)
        self.n_blocks = cover.n_trees
        sizes = np.diff(cover.start)
        self.code_start = np.r_[0, np.cumsum(sizes + FREE)]
        self.max_code_size = int(sizes.max()) + FREE
        self.batch_size, self.bounded = 1, True
        places = place_multipliers(model, cover)
        self.share, self.label_at = places["share"], places["label_at"]
        self.shared, self.shared_start = places["shared"], places["shared_start"]
        self.weight_at, self.stride, self.number = (
            places["weight_at"], places["stride"], places["number"])
        self.copy_start, self.n_multipliers = places["copy_start"], places["n_multipliers"]
        self.n_weights = max(self.n_multipliers, 1)
        self.tree_work = oracle_work(model, cover)
        if terms is not None:
            np.asarray(self.tree_work)[self.n_trees:] += terms.work
        self.oracle_work = float(np.mean(self.tree_work))
        self.constant = places["constant"]
        self.belief, self.potential = np.empty((2, places["max_labels"]))
        self.message = np.empty(int(model.n_labels.max()))
        if of is None:
            self.center, self.truth_cost = np.zeros(self.n_weights), np.zeros(self.n_blocks)
            self.first_codes = np.empty(self.code_start[self.n_blocks], dtype=np.int32)
        else:
            self.center, self.truth_cost, self.first_codes = (
                of.center, of.truth_cost, of.first_codes)
        self.truths = self.first_codes
        if of is None:
            self.begin(np.zeros(self.n_weights))

    def begin(self, const double[::1] multipliers):
        """Set the truths to the answers at given multipliers, before a solver stores labelings."""
        cdef Py_ssize_t t
        cdef double value = 0
        self._check_weights(multipliers)
        for t in range(self.n_blocks):
            self.minimize(t, NULL, &multipliers[0], 1.0, &self.truths[self.code_start[t]], &value)
        self.recenter(np.array(self.center))

    def recenter(self, const double[::1] center):
        """Move the center mu, also in forks; losses of labelings change, but codes do not."""
        cdef Py_ssize_t t
        self._check_weights(center)
        self.center[:] = center
        for t in range(self.n_blocks):
            self.truth_cost[t] = self.cost(
                t, &self.center[0], 1.0, &self.truths[self.code_start[t]])

    def bound(self, const double[::1] multipliers):
        """Return the sum of the minima of trees, terms and other nodes at given multipliers.

        It does not depend on the center.

        If the multipliers of each label's copies sum to zero, it is a lower bound on all energies, up to
        rounding.
        """
        cdef Py_ssize_t t
        cdef int32_t[::1] code = np.empty(self.max_code_size, dtype=np.int32)
        self._check_weights(multipliers)
        values = np.empty(self.n_blocks)
        cdef double[::1] value = values
        with nogil:
            for t in range(self.n_blocks):
                self.minimize(t, NULL, &multipliers[0], 1.0, &code[0], &value[t])
        return float(values.sum()) + self.constant

    def mean_planes(self, exported):
        """Average the planes of working sets with their dual weights.

        Parameters
        ----------
        exported : dict
            Output of `DualState.export`.

        Returns
        -------
        y : ndarray of shape (n_weights,)
            sum_t E_t of the mean labeling of t: marginals of labels for each copy.
        free : float
            sum_t of the mean free terms, plus the constant.
        """
        cdef const int64_t[::1] size = exported["size"]
        cdef const double[::1] alpha = exported["alpha"]
        cdef const int32_t[::1] code = exported["code"]
        cdef Py_ssize_t t, s, at = 0, position = 0
        cdef double free = 0, term = 0
        marginals = np.zeros(self.n_weights)
        cdef double[::1] y = marginals
        for t in range(self.n_blocks):
            for _ in range(size[t]):
                if alpha[at] > 0:
                    for s in range(self.shared_start[t], self.shared_start[t + 1]):
                        y[self.weight_at[s] + code[position + self.shared[s]] * self.stride[s]] += (
                            alpha[at])
                    memcpy(&term, &code[position + self.start[t + 1] - self.start[t]], sizeof(double))
                    free += alpha[at] * term
                at += 1
                position += self.code_size(t)
        return marginals, free + self.constant

    cdef Py_ssize_t code_size(self, Py_ssize_t i) noexcept nogil:
        return self.start[i + 1] - self.start[i] + FREE

    cdef int truth(self, Py_ssize_t i, int32_t* code) except -1 nogil:
        memcpy(code, &self.truths[self.code_start[i]], self.code_size(i) * sizeof(int32_t))
        return 0

    cdef double free_term(self, Py_ssize_t t, const int32_t* code) noexcept nogil:
        """Return f_t of the labels of a code, without a term's own cost; in fixed summation order."""
        cdef const MRFCosts* costs = &self.packed.costs
        cdef Py_ssize_t p, v, e, a, b, first = self.start[t]
        cdef double total = 0
        for p in range(self.start[t + 1] - first):
            v = self.node[first + p]
            total += self.share[first + p] * costs.node_costs[costs.node_start[v] + code[p]]
            e = self.edge[first + p]
            if e >= 0:
                a, b = code[p], code[self.parent[first + p]]
                total += (self.packed.edge_cost(e, a, b) if costs.edges[2 * e] == v
                          else self.packed.edge_cost(e, b, a))
        return total

    cdef double cost(
            self, Py_ssize_t t, const double* w, double weight, const int32_t* code) noexcept nogil:
        """Return weight f_t(y) + <w, E_t y>."""
        cdef Py_ssize_t s
        cdef double total = 0
        memcpy(&total, code + (self.start[t + 1] - self.start[t]), sizeof(double))
        total *= weight
        for s in range(self.shared_start[t], self.shared_start[t + 1]):
            total += w[self.weight_at[s] + code[self.shared[s]] * self.stride[s]]
        return total

    cdef void beliefs(
            self, Py_ssize_t t, const double* center, const double* w, double weight) noexcept nogil:
        """Set belief to shares of node costs plus potential / weight, and potential to multipliers.

        Potentials are set at positions with multipliers only.
        center : or NULL; weight times it is added to w
        """
        cdef const MRFCosts* costs = &self.packed.costs
        cdef Py_ssize_t p, s, k, v, at, first = self.start[t]
        cdef double* belief
        cdef double* potential
        for p in range(self.start[t + 1] - first):
            v = self.node[first + p]
            belief = &self.belief[self.label_at[first + p]]
            for k in range(costs.n_labels[v]):
                belief[k] = self.share[first + p] * costs.node_costs[costs.node_start[v] + k]
        for s in range(self.shared_start[t], self.shared_start[t + 1]):
            p = first + self.shared[s]
            belief = &self.belief[self.label_at[p]]
            potential = &self.potential[self.label_at[p]]
            at = self.weight_at[s]
            for k in range(costs.n_labels[self.node[p]]):
                potential[k] = w[at]
                if center != NULL:
                    potential[k] += weight * center[at]
                belief[k] += potential[k] / weight
                at += self.stride[s]

    cdef int minimize(
            self, Py_ssize_t t, const double* center, const double* w, double weight, int32_t* code,
            double* value) except -1 nogil:
        """Write the labeling that minimizes weight (f_t(y) + <center, E_t y>) + <w, E_t y>, and the value.

        Messages are passed up the tree; on the way down each position takes the best label given its
        parent's.
        """
        cdef const MRFCosts* costs = &self.packed.costs
        cdef Py_ssize_t p, k, best, n, first = self.start[t], size = self.start[t + 1] - first
        cdef double* belief
        cdef double* message = &self.message[0]
        cdef double own = 0
        self.beliefs(t, center, w, weight)
        if t >= self.n_trees:
            self.terms.minimize(
                t - self.n_trees, &self.belief[0], &self.label_at[first], code, &own)
            return self.conclude(t, weight, own, code, value)
        for p in range(size - 1, 0, -1):
            self.packed.send(
                self.edge[first + p], self.node[first + p], &self.belief[self.label_at[first + p]],
                message)
            belief = &self.belief[self.label_at[first + self.parent[first + p]]]
            for k in range(costs.n_labels[self.node[first + self.parent[first + p]]]):
                belief[k] += message[k]
            poll_signals(100)
        for p in range(size):
            belief = &self.belief[self.label_at[first + p]]
            n = costs.n_labels[self.node[first + p]]
            if p > 0:
                self.packed.add_edge_costs(
                    self.edge[first + p], self.node[first + p], code[self.parent[first + p]], belief)
            best = 0
            for k in range(1, n):
                if belief[k] < belief[best]:
                    best = k
            code[p] = <int32_t> best
        return self.conclude(t, weight, 0.0, code, value)

    cdef int conclude(
            self, Py_ssize_t t, double weight, double own, int32_t* code,
            double* value) except -1 nogil:
        """Write the free term of a code's labels, and their value with the potentials of `beliefs`.

        own : the term's own cost
        """
        cdef Py_ssize_t p, s, first = self.start[t], size = self.start[t + 1] - first
        cdef double free = self.free_term(t, code) + own
        if not free < INFINITY:
            with gil:
                kind = "tree" if t < self.n_trees else "term"
                raise NothingAllowed(
                    f"block {t}: the {kind} of node {self.node[first]} has no labeling with a finite "
                    "cost")
        memcpy(code + size, &free, sizeof(double))
        # Summed in the order of `cost`, for identical bits.
        free *= weight
        for s in range(self.shared_start[t], self.shared_start[t + 1]):
            p = self.shared[s]
            free += self.potential[self.label_at[first + p] + code[p]]
        value[0] = free
        return 0

    cdef int maximize(
            self, Py_ssize_t i, const double* w, double loss_weight, int32_t* code,
            OracleAnswer* answer) except -1 nogil:
        cdef double value = 0
        if not loss_weight > 0:
            with gil:
                raise ValueError(f"trees require a positive loss_weight, found {loss_weight}")
        self.minimize(i, &self.center[0], w, loss_weight, code, &value)
        answer.value, answer.work, answer.exact = -value, self.tree_work[i], True
        answer.bound = answer.value
        return 0

    cdef int scores(
            self, Py_ssize_t i, const double* w, double loss_weight, const int32_t** codes,
            Py_ssize_t count, double* out, double* work) except -1 nogil:
        cdef Py_ssize_t k, s, p, size = self.start[i + 1] - self.start[i], at
        cdef double total = 0
        cdef const double* center = &self.center[0]
        for k in range(count):
            memcpy(&total, codes[k] + size, sizeof(double))
            total *= loss_weight
            if w == NULL:
                for s in range(self.shared_start[i], self.shared_start[i + 1]):
                    p = self.shared[s]
                    total += self.potential[self.label_at[self.start[i] + p] + codes[k][p]]
            else:
                for s in range(self.shared_start[i], self.shared_start[i + 1]):
                    at = self.weight_at[s] + codes[k][self.shared[s]] * self.stride[s]
                    total += w[at] + loss_weight * center[at]
            out[k] = -total
        work[0] += count * (4.0 + 2.0 * (self.shared_start[i + 1] - self.shared_start[i]))
        return 0

    cdef int loss(self, Py_ssize_t i, const int32_t* code, double* out) except -1 nogil:
        out[0] = self.truth_cost[i] - self.cost(i, &self.center[0], 1.0, code)
        return 0

    cdef int squared_distance(
            self, Py_ssize_t i, const int32_t* a, const int32_t* b, double* out) except -1 nogil:
        cdef Py_ssize_t s
        cdef double total = 0
        for s in range(self.shared_start[i], self.shared_start[i + 1]):
            if a[self.shared[s]] != b[self.shared[s]]:
                total += 2 if self.published else 2 - 2.0 / self.stride[s]
        out[0] = total
        return 0

    cdef int scatter(
            self, Py_ssize_t i, const int32_t** codes, const double* coefficient, Py_ssize_t count,
            double* out) except -1 nogil:
        cdef Py_ssize_t s, k, j, p, own, copies, differs
        cdef double total
        # Many codes share few labels: sum the changes of a label before adding them to its copies.
        cdef double* change = &self.message[0]
        for s in range(self.shared_start[i], self.shared_start[i + 1]):
            p, copies = self.shared[s], self.stride[s]
            differs = 0
            for k in range(count):
                differs |= codes[k][p] != codes[0][p]
                change[codes[k][p]] = 0
            if not differs:
                continue
            for k in range(count):
                change[codes[k][p]] += coefficient[k]
            for k in range(count):
                total, change[codes[k][p]] = change[codes[k][p]], 0
                own = self.weight_at[s] + codes[k][p] * copies
                if total != 0:
                    for j in range(own - self.number[s], own - self.number[s] + copies):
                        out[j] += total / copies
                    out[own] -= total
        return 0

    cdef double own_cost(self, Py_ssize_t i, const int32_t* code) except? -1:
        """Return the cost of a block beyond nodes and edges."""
        cdef double own = 0
        if i >= self.n_trees:
            self.terms.cost(i - self.n_trees, code, &own)
        return own

    cpdef int check_code(self, Py_ssize_t i, const int32_t[::1] code) except -1:
        BlockProblem.check_code(self, i, code)
        cdef Py_ssize_t p, size = self.start[i + 1] - self.start[i]
        cdef int32_t n
        cdef double free = 0
        for p in range(size):
            n = self.packed.costs.n_labels[self.node[self.start[i] + p]]
            if not 0 <= code[p] < n:
                raise ValueError(
                    f"block {i}: label {code[p]} at position {p}, expected 0 to {n - 1}")
        memcpy(&free, &code[size], sizeof(double))
        if free != self.free_term(i, &code[0]) + self.own_cost(i, &code[0]) or not free < INFINITY:
            raise ValueError(f"block {i}: the code's free term {free} does not match its labels")
        return 0

    cpdef BlockProblem fork(self):
        terms = None if self.terms is None else self.terms.fork()
        return MapProblem(self.model, self.trees, self.published, terms, of=self)
