"""Maxima over the convex hull of points (h, g) by all pairs of points, and the optimum of slack
rescaling over mixtures of labelings. Slow and obviously correct."""

import numpy as np

from tests.reference.brute_force import Block
from tests.reference.dual_qp import optimum


def segments(h, g):
    """Return all pairs (a, b) of points, and their differences."""
    a, b = np.triu_indices(len(h), 0)
    return a, b, h[b] - h[a], g[b] - g[a]


def best_of_polygon(h, g, lower=None, upper=None, lam=None):
    """Return the largest h g with h > 0 as (value, a, b, share); with lam, the largest h + lam g.

    The second maximum is over points with h > 0 and lower <= g / h <= upper, and None if there are
    none. Both are attained on a segment between two of the points: at an end, or at the top of a
    parabola (first) or where the segment crosses a border (second).
    """
    a, b, dh, dg = segments(h, g)
    found = None
    with np.errstate(divide="ignore", invalid="ignore"):
        points = [(np.full(len(a), t), h[a] + t * dh, g[a] + t * dg) for t in (0.0, 1.0)]
        if lam is None:
            top = np.clip(np.nan_to_num(-(g[a] * dh + h[a] * dg) / (2 * dh * dg)), 0, 1)
            points.append((top, h[a] + top * dh, g[a] + top * dg))
        else:
            for slope in (lower, upper):
                # Not from the share, whose rounding error may exceed a small h.
                at_h = (h[a] * dg - g[a] * dh) / (dg - slope * dh)
                points.append(((slope * h[a] - g[a]) / (dg - slope * dh), at_h, slope * at_h))
        for share, at_h, at_g in points:
            if lam is None:
                value = np.where(at_h > 0, at_h * at_g, 0)
            else:
                inside = (
                    (share >= 0)
                    & (share <= 1)
                    & (at_h > 0)
                    & (at_g >= lower * at_h - 1e-12)
                    & (at_g <= upper * at_h * (1 + 1e-12) + 1e-12)
                )
                value = np.where(inside, at_h + lam * at_g, -np.inf)
            k = value.argmax()
            if np.isfinite(value[k]) and (found is None or value[k] > found[0]):
                found = float(value[k]), int(a[k]), int(b[k]), float(share[k])
    return found


def worst(block, w):
    """Return the largest loss times margin over mixtures, and the plane of the mixture."""
    value, a, b, share = best_of_polygon(1 - block.psi @ w, block.loss)
    psi = (1 - share) * block.psi[a] + share * block.psi[b]
    loss = (1 - share) * block.loss[a] + share * block.loss[b]
    return value, loss * psi, loss


def mixed_primal(w, lam, terms):
    """Return the objective of slack rescaling over all mixtures of the blocks' labelings."""
    return lam / 2 * w @ w + sum(block.weight * worst(block, w)[0] for block in terms)


def mixed_optimum(terms, lam, precision=1e-9, most=200):
    """Return bounds (below, above) of the least `mixed_primal`, found by cutting planes."""
    zero = np.zeros(terms[0].phi.shape[1])
    planes = [[(zero, 0.0)] for _ in terms]
    w, below, above = zero, 0.0, np.inf
    for _ in range(most):
        above = min(above, mixed_primal(w, lam, terms))
        if above - below <= precision * above:
            return below, above
        for block, known in zip(terms, planes, strict=True):
            known.append(worst(block, w)[1:])
        below, w = optimum(
            [
                Block(block.sample, None, -np.array([psi for psi, _ in known]),
                      np.array([loss for _, loss in known]), 0, block.weight)
                for block, known in zip(terms, planes, strict=True)
            ],
            lam,
        )  # fmt: skip
    raise AssertionError(f"bounds {below} and {above} after {most} rounds")
