# Design:
# (a) Random walk to labels 0..k of a model that have given sums along rays, changing labels by one. A
#     step selects a random ray with a wrong sum, and on it the change towards the sum with the lowest
#     cost: energy plus the weighted errors of all rays through the node.
# (b) A node that has changed is blocked for a while, and the weight of a ray grows if no change on it
#     lowers the cost, so that the walk leaves local minima (Morris 1993).
# (c) Once all sums are correct, short walks start at changes that do not increase the energy. A walk is
#     undone unless all sums are correct at its end and the energy has not increased.
# (d) There is no guarantee: deciding whether labels with these sums exist is NP-hard for three or more
#     directions.
"""Random walks to labels that have given sums along rays, and to lower energies among these."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport llabs

from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.mrf._packed_mrf cimport MRFCosts, PackedMRF
from sstruct._kernels._splitmix cimport next_random
from sstruct._oracles.core.incidence import by_node

import numpy as np


# Limit on the steps of a walk that should return to the sums.
cdef enum:
    SHORT = 40


cdef class RayWalk:
    """Random walks for one model and its rays.

    Parameters
    ----------
    model : MRF
        A model without factors and forbidden labels, with the same labels at all nodes.
    start, node : ndarray of shape (n_rays + 1,), dtype int64, and (start[-1],), dtype int32
        The nodes of ray r are ``node[start[r]:start[r + 1]]``, validated by the caller.
    sums : ndarray of shape (n_rays,), dtype int64
        The required sum of the labels of each ray.
    seed : int
        Nonnegative seed of all walks.
    """

    cdef PackedMRF packed
    cdef const int64_t[::1] start, sums
    cdef const int32_t[::1] node
    cdef const int32_t[::1] first, ray            # rays through node v: ray[first[v]:first[v + 1]]
    cdef int64_t[::1] missing, rests              # of rays: sum minus labels; of nodes: blocked until step
    cdef double[::1] weight
    cdef int32_t[::1] wrong, place                # rays with wrong sums; index of a ray among them
    cdef Py_ssize_t n_wrong
    cdef uint64_t state

    def __init__(self, model, start, node, sums, seed):
        self.packed = PackedMRF(model)
        self.start, self.node, self.sums, self.state = start, node, sums, seed
        self.first, self.ray = by_node(
            np.repeat(np.arange(len(sums)), np.diff(start)), node, model.n_nodes)
        self.missing, self.weight = np.empty(len(sums), dtype=np.int64), np.empty(len(sums))
        self.wrong, self.place = np.empty((2, len(sums)), dtype=np.int32)
        self.rests = np.empty(model.n_nodes, dtype=np.int64)

    cdef void add(self, Py_ssize_t r, Py_ssize_t change) noexcept nogil:
        """Update ray r after a change of a label on it."""
        cdef bint was = self.missing[r] != 0
        self.missing[r] -= change
        if not was and self.missing[r] != 0:
            self.place[r], self.wrong[self.n_wrong] = <int32_t> self.n_wrong, <int32_t> r
            self.n_wrong += 1
        elif was and self.missing[r] == 0:
            self.n_wrong -= 1
            self.wrong[self.place[r]] = self.wrong[self.n_wrong]
            self.place[self.wrong[self.n_wrong]] = self.place[r]

    cdef double difference(
            self, Py_ssize_t v, Py_ssize_t change, const int32_t* labels) noexcept nogil:
        """Return the change of the energy if node v's label changes."""
        cdef const MRFCosts* costs = &self.packed.costs
        cdef const double* own = costs.node_costs + costs.node_start[v]
        cdef Py_ssize_t i, e, a = labels[v], b = a + change, other
        cdef double total = own[b] - own[a]
        for i in range(self.packed.arc_first[v], self.packed.arc_first[v + 1]):
            e = self.packed.arc[i]
            if costs.edges[2 * e] == v:
                other = labels[costs.edges[2 * e + 1]]
                total += self.packed.edge_cost(e, b, other) - self.packed.edge_cost(e, a, other)
            else:
                other = labels[costs.edges[2 * e]]
                total += self.packed.edge_cost(e, other, b) - self.packed.edge_cost(e, other, a)
        return total

    cdef void put(self, Py_ssize_t v, Py_ssize_t change, int32_t* labels) noexcept nogil:
        cdef Py_ssize_t i
        labels[v] += <int32_t> change
        for i in range(self.first[v], self.first[v + 1]):
            self.add(self.ray[i], change)

    cdef Py_ssize_t step(
            self, const int32_t* labels, Py_ssize_t now, double growth, Py_ssize_t* change) except -2 nogil:
        """Return a node, and set the change of its label that improves a wrong ray; -1 if all are blocked.

        growth : increase of the weight of a ray if no change lowers the cost
        """
        cdef Py_ssize_t i, j, v, best = -1, r
        cdef double price, least = 0
        r = self.wrong[next_random(&self.state) % <uint64_t> self.n_wrong]
        change[0] = 1 if self.missing[r] > 0 else -1
        for i in range(self.start[r], self.start[r + 1]):
            v = self.node[i]
            if not 0 <= labels[v] + change[0] < self.packed.costs.max_labels or self.rests[v] > now:
                continue
            price = self.difference(v, change[0], labels)
            for j in range(self.first[v], self.first[v + 1]):
                price += self.weight[self.ray[j]] * (
                    llabs(self.missing[self.ray[j]] - change[0]) - llabs(self.missing[self.ray[j]]))
            if best < 0 or price < least:
                best, least = v, price
        poll_signals(50.0 * (self.start[r + 1] - self.start[r]))
        if best < 0 or least >= 0:
            self.weight[r] += growth
        return best

    cdef void begin(self, const int32_t[::1] labels, double weight) noexcept:
        """Compute the missing sums of rays."""
        cdef Py_ssize_t r, i, p
        self.weight[:] = weight
        self.rests[:] = 0
        self.missing[:] = 0
        self.n_wrong = 0
        for r in range(self.sums.shape[0]):
            i = self.sums[r]
            for p in range(self.start[r], self.start[r + 1]):
                i -= labels[self.node[p]]
            self.add(r, -i)

    def walk(self, int32_t[::1] labels, Py_ssize_t max_steps, double weight):
        """Change labels until all sums are correct; return whether they are.

        labels : (V,), in range    INOUT
        max_steps : limit on the steps
        weight : initial weight of an error of one, in units of the costs; positive
        """
        cdef Py_ssize_t v, change = 0, now = 0
        self.begin(labels, weight)
        with nogil:
            while self.n_wrong > 0 and now < max_steps:
                now += 1
                v = self.step(&labels[0], now, weight, &change)
                if v >= 0:
                    self.put(v, change, &labels[0])
                    self.rests[v] = now + 5 + <Py_ssize_t> (next_random(&self.state) % 16)
        return self.n_wrong == 0

    def improve(self, int32_t[::1] labels, Py_ssize_t max_steps, double weight):
        """Lower the energy of labels with correct sums; the sums of the result are correct.

        Parameters are those of `walk`; each change that is tried as a start, or made, is a step.
        """
        cdef Py_ssize_t v, k, n, change = 0, now = 0, V = labels.shape[0]
        cdef Py_ssize_t node[SHORT]
        cdef Py_ssize_t changed[SHORT]
        cdef double total
        self.begin(labels, weight)
        if self.n_wrong > 0:
            raise ValueError(
                f"the sums of the labels do not match those of the rays: {self.n_wrong} of "
                f"{self.sums.shape[0]} differ")
        with nogil:
            while now < max_steps:
                now += 1
                v = <Py_ssize_t> (next_random(&self.state) % <uint64_t> V)
                change = 1 - 2 * <Py_ssize_t> (next_random(&self.state) & 1)
                if not 0 <= labels[v] + change < self.packed.costs.max_labels:
                    continue
                poll_signals(50)
                total = self.difference(v, change, &labels[0])
                if total > 0:
                    continue
                n = 0
                while v >= 0 and n < SHORT:
                    self.put(v, change, &labels[0])
                    node[n], changed[n] = v, change
                    n += 1
                    # Blocked until this walk ends.
                    self.rests[v] = now + 1
                    if self.n_wrong == 0:
                        break
                    v = self.step(&labels[0], now, 0.0, &change)
                    if v >= 0:
                        total += self.difference(v, change, &labels[0])
                now += n
                if self.n_wrong > 0 or total > 0:
                    for k in range(n - 1, -1, -1):
                        self.put(node[k], -changed[k], &labels[0])
