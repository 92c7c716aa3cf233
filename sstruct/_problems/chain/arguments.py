"""What a ChainProblem is given, checked and brought into the layout of its compiled code."""

from dataclasses import dataclass

import numpy as np

from sstruct._problems.core.node_arguments import padded


@dataclass(frozen=True)
class Chains:
    """Which rows are chains.

    Attributes
    ----------
    start, length : array-like of shape (n_blocks,)
        First row and number of rows (at least 1) of each chain.
    starts_here, ends_here : array-like of bool of shape (n_blocks,), optional
        Whether a chain has a start and an end term. Default True.
    """

    start: np.ndarray
    length: np.ndarray
    starts_here: np.ndarray | None = None
    ends_here: np.ndarray | None = None


@dataclass(frozen=True)
class ChainModel:
    """Labels, weights and masks of a chain model.

    Attributes
    ----------
    n_labels : int
        K.
    bias, boundaries, transitions : bool
        Which weights exist beside the node weights.
    edge_mask, boundary_mask : array-like of bool of shape (K, K) and (2, K), optional
        Which transitions are allowed; which labels may start and end a chain.
    """

    n_labels: int
    bias: bool = True
    boundaries: bool = True
    transitions: bool = True
    edge_mask: np.ndarray | None = None
    boundary_mask: np.ndarray | None = None


def penalties(mask, shape, width, name):
    """Return 0 where a mask allows and -inf where it forbids; None allows everything."""
    if mask is None:
        mask = np.ones(shape, dtype=bool)
    return padded(np.where(mask, 0.0, -np.inf), shape, width, name)


# A table by number of errors costs about (errors + 1) / 2 times what Viterbi does, a search by
# bisection about ten times; and so many entries of 2 bytes.
MOST_VITERBIS = 100
MOST_ENTRIES = 2**25


def error_counts(cost, n_labels, labels, start, length):
    """Read node costs as whole numbers of errors, where a table by their number is worth it.

    Returns
    -------
    errors : ndarray of int32 of the shape of `cost`, or None
        None where a cost is no whole number or the table would be too costly.
    most : ndarray of int64 of shape (n_blocks,), or None
        The most errors of a labeling of each block.
    """
    cost = np.asarray(cost)
    if (cost != np.floor(cost)).any() or cost.max() > MOST_ENTRIES or n_labels > 2**16:
        return None, None
    errors = cost.astype(np.int32)
    total = np.r_[0, np.cumsum(errors.max(axis=1)[np.maximum(labels, 0)], dtype=np.int64)]
    most = total[start + length] - total[start]
    costly = (most * length).sum() > 2 * MOST_VITERBIS * length.sum()
    if costly or ((most + 1) * length).max() * cost.shape[1] > MOST_ENTRIES:
        return None, None
    return errors, most


def table_work(length, most, n_labels, width):
    """Return the multiply-adds over labels of a block's table, on average."""
    return float((length * (most + 1)).mean()) * n_labels * width / 2
