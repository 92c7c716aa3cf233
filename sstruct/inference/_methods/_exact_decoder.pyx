# Design:
# (a) Moves of "expansion" find labels, and branch and bound (_branch_and_bound.pyx) proves that they
#     are optimal, or finds better ones. A graph that the moves solve exactly is not searched.
# (b) A call is faster if it starts from an earlier call of the same graph with similar costs: from its
#     labels, if they cost less, and from the multipliers of its root (_graph_root.pyx). Training calls
#     store both for each graph. A certificate stores its own for its other calls of the same graph, at
#     other weights. Training calls do not read what certificates store, so that the steps of fits do not
#     depend on certificates; nor do other certificates, so a resumed fit has the same bits.
# (c) After a limit or a signal, the search returns a valid bound. Work is counted, not measured, so that
#     results are reproducible; the time limit is optional.
# (d) A hasty call (`set_hasty` of the problem) is limited to a few sweeps over the multipliers, which
#     usually find a better labeling than the moves. The solver repeats it without haste if the labeling
#     does not allow a step.
#     A certificate may have a slack (`set_tolerance` of the problem): a search then stops once its bound is
#     close enough to the cost.
# (e) Forks share the memory. Only one thread decodes a graph at a time.
"""Branch and bound as a decoder of labeled graphs."""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t

import numpy as np

from sstruct._kernels._interruption cimport sstruct_seconds
from sstruct._oracles.core._graph_costs cimport GraphAnswer, GraphCosts, labeling_cost
from sstruct._oracles.core._hard_terms cimport HardTerms
from sstruct._oracles.graph._decoder cimport GraphDecoder
from sstruct._oracles.mrf._branch_and_bound cimport Limits
from sstruct._oracles.mrf._graph_root cimport GraphRoot
from sstruct._problems.core.kept_arrays import MAX_COUNT, kept_array

# Labelings that are better by this fraction of 1 + abs(cost), or by less, are not searched for. Errors
# of components add up, and together must not exceed the second fraction.
cdef double SLACK = 1e-12
cdef double MEETS = 1e-10
# Limit on the table entries that a call visits: about four seconds.
cdef double MAX_WORK = 2.0**31
# Limit on the table entries of a graph.
LARGEST = 2**23
# Prices are used if they are at most this multiple of the sum of all costs, as rounding errors of larger
# ones could make a bound invalid.
cdef double MAX_PRICE = 10
# Limit of a hasty call, in sweeps over all edges, and the overhead of an edge in table entries.
cdef double HASTY_SWEEPS = 2
cdef double OVERHEAD = 16
# Limit on the table entries of the models at all depths of a search.
cdef double MAX_ENTRIES = 2.0**25


cdef class GraphSearchMemory:
    """Results of calls that later calls of the same graphs start from; shared by forks.

    Attributes
    ----------
    labels, multipliers : dict of ndarray
        Of the last search of each graph in training: labels (V,) and multipliers (2 E K,), followed by
        those of constraints.
    certified : dict of (ndarray, ndarray)
        Labels and multipliers of the last call of a graph in the present certificate, if any.
    slack : float
        Calls in the present certificate may stop once their bound is below the cost by at most this.
    searches, proofs : dict of int
        The number of calls of each graph in training that were not hasty, solved by moves or not,
        and of those whose result is proven.
    """

    def __cinit__(self):
        self.labels, self.multipliers, self.certified = {}, {}, {}
        self.searches, self.proofs = {}, {}

    def begin_certificate(self, slack):
        """Set `slack`, and forget the calls of the last certificate.

        If a slack ends, the calls are kept, because the same certificate may continue without a slack.
        """
        if slack > 0 or self.slack == 0:
            self.certified.clear()
        self.slack = slack

    def count(self, Py_ssize_t block, bint proven):
        """Count a call."""
        self.searches[block] = self.searches.get(block, 0) + 1
        self.proofs[block] = self.proofs.get(block, 0) + proven

    def counts(self):
        """Return the totals of `searches` and `proofs`."""
        return {"searches": sum(self.searches.values()), "proofs": sum(self.proofs.values())}

    def arrays(self, n_graphs):
        """Return the memory of all graphs as a dict of arrays."""
        def all_of(own, dtype):
            return np.concatenate([own.get(block, np.empty(0, dtype)) for block in range(n_graphs)])

        def count_of(own):
            return np.array([own.get(block, 0) for block in range(n_graphs)], dtype=np.int64)

        return {
            "is_searched": np.array([b in self.labels for b in range(n_graphs)], dtype=np.int32),
            "search_labels": all_of(self.labels, np.int32),
            "search_multipliers": all_of(self.multipliers, np.float64),
            "searches": count_of(self.searches), "proofs": count_of(self.proofs)}

    def restore(self, kept, graphs, n_multipliers):
        """Restore the result of `arrays`, which may come from a file.

        graphs : list of (n_nodes, edges, n_labels)
        n_multipliers : list of int, for each graph

        Raises ValueError, with the name of the field, if the arrays do not fit these graphs.
        """
        n = len(graphs)
        is_searched = kept_array(kept, "is_searched", np.int32, n, least=0, most=1)
        own = [graphs[block] for block in np.flatnonzero(is_searched)]
        labels = kept_array(
            kept, "search_labels", np.int32, sum(V for V, _, _ in own), least=0,
            most=max((K for _, _, K in own), default=1) - 1)
        multipliers = kept_array(
            kept, "search_multipliers", np.float64,
            sum(n_multipliers[block] for block in np.flatnonzero(is_searched)))
        counts = {
            name: kept_array(kept, name, np.int64, n, least=0, most=MAX_COUNT)
            for name in ("searches", "proofs")}
        self.searches, self.proofs = (
            {b: int(all_of[b]) for b in np.flatnonzero(all_of).tolist()} for all_of in counts.values())
        self.labels, self.multipliers, v, m = {}, {}, 0, 0
        for block in np.flatnonzero(is_searched).tolist():
            V, size = graphs[block][0], n_multipliers[block]
            self.labels[block] = labels[v:v + V].copy()
            self.multipliers[block] = multipliers[m:m + size].copy()
            v, m = v + V, m + size


cdef class ExactDecoder(GraphDecoder):
    """Decoder for any number of labels and any costs, exact up to limits, with a lower bound.

    Parameters
    ----------
    random_state : int
        Nonnegative seed of the label order of moves.
    max_time : float or None, default=None
        Time limit of a call in seconds, at least 0.
    keeps : bool, default=True
        Whether calls start from earlier calls of the same graphs.
    max_work : float, default=2**31
        Limit on the table entries that a call visits.
    max_entries : float, default=2**25
        Limit on the table entries of the models at all depths of a search.
    """

    def __init__(
            self, random_state, max_time=None, keeps=True, max_work=MAX_WORK,
            max_entries=MAX_ENTRIES):
        GraphDecoder.__init__(self, "expansion", random_state)
        self.bounded, self.keeps, self.kept = True, keeps, GraphSearchMemory()
        self.may_be_hasty = keeps
        self.max_time, self.max_work = INFINITY if max_time is None else max_time, max_work
        self.root, self.limits = GraphRoot(), Limits()
        self.root.limits, self.limits.max_entries = self.limits, max_entries

    cpdef GraphDecoder fork(self):
        cdef ExactDecoder other = ExactDecoder(
            self.random_state, self.max_time, self.keeps, self.max_work, self.limits.max_entries)
        other.kept = self.kept
        return other

    cdef int decode(
            self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil:
        """Find labels by moves, then prove that they are optimal or find better ones."""
        self.expand(costs, labels, answer)
        answer.bound = answer.cost
        if not answer.exact:
            answer.cost = labeling_cost(costs, labels)
            self.prove(costs, NULL, labels, answer)
        return self.count(answer)

    cdef int count(self, const GraphAnswer* answer) except -1 nogil:
        """Count the call if it is a training call and not hasty."""
        if self.keeps and self.is_training and not self.is_hasty:
            with gil:
                self.kept.count(self.block, answer.exact)
        return 0

    cdef int prove(
            self, const GraphCosts* costs, const HardTerms* hard, int32_t* labels,
            GraphAnswer* answer) except -1 nogil:
        """Search for better labels, and set `exact` and `bound`.

        hard : constraints, or NULL
        answer : its cost is the cost of the labels, +inf if they are not allowed    IN and OUT
        """
        cdef const double* multipliers = NULL
        cdef Py_ssize_t v
        cdef double upper, max_work
        if self.keeps:
            with gil:
                multipliers = self.last_of(costs, labels, &answer.cost)
        self.root.load(costs, hard, multipliers, &answer.work)
        self.add_prices(hard, multipliers)
        upper = answer.cost
        self.set_limits(fabs(upper) if upper < INFINITY else self.root.magnitude)
        max_work = self.limits.work_left
        self.root.is_first = True
        self.root.solve(upper)
        answer.work += max_work - self.limits.work_left
        answer.bound = self.root.proven(upper)
        if self.root.value == INFINITY and upper == INFINITY and self.limits.error is None:
            self.search_on(answer)
        if self.root.value < upper:
            for v in range(costs.n_nodes):
                labels[v] = self.root.labels_found()[v]
            answer.cost = labeling_cost(costs, labels)
        answer.exact = answer.bound >= answer.cost - MEETS * (
            1 + fabs(upper if upper < INFINITY else answer.cost))
        answer.bound = min(answer.bound, answer.cost)
        with gil:
            self.finish(costs, labels)
        return 0

    cdef void add_prices(self, const HardTerms* hard, const double* last) noexcept nogil:
        """Add the prices to the root, whose multipliers `last` (or NULL) may include other prices."""
        cdef Py_ssize_t c
        cdef double change
        for c in range(self.n_prices):
            if fabs(self.prices[c]) > MAX_PRICE * self.root.magnitude:
                self.prices[c] = 0
            change = self.prices[c]
            if self.root.is_warm:
                change -= last[self.root.first_message[self.root.n_edges] + c]
            if change != 0:
                self.root.add_price(hard, c, change)

    cdef int search_on(self, GraphAnswer* answer) except -1 nogil:
        """Continue a search that has found no allowed labels; here, all labels are allowed."""
        return 0

    cdef int set_limits(self, double magnitude) noexcept nogil:
        """Set the limits of a search, given the magnitude of its energies."""
        cdef double max_work = self.max_work, slack = SLACK * (1 + magnitude)
        if not self.is_training:
            slack = max(slack, self.kept.slack)
        if self.is_hasty:
            max_work = min(max_work, HASTY_SWEEPS * (
                self.root.first_entry[self.root.n_edges] + OVERHEAD * self.root.n_edges))
        self.limits.begin(
            sstruct_seconds() + self.max_time - self.time_spent if self.max_time < INFINITY else INFINITY,
            max_work, slack)
        self.limits.is_over = self.max_time == 0
        return 0

    cdef const double* last_of(
            self, const GraphCosts* costs, int32_t* labels, double* cost) except? NULL:
        """Return the multipliers of the last search, or NULL; use its labels if they cost less."""
        cdef const int32_t[::1] own
        cdef const double[::1] multipliers
        cdef Py_ssize_t v
        cdef double of_own
        last = self.last_search()
        if last is None:
            return NULL
        own, multipliers = last
        of_own = labeling_cost(costs, &own[0])
        if of_own < cost[0]:
            cost[0] = of_own
            for v in range(costs.n_nodes):
                labels[v] = own[v]
        return &multipliers[0] if multipliers.shape[0] else NULL     # exists until `finish`

    cdef last_search(self):
        """Return the labels and the multipliers of the last search of the graph, or None."""
        if self.block not in self.kept.multipliers:
            return None
        if not self.is_training and self.block in self.kept.certified:
            return self.kept.certified[self.block]
        return self.kept.labels[self.block], self.kept.multipliers[self.block]

    cdef finish(self, const GraphCosts* costs, const int32_t* labels):
        """Raise the error of a signal, or store the labels and the multipliers of the root."""
        cdef Py_ssize_t V = costs.n_nodes, size = self.root.first_message[self.root.n_edges]
        error, self.limits.error = self.limits.error, None
        if error is not None:
            raise error
        if not self.keeps:
            return
        own = np.array(<int32_t[:V]> <int32_t*> labels)
        multipliers = np.array(<double[:size]> self.root.messages) if size else np.empty(0)
        if self.n_prices:
            multipliers = np.append(multipliers, self.prices[:self.n_prices])
        if self.is_training:
            self.kept.labels[self.block], self.kept.multipliers[self.block] = own, multipliers
            self.kept.certified.pop(self.block, None)
        else:
            self.kept.certified[self.block] = own, multipliers

    def begin_certificate(self, slack):
        """Begin a certificate; see `GraphDecoder`."""
        self.kept.begin_certificate(slack)

    def counts(self):
        """Return the number of training calls that were not hasty, and of those with a proof."""
        return self.kept.counts()

    def memory(self, n_graphs):
        """Return the memory of the graphs."""
        return self.kept.arrays(n_graphs)

    def restore_memory(self, kept, graphs):
        """Restore the result of `memory`, validated."""
        self.kept.restore(kept, graphs, [2 * len(edges) * K for _, edges, K in graphs])
