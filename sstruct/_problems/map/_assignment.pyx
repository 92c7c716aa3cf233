# Design:
# (a) Graph matching: a term over all (left) nodes that forbids assigning two of them to the same right
#     node. Its minimum is a linear assignment, computed by SciPy with the GIL.
# (b) The last label of each node means that it is not assigned, and has its own column.
"""The assignment term of a matching problem."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from sstruct._problems.map._terms cimport MapTerms

import numpy as np
from scipy.optimize import linear_sum_assignment


cdef class AssignmentTerm(MapTerms):
    """Assigns all nodes of a model to different columns.

    Parameters
    ----------
    label_start : ndarray of shape (n_nodes + 1,), dtype int64
        The first label of each node.
    columns : ndarray of shape (label_start[-1],), dtype int64
        The column of each label in the assignment costs, unique for the labels of a node.
    """

    cdef readonly object label_start, columns, rows, costs
    cdef int32_t[::1] stamp                     # of a column: the last node assigned to it
    cdef const int64_t[::1] first, column

    def __init__(self, label_start, columns):
        n = len(label_start) - 1
        self.n_terms, self.start = 1, np.array([0, n])
        self.node = np.arange(n, dtype=np.int32)
        self.label_start, self.columns = label_start, columns
        self.first, self.column = label_start, columns
        self.rows = np.repeat(np.arange(n), np.diff(label_start))
        self.costs = np.full((n, columns.max() + 1), np.inf)
        self.stamp = np.empty(columns.max() + 1, dtype=np.int32)
        # A shortest path for each row.
        self.work = np.array([float(n) * n * self.costs.shape[1] / 4])

    cdef int minimize(
            self, Py_ssize_t t, const double* costs, const int64_t* label_at, int32_t* labels,
            double* own) except -1 nogil:
        with gil:
            self.assign(<const double[:self.columns.shape[0]]> costs, labels)
        own[0] = 0
        return 0

    cdef int assign(self, const double[::1] costs, int32_t* labels) except -1:
        cdef const int32_t[::1] found = self.assignment(costs)
        cdef Py_ssize_t v
        for v in range(found.shape[0]):
            labels[v] = found[v]
        return 0

    def assignment(self, costs):
        """Return labels (n_nodes,) int32 in different columns that minimize the sum of costs.

        costs : (label_start[-1],), of all labels of all nodes; inf if forbidden
        """
        self.costs[self.rows, self.columns] = costs
        _, chosen = linear_sum_assignment(self.costs)
        taken = np.flatnonzero(self.columns == chosen[self.rows])
        return (taken - self.label_start[:len(chosen)]).astype(np.int32)

    cdef int cost(self, Py_ssize_t t, const int32_t* labels, double* own) except -1 nogil:
        cdef Py_ssize_t v, column
        own[0] = 0
        self.stamp[:] = -1
        for v in range(self.first.shape[0] - 1):
            column = self.column[self.first[v] + labels[v]]
            if self.stamp[column] >= 0:
                own[0] = INFINITY
            self.stamp[column] = <int32_t> v
        return 0

    def fork(self):
        return AssignmentTerm(self.label_start, self.columns)
