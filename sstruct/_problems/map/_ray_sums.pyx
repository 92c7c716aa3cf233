# Design:
# (a) Discrete tomography: each ray is a term whose labels have a given sum (_sum_constraint).
# (b) One object represents all rays: concatenated lists of nodes, and scratch for the longest ray.
"""Sums of labels along rays."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from sstruct._oracles.mrf._sum_constraint cimport SumConstraint
from sstruct._problems.map._terms cimport MapTerms

import numpy as np


cdef class RayTerms(MapTerms):
    """Rays through a model whose nodes have the labels 0, ..., n_labels - 1.

    Parameters
    ----------
    start : ndarray of shape (n_rays + 1,), dtype int64
        The nodes of ray r are ``node[start[r]:start[r + 1]]``, distinct and at least one.
    node : ndarray of shape (start[-1],), dtype int32
    sums : ndarray of shape (n_rays,), dtype int64
        From 0 to (nodes of the ray) (n_labels - 1), validated by the caller.
    n_labels : int
    """

    cdef readonly object sums
    cdef const int64_t[::1] begin, total
    cdef Py_ssize_t n_labels
    cdef SumConstraint constraint

    def __init__(self, start, node, sums, n_labels):
        sizes = np.diff(start)
        self.n_terms, self.start, self.node, self.sums = len(sums), start, node, sums
        self.begin, self.total, self.n_labels = start, sums, n_labels
        self.constraint = SumConstraint(int(sizes.max(initial=1)), n_labels)
        # Pairs of the convolutions: n^2 k^2 / 8 at the root's children; each further level has half of it.
        self.work = 20.0 * sizes + (sizes * (n_labels - 1.0)) ** 2 / 8

    cdef int minimize(
            self, Py_ssize_t t, const double* costs, const int64_t* label_at, int32_t* labels,
            double* own) except -1 nogil:
        self.constraint.minimize(
            costs, self.begin[t + 1] - self.begin[t], self.n_labels, self.total[t], labels)
        own[0] = 0
        return 0

    cdef int cost(self, Py_ssize_t t, const int32_t* labels, double* own) except -1 nogil:
        cdef Py_ssize_t p, total = 0
        for p in range(self.begin[t + 1] - self.begin[t]):
            total += labels[p]
        own[0] = 0 if total == self.total[t] else INFINITY
        return 0

    def fork(self):
        return RayTerms(self.start, self.node, self.sums, self.n_labels)
