"""Enumeration of all matchings of rows and columns, as defined in MatchingSSVM."""

import itertools

import numpy as np

from tests.reference import brute_force


def parts_of(x):
    """Return features and mask of allowed pairs, and features of unmatched rows and columns."""
    if not isinstance(x, dict):
        x = {"features": x}
    features = np.asarray(x["features"], dtype=np.float64)
    if "pairs" in x:
        table = np.zeros((*x["shape"], features.shape[1]))
        allowed = np.zeros(x["shape"], dtype=bool)
        for (r, c), own in zip(x["pairs"], features, strict=True):
            table[r, c], allowed[r, c] = own, True
        features = table
    else:
        allowed = np.ones(features.shape[:2], dtype=bool)
    sides = [
        np.asarray(x.get(key, np.empty((n, 0))), dtype=np.float64)
        for key, n in zip(("unmatched_rows", "unmatched_columns"), allowed.shape, strict=True)
    ]
    return features, allowed, *sides


def all_matchings(allowed, allow_unmatched=True):
    """Yield all matchings as tuples with the column of each row, or -1 if it is unmatched."""
    n_rows, n_columns = allowed.shape
    choices = [[-1, *np.flatnonzero(row).tolist()] for row in allowed]
    for columns in itertools.product(*choices):
        matched = [c for c in columns if c >= 0]
        if len(set(matched)) < len(matched):
            continue
        if allow_unmatched or len(matched) == min(n_rows, n_columns):
            yield columns


def joint_feature(parts, columns, bias):
    """Return the sums of features of pairs, unmatched rows and unmatched columns.

    With `bias`, the number of unmatched rows follows.
    """
    features, _, row_features, column_features = parts
    pairs, unmatched_rows, n_unmatched = (
        np.zeros(features.shape[2]),
        np.zeros(row_features.shape[1]),
        0,
    )
    for r, c in enumerate(columns):
        if c >= 0:
            pairs += features[r, c]
        else:
            unmatched_rows += row_features[r]
            n_unmatched += 1
    unmatched_columns = np.zeros(column_features.shape[1])
    for c in range(features.shape[1]):
        if c not in columns:
            unmatched_columns += column_features[c]
    bias_feature = [n_unmatched] if bias else []
    return np.concatenate([pairs, unmatched_rows, unmatched_columns, bias_feature])


def block(i, x, y, weight, *, allow_unmatched=True, bias=True, hamming=False, in_loss=None):
    """Return the brute_force.Block of a sample, without the rows with y = -2."""
    features, allowed, rows, others = parts_of(x)
    y = np.asarray(y)
    kept = y != -2
    parts, y = (features[kept], allowed[kept], rows[kept], others), y[kept]
    counts = np.ones(len(y), dtype=bool) if in_loss is None else np.asarray(in_loss)
    labelings = list(all_matchings(parts[1], allow_unmatched))
    phi = np.array([joint_feature(parts, columns, bias) for columns in labelings])
    loss = np.array([((np.array(columns) != y) & counts).sum() for columns in labelings], float)
    if hamming:
        loss /= counts.sum()
    return brute_force.Block(i, labelings, phi, loss, labelings.index(tuple(y.tolist())), weight)
