# Design:
# (a) Repulsive labels with cycles: label sets are maximized over the local polytope by one cut, which
#     is what training requires. Results are half-integral, and exact over the polytope.
# (b) Predictions are label sets, so this decoder also completes its results on request: labels that
#     are not one half are kept, and the others are enumerated or searched (`_completion`).
"""Decoder of label sets by the local polytope, which returns half-integral maxima or label sets."""

from libc.stdint cimport int32_t
from libc.string cimport memcpy

from sstruct._kernels._constants cimport CUT_WORK
from sstruct._oracles.label_set._codes cimport relaxed_code_size
from sstruct._oracles.label_set._completion cimport LabelCompletion
from sstruct._oracles.label_set._set_decoder cimport LabelAnswer, LabelDecoder
from sstruct._oracles.label_set._roof_duality cimport RelaxedLabels

import numpy as np


cdef class LabelRelaxation(LabelDecoder):
    """Decodes label sets with any interactions.

    Parameters
    ----------
    n_labels : int
        K.
    edges : array-like of int of shape (E, 2)
    whole : bool
        Whether to return label sets, which are exact if components of labels that are one half are
        small. Otherwise return half-integral maxima, which are exact over the local polytope.
    """

    cdef bint whole
    cdef RelaxedLabels cut
    cdef LabelCompletion completion
    cdef int32_t[::1] half

    def __init__(self, n_labels, edges, whole=False):
        self.whole = whole
        self._set_model(n_labels, edges, relaxed=not whole)
        self.work = CUT_WORK * (self.n_labels + self.n_edges)
        self._set_cut()

    def _set_cut(self):
        self.cut, self.completion = RelaxedLabels(), LabelCompletion()
        self.cut.set_graph(self.n_labels, self.n_edges, &self.edges[0, 0])
        self.half = np.zeros(relaxed_code_size(self.n_labels, self.n_edges), dtype=np.int32)

    cpdef LabelDecoder fork(self):
        cdef LabelRelaxation other = LabelRelaxation.__new__(LabelRelaxation)
        self._share(other)
        other.whole = self.whole
        other._set_cut()
        return other

    cdef int maximize(
            self, const double* theta, const double* pair, int32_t* code,
            LabelAnswer* answer) except -1 nogil:
        cdef Py_ssize_t k
        cdef double value
        cdef int32_t* half = &self.half[0] if self.whole else code
        memcpy(self.cut.node, theta, self.n_labels * sizeof(double))
        memcpy(self.cut.interaction, pair, self.n_edges * sizeof(double))
        self.cut.constant = 0
        answer.work, answer.exact = 0, True
        self.cut.maximize(half, &value, &answer.work)
        answer.bound = value
        if self.whole:
            self.completion.complete(
                self.cut, half, code, &value, &answer.exact, &answer.work)
            for k in range(self.n_labels):
                code[k] *= 2
        return 0
