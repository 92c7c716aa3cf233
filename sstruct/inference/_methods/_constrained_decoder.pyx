# Design:
# (a) Branch and bound (_exact_decoder.pyx) with constraints (_hard_terms.pyx). Moves ignore the
#     constraints; their labels are used only if they satisfy them. If moves prove that such labels are
#     optimal without constraints, they are also optimal with constraints.
# (b) A call returns labels that satisfy the constraints or raises an error. In training, the true labels
#     satisfy them. In other calls, a search that reaches a limit before it finds such labels continues
#     without a time limit until it finds some or reaches the limit on the work.
# (c) Sweeps of the search propagate little along the chain of auxiliary nodes of a counter. A call whose
#     moves violate bounds of counters therefore searches for prices first: a price of a counter is added
#     to the costs of all labels that it counts. The least cost with prices p, minus the largest value of
#     sum_c p_c n_c for allowed numbers n, is a lower bound on the costs of allowed labels. It is
#     maximized by a bundle method (_price_bundle.pyx); moves find the labels with the least cost, up to
#     their errors. Prices are only a start of the search: its bound is valid for any of them. The labels
#     of each step are changed until all numbers are allowed (_count_repair.pyx), and used if they satisfy
#     all constraints and cost less. Multipliers that are kept for the next call include the prices.
# (d) Max-marginals are computed by a search for each label of each node.
"""Branch and bound with constraints as a decoder of labeled graphs."""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t

import numpy as np

from sstruct._kernels._interruption cimport sstruct_seconds
from sstruct._oracles.core._graph_costs cimport GraphAnswer, GraphCosts, labeling_cost
from sstruct._oracles.core._hard_terms cimport GraphConstraints, HardTerms, are_allowed, counted_node
from sstruct._oracles.graph._decoder cimport GraphDecoder
from sstruct.inference._methods._count_repair cimport CountRepair
from sstruct.inference._methods._exact_decoder cimport ExactDecoder
from sstruct.inference._methods._price_bundle cimport PriceBundle

# Slack of a search that ends at the first labeling it finds; larger than all differences of energies.
cdef double ANY = 1e300
# Largest number of runs of moves in the search for prices, of a call and of a hasty call.
cdef Py_ssize_t MAX_MOVES = 40
cdef Py_ssize_t MAX_HASTY_MOVES = 10
# Length of the first step of prices, without and with earlier prices, as fractions of the mean range of
# costs, and least expected increase of the bound, as a fraction.
cdef double FIRST_STEP = 0.5
cdef double LATER_STEP = 0.1
cdef double TOLERANCE = 1e-5


cdef class ConstrainedDecoder(ExactDecoder):
    """Decoder of labels that satisfy constraints, exact up to limits, with a lower bound.

    Parameters
    ----------
    constraints : GraphConstraints
        The constraints of the graphs of the problem.
    random_state, max_time, keeps, max_work, max_entries
        As for ExactDecoder.
    """

    cdef readonly GraphConstraints constraints
    cdef HardTerms hard
    cdef int32_t[::1] states, trial
    cdef double[::1] priced, slope     # node costs with prices; a supergradient
    cdef double trial_cost             # of `trial`, with prices
    cdef PriceBundle bundle
    cdef CountRepair repair

    def __init__(self, GraphConstraints constraints not None, *arguments, **named):
        ExactDecoder.__init__(self, *arguments, **named)
        self.constraints, self.is_constrained = constraints, True
        n_extra = np.diff(constraints.first_extra).max(initial=0)
        self.states = np.zeros(n_extra + 1, dtype=np.int32)
        n_prices = np.diff(constraints.first_counter).max(initial=0)
        self.prices, self.slope = np.zeros(n_prices + 1), np.zeros(n_prices + 1)
        self.bundle = PriceBundle(n_prices, MAX_MOVES)
        self.trial, self.priced, self.repair = np.zeros(1, dtype=np.int32), np.zeros(1), CountRepair()

    cpdef GraphDecoder fork(self):
        cdef ConstrainedDecoder other = ConstrainedDecoder(
            self.constraints, self.random_state, self.max_time, self.keeps, self.max_work,
            self.limits.max_entries)
        other.kept = self.kept
        return other

    cdef int decode(
            self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil:
        """Find labels by moves; prove that they are optimal, or find better ones."""
        cdef const int32_t* known = self.constraints.allowed_of(self.block)
        cdef Py_ssize_t c
        self.hard = self.constraints.of_graph(self.block)
        self.n_prices, self.time_spent = self.hard.n_counters, 0
        for c in range(self.n_prices):
            self.prices[c] = 0
        self.expand(costs, labels, answer)
        if self.allows(costs, labels):
            answer.bound = answer.cost
            if answer.exact:
                return self.count(answer)
            answer.cost = labeling_cost(costs, labels)
        else:
            answer.exact, answer.cost = False, INFINITY
        if self.n_prices:
            self.find_prices(costs, labels, answer)
        if known != NULL:
            self.use_cheaper(costs, known, labels, &answer.cost)
        self.prove(costs, &self.hard, labels, answer)
        return self.count(answer)

    cdef int find_prices(
            self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil:
        """Set `prices`, and use labels that satisfy the constraints and cost less.

        labels, answer : of moves without prices
        """
        cdef Py_ssize_t v, c, n_moves, most = MAX_HASTY_MOVES if self.is_hasty else MAX_MOVES
        cdef double length, value, begin = sstruct_seconds(), max_work = answer.work + self.max_work
        cdef bint is_start = True
        with gil:
            self.prepare(costs)
        self.bundle.begin(self.n_prices)
        for c in range(self.n_prices):
            self.bundle.point[c] = self.prices[c]
            is_start = is_start and self.prices[c] == 0
        for v in range(costs.n_nodes):
            self.trial[v] = labels[v]
        self.trial_cost = labeling_cost(costs, labels)
        length = (FIRST_STEP if is_start else LATER_STEP) * (
            self.mean_range(costs) + fabs(self.trial_cost) / costs.n_nodes)
        for n_moves in range(most):
            if n_moves > 0 or not is_start:
                self.move_at_prices(costs, &answer.work)
            value = self.bound_at_prices(costs)
            self.bundle.add(value, &self.slope[0], length)
            if self.repair.repair(costs, &self.hard, &self.trial[0], &answer.work):
                if self.allows(costs, &self.repair.labels[0]):
                    self.use_cheaper(costs, &self.repair.labels[0], labels, &answer.cost)
            if self.max_time < INFINITY:
                self.time_spent = sstruct_seconds() - begin
                if self.time_spent >= self.max_time:
                    break
            if answer.work > max_work or not self.bundle.propose(TOLERANCE * (1 + fabs(value))):
                break
            for c in range(self.n_prices):
                self.prices[c] = self.bundle.point[c]
        for c in range(self.n_prices):
            self.prices[c] = self.bundle.center[c]
        return 0

    cdef prepare(self, const GraphCosts* costs):
        """Make room for a graph, and set `prices` to those stored by its last call, if any."""
        cdef Py_ssize_t n = costs.n_nodes
        if len(self.trial) < n:
            self.trial, self.priced = np.zeros(n, dtype=np.int32), np.zeros(n * costs.stride)
            self.repair.reserve(n, costs.stride)
        last = self.last_search() if self.keeps else None
        if last is not None:
            np.asarray(self.prices)[:self.n_prices] = last[1][len(last[1]) - self.n_prices:]

    cdef int move_at_prices(self, const GraphCosts* costs, double* work) except -1 nogil:
        """Improve `trial` by moves at the prices."""
        cdef GraphCosts priced = costs[0]
        cdef GraphAnswer found
        cdef Py_ssize_t v, c, k, i, K = costs.n_labels
        for k in range(costs.n_nodes * costs.stride):
            self.priced[k] = costs.node_costs[k]
        for c in range(self.n_prices):
            for i in range(self.hard.counters[4 * c + 1] if self.prices[c] != 0 else 0):
                v = counted_node(&self.hard, c, i)
                for k in range(K):
                    if self.hard.wanted[c * K + k] and not self.hard.is_forbidden[v * K + k]:
                        self.priced[v * costs.stride + k] += self.prices[c]
        priced.node_costs = &self.priced[0]
        self.expand(&priced, &self.trial[0], &found)
        work[0] += found.work
        self.trial_cost = labeling_cost(&priced, &self.trial[0])
        return 0

    cdef double bound_at_prices(self, const GraphCosts* costs) noexcept nogil:
        """Return the bound at the prices if `trial` has the least cost; set `slope`, a supergradient."""
        cdef const int32_t* counter
        cdef Py_ssize_t c, i, v, k, K = costs.n_labels
        cdef double n, value = self.trial_cost
        for c in range(self.n_prices):
            counter, n = self.hard.counters + 4 * c, 0
            for i in range(counter[1]):
                v = counted_node(&self.hard, c, i)
                k = self.trial[v]
                if not self.hard.is_forbidden[v * K + k]:
                    n += self.hard.wanted[c * K + k]
            if self.prices[c] > 0:
                self.slope[c] = n - counter[3]
            elif self.prices[c] < 0:
                self.slope[c] = n - counter[2]
            else:
                self.slope[c] = n - max(<double> counter[2], min(n, <double> counter[3]))
            value -= max(self.prices[c] * counter[2], self.prices[c] * counter[3])
        return value

    cdef double mean_range(self, const GraphCosts* costs) noexcept nogil:
        """Return the mean range of the costs of nodes."""
        cdef Py_ssize_t v, k, K = costs.n_labels
        cdef double total = 0, least, most
        for v in range(costs.n_nodes):
            least, most = INFINITY, -INFINITY
            for k in range(K):
                if not self.hard.is_forbidden[v * K + k]:
                    least = min(least, costs.node_costs[v * costs.stride + k])
                    most = max(most, costs.node_costs[v * costs.stride + k])
            total += max(most - least, 0.0)
        return total / costs.n_nodes

    cdef bint allows(self, const GraphCosts* costs, const int32_t* labels) noexcept nogil:
        return are_allowed(&self.hard, costs, labels, &self.states[0])

    cdef void use_cheaper(
            self, const GraphCosts* costs, const int32_t* others, int32_t* labels,
            double* cost) noexcept nogil:
        """Use other labels if they cost less."""
        cdef Py_ssize_t v
        cdef double of_others = labeling_cost(costs, others)
        if of_others < cost[0]:
            cost[0] = of_others
            for v in range(costs.n_nodes):
                labels[v] = others[v]

    cdef int search_on(self, GraphAnswer* answer) except -1 nogil:
        """Search for allowed labels without a time limit, with limited work; raise if none are found."""
        if answer.bound < INFINITY:
            self.limits.begin(INFINITY, self.max_work, ANY)
            self.root.is_first = True
            self.root.solve(INFINITY)
            answer.work += self.max_work - self.limits.work_left
            if self.root.value < INFINITY or self.limits.error is not None:
                return 0
        with gil:
            sample = self.constraints.samples[self.block]
            if answer.bound == INFINITY or not self.limits.is_over:
                raise ValueError(f"no labeling of X[{sample}] satisfies the constraints")
            raise ValueError(
                f"no labeling of X[{sample}] that satisfies the constraints was found within the "
                "limits of the search; use fewer constraints or smaller graphs")

    cdef int marginals(
            self, const GraphCosts* costs, const int32_t* labels, double* out) except -1 nogil:
        """Set out[v, k] to the least cost found of allowed labels that have label k at node v: (V, K).

        The cost is +inf if there are none, or if none were found within the limits.
        """
        cdef Py_ssize_t v, k, K = costs.n_labels
        cdef double cost = labeling_cost(costs, labels)
        # `prices` are still those of `decode`, which was called with the same costs.
        self.time_spent = 0
        for v in range(costs.n_nodes):
            for k in range(K):
                out[v * K + k] = cost if k == labels[v] else self.forced(costs, v, k)
        return 0

    cdef double forced(self, const GraphCosts* costs, Py_ssize_t v, Py_ssize_t label) except? -1 nogil:
        """Return the least cost found of allowed labels in which node v has the given label."""
        cdef double work = 0
        if self.hard.is_forbidden[v * costs.n_labels + label]:
            return INFINITY
        self.root.load(costs, &self.hard, NULL, &work)
        self.add_prices(&self.hard, NULL)
        self.root.force(v, label)
        self.set_limits(self.root.magnitude)
        self.root.is_first = True
        self.root.solve(INFINITY)
        with gil:
            error, self.limits.error = self.limits.error, None
            if error is not None:
                raise error
        if self.root.value == INFINITY:
            return INFINITY
        return labeling_cost(costs, self.root.labels_found())

    def restore_memory(self, kept, graphs):
        """Restore the result of `memory`, validated."""
        self.kept.restore(kept, graphs, self.constraints.n_multipliers().tolist())
        labels = np.zeros(sum(V for V, _, _ in graphs), dtype=np.int32)
        first = np.append(0, np.cumsum([V for V, _, _ in graphs]))
        for block, own in self.kept.labels.items():
            labels[first[block]:first[block + 1]] = own
        satisfied = self.constraints.satisfied([edges for _, edges, _ in graphs], labels)
        for block in self.kept.labels:
            if not satisfied[block]:
                raise ValueError(f"search_labels of block {block} violate the constraints")
