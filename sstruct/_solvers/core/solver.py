"""What all solvers share: clock, record of a fit, certificate, interruptions, progress."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from sstruct._kernels._clock import seconds
from sstruct._kernels._interruption import LastMoment
from sstruct._kernels.delayed_interrupt import DelayedInterrupt
from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._problems.core.kept_arrays import MOST_COUNTED
from sstruct._solvers.core._full_pass import full_pass
from sstruct._solvers.core._state import squared_norm
from sstruct._solvers.core.best_weights import COLUMN, BestWeights
from sstruct._solvers.core.checkpoint import MOST_SECONDS, note
from sstruct._solvers.core.history import History
from sstruct._solvers.core.rounding import HALF, Rounding
from sstruct._solvers.core.status import Limit, Status

# Where bounds of inexact oracles keep a certificate above the tolerance, a fit ends once what they
# find has gaps of this share of it.
EXHAUSTED = 0.1
# Ends that rounding explains; others are somebody's wish.
OWN_ENDS = (Status.CONVERGED, Status.MAX_ITER, Status.STALLED)


@dataclass
class Options:
    """What a fit was asked for; estimators fill it in from their parameters.

    average: after every visit, as in paper 000; pass_average: after every pass. rho and parts are
    of GDMM: the penalty on disagreement ("auto": by residual balancing), and of how many parts of
    the labels one is searched at a visit; aggressiveness is of passive-aggressive steps; part_bytes
    is of features of a part of the data, where passes go over one part after another; constants are
    the Constants of the Frank-Wolfe solvers, None: their defaults.
    """

    multi_plane: bool = True
    step: str = "pairwise"
    sampling: str = "permutation"
    cache: bool = False
    schedule: str = "work"
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
    part_bytes: float = math.inf
    aggressiveness: float = 1.0
    constants: object = None

    @property
    def needs_gaps(self):
        """Whether passes go by true block gaps, so that they must be refreshed."""
        return self.sampling == "gap" or self.cache


@dataclass
class Setup:
    """What every solver is given.

    Attributes
    ----------
    problem : BlockProblem
    lam : float
    block_weight : ndarray of shape (n_blocks,)
        q_i, the weight of each block's hinge loss.
    options : Options
    bounds : ndarray of shape (2, n_weights) or None
        Least and greatest value of each weight, in the problem's layout.
    progress : context manager or None
        Yields an object with ``update(passes, gap)`` and, for fits that converge, ``finish``.
    callback : function or None
        ``callback(info, solution) -> bool`` after each pass; True stops the fit. info: dict, the
        pass's row of the history, relative_gap_estimate, and status, None where the fit goes on;
        solution: function that makes the Solution as of now, uncertified where the pass is.
    checkpoint : Checkpoint or None
        Where the state is saved after passes, and taken up from if the file is there. This and
        `warm` are for solvers with dual weights.
    warm : dict or None
        What ``export`` of an earlier fit gave.
    delay : DelayedInterrupt
        Begun once the iterations are over, by themselves or by an exception: so that no signal
        comes between the Solution and whoever takes it, if they have entered the block.
    step_weight : ndarray of shape (n_blocks,) or None
        What a step on each block is multiplied by, for solvers that make them one by one. None:
        `block_weight`, with mean 1.
    online : bool
        Whether these are not all the samples: there is then no objective to be certified.
    held_out : BestWeights or None
        What chooses among the weights after passes, for solvers that take `early_stopping`.
    """

    problem: object
    lam: float
    block_weight: np.ndarray
    options: Options
    bounds: np.ndarray | None = None
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
        """The `step_weight`, also where it is None."""
        if self.step_weight is None:
            return self.block_weight * len(self.block_weight)
        return self.step_weight


@dataclass
class Solution:
    """A weight vector in the problem's layout, with its certificate.

    ``dual`` is NaN where the solver has none; so is then the gap. ``remarks`` are to be warnings.
    ``limit`` is the one that ended the fit, if one did. ``rounding`` bounds what rounding may have
    done to the gap where that is no certificate: otherwise 0.
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
    remarks: tuple = ()
    limit: Limit | None = None
    rounding: float = 0.0

    @property
    def gap(self):
        """Primal minus dual; rounding may not make it negative."""
        return gap(self.primal, self.dual)


def gap(primal, dual):
    """Primal minus dual, at least 0; NaN where there is no dual."""
    difference = primal - dual
    return difference if math.isnan(difference) else max(difference, 0.0)


def relative(gap, primal):
    """Gap over primal; 0 where both are, inf before the first certificate."""
    if primal == math.inf:
        return math.inf
    return gap / primal if primal > 0 else 0.0


def objective_at(problem, lam, block_weight, w, n_jobs):
    """Return the objective at some weights, by one oracle call a block."""
    hinge, _ = full_pass(ThreadPool(problem, n_jobs), w, block_weight)
    return 0.5 * lam * squared_norm(w) + hinge


class Solver:
    """One fit: iterations until one of them returns a status.

    A subclass has ``_iterate()``, which makes a pass and returns a Status once the fit is over,
    ``_evaluate(last)``, which sets ``primal`` and ``exact`` at ``w`` and returns whether it did so
    (it need not where more passes come), and keeps ``w``, ``dual`` and ``n_oracle_calls`` up to
    date. ``primal`` belongs to ``w``, or is inf. One that takes checkpoints has ``_save()`` and
    ``_resume(arrays, notes)``, with `_record_kept` and `_take_up_record` for what all have.

    Parameters
    ----------
    setup : Setup

    Attributes
    ----------
    takes : dict
        Of an estimator's parameters those that the solver does not take as they come: the values
        that it takes, by name, the default first. Those here are of solvers without dual weights.
    has_dual_weights : bool
        Whether another fit can go on from where it ended.
    has_objective : bool
        Whether it minimizes the objective, which depends on lam.
    takes_samples_as_they_come : bool
        Whether ``export`` gives a state that other samples can go on from.
    """

    takes: ClassVar[dict] = {
        "warm_start": (False,),
        "checkpoint": (None,),
        "early_stopping": (False,),
        "window_size": ("auto", None),
    }
    has_dual_weights = takes_samples_as_they_come = False
    has_objective = True
    n_oracle_calls = n_approximate = 0
    working_set_size = 0.0
    measures = ()

    def __init__(self, setup):
        self.problem, self.lam, self.block_weight = setup.problem, setup.lam, setup.block_weight
        self.options, self.bounds = setup.options, setup.bounds
        self.progress, self.callback, self.delay = setup.progress, setup.callback, setup.delay
        self.checkpoint = setup.checkpoint
        problem, options = setup.problem, setup.options
        self.online = setup.online
        self.certifies = self.has_objective and not self.online
        if self.has_objective:
            self.rounding = Rounding(problem, setup.block_weight)
            self.rounding.check_range(setup.lam)
        self.held_out = setup.held_out
        scores = () if self.held_out is None else (COLUMN,)
        self.history = History(problem.counts(), (*self.measures, *scores))
        self.begin = seconds()
        self.deadline = math.inf if options.max_time is None else self.begin + options.max_time
        self.certificate_seconds = 0.0
        self.n_passes = 0
        # After how many passes the checkpoint was written, where it is not to be written again.
        self.n_kept = None
        # The objective before a certificate.
        self.unknown = math.inf if self.certifies else math.nan
        self.primal, self.exact = self.unknown, True
        self.pool = self._pool(options.n_jobs)

    def _pool(self, n_jobs):
        """Return the threads that oracles run in; None where they run elsewhere."""
        return ThreadPool(self.problem, n_jobs)

    @classmethod
    def refused(cls, parameters):
        """Yield an estimator's parameters, as (name, values taken), that the solver refuses."""
        for name, values in cls.takes.items():
            if name not in parameters:
                continue
            value = parameters[name]
            if not any(value is fine or (np.isscalar(value) and value == fine) for fine in values):
                yield name, values

    @classmethod
    def check_installed(cls):
        """Raise ImportError where a package that the solver needs is missing."""

    def solve(self):
        """Run to the end and return a Solution, which includes an exception that interrupted it.

        If there is a checkpoint, resume from it.

        Raises
        ------
        ValueError
            If the checkpoint is of another fit, or damaged.
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
        status, interruption, solution = None, None, None
        bar = self.progress if self.progress is not None else nullcontext()
        # What leaves the range of float64 is an error of this package (`_checked`), and one only.
        with np.errstate(over="ignore", invalid="ignore"), bar as bar:
            try:
                while status is None:
                    status = self._settle(self._iterate())
                    if bar is not None:
                        bar.update(self.n_passes, self._estimate())
                    if self.callback is not None:
                        status = self._call_back(status)
                if bar is not None and status is Status.CONVERGED:
                    bar.finish(self.n_passes, relative(self._gap(), self.primal))
                solution = self._sound(self._solution(status))
                self._keep(solution)
                self.delay.begin()
            except KeyboardInterrupt as error:
                self.delay.begin()
                interruption = error
            except Exception as error:
                # Those of a user's oracle leave the state between two steps, as signals do, and so
                # do warnings about the checkpoint that a filter has turned into errors.
                warned = None if self.checkpoint is None else self.checkpoint.failure
                if error is not self.problem.failure and error is not warned:
                    raise
                self.delay.begin()
                interruption = error
            if solution is None:
                self._end_early()
                solution = self._sound(self._solution(Status.INTERRUPTED))
        try:
            return replace(solution, interruption=interruption)
        finally:
            del interruption  # whose traceback holds this frame

    def _keep(self, solution):
        """Save what a later fit may go on from, which may take a while."""
        if self.checkpoint is None:
            return
        if solution.status in (Status.CONVERGED, Status.EARLY_STOPPED):
            self.checkpoint.remove()
        elif self.n_kept != self.n_passes:
            self._save()

    def _certify_apart(self):
        """Certify where a longer fit would not, without a trace of it in the file to go on from."""
        self._save_apart()
        self._certify()
        self._record()

    def _save_apart(self):
        """Write the checkpoint now, and not once the fit has ended."""
        if self.checkpoint is not None:
            self._save()
            self.n_kept = self.n_passes

    def _record_kept(self):
        """Return what a checkpoint keeps of the passes so far: arrays, and notes."""
        columns = {f"history_{name}": column for name, column in self.history.as_arrays().items()}
        return columns, {
            "seconds": seconds() - self.begin,
            "certificate_seconds": self.certificate_seconds,
            "n_passes": self.n_passes,
            "n_approximate": self.n_approximate,
        }

    def _take_up_record(self, arrays, notes):
        """Undo `_record_kept`; ValueError where a file cannot be that."""
        self.n_passes = note(notes, "n_passes", int, MOST_COUNTED)
        self.history.restore(arrays, self.n_passes)
        self.begin -= note(notes, "seconds", float, MOST_SECONDS)
        self.certificate_seconds = note(notes, "certificate_seconds", float, MOST_SECONDS)
        self.n_approximate = note(notes, "n_approximate", int, MOST_COUNTED)

    def _sound(self, solution):
        """Return a Solution whose lower bound is one, ROUNDING where its certificate is none."""
        if not self.certifies or solution.primal == math.inf:
            return solution
        rounding = self._rounding(solution.w, solution.primal, solution.dual)
        if self._is_sound(solution, rounding, self.options.tol * solution.primal):
            return solution
        dual, status = solution.dual, solution.status
        if not math.isnan(dual):
            # No objective is negative.
            dual = max(dual - rounding, 0.0) if math.isfinite(rounding) else 0.0
        if status in OWN_ENDS:
            status = Status.ROUNDING
        return replace(
            solution, dual=dual, status=status, limit=self._limit(status), rounding=rounding
        )

    def _rounding(self, w, primal, dual):
        """Return a bound of what rounding may have done to primal minus dual."""
        return self.rounding.bound(self.lam, primal, dual, w)

    def _is_sound(self, point, rounding, tolerance):
        """Whether a point's certificate says what it seems to, with so much rounding."""
        if not rounding <= max(tolerance, HALF * point.primal):
            return False
        # The primal of an approximate oracle may be below the dual.
        is_bound = point.exact or self.problem.bounded
        return not (is_bound and point.dual - point.primal > rounding)

    def _solution(self, status):
        return Solution(
            w=self.w,
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
        """Return the limit that a status stands for, or None."""
        if status is Status.TIME_LIMIT:
            return Limit.TIME
        return Limit.PASSES if status is Status.MAX_ITER else None

    def _call_back(self, status):
        """Tell the callback of a pass; return the status, certified where it ends the fit."""
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
        if self.held_out is None and math.isnan(primal):
            self._certify_apart()
        return self._settle(Status.STOPPED_BY_CALLBACK)

    def _settle(self, status):
        """Go back to the weights of the best score, once the fit is over; return how it ended.

        The newest row of the history then holds their certificate.
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

    def _no_better(self, w):
        """Have held-out samples score weights after a pass; return whether they end the fit."""
        export = self.export if self.takes_samples_as_they_come else None
        if not self.held_out.look(w, self.n_passes, export):
            return False
        self._record(certified=False)
        return True

    def _certify_best(self):
        begin = seconds()
        self._evaluate_at(self.held_out.w)
        self.certificate_seconds += seconds() - begin

    def _evaluate_at(self, w):
        """Take weights in the place of those at hand, and compute the primal there."""
        self.w, self.primal, self.exact = w, math.inf, True
        self.primal, self.exact = self._primal_at(w)

    @property
    def effective_passes(self):
        """Passes of n oracle calls each."""
        return self.n_passes

    def _end_early(self):
        """Certify what an interruption has left; another one, or too long a pass, gives that up."""
        # A pass under way is one, whether or not it was counted yet.
        unrecorded = self.n_oracle_calls > self.history.last("oracle_calls")
        self.n_passes = self.history.last("passes") + unrecorded
        try:
            with LastMoment():
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
        """Certify where that is due, and record the pass; return the status once there is one."""
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
        """Whether to certify after this pass, even if it is not the last one."""
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
        """Relative gap as far as it is known."""
        return relative(self._gap(), self.primal)

    def _primal_at(self, w, state=None):
        """P(w) and whether the oracles were exact, by a full pass (of `state`, if given)."""
        hinge, exact = full_pass(self.pool, w, self.block_weight, state)
        return self._objective(w, hinge), exact

    def _objective(self, w, hinge):
        """Return the objective at w, whose hinge losses sum to `hinge`."""
        return self._checked(0.5 * self.lam * squared_norm(w) + hinge)

    def _checked(self, objective):
        """Return a value of the objective, or of a part of it, that must be finite."""
        if not math.isfinite(objective):
            raise ValueError(
                f"the objective is {objective}: the weights leave the range of float64. Scale "
                f"the features, or take a larger lam than {self.lam:g}"
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
        """What held-out samples say of the pass, for its row of the history."""
        return {} if self.held_out is None else {COLUMN: self.held_out.score_of(self.n_passes)}

    def _measures(self):
        """What the solver adds to a row of the history, by the names in `measures`."""
        return {}
