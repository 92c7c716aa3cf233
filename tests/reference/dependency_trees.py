"""Enumeration of dependency trees by their definition, and the planes of DependencySSVM."""

from functools import cache
from itertools import product

import numpy as np
from scipy import sparse

from tests.reference.brute_force import Block


def is_tree(heads):
    """Return whether every token, numbered from 1, descends from the root, 0."""
    for token in range(1, len(heads) + 1):
        seen = set()
        while token != 0:
            if token in seen:
                return False
            seen.add(token)
            token = heads[token - 1]
    return True


def is_projective(heads):
    """Return whether all tokens between a head and its dependent descend from the head."""
    for d, h in enumerate(heads, 1):
        for t in range(min(d, h) + 1, max(d, h)):
            while t not in (0, h):
                t = heads[t - 1]
            if t != h:
                return False
    return True


@cache
def every(n, projective=False, single_root=True):
    """Return all trees of n tokens, as tuples of heads."""
    return [
        heads
        for heads in product(range(n + 1), repeat=n)
        if is_tree(heads)
        and (not single_root or heads.count(0) == 1)
        and (not projective or is_projective(heads))
    ]


def parts_of(x):
    """Return features and label features by arc (head, dependent), and the number of tokens."""
    if not isinstance(x, dict):
        x = {"features": x}
    features, others = (
        table.toarray() if sparse.issparse(table) else np.asarray(table, dtype=np.float64)
        for table in (x["features"], x.get("label_features", x["features"]))
    )
    if "arcs" in x:
        arcs = [tuple(arc) for arc in np.asarray(x["arcs"]).tolist()]
        n = max((d for _, d in arcs), default=0)
        return dict(zip(arcs, features)), dict(zip(arcs, others)), n
    n = len(features)
    arcs = [(h, d) for d in range(1, n + 1) for h in range(n + 1) if h != d]
    tables = ({(h, d): table[d - 1, h] for h, d in arcs} for table in (features, others))
    return (*tables, n)


def joint_feature(parts, heads, labels, n_labels):
    """Return the sum of the features of arcs, and of the label features of each label, (K, E)."""
    rows, others, _ = parts
    arcs = sum(rows[h, d] for d, h in enumerate(heads, 1))
    if n_labels == 0:
        return arcs
    own = np.zeros((n_labels, len(next(iter(others.values())))))
    for d, (h, label) in enumerate(zip(heads, labels), 1):
        own[label] += others[h, d]
    return np.concatenate([arcs, own.ravel()])


def block(
    i, x, heads, weight, labels=None, n_labels=0, *, projective=False, single_root=True,
    hamming=False, in_loss=None,
):  # fmt: skip
    """Return the brute_force.Block of a sentence; labels are indices."""
    parts = parts_of(x)
    rows, _, n = parts
    heads = tuple(np.asarray(heads).tolist())
    named = [(0,) * n] if n_labels == 0 else list(product(range(n_labels), repeat=n))
    labelings = [
        (tree, names)
        for tree in every(n, projective, single_root)
        if all((h, d) in rows for d, h in enumerate(tree, 1))
        for names in named
    ]
    phi = np.array([joint_feature(parts, *labeling, n_labels) for labeling in labelings])
    names = (0,) * n if n_labels == 0 else tuple(np.asarray(labels).tolist())
    counts = np.ones(n, dtype=bool) if in_loss is None else np.asarray(in_loss)
    errors = [
        [(h, label) != true for h, label, true in zip(*labeling, list(zip(heads, names)))]
        for labeling in labelings
    ]
    loss = (np.array(errors) & counts).sum(axis=1).astype(float)
    if hamming:
        loss /= counts.sum()
    return Block(i, labelings, phi, loss, labelings.index((heads, names)), weight)
