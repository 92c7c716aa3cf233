"""What a ChainProblem is given, checked and brought into the layout of its compiled code."""

import numpy as np

from sstruct._problems.node_arguments import padded


def check_blocks(start, length, n_rows):
    """Return first row and number of rows of each block as int64 arrays."""
    start = np.ascontiguousarray(start, dtype=np.int64)
    length = np.ascontiguousarray(length, dtype=np.int64)
    if start.ndim != 1 or length.shape != start.shape or len(start) == 0:
        raise ValueError("start and length must have one entry for each of at least one block")
    if (length < 1).any() or (start < 0).any() or (length > n_rows - start).any():
        raise ValueError("every block must have at least one row, all of them rows of X")
    return start, length


def check_labels(labels, start, length, n_rows, n_labels):
    """Return int32 labels of all rows; those of rows that a block covers must be valid."""
    labels = np.ascontiguousarray(labels, dtype=np.int32)
    if labels.shape != (n_rows,):
        raise ValueError(f"labels of shape {labels.shape} for {n_rows} rows")
    depth = np.zeros(n_rows + 1, dtype=np.int64)
    np.add.at(depth, start, 1)
    np.add.at(depth, start + length, -1)
    covered = labels[np.cumsum(depth[:n_rows]) > 0]
    if covered.min() < 0 or covered.max() >= n_labels:
        raise ValueError(f"labels must lie between 0 and {n_labels - 1}")
    return labels


def penalties(mask, shape, width, name):
    """Return 0 where a mask allows and -inf where it forbids; None allows everything."""
    if mask is None:
        mask = np.ones(shape, dtype=bool)
    return padded(np.where(mask, 0.0, -np.inf), shape, width, name)
