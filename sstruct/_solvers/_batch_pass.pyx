# Design:
# (a) What batch methods (Frank-Wolfe over all blocks, cutting plane) ask of a BlockProblem: the
#     oracle of every block at one w, summed up to one plane. Nothing is kept for a block.
# (b) NumPy: psi = sum(q[i] * (phi(i, truth[i]) - phi(i, y[i])) for i in blocks), and likewise the
#     loss and the hinge, each summed in the order of the blocks.
# (c) A pass stops between two oracles for a signal or a deadline; the plane is then unfinished.
# (d) Policy is in batch_frank_wolfe.py and cutting_plane.py.
"""One oracle call a block at one w, summed up to a plane."""

from libc.stdint cimport int32_t

from sstruct._problems._block_problem cimport BlockProblem, OracleAnswer
from sstruct._solvers._watch cimport Watch, look, start_watch

import numpy as np


cdef class Plane:
    """The weighted sum of the oracles' planes at one w.

    Parameters
    ----------
    n_weights : int

    Attributes
    ----------
    psi : ndarray of shape (n_weights,)
        sum_i q_i psi_i(y_i), y_i the oracle's answer in block i.
    loss : float
        sum_i q_i L_i(y_i).
    hinge : float
        sum_i q_i H_i(w) = loss - <w, psi>, from the oracles' values.
    exact : bool
        Whether every oracle call was.
    n_calls : int
        Oracle calls made, those of an unfinished pass too.
    """

    cdef readonly object psi
    cdef readonly double loss, hinge
    cdef readonly bint exact
    cdef readonly Py_ssize_t n_calls

    def __init__(self, Py_ssize_t n_weights):
        self.psi = np.zeros(n_weights)
        self.exact = True

    def compute(
            self, BlockProblem problem not None, const double[::1] w,
            const double[::1] block_weight, double deadline):
        """Call the oracle of every block at w and sum up its answers.

        Parameters
        ----------
        problem : BlockProblem
        w : ndarray of shape (n_weights,)
        block_weight : ndarray of shape (n_blocks,)
        deadline : float
            On the clock of ``_pass.seconds``.

        Returns
        -------
        bool
            Whether the pass was complete.
        """
        cdef Py_ssize_t i, n = problem.n_blocks
        cdef double work = 0, score = 0, value = 0
        cdef bint late = False
        cdef OracleAnswer answer
        cdef Watch watch = start_watch(deadline)
        cdef int32_t[::1] code = np.empty(problem.max_code_size, dtype=np.int32)
        cdef int32_t[::1] truth = np.empty(problem.max_code_size, dtype=np.int32)
        cdef const int32_t* codes[1]
        cdef double[::1] psi = self.psi
        if w.shape[0] != problem.n_weights or psi.shape[0] != problem.n_weights:
            raise ValueError("w or the plane does not fit the problem")
        if block_weight.shape[0] != n:
            raise ValueError("block_weight does not fit the problem")
        codes[0] = &truth[0]
        psi[:] = 0
        self.loss = self.hinge = 0
        self.exact = True
        self.n_calls = 0
        with nogil:
            for i in range(n):
                problem.maximize(i, &w[0], 1.0, &code[0], &answer)
                self.n_calls += 1
                problem.truth(i, &truth[0])
                problem.scores(i, NULL, 1.0, codes, 1, &score, &work)
                # Where rounding or an inexact oracle puts the truth first, it is the answer.
                if answer.value > score:
                    problem.scatter(i, &truth[0], &code[0], block_weight[i], &psi[0])
                    problem.loss(i, &code[0], &value)
                    self.loss += block_weight[i] * value
                    self.hinge += block_weight[i] * (answer.value - score)
                self.exact = self.exact and answer.exact
                work += answer.work
                if look(&watch, work):
                    late = True
                    break
        return self.n_calls == n or not late
