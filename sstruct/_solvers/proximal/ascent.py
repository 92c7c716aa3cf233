"""FWMAP [SK19], Frank-Wolfe passes over the trees of a model in a proximal loop.

Let h(lambda) be the sum of the minima of the trees. A proximal step maximizes
h(lambda) - |lambda - mu|^2 / (2 c) over multipliers whose copies sum to zero. The solver minimizes
lam / 2 |w|^2 + sum_t H_t(w). Its losses are computed for another center, because the planes of the
true labelings y0 must be zero:

    lam = 1 / c,    center = mu + c P sum_t E_t y0,    lambda = center + w = mu + c P y,

where y are the mean planes. Moving mu does not change y, only the losses (MapProblem).
"""

from dataclasses import dataclass

import numpy as np

from sstruct._checks.parameters import seed_of
from sstruct._problems.map.map_arguments import disagreement, project
from sstruct._solvers.core._rescale import reload_losses
from sstruct._solvers.core.solver import Options, Setup
from sstruct._solvers.core.status import Status
from sstruct._solvers.frank_wolfe.block_coordinate import FrankWolfeFit

# Steps of the solver. Corrective steps require exact distances.
# "published": for comparison with [SK19].
STEPS = {"exact": "corrective", "published": "fw"}
# Numbers of iterations between evaluations of h, and between moves of the center ([SK19]).
EVALUATE_EVERY = 5
MOVE_EVERY = 10
# Sums of disagreements (B of eq. 10) up to this value count as agreement.
AGREEMENT = 1e-3
# Number of iterations without any progress after which the loop stops.
PATIENCE = 1000
# The proximal weight doubles if the predicted improvement by the planes, A of eq. 10, is below this
# share of the proximal term |lambda - mu|^2 / (2 c): steps are solved accurately and could be
# longer. It is halved if A exceeds TOO_LONG times the term: far from the center, the planes
# approximate h badly.
TOO_SHORT = 0.5
TOO_LONG = 30.0
# After this number of moves without an improvement, the weight is also halved at each move until
# the bound improves: if TRW-S has almost reached the best multipliers, the initial weight is too
# large. On qap 000, the bound did not improve otherwise.
MAX_IDLE = 5


def formula_18(n_trees):
    """Return the proximal weight of [SK19], which was fitted to three instances, in their units."""
    return 1.5e6 / (n_trees + 22) ** 2


@dataclass(frozen=True)
class Ascent:
    """Options of the proximal loop; the defaults are for trees of models.

    Attributes
    ----------
    max_iter : int
        Number of iterations, each an exact pass with approximate passes.
    random_state, weight, step, schedule
        Same as in `map_mrf`, where `weight` is called proximal_weight.
    first_weight : float, optional
        Initial weight if weights are adapted; by default, it is derived from the gap.
    move_every : int
        Number of iterations between moves of the center, a multiple of EVALUATE_EVERY.
    too_short : float
        See TOO_SHORT.
    multi_plane : bool
        Whether approximate passes follow exact ones.
    """

    max_iter: int
    random_state: object
    weight: float | str | None = None
    step: str = "exact"
    schedule: str = "work"
    first_weight: float | None = None
    move_every: int = MOVE_EVERY
    too_short: float = TOO_SHORT
    multi_plane: bool = True


class Proximal(FrankWolfeFit):
    """Frank-Wolfe over the trees of a model, with a movable center.

    Parameters
    ----------
    problem : MapProblem
    options : Options
        Options that contain the solver's step, schedule and seed.

    Attributes
    ----------
    mu : ndarray of shape (n_weights,)
        The center of the proximal term, initially 0.
    weight : float
        c, initially 1.
    """

    max_lag = 0  # trees share all nodes

    def __init__(self, problem, options):
        n = problem.n_blocks
        super().__init__(Setup(problem, 1.0, np.ones(n), options))
        self.mu, self.weight = np.zeros(problem.n_weights), 1.0
        y0, _ = self.mean_planes()
        self.y0 = project(problem.copy_start, y0)
        self.move(self.mu, self.weight)

    def move(self, mu, weight):
        """Move the center to mu and change the weight; planes and their dual weights are kept."""
        self.mu[:] = mu
        self.weight = weight
        self.problem.recenter(self.mu + weight * self.y0)
        reload_losses(self.state, 1 / weight)

    def iterate(self, deadline):
        """Make an exact pass and approximate ones; return False if the deadline has passed."""
        self.deadline = deadline
        in_time = self._passes()
        self.n_passes += 1
        return in_time

    @property
    def multipliers(self):
        """lambda of the current w; copies sum to zero up to rounding."""
        at = self.mu + self.weight * self.y0 + self.state.live_w
        return project(self.problem.copy_start, at)

    def mean_planes(self):
        """Return y, the marginals of labels with a copy for each tree, and their constant term."""
        return self.problem.mean_planes(self.state.export())

    def gap_quantities(self, multipliers, bound):
        """Return A and B of eq. 10, which are both 0 only at the optimum."""
        y, free = self.mean_planes()
        at = float(y @ multipliers)
        return free + at - bound, disagreement(self.problem.copy_start, y)


def ascend(problem, record, offer_labels, ascent, first=None):
    """Maximize the bound of a problem's blocks; return the status.

    Parameters
    ----------
    problem : MapProblem
    record : Record
    offer_labels : callable
        Called with multipliers and the solver; offers labelings to the record.
    ascent : Ascent
    first : ndarray of shape (n_weights,), optional
        Initial multipliers, by default 0.
    """
    options = Options(
        ascent.multi_plane,
        STEPS[ascent.step],
        schedule=ascent.schedule,
        seed=seed_of(ascent.random_state),
    )
    if first is not None:
        problem.begin(first)
    engine = Proximal(problem, options)
    begin = len(record.rows)
    best = engine.mu.copy() if first is None else first
    best_bound = problem.bound(best)
    record.bound(best_bound)
    offer_labels(best, engine)
    engine.move(best, _first_weight(ascent, record, engine, best_bound))
    first_bound = best_bound
    for iteration in range(1, ascent.max_iter + 1):
        in_time, quantities = engine.iterate(record.deadline), (np.nan, np.nan)
        if iteration % EVALUATE_EVERY == 0 or not in_time:
            at = engine.multipliers
            bound = problem.bound(at)
            record.bound(bound)
            offer_labels(at, engine)
            if bound > best_bound:
                best, best_bound = at, bound
            promised, disagreed = quantities = engine.gap_quantities(at, bound)
            is_solved = promised <= record.tol * (1 + abs(bound)) and disagreed <= AGREEMENT
            if is_solved or record.is_closed():
                record.row(quantities)
                return Status.CONVERGED
            if record.is_infeasible():
                return Status.INFEASIBLE
        record.row(quantities)
        if not in_time or record.is_late():
            return Status.TIME_LIMIT
        if record.has_stalled(PATIENCE, begin):
            return Status.STALLED
        if iteration % ascent.move_every == 0:
            weight = engine.weight
            if ascent.weight is None:
                weight = _next_weight(engine, promised, ascent.too_short)
                if best_bound == first_bound and iteration >= MAX_IDLE * ascent.move_every:
                    weight = min(weight, engine.weight / 2)
            engine.move(best, weight)
    return Status.MAX_ITER


def _first_weight(ascent, record, engine, bound):
    """Return the given weight, or one whose first step closes the gap if h is linear (Polyak)."""
    if ascent.weight == "paper":
        return formula_18(engine.problem.n_blocks)
    given = ascent.first_weight if ascent.weight is None else ascent.weight
    if given:
        return float(given)
    gap = record.energy - bound
    length = float(engine.y0 @ engine.y0)
    if not (0 < gap < np.inf and length > 0):
        return formula_18(engine.problem.n_blocks)
    return gap / length


def _next_weight(engine, promised, too_short):
    """Return the next weight, from A and |lambda - mu|^2 / (2 c) before the move of the center."""
    weight, moved = engine.weight, engine.multipliers - engine.mu
    proximal = float(moved @ moved) / (2 * weight)
    if promised < too_short * proximal:
        return 2 * weight
    return weight / 2 if promised > TOO_LONG * proximal else weight
