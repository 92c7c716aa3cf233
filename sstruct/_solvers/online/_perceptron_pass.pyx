# Design:
# (a) The iterates of the structured perceptron and of its passive-aggressive variant (_step_state.pyx).
#     A visit decodes without the loss. If the prediction has a positive loss, the visit adds
#     tau (phi(truth) - phi(prediction)), which changes only positions where these differ.
# (b) The average of w_1 ... w_T: the step of visit k is in w_k ... w_T, so
#     sum_t w_t = (T + 1) w_T - moment.
# (c) With bounds, a visit projects: the change by clipping is a part of its step, and enters the moment
#     too. Only bounded weights are checked.
# (d) If scores include costs that are not weights, `loss` includes them too, and they are subtracted
#     again: whether a prediction is a mistake depends only on its own loss.
# (e) The policy is in perceptron.py.
"""Iterates of the perceptron and of passive-aggressive steps."""

from libc.math cimport fabs, fmax, fmin, isfinite, sqrt
from libc.stdint cimport int32_t

from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._solvers.online._step_state cimport StepState

import numpy as np

from sstruct._kernels.slices import by_slices
from sstruct._solvers.core.rounding import out_of_range

# Share of a loss with fixed costs, and of these costs, that counts as rounding error.
cdef double ROUNDING = 1e-12


cdef class PerceptronState(StepState):
    """Last and averaged iterate of a structured perceptron.

    Parameters
    ----------
    problem : BlockProblem
    step_weight : array-like of shape (n_blocks,)
        Factor of the step on each block.
    aggressiveness : float
        Largest step length of the passive-aggressive method; 0 for perceptron steps of length 1.
    bounds : array-like of shape (2, n_weights), optional
        Lower and upper bounds of the weights.
    weights, moment, n_steps
        As for StepState.

    Attributes
    ----------
    n_mistakes : int
        Number of visits of this object whose prediction had a loss.
    """

    cdef readonly Py_ssize_t n_mistakes
    cdef double aggressiveness
    cdef const Py_ssize_t[::1] bounded          # indices of bounded weights
    cdef const double[::1] low, high            # their bounds
    cdef const double[::1] zero                 # w = 0 if there are fixed costs, else empty

    def __init__(
            self, BlockProblem problem not None, step_weight, double aggressiveness=0, bounds=None,
            weights=None, moment=None, Py_ssize_t n_steps=0):
        StepState.__init__(
            self, problem, np.array(step_weight, dtype=np.float64), bounds, weights, moment, n_steps)
        self.aggressiveness = aggressiveness
        bounds = np.empty((2, 0)) if bounds is None else np.array(bounds, dtype=np.float64)
        self.bounded = np.flatnonzero(np.isfinite(bounds).any(axis=0))
        self.low, self.high = bounds[:, self.bounded].copy()
        self.zero = np.zeros(problem.n_weights if np.any(problem.fixed_scores()) else 0)
        self.project(n_steps + 1)               # the given weights, before the next visit

    cdef void project(self, Py_ssize_t t) noexcept nogil:
        """Clip the bounded weights, as a part of the step of visit t."""
        cdef Py_ssize_t a, j
        cdef double clipped
        for a in range(self.bounded.shape[0]):
            j = self.bounded[a]
            clipped = fmin(fmax(self.total[j], self.low[a]), self.high[a])
            if clipped != self.total[j]:
                self.weight_moment[j] += t * (clipped - self.total[j])
                self.total[j] = clipped

    cdef double loss(self, Py_ssize_t i) except? -1 nogil:
        """Return the loss L_i of a prediction, see (e)."""
        cdef const int32_t* codes[2]
        cdef double score[2]
        cdef double loss = 0, fixed, work = 0
        self.problem.loss(i, &self.code[0], &loss)
        if self.zero.shape[0] == 0:
            return loss
        codes[0], codes[1] = &self.truth[0], &self.code[0]
        self.problem.scores(i, &self.zero[0], 0, codes, 2, score, &work)
        fixed = score[1] - score[0]
        return loss - fixed if loss - fixed > ROUNDING * (fabs(loss) + fabs(fixed)) else 0

    cdef double length(self, Py_ssize_t i, double loss, double* work) except? -1 nogil:
        """Return the length of the step from a prediction to the truth; potentials are in scratch.

        Passive-aggressive: PA-I, with margin sqrt(loss) [Crammer et al. 2006, section 8].
        """
        cdef const int32_t* codes[2]
        cdef double score[2]
        cdef double error, norm = 0
        if self.aggressiveness == 0:
            return 1
        codes[0], codes[1] = &self.truth[0], &self.code[0]
        self.problem.scores(i, NULL, 0, codes, 2, score, work)
        # The prediction of an approximate decoder may have the lower score.
        error = fmax(score[1] - score[0], 0) + sqrt(loss)
        self.problem.squared_distance(i, &self.truth[0], &self.code[0], &norm)
        # This includes norm 0, for which no step has an effect.
        return self.aggressiveness if error >= self.aggressiveness * norm else error / norm

    cdef int step(self, Py_ssize_t i, OracleAnswer* answer) except -1 nogil:
        cdef double loss, step
        if not isfinite(answer.value):
            with gil:
                raise out_of_range("scores")
        loss = self.loss(i)
        if loss > 0:
            step = self.factor[i] * self.length(i, loss, &answer.work)
            self.problem.exchange(i, &self.truth[0], &self.code[0], step, &self.total[0])
            self.problem.exchange(
                i, &self.truth[0], &self.code[0], (self.n_steps + 1) * step, &self.weight_moment[0])
            self.project(self.n_steps + 1)
            self.n_mistakes += 1
            answer.work += 2.0 * self.bounded.shape[0]
        return 0

    def _mean(self, t):
        """Return the mean of the iterates after each visit."""
        return by_slices(
            lambda w, moment: ((t + 1) * w - moment) / t, np.asarray(self.total),
            np.asarray(self.weight_moment))

    def _clipped(self, mean):
        mean[self.bounded] = np.clip(mean[self.bounded], self.low, self.high)
        return mean
