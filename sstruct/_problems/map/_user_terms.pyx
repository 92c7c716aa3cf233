# Design:
# (a) Adapter of user terms: term_calls.py calls them and validates the results; this class converts
#     costs and labels. The solver computes the cost of stored labelings at other multipliers without
#     calls.
"""Terms given by Python objects."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from sstruct._problems.map._terms cimport MapTerms

import numpy as np

# Work of a call, in multiply-adds: about 50 microseconds.
CALL_WORK = 1e5


cdef class UserTerms(MapTerms):
    """Terms with Python methods.

    Parameters
    ----------
    calls : TermCalls
    """

    cdef readonly object calls
    cdef const int64_t[::1] begin
    cdef const int32_t[::1] n_labels            # of each position

    def __init__(self, calls):
        self.calls, self.n_terms = calls, len(calls)
        self.start, self.node = calls.start, calls.node
        self.begin = calls.start
        self.n_labels = calls.model.n_labels[calls.node]
        self.work = np.full(self.n_terms, CALL_WORK)

    cdef int minimize(
            self, Py_ssize_t t, const double* costs, const int64_t* label_at, int32_t* labels,
            double* own) except -1 nogil:
        with gil:
            own[0] = self.ask(t, costs, label_at, labels)
        return 0

    cdef double ask(
            self, Py_ssize_t t, const double* costs, const int64_t* label_at,
            int32_t* labels) except? -1:
        cdef Py_ssize_t p, k, first = self.begin[t], n = self.begin[t + 1] - first
        cdef const double* row
        cdef const int32_t[::1] found
        table = np.full((n, max(self.n_labels[first:first + n])), INFINITY)
        cdef double[:, ::1] out = table
        for p in range(n):
            row = costs + label_at[p] - label_at[0]
            for k in range(self.n_labels[first + p]):
                out[p, k] = row[k]
        answer, own = self.calls.minimize(t, table)
        found = answer
        for p in range(n):
            labels[p] = found[p]
        return own

    cdef int cost(self, Py_ssize_t t, const int32_t* labels, double* own) except -1 nogil:
        with gil:
            own[0] = self.calls.cost(
                t, <const int32_t[:self.begin[t + 1] - self.begin[t]]> labels)
        return 0

    def fork(self):
        return UserTerms(self.calls)
