# Design:
# (a) Costs are negative scores, and labels that are on belong to the sink side. Edges with nonnegative
#     scores are attractive, so a minimum cut is exact.
"""Decoder of label sets with attractive interactions, by a minimum cut."""

from libc.stdint cimport int32_t

from sstruct._kernels._constants cimport CUT_WORK
from sstruct._oracles.cut._binary_energy cimport BinaryEnergy
from sstruct._oracles.label_set._set_decoder cimport LabelAnswer, LabelDecoder


cdef class LabelCut(LabelDecoder):
    """Decodes label sets whose edges have scores >= 0; exact.

    Parameters
    ----------
    n_labels : int
        K.
    edges : array-like of int of shape (E, 2)

    Raises
    ------
    ValueError
        During decoding, if an edge has a negative score.
    """

    cdef BinaryEnergy energy

    def __init__(self, n_labels, edges):
        self._set_model(n_labels, edges)
        self.work = CUT_WORK * (self.n_labels + self.n_edges)
        self._set_energy()

    def _set_energy(self):
        self.energy = BinaryEnergy()
        self.energy.set_graph(self.n_labels, self.n_edges, &self.edges[0, 0])

    cpdef LabelDecoder fork(self):
        cdef LabelCut other = LabelCut.__new__(LabelCut)
        self._share(other)
        other._set_energy()
        return other

    cdef int maximize(
            self, const double* theta, const double* pair, int32_t* code,
            LabelAnswer* answer) except -1 nogil:
        cdef Py_ssize_t k, e
        cdef double* node = self.energy.node
        cdef double* edge = self.energy.edge
        for k in range(self.n_labels):
            node[2 * k], node[2 * k + 1] = 0, -theta[k]
        for e in range(self.n_edges):
            edge[4 * e] = edge[4 * e + 1] = edge[4 * e + 2] = 0
            edge[4 * e + 3] = -pair[e]
        answer.work, answer.exact = 0, True
        self.energy.minimize(code, &answer.work)
        for k in range(self.n_labels):
            code[k] *= 2
        return 0
