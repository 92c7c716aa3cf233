"""One-slack cutting-plane method, which models the mean hinge loss by averaged planes."""

from operator import mul

import numpy as np

from sstruct._kernels.slices import by_slices
from sstruct._solvers.baselines.batch_frank_wolfe import ROUNDING, BatchSolver
from sstruct._solvers.baselines.plane_qp import boxed_qp, qp_solver, simplex_qp

# A plane is removed after KEEP consecutive passes in which its weight is at most NO_WEIGHT. Weights
# are never exactly zero, since the QP solver is an interior-point method.
KEEP = 50
NO_WEIGHT = 1e-8


class CuttingPlaneFit(BatchSolver):
    """Minimize lam/2 |w|^2 plus the maximum of the planes; add the plane found at the minimizer.

    The value of the master problem is a lower bound, and ``dual`` is the best one; ``w`` is the
    best of the points tried. Each plane takes 8 n_weights bytes.

    Parameters
    ----------
    setup : Setup

    References
    ----------
    T. Joachims, T. Finley, C.-N. J. Yu. Cutting-Plane Training of Structural SVMs. Machine
    Learning 77, 2009, Algorithm 3.
    """

    def __init__(self, setup):
        super().__init__(setup)
        # The plane of the truths: the mean hinge loss is nonnegative.
        self.psi, self.losses = [np.zeros(self.problem.n_weights)], np.zeros(1)
        self.gram, self.idle = np.zeros((1, 1)), np.zeros(1, dtype=int)
        self.candidate, self.dual = self._bound(np.ones(1))
        self.w = self.candidate

    @classmethod
    def check_installed(cls):
        """Raise ImportError if the QP solver is not installed."""
        qp_solver()

    @property
    def working_set_size(self):
        """Number of planes, each of which corresponds to a labeling of every block."""
        return float(len(self.losses))

    def _arrive(self):
        return self.candidate

    def _accept(self, primal, exact):
        if primal < self.primal:
            self.w, self.primal, self.exact = self.candidate, primal, exact

    def _bound(self, beta):
        """Return w and the lower bound of a convex combination of the planes."""
        weights = [weight for weight in beta if weight > 0]
        planes = [psi for weight, psi in zip(beta, self.psi) if weight > 0]
        v = by_slices(lambda *psi: sum(map(mul, weights, psi)) / self.lam, *planes)
        return self._weights_and_dual(v, float(beta @ self.losses))

    def _move(self, plane):
        """Add a plane and solve the master problem; return False if there is no next point.

        The plane may cut nothing off, or the QP solver may fail on the master problem.
        """
        w = self.candidate
        model = max(loss - float(w @ psi) for loss, psi in zip(self.losses, self.psi))
        if plane.loss - float(w @ plane.psi) - model <= ROUNDING * self.primal:
            return False
        self._add(plane)
        losses, bounds = self.losses, self.bounds
        if self.prior is not None:  # in terms of w minus the prior
            losses = losses - [float(psi @ self.prior) for psi in self.psi]
            bounds = None if bounds is None else bounds - self.prior
        if bounds is None:
            beta = simplex_qp(self.gram, losses, self.lam)
        else:
            beta = boxed_qp(np.array(self.psi), losses, self.lam, bounds)
        if beta is None:
            return False
        candidate, dual = self._bound(beta)
        self.candidate, self.dual = candidate, max(self.dual, dual)
        self._forget(beta)
        return True

    def _add(self, plane):
        products = np.array([psi @ plane.psi for psi in [*self.psi, plane.psi]])
        self._checked(float(products[-1] / self.lam))
        self.gram = np.block([[self.gram, products[:-1, None]], [products]])
        self.psi.append(plane.psi)
        self.losses = np.append(self.losses, plane.loss)
        self.idle = np.append(self.idle, 0)

    def _forget(self, beta):
        """Remove planes without weight in the last passes, but never the plane of the truths."""
        self.idle = np.where(beta > NO_WEIGHT, 0, self.idle + 1)
        self.idle[0] = 0
        kept = np.flatnonzero(self.idle < KEEP)
        if len(kept) < len(self.idle):
            self.psi = [self.psi[k] for k in kept]
            self.losses, self.idle = self.losses[kept], self.idle[kept]
            self.gram = self.gram[np.ix_(kept, kept)]
