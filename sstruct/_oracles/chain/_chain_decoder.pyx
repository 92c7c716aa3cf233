# Design:
# (a) Viterbi on chains of given scores. A chain is processed in stretches of positions, so that scratch
#     memory grows only like the square root of the length of a long chain. The best scores at the end of
#     each stretch are kept; the way back repeats the forward sweep of each stretch from these.
# (b) Row 0 of a stretch, except for the first one, holds the kept scores as if they were scores of
#     nodes. Sums are therefore the same for all sizes of stretches, bit by bit.
# (c) A chain up to a certain size is one stretch, and nothing is repeated.
"""The best labelings of chains of given scores."""

from libc.math cimport sqrt
from libc.stdint cimport int32_t
from libc.string cimport memcpy

import numpy as np

from sstruct._kernels._interruption cimport poll_signals
from sstruct._kernels._storage cimport Storage
from sstruct._oracles.chain._chain_terms cimport ChainTerms, ScoreRows, rows_of, stored_forward
from sstruct._oracles.chain._viterbi cimport lowest_argmax, pruned_forward, viterbi_forward

# Limits on the padded scores, of 20 bytes each, of a chain that is one stretch, and of a stretch of a
# longer chain. Stretches of very long chains have as many positions as the square root of the length.
cdef Py_ssize_t LARGEST_WHOLE = 2**22, LARGEST_STRETCH = 2**16


cdef class ChainDecoder(Storage):
    """Decoder of chains, one at a time; each thread requires its own decoder.

    Parameters
    ----------
    terms : ChainTerms
    """

    cdef readonly ChainTerms terms
    # Scores of nodes, best scores and their origins, for one stretch and the position before it.
    cdef double* theta
    cdef double* best
    cdef int32_t* origin
    cdef double* carried                 # KP per stretch: best scores at the position before it
    cdef double* scratch                 # 2 KP
    cdef int32_t* kept                   # 2 KP

    def __init__(self, ChainTerms terms not None):
        self.terms = terms

    def decode(self, scores, str name, stretch=None):
        """Find the best labeling of one chain.

        Parameters
        ----------
        scores : ndarray of float32 or float64 of shape (L, K)
        name : str
            Name of the scores in errors.
        stretch : int or None
            Number of positions of a stretch; the result does not depend on it.

        Returns
        -------
        labels : ndarray of int32 of shape (L,)
        value : float
            The score; -inf if every labeling is forbidden.
        """
        cdef ScoreRows rows
        cdef Py_ssize_t L = scores.shape[0], size = self.size_of(L) if stretch is None else stretch
        cdef double value
        self.terms.check(scores, name)
        if size < 1:
            raise ValueError(f"stretch must be at least 1, found {size}")
        rows = rows_of(scores)
        labels = np.empty(L, dtype=np.int32)
        cdef int32_t[::1] out = labels
        with nogil:
            value = self.run(&rows, size, &out[0], name)
        return labels, value

    def size_of(self, Py_ssize_t length):
        """Return the number of positions of a stretch of a chain."""
        cdef Py_ssize_t KP = self.terms.KP
        if length * KP <= LARGEST_WHOLE:
            return length
        return max(<Py_ssize_t> sqrt(<double> length), LARGEST_STRETCH // KP, 1)

    cdef double run(
            self, const ScoreRows* rows, Py_ssize_t size, int32_t* labels,
            str name) except? -1 nogil:
        """Write the labels of the best path; return its score."""
        cdef Py_ssize_t L = rows.n_rows, KP = self.terms.KP, s, l, last, first
        cdef Py_ssize_t n_stretches = (L + size - 1) // size
        cdef Py_ssize_t room = min(size, L) + 1   # a stretch and the position before it
        cdef int32_t k
        cdef double value
        self.grow(<void**> &self.theta, room * KP, sizeof(double))
        self.grow(<void**> &self.best, room * KP, sizeof(double))
        self.grow(<void**> &self.origin, room * KP, sizeof(int32_t))
        self.grow(<void**> &self.carried, n_stretches * KP, sizeof(double))
        self.grow(<void**> &self.scratch, 2 * KP, sizeof(double))
        self.grow(<void**> &self.kept, 2 * KP, sizeof(int32_t))
        for s in range(n_stretches):
            self.forward(rows, s, size, name)
        last = (L - (n_stretches - 1) * size) - (n_stretches == 1)   # row of the last position
        k = <int32_t> lowest_argmax(self.best + last * KP, self.terms.n_labels)
        value = self.best[last * KP + k]
        for s in range(n_stretches - 1, -1, -1):
            if s < n_stretches - 1:
                self.forward(rows, s, size, name)
            first = s * size - (s > 0)   # position of row 0
            for l in range(min((s + 1) * size, L) - 1, first, -1):
                labels[l] = k
                k = self.origin[(l - first) * KP + k]
            poll_signals(10.0 * size)
        labels[0] = k
        return value

    cdef int forward(
            self, const ScoreRows* rows, Py_ssize_t stretch, Py_ssize_t size,
            str name) except -1 nogil:
        """Compute `best` and `origin` of a stretch, and the scores that the next one starts from."""
        cdef Py_ssize_t K = self.terms.n_labels, KP = self.terms.KP, L = rows.n_rows, before = stretch > 0
        cdef Py_ssize_t first = stretch * size, end = min(first + size, L), n = end - first + before
        self.terms.load(rows, first, end - first, self.theta + before * KP, name)
        if before:
            memcpy(self.theta, self.carried + stretch * KP, KP * sizeof(double))
        if self.terms.edge == NULL:
            stored_forward(self.theta, n, K, KP, &self.terms.stored, 0, self.best, self.origin)
        elif self.terms.bounds != NULL:
            pruned_forward(
                self.theta, n, K, KP, self.terms.edge, end == L, self.best, self.origin, self.terms.bounds,
                self.scratch, self.kept)
        else:
            viterbi_forward(
                self.theta, n, K, KP, self.terms.edge + (first - before) * self.terms.edge_step,
                self.terms.edge_step, self.best, self.origin)
        if end < L:
            memcpy(
                self.carried + (stretch + 1) * KP, self.best + (n - 1) * KP, KP * sizeof(double))
        return 0
