"""Graphs by their definition: joint features written out, every labeling enumerated.

Labels are integers 0 ... K - 1; weights are in the order coef (K, F), intercept, edge.
"""

from itertools import product

import numpy as np

from tests.reference.brute_force import Block


def random_edges(rng, n_nodes, density=0.6):
    """Some of all pairs of nodes, in random order and direction; (E, 2)."""
    pairs = [(u, v) for u in range(n_nodes) for v in range(u)]
    edges = [pair if rng.random() < 0.5 else pair[::-1] for pair in pairs if rng.random() < density]
    return rng.permutation(np.array(edges, dtype=np.int32).reshape(-1, 2))


def joint_feature(x, y, edges, features, pairwise, n_labels, bias=True):
    """phi(x, y); "fixed" has no pairwise part."""
    K = n_labels
    x = np.asarray(x, dtype=np.float64)
    coef, intercept = np.zeros((K, x.shape[1])), np.zeros(K)
    for row, label in zip(x, y, strict=True):
        coef[label] += row
        intercept[label] += 1
    parts = [coef, intercept] if bias else [coef]
    G = 0 if features is None else np.shape(features)[1]
    shapes = {"potts": (1,), "contrast": (G,), "full": (K, K), "directed": (G, K, K)}
    if pairwise in shapes:
        edge = np.zeros(shapes[pairwise])
        for e, (u, v) in enumerate(edges):
            a, b = y[u], y[v]
            if pairwise == "potts":
                edge[0] += a != b
            elif pairwise == "contrast":
                edge += (a != b) * features[e]
            elif pairwise == "full":
                edge[a, b] += 0.5
                edge[b, a] += 0.5
            else:
                edge[:, a, b] += features[e]
        parts.append(edge)
    return np.concatenate([part.ravel() for part in parts])


def disagreements(y, edges):
    """Number of edges whose ends have different labels."""
    return sum(y[u] != y[v] for u, v in edges)


def without(graph, y):
    """The graph of the nodes with a label that is not -1, and their labels; None: there is none."""
    x, edges, features, sizes = graph
    keep = np.flatnonzero(np.asarray(y) >= 0)
    if len(keep) == 0:
        return None
    place = {int(v): k for k, v in enumerate(keep)}
    used = [e for e, (u, v) in enumerate(edges) if u in place and v in place]
    edges = np.array([[place[edges[e][0]], place[edges[e][1]]] for e in used]).reshape(-1, 2)
    features = None if features is None else np.asarray(features)[used]
    sizes = None if sizes is None else np.asarray(sizes)[keep]
    return (np.asarray(x)[keep], edges.astype(int), features, sizes), np.asarray(y)[keep]


def blocks(X, y, pairwise, n_labels, cost=None, weights=None, bias=True, divided=False,
           strength=0.0):  # fmt: skip
    """The objective's hinge terms, one a sample: graphs (x, edges, features, sizes), labels."""
    K = n_labels
    cost = 1.0 - np.eye(K) if cost is None else np.asarray(cost)
    weights = [1.0] * len(X) if weights is None else list(weights)
    parts = [without(graph, labels) for graph, labels in zip(X, y, strict=True)]
    total = sum(weight for weight, part in zip(weights, parts) if part is not None)
    out = []
    for i, (part, weight) in enumerate(zip(parts, weights, strict=True)):
        if part is None or weight == 0:
            continue
        (x, edges, features, sizes), truth = part
        sizes = np.ones(len(x)) if sizes is None else sizes
        scale = sizes / sizes.sum() if divided else sizes
        labelings = list(product(range(K), repeat=len(x)))
        fixed = strength * disagreements(truth, edges)
        out.append(
            Block(
                sample=i,
                labelings=labelings,
                phi=np.array(
                    [joint_feature(x, z, edges, features, pairwise, K, bias) for z in labelings]
                ),
                loss=np.array(
                    [
                        sum(s * cost[a, b] for s, a, b in zip(scale, truth, z))
                        - strength * disagreements(z, edges)
                        + fixed
                        for z in labelings
                    ]
                ),
                truth=labelings.index(tuple(int(label) for label in truth)),
                weight=weight / total,
            )
        )
    return out
