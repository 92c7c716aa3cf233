"""Solver of a regularization path, from a large lambda to a small one.

Notation: q_i are the weights of the blocks, psi_i(y) = phi(x_i, y_i) - phi(x_i, y) and L_i(y)
define a plane (for slack rescaling, both are multiplied by L_i(y)), H_i(w) = max_y L_i(y) - <w,
psi_i(y)>, and

    P_lam(w) = lam/2 |w|^2 + h(w),    h(w) = sum_i q_i H_i(w),
    v = sum_i q_i / lam sum_y alpha_i(y) psi_i(y),    w = v, or clip(v) if weights are bounded,
    l = sum_i q_i sum_y alpha_i(y) L_i(y).

**Gap.** D = l - lam <w, v> + lam/2 |w|^2, so P - D = h(w) - l + lam <w, v>.

**Induction.** A weight vector with dual weights is valid down to a breakpoint (``segment.py``). The
breakpoint is smaller than that of [O16], section 4: there, w remains the vector of the dual
weights, which are multiplied by lam' / lam; here they are kept, or multiplied by the factor with
the largest dual value. From there, the solver continues to a gap of kappa eps. A smaller gap makes
the segment longer, but any pass improves the state, so the first point with a gap of at most
kappa eps becomes a breakpoint. Iterates oscillate around the optimum while D only rises; therefore
the w with the smallest known P is combined with the newest dual weights. Only at the first
breakpoint, w must be the vector of its dual weights.

**Certificates.** A pass that calls all oracles at the same w measures h(w). It then makes steps
towards the labelings found, so that a check costs nothing that progress does not need. This w is
the midpoint between the current and the best known one: it is usually closer to the optimum than
both, and the labelings found there are equally useful. If it is not better and no step was made,
the next pass uses the current w.

**Start.** Fix dual weights alpha and let lam vary: z = lam v = sum_i q_i sum_y alpha_i(y) psi_i(y)
does not depend on it. Without bounds, w = s z with s = 1/lam, and the gap

    G(s) = h(s z) - l + s |z|^2

is convex in s (because h is), with G(0) = h(0) - l. Hence for all 0 <= t <= 1

    G(t s) <= t G(s) + (1 - t) (h(0) - l):

one point (w, alpha) with a gap of at most eps at lam and with l >= h(0) - eps is valid for every
lambda above lam, with w proportional to 1/lambda. [O16] takes alpha with l = h(0), with all weight
on labelings y~_i that maximize L_i, at lam = 1 / (kappa eps) (|z|^2 + sum_i q_i max_y -<z,
psi_i(y)>), where the bracket bounds their gap (for slack rescaling with the factor L_i(y) inside
the max). Here the search starts at this point, with the gap itself instead of the bound: the chord
of G between 0 and a point above the target gap lies above G. From there, lambda is reduced by large
factors, with alpha kept and a few passes at each lambda, as long as alpha satisfies l >= h(0) -
eps. On OCR letters the first breakpoint becomes a thousand times smaller; in these three decades,
segments of constant w, each by a factor 0.9 below the previous one, would approximate multiples of
one vector. Only the convexity of h is used, so margin and slack rescaling are treated in the
same way.

Bounds must include 0. Let z' be z with 0 in place of entries whose sign a bound of 0 forbids, and
let s be so small that s z' satisfies all other bounds; then clip(s z) = s z' and <w, lam v> = s
|z'|^2. The above holds with z' in place of z. This limits the first lambda from below.

**Prior.** With the regularizer lam/2 |w - w_0|^2, all of this holds for w - w_0 in place of w, with
h(w_0 + .) in place of h and l - <w_0, z> in place of l. The path starts at w_0.
"""

import math
from dataclasses import dataclass

import numpy as np

from sstruct._kernels._clock import seconds
from sstruct._solvers.core._full_pass import full_pass
from sstruct._solvers.core._rescale import (
    direction,
    keep_dual_weights,
    rescale,
    start_at_largest_losses,
)
from sstruct._solvers.core._state import squared_norm
from sstruct._solvers.core.status import Status
from sstruct._solvers.frank_wolfe._exact_pass import exact_pass
from sstruct._solvers.frank_wolfe.block_coordinate import EACH_ONCE, EXACT_WEIGHT, FrankWolfeFit
from sstruct._solvers.path.segment import SHY, Segment

# The first breakpoint is searched with this factor between values of lambda, which shrinks to the
# second.
JUMP = 8.0
MIN_JUMP = 1.5
# A lambda that takes more certificates than this cannot be the first breakpoint.
MAX_TRIES = 25
# Above this multiple of the target gap, ordinary passes precede the next certificate.
FAR = 2.0


@dataclass(kw_only=True)
class Point(Segment):
    """A segment with its weights and the cost of computing them.

    With approximate oracles ``hinge`` and ``gap`` are estimates.
    """

    w: np.ndarray
    exact: bool
    seconds: float
    oracle_calls: int
    n_approximate: int
    working_set_size: float


class PathSolver(FrankWolfeFit):
    """Passes over one state while lambda falls.

    Parameters
    ----------
    setup, state
        As for ``FrankWolfeFit``; the state must be new. The option ``tol`` and the averages are not
        used, and ``max_iter`` applies to each lambda.
    relative : bool, default=False
        Whether gaps are relative to the objective: between breakpoints, to that at the next larger
        breakpoint; above the first one, to that of w = 0 or the prior.

    Attributes
    ----------
    status : Status
        CONVERGED, or the reason why the path or grid ended early.
    end : float
        Lambda down to which the points are valid; 0 for all. Only for paths.
    hinge_at_zero : float
        sum_i q_i H_i at w = 0 or at the prior. Only for paths.
    """

    def __init__(self, setup, state=None, relative=False):
        super().__init__(setup, state)
        self.relative = relative
        self.status, self.end, self.hinge_at_zero = Status.CONVERGED, math.inf, math.nan
        # Dual gain and cost of the last exact pass.
        self.gained = self.spent = 0.0
        self.n_certificates = 0
        # w with the smallest primal, its hinge sum, |w|^2, and whether the sum is exact.
        self.kept = None
        self.visits_all = self.unbounded = True

    @property
    def n_oracle_calls(self):
        """Number of oracle calls, including certificates, each of which is a pass."""
        return self.state.n_oracle_calls + self.n_certificates * self.problem.n_blocks

    def path(self, eps, kappa, lam_min, usual=np.inf):
        """Generate the points of an eps-approximate path, starting at the largest lambda.

        Parameters
        ----------
        eps : float
            Largest duality gap.
        kappa : float
            Largest gap at breakpoints, as a share of eps; below 1.
        lam_min : float or None
            Lambda at which the path may end; by default `usual`, or 1e-4 times the first lambda if
            that is smaller.
        usual : float
            Largest default of `lam_min`.

        Yields
        ------
        Point
        """
        point, target = self._first(eps, kappa, lam_min or 0.0)
        self.kept = point.w, point.hinge, self._square(point.w), point.exact
        if lam_min is None:
            lam_min = min(1e-4 * point.lam, usual)
        while not self._is_rounding(point, target):
            yield point
            lam = point.breakpoint(target)
            self.end = lam_min if 0 < lam <= lam_min else lam
            if point.lam <= np.finfo(float).tiny:  # w = 0 for all lambda
                self.end = 0.0
            if self.end <= lam_min:
                return
            if lam >= point.lam:  # eps is below rounding
                self.status = Status.STALLED
                return
            self._lower(lam)
            with self.pool:
                point = self._certified(kappa * eps)
            if point is None:
                return
            target = self._in_units(eps, point.primal)

    def grid(self, lams, eps, keep):
        """Generate a point with a gap of at most eps for each value of lambda.

        With approximate oracles, the gap may never be that small. Then the best point is generated,
        and the grid continues.

        Parameters
        ----------
        lams : iterable of float
            Decreasing; the first one is that of the state.
        eps : float
        keep : {"primal", "dual"}
            Whether w or the dual weights are kept when lambda changes.

        Yields
        ------
        Point
        """
        for lam in lams:
            if keep == "primal":
                self._change_lambda(lam)
            else:
                keep_dual_weights(self.state, lam)
                self.lam = lam
            with self.pool:
                point = self._certified(eps)
            if point is None and self.status is not Status.TIME_LIMIT and not self.kept[-1]:
                point = self._best()
            if point is None or self._is_rounding(point, self._in_units(eps, point.primal)):
                return
            yield point

    def _is_rounding(self, point, eps):
        """Whether rounding errors may exceed a gap of eps, which ends the path or grid."""
        rounding = self._rounding(point.w, point.primal, point.dual)
        if self._is_valid(point, rounding, eps):
            return False
        self.status = Status.ROUNDING
        return True

    def _in_units(self, eps, objective):
        """Return the absolute value of a gap that may be relative to the objective."""
        return eps * objective if self.relative else eps

    def _first(self, eps, kappa, lam_min):
        """Find a small lambda whose dual weights are valid for all larger ones.

        Returns
        -------
        point : Point
        most : float
            The largest absolute gap above it.
        """
        exact = start_at_largest_losses(self.state)
        self.hinge_at_zero = self._linear()
        eps = self._in_units(eps, self.hinge_at_zero)
        target = kappa * eps
        point = self._largest_losses(target, exact)
        tried = 0.0
        while lam_min < point.lam > np.finfo(float).tiny and point.hinge > eps:
            lam = max(point.lam / JUMP, math.sqrt(tried * point.lam), lam_min)
            if point.lam < MIN_JUMP * lam:
                break
            keep_dual_weights(self.state, lam)
            self.lam, self.gained = lam, 0.0
            with self.pool:
                lower = self._certified(target, own=True)
            if lower is None:  # the path will find the reason
                self.status = Status.CONVERGED
                break
            if self._is_rounding(lower, eps):  # w = 0 is within eps for all larger lambda
                self.status = Status.CONVERGED
                keep_dual_weights(self.state, point.lam)
                self.lam = point.lam
                break
            if self.hinge_at_zero - lower.linear <= eps * (1 - SHY) and self.unbounded:
                point = lower
            else:
                tried = lam
        return point, eps

    def _largest_losses(self, target, exact):
        """Find a lambda with a gap of `target` for all dual weight on largest losses."""
        state, linear = self.state, self.hinge_at_zero
        z, most = direction(state)
        size = squared_norm(z)
        if size == 0:
            # w = 0, or the prior, is optimal for every lambda.
            keep_dual_weights(state, np.finfo(float).tiny)
            self.lam = state.lam
            return self._point(self._at(z), linear, exact)
        # For larger s the gap exceeds the target, since hinge losses are nonnegative.
        s, hinge = min((linear + target) / size, most), math.inf
        for _ in range(2):
            hinge, sure = full_pass(self.pool, self._at(s * z), self.block_weight)
            self.n_certificates += 1
            exact = exact and sure
            gap = self._checked(hinge - linear + s * size)
            if gap <= target:
                break
            s *= (1 - SHY) * target / gap
        keep_dual_weights(state, 1 / s)
        self.lam = state.lam
        return self._point(self._at(s * z), hinge, exact)

    def _at(self, move):
        """Return the weights at a move from the prior."""
        return move if self.prior is None else self.prior + move

    def _square(self, w):
        """Return the squared distance of weights from the prior."""
        return squared_norm(self._from_prior(w))

    def _linear(self):
        """Return the linear part of the dual in terms of w minus the prior."""
        linear = self.state.linear
        if self.prior is not None:
            linear -= self.lam * float(self.prior @ self.state.moved())
        return linear

    def _dual_side(self):
        """Return the values of the dual weights that a segment stores."""
        z, _ = direction(self.state)
        return {
            "dual": self.state.dual,
            "linear": self._linear(),
            "square": squared_norm(z),
        }

    def _point(self, w, hinge, exact, dual_side=None):
        side = dual_side or self._dual_side()
        primal = self._objective(w, hinge)
        return Point(
            lam=self.lam,
            w=w,
            hinge=hinge,
            gap=max(primal - side["dual"], 0.0),
            **side,
            exact=exact,
            seconds=seconds() - self.begin,
            oracle_calls=self.n_oracle_calls,
            n_approximate=self.n_approximate,
            working_set_size=self.working_set_size,
        )

    def _lower(self, lam):
        """Set lambda to a breakpoint; multiply the dual weights by the factor with the best bound.

        They may be newer than those of the breakpoint before, and their lambda smaller than `lam`.
        """
        w, hinge, _, exact = self.kept
        share = self._point(w, hinge, exact).share_at(lam)
        if share < 1:
            rescale(self.state, share * self.lam)
        keep_dual_weights(self.state, lam)
        self.gained *= share
        self.lam, self.visits_all = lam, True

    def _change_lambda(self, lam):
        """Set lambda; keep w if it decreases, and the dual weights if it increases."""
        if lam <= self.lam:
            rescale(self.state, lam)
            self.gained *= lam / self.lam
        else:
            keep_dual_weights(self.state, lam)
            self.gained = 0.0
        self.lam = lam

    def _certified(self, target, own=False):
        """Make passes until the best known w has a gap of at most `target`; None if stopped early.

        own : whether w must be the vector of the dual weights; `target` is then absolute
        """
        state = self.state
        max_passes, between = self.options.max_iter, not own
        for _ in range(min(max_passes, MAX_TRIES) if own else max_passes):
            in_time = self._approximate()
            state.rebuild()
            if not own and self._is_reached(target):
                return self._best()
            w, n_steps, linear = state.w, state.n_steps, state.linear
            if between and self.kept is not None:
                w = 0.5 * (w + self.kept[0])
            z, side = self.lam * state.moved(), self._dual_side() if own else None
            self.unbounded = state.n_boxed == 0 or direction(state)[1] * self.lam >= 1
            if not (in_time and self._exact(at=w)):
                self.status = Status.TIME_LIMIT
                return None
            # The gaps combine scores at w with the previous dual weights: h(w) - (l - <w, z>).
            gap = self._checked(state.estimated_gap)
            hinge, exact = max(gap + linear - w @ z, 0.0), bool(state.exact)
            if own:
                if gap <= target:
                    return self._point(w, hinge, exact, side)
            else:
                better = self._keep_if_better(w, hinge, exact)
                state.rebuild()
                gap = self._least_gap()
                if self._is_reached(target):
                    return self._best()
                if state.n_steps == n_steps and between:
                    between = better
                    continue
                between = True
            if state.n_steps == n_steps:
                self.status = Status.STALLED
                return None
            far = FAR * (target if own else self._in_units(target, self._primal()))
            while gap > far and math.isfinite(gap):
                before = gap
                if not (self._approximate() and self._exact()):
                    break
                gap = state.estimated_gap
                if gap > 0.9 * before:  # the estimate is outdated, or progress is slow
                    break
        self.status = Status.MAX_ITER
        return None

    def _keep_if_better(self, w, hinge, exact):
        """Keep a vector with a known hinge sum if its primal is the smallest so far."""
        norm = self._square(w)
        better = 0.5 * self.lam * norm + hinge < self._primal()
        if better:
            self.kept = w, hinge, norm, exact
        return better

    def _primal(self):
        """Return P of the best known vector at the current lambda."""
        if self.kept is None:
            return math.inf
        _, hinge, norm, _ = self.kept
        return 0.5 * self.lam * norm + hinge

    def _least_gap(self):
        """Return the gap between the best known vector and the current dual value."""
        return self._primal() - self.state.dual

    def _is_reached(self, target):
        """Whether this gap is at most a target."""
        if self.kept is None:
            return False
        return self._least_gap() <= self._in_units(target, self._primal())

    def _best(self):
        """Return a point with the best known vector and the current dual weights."""
        w, hinge, _, exact = self.kept
        return self._point(w, hinge, exact)

    def _exact(self, at=None):
        """Make an exact pass, optionally with all oracles at `at`; record its gain and cost."""
        state, options = self.state, self.options
        begin, dual = self._spending(), state.dual
        in_turn = self.visits_all and options.sampling not in EACH_ONCE
        plan = self._plan(visits_all=at is not None or in_turn)
        self.lag.begin()
        complete = exact_pass(state, self.pool, plan, options.cache and at is None, at)
        self._ensure_ascent(dual)
        self.n_passes += 1
        self.visits_all = options.sampling in EACH_ONCE
        self.gained, self.spent = state.dual - dual, self._spending() - begin
        if options.schedule == "work":
            self.spent *= EXACT_WEIGHT
        return complete

    def _approximate(self):
        """Make approximate passes, compared with the last exact one; False if out of time."""
        if not self.options.multi_plane:
            return seconds() < self.deadline
        dual = self.state.dual
        self.lag.begin()
        begin = self._spending() - self.spent
        in_time = self._approximate_passes(begin, dual - self.gained, self._plan())
        self._ensure_ascent(dual)
        return in_time
