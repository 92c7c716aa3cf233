"""A segment of the regularization path with constant weights, and its certificate.

For the notation see path_solver.py. The hinge sum h(w) of weights w does not depend on lambda, and
neither do z = lam v = sum_i q_i sum_y alpha_i(y) psi_i(y) and l of dual weights alpha. Hence

    P_lam(w) = lam/2 |w|^2 + h(w)

is known for every lambda. So is the dual, for alpha and for sigma alpha, where the dual weights of
all labelings except the truths are multiplied by sigma <= 1 and the truths get the rest (their
planes are zero, so z and l become sigma z and sigma l):

    D_lam(sigma alpha) = sigma l - sigma^2 |z|^2 / (2 lam),

which is largest for sigma = min(1, lam l / |z|^2).

P is linear in lambda and touches the optimal value from above where w is optimal; D touches it from
below where alpha is. Their difference therefore grows quadratically with the distance from there.
It is convex in lambda (P - D is convex in lambda and sigma jointly), so it is at most eps on
an interval. [O16], section 4, uses sigma = lam' / lam, for which v is constant and the gap grows
linearly.

**Bounds.** D_lam(sigma alpha) = sigma l + min lam/2 |w|^2 - sigma <w, z> over the box. If all
bounds are 0, the formula holds for z with 0 in place of entries whose sign they forbid. Other
bounds do not lower the minimum, so the formula is a lower bound of D. D_{rho lam}(rho alpha) =
rho D_lam(alpha) holds for all boxes; the larger of the two values is used.
"""

import math
from dataclasses import dataclass

# Breakpoints use eps reduced by this share, to allow for rounding.
SHY = 1e-9


@dataclass(kw_only=True)
class Segment:
    """Weights and dual weights that are valid from a lambda downwards.

    Attributes
    ----------
    lam : float
        Lambda at the upper end.
    hinge : float
        h(w).
    dual, gap : float
        D, and P - D, at the upper end.
    linear : float
        l.
    square : float
        \\|z\\|^2, or that of z without the entries that bounds of 0 forbid.
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
        """Return P at another lambda."""
        return self.hinge + lam / self.lam * (self.primal - self.hinge)

    def share_at(self, lam):
        """Return the sigma with the largest known D, or lower bound of it, at a lambda."""
        ratio = lam / self.lam
        if ratio <= 1 and ratio * self.dual > self._kept(lam):
            return ratio
        return self._best_share(lam)

    def dual_at(self, lam):
        """Return D, or a lower bound of it if weights are at bounds, at a smaller lambda."""
        return max(self._kept(lam), lam / self.lam * self.dual)

    def breakpoint(self, eps):
        """Return the lambda down to which the gap is at most eps; 0 if it is for all of them.

        Requires that the gap at the upper end is at most eps.
        """
        if self.hinge <= eps:
            return 0.0
        eps *= 1 - SHY
        lam = self.lam * (self.hinge - eps) / (self.hinge - self.gap)
        if self.primal - self._kept(self.lam) <= eps:
            lam = min(lam, self._end(eps))
        return lam

    def _best_share(self, lam):
        """Return the sigma with the largest D at a lambda, by the formula."""
        if self.square == 0 or lam * self.linear >= self.square:
            return 1.0
        return max(lam * self.linear / self.square, 0.0)

    def _kept(self, lam):
        """Return D_lam(sigma alpha) for the best sigma, by the formula."""
        share = self._best_share(lam)
        return share * self.linear - share**2 * self.square / (2 * lam)

    def _end(self, eps):
        """Return the smallest lambda at which P minus `_kept` is at most eps, given h > eps."""
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
        return self.square / root if root > 0 else self.lam  # eps is below rounding errors
