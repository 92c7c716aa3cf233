"""Costs, losses and enumeration of change points in plain NumPy."""

from itertools import pairwise, product

import numpy as np

from tests.reference.brute_force import Block


def cost(kind, x, floor=1e-4):
    """Return the cost of a segment of one feature, (n,)."""
    n = len(x)
    if kind == "trend":
        basis = np.vander(np.arange(n) - (n - 1) / 2, min(n, 2))
        return np.square(x - basis @ np.linalg.lstsq(basis, x, rcond=None)[0]).sum()
    rest = x if kind == "variance" else x - x.mean()
    if kind == "mean":
        return rest @ rest
    variance = max(rest @ rest / n, floor)
    return n * np.log(variance) + (rest @ rest) / variance - n


def changes_of(y):
    """Return the change points of a code."""
    return [t for t, change in enumerate(y) if change]


def segments(y):
    """Return the segments (start, stop) of a code."""
    return list(pairwise([0, *changes_of(y), len(y)]))


def joint_feature(x, y, costs, bins=(), floor=1e-4):
    """Return phi(x, y) of one signal (L, F) and a code."""
    parts = segments(y)
    floor = np.broadcast_to(floor, x.shape[1])
    of_costs = [
        -sum(cost(kind, x[a:b, f], floor[f]) for a, b in parts)
        for kind in costs
        for f in range(x.shape[1])
    ]
    count = np.zeros(len(bins))
    for a, b in parts if len(bins) else ():
        count[np.searchsorted(bins, b - a, side="right") - 1] += 1
    return np.r_[of_costs, count, 1 - len(parts)]


def loss(truth, y, tolerance):
    """Count windows without a change, and changes that are not the first one in a window.

    A node is in the window of the nearest true change, of the later one if there are two, if it is
    within the tolerance.
    """
    return interval_loss([(t, t) for t in changes_of(truth)], y, tolerance)


def interval_loss(intervals, y, tolerance):
    """Return the `loss` for true changes that are intervals (first, last)."""
    seen, wrong = set(), 0

    def distance(t, interval):
        return max(interval[0] - t, t - interval[1], 0)

    for t in changes_of(y):
        near = min(intervals, key=lambda c: (distance(t, c), -c[0]), default=None)
        if near is None or distance(t, near) > tolerance or near in seen:
            wrong += 1
        else:
            seen.add(near)
    return wrong + len(intervals) - len(seen)


def agrees(y, intervals):
    """Return whether a code has one change in each interval, and no others."""
    found = changes_of(y)
    return len(found) == len(intervals) and all(
        a <= t <= b for t, (a, b) in zip(found, intervals, strict=True)
    )


def labelings(length, least=1, most=None):
    """Return all codes with segments of allowed durations."""
    most = length if most is None else most
    return [
        (0, *rest)
        for rest in product((0, 1), repeat=length - 1)
        if all(least <= b - a <= most for a, b in segments((0, *rest)))
    ]


def scaled(x, scale):
    """Return a signal (L, F) minus its median, and the minimum variances.

    Both are in units of the signal's noise, unless `scale` is None.
    """
    steps = np.abs(np.diff(x, axis=0))
    level = np.ones(x.shape[1])
    for f, own in enumerate(steps.T):
        if len(own) and np.median(own) > 0:
            level[f] = np.median(own) / (0.6744897501960817 * 2**0.5)
        elif own.any():
            level[f] = np.sqrt((own**2).mean() / 2)
    x = x - np.median(x, axis=0)
    return (x, 1e-4 * level**2) if scale is None else (x / level, np.full(len(level), 1e-4))


def blocks(
    X, y, costs, bins=(), *, tolerance=5, least=1, most=None, scale="noise", weights=None
):  # fmt: skip
    """Return the brute_force.Block of each signal; the true change is the middle of an interval."""
    weights = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    out = []
    for i, (x, places) in enumerate(zip(X, y, strict=True)):
        x, floor = scaled(x.reshape(len(x), -1), scale)
        places = [tuple(each) if np.ndim(each) else (each, each) for each in places]
        middle = [(a + b) // 2 for a, b in places]
        truth = tuple(int(t in middle) for t in range(len(x)))
        allowed = labelings(len(x), least, most)
        phi = np.array([joint_feature(x, z, costs, bins, floor) for z in allowed])
        losses = np.array([interval_loss(places, z, tolerance) for z in allowed], dtype=float)
        weight = weights[i] / weights.sum()
        out.append(Block(i, allowed, phi, losses, allowed.index(truth), weight))
    return out
