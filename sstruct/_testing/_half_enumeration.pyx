# Design:
# (a) Enumerates all half-integral labelings of few labels, which include the vertices of the relaxation,
#     for tests. If both labels of an edge are 1/2, its score determines the outcome.
"""The best half-integral labeling, by enumeration."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint32_t
from libc.string cimport memcpy, memset

from sstruct._oracles.label_set._set_decoder cimport LabelAnswer, LabelDecoder

import numpy as np

# More labels are treated as a mistake.
MAX_LABELS = 10


cdef class HalfEnumeration(LabelDecoder):
    """A decoder that enumerates the values 0, 1/2 and 1; exact for the relaxed scores.

    Parameters
    ----------
    n_labels : int
        K, at most 10.
    edges : array-like of int of shape (E, 2)
    """

    cdef int32_t[::1] trial

    def __init__(self, n_labels, edges=None):
        if n_labels > MAX_LABELS:
            raise ValueError(f"found {n_labels} labels, expected at most {MAX_LABELS}")
        self._set_model(n_labels, edges, relaxed=True)
        self.work = 3.0 ** n_labels * (self.n_labels + self.n_edges)

    def _set_scratch(self):
        LabelDecoder._set_scratch(self)
        self.trial = np.zeros(self.code_size, dtype=np.int32)

    cpdef LabelDecoder fork(self):
        cdef HalfEnumeration other = HalfEnumeration.__new__(HalfEnumeration)
        self._share(other)
        return other

    cdef int maximize(
            self, const double* theta, const double* pair, int32_t* code,
            LabelAnswer* answer) except -1 nogil:
        cdef Py_ssize_t k, e, K = self.n_labels
        cdef int32_t* y = &self.trial[0]
        cdef double value, best = -INFINITY
        cdef uint32_t* word
        answer.work, answer.exact = self.work, True
        memset(y, 0, self.code_size * sizeof(int32_t))
        while True:
            memset(y + K, 0, (self.code_size - K) * sizeof(int32_t))
            for e in range(self.n_edges):
                if pair[e] > 0 and y[self.edges[e, 0]] == 1 and y[self.edges[e, 1]] == 1:
                    word = <uint32_t*> (y + K + e // 32)
                    word[0] |= <uint32_t> 1 << (e % 32)
            value = self.score(theta, pair, y)
            if value > best:
                best = value
                memcpy(code, y, self.code_size * sizeof(int32_t))
            for k in range(K):
                y[k] += 1
                if y[k] < 3:
                    break
                y[k] = 0
            else:
                return 0
