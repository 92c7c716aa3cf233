"""Averaged perceptron and passive-aggressive solvers."""

from typing import ClassVar

from sstruct._solvers.core.status import Status
from sstruct._solvers.online._perceptron_pass import PerceptronState
from sstruct._solvers.online.step_solver import StepSolver


class PerceptronFit(StepSolver):
    """Steps from the prediction of the model to the truth, and the mean of the iterates.

    No objective is minimized, so ``primal`` and ``dual`` are NaN. A pass over all samples
    without a mistake is the last one, since later passes would not change the last iterate.

    Parameters
    ----------
    setup : Setup

    References
    ----------
    M. Collins. Discriminative Training Methods for Hidden Markov Models: Theory and Experiments
    with Perceptron Algorithms. EMNLP 2002.
    """

    takes: ClassVar[dict] = StepSolver.takes | {
        "lam": ("auto",),
        "rescaling": ("margin",),
    }
    has_objective = False
    unshuffled = ("given", "sequential")

    def __init__(self, setup):
        super().__init__(setup)
        self.n_mistakes, self.kept = 0, None

    def _new_state(self, setup, kept):
        if not kept and self.prior is not None:
            # The start counts as the step of the first visit.
            kept = {"weights": self.prior, "moment": self.prior}
        return PerceptronState(
            setup.problem, setup.steps, self._aggressiveness(), self.bounds, **kept
        )

    @property
    def w(self):
        """The mean of the iterates, or the weights with the best score on held-out samples."""
        return self.state.average if self.kept is None else self.kept

    def _aggressiveness(self):
        """Return the largest step of passive-aggressive, or 0 if all steps have length 1."""
        return 0.0

    def _iterate(self):
        """Make a pass; return the status, or None if the fit continues."""
        before = self.state.n_mistakes
        complete = self._pass()
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

    def _measures(self):
        return {"mistakes": float(self.n_mistakes)}


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
