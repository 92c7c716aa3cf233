"""Dual weights of an earlier fit, made to fit another lambda."""

import numpy as np


def rescaled(warm, lam, block_weight):
    """Change the dual weights so that the weights w stay what they were.

    With w = sum_i q_i / lam sum_y alpha_i(y) psi_i(y), all alphas but the truth's are multiplied
    by the quotient of the two q_i / lam, and the truth takes the rest. Where that would be
    negative (lam rose), the block's alphas take the largest multiple that leaves it zero.

    Parameters
    ----------
    warm : dict
        What ``DualState.export`` gave, with the ``lam`` and ``block_weight`` it belongs to.
    lam : float
    block_weight : ndarray of shape (n_blocks,)

    Returns
    -------
    dict
        With new ``alpha``; ``DualState.restore`` takes it.
    """
    size, alpha = warm["size"], warm["alpha"].copy()
    first = np.cumsum(size) - size
    alpha[first] = 0  # the truth's, whose plane is zero
    factor = (warm["block_weight"] / warm["lam"]) / (block_weight / lam)
    others = np.add.reduceat(alpha, first)
    factor = np.minimum(factor, np.divide(1, others, out=np.ones_like(others), where=others > 0))
    alpha *= np.repeat(factor, size)
    alpha[first] = np.maximum(1 - factor * others, 0)
    return {**warm, "alpha": alpha}
