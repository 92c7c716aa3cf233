"""The dual objective of weights with bounds, by definition; see `dual_qp` for the optimum.

`terms` are brute_force.blocks; bounds are (2, d), lower and upper, infinite for free weights.
"""

import numpy as np

from tests.reference import brute_force
from tests.reference.dual_qp import optimum

__all__ = ["dual", "dual_value", "optimum"]


def dual_value(v, linear, lam, bounds):
    """Return linear - lam <w, v> + lam/2 |w|^2, w = clip(v), linear = sum_i q_i sum alpha L."""
    w = np.clip(v, *bounds)
    return linear - lam * float(w @ v) + 0.5 * lam * float(w @ w)


def dual(alphas, lam, terms, bounds):
    """Return the dual objective D(alpha)."""
    v = brute_force.weights_of(alphas, lam, terms)
    return dual_value(v, brute_force.linear_part(alphas, terms), lam, bounds)
