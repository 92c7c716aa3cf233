"""Base class of all solvers."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from sstruct._kernels._clock import seconds
from sstruct._kernels._interruption import DelayedInterrupt, GracePeriod
from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._problems.core.kept_arrays import MAX_COUNT, kept_array
from sstruct._solvers.core._average import PassAverage
from sstruct._solvers.core._full_pass import full_pass
from sstruct._solvers.core._state import aligned_zeros, from_prior, squared_norm
from sstruct._solvers.core.best_weights import COLUMN, BestWeights
from sstruct._solvers.core.checkpoint import MAX_SECONDS, note
from sstruct._solvers.core.history import History
from sstruct._solvers.core.rounding import HALF, Rounding
from sstruct._solvers.core.status import Limit, Status

# If bounds of inexact oracles keep a certificate above the tolerance, a fit ends once the gaps of
# the labelings found are this share of the tolerance.
EXHAUSTED = 0.1
# Statuses that rounding errors may explain; the others have external causes.
OWN_STATUSES = (Status.CONVERGED, Status.MAX_ITER, Status.STALLED)


@dataclass
class Options:
    """Options of a fit, from the parameters of the estimator and the options of the solver object.

    in_parts : make approximate passes after each of about ten parts of an exact pass
    average : average the iterates after every visit, as in [S15]
    pass_average : average the iterates after every pass
    rho, parts : of GDMM, the penalty on disagreement ("auto": residual balancing), and the number
        of label groups, of which each visit searches one
    multiplier_step, exhaustive : of GDMM, for comparison with [Y16]: with a step of 0, multipliers
        stay zero (Soft-BCFW, which uses only a quadratic penalty); whether searches for pairs or
        edges scan all of them, unlike the sublinear oracle
    aggressiveness : of passive-aggressive steps
    shard_bytes : largest size of the features of a shard, if passes visit shard after shard
    constants : Constants of the Frank-Wolfe solvers, or None for their defaults
    """

    multi_plane: bool = True
    step: str = "pairwise"
    sampling: str = "permutation"
    cache: bool = False
    schedule: str = "work"
    in_parts: bool = False
    average: bool = False
    pass_average: bool = False
    n_jobs: int = 1
    tol: float = 1e-2
    certificate_every: int = 10
    max_iter: int = 1000
    max_time: float | None = None
    seed: int = 0
    rho: float | str = "auto"
    parts: int = 1
    multiplier_step: float = 1.0
    exhaustive: bool = False
    shard_bytes: float = math.inf
    aggressiveness: float = 1.0
    constants: object = None

    @property
    def needs_gaps(self):
        """Whether passes depend on the true block gaps, which must then be refreshed."""
        return self.sampling == "gap" or self.cache


@dataclass
class Setup:
    """Input of a solver.

    Attributes
    ----------
    problem : BlockProblem
    lam : float
    block_weight : ndarray of shape (n_blocks,)
        q_i, the weight of each block's hinge loss.
    options : Options
    bounds : ndarray of shape (2, n_weights) or None
        Lower and upper bounds of the weights, in the problem's layout.
    prior : ndarray of shape (n_weights,) or None
        w_0, the center of the regularizer lam/2 |w - w_0|^2, in the problem's layout. None for 0.
    progress : context manager or None
        Yields an object with ``update(passes, gap)`` and, for fits that converge, ``finish``.
    callback : function or None
        ``callback(info, solution) -> bool``, called after each pass; True stops the fit. info: dict
        with the row of the history, relative_gap_estimate, and status, which is None while the fit
        continues. solution: function that returns the current Solution; it is uncertified if the
        pass is.
    checkpoint : Checkpoint or None
        File in which the state is saved after passes, and from which it is resumed if the file
        exists. `checkpoint` and `warm` are for solvers with dual weights.
    warm : dict or None
        State returned by ``export`` of an earlier fit.
    delay : DelayedInterrupt
        Activated when the iterations have ended, normally or by an exception, so that a signal
        does not discard the Solution before the caller receives it. Has an effect only within
        its block, which the caller enters.
    step_weight : ndarray of shape (n_blocks,) or None
        Factor of the step on each block, for solvers that make one step per block. None means
        `block_weight`, scaled to mean 1.
    online : bool
        Whether the problem has only some of the samples. There is then no objective to certify.
    held_out : BestWeights or None
        Selection of the best weights, for solvers that support `early_stopping`.
    """

    problem: object
    lam: float
    block_weight: np.ndarray
    options: Options
    bounds: np.ndarray | None = None
    prior: np.ndarray | None = None
    progress: object = None
    callback: Callable | None = None
    checkpoint: object = None
    warm: dict | None = None
    delay: DelayedInterrupt = field(default_factory=DelayedInterrupt)
    step_weight: np.ndarray | None = None
    online: bool = False
    held_out: BestWeights | None = None

    @property
    def steps(self):
        """`step_weight`, with its default resolved."""
        if self.step_weight is None:
            return self.block_weight * len(self.block_weight)
        return self.step_weight


@dataclass
class Solution:
    """A weight vector in the problem's layout, with its certificate.

    ``dual`` is NaN if the solver has none, and so is the gap. ``warnings`` are messages for the
    user. ``limit`` is the limit that ended the fit, if any. ``rounding`` is a bound on the rounding
    error of the gap if the gap is not certified, and 0 otherwise.
    """

    w: np.ndarray
    primal: float
    dual: float
    status: Status
    exact: bool
    n_passes: int
    n_oracle_calls: int
    history: dict
    interruption: BaseException | None = None
    warnings: tuple = ()
    limit: Limit | None = None
    rounding: float = 0.0

    @property
    def gap(self):
        """Primal minus dual, at least 0 despite rounding."""
        return gap(self.primal, self.dual)


def gap(primal, dual):
    """Return primal minus dual, at least 0; NaN if there is no dual."""
    difference = primal - dual
    return difference if math.isnan(difference) else max(difference, 0.0)


def relative(gap, primal):
    """Return gap / primal; 0 if both are 0, inf before the first certificate."""
    if primal == math.inf:
        return math.inf
    return gap / primal if primal > 0 else 0.0


def objective_at(problem, lam, block_weight, w, n_jobs, prior=None):
    """Return the objective at given weights, computed by one oracle call per block."""
    hinge, _ = full_pass(ThreadPool(problem, n_jobs), w, block_weight)
    return 0.5 * lam * squared_norm(from_prior(w, prior)) + hinge


class Solver:
    """One fit: iterations until one of them returns a status.

    A subclass implements ``_iterate()``, which makes a pass and returns a Status if the fit has
    ended, and ``_evaluate(last)``, which sets ``primal`` and ``exact`` at ``w`` and returns whether
    it did so (it may skip this if `last` is false). It also keeps ``w``, ``dual`` and
    ``n_oracle_calls`` up to date. ``primal`` is the objective at ``w``, or inf if it has not been
    computed. A subclass that supports checkpoints implements ``_save()`` and
    ``_resume(arrays, notes)``, and uses `_record_kept` and `_restore_record` for the common part.

    Parameters
    ----------
    setup : Setup

    Attributes
    ----------
    takes : dict
        Parameters of estimators that the solver restricts: name and allowed values, the default
        first. Those of this class are for solvers without dual weights.
    has_dual_weights : bool
        Whether another fit can continue from the final state.
    has_objective : bool
        Whether it minimizes the objective, which depends on lam.
    runs_oracles : bool
        Whether the oracles run in this process.
    supports_partial_fit : bool
        Whether ``export`` returns a state from which training on other samples can continue.
    """

    takes: ClassVar[dict] = {
        "warm_start": (False,),
        "window_size": ("auto", None),
    }
    has_dual_weights = supports_partial_fit = False
    has_objective = runs_oracles = True
    n_oracle_calls = n_approximate = 0
    working_set_size = 0.0

    def __init__(self, setup):
        self.problem, self.lam, self.block_weight = setup.problem, setup.lam, setup.block_weight
        self.options, self.bounds, self.prior = setup.options, setup.bounds, setup.prior
        self.progress, self.callback, self.delay = setup.progress, setup.callback, setup.delay
        self.checkpoint = setup.checkpoint
        problem, options = setup.problem, setup.options
        self.online = setup.online
        self.certifies = self.has_objective and not self.online
        if self.has_objective:
            self.rounding = Rounding(problem, setup.lam, setup.block_weight, setup.prior)
        self.held_out = setup.held_out
        self.begin = seconds()
        self.deadline = math.inf if options.max_time is None else self.begin + options.max_time
        self.certificate_seconds = 0.0
        self.n_passes = 0
        # Number of passes at the last save of the checkpoint, if it must not be saved again.
        self.n_kept = None
        # Value of the objective before the first certificate.
        self.unknown = math.inf if self.certifies else math.nan
        self.primal, self.exact = self.unknown, True
        # Whether oracles stopped early in the last certificate; `primal` may then be too large.
        self.is_loose = False
        self.pass_average = PassAverage(problem.n_weights) if options.pass_average else None
        # At the last certificate: gap (of the average, if there is one) over its estimate. Its
        # excess over 1 fades in later passes if oracles may stop early.
        self.gap_ratio = 1.0
        # The threads that run the oracles.
        self.pool = ThreadPool(problem, options.n_jobs) if self.runs_oracles else None

    @cached_property
    def history(self):
        """The History of the passes."""
        return History(self.problem.counts(), [*self._measures(), *self._scores()])

    @classmethod
    def unsupported(cls, parameters):
        """Yield (name, allowed values) for each parameter of an estimator that is not allowed."""
        for name, values in cls.takes.items():
            if name not in parameters:
                continue
            value = parameters[name]
            if not (value is None or np.isscalar(value)) or value not in values:
                yield name, values

    @classmethod
    def check_installed(cls):
        """Raise ImportError if a package that the solver needs is missing."""

    def solve(self):
        """Run the fit and return a Solution, which includes the exception if it was interrupted.

        If there is a checkpoint, resume from it.

        Raises
        ------
        ValueError
            If the checkpoint is damaged or belongs to another fit.
        BlockingIOError
            If another fit is using the checkpoint's path.
        """
        with nullcontext() if self.checkpoint is None else self.checkpoint:
            return self._run_to_end()

    def _run_to_end(self):
        kept = None if self.checkpoint is None else self.checkpoint.load()
        if kept is not None:
            try:
                self._resume(*kept)
            except ValueError as error:
                raise self.checkpoint.damaged(error) from error
        interruption, solution = None, None
        bar = self.progress if self.progress is not None else nullcontext()
        # `_checked` raises for overflow, which needs no further warnings.
        with np.errstate(over="ignore", invalid="ignore"), bar as bar:
            try:
                # Python 3.12 and later do not catch Ctrl-C at the end of a loop with a condition.
                while True:
                    status = self._restore_best(self._iterate())
                    if bar is not None:
                        bar.update(self.n_passes, self._estimate())
                    if self.callback is not None:
                        status = self._notify_callback(status)
                    if status is not None:
                        break
                if bar is not None and status is Status.CONVERGED:
                    bar.finish(self.n_passes, relative(self._gap(), self.primal))
                solution = self._validated(self._solution(status, self._best()))
                self._save_final(solution)
                self.delay.begin()
            except KeyboardInterrupt as error:
                self.delay.begin()
                interruption = error
            except Exception as error:
                # Exceptions of a user's oracle leave a valid state between two steps, as signals
                # and warnings about the checkpoint that a filter has turned into errors do.
                warned = None if self.checkpoint is None else self.checkpoint.failure
                if error is not self.problem.failure and error is not warned:
                    raise
                self.delay.begin()
                interruption = error
            if solution is None:
                self._end_early()
                solution = self._validated(self._solution(Status.INTERRUPTED, self._best()))
        try:
            solution = self._expanded(solution)
            solution.interruption = interruption
            return solution
        finally:
            del interruption  # its traceback refers to this frame

    def _save_final(self, solution):
        """Remove the checkpoint of a converged fit; otherwise save the final state."""
        if self.checkpoint is None:
            return
        if solution.status in (Status.CONVERGED, Status.EARLY_STOPPED):
            self.checkpoint.remove()
        elif self.n_kept != self.n_passes:
            self._save()

    def _certify_unscheduled(self):
        """Save a checkpoint, and certify in addition to the schedule, which does not affect it."""
        self._save_now()
        self._certify()
        self._record()

    def _save_now(self):
        """Write the checkpoint now, and not again at the end of the fit."""
        if self.checkpoint is not None:
            self._save()
            self.n_kept = self.n_passes

    def _record_kept(self):
        """Return the record of the passes so far for a checkpoint: arrays and notes."""
        columns = {f"history_{name}": column for name, column in self.history.as_arrays().items()}
        if self.pass_average is not None:
            columns["pass_average"] = self.pass_average.weights()
        return columns, {
            "seconds": seconds() - self.begin,
            "certificate_seconds": self.certificate_seconds,
            "n_passes": self.n_passes,
            "n_approximate": self.n_approximate,
            "gap_ratio": self.gap_ratio,
        }

    def _restore_record(self, arrays, notes):
        """Restore the record of `_record_kept`; raise ValueError if it is invalid."""
        self.n_passes = note(notes, "n_passes", int, MAX_COUNT)
        self.history.restore(arrays, self.n_passes)
        self.begin -= note(notes, "seconds", float, MAX_SECONDS)
        self.certificate_seconds = note(notes, "certificate_seconds", float, MAX_SECONDS)
        self.n_approximate = note(notes, "n_approximate", int, MAX_COUNT)
        self.gap_ratio = note(notes, "gap_ratio", float)
        if self.pass_average is not None:
            average = kept_array(arrays, "pass_average", np.float64, self.problem.n_weights)
            self.pass_average.resume(self.problem.without_padding(average), self.n_passes)

    def _validated(self, solution):
        """Lower the bound until it is valid; set status ROUNDING if the certificate is not."""
        if not self.certifies or solution.primal == math.inf:
            return solution
        rounding = self._rounding(solution.w, solution.primal, solution.dual)
        if self._is_valid(solution, rounding, self.options.tol * solution.primal):
            return solution
        dual, status = solution.dual, solution.status
        if not math.isnan(dual):
            # The objective is nonnegative.
            dual = max(dual - rounding, 0.0) if math.isfinite(rounding) else 0.0
        if status in OWN_STATUSES:
            status = Status.ROUNDING
        return replace(
            solution, dual=dual, status=status, limit=self._limit(status), rounding=rounding
        )

    def _rounding(self, w, primal, dual):
        """Return an upper bound of the rounding error of primal minus dual."""
        return self.rounding.bound(self.lam, primal, dual, w)

    def _is_valid(self, point, rounding, tolerance):
        """Whether the certificate of a point is valid for a bound on the rounding error."""
        if not rounding <= max(tolerance, HALF * point.primal):
            return False
        # The primal of an approximate oracle may be below the dual, and so may that of an oracle
        # which is known to have missed labelings, whatever it claims.
        missed = self.problem.counts().get("suboptimal", 0) > 0
        is_bound = (point.exact or self.problem.bounded) and not missed
        return not (is_bound and point.dual - point.primal > rounding)

    def _best(self):
        """Return `w`, or its entries that may be nonzero, which have the same norm."""
        return self.w

    def _expanded(self, solution):
        """Return the final Solution with `w`, given one with `_best()`."""
        return solution

    def _solution(self, status, w=None):
        return Solution(
            w=self.w if w is None else w,
            primal=self.primal,
            dual=self.dual,
            status=status,
            exact=self.exact,
            n_passes=max(self.effective_passes, 1),
            n_oracle_calls=self.n_oracle_calls,
            history=self.history.as_arrays(),
            limit=self._limit(status),
        )

    def _limit(self, status):
        """Return the limit that corresponds to a status, or None."""
        if status is Status.TIME_LIMIT:
            return Limit.TIME
        return Limit.PASSES if status is Status.MAX_ITER else None

    def _notify_callback(self, status):
        """Call the callback after a pass; return the status, with a certificate if the fit ends."""
        newest = self.history.newest()
        primal = newest["primal"]
        info = {**newest, "relative_gap_estimate": self._estimate(), "status": status}

        def solution():
            now = self._solution(Status.STOPPED_BY_CALLBACK if status is None else status)
            if status is None and self.held_out is not None:
                return replace(now, w=self.held_out.w, primal=math.nan)
            return replace(now, primal=primal)

        if not self.callback(info, solution) or status is not None:
            return status
        if self.held_out is None and (self.is_loose or math.isnan(primal)):
            self._certify_unscheduled()
        return self._restore_best(Status.STOPPED_BY_CALLBACK)

    def _restore_best(self, status):
        """Restore the weights with the best score if the fit has ended; return the final status.

        The newest row of the history then has the certificate of these weights.
        """
        if status is None or self.held_out is None or self.held_out.w is None:
            return status
        self._certify_best()
        self._record()
        if status is Status.STOPPED_BY_CALLBACK:
            return status
        if self.certifies and self._converged():
            return Status.CONVERGED
        return Status.EARLY_STOPPED if status is Status.CONVERGED else status

    def _stops_early(self, w):
        """Score the weights on the held-out samples; return whether this ends the fit."""
        export = self.export if self.supports_partial_fit else None
        if not self.held_out.update(w, self.n_passes, export):
            return False
        self._record(certified=False)
        return True

    def _certify_best(self):
        begin = seconds()
        self._evaluate_at(self.held_out.w)
        self.certificate_seconds += seconds() - begin

    def _evaluate_at(self, w):
        """Replace the current weights, and compute the primal at the new ones."""
        self.w, self.primal, self.exact = w, math.inf, True
        self.primal, self.exact = self._primal_at(w)

    @property
    def effective_passes(self):
        """Number of passes, counted as n oracle calls each."""
        return self.n_passes

    def _end_early(self):
        """Certify after an interruption, unless another one follows or it takes too long."""
        # A pass in progress counts as one, whether or not it has been counted yet.
        unrecorded = self.n_oracle_calls > self.history.last("oracle_calls")
        self.n_passes = self.history.last("passes") + unrecorded
        try:
            with GracePeriod():
                if self.held_out is not None and self.held_out.w is not None:
                    self._certify_best()
                else:
                    self._certify()
        except KeyboardInterrupt:
            pass
        except Exception as error:
            if error is not self.problem.failure:
                raise
        self._record()

    def _conclude(self, in_time=True):
        """Certify if due, and record the pass; return the status if the fit has ended, or None."""
        in_time = in_time and seconds() < self.deadline
        last = not in_time or self.n_passes >= self.options.max_iter
        certified = last or self._certificate_due()
        if certified:
            certified = self._certify(last)
        self._record(certified)
        if certified and self._converged():
            return Status.CONVERGED
        if not in_time:
            return Status.TIME_LIMIT
        return Status.MAX_ITER if last else None

    def _certificate_due(self):
        """Whether a certificate is due after this pass, even if it is not the last one."""
        return self.n_passes % self.options.certificate_every == 0

    def _certify(self, last=True):
        if not self.certifies:
            return False
        begin = seconds()
        certified = self._evaluate(last)
        self.certificate_seconds += seconds() - begin
        return certified

    def _converged(self):
        return relative(self._gap(), self.primal) <= self.options.tol

    def _gap(self):
        return gap(self.primal, self.dual)

    def _estimate(self):
        """Return the relative gap, or an estimate of it."""
        return relative(self._gap(), self.primal)

    def _primal_at(self, w, state=None, gaps=True):
        """Return P(w), and whether the oracles were exact, by a full pass (of `state` if given)."""
        hinge, exact = full_pass(self.pool, w, self.block_weight, state, gaps=gaps)
        return self._objective(w, hinge), exact

    def _objective(self, w, hinge):
        """Return the objective at w, given the sum of its hinge losses."""
        return self._checked(0.5 * self.lam * squared_norm(self._from_prior(w)) + hinge)

    def _from_prior(self, w):
        """Return w minus the prior."""
        return from_prior(w, self.prior)

    def _start(self):
        """Return a new vector of weights that contains the prior."""
        w = aligned_zeros(self.problem.n_weights)
        if self.prior is not None:
            w[:] = self.prior
        return w

    def _checked(self, objective):
        """Return a value of the objective, or of a part of it, after checking that it is finite."""
        if not math.isfinite(objective):
            raise ValueError(
                f"the objective is {objective}: the weights exceed the range of float64. Rescale "
                f"the features, or increase lam, currently {self.lam:g}"
            )
        return objective

    def _record(self, certified=True):
        self.history.record(
            seconds=seconds() - self.begin,
            certificate_seconds=self.certificate_seconds,
            passes=self.n_passes,
            oracle_calls=self.n_oracle_calls,
            approximate_passes=self.n_approximate,
            primal=self.primal if certified else math.nan,
            gap=self._gap() if certified else math.nan,
            dual=self.dual,
            working_set_size=self.working_set_size,
            **self.problem.counts(),
            **self._measures(),
            **self._scores(),
        )

    def _scores(self):
        """Return the score on held-out samples, for the row of the history."""
        return {} if self.held_out is None else {COLUMN: self.held_out.score_of(self.n_passes)}

    def _measures(self):
        """Return columns of the history that the solver adds: their values by name."""
        return {}
