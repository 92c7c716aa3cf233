# Design:
# (a) Branch and bound (_exact_decoder.pyx) with constraints (_hard_terms.pyx). Moves ignore the
#     constraints; their labels are used only if they satisfy them. If moves prove that such labels are
#     optimal without constraints, they are also optimal with constraints.
# (b) A call always returns labels that satisfy the constraints. In training, the true labels do. In other
#     calls, a search that reaches a limit before it finds such labels continues without a time limit
#     until it finds some.
# (c) Max-marginals are computed by a search for each label of each node.
"""Branch and bound with constraints as a decoder of labeled graphs."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

import numpy as np

from sstruct._oracles.core._graph_costs cimport GraphAnswer, GraphCosts, labeling_cost
from sstruct._oracles.core._hard_terms cimport GraphConstraints, HardTerms, are_allowed
from sstruct._oracles.graph._decoder cimport GraphDecoder
from sstruct.inference._methods._exact_decoder cimport ExactDecoder

# Slack of a search that ends at the first labeling it finds; larger than all differences of energies.
cdef double ANY = 1e300


cdef class ConstrainedDecoder(ExactDecoder):
    """Decoder of labels that satisfy constraints, exact up to limits, with a lower bound.

    Parameters
    ----------
    constraints : GraphConstraints
        The constraints of the graphs of the problem.
    random_state, max_time, keeps, most_work, most_entries
        As for ExactDecoder.
    """

    cdef readonly GraphConstraints constraints
    cdef HardTerms hard
    cdef int32_t[::1] states

    def __init__(self, GraphConstraints constraints not None, *arguments, **named):
        ExactDecoder.__init__(self, *arguments, **named)
        self.constraints, self.is_constrained = constraints, True
        n_extra = np.diff(constraints.first_extra).max(initial=0)
        self.states = np.zeros(n_extra + 1, dtype=np.int32)

    cpdef GraphDecoder fork(self):
        cdef ConstrainedDecoder other = ConstrainedDecoder(
            self.constraints, self.random_state, self.max_time, self.keeps, self.most_work,
            self.limits.most_entries)
        other.kept = self.kept
        return other

    cdef int decode(
            self, const GraphCosts* costs, int32_t* labels, GraphAnswer* answer) except -1 nogil:
        """Find labels by moves; prove that they are optimal, or find better ones."""
        cdef const int32_t* known = self.constraints.allowed_of(self.block)
        self.hard = self.constraints.of_graph(self.block)
        self.expand(costs, labels, answer)
        if self.allows(costs, labels):
            answer.bound = answer.cost
            if answer.exact:
                return self.count(answer)
            answer.cost = labeling_cost(costs, labels)
        else:
            answer.exact, answer.cost = False, INFINITY
        if known != NULL:
            self.use_cheaper(costs, known, labels, &answer.cost)
        self.prove(costs, &self.hard, labels, answer)
        return self.count(answer)

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
        """Search without a time limit until allowed labels are found; raise if there are none."""
        if answer.bound < INFINITY:
            self.limits.begin(INFINITY, self.most_work, ANY)
            self.root.is_first = True
            self.root.solve(INFINITY)
            answer.work += self.most_work - self.limits.work_left
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
        self.hard = self.constraints.of_graph(self.block)
        for v in range(costs.n_nodes):
            for k in range(K):
                out[v * K + k] = cost if k == labels[v] else self.forced(costs, v, k)
        return 0

    cdef double forced(self, const GraphCosts* costs, Py_ssize_t v, Py_ssize_t label) except? -1 nogil:
        """Return the least cost found of allowed labels with a label of a node."""
        cdef double work = 0
        if self.hard.is_forbidden[v * costs.n_labels + label]:
            return INFINITY
        self.root.load(costs, &self.hard, NULL, &work)
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
                raise ValueError(f"search_labels of sample {block} violate the constraints")
