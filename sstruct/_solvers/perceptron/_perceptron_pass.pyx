# Design:
# (a) The iterates of the structured perceptron and of its passive-aggressive variant, and one pass
#     over them. A visit decodes without the loss. If the prediction has a positive loss, the visit adds
#     tau (phi(truth) - phi(prediction)), which changes only positions where these differ.
# (b) The average of w_1 ... w_T: the step of visit k is in w_k ... w_T. With `moment` the sum of k
#     times the k-th step, sum_t w_t = (T + 1) w_T - moment: a second scatter, and no vector operation
#     per visit.
# (c) With bounds, a visit projects: the change by clipping is a part of its step, and enters the moment
#     too. Only bounded weights are checked.
# (d) A visit depends on previous samples only through w, the moment and the number of visits, so that
#     more samples can be added at any time.
# (e) If scores include costs that are not weights, `loss` includes them too, and they are subtracted
#     again: whether a prediction is a mistake depends only on its own loss.
# (f) The policy is in perceptron.py.
"""Iterates of the perceptron and of passive-aggressive steps, and one pass."""

from libc.math cimport fabs, fmax, fmin, isfinite, sqrt
from libc.stdint cimport int32_t

from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._solvers.core._watch cimport Watch, poll, start_watch

import numpy as np

from sstruct._kernels.slices import by_slices, zeros
from sstruct._solvers.core.rounding import in_range, out_of_range

# Share of a loss with fixed costs, and of these costs, that counts as rounding error.
cdef double ROUNDING = 1e-12


cdef class PerceptronState:
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
    weights, moment : array-like of shape (n_weights,), optional
        `last` and `moment` of a state to continue from, see (b); copied.
    n_steps : int, default=0
        Number of visits of that state.

    Attributes
    ----------
    n_steps : int
        Number of visits and of oracle calls, including `n_steps` of the initial state.
    n_mistakes : int
        Number of visits of this object whose prediction had a loss.
    exact : bool
        Whether every oracle call was exact.
    """

    cdef readonly Py_ssize_t n_steps, n_mistakes
    cdef readonly bint exact
    cdef BlockProblem problem
    cdef double aggressiveness
    cdef const double[::1] step_weight
    cdef double[::1] w, weight_moment
    cdef object bounds
    cdef const Py_ssize_t[::1] bounded          # indices of bounded weights
    cdef const double[::1] low, high            # their bounds
    cdef const double[::1] zero                 # w = 0 if there are fixed costs, else empty

    def __init__(
            self, BlockProblem problem not None, step_weight, double aggressiveness=0, bounds=None,
            weights=None, moment=None, Py_ssize_t n_steps=0):
        d = problem.n_weights
        self.problem, self.aggressiveness, self.exact = problem, aggressiveness, True
        self.step_weight = np.array(step_weight, dtype=np.float64)
        if self.step_weight.shape[0] != problem.n_blocks:
            raise ValueError(
                f"step_weight has {self.step_weight.shape[0]} entries, expected {problem.n_blocks}")
        if bounds is not None and np.shape(bounds) != (2, d):
            raise ValueError(f"bounds have shape {np.shape(bounds)}, expected {(2, d)}")
        self.bounds = np.array([[-np.inf], [np.inf]]) if bounds is None else np.array(
            bounds, dtype=np.float64)
        bounded = np.flatnonzero(np.isfinite(self.bounds).any(axis=0)) if bounds is not None else []
        self.bounded = np.array(bounded, dtype=np.intp)
        self.low, self.high = self.bounds[:, self.bounded].copy()
        self.w = zeros(d) if weights is None else np.array(weights, dtype=np.float64)
        self.weight_moment = zeros(d) if moment is None else np.array(moment, dtype=np.float64)
        if not self.w.shape[0] == self.weight_moment.shape[0] == d:
            raise ValueError(
                f"weights and moment have {self.w.shape[0]} and {self.weight_moment.shape[0]} entries, "
                f"expected {d}")
        self.zero = np.zeros(d if np.any(problem.fixed_scores()) else 0)
        self.n_steps = n_steps
        self.project(n_steps + 1)               # the given weights, before the next visit

    cdef void project(self, Py_ssize_t t) noexcept nogil:
        """Clip the bounded weights, as a part of the step of visit t."""
        cdef Py_ssize_t a, j
        cdef double clipped
        for a in range(self.bounded.shape[0]):
            j = self.bounded[a]
            clipped = fmin(fmax(self.w[j], self.low[a]), self.high[a])
            if clipped != self.w[j]:
                self.weight_moment[j] += t * (clipped - self.w[j])
                self.w[j] = clipped

    cdef double loss(
            self, Py_ssize_t i, const int32_t* truth, const int32_t* code) except? -1 nogil:
        """Return the loss L_i of a prediction, see (e)."""
        cdef const int32_t* codes[2]
        cdef double score[2]
        cdef double loss = 0, fixed, work = 0
        self.problem.loss(i, code, &loss)
        if self.zero.shape[0] == 0:
            return loss
        codes[0], codes[1] = truth, code
        self.problem.scores(i, &self.zero[0], 0, codes, 2, score, &work)
        fixed = score[1] - score[0]
        return loss - fixed if loss - fixed > ROUNDING * (fabs(loss) + fabs(fixed)) else 0

    cdef double step(
            self, Py_ssize_t i, const int32_t* truth, const int32_t* code, double loss,
            double* work) except? -1 nogil:
        """Return the length of the step from a prediction to the truth; potentials are in scratch.

        Passive-aggressive: PA-I, with margin sqrt(loss) [Crammer et al. 2006, section 8].
        """
        cdef const int32_t* codes[2]
        cdef double score[2]
        cdef double error, norm = 0
        if self.aggressiveness == 0:
            return 1
        codes[0], codes[1] = truth, code
        self.problem.scores(i, NULL, 0, codes, 2, score, work)
        # The prediction of an approximate decoder may have the lower score.
        error = fmax(score[1] - score[0], 0) + sqrt(loss)
        self.problem.squared_distance(i, truth, code, &norm)
        # This includes norm 0, for which no step has an effect.
        return self.aggressiveness if error >= self.aggressiveness * norm else error / norm

    def run(self, const Py_ssize_t[::1] order not None, double deadline):
        """Visit blocks in a given order.

        Parameters
        ----------
        order : ndarray of intp
            Block indices, possibly repeated.
        deadline : float
            Deadline on the clock of `seconds`.

        Returns
        -------
        bool
            Whether all were visited. An exception of a signal handler keeps the visits before it.

        Raises
        ------
        ValueError
            If scores exceed the range of float64.
        """
        cdef Py_ssize_t a, i, n_visits = order.shape[0], end = self.n_steps + n_visits
        cdef double work = 0, loss, step
        cdef OracleAnswer answer
        cdef Watch watch = start_watch(deadline)
        cdef int32_t[::1] code = np.empty(self.problem.max_code_size, dtype=np.int32)
        cdef int32_t[::1] truth = np.empty(self.problem.max_code_size, dtype=np.int32)
        if n_visits and not 0 <= np.min(order) <= np.max(order) < self.problem.n_blocks:
            raise IndexError(
                f"order has indices from {np.min(order)} to {np.max(order)}, expected 0 to "
                f"{self.problem.n_blocks - 1}")
        with nogil:
            for a in range(n_visits):
                i = order[a]
                if a + 1 < n_visits:
                    self.problem.prefetch(order[a + 1])
                self.problem.maximize(i, &self.w[0], 0, &code[0], &answer)
                if not isfinite(answer.value):
                    with gil:
                        raise out_of_range("scores")
                self.exact = self.exact and answer.exact
                self.problem.truth(i, &truth[0])
                loss = self.loss(i, &truth[0], &code[0])
                if loss > 0:
                    step = self.step_weight[i] * self.step(
                        i, &truth[0], &code[0], loss, &answer.work)
                    self.problem.exchange(i, &truth[0], &code[0], step, &self.w[0])
                    self.problem.exchange(
                        i, &truth[0], &code[0], (self.n_steps + 1) * step, &self.weight_moment[0])
                    self.project(self.n_steps + 1)
                    self.n_mistakes += 1
                    work += 2.0 * self.bounded.shape[0]
                if self.problem.keeps_planes:
                    self.problem.retain(i, NULL, 0)
                self.n_steps += 1
                work += answer.work
                if poll(&watch, work):
                    break
        return self.n_steps == end

    @property
    def last(self):
        """Copy of the iterate after the last visit."""
        return np.array(self.w)

    @property
    def moment(self):
        """Copy of the sum of k times the step of visit k."""
        return np.array(self.weight_moment)

    @property
    def average(self):
        """Mean of the iterates after each visit; initially the start.

        Raises ValueError if it exceeds the range of float64.
        """
        t = float(self.n_steps)
        if t == 0:
            return self.last
        with np.errstate(over="ignore", invalid="ignore"):
            mean = in_range(by_slices(
                lambda w, moment: ((t + 1) * w - moment) / t, np.asarray(self.w),
                np.asarray(self.weight_moment)))
        # The mean must satisfy the bounds despite rounding.
        mean[self.bounded] = np.clip(mean[self.bounded], self.low, self.high)
        return mean
