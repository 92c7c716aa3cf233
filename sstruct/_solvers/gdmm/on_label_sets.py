"""Penalty, certificates and stopping of GDMM on label sets."""

import math
from typing import ClassVar

import numpy as np

from sstruct._solvers.core._state import aligned_zeros, squared_norm
from sstruct._solvers.core.solver import Solver
from sstruct._solvers.gdmm._label_bounds import consistent_point, hinge_losses, measures
from sstruct._solvers.gdmm._label_pass import LabelFactors
from sstruct._solvers.gdmm.on_chains import WITH_FACTORS, n_parts

# The penalty changes by the factor RHO_STEP if the residuals differ by more than IMBALANCE, at most
# once in PASSES_A_RHO passes, and not while labels are still being admitted, because their
# disagreement is not informative about the penalty. 600 rows of bibtex, 3 s of CPU time: relative
# gap 0.19 (an older certificate), 0.076, 0.046 and 0.043 with a first rho of 1, 0.3, 0.1 and 0.03.
FIRST_RHO, RHO_STEP, IMBALANCE, PASSES_A_RHO = 0.1, 2.0, 10.0, 5
MAX_RHO = 1e4
MAX_GROWTH = 1.01
# If the residuals are below this share of the marginals, the running weights have the lower primal:
# on those rows 3.9 after 60 passes, against 5.8 for the consistent point (bound 3.77). Before that,
# edge weights that disagree with the labels make oracles 40 times slower, for poor values.
AGREEMENT = 0.01
# Updates of the factors of a sample per visit. Same rows, 6 s of CPU time: relative gap 0.046,
# 0.025 and 0.019 with 2, 5 and 10.
SWEEPS = 10


class LabelGDMM(Solver):
    """Greedy direction method of multipliers over the factors of label sets.

    Solves the relaxation over the local polytope. A pass visits every sample. A certificate
    computes the value of a consistent dual point and the primal at its weights and, once edges and
    labels nearly agree, at the running weights. ``dual`` is the best dual value, ``w`` the best
    weights. Only certificates call oracles; these calls also admit labels.

    Parameters
    ----------
    setup : Setup
        The setup of a MultilabelProblem whose decoder is exact over the local polytope.
    n_sweeps : int
        Number of updates of a sample's factors and multipliers per visit.
    """

    takes: ClassVar[dict] = WITH_FACTORS

    def __init__(self, setup, *, n_sweeps=SWEEPS):
        super().__init__(setup)
        options, problem = self.options, self.problem
        self.adapts = options.rho == "auto"
        self.factors = LabelFactors(
            problem,
            self.lam,
            self.block_weight,
            FIRST_RHO if self.adapts else float(options.rho),
            n_parts(options, problem),
            options.seed,
            n_sweeps,
            options.multiplier_step,
            options.exhaustive,
            setup.prior,
        )
        self.n_sweeps = n_sweeps
        self.last_balance, self.size = 0, 0.0
        self.active = self.n_edges = 0.0
        self.w, self.dual = self._start(), 0.0

    def _iterate(self):
        """Make a pass and, if due, a certificate; return the status, None if the fit continues."""
        complete = self.factors.run(self.deadline)
        self.n_passes += 1
        status = self._conclude(complete)
        if status is None:
            self._balance()
        return status

    def _balance(self):
        """Change the penalty if one residual is much larger than the other."""
        if not self.adapts or self.n_passes - self.last_balance < PASSES_A_RHO:
            return
        before, self.size = self.size, self.working_set_size
        self.last_balance = self.n_passes
        if self.size > MAX_GROWTH * before:
            return
        rho, residual = self.factors.rho, math.sqrt(self.factors.residual)
        change = rho * math.sqrt(self.factors.change)
        if residual > IMBALANCE * change:
            rho *= RHO_STEP
        elif change > IMBALANCE * residual:
            rho /= RHO_STEP
        else:
            return
        if 1 / MAX_RHO <= rho <= MAX_RHO:
            self.factors.set_rho(rho)

    def _evaluate(self, last):
        w, dual = consistent_point(self.factors)
        self.dual = max(self.dual, dual)
        self._try(w)
        residual = math.sqrt(self.factors.residual / self.n_sweeps)
        if self.n_passes and residual <= AGREEMENT * math.sqrt(measures(self.factors)[3]):
            w = aligned_zeros(self.problem.n_weights)
            w[:] = self.factors.running_weights
            self._try(w)
        return True

    def _try(self, w):
        """Compute the primal at w, and keep it if it is the best."""
        # Raise for weights beyond the range of float64 before calling oracles.
        half = self._checked(0.5 * self.lam * squared_norm(self._from_prior(w)))
        hinge, exact = hinge_losses(self.factors, self.pool, w)
        self.n_oracle_calls += self.problem.n_blocks
        primal = self._checked(half + float(np.dot(self.block_weight, hinge)))
        if primal < self.primal:
            self.w, self.primal, self.exact = w, primal, exact

    def _record(self, certified=True):
        self.working_set_size, self.active, self.n_edges, _ = measures(self.factors)
        super()._record(certified)

    def _measures(self):
        return {
            "rho": self.factors.rho,
            "feasibility": math.sqrt(self.factors.residual / self.n_sweeps),
            "active_labels": self.active,
            "admitted_edges": self.n_edges,
            "search_seconds": self.factors.search_seconds,
            "update_seconds": self.factors.update_seconds,
        }
