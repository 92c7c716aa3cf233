"""Reference implementation of the constraints of typed graphs.

A labeling is a list of the integer labels of the nodes of each type.
"""

from dataclasses import replace
from itertools import product

import numpy as np


def neighbors_of(graph, t, u):
    """Return, for each node of type t, its neighbors of type u (if t == u, at the second ends)."""
    features, edges = graph
    out = [[] for _ in features[t]]
    for pair, (ends, _) in edges.items():
        for a, b in np.asarray(ends).tolist():
            if pair == (t, u):
                out[a].append(b)
            elif pair == (u, t):
                out[b].append(a)
    return out


def satisfies(constraint, graph, y):
    """Return whether a labeling satisfies a LabelConstraint."""
    most = np.inf if constraint.most is None else constraint.most
    t, u = constraint.edges or (constraint.nodes * 2)[:2]
    if constraint.kind == "count":
        groups = [list(range(len(y[t])))]
        if constraint.edges:
            groups = neighbors_of(graph, t, u)
        counts = [sum(y[u][v] in constraint.labels for v in own) for own in groups if own]
        return all(constraint.least <= n <= most for n in counts)
    first, second = constraint.labels + constraint.without
    having = [v for v, label in enumerate(y[t]) if label == first]
    if constraint.edges:
        neighbors = neighbors_of(graph, t, u)
        other = [y[u][w] for v in having for w in neighbors[v]]
        if constraint.kind == "implies":
            return all(label == second for label in other)
        return second not in other
    if constraint.kind == "implies":
        return not having or second in y[u]
    return not having or second not in y[u]


def extendable(constraint, graph, y, sizes):
    """Return whether the unknown labels (-1) can be chosen such that a constraint is satisfied."""
    choices = [
        [range(sizes[t][0]) if label < 0 else [label] for label in own] for t, own in enumerate(y)
    ]
    every = product(*[list(product(*own)) for own in choices])
    return any(satisfies(constraint, graph, z) for z in every)


def restricted(blocks, X, y, constraints, sizes):
    """Return the blocks of typed_graphs without the labelings that cannot satisfy a constraint."""
    out = []
    for block in blocks:
        i = block.sample

        def completed(z, labels=y[i]):
            parts = [iter(own) for own in z]
            return [
                [next(part) if label >= 0 else -1 for label in own]
                for part, own in zip(parts, labels, strict=True)
            ]

        kept = np.array(
            [
                all(extendable(each, X[i], completed(z), sizes) for each in constraints)
                for z in block.labelings
            ]
        )
        assert kept[block.truth]
        out.append(
            replace(
                block,
                labelings=[z for z, is_kept in zip(block.labelings, kept, strict=True) if is_kept],
                phi=block.phi[kept],
                loss=block.loss[kept],
                truth=int(kept[: block.truth].sum()),
            )
        )
    return out
