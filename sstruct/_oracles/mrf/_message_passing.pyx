# Design:
# (a) Sequential tree-reweighted message passing (TRW-S), and min-sum belief propagation, which differs in
#     g below. Nodes are visited in an order and then in reverse; each sends messages to the neighbors
#     that follow. An edge stores only the last message sent along it.
# (b) Node s with costs theta has the belief b = theta + all its messages, of which it subtracts the
#     minimum. To a later neighbor t it sends min_a (g b(a) - m_ts(a) + cost(a, .)) minus its minimum,
#     where m_ts is the previous message and g = 1 / max(number of earlier, number of later
#     neighbors), or 1 for belief propagation.
# (c) The minima subtracted in a sweep sum to a lower bound for any messages before it:
#         E = sum_s (theta_s + sum m_ts) + sum_st (cost_st - m_ts)      m_ts: messages to be replaced
#     In order, the bracket of node s is minimum + b_s with b_s >= 0. Each later edge gets g b_s of
#     b_s, and g b_s - m_ts + cost_st >= minimum + new m_st; the remainder of b_s is >= 0. The bound is
#     therefore valid up to rounding, by construction.
# (d) +inf: if a belief is +inf, the label is impossible for any labels of the other nodes, and remains
#     impossible. A minimum of +inf means that no labeling is allowed.
# (e) Labels are computed along a sweep: each node takes the best label given the labels of earlier
#     neighbors and the messages of later ones.
"""TRW-S and min-sum belief propagation."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

import numpy as np

from sstruct._kernels._interruption cimport is_over
from sstruct._oracles.mrf._packed_mrf cimport FORBIDDEN, MRFCosts, PackedMRF, TABLE


cdef class MessagePassing:
    """Messages of a model without factors of three or more nodes.

    Parameters
    ----------
    model : PackedMRF
        Its scratch memory is used.
    order : ndarray of shape (V,), dtype int32
        A permutation of all nodes, validated by the caller.
    averaged : bool
        True for TRW-S, False for belief propagation, which has no bound.
    """

    cdef PackedMRF model
    cdef readonly bint averaged, is_forward    # is_forward: the last sweep
    cdef const int32_t[::1] order, rank
    cdef double[::1] messages, belief, conditional, source
    cdef const int64_t[::1] message_start

    def __cinit__(self, PackedMRF model, order, averaged):
        costs = model.model
        self.model, self.averaged = model, averaged
        self.order = np.ascontiguousarray(order, dtype=np.int32)
        rank = np.empty(costs.n_nodes, dtype=np.int32)
        rank[order] = np.arange(costs.n_nodes)
        self.rank = rank
        # A message has an entry for each label of the receiving node.
        start = np.zeros(costs.n_edges + 1, dtype=np.int64)
        np.cumsum(costs.n_labels[costs.edges].max(axis=1, initial=0), out=start[1:])
        self.message_start = start
        self.messages = np.zeros(max(start[costs.n_edges], 1))
        self.belief = np.empty(model.costs.max_labels)
        self.conditional = np.empty(model.costs.max_labels)
        self.source = np.empty(model.costs.max_labels)

    cdef double visit(self, Py_ssize_t s, bint forward, int32_t* labels) except? -1 nogil:
        """Send the messages of one node and set its label; return the increase of the bound."""
        cdef const MRFCosts* costs = &self.model.costs
        cdef Py_ssize_t K = costs.n_labels[s], i, k, e, t, best = 0, n_before = 0, n_after = 0
        cdef double* belief = &self.belief[0]
        cdef double* conditional = &self.conditional[0]
        cdef double* source = &self.source[0]
        cdef double* message
        cdef double least, gained, share
        cdef bint is_before
        for k in range(K):
            belief[k] = costs.node_costs[costs.node_start[s] + k]
            conditional[k] = min(belief[k], FORBIDDEN)
        for i in range(self.model.arc_first[s], self.model.arc_first[s + 1]):
            e = self.model.arc[i]
            t = costs.edges[2 * e] + costs.edges[2 * e + 1] - s
            message = &self.messages[self.message_start[e]]
            is_before = (self.rank[t] < self.rank[s]) == forward
            for k in range(K):
                belief[k] += message[k]
            if is_before:
                n_before += 1
                self.model.add_edge_costs(e, s, labels[t], conditional)
            else:
                n_after += 1
                for k in range(K):
                    conditional[k] += min(message[k], FORBIDDEN)
        least = belief[0]
        for k in range(1, K):
            least = min(least, belief[k])
            if conditional[k] < conditional[best]:
                best = k
        labels[s] = <int32_t> best
        if least == INFINITY:
            return INFINITY
        gained = least
        for k in range(K):
            belief[k] -= least
        share = 1.0 / max(n_before, n_after) if self.averaged and n_before + n_after else 1.0
        for i in range(self.model.arc_first[s], self.model.arc_first[s + 1]):
            e = self.model.arc[i]
            t = costs.edges[2 * e] + costs.edges[2 * e + 1] - s
            if (self.rank[t] < self.rank[s]) == forward:
                continue
            message = &self.messages[self.message_start[e]]
            for k in range(K):
                # A message is finite wherever the belief is.
                source[k] = INFINITY if belief[k] == INFINITY else share * belief[k] - message[k]
            self.model.send(e, s, source, message)
            least = INFINITY
            for k in range(costs.n_labels[t]):
                least = min(least, message[k])
            if least == INFINITY:
                return INFINITY
            gained += least
            for k in range(costs.n_labels[t]):
                message[k] -= least
        return gained

    def sweep(self, bint forward, int32_t[::1] labels, double deadline):
        """Visit all nodes in forward or reverse order.

        labels : (V,)    OUT    deadline : of `sstruct_seconds`

        Returns
        -------
        bound : float or None
            A lower bound on all energies if `averaged`; +inf if no labeling is allowed. None if the
            deadline passed before the last node; the labels are invalid then.
        """
        cdef const MRFCosts* costs = &self.model.costs
        cdef Py_ssize_t i, j, s, e, V = costs.n_nodes
        cdef double work
        self.is_forward = forward
        # Compensated summation of V terms.
        cdef double bound = 0, lost = 0, term, total
        with nogil:
            for i in range(V):
                s = self.order[i if forward else V - 1 - i]
                term = self.visit(s, forward, &labels[0])
                if term == INFINITY:
                    bound, lost = INFINITY, 0
                    break
                total = bound + term
                lost += (bound - total) + term if abs(bound) >= abs(term) else (term - total) + bound
                bound = total
                work = 0
                for j in range(self.model.arc_first[s], self.model.arc_first[s + 1]):
                    e = self.model.arc[j]
                    work += 20 + 4 * costs.n_labels[s] + (
                        <double> costs.n_labels[costs.edges[2 * e]] * costs.n_labels[costs.edges[2 * e + 1]]
                        if costs.table_form[costs.edge_table[e]] == TABLE
                        else 16 * costs.n_labels[s])
                if is_over(deadline, work):
                    with gil:
                        return None
        return bound + lost

    def last_messages(self):
        """Return the messages of the last sweep, the start of each edge, and the rank of the nodes.

        Every message is sent to the node of the edge with the higher rank.
        """
        rank = np.asarray(self.rank)
        if not self.is_forward:
            rank = len(rank) - 1 - rank
        return np.asarray(self.messages), np.asarray(self.message_start), rank
