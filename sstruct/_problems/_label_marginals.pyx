# Design:
# (a) The same potentials as decoding, another question to the decoder: what decision_function reports.
"""How much each label adds to, or takes from, the best set of every row."""

from sstruct._problems._multilabel cimport MultilabelProblem

import numpy as np


def label_marginals(MultilabelProblem problem not None, const double[::1] w):
    """Return, for each row and label, the best score with it on minus that with it off: (n, K)."""
    problem._check_weights(w)
    cdef Py_ssize_t i
    out = np.empty((problem.n_blocks, problem.n_labels))
    cdef double[:, ::1] values = out
    with nogil:
        for i in range(problem.n_blocks):
            problem.potentials(i, &w[0], 0.0)
            problem.decoder.marginals(&problem.theta[0], &problem.pair[0], &values[i, 0])
    return out
