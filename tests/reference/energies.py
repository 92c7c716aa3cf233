"""Pairwise energies by their definition, with enumeration of all labelings.

Slow and obviously correct; shares no code with the package. Costs are minimized:
E(y) = sum_v node_costs[v, y_v] + sum_e tables[e, y_u, y_v] over edges e = (u, v).
"""

from itertools import product

import numpy as np


def forbid(rng, node, share):
    """Forbid some labels, but not all labels of a node."""
    forbidden = rng.random(node.shape) < share
    forbidden[np.arange(len(node)), rng.integers(0, node.shape[1], len(node))] = False
    return np.where(forbidden, np.inf, node)


def edge_tables(edge_costs, n_edges, n_labels, distance=None):
    """Return the costs of edges as tables (E, K, K).

    edge_costs : such tables, or weights (E,) that multiply `distance` (K, K), by default Potts
    """
    edge_costs = np.asarray(edge_costs, dtype=np.float64)
    if edge_costs.ndim == 1:
        distance = 1.0 - np.eye(n_labels) if distance is None else np.asarray(distance)
        return edge_costs[:, None, None] * distance
    return edge_costs.reshape(n_edges, n_labels, n_labels)


def feature_tables(edge_weights, tables=None, n_labels=2):
    """Return cost_e(a, b) = sum_g edge_weights[e, g] tables[g, a, b]; no tables: Potts."""
    edge_weights = np.asarray(edge_weights, dtype=np.float64)
    if tables is None:
        return edge_tables(edge_weights.reshape(-1), len(edge_weights), n_labels)
    return np.einsum("eg,gab->eab", edge_weights, np.asarray(tables, dtype=np.float64))


def energy(labels, node_costs, edges, tables):
    """Return the energy of one labeling."""
    total = sum(float(costs[label]) for costs, label in zip(node_costs, labels, strict=True))
    for (u, v), table in zip(edges, tables, strict=True):
        total += float(table[labels[u]][labels[v]])
    return total


def labelings(n_nodes, n_labels):
    """Return all labelings, (n_labels ** n_nodes, n_nodes)."""
    return np.array(list(product(range(n_labels), repeat=n_nodes)), dtype=np.int32).reshape(
        -1, n_nodes
    )


def energies(node_costs, edges, tables):
    """Return all labelings and their energies."""
    node_costs = np.asarray(node_costs, dtype=np.float64)
    every = labelings(*node_costs.shape)
    values = np.zeros(len(every))
    for v in range(node_costs.shape[0]):
        values += node_costs[v, every[:, v]]
    for (u, v), table in zip(edges, tables, strict=True):
        values += table[every[:, u], every[:, v]]
    return every, values


def minimum(node_costs, edges, tables):
    """Return the least energy and the labelings that attain it, up to rounding."""
    every, values = energies(node_costs, edges, tables)
    least = values.min()
    return least, every[values <= least + 1e-9 * (1 + np.abs(values).max())]
