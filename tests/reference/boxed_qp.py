"""Weights between bounds: the optimum by clarabel in the primal, and the dual by its definition.

`terms` are brute_force.blocks; bounds are (2, d), lower and upper, infinite where free.
"""

import clarabel
import numpy as np
from scipy import sparse

from tests.reference import brute_force


def optimum(terms, lam, bounds):
    """min lam/2 |w|^2 + sum_i q_i xi_i  over (w, xi)  subject to  lower <= w <= upper  and
    xi_i >= L_i(y) - <w, psi_i(y)> for all y. No dual weight occurs. Returns the value and w.
    """
    d, n = terms[0].phi.shape[1], len(terms)
    rows, most = [], []
    for i, block in enumerate(terms):
        slack = np.zeros((len(block.loss), n))
        slack[:, i] = 1
        rows.append(-np.hstack([block.psi, slack]))
        most.append(-block.loss)
    for sign, bound in zip((-1, 1), bounds):
        finite = np.isfinite(bound)
        rows.append(sign * np.eye(d, d + n)[finite])
        most.append(sign * bound[finite])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    settings.max_threads = 1
    most = np.concatenate(most)
    solution = clarabel.DefaultSolver(
        sparse.diags(np.r_[np.full(d, float(lam)), np.zeros(n)]).tocsc(),
        np.r_[np.zeros(d), [block.weight for block in terms]],
        sparse.csc_matrix(np.vstack(rows)),
        most,
        [clarabel.NonnegativeConeT(len(most))],
        settings,
    ).solve()
    assert "Solved" in str(solution.status), solution.status
    return solution.obj_val, np.array(solution.x[:d])


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
