# Design:
# (a) The iterates of stochastic subgradient descent and one pass over them. With step 1 / (lam t),
#     the t-th iterate is a mean: w_t = z_t / t, where z_t is the sum of n q_i / lam psi_i(y_i) over the
#     t visits so far. A visit adds one plane to z, without any scaling. The argmax of the oracle does
#     not change with scale, so that it can use z itself, with losses multiplied by t.
# (b) The average has weights proportional to t: 2 / (T (T + 1)) sum_t t w_t, and t w_t = z_t. The plane
#     of visit k is in z_k ... z_T. With `moment` the sum of k times the k-th plane,
#     sum_t z_t = (T + 1) z_T - moment: a second scatter, and no vector operation per visit.
# (c) With bounds, the iterate is w_t = clip(z_t / t): the minimizer over the box of the t linearized
#     objectives so far (dual averaging with the objective's own regularizer; Xiao 2010). The iterate and
#     the average are then stored as vectors, with O(n_weights) operations per visit. With a prior w_0,
#     w_t = clip(w_0 + z_t / t), likewise.
# (d) The policy is in subgradient.py.
"""Iterates of the stochastic subgradient method, and one pass."""

from libc.stdint cimport int32_t

from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._solvers.core._watch cimport Watch, poll, start_watch

import numpy as np

from sstruct._kernels.slices import by_slices, zeros
from sstruct._solvers.core.rounding import in_range


cdef class SubgradientState:
    """Last and averaged iterate of a stochastic subgradient method.

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
    weights, moment : array-like of shape (n_weights,), optional
        `sum` and `moment` of a state to continue from; copied.
    n_steps : int, default=0
        Number of visits of that state.

    Attributes
    ----------
    n_steps : int
        Number of visits and of oracle calls, including `n_steps` of the initial state.
    exact : bool
        Whether every oracle call was exact.
    """

    cdef readonly Py_ssize_t n_steps
    cdef readonly bint exact
    cdef BlockProblem problem
    cdef bint bounded                           # whether there are bounds or a prior, see (c)
    cdef const double[::1] factor               # n q_i / lam
    cdef const double[:, ::1] bounds
    cdef const double[::1] prior
    # total: z. weight_moment: the moment of (b) or, if bounded, sum_t t w_t. iterate: w_t if bounded, else z.
    cdef double[::1] total, weight_moment, iterate

    def __init__(
            self, BlockProblem problem not None, double lam, step_weight, bounds=None,
            prior=None, weights=None, moment=None, Py_ssize_t n_steps=0):
        self.problem = problem
        self.exact = True
        with np.errstate(over="ignore"):
            self.factor = in_range(np.asarray(step_weight, dtype=np.float64) / lam)
        if self.factor.shape[0] != problem.n_blocks:
            raise ValueError(
                f"step_weight has {self.factor.shape[0]} entries, expected {problem.n_blocks}")
        d = problem.n_weights
        self.bounded = bounds is not None or prior is not None
        if self.bounded and bounds is None:
            bounds = np.repeat([[-np.inf], [np.inf]], d, axis=1)
        self.bounds = np.zeros((2, 1)) if bounds is None else np.array(bounds, dtype=np.float64)
        self.prior = np.zeros(d if self.bounded else 0) if prior is None else prior
        if self.bounded and not (
                self.bounds.shape[0] == 2 and self.bounds.shape[1] == problem.n_weights):
            raise ValueError(f"bounds have shape {np.shape(bounds)}, expected {(2, d)}")
        if self.bounded and self.prior.shape[0] != d:
            raise ValueError(f"the prior has {self.prior.shape[0]} entries, expected {d}")
        self.total = zeros(d) if weights is None else np.array(weights, dtype=np.float64)
        self.weight_moment = zeros(d) if moment is None else np.array(moment, dtype=np.float64)
        if not self.total.shape[0] == self.weight_moment.shape[0] == d:
            raise ValueError(
                f"weights and moment have {self.total.shape[0]} and {self.weight_moment.shape[0]} "
                f"entries, expected {d}")
        self.n_steps, self.iterate = n_steps, self.total
        if self.bounded:
            self.iterate = np.clip(
                np.asarray(self.prior) + np.asarray(self.total) / max(n_steps, 1), *bounds)

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
        """
        cdef Py_ssize_t a, i, j, d = self.problem.n_weights, n_visits = order.shape[0]
        cdef Py_ssize_t end = self.n_steps + n_visits
        cdef double work = 0, factor, scale, t
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
                i, factor = order[a], self.factor[order[a]]
                scale = 1.0 if self.bounded or self.n_steps == 0 else <double> self.n_steps
                self.problem.maximize(i, &self.iterate[0], scale, &code[0], &answer)
                self.problem.truth(i, &truth[0])
                self.exact = self.exact and answer.exact
                t = <double> self.n_steps + 1
                self.problem.exchange(i, &truth[0], &code[0], factor, &self.total[0])
                if self.bounded:
                    for j in range(d):
                        self.iterate[j] = min(
                            max(self.prior[j] + self.total[j] / t, self.bounds[0, j]),
                            self.bounds[1, j])
                        self.weight_moment[j] += t * self.iterate[j]
                    work += 4.0 * d
                else:
                    self.problem.exchange(i, &truth[0], &code[0], t * factor, &self.weight_moment[0])
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
        if self.bounded:
            return np.array(self.iterate)
        return by_slices(lambda total: total / max(self.n_steps, 1), np.asarray(self.total))

    @property
    def sum(self):
        """Copy of z, see (a)."""
        return np.array(self.total)

    @property
    def moment(self):
        """Copy of the sum of k times the plane of visit k or, with bounds or a prior, of t w_t, see (c)."""
        return np.array(self.weight_moment)

    @property
    def average(self):
        """Weighted mean of the iterates, with weight t for the t-th; initially the start.

        Raises ValueError if it exceeds the range of float64.
        """
        t = float(self.n_steps)
        if t == 0:
            return self.last
        with np.errstate(over="ignore", invalid="ignore"):
            if self.bounded:
                # The mean must satisfy the bounds despite rounding.
                return in_range(by_slices(
                    lambda moment, low, high: np.clip(moment * (2 / (t * (t + 1))), low, high),
                    np.asarray(self.weight_moment), *np.asarray(self.bounds)))
            return in_range(by_slices(
                lambda total, moment: ((t + 1) * total - moment) * (2 / (t * (t + 1))),
                np.asarray(self.total), np.asarray(self.weight_moment)))
