"""Fit an estimator at many values of lambda in one sweep over its packed data."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from sstruct._checks.arrays import first_true
from sstruct._checks.shown import shortened
from sstruct._checks.warn import warn_user
from sstruct._estimators.core.base import BaseSSVM
from sstruct._estimators.core.fit import (
    check_not_set,
    chosen_options,
    fitted_attributes,
    prepare_training,
)
from sstruct._estimators.core.fit_warnings import scale_warning
from sstruct._estimators.core.fitted_state import CheckedState, of_format
from sstruct._estimators.core.meta_estimator import MetaSSVM, search_hint
from sstruct._estimators.core.training import Quality, Samples
from sstruct._estimators.path.compact_rows import CompactRows
from sstruct._input.class_scores import parse_class_scores
from sstruct._input.packed_state import pack_state, unpack_state
from sstruct._solvers.core.solver import Setup, Solution
from sstruct._solvers.core.status import Status
from sstruct._solvers.path.path_solver import PathSolver
from sstruct.solvers import MPBCFW

FORMAT = 1
# The errors for options of the solver that are not supported.
UNSUPPORTED = {
    "checkpoint": "checkpoint of the solver is not supported by paths over lam; use "
    "checkpoint=None",
    "couple_windows": "couple_windows=True of the solver is not supported by paths over lam; use "
    "couple_windows=False",
}
# Columns of the history.
COLUMNS = (
    *("lam", "seconds", "passes", "oracle_calls", "approximate_passes", "primal", "dual", "gap"),
    *("hinge", "linear", "square", "working_set_size"),
)


def _not_supported(estimator):
    """Return the error for an object that is not an estimator with a path."""
    found, hint = shortened(estimator), search_hint(estimator)
    if isinstance(estimator, MetaSSVM) and not hint:
        name = type(estimator).__name__
        return (
            f"{name} is not supported by paths over lam, found {found}; use GridSearchCV("
            f"{name}(...), {{'estimator__lam': [...]}})"
        )
    if isinstance(estimator, Pipeline):
        hint = "; put PathCV at the end of the pipeline"
    return f"expected an estimator of this package, found {found}{hint}"


class Sweep:
    """The packed data of an estimator, and solvers for them.

    Parameters
    ----------
    estimator : BaseSSVM
    X, y, sample_weight : as in its ``fit``
    """

    def __init__(self, estimator, X, y, sample_weight):
        if not isinstance(estimator, BaseSSVM):
            raise TypeError(_not_supported(estimator))
        structure = estimator._structure()
        chosen = structure.chosen_solver
        if chosen.name == "auto":
            chosen = MPBCFW()
        if not structure.solvers[chosen.name].has_dual_weights:
            raise ValueError(
                f"solver={chosen.name!r} has no dual weights to continue from; use "
                "solver='mp-bcfw' or 'bcfw'"
            )
        check_not_set(structure, UNSUPPORTED)
        self.estimator = clone(estimator)
        self.structure = self.estimator._structure()
        # From a separate clone, since drawing changes the state of random_state.
        training = prepare_training(clone(estimator)._structure(), Samples(X, y, sample_weight))
        self.problem, self.block_weight = training.problem, training.block_weight
        self.attributes, self.training = training.known, training
        # Passes that certify and step together use the labelings found, not bounds.
        self.exact = training.inference.quality is Quality.EXACT
        self.solver_name = chosen.name
        self.options = chosen_options(self.structure, chosen, self.problem, training.n_threads)
        # Gap and breakpoints refer to the last iterate, not to an average.
        self.options.average = self.options.pass_average = False
        # The value of lam="auto" for the solver, if the estimator has it.
        self.auto_lam = training.solver_lam if isinstance(self.structure.lam, str) else np.inf
        self.unit = training.pairwise_scale**2  # lambda of the user divided by lambda of the solver

    def check_zero(self):
        """Raise an error if 0 or the prior, the limit for large lambda, is out of bounds."""
        if self.training.bounds is None:
            return
        lower, upper = map(self.public, self.training.bounds)
        start = np.zeros(len(lower)) if self.prior is None else self.prior
        if (at := first_true((lower > start) | (upper < start))) is not None:
            scores = self.structure.class_scores
            if scores is not None and parse_class_scores(scores)[0] == "fixed":
                raise ValueError(
                    'class_scores=("fixed", ...) is not supported by paths over lam, which start '
                    'at w = 0; use class_scores=("scale", ...), a prior with the weight 1, or fit '
                    "the values of lam separately"
                )
            where = "w = 0, so 0" if self.prior is None else "the prior, so its weights"
            raise ValueError(
                f"bounds of weight {at} are {lower[at]:g} and {upper[at]:g}, but a path starts at "
                f"{where} must be within all bounds"
            )

    def solver(self, lam, relative=False):
        """Return a PathSolver with a new state."""
        training = self.training
        limits = map(training.solver_weights, (training.bounds, training.prior))
        setup = Setup(self.problem, lam / self.unit, self.block_weight, self.options, *limits)
        return PathSolver(setup, relative=relative)

    @property
    def prior(self):
        """The weights of the prior in the order of ``w_``, or None."""
        return None if self.training.prior is None else self.public(self.training.prior)

    def public(self, w):
        """Return weights in the order of ``w_``."""
        return self.problem.layout.public(w)


def _limit(structure, status, name):
    """Describe the limit that stopped a sweep, and return advice.

    name : the parameter for the largest gap
    """
    if status is Status.TIME_LIMIT:
        return (
            f"the time limit max_time={float(structure.max_time):g} was reached",
            f"Increase max_time, or {name}.",
        )
    if status is Status.MAX_ITER:
        passes = f"max_iter={structure.max_iter} passes at one lambda were made"
        return passes, f"Increase max_iter, or {name}."
    if status is Status.ROUNDING:
        return f"rounding errors may exceed {name}", f"Scale the features, or increase {name}."
    return "no further progress is possible", f"Increase {name}."


class AlongLambda(CheckedState):
    """Weights at decreasing values of lambda, with certificates; base of paths and grids.

    A subclass implements ``_at(lam)``, which returns a row and the factor for its weights, and
    ``_certificate(lam)``, which returns primal and dual objective.
    """

    # Advice for a gap that stays above eps.
    _if_not_exact = ""

    eps: float
    lams_: np.ndarray
    ws_: CompactRows
    gaps_: np.ndarray
    status_: str
    history_: dict[str, np.ndarray]

    def __init__(self, sweep, eps, relative=False):
        self.eps, self._relative = eps, relative
        self._template, self._attributes = sweep.estimator, sweep.attributes
        self._solver_name, self._n_weights = sweep.solver_name, sweep.problem.n_weights
        self._n_blocks = sweep.problem.n_blocks
        self.ws_, self._prior = CompactRows(), sweep.prior
        self._rows, self._exact = [], sweep.exact

    def _take(self, points, sweep, lams=None):
        """Store the points of a solver.

        lams : the values of lambda as passed by the user, or None for those of the points
        """
        for k, point in enumerate(points):
            self.ws_.append(sweep.public(sweep.training.user_weights(point.w)))
            self._exact = self._exact and point.exact
            known = {
                **vars(point),
                "lam": sweep.unit * point.lam if lams is None else float(lams[k]),
                "square": sweep.unit * point.square,
                "primal": point.primal,
                "dual": point.dual,
                "passes": point.oracle_calls / self._n_blocks,
                "approximate_passes": point.n_approximate,
            }
            self._rows.append({name: known[name] for name in COLUMNS})

    def _finish(self, status, what, sweep):
        """Convert rows to arrays; warn if a limit stopped the sweep.

        what : beginning of the warning, such as "the grid ended early"
        """
        self.status_ = status.value
        names = self._rows[0] if self._rows else ()
        self.history_ = {name: np.array([row[name] for row in self._rows]) for name in names}
        del self._rows
        self.lams_ = self.history_.get("lam", np.empty(0))
        self.gaps_ = self.history_.get("gap", np.empty(0))
        if status is not Status.CONVERGED:
            name = "tol" if self._relative else "eps"
            limit, advice = _limit(sweep.structure, status, name)
            ended = f"{what} ({status.value}): {limit}"
            if not self._exact and status in (Status.MAX_ITER, Status.STALLED):
                advice = (
                    f"{advice} The decoder is not exact, so the gap may stay above {name}"
                    f"{self._if_not_exact}."
                )
            unscaled = None
            if status is not Status.STALLED:
                unscaled = scale_warning(sweep.structure, sweep.training, limited=True)
            warn_user(
                f"{ended}. {advice}" if unscaled is None else f"{ended}; {unscaled}",
                ConvergenceWarning,
            )

    def _largest_gap(self, objective):
        """Return the largest absolute gap at which a fit has converged."""
        return self.eps * objective if self._relative else self.eps

    def _status_at(self, row, objective):
        """Return the status of a point."""
        return Status.CONVERGED

    def w(self, lam: float) -> np.ndarray:
        """Return the weights at one lambda.

        Parameters
        ----------
        lam : float
            The value of lambda.

        Returns
        -------
        ndarray of shape (n_weights,)
            In the order of the estimator's ``w_``.

        Raises
        ------
        ValueError
            If there is no solution for this value.
        """
        self._require_fitted()
        row, factor = self._at(lam)
        w = self.ws_[row]
        if factor == 1:
            return w
        return factor * w if self._prior is None else self._prior + factor * (w - self._prior)

    def estimator(self, lam: float) -> BaseSSVM:
        """Return a fitted estimator, ready to predict.

        Parameters
        ----------
        lam : float
            The value of lambda.

        Returns
        -------
        estimator
            A clone with `lam` set, in the state after a fit. ``history_`` has the rows up to this
            lambda, and passes are counted from the start of the sweep. Above the first breakpoint
            of a path, ``objective_`` is an upper bound of the objective.
        """
        self._require_fitted()
        row, _ = self._at(lam)
        primal, dual = self._certificate(lam)
        history = {name: column[: row + 1] for name, column in self.history_.items()}
        history["certificate_seconds"] = np.zeros(row + 1)
        solution = Solution(
            w=np.zeros(self._n_weights),
            primal=primal,
            dual=dual,
            status=self._status_at(row, primal),
            exact=self._exact,
            n_passes=max(round(history["passes"][-1]), 1),
            n_oracle_calls=int(history["oracle_calls"][-1]),
            history=history,
        )
        model = clone(self._template).set_params(lam=float(lam))
        structure = model._structure()
        structure.state.layout(self._attributes | {"_w": solution.w}).fill(solution.w, self.w(lam))
        known = solution, float(lam), self._solver_name, self._attributes
        model._publish(fitted_attributes(structure, *known))
        return model

    def predict(self, X: Any, lam: float) -> Any:
        """Predict with the weights at one lambda, as ``estimator(lam).predict(X)``.

        Parameters
        ----------
        X : as in the estimator's ``fit``
            Samples.
        lam : float
            The value of lambda.

        Returns
        -------
        As the estimator's ``predict``.
            The predictions.
        """
        return self.estimator(lam).predict(X)

    def __getstate__(self):
        state = super().__getstate__()
        state["_template"] = self._template._template(self._attributes)
        state["_attributes"] = pack_state(self._attributes)
        return state | {"_sstruct_format": FORMAT}

    def __setstate__(self, state):
        super().__setstate__(of_format(self, state, FORMAT))

    def _attributes_of(self, state):
        state = super()._attributes_of(state)
        return state | {"_attributes": unpack_state(state.get("_attributes"))}


class LambdaGrid(AlongLambda):
    """Fits at given values of lambda in decreasing order, to a gap of at most eps.

    Parameters
    ----------
    sweep : Sweep
    lams : array-like
        Positive.
    eps : float
    warm_start : {"primal", "dual", False}
        State passed from one lambda to the next: w, the dual weights, or nothing.
    relative : bool
        Whether gaps are relative to the objective.
    """

    def __init__(self, sweep, lams, eps, warm_start="primal", relative=False):
        super().__init__(sweep, eps, relative)
        lams = np.unique(np.asarray(lams, dtype=np.float64))[::-1]
        if warm_start is False:
            status = Status.CONVERGED
            for lam in lams:
                solver = sweep.solver(lam, relative)
                self._continue(solver, sweep, [lam], eps, "primal")
                if solver.status is not Status.CONVERGED:
                    status = solver.status
        else:
            solver = sweep.solver(lams[0], relative)
            self._continue(solver, sweep, lams, eps, warm_start)
            status = solver.status
        self.certified_ = self._exact
        above = [row for row in self._rows if row["gap"] > self._largest_gap(row["primal"])]
        what = "the grid ended early"
        if len(self._rows) == len(lams):
            what = f"{len(above)} of {len(lams)} fits of the grid did not converge"
        self._finish(status, what, sweep)

    def _continue(self, solver, sweep, lams, eps, keep):
        before = self._rows[-1] if self._rows else None
        at = len(self._rows)
        self._take(solver.grid(np.asarray(lams) / sweep.unit, eps, keep), sweep, lams)
        if before is not None:
            for row in self._rows[at:]:
                for name in ("seconds", "passes", "oracle_calls", "approximate_passes"):
                    row[name] += before[name]

    def _at(self, lam):
        row = first_true(self.lams_ == lam)
        if row is None:
            raise ValueError(f"lam={shortened(lam)} is not one of the solved values {self.lams_}")
        return row, 1.0

    def _status_at(self, row, objective):
        is_above = self.gaps_[row] > self._largest_gap(objective)
        return Status(self.status_) if is_above else Status.CONVERGED

    def _certificate(self, lam):
        row, _ = self._at(lam)
        return float(self.history_["primal"][row]), float(self.history_["dual"][row])
