"""Averaged perceptron and passive-aggressive: choice of the next pass, and stopping."""

import math
from typing import ClassVar

import numpy as np

from sstruct._solvers.core.solver import Solver
from sstruct._solvers.core.status import Status
from sstruct._solvers.core.step_state import exported, kept_steps
from sstruct._solvers.perceptron._perceptron_pass import PerceptronState


class PerceptronFit(Solver):
    """Steps from the prediction of the model to the truth, and the mean of the iterates.

    No objective is minimized, so that ``primal`` and ``dual`` are NaN. A pass over all samples
    without a mistake is the last one, since later passes would not change the last iterate.

    Parameters
    ----------
    setup : Setup

    References
    ----------
    M. Collins. Discriminative Training Methods for Hidden Markov Models: Theory and Experiments
    with Perceptron Algorithms. EMNLP 2002.
    """

    takes: ClassVar[dict] = Solver.takes | {
        "lam": ("auto",),
        "rescaling": ("margin",),
    }
    has_objective = False
    supports_partial_fit = True
    dual = math.nan
    measures = ("mistakes",)

    def __init__(self, setup):
        super().__init__(setup)
        kept = kept_steps(setup.warm, setup.problem)
        if not kept and self.prior is not None:
            # The start counts as the step of the first visit.
            kept = {"weights": self.prior, "moment": self.prior}
        self.state = PerceptronState(
            setup.problem, setup.steps, self._aggressiveness(), self.bounds, **kept
        )
        self.random = np.random.default_rng(self.options.seed)
        self.n_mistakes, self.kept = 0, None

    @property
    def w(self):
        """The mean of the iterates, or the weights with the best score on held-out samples."""
        return self.state.average if self.kept is None else self.kept

    def _aggressiveness(self):
        """Return the largest step of passive-aggressive, or 0 if all steps have length 1."""
        return 0.0

    @property
    def n_oracle_calls(self):
        return self.state.n_steps

    def _iterate(self):
        """Make a pass; return the status, or None if the fit continues."""
        n, before = self.problem.n_blocks, self.state.n_mistakes
        shuffled = self.options.sampling == "permutation"
        order = self.random.permutation(n) if shuffled else np.arange(n)
        complete = self.state.run(order.astype(np.intp, copy=False), self.deadline)
        self.n_passes += 1
        self.exact, self.n_mistakes = self.state.exact, self.state.n_mistakes - before
        if self.held_out is not None and self._stops_early(self.w):
            return Status.EARLY_STOPPED
        status = self._conclude(complete)
        if complete and self.n_mistakes == 0 and not self.online:
            return Status.CONVERGED
        return status

    def _evaluate_at(self, w):
        self.kept = w

    def _estimate(self):
        return math.nan

    def _measures(self):
        return {"mistakes": float(self.n_mistakes)}

    def export(self):
        """Return the state from which training on later samples can continue."""
        return exported(self.state.last, self.state.moment, self.state.n_steps)


class PassiveAggressiveFit(PerceptronFit):
    """The perceptron with the shortest steps that correct a mistake: PA-I, prediction-based.

    The step is the smallest after which the score of the truth exceeds that of the prediction by
    the square root of the prediction's loss, but at most the aggressiveness.

    Parameters
    ----------
    setup : Setup

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer. Online Passive-Aggressive
    Algorithms. JMLR 7, 2006, sections 8 and 9.
    """

    def _aggressiveness(self):
        return float(self.options.aggressiveness)
