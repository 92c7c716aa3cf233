"""Adapt the dual weights of an earlier fit to another lambda."""

import numpy as np

from sstruct._problems.core.kept_arrays import kept_array, kept_sizes

# Tables of distances grow with the squares of the numbers of labelings. Fits keep about a thousand
# labelings per block; above that, all tables together may hold at most MAX_DISTANCES entries.
MANY_LABELINGS = 1000
MAX_DISTANCES = 2**27


def kept_dual_weights(kept, n_blocks=None):
    """Return the validated arrays size and alpha of ``DualState.export``.

    Parameters
    ----------
    kept : dict
    n_blocks : int or None
        Expected number of blocks, or None for any number.

    Raises
    ------
    ValueError
        If a field is invalid; the message names it.
    """
    alpha = kept_array(kept, "alpha", np.float64, least=0)
    if n_blocks is None:
        n_blocks = len(kept_array(kept, "size", np.int64))
    size, first = kept_sizes(kept, "size", n_blocks, len(alpha), "alpha", least=1)
    sums = np.add.reduceat(alpha, first)
    wrong = np.abs(sums - 1) > 1e-9
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(f"alpha: the dual weights of block {i} sum to {sums[i]}, expected 1")
    distances = np.square(size, dtype=np.float64).sum()
    if distances > MANY_LABELINGS * len(alpha) + MAX_DISTANCES:
        i = int(np.argmax(size))
        raise ValueError(f"size: found {size[i]} labelings of block {i}, more than any fit keeps")
    return size, alpha


def kept_warm_start(warm):
    """Return the warm-start state of a fitted model, validated as far as `rescaled` relies on it.

    Raises
    ------
    ValueError
        If a field is invalid; the message names it.
    """
    size, _ = kept_dual_weights(warm)
    kept_array(warm, "block_weight", np.float64, len(size), least=0, positive=True)
    for name, kinds in (("lam", (float, np.floating)), ("n_samples", (int, np.integer))):
        if name in warm and not (isinstance(warm[name], kinds) and 0 < warm[name] < np.inf):
            raise ValueError(f"{name} is {warm[name]!r}, expected a positive number")
    return warm


def rescaled(warm, lam, block_weight):
    """Change the dual weights such that the weights w do not change.

    With w = sum_i q_i / lam sum_y alpha_i(y) psi_i(y), all alphas except the truth's are multiplied
    by the old q_i / lam divided by the new one, and the truth gets the rest. If that is negative
    (for example, because lam increased), the block's alphas get the largest multiple for which it
    is zero, and w changes.

    Parameters
    ----------
    warm : dict
        State returned by ``DualState.export``, with its ``lam`` and ``block_weight``.
    lam : float
    block_weight : ndarray of shape (n_blocks,)

    Returns
    -------
    dict
        `warm` with new ``alpha``, for ``DualState.restore``.
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
