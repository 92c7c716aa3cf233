# Design:
# (a) The same potentials as decoding, another sweep over them: what decision_function reports.
"""Max-marginals of all chains of a problem."""

from sstruct._oracles._viterbi cimport chain_max_marginals
from sstruct._problems._chain cimport ChainProblem

import numpy as np


def max_marginals(ChainProblem problem not None, const double[::1] w):
    """Return, for each row of each block in turn, the best score through each label: (N, K)."""
    problem._check_weights(w)
    cdef Py_ssize_t i, l, k, at = 0, K = problem.n_labels, KP = problem.KP
    out = np.empty((int(np.asarray(problem.length).sum()), K))
    cdef double[:, ::1] scores = out
    cdef double[::1] backward = np.empty(2 * KP)
    with nogil:
        for i in range(problem.n_blocks):
            problem.potentials(i, &w[0], 0.0)
            chain_max_marginals(
                &problem.theta[0], problem.length[i], K, KP, problem.edge, 0, &problem.best[0],
                &backward[0], &problem.origin[0])
            for l in range(problem.length[i]):
                for k in range(K):
                    scores[at + l, k] = problem.best[l * KP + k]
            at += problem.length[i]
    return out
