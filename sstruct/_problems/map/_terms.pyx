# Design:
# (a) What a decomposition may have beside trees: terms over nodes of the model, each with a cost of
#     its own and a min-oracle. MapProblem adds shares of the nodes' costs and the multipliers, and
#     keeps codes, scores, distances and steps: a term knows of none of these.
# (b) One object has all terms of a kind, so that a model with thousands of them has no thousands
#     of objects. Which kinds there are: assignments (_matching), sums over rays (_rays), and a
#     user's (_user_terms).
"""Terms of models that are not trees."""

from libc.stdint cimport int32_t, int64_t

import numpy as np


cdef class MapTerms:
    """Terms with min-oracles.

    Attributes
    ----------
    n_terms : int
    start, node : ndarray of dtype int64 (n_terms + 1,) and int32
        The nodes of term t are ``node[start[t]:start[t + 1]]``, all different.
    work : ndarray of shape (n_terms,)
        About what a minimisation costs, in scalar multiply-adds.
    """

    cdef int minimize(
            self, Py_ssize_t t, const double* costs, const int64_t* label_at, int32_t* labels,
            double* own) except -1 nogil:
        """Write labels of the term's nodes of least own cost plus costs, and the own cost.

        costs : of label k of the node at place p, at ``label_at[p] - label_at[0] + k``; +inf forbids
        own : of the labels, as `cost` says
        """
        with gil:
            raise NotImplementedError(f"{type(self).__name__}.minimize")

    cdef int cost(self, Py_ssize_t t, const int32_t* labels, double* own) except -1 nogil:
        """Write the term's own cost of labels that are in range; +inf: not allowed."""
        with gil:
            raise NotImplementedError(f"{type(self).__name__}.cost")

    def total(self, const int32_t[::1] labels):
        """Return the sum of own costs of a labeling of all nodes; its labels are in range."""
        cdef const int64_t[::1] start = self.start
        cdef const int32_t[::1] node = self.node
        cdef int32_t[::1] own_labels = np.empty(max(len(node), 1), dtype=np.int32)
        cdef Py_ssize_t t, p
        cdef double own = 0, total = 0
        for p in range(node.shape[0]):
            own_labels[p] = labels[node[p]]
        for t in range(self.n_terms):
            self.cost(t, &own_labels[start[t]], &own)
            total += own
        return total

    def fork(self):
        """Return terms with scratch of their own, for another thread."""
        raise NotImplementedError(f"{type(self).__name__}.fork")
