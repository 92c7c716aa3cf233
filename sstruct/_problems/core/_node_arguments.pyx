# Design:
# (a) Compiled, since every problem calls these functions, including that of one short prediction.
# (b) Indices that kernels do not check are checked here, in ranges that `check_blocks` has checked.
"""Validation of arguments of problems with labeled nodes, and padding of tables."""

from libc.stdint cimport int32_t, int64_t

import numpy as np

from sstruct._checks.arrays import contiguous


def shaped(values, shape, dtype, name):
    """Return a contiguous array of a dtype; raise ValueError unless it has a given shape."""
    values = contiguous(values, dtype=dtype)
    if values.shape != shape:
        raise ValueError(f"{name} has shape {values.shape}, expected {shape}")
    return values


def of_blocks(values, n_blocks, dtype, default=1):
    """Return one value per block; None means `default` for all blocks."""
    if values is None:
        values = np.empty(n_blocks, dtype)
        values.fill(default)  # numpy.full takes longer for few blocks
        return values
    values = contiguous(values, dtype=dtype)
    if values.shape != (n_blocks,):
        raise ValueError(
            f"values has shape {values.shape}, expected ({n_blocks},), one per block"
        )
    return values


def check_node_weights(weights, n_rows):
    """Return the factor of each node's cost as float64; None means ones."""
    if weights is None:
        return np.ones(n_rows)
    weights = shaped(weights, (n_rows,), np.float64, "node_weight")
    wrong = weights[~(np.isfinite(weights) & (weights >= 0))]
    if len(wrong):
        raise ValueError(f"node_weight must be finite and nonnegative, found {wrong[0]}")
    return weights


def sums_over_blocks(values, start, length):
    """Return the sum over the rows of each block; a block may have none."""
    sums = np.zeros(len(start))
    some = np.flatnonzero(length)
    # Alternating first rows and ends; sums between blocks are dropped.
    cuts = np.empty(2 * len(some), dtype=np.intp)
    cuts[::2] = start[some]
    cuts[1::2] = cuts[::2] + length[some]
    if len(cuts):
        sums[some] = np.add.reduceat(np.concatenate([values, [0.0]]), cuts)[::2]
    return sums


def padded(table, shape, width, name):
    """Return a float64 table with its rows padded by zeros to `width` entries."""
    table = np.asarray(table, dtype=np.float64)
    if table.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, found {table.shape}")
    out = np.zeros((shape[0], width))
    out[:, : shape[1]] = table
    return out


def check_labels(labels, start, length, n_rows, n_labels):
    """Return int32 labels of all rows; labels in blocks, of valid int64 ranges, must be valid."""
    labels = shaped(labels, (n_rows,), np.int32, "labels")
    cdef const int32_t[::1] label = labels
    cdef const int64_t[::1] first = start, count = length
    cdef int32_t least = n_labels - 1, most = 0
    cdef Py_ssize_t i, r
    for i in range(first.shape[0]):
        for r in range(first[i], first[i] + count[i]):
            least, most = min(least, label[r]), max(most, label[r])
    if least < 0 or most >= n_labels:
        raise ValueError(
            f"labels must lie between 0 and {n_labels - 1}, found {least} to {most}")
    return labels


def check_known(known, shape, sizes):
    """Return known labels as int32, with -1 for unknown ones; None means that all are unknown.

    sizes : numbers of labels, broadcast against `shape`
    """
    if known is None:
        return np.full((1,) * len(shape), -1, np.int32)
    known = shaped(known, shape, np.int32, "known")
    if (known < -1).any() or (known >= sizes).any():
        raise ValueError(
            f"known must contain valid labels, or -1 for unknown ones, found {known.min()} to "
            f"{known.max()}"
        )
    return known


def check_in_loss(in_loss, shape):
    """Return which labels count in the loss as uint8; None means that all do."""
    if in_loss is None:
        return np.ones((1,) * len(shape), np.uint8)
    return shaped(in_loss, shape, bool, "in_loss").view(np.uint8)
