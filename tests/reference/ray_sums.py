"""Minima over images with given sums along rays, by enumeration and linear programming (HiGHS).

The linear program is over the convex hulls of the images of each tree and each ray, whose vertices
are enumerated.
"""

from itertools import pairwise, product

import numpy as np
from scipy.optimize import linprog


def neighbors(shape):
    """Return chains of pixels: rows, then columns."""
    pixel = np.arange(shape[0] * shape[1]).reshape(shape)
    return [*pixel.tolist(), *pixel.T.tolist()]


def energy(x, shape, weight, truncation):
    total = 0.0
    for chain in neighbors(shape):
        for i, j in pairwise(chain):
            total += weight * min(abs(int(x[i]) - int(x[j])), truncation)
    return total


def has_sums(x, rays, sums):
    return all(sum(int(x[i]) for i in ray) == b for ray, b in zip(rays, sums, strict=True))


def minimum(sums, rays, shape, n_levels, weight, truncation):
    """Return the smallest energy; +inf if no image has the sums."""
    return min(
        (
            energy(x, shape, weight, truncation)
            for x in product(range(n_levels), repeat=shape[0] * shape[1])
            if has_sums(x, rays, sums)
        ),
        default=np.inf,
    )


def relaxation(sums, rays, shape, n_levels, weight, truncation):
    """Minimize sum_t f_t over convex combinations of labelings that agree on pixels.

    +inf if there is no solution.
    """
    columns, costs, blocks, n_blocks = [], [], [], 0
    chains = [(chain, None) for chain in neighbors(shape) if len(chain) > 1]
    for nodes, b in [*chains, *zip(rays, sums, strict=True)]:
        for y in product(range(n_levels), repeat=len(nodes)):
            if b is not None and sum(y) != b:
                continue
            pairs = pairwise(y) if b is None else ()
            costs.append(sum(weight * min(abs(p - q), truncation) for p, q in pairs))
            columns.append([(int(i), label) for i, label in zip(nodes, y, strict=True)])
            blocks.append(n_blocks)
        n_blocks += 1
    n_pixels = shape[0] * shape[1]
    n_shared = n_pixels * n_levels
    # The columns of the pixels' marginals follow those of the weights of labelings.
    rows, right = [], []
    for block in range(n_blocks):
        mine = [c for c, of in enumerate(blocks) if of == block]
        row = np.zeros(len(columns) + n_shared)
        row[mine] = 1
        rows.append(row)
        right.append(1.0)
        for i in {i for c in mine for i, _ in columns[c]}:
            for label in range(n_levels):
                row = np.zeros(len(columns) + n_shared)
                row[[c for c in mine if (i, label) in columns[c]]] = 1
                row[len(columns) + i * n_levels + label] = -1
                rows.append(row)
                right.append(0.0)
    answer = linprog(
        np.r_[costs, np.zeros(n_shared)], A_eq=np.array(rows), b_eq=right, bounds=(0, 1)
    )
    assert answer.status in (0, 2), answer.message
    return answer.fun if answer.status == 0 else np.inf
