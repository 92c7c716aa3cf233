"""Stochastic subgradient method, a baseline: order of the samples and choice of the iterate."""

import math

import numpy as np

from sstruct._solvers.baselines._subgradient_pass import SubgradientState
from sstruct._solvers.core.solver import Solver
from sstruct._solvers.core.status import Status
from sstruct._solvers.core.step_state import exported, kept_steps


class StochasticSubgradient(Solver):
    """Stochastic subgradient method with step size 1 / (lam t) and a weighted average of iterates.

    Step t uses one block, and the weight of its iterate in the average is proportional to t. There
    is no dual: ``dual`` is NaN, and ``tol`` is never reached. In passes with a certificate, the
    primal is computed at the last and at the averaged iterate, and ``w`` is the better one;
    otherwise, ``w`` is the average.

    Parameters
    ----------
    setup : Setup

    References
    ----------
    S. Shalev-Shwartz, Y. Singer, N. Srebro, A. Cotter. Pegasos: Primal Estimated sub-GrAdient
    SOlver for SVM. Mathematical Programming 127, 2011. Average: S. Lacoste-Julien,
    M. Schmidt, F. Bach. A simpler approach to obtaining an O(1/t) convergence rate for the
    projected stochastic subgradient method. arXiv:1212.2002.
    """

    supports_partial_fit = True
    dual = math.nan

    def __init__(self, setup):
        super().__init__(setup)
        kept = kept_steps(setup.warm, setup.problem)
        self.state = SubgradientState(
            setup.problem, self.lam, setup.steps, self.bounds, setup.prior, **kept
        )
        self.random = np.random.default_rng(self.options.seed)
        self.w = self.state.average

    @property
    def n_oracle_calls(self):
        return self.state.n_steps

    def _iterate(self):
        """Make a pass; return the status, or None if the fit continues."""
        n = self.problem.n_blocks
        if self.options.sampling == "uniform":
            order = self.random.integers(n, size=n)
        elif self.options.sampling == "given":
            order = np.arange(n)
        else:
            order = self.random.permutation(n)
        try:
            complete = self.state.run(order.astype(np.intp, copy=False), self.deadline)
        finally:  # a pass that is interrupted counts as well
            self.w, self.primal = self.state.average, self.unknown
        self.n_passes += 1
        if self.held_out is not None and self._stops_early(self.w):
            return Status.EARLY_STOPPED
        return self._conclude(complete)

    def _evaluate(self, last):
        average, last = self.state.average, self.state.last
        self.w, self.primal = average, math.inf  # in case the certificate is interrupted
        of_average, exact = self._primal_at(average)
        of_last, exact_too = self._primal_at(last)
        w, primal = (last, of_last) if of_last < of_average else (average, of_average)
        self.w, self.primal, self.exact = w, primal, exact and exact_too
        return True

    def _estimate(self):
        return math.nan

    def export(self):
        """Return the state from which training on later samples can continue."""
        return exported(self.state.sum, self.state.moment, self.state.n_steps)
