# Design:
# (a) Max-marginals of one chain by a forward and a backward sweep. Input: potentials; output: scores.
# (b) `chain_max_marginals` serves prediction, and `max_marginals` chains of given scores.
"""Best scores of the labelings of a chain with each label at each position."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

import numpy as np

from sstruct._checks.arrays import copy_rows
from sstruct._kernels._interruption cimport poll_signals
from sstruct._oracles.chain._chain_terms cimport (
    ChainTerms, ScoreRows, StoredTransitions, rows_of, stored_forward)
from sstruct._oracles.chain._viterbi cimport lowest_argmax, viterbi_forward


cdef int chain_max_marginals(
        const double* theta, Py_ssize_t L, Py_ssize_t K, Py_ssize_t KP, const double* edge,
        Py_ssize_t edge_step, const StoredTransitions* stored, double* forward, double* backward,
        int32_t* origin) except -1 nogil:
    """forward[l, k] = the best score of a labeling with y_l = k, for the arguments of Viterbi.

    stored : transitions that replace `edge`, or NULL
    forward : L x KP    OUT    backward : 2 KP and origin : L x KP    scratch. Time O(L K^2), or O(L K)
    without edges, or O(L (K + nnz)) with stored transitions.
    """
    cdef Py_ssize_t l, j, k
    cdef int64_t e
    cdef double score, others, value
    cdef double* later
    cdef double* now
    cdef double* spare
    cdef const double* row
    if edge == NULL and stored == NULL:
        others = 0
        for l in range(L):
            score = theta[l * KP + lowest_argmax(theta + l * KP, K)]
            others += score
            for k in range(K):
                forward[l * KP + k] = theta[l * KP + k] - score
        for l in range(L):
            for k in range(K):
                forward[l * KP + k] += others
        return 0
    if stored != NULL:
        stored_forward(theta, L, K, KP, stored, 0, forward, origin)
    else:
        viterbi_forward(theta, L, K, KP, edge, edge_step, forward, origin)
    # later[k]: best score of positions l + 1 ... L - 1 given label k at l.
    later = backward
    now = backward + KP
    for k in range(K):
        later[k] = 0
    for l in range(L - 2, -1, -1):
        for k in range(K):
            later[k] += theta[(l + 1) * KP + k]
            now[k] = -INFINITY
        for k in range(K if stored != NULL else 0):
            for e in range(stored.indptr[k], stored.indptr[k + 1]):
                j = stored.indices[e]
                now[j] = max(now[j], stored.values[e] + later[k])
        for j in range(K if stored == NULL else 0):
            row = edge + l * edge_step + j * KP
            value = -INFINITY
            for k in range(K):
                score = row[k] + later[k]
                value = score if score > value else value
            now[j] = value
        for j in range(K):
            forward[l * KP + j] += now[j]
        spare = later
        later = now
        now = spare
        poll_signals(<double> K * K if stored == NULL else <double> K + stored.indptr[K])
    return 0


def max_marginals(scores, ChainTerms terms not None, str name):
    """Return the best score through each label of one chain: see sstruct.inference.max_marginals.

    scores, terms, name : as in ChainDecoder
    """
    terms.check(scores, name)
    cdef ScoreRows rows = rows_of(scores)
    cdef Py_ssize_t L = rows.n_rows, K = terms.n_labels, KP = terms.KP
    out = np.empty((L, KP))
    cdef double[:, ::1] theta = np.empty((L, KP))
    cdef double[:, ::1] forward = out
    cdef double[::1] backward = np.empty(2 * KP)
    cdef int32_t[:, ::1] origin = np.empty((L, KP), dtype=np.int32)
    with nogil:
        terms.load(&rows, 0, L, &theta[0, 0], name)
        chain_max_marginals(
            &theta[0, 0], L, K, KP, terms.edge, terms.edge_step,
            &terms.stored if terms.edge == NULL else NULL, &forward[0, 0], &backward[0],
            &origin[0, 0])
    marginals = np.empty((L, K))
    copy_rows(out[:, :K], marginals)
    return marginals
