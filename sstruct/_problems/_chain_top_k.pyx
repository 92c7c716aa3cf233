# Design:
# (a) The k best labellings of every chain of a ChainProblem: its potentials, ranked by the oracle
#     _oracles/_top_k. Beside _chain.pyx, since only prediction wants it.
"""The k best labellings of chains."""

from sstruct._oracles._top_k cimport ChainRanking
from sstruct._problems._chain cimport ChainProblem

import numpy as np

from sstruct._oracles._top_k import ranked_arrays


def chain_top_k(ChainProblem problem not None, const double[::1] w, Py_ssize_t k):
    """Rank the labellings of each block at w, without loss.

    Returns
    -------
    list of (codes, values), one a block
        ndarrays of shape (m, L) of int32 and (m,), best first; m is k, or the number of
        labellings that the masks allow if that is smaller.

    Raises
    ------
    ValueError
        If the masks forbid every labelling of a block.
    """
    problem._check_weights(w)
    cdef ChainRanking ranking = ChainRanking()
    cdef double[::1] no_edges = np.zeros(problem.n_labels * problem.KP)
    cdef const double* edge
    cdef Py_ssize_t i, m
    ranked = []
    for i in range(problem.n_blocks):
        with nogil:
            problem.potentials(i, &w[0], 0.0)
            edge = problem.edge
            if edge == NULL:
                edge = &no_edges[0]
            m = ranking.rank(
                &problem.theta[0], problem.length[i], problem.n_labels, problem.KP, edge, 0, k)
        if m == 0:
            raise ValueError(
                f"block {i}: the masks forbid every labelling of {problem.length[i]} positions")
        ranked.append(ranked_arrays(ranking, m))
    return ranked
