"""Block-coordinate Frank-Wolfe and its multi-plane variant: which pass next, when to stop.

The passes themselves are compiled (``_pass``); nothing here is done for each block.
"""

import math
from dataclasses import dataclass

from sstruct._solvers._pass import approximate_pass, certificate_pass, exact_pass, seconds
from sstruct._solvers._state import DualState
from sstruct._solvers._steps import StepKind
from sstruct._solvers.solver import Solver, relative
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
    seed: int = 0


class FrankWolfe(Solver):
    """One fit: passes over a state until the certificate is good enough.

    Parameters
    ----------
    problem : BlockProblem
    state : DualState
        Fresh, or restored from an earlier fit.
    block_weight : ndarray of shape (n_blocks,)
    options : Options
    progress : context manager yielding an object with ``update(passes, gap)``, optional
    """

    def __init__(self, problem, state: DualState, block_weight, options, progress=None):
        super().__init__(problem, state.lam, block_weight, options, progress)
        self.state = state
        self.visits_all = options.permute

    @property
    def w(self):
        return self.state.live_w

    @property
    def dual(self):
        return self.state.dual

    @property
    def n_oracle_calls(self):
        return self.state.n_oracle_calls

    @property
    def working_set_size(self):
        return self.state.n_labelings / self.problem.n_blocks

    def _iterate(self):
        """An exact pass with its approximate ones; return the status once there is one."""
        options, state = self.options, self.state
        n_steps = state.n_steps
        in_time = self._passes(self.deadline)
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

    def _estimate(self):
        """Relative gap from the block gaps met on the way, each at another w: no certificate."""
        estimate = self.state.estimated_gap
        return relative(estimate, self.state.dual + estimate)

    def _certify(self):
        """Rebuild w from the working sets, against drift, and compute the primal there."""
        begin = seconds()
        self.primal = math.inf
        self.state.rebuild()
        hinge, self.exact = certificate_pass(self.problem, self.state.live_w, self.block_weight)
        self.primal = self._checked(0.5 * self.lam * self.state.squared_norm() + hinge)
        self.certificate_seconds += seconds() - begin
