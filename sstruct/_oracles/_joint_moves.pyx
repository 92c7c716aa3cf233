# Design:
# (a) Local search on models beyond one node at a time: the best two labels of the ends of an edge, all
#     others fixed, edge after edge. In models of matchings, whose pairs forbid one right node for
#     both, these are exchanges, and moves that put one node in another's place and that one elsewhere.
# (b) Terms of +inf count as FORBIDDEN, so they are left out of sums before they are added, not
#     subtracted after.
"""Moves of two labels at once."""

from libc.stdint cimport int32_t

import numpy as np

from sstruct._oracles._packed_mrf cimport FORBIDDEN, MRFCosts, PackedMRF

# Of the cost at two nodes, what a move must gain at least: rounding is no gain.
cdef double LEAST_GAIN = 1e-10


cdef class JointMoves:
    """Moves on a model, whose scratch is used.

    Parameters
    ----------
    model : PackedMRF
        Without factors of three or four nodes: they are not looked at.
    """

    cdef PackedMRF model
    cdef double[::1] first, second

    def __cinit__(self, PackedMRF model):
        self.model = model
        self.first = np.empty(model.costs.most_labels)
        self.second = np.empty(model.costs.most_labels)

    cdef bint exchange(self, Py_ssize_t e, int32_t* labels) noexcept nogil:
        """Give the ends of an edge their best two labels; return whether that gains."""
        cdef const MRFCosts* costs = &self.model.costs
        cdef Py_ssize_t u = costs.edges[2 * e], v = costs.edges[2 * e + 1], a, b
        cdef double* of_u = &self.first[0]
        cdef double* of_v = &self.second[0]
        cdef double least_v, cost, present, best
        cdef Py_ssize_t best_a = labels[u], best_b = labels[v]
        self.model.conditional(u, e, labels, of_u)
        self.model.conditional(v, e, labels, of_v)
        least_v = of_v[0]
        for b in range(1, costs.n_labels[v]):
            least_v = min(least_v, of_v[b])
        present = of_u[best_a] + of_v[best_b] + min(self.model.edge_cost(e, best_a, best_b), FORBIDDEN)
        best = present - LEAST_GAIN * (1 + abs(present))
        for a in range(costs.n_labels[u]):
            if of_u[a] >= FORBIDDEN:
                continue
            for b in range(costs.n_labels[v]):
                cost = of_u[a] + of_v[b]
                if cost < FORBIDDEN:
                    cost += min(self.model.edge_cost(e, a, b), FORBIDDEN)
                    if cost < best:
                        best, best_a, best_b = cost, a, b
        if best_a == labels[u] and best_b == labels[v]:
            return False
        labels[u], labels[v] = <int32_t> best_a, <int32_t> best_b
        return True

    def search(self, int32_t[::1] labels, Py_ssize_t most_rounds):
        """Give the ends of edges in turn their best two labels, until no edge gains.

        labels : checked by the caller    INOUT    most_rounds : when to stop anyway
        Returns the energy; it is not above the one before, up to rounding.
        O(E (degrees K + K^2)) a round.
        """
        cdef const MRFCosts* costs = &self.model.costs
        cdef Py_ssize_t left = costs.n_edges, at = 0
        with nogil:
            most_rounds *= costs.n_edges
            while left > 0 and most_rounds > 0:
                left = costs.n_edges if self.exchange(at, &labels[0]) else left - 1
                most_rounds -= 1
                at = at + 1 if at + 1 < costs.n_edges else 0
        return self.model.energy(&labels[0])
