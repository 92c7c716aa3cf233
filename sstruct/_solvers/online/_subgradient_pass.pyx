# Design:
# (a) The iterates of stochastic subgradient descent (_step_state.pyx). With step 1 / (lam t),
#     the t-th iterate is a mean: w_t = z_t / t, where z_t is the sum of n q_i / lam psi_i(y_i) over the
#     t visits so far. A visit adds one plane to z, without any scaling. The argmax of the oracle does
#     not change with scale, so it can use z itself, with losses multiplied by t.
# (b) The average has weights proportional to t: 2 / (T (T + 1)) sum_t t w_t, and t w_t = z_t. The plane
#     of visit k is in z_k ... z_T, so sum_t z_t = (T + 1) z_T - moment.
# (c) With bounds, the iterate is w_t = clip(z_t / t): the minimizer over the box of the t linearized
#     objectives so far (dual averaging with the objective's own regularizer; Xiao 2010). The iterate and
#     the average are then stored as vectors, with O(n_weights) operations per visit. With a prior w_0,
#     w_t = clip(w_0 + z_t / t), likewise.
# (d) The policy is in subgradient.py.
"""Iterates of the stochastic subgradient method."""

from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._solvers.online._step_state cimport StepState

import numpy as np

from sstruct._kernels.slices import by_slices
from sstruct._solvers.core.rounding import in_range


cdef class SubgradientState(StepState):
    """Last and averaged iterate of a stochastic subgradient method.

    With bounds or a prior, `moment` is the sum of t w_t, see (c).

    Parameters
    ----------
    problem : BlockProblem
    lam : float
        Regularization parameter, positive.
    step_weight : array-like of shape (n_blocks,)
        n q_i, the weight of each block's hinge loss in the mean.
    bounds : array-like of shape (2, n_weights), optional
        Lower and upper bounds of the weights.
    prior : ndarray of shape (n_weights,), optional
        The center of the regularizer; default: 0.
    weights, moment, n_steps
        As for StepState; `weights` is z.
    """

    cdef bint bounded                           # whether there are bounds or a prior, see (c)
    cdef const double[:, ::1] bounds
    cdef const double[::1] prior

    def __init__(
            self, BlockProblem problem not None, double lam, step_weight, bounds=None,
            prior=None, weights=None, moment=None, Py_ssize_t n_steps=0):
        d = problem.n_weights
        with np.errstate(over="ignore"):
            factor = in_range(np.asarray(step_weight, dtype=np.float64) / lam)
        StepState.__init__(self, problem, factor, bounds, weights, moment, n_steps)
        self.bounded = bounds is not None or prior is not None
        if self.bounded and bounds is None:
            bounds = np.repeat([[-np.inf], [np.inf]], d, axis=1)
        self.bounds = np.zeros((2, 1)) if bounds is None else np.array(bounds, dtype=np.float64)
        self.prior = np.zeros(d if self.bounded else 0) if prior is None else prior
        if self.bounded and self.prior.shape[0] != d:
            raise ValueError(f"the prior has {self.prior.shape[0]} entries, expected {d}")
        self.loss_weight = 1.0 if self.bounded else max(n_steps, 1)
        if self.bounded:
            self.iterate = np.clip(
                np.asarray(self.prior) + np.asarray(self.total) / max(n_steps, 1), *bounds)

    cdef int step(self, Py_ssize_t i, OracleAnswer* answer) except -1 nogil:
        cdef Py_ssize_t j, d = self.problem.n_weights
        cdef double t = <double> self.n_steps + 1, factor = self.factor[i]
        self.problem.exchange(i, &self.truth[0], &self.code[0], factor, &self.total[0])
        if self.bounded:
            for j in range(d):
                self.iterate[j] = min(
                    max(self.prior[j] + self.total[j] / t, self.bounds[0, j]), self.bounds[1, j])
                self.weight_moment[j] += t * self.iterate[j]
            answer.work += 4.0 * d
        else:
            self.problem.exchange(
                i, &self.truth[0], &self.code[0], t * factor, &self.weight_moment[0])
            self.loss_weight = t
        return 0

    @property
    def last(self):
        """Copy of the iterate after the last visit."""
        if self.bounded:
            return np.array(self.iterate)
        return by_slices(lambda total: total / max(self.n_steps, 1), np.asarray(self.total))

    def _mean(self, t):
        """Return the mean of the iterates, with weight t for the t-th."""
        scale = 2 / (t * (t + 1))
        if self.bounded:
            return by_slices(lambda moment: moment * scale, np.asarray(self.weight_moment))
        return by_slices(
            lambda total, moment: ((t + 1) * total - moment) * scale,
            np.asarray(self.total), np.asarray(self.weight_moment))

    def _clipped(self, mean):
        return by_slices(np.clip, mean, *np.asarray(self.bounds), out=mean) if self.bounded else mean
