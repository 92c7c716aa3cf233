# Design:
# (a) Graph matching: the trees of a model, and one more block without edges that has all nodes and
#     forbids two of them the same right node. Its minimum is a linear assignment, by scipy, which
#     takes the GIL; all else is as of trees.
# (b) A node has a right node of its own for its last label, to stay unassigned.
"""Trees of a matching problem's model, with its assignment term."""

from libc.stdint cimport int32_t

from sstruct._problems._block_problem cimport BlockProblem
from sstruct._problems._map cimport MapProblem

import numpy as np
from scipy.optimize import linear_sum_assignment


cdef class MatchingBlocks(MapProblem):
    """The last block of the cover is the assignment term, the others are trees.

    Parameters
    ----------
    model, cover, published
        As of MapProblem.
    columns : ndarray of shape (n_labels.sum(),), dtype int64
        Of each label of each node its column in the assignment's costs, all different at a node.
    """

    cdef readonly object columns, rows, assignment_costs
    cdef Py_ssize_t n_labels

    def __init__(self, model, cover, columns, published=False, MatchingBlocks of=None):
        self.columns = columns
        self.rows = np.repeat(np.arange(model.n_nodes), model.n_labels)
        self.n_labels = len(columns)
        self.assignment_costs = np.full((model.n_nodes, columns.max() + 1), np.inf)
        MapProblem.__init__(self, model, cover, published, of)

    cdef int minimize(
            self, Py_ssize_t t, const double* centre, const double* w, double weight, int32_t* code,
            double* value) except -1 nogil:
        if t < self.n_blocks - 1:
            return MapProblem.minimize(self, t, centre, w, weight, code, value)
        self.beliefs(t, centre, w, weight)
        with gil:
            self.assign(code)
        return self.conclude(t, weight, code, value)

    cdef int assign(self, int32_t* code) except -1:
        """Write the labels of the least sum of beliefs in which no two nodes share a column."""
        cdef Py_ssize_t v
        cdef int32_t[::1] label
        beliefs = np.asarray(self.belief)[:self.n_labels]
        label = assignment(self.assignment_costs, self.rows, self.columns, beliefs, self.model.node_start)
        for v in range(label.shape[0]):
            code[v] = label[v]
        return 0

    cpdef BlockProblem fork(self):
        return MatchingBlocks(self.model, self.cover, self.columns, self.published, of=self)


def assignment(costs, rows, columns, values, start):
    """Return the labels (V,) int32 of an assignment of least sum.

    costs : (V, n_columns), written to; inf where no label is
    rows, columns, values : of all labels
    start : of each node, its first label
    """
    costs[rows, columns] = values
    _, chosen = linear_sum_assignment(costs)
    taken = np.flatnonzero(columns == chosen[rows])
    return (taken - start[:len(chosen)]).astype(np.int32)
