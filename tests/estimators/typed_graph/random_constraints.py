"""Random constraints of the graphs of test_typed_graph."""

from sstruct.constraints import at_least, at_most, exactly_one, excludes, implies
from tests.estimators.typed_graph.test_typed_graph import PAIRS, SIZES
from tests.reference import typed_constraints


def random_constraint(rng):
    """Return a constraint of any kind, of nodes or edges, for labels 0 to K_t - 1."""
    along_edges = rng.random() < 0.5
    if along_edges:
        t, u = list(PAIRS)[rng.integers(len(PAIRS))]
        if t != u and rng.random() < 0.5:
            t, u = u, t
        scope = {"edges": (t, u)}
    else:
        t, u = rng.integers(len(SIZES), size=2).tolist()
        scope = {"nodes": (t, u) if t != u or rng.random() < 0.5 else t}
    kind = rng.integers(5)
    if kind < 2:
        first, second = (int(rng.integers(SIZES[k][0])) for k in (t, u))
        if not along_edges and t == u and first == second:
            return random_constraint(rng)
        return (implies, excludes)[kind](first, second, **scope)
    if not along_edges:
        scope = {"nodes": u}
    K = SIZES[u][0]
    labels = rng.permutation(K)[: rng.integers(1, K + 1)].tolist()
    if kind == 2:
        return exactly_one(labels, **scope)
    return (at_most, at_least)[kind - 3](int(rng.integers(3)), labels, **scope)


def satisfying(constraints, X, y):
    """Return the samples whose labels satisfy all constraints."""
    kept = [
        i
        for i, (graph, labels) in enumerate(zip(X, y, strict=True))
        if all(typed_constraints.satisfies(each, graph, labels) for each in constraints)
    ]
    return [X[i] for i in kept], [y[i] for i in kept]
