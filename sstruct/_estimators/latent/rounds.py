"""The concave-convex procedure, which alternates completion of hidden labels and fits.

If y is known in part and h denotes the hidden labels, the latent objective of a model is

    J(w) = lam / 2 |w|^2
           + sum_i q_i (max_{y, h} [L_i(y) + <w, phi(y, h)>] - max_h <w, phi(y_i, h)>),

the difference of two convex functions. If h is fixed in the second one, this is U(w; h), the
objective of a fit to the labels (y_i, h). It is an upper bound of J, with equality if h is the best
completion. A round fits the best completion h of the last model, so that
J(new) <= U(new; h) <= U(last; h) + gap = J(last) + gap.
"""

import time
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sstruct._estimators.core.fit import prepare_training
from sstruct._estimators.core.training import Quality, Samples
from sstruct._input.completion import Completion
from sstruct._input.threads import n_threads
from sstruct._solvers.core.rounding import Rounding
from sstruct._solvers.core.solver import objective_at

COLUMNS = ("objective", "bound", "dual", "gap", "changed", "passes", "oracle_calls", "seconds")
INTEGERS = ("changed", "passes", "oracle_calls")


@dataclass
class Latent:
    """Data and parameters shared by all rounds.

    Attributes
    ----------
    samples : Samples
    known : KnownLabels
    n_states : int
        Number of states per label.
    tol : float
        Rounds stop once the relative decrease of the objective is smaller.
    max_rounds : int
    begin : float
        Time of the start of the fit.
    """

    samples: Samples
    known: Any
    n_states: int
    tol: float
    max_rounds: int
    begin: float

    def completion(self, codes):
        """Return the Completion with the given codes."""
        return Completion(codes, self.known.in_loss, self.n_states)

    def check_data(self, model):
        """Raise an error if the data are invalid for every completion of hidden labels."""
        completion = None  # nodes with hidden labels are removed
        if self.known.classes is None:  # label 0, or the first state, is always valid
            completion = self.completion(np.maximum(self.known.codes, 0))
        self._prepared(model, completion)

    def training(self, model, codes):
        """Return the Training with the given codes as true labels."""
        return self._prepared(model, self.completion(codes))

    def _prepared(self, model, completion):
        return prepare_training(model._structure(), self.samples, completion)


@dataclass
class Rounds:
    """The rounds from one start so far.

    Attributes
    ----------
    model : BaseSSVM
        Fitted in the last round.
    objective : float
        J at its weights if completions are exact, otherwise an upper bound of J.
    converged : bool
    rows : list of dicts
        A row of the history for each round.
    """

    model: Any
    objective: float = np.inf
    converged: bool = False
    rows: list = field(default_factory=list)

    def add(self, model, objective, row):
        """Add a round in one statement, which an interruption cannot divide."""
        rows = [*self.rows, row]
        vars(self).update(model=model, objective=objective, rows=rows)

    def history(self):
        """Return the rows as arrays by column."""
        return {
            name: np.array(
                [row[name] for row in self.rows],
                dtype=np.int64 if name in INTEGERS else np.float64,
            )
            for name in COLUMNS
        }


def row_of_history(model, objective, changed, begin):
    """Return a row of the history; `objective` is J, `changed` the number of changed labels."""
    return {
        "objective": objective, "bound": model.objective_, "dual": model.dual_objective_,
        "gap": model.dual_gap_, "changed": changed, "passes": model.n_iter_,
        "oracle_calls": model.n_oracle_calls_, "seconds": time.perf_counter() - begin,
    }  # fmt: skip


def concave_convex(rounds, latent, codes, training):
    """Run rounds from completed labels until the latent objective decreases by less than `tol`.

    At most ``max_rounds`` rounds are run.

    Parameters
    ----------
    rounds : Rounds
        Empty, with a model that is not fitted; completed rounds are added.
    latent : Latent
    codes : ndarray of int32
        The first completion.
    training : Training
        With this completion as true labels.

    Raises
    ------
    ValueError
        If the objective increases by more than the gap of a fit and rounding errors, which shows
        that completions are not exact although they should be.
    """
    rounds.model.set_params(warm_start=_can_continue(rounds.model, training, latent))
    while len(rounds.rows) < latent.max_rounds and not rounds.converged:
        trial = copy(rounds.model)
        trial._fit(*latent.samples, training)
        best = trial._complete(latent.samples.X, latent.known, latent.n_states)
        changed = latent.known.changed(best, codes)
        bound = objective = trial.objective_
        if changed:
            following = latent.training(trial, best)
            objective = objective_at(
                following.problem,
                following.solver_lam,
                following.block_weight,
                following.solver_weights(trial._w),
                n_threads(trial.n_jobs),
            )
        _check_decrease(rounds, objective, trial, training, len(rounds.rows) + 1)
        if objective > bound:  # the decoder returned a worse completion than the one of the fit
            objective, changed = bound, 0
        decrease = rounds.objective - objective
        if not (rounds.rows and decrease < 0):
            row = row_of_history(trial, objective, changed, latent.begin)
            rounds.add(trial, objective, row)
        rounds.converged = not changed or decrease <= latent.tol * objective
        if not rounds.converged:
            codes, training = best, following


def _can_continue(model, training, latent):
    """Whether a fit can continue from the dual weights of the last one."""
    if not latent.known.warm:
        return False
    structure = model._structure()
    name = structure.chosen_solver.name
    name = training.auto_solver if name == "auto" else name
    return structure.solvers[name].has_dual_weights


def _check_decrease(rounds, objective, trial, training, n_rounds):
    """Raise an error if the objective increases although completions are exact."""
    inference, dual = training.inference, trial.dual_objective_
    exact = inference.quality is Quality.EXACT and not inference.relaxed
    if not exact:
        return
    bound, lam = trial.objective_, training.solver_lam
    rounding = Rounding(training.problem, lam, training.block_weight)
    allowed = 2 * rounding.bound(lam, bound, dual, training.solver_weights(trial._w))
    has_increased = objective > bound + allowed
    if rounds.rows and not np.isnan(dual):
        has_increased = has_increased or objective > rounds.objective + trial.dual_gap_ + allowed
    if has_increased:
        raise ValueError(
            f"the latent objective is {objective!r} after round {n_rounds}, expected at most the "
            f"objective of its fit, {bound!r}, and of the last round, {rounds.objective!r}, up to "
            f"the gap of {trial.dual_gap_:g}: a completion was not the labeling of highest score "
            "that agrees with the known labels"
        )
