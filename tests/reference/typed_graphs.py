"""Joint features and hinge terms of graphs with several types of nodes, by enumeration.

A graph is (list of features by type, {(t, u): (edges, edge features)}); labels are a list of lists
of integers 0 ... K_t - 1 by type, -1 for unknown labels. Weights are in the order of coef (K_t,
F_t) of each type, intercept (K_t,) of each type, edge (G, K_t, K_u) of each pair.
"""

from itertools import product

import numpy as np

from tests.reference.brute_force import Block


def joint_feature(graph, y, sizes, pairs, bias=True):
    """Return phi(x, y); sizes: [(K_t, F_t)]; pairs: {(t, u): G}."""
    features, edges = graph
    coef = [np.zeros(size) for size in sizes]
    intercept = [np.zeros(K) for K, _ in sizes]
    for t, rows in enumerate(features):
        for row, label in zip(rows, y[t], strict=True):
            coef[t][label] += row
            intercept[t][label] += 1
    tables = {(t, u): np.zeros((G, sizes[t][0], sizes[u][0])) for (t, u), G in pairs.items()}
    for (t, u), (ends, values) in edges.items():
        for (a, b), value in zip(ends, values, strict=True):
            tables[t, u][:, y[t][a], y[u][b]] += value
    parts = [*coef, *(intercept if bias else []), *(tables[pair] for pair in sorted(tables))]
    return np.concatenate([part.ravel() for part in parts])


def drop_unlabeled(graph, y):
    """Return the graph of the nodes whose label is known, and their labels."""
    features, edges = graph
    keep = [[v for v, label in enumerate(own) if label >= 0] for own in y]
    place = [{v: k for k, v in enumerate(own)} for own in keep]
    rest = {}
    for (t, u), (ends, values) in edges.items():
        used = [e for e, (a, b) in enumerate(ends) if a in place[t] and b in place[u]]
        joined = [[place[t][ends[e][0]], place[u][ends[e][1]]] for e in used]
        rest[t, u] = np.array(joined).reshape(-1, 2), np.asarray(values)[used]
    features = [np.asarray(rows)[own] for rows, own in zip(features, keep, strict=True)]
    labels = [[own[v] for v in kept] for own, kept in zip(y, keep, strict=True)]
    return (features, rest), labels


def labelings(counts, sizes):
    """Return all labelings of graphs with `counts` nodes of each type, as lists of tuples."""
    return list(product(*[product(range(K), repeat=n) for n, (K, _) in zip(counts, sizes)]))


def blocks(X, y, sizes, pairs, cost, weights=None, bias=True, divided=False):
    """Return the hinge terms; cost[t][k]: of a wrong node of type t with true label k."""
    weights = [1.0] * len(X) if weights is None else list(weights)
    known = [any(label >= 0 for own in labels for label in own) for labels in y]
    total = sum(weight for weight, some in zip(weights, known) if some)
    out = []
    for i, (graph, truth, weight) in enumerate(zip(X, y, weights, strict=True)):
        if not known[i] or weight == 0:
            continue
        graph, truth = drop_unlabeled(graph, truth)
        counts = [len(own) for own in truth]
        scale = 1 / sum(counts) if divided else 1.0
        every = labelings(counts, sizes)
        loss = [
            scale
            * sum(
                cost[t][a]
                for t, own in enumerate(truth)
                for a, b in zip(own, z[t], strict=True)
                if a != b
            )
            for z in every
        ]
        out.append(
            Block(
                sample=i,
                labelings=every,
                phi=np.array([joint_feature(graph, z, sizes, pairs, bias) for z in every]),
                loss=np.array(loss),
                truth=every.index(tuple(map(tuple, truth))),
                weight=weight / total,
            )
        )
    return out
