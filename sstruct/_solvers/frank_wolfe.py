"""Block-coordinate Frank-Wolfe and its multi-plane variant: which pass next, when to stop.

The passes themselves are compiled (``_pass``); nothing here is done for each block.
"""

import math
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np

from sstruct._solvers._pass import approximate_pass, certificate_pass, exact_pass, seconds
from sstruct._solvers._state import DualState
from sstruct._solvers._steps import StepKind
from sstruct._solvers.history import History
from sstruct._solvers.status import Status

STEPS = {"fw": StepKind.FW, "pairwise": StepKind.PAIRWISE, "corrective": StepKind.CORRECTIVE}

# Passes that an unused labeling survives: T of paper 000. Plain BCFW keeps active ones only.
KEEP = 10
MAX_APPROXIMATE_PASSES = 1000
# An exact pass also costs what its new labelings add to all later passes: its work counts so many
# times when approximate passes are weighed against it. One run each on OCR letters and CoNLL-2000:
# times to a gap of 0.01 spread by about a quarter between 1 and 4, without a clear best, and
# oracle calls fall as it grows.
EXACT_WEIGHT = 1.5
# Of the approximate passes between two exact ones, every fourth visits all blocks.
FULL_EVERY = 4


@dataclass
class Options:
    """What a fit was asked for; estimators fill it in from their parameters."""

    multi_plane: bool = True
    step: str = "pairwise"
    permute: bool = True
    tol: float = 1e-2
    certificate_every: int = 10
    max_iter: int = 1000
    max_time: float | None = None


@dataclass
class Solution:
    """A weight vector in the problem's layout, with its certificate."""

    w: np.ndarray
    primal: float
    dual: float
    status: Status
    exact: bool
    n_passes: int
    n_oracle_calls: int
    history: dict
    interruption: BaseException | None = None

    @property
    def gap(self):
        """Primal minus dual; rounding may not make it negative."""
        return max(self.primal - self.dual, 0.0)


def relative(gap, primal):
    """Gap over primal; 0 where both are, inf before the first certificate."""
    if primal == math.inf:
        return math.inf
    return gap / primal if primal > 0 else 0.0


class FrankWolfe:
    """One fit: passes over a state until the certificate is good enough.

    Parameters
    ----------
    problem : BlockProblem
    state : DualState
        Fresh, or restored from an earlier fit.
    block_weight : ndarray of shape (n_blocks,)
    options : Options
    progress : context manager yielding an object with ``update(passes, gap)``, optional
    callback : function, optional
        ``callback(info, solution) -> bool`` after each pass; True stops the fit. info: dict, the
        pass's row of the history, relative_gap_estimate, and status, None where the fit goes on;
        solution: function that makes the Solution as of now, uncertified where the pass is.
    """

    def __init__(
        self, problem, state: DualState, block_weight, options, progress=None, callback=None
    ):
        self.problem, self.state, self.block_weight = problem, state, block_weight
        self.options = options
        self.progress, self.callback = progress, callback
        self.history = History()
        self.begin = seconds()
        self.certificate_seconds = 0.0
        self.n_passes = self.n_approximate = 0
        self.primal, self.exact = math.inf, True
        self.visits_all = options.permute

    def solve(self):
        """Run to the end and return a Solution; KeyboardInterrupt becomes one too."""
        status, interruption = None, None
        with self.progress if self.progress is not None else nullcontext() as bar:
            try:
                while status is None:
                    status = self._iterate()
                    if bar is not None:
                        bar.update(self.n_passes, self._estimate())
                    if self.callback is not None:
                        status = self._call_back(status)
            except KeyboardInterrupt as error:
                status, interruption = Status.INTERRUPTED, error
                self._end_early()
        return self._solution(status, interruption)

    def _solution(self, status, interruption=None):
        return Solution(
            w=self.state.live_w,
            primal=self.primal,
            dual=self.state.dual,
            status=status,
            exact=self.exact,
            n_passes=max(self.n_passes, 1),
            n_oracle_calls=self.state.n_oracle_calls,
            history=self.history.as_arrays(),
            interruption=interruption,
        )

    def _call_back(self, status):
        """Tell the callback of a pass; return the status, certified where it ends the fit."""
        info = {
            **self.history.newest(),
            "relative_gap_estimate": self._estimate(),
            "status": status,
        }

        def solution():
            now = self._solution(Status.STOPPED_BY_CALLBACK if status is None else status)
            return replace(now, primal=info["primal"])

        if not self.callback(info, solution) or status is not None:
            return status
        if math.isnan(info["primal"]):
            self._certify()
            self._record()
        return Status.STOPPED_BY_CALLBACK

    def _end_early(self):
        """Certify what an interruption has left; a second one gives up the certificate."""
        self.n_passes += self.state.n_oracle_calls > self.history.last("oracle_calls")
        try:
            self._certify()
        except KeyboardInterrupt:
            self.primal = math.inf
        self._record()

    def _iterate(self):
        """An exact pass with its approximate ones; return the status once there is one."""
        options, state = self.options, self.state
        deadline = math.inf if options.max_time is None else self.begin + options.max_time
        n_steps = state.n_steps
        in_time = self._passes(deadline)
        self.n_passes += 1
        # Where blocks are drawn with replacement, one of those left out may still have a gap.
        quiet = in_time and state.n_steps == n_steps
        stalled = quiet and self.visits_all
        self.visits_all = self.options.permute or quiet
        last = not in_time or stalled or self.n_passes >= options.max_iter
        if (
            last
            or self.n_passes % options.certificate_every == 0
            or self._estimate() <= options.tol
        ):
            self._certify()
            self._record()
            if relative(self._gap(), self.primal) <= options.tol:
                return Status.CONVERGED
        else:
            self._record(certified=False)
        if not in_time:
            return Status.TIME_LIMIT
        if stalled:
            return Status.STALLED
        return Status.MAX_ITER if last else None

    def _passes(self, deadline):
        """Return False when the deadline came first."""
        options, state = self.options, self.state
        work, dual, number = state.work, state.dual, self.n_passes + 1
        keep = KEEP if options.multi_plane else 0
        step = STEPS[options.step]
        if not exact_pass(state, step, self.visits_all, number, keep, deadline):
            return False
        if not options.multi_plane:
            return seconds() < deadline
        # Approximate passes go on while one gains more per unit of work than the iteration has.
        work -= (EXACT_WEIGHT - 1) * (state.work - work)
        for k in range(MAX_APPROXIMATE_PASSES):
            work_before, dual_before = state.work, state.dual
            if not approximate_pass(state, step, k % FULL_EVERY == 0, number, keep, deadline):
                return False
            self.n_approximate += 1
            gain, spent = state.dual - dual_before, state.work - work_before
            if gain * (state.work - work) <= (state.dual - dual) * spent:
                break
        return seconds() < deadline

    def _gap(self):
        return max(self.primal - self.state.dual, 0.0)

    def _estimate(self):
        """Relative gap from the block gaps met on the way, each at another w: no certificate."""
        estimate = self.state.estimated_gap
        return relative(estimate, self.state.dual + estimate)

    def _certify(self):
        """Rebuild w from the working sets, against drift, and compute the primal there."""
        begin = seconds()
        self.state.rebuild()
        hinge, self.exact = certificate_pass(self.problem, self.state.live_w, self.block_weight)
        self.primal = 0.5 * self.state.lam * self.state.squared_norm() + hinge
        if not math.isfinite(self.primal):
            raise ValueError(
                f"the objective is {self.primal}: the weights leave the range of float64. Scale "
                f"the features, or take a larger lam than {self.state.lam:g}"
            )
        self.certificate_seconds += seconds() - begin

    def _record(self, certified=True):
        state = self.state
        self.history.record(
            seconds=seconds() - self.begin,
            certificate_seconds=self.certificate_seconds,
            passes=self.n_passes,
            oracle_calls=state.n_oracle_calls,
            approximate_passes=self.n_approximate,
            primal=self.primal if certified else math.nan,
            gap=self._gap() if certified else math.nan,
            dual=state.dual,
            working_set_size=state.n_labelings / self.problem.n_blocks,
        )
