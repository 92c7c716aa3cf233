"""A stretch of the regularization path with one vector of weights, and its certificate.

Notation as in path_solver.py. The weights w keep their hinge sum h(w), and dual weights alpha keep
z = lam v = sum_i q_i sum_y alpha_i(y) psi_i(y) and l, whatever lambda is, so that

    P_lam(w) = lam/2 |w|^2 + h(w)

is known for every lambda. So is the dual, for alpha and for sigma alpha, where the dual weights of
all labelings but the truths' are multiplied by sigma <= 1 and the truths take the rest (their
planes are zero, so that z and l become sigma z and sigma l):

    D_lam(sigma alpha) = sigma l - sigma^2 |z|^2 / (2 lam),

largest at sigma = min(1, lam l / |z|^2).

P is linear in lambda and touches the optimal value from above where w is optimal, D touches it from
below where alpha is, so that their difference grows with the square of the distance from there. It
is convex in lambda (P - D is in lambda and sigma together), so at most eps on an interval. Paper
001, section 4, takes sigma = lam' / lam, for which v stays, and the gap grows at once.

**Bounds.** D_lam(sigma alpha) = sigma l + min lam/2 |w|^2 - sigma <w, z> over the box. Without any
bounds but 0, z with 0 for the entries whose sign they forbid takes the place of z; other bounds
make the minimum no smaller, so that the formula is a lower bound of D. D_{rho lam}(rho alpha) =
rho D_lam(alpha) holds for all boxes; whichever of the two is larger counts.
"""

import math
from dataclasses import dataclass

# Breakpoints are set where the gap is so much below eps, for rounding.
SHY = 1e-9


@dataclass(kw_only=True)
class Segment:
    """Weights and dual weights from a lambda downwards.

    Attributes
    ----------
    lam : float
        Lambda at the upper end.
    hinge : float
        h(w).
    dual, gap : float
        D, and P - D, there.
    linear : float
        l.
    square : float
        \\|z\\|^2, where bounds of 0 forbid entries without them.
    """

    lam: float
    hinge: float
    dual: float
    gap: float
    linear: float
    square: float

    @property
    def primal(self):
        """P at the upper end."""
        return self.dual + self.gap

    def primal_at(self, lam):
        """P at another lambda."""
        return self.hinge + lam / self.lam * (self.primal - self.hinge)

    def share_at(self, lam):
        """The sigma with the largest D at a lambda, by the formula."""
        if self.square == 0 or lam * self.linear >= self.square:
            return 1.0
        return max(lam * self.linear / self.square, 0.0)

    def dual_at(self, lam):
        """D, or a lower bound where weights are on their bounds, at a lambda below."""
        return max(self._kept(lam), lam / self.lam * self.dual)

    def breakpoint(self, eps):
        """The lambda down to which the gap is at most eps; 0 where that is all of them.

        The gap at the upper end must be.
        """
        if self.hinge <= eps:
            return 0.0
        eps *= 1 - SHY
        lam = self.lam * (self.hinge - eps) / (self.hinge - self.gap)
        if self.primal - self._kept(self.lam) <= eps:
            lam = min(lam, self._end(eps))
        return lam

    def _kept(self, lam):
        """D_lam(sigma alpha) for the best sigma, by the formula."""
        share = self.share_at(lam)
        return share * self.linear - share**2 * self.square / (2 * lam)

    def _end(self, eps):
        """The least lambda at which P less that is at most eps, where h > eps."""
        if self.square == 0:
            return 0.0
        size = (self.primal - self.hinge) / self.lam  # |w|^2 / 2
        # sigma < 1 below |z|^2 / l: the gap is h - fall lam.
        fall = 0.5 * self.linear**2 / self.square - size
        if fall > 0:
            lam = (self.hinge - eps) / fall
            if lam * self.linear <= self.square:
                return lam
        # sigma = 1: size lam^2 - middle lam + |z|^2 / 2 is 0.
        middle = eps - self.hinge + self.linear
        root = middle + math.sqrt(max(middle**2 - 2 * size * self.square, 0.0))
        return self.square / root if root > 0 else self.lam  # eps is below rounding
