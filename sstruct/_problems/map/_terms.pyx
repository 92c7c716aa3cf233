# Design:
# (a) Terms of a decomposition other than trees: terms over nodes of the model, each with its own cost
#     and a min-oracle. MapProblem adds shares of the node costs and multipliers, and handles codes,
#     scores, distances and steps, which do not depend on the kind of a term.
# (b) One object represents all terms of a type, so models with thousands of terms do not require
#     thousands of objects. The types are assignments (_assignment), sums along rays (_ray_sums), and
#     user terms (_user_terms).
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
        Approximate cost of a minimization, in scalar multiply-adds.
    """

    cdef int minimize(
            self, Py_ssize_t t, const double* costs, const int64_t* label_at, int32_t* labels,
            double* own) except -1 nogil:
        """Write the labels that minimize own cost plus costs at the term's nodes, and the own cost.

        costs : of label k at position p: ``label_at[p] - label_at[0] + k``; +inf forbids
        own : of the labels, as in `cost`
        """
        with gil:
            raise NotImplementedError(f"{type(self).__name__}.minimize")

    cdef int cost(self, Py_ssize_t t, const int32_t* labels, double* own) except -1 nogil:
        """Write the term's own cost of labels, which must be in range; +inf if not allowed."""
        with gil:
            raise NotImplementedError(f"{type(self).__name__}.cost")

    def total(self, const int32_t[::1] labels):
        """Return the sum of own costs of a labeling of all nodes, whose labels must be in range."""
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
        """Return terms with separate scratch memory, for another thread."""
        raise NotImplementedError(f"{type(self).__name__}.fork")
