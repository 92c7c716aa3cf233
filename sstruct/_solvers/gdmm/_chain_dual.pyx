# Design:
# (a) A lower bound on the optimum from factors that do not agree yet: dual variables of the whole
#     problem are constructed from the marginals of the nodes. The masses of an edge are scaled down to
#     fit both ends, first the rows, then the columns, and the remainder at the two ends is distributed
#     as a product (the rounding of transport plans by Altschuler, Weed and Rigollet, 2017). This
#     changes the masses by at most twice the residual, so the bound is tight in the limit.
# (b) If transitions are forbidden, the remainder is assigned to allowed pairs, one after the other, as
#     far as possible. Mass for which no path through the chain exists is removed from the whole chain
#     by a backward sweep, and assigned to the true labeling; node weights then change too.
# (c) On chains, consistent node and edge marginals are marginals of a distribution over labelings.
"""A lower bound from the state of GDMM on chains."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from sstruct._kernels._interruption cimport poll_signals
from sstruct._problems.chain._chain_problem cimport node_scale
from sstruct._solvers.gdmm._chain_pass cimport OF_NODE, ChainFactors
from sstruct._solvers.gdmm._entries cimport ROUNDING, Entries, append
from sstruct._solvers.gdmm._pairs cimport BoundedPairs

import numpy as np


cdef class Marginals:
    """Masses of the nodes and edges of one chain; vectors over labels that are zero between uses."""

    cdef Py_ssize_t length
    cdef Entries* nodes
    cdef Entries* edges          # entry l: the edge into position l
    cdef double[::1] row, column, first, second, first_rest, second_rest

    def __cinit__(self, Py_ssize_t length, Py_ssize_t n_labels):
        self.length = length
        self.nodes = <Entries*> calloc(length, sizeof(Entries))
        self.edges = <Entries*> calloc(length, sizeof(Entries))
        if not (self.nodes and self.edges):
            raise MemoryError(f"not enough memory for the masses of a chain of {length} nodes")
        self.row, self.column, self.first = np.zeros((3, n_labels))
        self.second, self.first_rest, self.second_rest = np.zeros((3, n_labels))

    def __dealloc__(self):
        cdef Py_ssize_t l
        for l in range(self.length):
            if self.nodes != NULL:
                free(self.nodes[l].at)
            if self.edges != NULL:
                free(self.edges[l].at)
        free(self.nodes)
        free(self.edges)


cdef inline double mass_of(const Entries* active, Py_ssize_t k, double C) noexcept nogil:
    """Return C q for an entry C (e_truth - q)."""
    return max(C - active.at[k].value, 0) if k == 0 else -active.at[k].value


cdef inline double fitting(double wanted, double present) noexcept nogil:
    """Return the factor that reduces a sum of masses to at most `wanted`."""
    return wanted / present if present > wanted else 1


cdef int couple(
        Marginals chain, Py_ssize_t l, const Entries* pairs, double C, BoundedPairs allowed
        ) except -1 nogil:
    """List masses of an edge, of allowed pairs only, that are consistent with the masses of its nodes.

    They stay close to the edge's own masses. Mass that does not fit is removed from the node at
    position l.
    """
    cdef Entries* left = &chain.nodes[l - 1]
    cdef Entries* right = &chain.nodes[l]
    cdef Entries* out = &chain.edges[l]
    cdef double* row = &chain.row[0]
    cdef double* column = &chain.column[0]
    cdef double* first = &chain.first[0]
    cdef double* second = &chain.second[0]
    cdef double* first_rest = &chain.first_rest[0]
    cdef double* second_rest = &chain.second_rest[0]
    cdef Py_ssize_t k, j
    cdef int32_t a, c
    cdef double mass, total = 0
    out.size = 0
    for k in range(left.size):
        first[left.at[k].first] = first_rest[left.at[k].first] = left.at[k].value
    for k in range(right.size):
        second[right.at[k].first] = second_rest[right.at[k].first] = right.at[k].value
    for k in range(pairs.size):
        row[pairs.at[k].first] += mass_of(pairs, k, C)
    for k in range(pairs.size):
        a = pairs.at[k].first
        column[pairs.at[k].second] += mass_of(pairs, k, C) * fitting(first[a], row[a])
    for k in range(pairs.size):
        a, c = pairs.at[k].first, pairs.at[k].second
        mass = mass_of(pairs, k, C) * fitting(first[a], row[a]) * fitting(second[c], column[c])
        if mass > 0:
            append(out, a, c, mass)
            first_rest[a] -= mass
            second_rest[c] -= mass
    for k in range(left.size):
        total += max(first_rest[left.at[k].first], 0)
    if total > ROUNDING * C:
        for k in range(left.size):
            a = left.at[k].first
            for j in range(right.size):
                c = right.at[j].first
                if not (first_rest[a] > 0 and second_rest[c] > 0):
                    continue
                if allowed is None:
                    append(out, a, c, first_rest[a] * second_rest[c] / total)
                elif allowed.score[a * allowed.width + c] > -INFINITY:
                    mass = min(first_rest[a], second_rest[c])
                    append(out, a, c, mass)
                    first_rest[a] -= mass
                    second_rest[c] -= mass
    if allowed is not None:
        for k in range(right.size):
            right.at[k].value -= max(second_rest[right.at[k].first], 0)
    for k in range(pairs.size):
        row[pairs.at[k].first] = column[pairs.at[k].second] = 0
    for k in range(left.size):
        first[left.at[k].first] = first_rest[left.at[k].first] = 0
    for k in range(right.size):
        second[right.at[k].first] = second_rest[right.at[k].first] = 0
    return 0


cdef double withdraw(Marginals chain, Py_ssize_t length) noexcept nogil:
    """Remove, from the end, mass without a path to later positions; return the remaining mass."""
    cdef Py_ssize_t l, k
    cdef double total = 0
    cdef double* before = &chain.row[0]
    cdef double* after = &chain.column[0]
    cdef Entries* node
    cdef Entries* edge
    for l in range(length - 1, 0, -1):
        node, edge = &chain.nodes[l], &chain.edges[l]
        # The masses of the edge have the sums of the node before anything was removed.
        for k in range(edge.size):
            before[edge.at[k].second] += edge.at[k].value
        for k in range(node.size):
            after[node.at[k].first] = node.at[k].value
        for k in range(edge.size):
            edge.at[k].value *= fitting(after[edge.at[k].second], before[edge.at[k].second])
        for k in range(edge.size):
            before[edge.at[k].second] = 0
        for k in range(node.size):
            after[node.at[k].first] = 0
        for k in range(edge.size):
            before[edge.at[k].first] += edge.at[k].value
        node = &chain.nodes[l - 1]
        for k in range(node.size):
            node.at[k].value = before[node.at[k].first]
        for k in range(edge.size):
            before[edge.at[k].first] = 0
    for k in range(chain.nodes[0].size):
        total += chain.nodes[0].at[k].value
    return total


def consistent_dual(ChainFactors factors not None, double[::1] w not None):
    """Construct dual variables of the whole problem from those of the factors.

    Parameters
    ----------
    w : ndarray of shape (n_weights,)
        OUT: the corresponding weights of nodes and transitions.

    Returns
    -------
    loss : float
        sum_i C_i times the expected loss: ``loss - |w|^2 / 2`` is a lower bound of the optimum,
        divided by lam.

    Notes
    -----
    Takes O(features) per active label and O(pairs) per edge.
    """
    cdef Py_ssize_t b, l, r, k, KP = factors.problem.KP, at = factors.n_node_weights
    cdef double C, total, loss = 0
    cdef Entries* active
    cdef Entries* pairs
    cdef Entries* node
    cdef Entries* edge
    cdef bint has_pairs = factors.pairs is not None
    cdef double of_row = factors.stored_in_row()
    cdef BoundedPairs allowed = factors.pairs if factors.problem.masked else None
    cdef Marginals chain = Marginals(max(factors.problem.length), factors.problem.n_labels)
    cdef Py_ssize_t size = at + factors.problem.transitions * factors.problem.n_labels * KP
    if w.shape[0] != size:
        raise ValueError(f"w has {w.shape[0]} entries, expected {size}")
    with nogil:
        memset(&w[0], 0, w.shape[0] * sizeof(double))
        for b in range(factors.problem.n_blocks):
            C = total = factors.mass[b]
            for l in range(factors.problem.length[b]):
                r = factors.problem.start[b] + l
                active, node = &factors.active_labels[r], &chain.nodes[l]
                poll_signals(OF_NODE)
                node.size = 0
                for k in range(active.size):
                    append(node, active.at[k].first, 0, mass_of(active, k, C))
                if l > 0 and has_pairs:
                    couple(chain, l, &factors.active_pairs[r], C, allowed)
            if factors.problem.masked:
                total = withdraw(chain, factors.problem.length[b])
            for l in range(factors.problem.length[b]):
                r, node, edge = factors.problem.start[b] + l, &chain.nodes[l], &chain.edges[l]
                factors.reserve(node.size)
                poll_signals(of_row * node.size)
                for k in range(node.size):
                    factors.label[k], factors.change[k] = node.at[k].first, -node.at[k].value
                    loss += node.at[k].value * node_scale(factors.problem, b, r) * (
                        factors.problem.cost[factors.problem.labels[r], node.at[k].first])
                factors.change[0] += total   # entry 0 is the truth
                if node.size > 1:
                    factors.problem.add_node(
                        b, l, &factors.label[0], &factors.change[0], node.size, &w[0])
                if l == 0 or not factors.problem.transitions:
                    continue
                pairs = &factors.active_pairs[r]
                w[at + pairs.at[0].first * KP + pairs.at[0].second] += total
                for k in range(edge.size):
                    w[at + edge.at[k].first * KP + edge.at[k].second] -= edge.at[k].value
    return loss
