"""Base class of batch methods, which call every oracle at the same w, and batch Frank-Wolfe."""

import numpy as np

from sstruct._kernels._clock import seconds
from sstruct._kernels.slices import by_slices
from sstruct._solvers.baselines._batch_pass import Plane
from sstruct._solvers.core._state import dual_value, squared_norm
from sstruct._solvers.core.solver import EXHAUSTED, Solver
from sstruct._solvers.core.status import Status

# A gap below this share of the primal is a rounding error, so no step is made.
ROUNDING = 32 * np.finfo(float).eps


class BatchSolver(Solver):
    """Passes that call every oracle at the same w, and thereby certify this w.

    A subclass implements ``_accept(primal, exact)``, which stores the results of a pass at the
    current point, ``_move(plane)``, which computes the next point and returns whether there is one,
    and ``_arrive()``, which goes to this point and returns its w. Between passes, ``w`` is a point
    at which a pass has called the oracles, and ``primal`` its objective.
    """

    def _iterate(self):
        """Make a pass and a move; return the status, or None if the fit continues."""
        w, plane = self._arrive(), Plane(self.problem.n_weights)
        try:
            complete = plane.compute(self.pool, w, self.block_weight, self.deadline)
        finally:
            self.n_oracle_calls += plane.n_calls
        self.n_passes += 1
        if complete:
            self._accept(self._objective(w, plane.bound), plane.exact)
            self._record()
            if self._converged():
                return Status.CONVERGED
            if not self._move(plane):
                return Status.STALLED
        if not complete or seconds() >= self.deadline:
            status = Status.TIME_LIMIT
        elif self.n_passes >= self.options.max_iter:
            status = Status.MAX_ITER
        else:
            return None
        # Certify the point of the last move too.
        self._certify()
        self._record()
        return Status.CONVERGED if self._converged() else status

    def _weights_and_dual(self, v, loss):
        """Return w and the dual value of a convex combination of planes, v = sum psi / lam."""
        w = v if self.prior is None else by_slices(np.add, v, self.prior)
        w = w if self.bounds is None else by_slices(np.clip, w, *self.bounds)
        return w, dual_value(loss, w, v, self.prior, self.lam)

    def _evaluate(self, last):
        self._accept(*self._primal_at(self._arrive()))
        return True


class BatchFrankWolfe(BatchSolver):
    """Frank-Wolfe over the product of all simplices, with exact line search.

    The state consists of the convex combination v of the vectors sum_i q_i psi_i(y_i) / lam of the
    planes, and of the same combination of their losses. With bounds, w = clip(v), and the dual is
    ell - lam <w, v> + lam/2 |w|^2. The step is optimal for its quadratic minorizer, which has the
    curvature of the dual without bounds, so that the dual never decreases.

    Parameters
    ----------
    setup : Setup

    References
    ----------
    S. Lacoste-Julien, M. Jaggi, M. Schmidt, P. Pletscher. Block-Coordinate Frank-Wolfe
    Optimization for Structural SVMs. ICML 2013, Algorithm 2.
    """

    def __init__(self, setup):
        super().__init__(setup)
        self._set(np.zeros(self.problem.n_weights), 0.0)

    def _set(self, v, loss):
        w, dual = self._weights_and_dual(v, loss)
        # In one statement, so that an interruption cannot mix two points.
        self.v, self.loss, self.w, self.dual, self.primal = v, loss, w, dual, np.inf
        self.ahead = None

    def _arrive(self):
        if self.ahead is not None:
            self._set(*self.ahead)
        return self.w

    def _accept(self, primal, exact):
        self.primal, self.exact = primal, exact

    def _move(self, plane):
        """Compute the next point; return False if there is no gap to close.

        The gap may be only due to rounding errors, or to the bounds of inexact oracles.
        """
        # Use the labelings of the oracles, whose gap may be smaller than the certified gap.
        gap = max(self.primal - (plane.bound - plane.hinge) - self.dual, 0.0)
        least = ROUNDING if plane.bound == plane.hinge else EXHAUSTED * self.options.tol
        if gap <= max(least, ROUNDING) * self.primal:
            return False
        direction = by_slices(lambda psi, v: psi / self.lam - v, plane.psi, self.v)
        curvature = self._checked(self.lam * squared_norm(direction))
        gamma = min(gap / curvature, 1.0) if curvature > 0 else 1.0
        v = by_slices(lambda v, change: v + gamma * change, self.v, direction)
        self.ahead = v, self.loss + gamma * (plane.loss - self.loss)
        return True
