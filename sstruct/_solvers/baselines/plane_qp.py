"""Best convex combination of planes, the master problem of the cutting-plane method.

Both forms return the weights beta of the planes (a_k, b_k). Their lower bound is valid for any beta
on the simplex, even if the QP was not solved accurately.
"""

import numpy as np
from scipy import sparse

from sstruct._kernels._interruption import TerminationCallback

PRECISION = 1e-11


def qp_solver():
    """Return the module clarabel, or raise an ImportError with installation instructions."""
    try:
        import clarabel
    except ImportError as error:
        raise ImportError(
            'solver="cutting-plane" requires clarabel; install sstruct[cutting-plane]'
        ) from error
    return clarabel


def simplex_qp(gram, loss, lam):
    """Solve max_beta <beta, b> - |sum_k beta_k a_k|^2 / (2 lam) over the simplex.

    Parameters
    ----------
    gram : ndarray of shape (m, m)
        Products <a_k, a_l>.
    loss : ndarray of shape (m,)
        b.
    lam : float

    Returns
    -------
    beta : ndarray of shape (m,) or None
        Nonnegative with sum 1, or None if the QP solver failed because of badly scaled data.
    """
    m = len(loss)
    clarabel = qp_solver()
    constraints = sparse.vstack([np.ones((1, m)), -sparse.eye(m)], format="csc")
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(m)]
    x, _ = _solve(gram / lam, -loss, constraints, np.r_[1.0, np.zeros(m)], cones)
    return _on_simplex(x)


def boxed_qp(psi, loss, lam, bounds):
    """Solve min_w lam/2 |w|^2 + max_k (b_k - <w, a_k>) over a box; return the dual variables.

    Takes O(m^2 n_weights) per iteration of the interior-point method.

    Parameters
    ----------
    psi : ndarray of shape (m, n_weights)
        The a_k.
    loss : ndarray of shape (m,)
        b.
    lam : float
    bounds : ndarray of shape (2, n_weights)
        Lower and upper bounds of the weights; infinite if there is no bound.

    Returns
    -------
    beta : ndarray of shape (m,) or None
        Nonnegative with sum 1, or None if the QP solver failed because of badly scaled data.
    """
    clarabel = qp_solver()
    # Fixed weights are moved to the losses, since interior-point methods require an interior.
    free = bounds[0] < bounds[1]
    loss = loss - psi[:, ~free] @ bounds[0][~free]
    psi, (lower, upper) = psi[:, free], bounds[:, free]
    m, d = psi.shape
    below, above = np.isfinite(lower), np.isfinite(upper)
    unit = sparse.eye(d, d + 1, format="csr")
    planes = sparse.csr_matrix(-np.hstack([psi, np.ones((m, 1))]))
    constraints = sparse.vstack([planes, -unit[below], unit[above]], format="csc")
    limits = np.r_[-loss, -lower[below], upper[above]]
    quadratic = sparse.diags(np.r_[np.full(d, float(lam)), 0.0], format="csc")
    cones = [clarabel.NonnegativeConeT(len(limits))]
    _, z = _solve(quadratic, np.r_[np.zeros(d), 1.0], constraints, limits, cones)
    return _on_simplex(z[:m])


def _solve(quadratic, linear, constraints, limits, cones):
    """Solve min 1/2 x'Qx + <c, x> for limits - A x in the cones; return x and the multipliers."""
    clarabel = qp_solver()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = PRECISION
    settings.max_threads = 1
    quadratic = sparse.triu(sparse.coo_array(quadratic), format="csc")
    solver = clarabel.DefaultSolver(quadratic, linear, constraints, limits, cones, settings)
    callback = TerminationCallback()
    if hasattr(solver, "set_termination_callback"):  # since 0.11
        solver.set_termination_callback(callback)
    solution = solver.solve()
    if callback.error is not None:
        raise callback.error
    return np.array(solution.x), np.array(solution.z)


def _on_simplex(beta):
    """Return beta normalized to nonnegative values with sum 1, or None if nothing was found."""
    beta = np.maximum(beta, 0.0)
    total = beta.sum()
    # If the data are badly scaled, all entries may be 0 or NaN.
    return beta / total if 0 < total < np.inf else None
