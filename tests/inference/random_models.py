"""Check bounds, energies and proofs of map_mrf on random models against a table of all energies.

python -m tests.inference.random_models --count 10000
"""

import argparse
from collections import Counter
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import numpy as np

from sstruct._problems.graph.grid_edges import grid_edges
from sstruct.inference import MRF, map_mrf
from sstruct.inference._methods import elimination, highs
from sstruct.inference._model.map_result import Record
from tests.reference.mrf import Model, random_costs, random_tree

GRAPHS = ("tree", "cycle", "grid", "dense")
# "forbidding" makes a fifth of the costs infinite, "forbidden" half of them. "ties" and "forbidden"
# are integers, so that many labelings have the same energy.
COSTS = ("real", "ties", "forbidding", "forbidden", "small", "large")
METHODS = ("auto", "exact")
# Allowed algorithms: all, all but elimination, or all but elimination and branch and bound.
ENGINES = ("any", "search", "program")
TOL = 1e-6
ROUNDING = 1e-10


def graph(rng, kind):
    """Return the number of nodes, the largest number of labels, and the edges."""
    n_labels = int(rng.integers(2, 5))
    if kind == "grid":
        n_rows, n_columns = (3, 3) if n_labels == 2 else (2, 3)
        return n_rows * n_columns, n_labels, grid_edges(n_rows, n_columns)
    n_nodes = int(rng.integers(3, 10 if n_labels == 2 else 7))
    if kind == "tree":
        return n_nodes, n_labels, random_tree(rng, n_nodes).edges
    if kind == "cycle":
        return n_nodes, n_labels, np.stack([np.arange(n_nodes), np.roll(np.arange(n_nodes), 1)], 1)
    pairs = [(u, v) for u in range(n_nodes) for v in range(u)]
    return n_nodes, n_labels, np.array(pairs)[rng.random(len(pairs)) < rng.choice([0.6, 1.0])]


def costs(rng, shape, kind):
    """Draw a table of costs."""
    if kind == "forbidden":
        table = random_costs(rng, shape, "integer")
        table[rng.random(shape) < 0.5] = np.inf
        return table
    scale = {"small": 1e-5, "large": 1e5}.get(kind, 1.0)
    known = {"ties": "integer", "forbidding": "forbidding"}
    return scale * random_costs(rng, shape, known.get(kind, "real"))


def random_model(rng):
    """Return a random model with at most 4,096 labelings, and its kinds."""
    kinds = rng.choice(GRAPHS), rng.choice(COSTS), rng.choice(["pairs", "factors"])
    n_nodes, n_labels, edges = graph(rng, kinds[0])
    sizes = rng.integers(2, n_labels + 1, n_nodes)
    factors = []
    for _ in range(rng.integers(1, 4) if kinds[2] == "factors" else 0):
        scope = rng.permutation(n_nodes)[: rng.integers(3, 6)]
        factors.append((scope.tolist(), costs(rng, tuple(sizes[scope].tolist()), kinds[1])))
    node = [costs(rng, (int(size),), kinds[1]) for size in sizes]
    for row in node:
        row[np.isinf(row)] = rng.choice([0.0, np.inf])
    tables = [costs(rng, tuple(sizes[pair].tolist()), kinds[1]) for pair in edges]
    return Model(node, edges, tables, np.ones(len(edges)), factors), kinds


def energies(model):
    """Return the energies of all labelings, with an axis for each node."""
    sizes = [len(row) for row in model.node]
    total = np.zeros(sizes)
    terms = [([v], row) for v, row in enumerate(model.node)]
    terms += list(zip(np.asarray(model.edges).tolist(), model.tables, strict=True))
    for scope, table in terms + model.factors:
        order = np.argsort(scope)
        shape = [sizes[v] if v in scope else 1 for v in range(len(sizes))]
        total += np.transpose(table, order).reshape(shape)
    return total


@contextmanager
def only(engine):
    """Restrict `map_mrf` to the algorithms of one of ENGINES."""
    with ExitStack() as patches:
        # Starting a process for each integer program would take most of the time.
        patches.enter_context(patch.object(highs, "solve", highs.solve_here))
        if engine != "any":
            patches.enter_context(patch.object(elimination, "MAX_TERMS", 0))
        if engine == "program":
            searcher = "sstruct.inference._methods.map_mrf.searcher"
            patches.enter_context(patch(searcher, return_value=None))
        yield


@contextmanager
def recorded_bounds(mrf):
    """Yield a list that receives all bounds of a model, before they are clipped to its energy."""
    bounds, keep = [-np.inf], Record.bound

    def bound(record, value):
        if record.mrf is mrf:  # not a part of it
            bounds.append(value)
        keep(record, value)

    with patch.object(Record, "bound", bound):
        yield bounds


def errors(result, total, bound):
    """Return the errors of a result, given the energies of all labelings and the largest bound."""
    least = total.min()
    rounding = ROUNDING * (1 + abs(least)) if np.isfinite(least) else 0.0
    energy = total[tuple(result.labels)]
    limit = TOL * (1 + abs(energy)) + rounding
    # Some labeling of least energy has the labels of all fixed nodes.
    place = tuple(
        label if is_fixed else slice(None)
        for label, is_fixed in zip(result.labels, result.fixed, strict=True)
    )
    claims = {
        "energy of the labels": np.isclose(result.energy, energy, rtol=ROUNDING, atol=rounding),
        "energy below the minimum": result.energy >= least - rounding,
        "bound above the minimum": max(result.lower_bound, bound) <= least + rounding,
        "bound above the energy": result.lower_bound <= result.energy,
        "proven": result.status != "PROVEN" or result.energy - least <= limit,
        "infeasible": (result.status == "INFEASIBLE") == (least == np.inf),
        "fixed": not result.fixed.any() or total[place].min() - least <= limit,
    }
    return [name for name, holds in claims.items() if not holds]


def check(seed, runs):
    """Solve a random model by methods and engines; return wrong results and the statuses."""
    model, kinds = random_model(np.random.default_rng(seed))
    total, wrong, statuses = energies(model), [], Counter()
    for method, engine in runs:
        mrf = MRF(*model.arguments())
        with only(engine), recorded_bounds(mrf) as bounds:
            result = map_mrf(mrf, method, TOL)
        statuses[method, engine, result.status] += 1
        found = errors(result, total, -np.inf if result.status == "INFEASIBLE" else max(bounds))
        wrong += [(seed, *kinds, method, engine, name) for name in found]
    return wrong, statuses


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    arguments = parser.parse_args()
    statuses, n_wrong = Counter(), 0
    for seed in range(arguments.first, arguments.first + arguments.count):
        # Methods and engines take turns.
        engine = ENGINES[1 + seed // 2 % 2]
        runs = zip(METHODS, ("any", engine) if seed % 2 else (engine, "any"), strict=True)
        wrong, found = check(seed, runs)
        statuses.update(found)
        n_wrong += len(wrong)
        for row in wrong:
            print("wrong:", *row, flush=True)
        if seed % 500 == 499:
            print(f"{seed + 1 - arguments.first} models", flush=True)
    for key, count in sorted(statuses.items()):
        print(*key, count)
    print(f"{arguments.count} models, {n_wrong} wrong results")
    raise SystemExit(n_wrong > 0)


if __name__ == "__main__":
    main()
