# Design:
# (a) Two vectors are stored: `total`, the sum of the steps of visits 1 to T, and `moment`, the sum of k times
#     the step of visit k. The step of visit k is part of the totals after visits k to T, so the sum of the T
#     totals is (T + 1) total - moment. The average therefore requires a second scatter per visit, but no
#     operation on whole vectors.
# (b) A visit depends on previous samples only through these vectors and the number of visits, so more
#     samples can be added at any time.
"""Iterates of solvers that make one step per visit, and a pass over given blocks."""

from sstruct._problems.core._block_problem cimport BlockProblem, OracleAnswer
from sstruct._solvers.core._watch cimport Watch, poll, start_watch

import numpy as np

from sstruct._kernels.slices import zeros
from sstruct._solvers.core.rounding import in_range


cdef class StepState:
    """Last and averaged iterate; a subclass implements `step` and `_mean`.

    Parameters
    ----------
    problem : BlockProblem
    factor : ndarray of shape (n_blocks,)
        Factor of the step on each block.
    bounds : array-like of shape (2, n_weights) or None
        Only the shape is validated.
    weights, moment : array-like of shape (n_weights,) or None
        Sum and moment of a state to continue from, see (a); copied.
    n_steps : int
        Number of visits of that state.

    Attributes
    ----------
    n_steps : int
        Number of visits and of oracle calls, including `n_steps` of the initial state.
    exact : bool
        Whether every oracle call was exact.
    """

    def __init__(self, BlockProblem problem not None, factor, bounds, weights, moment, n_steps):
        d = problem.n_weights
        self.problem, self.exact, self.factor = problem, True, factor
        if self.factor.shape[0] != problem.n_blocks:
            raise ValueError(
                f"step_weight has {self.factor.shape[0]} entries, expected {problem.n_blocks}")
        if bounds is not None and np.shape(bounds) != (2, d):
            raise ValueError(f"bounds have shape {np.shape(bounds)}, expected {(2, d)}")
        self.total = zeros(d) if weights is None else np.array(weights, dtype=np.float64)
        self.weight_moment = zeros(d) if moment is None else np.array(moment, dtype=np.float64)
        if not self.total.shape[0] == self.weight_moment.shape[0] == d:
            raise ValueError(
                f"weights and moment have {self.total.shape[0]} and {self.weight_moment.shape[0]} "
                f"entries, expected {d}")
        self.n_steps, self.iterate = n_steps, self.total
        self.code, self.truth = np.empty((2, problem.max_code_size), dtype=np.int32)

    cdef int step(self, Py_ssize_t i, OracleAnswer* answer) except -1 nogil:
        """Make the step of a visit; the oracle's answer is in `code`. May add to ``answer.work``."""
        return 0

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
            Whether all blocks were visited. If a signal handler raises an exception, the completed visits
            remain part of the state.

        Raises
        ------
        ValueError
            If scores exceed the range of float64.
        """
        cdef Py_ssize_t a, i, n_visits = order.shape[0], end = self.n_steps + n_visits
        cdef double work = 0
        cdef OracleAnswer answer
        cdef Watch watch = start_watch(deadline)
        if n_visits and not 0 <= np.min(order) <= np.max(order) < self.problem.n_blocks:
            raise IndexError(
                f"order has indices from {np.min(order)} to {np.max(order)}, expected 0 to "
                f"{self.problem.n_blocks - 1}")
        with nogil:
            for a in range(n_visits):
                i = order[a]
                if a + 1 < n_visits:
                    self.problem.prefetch(order[a + 1])
                self.problem.maximize(i, &self.iterate[0], self.loss_weight, &self.code[0], &answer)
                self.problem.truth(i, &self.truth[0])
                self.exact = self.exact and answer.exact
                self.step(i, &answer)
                if self.problem.keeps_planes:
                    self.problem.retain(i, NULL, 0)
                self.n_steps += 1
                work += answer.work
                if poll(&watch, work):
                    break
        return self.n_steps == end

    def export(self):
        """Return copies of the sum of steps and of `moment`, and the number of steps."""
        return {"weights": np.array(self.total), "moment": np.array(self.weight_moment),
                "n_steps": self.n_steps}

    @property
    def last(self):
        """Copy of the iterate after the last visit."""
        return np.array(self.iterate)

    @property
    def average(self):
        """Mean of the iterates as defined by `_mean`; before the first visit, the initial iterate.

        Raises ValueError if it exceeds the range of float64.
        """
        if self.n_steps == 0:
            return self.last
        with np.errstate(over="ignore", invalid="ignore"):
            return self._clipped(in_range(self._mean(float(self.n_steps))))

    def _clipped(self, mean):
        """Return the mean; subclasses with bounds clip it in place, since rounding may violate them."""
        return mean
