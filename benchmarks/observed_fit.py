"""Fits whose primal objective is computed after each pass, without counting the time for it.

The solver computes certificates only to refresh the block gaps of gap sampling and caching, every
10 passes as in [O16]. After each pass, the primal is computed at the iterate and, if the method
averages, at the average; this time is not counted. Curves therefore have a value for each pass, and
these additional evaluations do not refresh the block gaps. Refreshing passes are counted with n
oracle calls each and with their time.

Seconds are CPU time of one thread, which depends less on other processes than wall-clock time.
"""

import math
import time
import warnings
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone

from sstruct._estimators.core.fit import chosen_options
from sstruct._estimators.core.structure import SOLVERS
from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._solvers.core._full_pass import full_pass
from sstruct._solvers.core._state import DualState, squared_norm
from sstruct._solvers.core.solver import Setup
from sstruct._solvers.frank_wolfe.block_coordinate import FrankWolfeFit
from sstruct.solvers import MPBCFW, SOLVER_OF_NAME

NEVER = 10**9


@dataclass
class Curve:
    """Progress of a fit, with a value for each pass.

    calls : cumulative oracle calls, including refreshing passes
    seconds, wall : cumulative CPU and wall-clock time
    primal : the smallest value so far
    """

    calls: np.ndarray
    seconds: np.ndarray
    wall: np.ndarray
    primal: np.ndarray
    dual: np.ndarray
    status: str

    @property
    def lower(self):
        """Return the largest lower bound."""
        return np.nanmax(self.dual) if np.isfinite(self.dual).any() else -math.inf

    def gaps(self, lower=None):
        """Return the relative gap after each pass; `lower` replaces the bounds of the method."""
        bound = self.dual if lower is None else lower
        return (self.primal - bound) / self.primal

    def reach(self, gap, lower=None):
        """Return the index of the first pass with this relative gap, or None."""
        at = np.flatnonzero(self.gaps(lower) <= gap)
        return int(at[0]) if len(at) else None


def options_of(data, seed=0, solver=None, **options):
    """Return the options that ``fit`` would use, with "auto" resolved.

    solver : name or object of a solver, by default that of the estimator
    options : changed options of the solver
    """
    structure = clone(data.estimator)._structure()
    chosen = structure.solver if solver is None else solver
    chosen = SOLVER_OF_NAME.get(chosen, MPBCFW)() if isinstance(chosen, str) else clone(chosen)
    options = chosen_options(structure, chosen.set_params(**options), data.problem)
    return replace(options, seed=seed, tol=0.0, max_iter=NEVER, certificate_every=NEVER, n_jobs=1)


def watch(data, options, limit, least_gap, *, baseline=None, plain=None, lower=None, clock="cpu"):
    """Fit a problem and return the Curve of the fit.

    Parameters
    ----------
    data : Packed
    options : Options
    limit : float
        Time limit in seconds; the current pass is completed.
    least_gap : float
        Relative gap at which the fit ends.
    baseline : str, optional
        "fw", "ssg" or "cutting-plane"; by default, the Frank-Wolfe solver given by `options`.
    plain : BlockProblem, optional
        Problem for which primals are computed; by default, `data.problem`.
    lower : float, optional
        Lower bound for gaps, for methods without a dual.
    clock : {"cpu", "wall"}
        The clock of `limit`.

    Returns
    -------
    Curve
    """
    pool = ThreadPool(plain if plain is not None else data.problem, 1)
    rows, best, refreshes = [], math.inf, 0
    cpu = wall = 0.0

    def points():
        if baseline == "ssg":
            return [fit.state.last, fit.state.average]
        return fit.points

    def observe(info, _):
        nonlocal cpu, wall, best, refreshes
        cpu += time.thread_time() - marks[0]
        wall += time.perf_counter() - marks[1]
        calls = info["oracle_calls"]
        if baseline in ("fw", "cutting-plane"):  # their passes compute certificates
            best = min(best, info["primal"])
        else:
            for w in points():
                hinge, _ = full_pass(pool, w, data.block_weight)
                best = min(best, 0.5 * data.lam * squared_norm(w) + hinge)
            refreshes += options.needs_gaps and not math.isnan(info["primal"])
            calls += refreshes * data.n
        rows.append((calls, cpu, wall, best, info["dual"]))
        gap = (best - (info["dual"] if lower is None else lower)) / best
        done = gap <= least_gap or (cpu if clock == "cpu" else wall) > limit
        marks[:] = time.thread_time(), time.perf_counter()
        return done

    # The solver stops within a pass only at this later deadline, which limits very long passes.
    options = replace(options, max_time=10 * limit + 10)
    setup = Setup(data.problem, data.lam, data.block_weight, options, data.bounds, callback=observe)
    if baseline is None:
        state = DualState(
            data.problem,
            data.lam,
            data.block_weight,
            options.seed,
            bounds=data.bounds,
            draw=options.sampling == "gap",
            average=options.average,
        )
        fit = FrankWolfeFit(setup, state)
    else:
        fit = SOLVERS[baseline](setup)
    marks = [time.thread_time(), time.perf_counter()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = fit.solve()
    columns = [np.array(column, dtype=float) for column in zip(*rows)]
    return Curve(*columns, status=str(solution.status))
