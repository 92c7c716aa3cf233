"""Shares of the moves of partitions for which the dual does not decrease."""

import numpy as np

# Sweeps over the partitions; the objective is a quadratic with one variable per partition.
MAX_SWEEPS = 1000
PRECISE = 1e-9
BISECTIONS = 50


def shares_of_moves(moves, linear, v, lam):
    r"""Return the shares t_k in [0, 1] of the moves that together raise the dual most.

    .. math:: \max_t \; t^\top (l - \lambda M v) - \tfrac{\lambda}{2} t^\top M M^\top t

    by coordinate ascent with exact steps. Takes O(P nnz) for the Gram matrix of P moves.

    Parameters
    ----------
    moves : CSR matrix of shape (n_parts, n_weights)
    linear : ndarray of shape (n_parts,)
        Changes of the dual's linear part.
    v : ndarray of shape (n_weights,)
    lam : float
    """
    slope = linear - lam * (moves @ v)
    gram = lam * (moves @ moves.T).toarray()
    share = np.ones(len(linear))
    for _ in range(MAX_SWEEPS):
        largest = 0.0
        for k in range(len(share)):
            if gram[k, k] > 0:
                best = share[k] + (slope[k] - gram[k] @ share) / gram[k, k]
                best = min(max(best, 0.0), 1.0)
            else:
                best = float(slope[k] > 0)
            largest, share[k] = max(largest, abs(best - share[k])), best
        if largest <= PRECISE:
            break
    return share


def share_within_bounds(move, linear, v, lam, clip):
    """Return the share of a move that raises the dual most if weights are bounded.

    The dual is concave along it, with slope ``linear - lam <move, clip(v + t move)>``.

    Parameters
    ----------
    move, v : ndarray of shape (n_weights,)
    linear, lam : float
    clip : function
        Clips weights to their bounds.
    """

    def slope(share):
        return linear - lam * (move @ clip(v + share * move))

    if slope(1.0) >= 0:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) >= 0 else (low, middle)
    return low
