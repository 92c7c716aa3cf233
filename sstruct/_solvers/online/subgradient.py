"""Stochastic subgradient method, for comparison."""

import math

from sstruct._solvers.core.status import Status
from sstruct._solvers.online._subgradient_pass import SubgradientState
from sstruct._solvers.online.step_solver import StepSolver


class StochasticSubgradient(StepSolver):
    """Stochastic subgradient method with step size 1 / (lam t) and a weighted average of iterates.

    Step t uses one block, and the weight of its iterate in the average is proportional to t. In
    passes with a certificate, the primal is computed at the last and at the averaged iterate, and
    ``w`` is the better one; otherwise, ``w`` is the average.

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

    def __init__(self, setup):
        super().__init__(setup)
        self.w = self.state.average

    def _new_state(self, setup, kept):
        return SubgradientState(
            setup.problem, self.lam, setup.steps, self.bounds, setup.prior, **kept
        )

    def _iterate(self):
        """Make a pass; return the status, or None if the fit continues."""
        try:
            complete = self._pass()
        finally:  # a pass that is interrupted counts as well
            self.w, self.primal = self.state.average, self.unknown
        self.n_passes += 1
        if self.held_out is not None and self._stops_early(self.w):
            return Status.EARLY_STOPPED
        return self._conclude(complete)

    def _evaluate(self, last):
        average, last = self.state.average, self.state.last
        self.w, self.primal = average, math.inf  # in case the certificate is interrupted
        average_primal, exact = self._primal_at(average)
        last_primal, exact_too = self._primal_at(last)
        w, primal = (
            (last, last_primal) if last_primal < average_primal else (average, average_primal)
        )
        self.w, self.primal, self.exact = w, primal, exact and exact_too
        return True
