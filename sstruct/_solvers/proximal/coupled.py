r"""Fit to windows of samples that share nodes, by the proximal method of multipliers.

The objective is minimized over w and the multipliers m of a CoupledProblem,

.. math::

    P(w, m) = \frac{\lambda}{2} |w|^2 + \sum_i q_i H_i(w, m).

For every m, it is an upper bound on the objective at w without splitting the samples; for the
optimal m, the marginals of the dual weights agree on shared nodes. A pass makes Frank-Wolfe steps
on

.. math::

    P(w, m) + \sum_c \frac{\rho_c}{2} |m_c - \mu_c|^2, \qquad \rho_c = q_c / (\kappa u_c),

over the copies c of shared nodes, in which the multipliers are additional weights, with features
scaled by sqrt(lam / rho_c); q_c is the weight of the block, u_c the cost of a wrong label, and
kappa a step size (`STEP`). Then the center mu moves to m. In the dual this is an augmented
Lagrangian: m - mu = (p' - p) q_c / rho_c for marginals p of the copy's labels and p' of the node's.
The duality gap of the proximal problem is also the gap of w at fixed multipliers: without the
proximal term, both the objective and the dual value are smaller by lam / 2 |d|^2, with
d = (m - mu) / scale.

References
----------
R. T. Rockafellar. Augmented Lagrangians and applications of the proximal point algorithm in convex
programming. Mathematics of Operations Research 1(2), 1976.
"""

from dataclasses import replace

import numpy as np

from sstruct._kernels._interruption import DelayedInterrupt
from sstruct._problems.coupled._coupled_problem import CoupledProblem
from sstruct._solvers.core._rescale import shift_losses
from sstruct._solvers.core._state import from_prior, squared_norm
from sstruct._solvers.core.status import Status
from sstruct._solvers.frank_wolfe.block_coordinate import FrankWolfeFit

# kappa: change of a multiplier per pass, in units of the cost of a wrong label, if the copy and the
# node have different labels with marginals of 1. On 30 small chains, fits took 181, 96, 73, 70 and
# 83 passes on average with 0.1, 0.3, 1, 3 and 10.
STEP = 1.0


class Coupled(FrankWolfeFit):
    """Frank-Wolfe solver for windows, with multipliers on the nodes that they share.

    Parameters
    ----------
    setup : Setup
        Settings of the fit. Its problem must have `shared_nodes`; the Solution contains the weights
        of this problem, without multipliers.
    """

    def __init__(self, setup):
        problem = setup.problem
        shared = problem.shared_nodes()
        # Blocks of a sample have the same weight.
        weight = np.asarray(setup.block_weight)[shared.block[:, 0]]
        scale = np.sqrt(STEP * shared.cost * setup.lam / weight)
        coupled = CoupledProblem(problem, scale)
        bounds = setup.bounds
        if bounds is not None:
            free = np.full((2, coupled.n_weights - problem.n_weights), [[-np.inf], [np.inf]])
            bounds = np.hstack([bounds, free])
        prior = setup.prior
        if prior is not None:
            prior = np.append(prior, np.zeros(coupled.n_weights - problem.n_weights))
        options = replace(setup.options, average=False, pass_average=False)
        super().__init__(
            replace(setup, problem=coupled, options=options, bounds=bounds, prior=prior)
        )
        # Multiplied by |d|, this is q_c u_c |p' - p| / 2: half the difference of the marginals,
        # times the weight of the block and the cost of a wrong label.
        self.disagreement_scale = self.lam * shared.cost / (2 * scale)

    @property
    def n_model_weights(self):
        """Number of weights that are not multipliers."""
        return self.problem.n_model_weights

    @property
    def w(self):
        """The last iterate, without multipliers."""
        return self.state.live_w[: self.n_model_weights].copy()

    @property
    def multipliers(self):
        """The multipliers of the last iterate, (n_copies, n_labels)."""
        return self.problem.multipliers(self.state.live_w)

    @property
    def dual(self):
        """The dual value of the current dual weights at the current multipliers."""
        return self.state.dual - 0.5 * self.lam * squared_norm(self._moved())

    @property
    def disagreement(self):
        """Distance between the marginals of copies and nodes, in units of the objective."""
        moved = np.abs(self._moved()).reshape(-1, self.problem.n_labels)
        return float(self.disagreement_scale @ moved.sum(axis=1))

    def _moved(self):
        """Return d = (m - mu) / scale, the weights that determine the multipliers."""
        return self.state.live_w[self.n_model_weights :]

    def _iterate(self):
        """Move the center, then make an exact pass and approximate ones."""
        if self.n_passes > 0 and not self._spent():
            with DelayedInterrupt() as delay:
                delay.begin()  # losses must always match the center
                self.problem.move_center(self.state.live_w)
                shift_losses(self.state, self.lam * squared_norm(self._moved()))
        status = super()._iterate()
        if status is Status.STALLED and not self._agrees():
            return Status.MAX_ITER if self._spent() else None
        return status

    def _objective(self, w, hinge):
        return super()._objective(w[: self.n_model_weights], hinge)

    def _from_prior(self, w):
        return from_prior(w, None if self.prior is None else self.prior[: len(w)])

    def _agrees(self):
        return self.disagreement <= self.options.tol * self.primal

    def _converged(self):
        return super()._converged() and self._agrees()

    def _rounding(self, w, primal, dual):
        self.rounding.measure()  # the center has moved
        return super()._rounding(self.state.live_w, primal, dual)
