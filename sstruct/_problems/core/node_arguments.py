"""What problems with labeled nodes share: values of blocks, padded tables, names for weights."""

import numpy as np

from sstruct._checks.arrays import contiguous, real_array
from sstruct._checks.magnitudes import LARGEST


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


def weight_views(w, n_labels, n_features, terms):
    """Name the parts of weights in the oracle's layout, without a copy.

    Parameters
    ----------
    w : ndarray of shape (n_weights,)
    terms : tuple of bool
        Whether there are intercepts, boundaries (start and end), transitions.

    Returns
    -------
    dict
        coef (K, F), and those that exist of intercept, start, end (K,) and edge (K, K), in the
        order of the public weight vector.
    """
    bias, boundaries, transitions = terms
    n_rows = n_features + bias + 2 * boundaries + n_labels * transitions
    rows = w.reshape(n_rows, -1)[:, :n_labels]
    views, at = {"coef": rows[:n_features].T}, n_features
    for name, exists in (("intercept", bias), ("start", boundaries), ("end", boundaries)):
        if exists:
            views[name] = rows[at]
            at += 1
    if transitions:
        views["edge"] = rows[at:]
    return views


def join_views(views):
    """Put the parts one after another: the public weight vector."""
    return np.concatenate([part.ravel() for part in views.values()])


def fill_views(views, public):
    """Undo `join_views`, into the array that the views are of."""
    expected = (sum(part.size for part in views.values()),)
    if np.shape(public) != expected:
        raise ValueError(f"weights of shape {np.shape(public)}, expected {expected}")
    at = 0
    for part in views.values():
        part[...] = np.reshape(public[at : at + part.size], part.shape)
        at += part.size


def padded_bounds(problem, bounds):
    """Return bounds of the public weight vector in a problem's layout, infinite elsewhere.

    Raises
    ------
    ValueError
        If they do not have shape (2, n_weights), or leave no finite weight between them.
    """
    bounds = real_array(bounds, "bounds")
    out = np.full((2, problem.n_weights), [[-np.inf], [np.inf]])
    size = sum(part.size for part in problem.weight_views(out[0]).values())
    if bounds.shape != (2, size):
        raise ValueError(f"bounds of shape {bounds.shape}, expected {(2, size)}, as w_ is ordered")
    wrong = ~(bounds[0] <= bounds[1]) | (bounds[0] == np.inf) | (bounds[1] == -np.inf)
    if wrong.any():
        at = np.flatnonzero(wrong)[0]
        raise ValueError(
            f"bounds of weight {at} are {bounds[0, at]:g} and {bounds[1, at]:g}, "
            "expected lower <= upper with a finite number between"
        )
    beyond = (bounds[0] > LARGEST) | (bounds[1] < -LARGEST)
    if beyond.any():
        at = np.flatnonzero(beyond)[0]
        raise ValueError(
            f"bounds of weight {at} are {bounds[0, at]:g} and {bounds[1, at]:g}: all between is "
            f"beyond {LARGEST:g}, whose square is a float64; scale the features"
        )
    for k in range(2):
        fill_views(problem.weight_views(out[k]), bounds[k])
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


def graph_weight_views(w, n_labels, n_features, bias, shape):
    """Name the parts of weights of nodes and edges: coef, intercept, edge; no copies."""
    size = int(np.prod(shape)) if shape else 0
    views = weight_views(w[: len(w) - size], n_labels, n_features, (bias, False, False))
    if shape:
        views["edge"] = w[len(w) - size :].reshape(shape)
    return views
