"""Slow reference implementations of MAP inference for models with a label set per node.

They enumerate all labelings, or solve the linear program over the local polytope with HiGHS, and
share no code with the package. The energy is

    E(y) = sum_v node[v][y_v] + sum_e weights[e] tables[e][y_u, y_v] + sum_f table_f[y_scope]

where a cost of +inf forbids a labeling.
"""

from dataclasses import dataclass, field
from itertools import product

import numpy as np
from scipy.optimize import linprog


@dataclass
class Model:
    node: list
    edges: np.ndarray
    tables: list
    weights: np.ndarray
    factors: list = field(default_factory=list)

    def arguments(self):
        """Return the arguments of `sstruct.inference.MRF`."""
        return self.node, self.edges, self.tables, self.weights, self.factors


def energy(model, y):
    """Return the energy of a labeling."""
    total = sum(float(costs[label]) for costs, label in zip(model.node, y, strict=True))
    for (u, v), table, weight in zip(model.edges, model.tables, model.weights, strict=True):
        total += float(weight * table[y[u], y[v]])
    for scope, table in model.factors:
        total += float(table[tuple(y[v] for v in scope)])
    return total


def minimum(model):
    """Return the lowest energy of all labelings."""
    return min(energy(model, y) for y in product(*(range(len(costs)) for costs in model.node)))


def random_costs(rng, shape, kind):
    """Draw costs. `kind` is "real", "integer" (with ties) or "forbidding" (some are +inf)."""
    if kind == "integer":
        return rng.integers(-2, 3, shape).astype(float)
    costs = rng.normal(size=shape)
    if kind == "forbidding":
        costs[rng.random(shape) < 0.2] = np.inf
    return costs


def random_form(rng, n_labels, form):
    """Draw a square table of pairwise costs. `form` is "potts", "linear" or "quadratic"."""
    line = np.abs(np.subtract.outer(np.arange(n_labels), np.arange(n_labels))).astype(float)
    if form == "potts":
        return np.where(line == 0, rng.normal(), 3 + rng.random())
    steps = line if form == "linear" else line**2
    slope = 0.2 + rng.random()
    return np.minimum(slope * steps, slope * rng.integers(1, 2 + n_labels))


def random_model(rng, n_nodes, density, kind="real", max_labels=4, form=None, n_factors=0):
    """Draw a graph with a table per edge or, if `form` is given, one table for all edges."""
    pairs = np.array([(u, v) for u in range(n_nodes) for v in range(u)], dtype=np.int32)
    pairs = rng.permutation(pairs.reshape(-1, 2)[rng.random(len(pairs)) < density])
    flipped = rng.random(len(pairs)) < 0.5
    pairs[flipped] = pairs[flipped][:, ::-1]
    sizes = rng.integers(1, max_labels + 1, n_nodes)
    if form is not None:
        sizes[:] = max_labels
    node = [random_costs(rng, int(size), kind) for size in sizes]
    if form is not None:
        tables = [random_form(rng, max_labels, form)] * len(pairs)
        weights = 0.1 + rng.random(len(pairs))
    else:
        tables = [random_costs(rng, tuple(sizes[pair].tolist()), kind) for pair in pairs]
        weights = np.ones(len(pairs))
    factors = []
    for _ in range(n_factors):
        scope = rng.permutation(n_nodes)[: rng.integers(3, 6)]
        if len(scope) >= 3:
            shape = tuple(sizes[scope].tolist())
            factors.append((scope.tolist(), random_costs(rng, shape, kind)))
    return Model(node, pairs, tables, weights, factors)


def random_tree(rng, n_nodes, kind="real", max_labels=4):
    """Draw a tree with nodes in random order, without factors."""
    place = rng.permutation(n_nodes)
    edges = [(place[v], place[rng.integers(v)]) for v in range(1, n_nodes)]
    edges = np.array(edges, dtype=np.int32).reshape(-1, 2)
    sizes = rng.integers(1, max_labels + 1, n_nodes)
    return Model(
        [random_costs(rng, int(size), kind) for size in sizes],
        edges,
        [random_costs(rng, tuple(sizes[pair].tolist()), kind) for pair in edges],
        np.ones(len(edges)),
    )


def local_polytope(model):
    """Solve the linear program over node and edge marginals, for a model without factors.

    Return its value, or +inf if it is infeasible.
    """
    costs, rows, sums = [], [], []
    at, n = [], 0
    for node in model.node:
        at.append(n)
        n += len(node)
        costs.append(node)
    for (u, v), table, weight in zip(model.edges, model.tables, model.weights, strict=True):
        for axis, end in ((0, u), (1, v)):
            for label in range(table.shape[axis]):
                entries = n + np.arange(table.size).reshape(table.shape).take(label, axis=axis)
                rows.append((entries, [at[end] + label]))
                sums.append(0.0)
        n += table.size
        costs.append(weight * table.ravel())
    for node, first in zip(model.node, at, strict=True):
        rows.append((first + np.arange(len(node)), []))
        sums.append(1.0)
    matrix = np.zeros((len(rows), n))
    for row, (plus, minus) in zip(matrix, rows, strict=True):
        row[plus] = 1
        row[minus] = -1
    costs = np.concatenate(costs)
    allowed = np.isfinite(costs)
    result = linprog(
        costs[allowed], A_eq=matrix[:, allowed], b_eq=sums, bounds=(0, None), method="highs"
    )
    assert result.status in (0, 2), result.message
    return result.fun if result.status == 0 else np.inf
