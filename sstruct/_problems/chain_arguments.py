"""What a ChainProblem is given, checked and brought into the layout of its compiled code."""

import numpy as np


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


def of_blocks(values, n_blocks, dtype):
    """Return one value a block; None: ones."""
    if values is None:
        return np.ones(n_blocks, dtype=dtype)
    values = np.ascontiguousarray(values, dtype=dtype)
    if values.shape != (n_blocks,):
        raise ValueError(f"{values.shape} values, expected one for each of {n_blocks} blocks")
    return values


def padded(table, shape, width, name):
    """Return a float64 table with its rows padded by zeros to `width` entries."""
    table = np.asarray(table, dtype=np.float64)
    if table.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, found {table.shape}")
    out = np.zeros((shape[0], width))
    out[:, : shape[1]] = table
    return out


def penalties(mask, shape, width, name):
    """Return 0 where a mask allows and -inf where it forbids; None allows everything."""
    if mask is None:
        mask = np.ones(shape, dtype=bool)
    return padded(np.where(mask, 0.0, -np.inf), shape, width, name)


def unpad_weights(w, n_labels, n_features, width):
    """Turn weights from the oracle's layout into coef (K, F), intercept, start, end, edge."""
    rows = w.reshape(-1, width)[:, :n_labels]
    out = np.empty(rows.size)
    size = n_labels * n_features
    out[:size].reshape(n_labels, n_features)[...] = rows[:n_features].T
    out[size:].reshape(-1, n_labels)[...] = rows[n_features:]
    return out


def pad_weights(w, n_labels, n_features, width, n_weights):
    """Undo `unpad_weights`; `n_weights` is the length in the oracle's layout."""
    w = np.asarray(w, dtype=np.float64)
    out = np.zeros((n_weights // width, width))
    if w.shape != (len(out) * n_labels,):
        raise ValueError(f"weights of shape {w.shape}, expected {(len(out) * n_labels,)}")
    size = n_labels * n_features
    out[:n_features, :n_labels] = w[:size].reshape(n_labels, n_features).T
    out[n_features:, :n_labels] = w[size:].reshape(-1, n_labels)
    return out.reshape(-1)
