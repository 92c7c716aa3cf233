"""Maxima of pairwise scores of label sets, by enumeration and by linear programming (HiGHS).

The linear program is over the local polytope. This module shares no code with the package.

f(y) = sum_k node[k] y_k + sum_e tables[e, y_u, y_v] over edges e = (u, v), maximized.
"""

import numpy as np
from scipy.optimize import linprog

from tests.reference.energies import labelings


def as_tables(edge_scores):
    """Return tables (E, 2, 2) from tables (E, 4), or from scores (E,) of both labels on."""
    edge_scores = np.asarray(edge_scores, dtype=np.float64)
    if edge_scores.ndim == 1:
        return edge_scores[:, None, None] * np.array([[0.0, 0.0], [0.0, 1.0]])
    return edge_scores.reshape(-1, 2, 2)


def set_scores(node, edges, edge_scores):
    """Return all label sets (2 ** K, K) and their scores."""
    every = labelings(len(node), 2)
    scores = every @ np.asarray(node, dtype=np.float64)
    for (u, v), table in zip(edges, as_tables(edge_scores), strict=True):
        scores = scores + table[every[:, u], every[:, v]]
    return every, scores


class LocalPolytope:
    """Points are vectors of K values of labels, and 4 masses (00, 01, 10, 11) of each edge."""

    def __init__(self, n_labels, edges):
        size = n_labels + 4 * len(edges)
        self.size, self.rows, self.sums = size, [], []
        for e, (u, v) in enumerate(edges):
            at = n_labels + 4 * e
            for columns, marginal, total in (
                ((at, at + 1, at + 2, at + 3), None, 1.0),
                ((at + 2, at + 3), u, 0.0),
                ((at + 1, at + 3), v, 0.0),
            ):
                row = np.zeros(size)
                row[list(columns)] = 1
                if marginal is not None:
                    row[marginal] = -1
                self.rows.append(row)
                self.sums.append(total)

    def maximum(self, objective, rows=None, ends=None):
        """Return (value, point) of the maximum subject to rows @ point <= ends, or None."""
        answer = linprog(
            -np.asarray(objective),
            A_eq=np.array(self.rows) if self.rows else None,
            b_eq=np.array(self.sums) if self.rows else None,
            A_ub=rows,
            b_ub=ends,
            bounds=(0, 1),
        )
        assert answer.status in (0, 2), answer.message
        return (-answer.fun, answer.x) if answer.status == 0 else None

    def contains(self, point, tolerance=1e-12):
        """Return whether a point satisfies all constraints."""
        inside = (point >= -tolerance).all() and (point <= 1 + tolerance).all()
        return inside and (
            not self.rows or np.abs(np.array(self.rows) @ point - self.sums).max() <= tolerance
        )


def point_of_code(code, n_labels, edges):
    """Return the point of the polytope for a half-integral code, with all four masses."""
    q = code[:n_labels] / 2
    bits = np.unpackbits(
        np.ascontiguousarray(code[n_labels:]).astype("<i4").view(np.uint8), bitorder="little"
    )
    masses = []
    for e, (u, v) in enumerate(edges):
        on = bits[e] / 2 if code[u] == code[v] == 1 else q[u] * q[v]
        masses.append([1 - q[u] - q[v] + on, q[v] - on, q[u] - on, on])
    return np.concatenate([q, np.ravel(masses)])


def random_scores(rng, n_labels, density, integer, tables):
    """Return node scores (K,), edges (E, 2) in random order and direction, and edge scores."""
    pairs = np.array([(u, v) for u in range(n_labels) for v in range(u)], dtype=np.int32)
    pairs = rng.permutation(pairs.reshape(-1, 2)[rng.random(len(pairs)) < density])
    turned = rng.random(len(pairs)) < 0.5
    pairs[turned] = pairs[turned][:, ::-1]
    shape = (len(pairs), 4) if tables else len(pairs)
    if integer:
        node, edge = rng.integers(-3, 4, n_labels), rng.integers(-3, 4, shape)
    else:
        node, edge = rng.normal(size=n_labels), rng.normal(size=shape)
    return node.astype(float), np.ascontiguousarray(pairs), edge.astype(float)
