"""Checks of the arguments of problems with labeled nodes, and padding of tables."""

import numpy as np

from sstruct._checks.arrays import contiguous


def of_blocks(values, n_blocks, dtype, default=1):
    """Return one value for each block; None: `default` for all."""
    if values is None:
        return np.full(n_blocks, default, dtype=dtype)
    values = contiguous(values, dtype=dtype)
    if values.shape != (n_blocks,):
        raise ValueError(f"{values.shape} values, expected one for each of {n_blocks} blocks")
    return values


def check_node_weights(weights, n_rows):
    """Return the factor of each node's cost as float64; None: ones."""
    if weights is None:
        return np.ones(n_rows)
    weights = contiguous(weights, dtype=np.float64)
    if weights.shape != (n_rows,) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(f"node_weight must be {n_rows} finite numbers, none of them negative")
    return weights


def sums_over_blocks(values, start, length):
    """Return the sum over each block's rows; a block may have none."""
    sums = np.zeros(len(start))
    some = np.flatnonzero(length)
    # Of begin and end in turn, what lies between blocks left out.
    cuts = np.column_stack([start[some], start[some] + length[some]]).ravel()
    if len(cuts):
        sums[some] = np.add.reduceat(np.append(values, 0.0), cuts)[::2]
    return sums


def padded(table, shape, width, name):
    """Return a float64 table with its rows padded by zeros to `width` entries."""
    table = np.asarray(table, dtype=np.float64)
    if table.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, found {table.shape}")
    out = np.zeros((shape[0], width))
    out[:, : shape[1]] = table
    return out


def check_blocks(start, length, n_rows):
    """Return first row and number of rows of each block as int64 arrays."""
    start = contiguous(start, dtype=np.int64)
    length = contiguous(length, dtype=np.int64)
    if start.ndim != 1 or length.shape != start.shape or len(start) == 0:
        raise ValueError("start and length must have one entry for each of at least one block")
    if (length < 1).any() or (start < 0).any() or (length > n_rows - start).any():
        raise ValueError("every block must have at least one row, all of them rows of X")
    return start, length


def check_labels(labels, start, length, n_rows, n_labels):
    """Return int32 labels of all rows; those of rows that a block covers must be valid."""
    labels = contiguous(labels, dtype=np.int32)
    if labels.shape != (n_rows,):
        raise ValueError(f"labels of shape {labels.shape} for {n_rows} rows")
    depth = np.zeros(n_rows + 1, dtype=np.int64)
    np.add.at(depth, start, 1)
    np.add.at(depth, start + length, -1)
    covered = labels[np.cumsum(depth[:n_rows]) > 0]
    if covered.min() < 0 or covered.max() >= n_labels:
        raise ValueError(f"labels must lie between 0 and {n_labels - 1}")
    return labels


def check_known(known, shape, sizes):
    """Return known labels as int32, -1 where a label is free; None: all are, in one entry.

    sizes : number of labels there are, broadcast against `shape`
    """
    if known is None:
        return np.full((1,) * len(shape), -1, dtype=np.int32)
    known = contiguous(known, dtype=np.int32)
    if known.shape != shape:
        raise ValueError(f"known labels of shape {known.shape}, expected {shape}")
    if (known < -1).any() or (known >= sizes).any():
        raise ValueError("known labels must be labels, or -1 where they are not known")
    return known


def check_in_loss(in_loss, shape):
    """Return which labels count in the loss as uint8; None: all do, in one entry."""
    if in_loss is None:
        return np.ones((1,) * len(shape), dtype=np.uint8)
    in_loss = contiguous(in_loss, dtype=bool)
    if in_loss.shape != shape:
        raise ValueError(f"in_loss of shape {in_loss.shape}, expected {shape}")
    return in_loss.view(np.uint8)
