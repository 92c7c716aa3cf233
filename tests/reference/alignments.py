"""Enumeration of all alignments of two sequences, as defined in AlignmentSSVM."""

import itertools

import numpy as np

from tests.reference import brute_force


def every(n, m):
    """Return all alignments of n and m positions as tuples of columns, -1 if unaligned."""
    for k in range(min(n, m) + 1):
        for rows in itertools.combinations(range(n), k):
            for columns in itertools.combinations(range(m), k):
                out = [-1] * n
                for r, c in zip(rows, columns, strict=True):
                    out[r] = c
                yield tuple(out)


def gaps(columns, m, local):
    """Return the lengths of the gaps of the first and of the second sequence."""
    pairs = [(r, c) for r, c in enumerate(columns) if c >= 0]
    if not local:
        pairs = [(-1, -1), *pairs, (len(columns), m)]
    steps = [(b[0] - a[0] - 1, b[1] - a[1] - 1) for a, b in itertools.pairwise(pairs)]
    return tuple([length for length in lengths if length] for lengths in zip(*steps)) or ([], [])


def score(scores, columns, opening, extending, local):
    """Return the score of an alignment; `opening` and `extending` have a value per sequence."""
    total = sum(scores[r, c] for r, c in enumerate(columns) if c >= 0)
    for lengths, first, more in zip(gaps(columns, scores.shape[1], local), opening, extending):
        total += sum(first + (length - 1) * more for length in lengths)
    return total


def parts_of(x):
    """Return the features of pairs (n, m, F), and both sequences or None, of a sample."""
    if isinstance(x, tuple):
        x = {"sequences": x}
    elif not isinstance(x, dict):
        x = {"features": x}
    pair = x.get("sequences")
    if "features" in x:
        return np.asarray(x["features"], dtype=np.float64), pair
    return np.empty((*map(len, pair), 0)), pair


def joint_feature(x, columns, *, symbols=None, symmetric=True, bias=False, local=False):
    """Return the sums of features, and the counts of pairs of symbols, pairs, and gap positions."""
    features, pair = parts_of(x)
    pairs = [(r, c) for r, c in enumerate(columns) if c >= 0]
    total = sum((features[p] for p in pairs), np.zeros(features.shape[2]))
    counts = []
    if symbols is not None:
        table = {}
        for a, b in itertools.product(symbols, symbols):
            if not symmetric or symbols.index(a) <= symbols.index(b):
                table[a, b] = 0.0
        for r, c in pairs:
            key = pair[0][r], pair[1][c]
            table[key if key in table else key[::-1]] += 1
        counts = list(table.values())
    lengths = gaps(columns, features.shape[1], local)
    opened = [float(len(own)) for own in lengths]
    more = [float(sum(own)) - len(own) for own in lengths]
    if symmetric:
        opened, more = [sum(opened)], [sum(more)]
    return np.concatenate([total, counts, [len(pairs)] if bias else [], opened, more])


def block(i, x, y, weight, *, hamming=False, in_loss=None, **form):
    """Return the brute_force.Block of a sample, with y as columns."""
    n, m, _ = parts_of(x)[0].shape
    labelings, y = list(every(n, m)), np.asarray(y)
    counts = np.ones(n, dtype=bool) if in_loss is None else np.asarray(in_loss)
    phi = np.array([joint_feature(x, columns, **form) for columns in labelings])
    loss = np.array([((np.array(columns) != y) & counts).sum() for columns in labelings], float)
    if hamming:
        loss /= counts.sum()
    return brute_force.Block(i, labelings, phi, loss, labelings.index(tuple(y.tolist())), weight)
