"""Weights between bounds: the dual by its definition; the optimum is `dual_qp`'s.

`terms` are brute_force.blocks; bounds are (2, d), lower and upper, infinite where free.
"""

import numpy as np

from tests.reference import brute_force
from tests.reference.dual_qp import optimum

__all__ = ["dual", "dual_value", "linear_part", "optimum"]


def dual_value(v, linear, lam, bounds):
    """D = linear - lam <w, v> + lam/2 |w|^2 with w = clip(v), linear = sum_i q_i sum alpha L."""
    w = np.clip(v, *bounds)
    return linear - lam * float(w @ v) + 0.5 * lam * float(w @ w)


def linear_part(alphas, terms):
    """sum_i q_i sum_y alpha_i(y) L_i(y)."""
    return sum(
        block.weight * alpha * block.loss[block.labelings.index(y)]
        for of_block, block in zip(alphas, terms, strict=True)
        for y, alpha in of_block.items()
    )


def dual(alphas, lam, terms, bounds):
    """D(alpha)."""
    v = brute_force.weights_of(alphas, lam, terms)
    return dual_value(v, linear_part(alphas, terms), lam, bounds)
