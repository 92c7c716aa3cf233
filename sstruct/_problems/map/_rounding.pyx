# Design:
# (a) Labels from the multipliers of a MapProblem: messages in both directions along every edge of every
#     tree. Then nodes in turn take the best label given the labels of earlier neighbors and the
#     messages of later ones, as in TRW-S. The multipliers of a node's own copies cancel in its sum of
#     messages and costs.
# (b) Rounding requires trees and multipliers, not just potentials, and is therefore not a decoder.
"""Labels of models from the multipliers of their trees."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.mrf._packed_mrf cimport FORBIDDEN, MRFCosts
from sstruct._problems.map._map_problem cimport MapProblem

import numpy as np


cdef class SequentialRounding:
    """Rounds multipliers of a problem, whose scratch memory is used.

    Parameters
    ----------
    problem : MapProblem
    order : ndarray of shape (V,), dtype int32
        A permutation of all nodes, validated by the caller.
    """

    cdef MapProblem problem
    cdef const int32_t[::1] order
    cdef const int64_t[::1] message_at     # of an edge: message to its first node, then to its second
    cdef double[::1] messages, source
    cdef signed char[::1] is_labeled

    def __cinit__(self, MapProblem problem, order):
        model = problem.model
        self.problem = problem
        self.order = np.ascontiguousarray(order, dtype=np.int32)
        sizes = model.n_labels[model.edges].sum(axis=1, dtype=np.int64)
        self.message_at = np.r_[0, np.cumsum(sizes)]
        self.messages = np.empty(int(sizes.sum()) + 1)
        self.source = np.empty(int(model.n_labels.max()))
        self.is_labeled = np.empty(model.n_nodes, dtype=np.int8)

    cdef double* message(self, Py_ssize_t e, Py_ssize_t v) noexcept nogil:
        """Return the message to v along edge e."""
        cdef const MRFCosts* costs = &self.problem.packed.costs
        cdef Py_ssize_t first = costs.edges[2 * e]
        return &self.messages[self.message_at[e] + (0 if v == first else costs.n_labels[first])]

    cdef int send(self, MapProblem problem, Py_ssize_t t) except -1 nogil:
        """Compute the messages of one tree, up and then down, after `MapProblem.beliefs`."""
        cdef const MRFCosts* costs = &problem.packed.costs
        cdef Py_ssize_t first = problem.start[t], p, q, e, k, v, u
        cdef double* belief
        cdef double* out
        for p in range(problem.start[t + 1] - first - 1, 0, -1):
            e, v, q = problem.edge[first + p], problem.node[first + p], problem.parent[first + p]
            u = problem.node[first + q]
            out = self.message(e, u)
            problem.packed.send(e, v, &problem.belief[problem.label_at[first + p]], out)
            belief = &problem.belief[problem.label_at[first + q]]
            for k in range(costs.n_labels[u]):
                belief[k] += out[k]
        for p in range(1, problem.start[t + 1] - first):
            e, v, q = problem.edge[first + p], problem.node[first + p], problem.parent[first + p]
            u = problem.node[first + q]
            belief = &problem.belief[problem.label_at[first + q]]
            out = self.message(e, u)
            for k in range(costs.n_labels[u]):
                # A message is finite wherever the belief is.
                self.source[k] = INFINITY if belief[k] == INFINITY else belief[k] - out[k]
            out = self.message(e, v)
            problem.packed.send(e, u, &self.source[0], out)
            belief = &problem.belief[problem.label_at[first + p]]
            for k in range(costs.n_labels[v]):
                belief[k] += out[k]
            poll_signals(200)
        return 0

    cdef int send_all(self, MapProblem problem, const double* multipliers) except -1 nogil:
        """Compute the messages of all trees; other terms have none."""
        cdef Py_ssize_t t
        for t in range(problem.n_trees):
            problem.beliefs(t, NULL, multipliers, 1.0)
            self.send(problem, t)
        return 0

    def sums(self, const double[::1] multipliers):
        """Return the concatenated costs of all labels of all nodes, including messages."""
        cdef MapProblem problem = self.problem
        cdef const MRFCosts* costs = &problem.packed.costs
        cdef Py_ssize_t v, i, k
        cdef double* message
        problem._check_weights(multipliers)
        found = np.array(problem.model.node_costs)
        cdef double[::1] out = found
        with nogil:
            self.send_all(problem, &multipliers[0])
            for v in range(costs.n_nodes):
                poll_signals(problem.packed.visit_work(v))
                for i in range(problem.packed.arc_first[v], problem.packed.arc_first[v + 1]):
                    message = self.message(problem.packed.arc[i], v)
                    for k in range(costs.n_labels[v]):
                        out[costs.node_start[v] + k] += message[k]
        return found

    def run(self, const double[::1] multipliers, bint forward):
        """Return labels (V,) int32, computed in the given order or in reverse.

        multipliers : as in `MapProblem.bound`
        """
        cdef MapProblem problem = self.problem
        cdef const MRFCosts* costs = &problem.packed.costs
        cdef Py_ssize_t i, j, k, v, u, e, best, n = costs.n_nodes
        cdef double* conditional = &self.source[0]
        cdef double* message
        problem._check_weights(multipliers)
        found = np.empty(n, dtype=np.int32)
        cdef int32_t[::1] labels = found
        with nogil:
            self.send_all(problem, &multipliers[0])
            memset(&self.is_labeled[0], 0, n)
            for i in range(n):
                v = self.order[i if forward else n - 1 - i]
                for k in range(costs.n_labels[v]):
                    conditional[k] = min(costs.node_costs[costs.node_start[v] + k], FORBIDDEN)
                for j in range(problem.packed.arc_first[v], problem.packed.arc_first[v + 1]):
                    e = problem.packed.arc[j]
                    u = costs.edges[2 * e] + costs.edges[2 * e + 1] - v
                    if self.is_labeled[u]:
                        problem.packed.add_edge_costs(e, v, labels[u], conditional)
                        continue
                    message = self.message(e, v)
                    for k in range(costs.n_labels[v]):
                        conditional[k] += min(message[k], FORBIDDEN)
                poll_signals(problem.packed.visit_work(v))
                best = 0
                for k in range(1, costs.n_labels[v]):
                    if conditional[k] < conditional[best]:
                        best = k
                labels[v] = <int32_t> best
                self.is_labeled[v] = 1
        return found
