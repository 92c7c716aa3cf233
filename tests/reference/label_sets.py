"""Joint features, scores and losses of label sets, computed by definition and enumeration.

A set is a tuple of K zeros and ones. Edges are pairs (u, v), u < v.
"""

from itertools import product

import numpy as np

from tests.reference.brute_force import Block


def random_edges(rng, K, share=0.6):
    pairs = [(u, v) for u in range(K) for v in range(u + 1, K)]
    return np.array([p for p in pairs if rng.random() < share], dtype=np.int64).reshape(-1, 2)


def random_forest(rng, K):
    """Return edges without a cycle, with labels in any order."""
    names = rng.permutation(K)
    edges = [(names[rng.integers(k)], names[k]) for k in range(1, K) if rng.random() < 0.8]
    return np.array(edges, dtype=np.int64).reshape(-1, 2)


def random_parents(rng, K):
    names = rng.permutation(K)
    parents = np.full(K, -1)
    for k in range(1, K):
        if rng.random() < 0.7:
            parents[names[k]] = names[rng.integers(k)]
    return parents


def random_constraints(rng, K, count):
    """Return rows that consist of a lower bound, an upper bound, and a sign for each label."""
    rows = np.zeros((count, K + 2), dtype=np.int32)
    for row in rows:
        n = rng.integers(1, min(K, 6) + 1)
        row[2 + rng.choice(K, n, replace=False)] = rng.choice([-1, 1, 1, 1], n)
        least, most = -(row[2:] < 0).sum(), (row[2:] > 0).sum()
        row[:2] = np.sort(rng.integers(least, most + 1, 2))
    return rows


def satisfies(y, constraints):
    totals = constraints[:, 2:] @ np.array(y)
    return bool(((totals >= constraints[:, 0]) & (totals <= constraints[:, 1])).all())


def label_sets(K, parents=None, constraints=None):
    """Return all sets that satisfy the constraints, or contain the ancestors of their labels."""
    sets = product((0, 1), repeat=K)
    if constraints is not None:
        return [y for y in sets if satisfies(y, constraints)]
    if parents is None:
        return list(sets)
    return [y for y in sets if all(not y[k] or p < 0 or y[p] for k, p in enumerate(parents))]


def score(theta, edges, pair, y):
    """Return the score of a set (K,), or the scores of sets (n, K)."""
    y, edges = np.asarray(y, dtype=bool), np.asarray(edges, dtype=int).reshape(-1, 2)
    return y @ theta + (y[..., edges[:, 0]] & y[..., edges[:, 1]]) @ pair


def joint_feature(x, y, edges=(), pairwise="and", bias=True):
    """Return phi(x, y) in the order coef (K, F), intercept, edge (E,) or (E, 2, 2)."""
    y, edges = np.array(y), np.asarray(edges, dtype=int).reshape(-1, 2)
    pairs = np.eye(4)[2 * y[edges[:, 0]] + y[edges[:, 1]]]
    if pairwise == "and":
        pairs = pairs[:, 3]
    return np.concatenate([np.outer(y, x).ravel(), y if bias else [], pairs.ravel()])


def loss(truth, y, cost):
    """Return the loss of y.

    cost : (2, K), the costs of errors for labels that are absent, and present, in the truth
    """
    truth = np.asarray(truth)
    return (truth != y) @ np.asarray(cost)[truth, np.arange(len(truth))]


def blocks(X, Y, edges=(), pairwise="and", bias=True, cost=None, weights=None, parents=None,
           factor=None, constraints=None):  # fmt: skip
    """Return the hinge terms of the objective.

    factor : the class weight of each sample, or None
    """
    n, K = np.shape(Y)
    weights = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    factor = np.ones(n) if factor is None else factor
    cost = np.ones((2, K)) if cost is None else cost
    allowed = label_sets(K, parents, constraints)
    out = []
    for i in range(n):
        if weights[i] * factor[i] == 0:
            continue
        truth = tuple(int(v) for v in Y[i])
        out.append(
            Block(
                sample=i,
                labelings=allowed,
                phi=np.array([joint_feature(X[i], y, edges, pairwise, bias) for y in allowed]),
                loss=np.array([loss(truth, y, cost) for y in allowed]),
                truth=allowed.index(truth),
                weight=weights[i] / weights.sum() * factor[i],
            )
        )
    return out
