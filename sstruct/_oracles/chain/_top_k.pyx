# Design:
# (a) The k best labelings of a chain are the best paths of a graph (_path_ranking.pyx). Its nodes are the
#     positions with a label, l K + k, and the end, L K. The best way to reach a node is computed by
#     Viterbi. Its inputs are all previous labels or, if only stored transitions are allowed, those with
#     a transition to the label of the node. Each further labeling costs O(L K).
# (b) Scores are summed in the order of Viterbi, and ties are resolved by the lowest labels as well.
"""The k best labelings of a chain."""

from libc.stdint cimport int32_t

import sys

import numpy as np

from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.chain._chain_terms cimport (
    ChainTerms, ScoreRows, StoredTransitions, rows_of, stored_forward)
from sstruct._oracles.chain._viterbi cimport lowest_argmax, viterbi_forward
from sstruct._oracles.core._path_ranking cimport PathRanking, Way, add_input
from sstruct._oracles.core._path_ranking import ranked_arrays


cdef class ChainRanking(PathRanking):
    """Ranks the labelings of one chain at a time; owns the scratch memory."""

    cdef Py_ssize_t rank(
            self, const double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP, const double* edge,
            Py_ssize_t edge_step, const StoredTransitions* stored, Py_ssize_t k) except -1 nogil:
        """Find the k best allowed labelings, or all if there are fewer, and return their number.

        The arguments are those of `viterbi_labels`; the only allowed transitions are `stored` if
        edge is NULL. Use `ranked_arrays` to obtain the labels.
        """
        self.theta, self.L, self.K, self.KP = theta, L, K, KP
        self.edge, self.edge_step, self.stored = edge, edge_step, stored
        self.start()
        return self.find(k)

    cdef double write_code(self, Py_ssize_t way, int32_t* code) except? -1 nogil:
        cdef Py_ssize_t l, at = way
        for l in range(self.L - 1, -1, -1):
            at = self.ways[at].before
            code[l] = <int32_t> (self.ways[at].node - l * self.K)
            poll_signals(30)
        return self.ways[way].value

    cdef int start(self) except -1 nogil:
        """Run the forward sweep of Viterbi and set the best way of every node and of the end."""
        cdef Py_ssize_t L = self.L, K = self.K, l, k
        cdef Way* way
        self.grow(<void**> &self.best, L * self.KP, sizeof(double))
        self.grow(<void**> &self.origin, L * self.KP, sizeof(int32_t))
        if self.edge == NULL:
            stored_forward(self.theta, L, K, self.KP, self.stored, 0, self.best, self.origin)
        else:
            viterbi_forward(
                self.theta, L, K, self.KP, self.edge, self.edge_step, self.best, self.origin)
        self.begin(L * K + 1, L + 1)
        for l in range(L):
            for k in range(K):
                way = &self.ways[l * K + k]
                way.value = self.best[l * self.KP + k]
                if l > 0:
                    way.before = (l - 1) * K + self.origin[l * self.KP + k]
            poll_signals(4.0 * K)
        k = self.open_front(self.end)
        k += lowest_argmax(self.front_value + k, K)
        self.ways[self.end].value, self.ways[self.end].before = self.front_value[k], self.front_way[k]
        return 0

    cdef int add_inputs(self, Py_ssize_t node) except -1 nogil:
        cdef Py_ssize_t K = self.K, l = node // K, k = node - l * K, before = (l - 1) * K, j, e
        cdef const double* row
        self.reserve_front(K if self.edge != NULL or node == self.end
                           else self.stored.indptr[k + 1] - self.stored.indptr[k])
        if node == self.end:
            for j in range(K):
                add_input(self, before + j, 0)
        elif self.edge == NULL:
            for e in range(self.stored.indptr[k], self.stored.indptr[k + 1]):
                add_input(self, before + self.stored.indices[e], self.stored.values[e])
        else:
            row = self.edge + (l - 1) * self.edge_step + k
            for j in range(K):
                add_input(self, before + j, row[j * self.KP])
        return poll_signals(4.0 * K)

    cdef double own_score(self, Py_ssize_t node) noexcept nogil:
        cdef Py_ssize_t l = node // self.K
        return 0 if node == self.end else self.theta[l * self.KP + node - l * self.K]


def top_k(scores, ChainTerms terms not None, k, str name):
    """Find the k best labelings of one chain, and their scores: see sstruct.inference.top_k.

    scores, terms, name : as in ChainDecoder
    k : int of at least 1
    """
    cdef ScoreRows rows
    cdef Py_ssize_t m, limit = min(k, sys.maxsize)
    cdef ChainRanking ranking = ChainRanking()
    terms.check(scores, name)
    rows = rows_of(scores)
    cdef double[:, ::1] theta = np.empty((rows.n_rows, terms.KP))
    with nogil:
        terms.load(&rows, 0, rows.n_rows, &theta[0, 0], name)
        m = ranking.rank(
            &theta[0, 0], rows.n_rows, terms.n_labels, terms.KP, terms.edge, terms.edge_step,
            &terms.stored, limit)
    return ranked_arrays(ranking, m)
