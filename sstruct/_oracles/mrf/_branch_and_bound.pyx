# Design:
# (a) Depth-first search. A node of the tree is a reduced model (_reduced_model.pyx): sweeps raise its
#     bound, labels are removed by a look-ahead, and connected components are searched one after the
#     other. If there is one component, a subtree is searched for each label of one node of the model,
#     in the order of their bounds.
# (b) Branching uses the node whose subtrees have the smallest estimated total size. The estimated size of a
#     subtree decreases exponentially with the fraction of the gap that its bound closes.
# (c) A subtree is not searched if its bound is `upper - slack` or more, where `upper` is the best energy
#     found so far. Therefore, min(energy, upper - slack, bounds of subtrees that were left out) is a
#     lower bound at every moment: after a limit or a signal, the recursion returns it without further
#     search.
"""Branch and bound for pairwise models."""

from libc.math cimport INFINITY, exp
from libc.stdint cimport int32_t, int64_t

import numpy as np

from sstruct._kernels._interruption cimport check_signals

cdef extern from "sstruct/_kernels/clock.h":
    double sstruct_seconds() noexcept nogil

cdef extern from "sstruct/_kernels/interruption.h":
    bint sstruct_is_check_due(double work) noexcept nogil

# Sweeps are repeated while each closes this fraction of the gap. Before the first branching, they are
# repeated while each closes the second fraction.
cdef double MIN_GAIN = 0.05
cdef double MIN_FIRST_GAIN = 0.002
# Decrease of the logarithm of the estimated size of a subtree if the whole gap is closed.
cdef double STEEPNESS = 8.0
# A model is rebuilt before further sweeps if at most this fraction of its table entries is left.
cdef double FRACTION_LEFT = 0.7
# Limits on the depth of the search and on the total number of table entries at all depths.
cdef Py_ssize_t MAX_LEVELS = 512
cdef double MAX_ENTRIES = 2.0**26


cdef class Limits:
    """State shared by all depths of a search."""

    def __cinit__(self):
        self.max_entries = MAX_ENTRIES

    cdef void begin(self, double deadline, double max_work, double slack) noexcept nogil:
        """Set the limits of the next search."""
        self.deadline, self.work_left, self.slack = deadline, max_work, slack
        self.is_over, self.n_nodes, self.entries = False, 0, 0

    cdef bint account(self, double work) noexcept nogil:
        """Count work; return True if the search must end."""
        self.work_left -= work
        if self.work_left < 0:
            self.is_over = True
        if sstruct_is_check_due(work):
            # A signal handler may raise here. The exception is stored, so that the search ends with a valid
            # bound before the caller raises it.
            with gil:
                try:
                    check_signals()
                except BaseException as error:
                    self.error = error
                    self.is_over = True
            if sstruct_seconds() >= self.deadline:
                self.is_over = True
        return self.is_over


cdef class SearchNode(ReducedModel):
    """A node at one depth of the search; `solve` sets `value`, `lower` and, if `value` is finite, `best`."""

    cdef int add_child(self) except -1 nogil:
        if self.child is None:
            with gil:
                self.child = SearchNode()
                self.child.limits, self.child.depth = self.limits, self.depth + 1
        if self.depth >= MAX_LEVELS or self.limits.entries > self.limits.max_entries:
            self.limits.is_over = True
        return 0

    cdef int solve(self, double upper) except -1 nogil:
        """Find the minimum if it is below `upper`, or prove that it is not, up to slack and limits."""
        cdef double entries = self.first_entry[self.n_edges]
        self.limits.n_nodes += 1
        self.limits.entries += entries
        self.search(upper)
        self.limits.entries -= entries
        return 0

    cdef double proven(self, double upper) noexcept nogil:
        """Return the lower bound on all energies after `solve` of the whole model with `upper`."""
        if self.value < INFINITY:
            return min(self.lower, self.value)
        return self.lower if upper == INFINITY else min(self.lower, upper - self.limits.slack)

    cdef int search(self, double upper) except -1 nogil:
        cdef double slack = self.limits.slack, least
        cdef Py_ssize_t n_parts
        self.value, self.lower, self.is_rebuilt = INFINITY, self.bound, False
        if self.n_active == 0:
            self.keep(self.bound)
            return 0
        upper = self.tighten(upper, MIN_GAIN)
        if self.lower >= upper - slack or self.limits.is_over:
            return 0
        # Labels are removed if all labelings with them cost `upper - slack` or more, or another label
        # can replace them.
        self.is_rebuilt = self.prune(upper - slack)
        least = MIN_GAIN
        while self.is_first and not self.is_rebuilt and least > MIN_FIRST_GAIN:
            least = max(least / 2, MIN_FIRST_GAIN)
            upper = self.tighten(upper, least)
            if self.lower >= upper - slack or self.limits.is_over:
                return 0
            self.is_rebuilt = self.prune(upper - slack)
        if self.is_rebuilt:
            self.add_child()
            self.child.is_first = self.is_first
            if self.limits.is_over:
                self.is_rebuilt = False
            elif self.child.build(self, -1, -1, -1, upper - slack):
                self.child.solve(upper)
                self.lower = max(self.lower, min(self.child.lower, upper - slack))
                if self.child.value < upper:
                    self.child.hand_over(self)
                    self.keep(self.child.value)
            else:
                self.is_rebuilt = False
                self.lower = upper - slack
            return 0
        n_parts = self.split()
        self.add_child()
        if self.limits.is_over:
            return 0
        self.child.is_first = False
        if n_parts > 1:
            return self.search_parts(n_parts, upper)
        return self.branch(upper)

    cdef void keep(self, double value) noexcept nogil:
        """Store `labels`, completed at the eliminated nodes, as the best labeling."""
        cdef Py_ssize_t v
        self.value = value
        for v in range(self.n_nodes):
            self.best[v] = self.labels[v]
        self.complete()
        # Labels of eliminated nodes of `labels` are not defined before.
        for v in range(self.n_nodes):
            self.labels[v] = self.best[v]
        if self.n_active == 0:
            self.lower = value

    cdef double tighten(self, double upper, double least) except? -1 nogil:
        """Raise the bound by sweeps; return the energy below which labelings are of interest."""
        cdef double before, work = 0, energy
        while True:
            before = self.bound
            if not (self.sweep(True, &work) and self.sweep(False, &work)):
                self.lower = INFINITY
                return upper
            self.lower = self.bound
            if self.bound >= upper - self.limits.slack:
                self.limits.account(work)
                return upper
            energy = self.round(&work)
            if energy < upper:
                self.keep(energy)
                upper = energy
            if self.limits.account(work) or self.bound >= upper - self.limits.slack:
                return upper
            work = 0
            if self.bound - before < least * (upper - before):
                return upper

    cdef bint prune(self, double most) noexcept nogil:
        """Remove labels; return True if the model should be rebuilt."""
        cdef double work = 0, before = self.n_entries()
        cdef bint changed = self.look_ahead(most, &work) + self.remove_dominated(&work) > 0
        self.limits.account(work)
        return changed and self.n_entries() <= FRACTION_LEFT * before

    cdef int search_parts(self, Py_ssize_t n_parts, double upper) except -1 nogil:
        """Search the components one after the other."""
        cdef Py_ssize_t p
        cdef double base = self.bound, lower = self.bound, slack = self.limits.slack
        for p in range(n_parts):
            if not self.child.build(self, -1, -1, p, self.bound + upper - base - slack):
                self.lower = upper - slack
                return 0
            self.child.solve(upper - base)
            lower += self.child.lower
            self.lower = max(self.lower, min(lower, upper - slack))
            if self.limits.is_over or self.child.value == INFINITY:
                return 0
            base += self.child.value
            self.child.hand_over(self)
        if base < upper:
            self.keep(base)
        return 0

    cdef int branch(self, double upper) except -1 nogil:
        """Search a subtree for each label of a node."""
        cdef Py_ssize_t v = self.choose(upper), i, j, k, n = 0
        cdef double bound, least = INFINITY, slack = self.limits.slack
        cdef const double* star = self.star + self.first_label[v]
        self.grow(<void**> &self.order, self.n_labels[v], sizeof(int32_t))
        for k in range(self.n_labels[v]):
            if self.costs[self.first_label[v] + k] < INFINITY:
                j = n
                while j > 0 and star[self.order[j - 1]] > star[k]:
                    self.order[j] = self.order[j - 1]
                    j -= 1
                self.order[j] = <int32_t> k
                n += 1
        for i in range(n):
            k = self.order[i]
            bound = self.bound + star[k]
            if bound >= upper - slack or self.limits.is_over:
                least = min(least, bound)  # the bounds of later labels are higher
                break
            if not self.child.build(self, v, k, -1, upper - slack):
                continue
            self.child.solve(upper)
            least = min(least, max(bound, self.child.lower))
            if self.child.value < upper:
                upper = self.child.value
                self.child.hand_over(self)
                self.labels[v] = <int32_t> k
                self.keep(upper)
        self.lower = max(self.lower, min(least, upper - slack))
        return 0

    cdef Py_ssize_t choose(self, double upper) noexcept nogil:
        """Return the node of the model with the smallest estimate of the size of its subtrees."""
        cdef Py_ssize_t v, k, chosen = -1
        cdef double size, least = INFINITY, gap = upper - self.bound, largest = 1
        if gap == INFINITY:
            gap = 0
            for v in range(self.n_nodes):
                if not self.is_gone[v]:
                    for k in range(self.first_label[v], self.first_label[v + 1]):
                        if self.star[k] < INFINITY:
                            gap = max(gap, self.star[k])
            gap = max(gap, 1e-300)
        for v in range(self.n_nodes):
            largest = max(largest, self.degree[v])
        for v in range(self.n_nodes):
            if self.is_gone[v]:
                continue
            size = 0
            for k in range(self.first_label[v], self.first_label[v + 1]):
                if self.costs[k] < INFINITY:
                    size += exp(-STEEPNESS * min(self.star[k] / gap, 1.0))
            size *= 1 - 1e-3 * self.degree[v] / largest
            if size < least:
                least, chosen = size, v
        return chosen


cdef class BranchAndBound:
    """A search of one pairwise model.

    Parameters
    ----------
    model : MRF
        A model without factors.

    Attributes
    ----------
    value : float
        Energy of the labels that the last search returned, +inf for None.
    lower : float
        A lower bound on all energies; +inf if no labeling is allowed.
    only : ndarray of shape (V,), dtype int32
        The label of each node with a single label left, -1 for the others. If a labeling is better than
        the returned one and the first `upper` by more than the slack, some optimal labeling has all of
        these labels.
    error : BaseException or None
        Exception of a signal handler during the last search, which the caller must raise.
    n_visits : int
        Number of nodes of the search tree.
    """

    cdef SearchNode root
    cdef readonly double value, lower
    cdef readonly Py_ssize_t n_visits
    cdef readonly object error, only

    def __cinit__(self, model):
        cdef Py_ssize_t v, e, k
        cdef double least
        cdef const int32_t[:, ::1] edges = model.edges
        cdef const int64_t[::1] start = model.node_start
        cdef const double[::1] costs = model.node_costs, table
        cdef SearchNode root = SearchNode()
        root.limits, root.is_first = Limits(), True
        root.reserve(model.n_nodes, costs.shape[0])
        root.bound, root.n_active = 0, model.n_nodes
        for v in range(root.n_nodes):
            root.n_labels[v] = <int32_t> (start[v + 1] - start[v])
        for v in range(root.n_nodes + 1):
            root.first_label[v] = start[v]
        for k in range(costs.shape[0]):
            root.costs[k] = costs[k]
        for e in range(edges.shape[0]):
            root.reserve_edge(edges[e, 0], edges[e, 1])
            root.link(e)
            table = model.edge_cost(e).reshape(-1)
            least = INFINITY
            for k in range(table.shape[0]):
                least = min(least, table[k])
            least = 0 if least == INFINITY else least
            root.bound += least
            for k in range(table.shape[0]):
                root.tables[root.first_entry[e] + k] = table[k] - least
        self.root = root

    def run(self, double upper, double slack, double deadline, double max_work):
        """Search; return the best labels (V,) with an energy below `upper`, or None.

        Parameters
        ----------
        upper : float
            Not larger than in earlier searches, whose bounds are kept.
        slack : float
            Labelings that are better than the best one known by less than this are not searched for.
        deadline : float
            Time limit, of `sstruct_seconds`.
        max_work : float
            Limit on the table entries visited.
        """
        cdef Limits limits = self.root.limits
        cdef Py_ssize_t v
        limits.error = None
        with nogil:
            limits.begin(deadline, max_work, slack)
            self.root.solve(upper)
        self.n_visits, self.error, self.value = limits.n_nodes, limits.error, self.root.value
        self.lower = self.root.proven(upper)
        self._set_only()
        if self.value == INFINITY:
            return None
        return np.array([self.root.best[v] for v in range(self.root.n_nodes)], dtype=np.int32)

    def _set_only(self):
        """Set `only` from the labels that are left in the root and in the rebuilt models below it."""
        cdef SearchNode level = self.root, inner
        cdef Py_ssize_t v, k, n, last = 0
        self.only = np.full(level.n_nodes, -1, dtype=np.int32)
        node = np.arange(level.n_nodes)
        labels = [np.arange(level.n_labels[v]) for v in range(level.n_nodes)]
        while True:
            for v in range(level.n_nodes):
                n = 0
                for k in range(level.n_labels[v]):
                    if level.costs[level.first_label[v] + k] < INFINITY:
                        n, last = n + 1, k
                if n == 1:
                    self.only[node[v]] = labels[v][last]
            if not level.is_rebuilt:
                return
            inner = level.child
            labels = [
                labels[inner.node_from[v]][[
                    inner.label_from[k] for k in range(inner.first_label[v], inner.first_label[v + 1])]]
                for v in range(inner.n_nodes)]
            node = node[[inner.node_from[v] for v in range(inner.n_nodes)]]
            level = inner
