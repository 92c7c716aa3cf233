"""Fits with an observed primal objective, without the cost of the observation.

The solver runs as without an observer: certificates are computed only to refresh the block gaps of
gap sampling and caching, every 10 passes as in the paper. After each pass, the primal is computed
at the iterate and, if the method averages, at the average; this time is not counted. Curves
therefore have a value for each pass, and no method uses block gaps that are newer than in its
protocol. Refreshing passes are counted with n oracle calls each and with their time.

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
    """The course of a fit, with a value for each pass.

    calls : oracle calls, including refreshing passes
    seconds, wall : CPU and wall-clock time
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
        """The largest lower bound."""
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

    solver : name of a solver, by default that of the estimator; others: its options
    """
    structure = clone(data.estimator)._structure()
    if solver is None:
        chosen = MPBCFW() if structure.solver == "auto" else clone(structure.chosen_solver)
    else:
        chosen = SOLVER_OF_NAME[solver]()
    options = chosen_options(structure, chosen.set_params(**options), data.problem)
    return replace(options, seed=seed, tol=0.0, max_iter=NEVER, certificate_every=NEVER, n_jobs=1)


def watch(data, options, limit, least_gap, *, baseline=None, plain=None, lower=None, clock="cpu"):
    """Fit once.

    Parameters
    ----------
    data : Packed
    options : Options
    limit : float
        Time limit in seconds; the current pass is completed.
    least_gap : float
        Relative gap at which the fit ends.
    baseline : str, optional
        "fw", "ssg" or "cutting-plane"; default: the Frank-Wolfe solvers as `options` say.
    plain : BlockProblem, optional
        Problem for which primals are computed; default: `data.problem`.
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
        if baseline in ("fw", "cutting-plane"):  # their passes are certificates
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

    # Within a pass, the solver checks the deadline, for very long passes.
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
