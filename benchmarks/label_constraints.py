#!/usr/bin/env python3
"""Time and proofs of predictions of label sets with constraints, and sets that violate them.

    python benchmarks/label_constraints.py [--rows 200] [--predictions 1000000]

Models of 200 labels with 100 constraints of all kinds are trained on random sets that satisfy them,
with no interactions, a tree, and 400 pairs of labels. The script predicts --rows new rows, one by
one, and reports CPU milliseconds and the share of proven predictions. Then it predicts
--predictions rows of random models of 25 labels with 15 constraints and 50 pairs, and counts the
sets that violate a constraint. Writes label_constraints.csv into --output.
"""

import argparse
import time
import warnings

import numpy as np
from reports import Table, command, origin, parsed
from sklearn.exceptions import ConvergenceWarning

from sstruct import MultilabelSSVM
from sstruct._estimators.label_set.interactions import label_decoder
from sstruct._estimators.label_set.partial_sets import satisfying_sets
from sstruct._input.label_constraints import constraint_rows
from sstruct._testing._oracle_access import best_set
from sstruct.constraints import at_least, at_most, exactly_one, excludes, implies, ordinal


def random_constraints(rng, K, count):
    """Return constraints that some sets satisfy."""
    out, kinds = [], ("implies", "excludes", "at_most", "at_least", "exactly_one", "ordinal")
    while len(out) < count:
        kind = kinds[rng.integers(len(kinds))]
        labels = rng.permutation(K)[: rng.integers(3, 9)].tolist()
        new = {
            "implies": lambda labels=labels: [implies(*labels[:2])],
            "excludes": lambda labels=labels: [excludes(*labels[:2])],
            "at_most": lambda labels=labels: [at_most(2, labels)],
            "at_least": lambda labels=labels: [at_least(1, labels)],
            "exactly_one": lambda labels=labels: [exactly_one(labels)],
            "ordinal": lambda labels=labels: ordinal(labels[:3]),
        }[kind]()
        rows = constraint_rows(out + new, np.arange(K))
        try:
            label_decoder("exact", K, None, None, constraints=rows)
        except ValueError:  # no set satisfies them
            continue
        out += new
    return out[:count]


def data(rng, K, n, constraints):
    """Return features and label sets that satisfy the constraints."""
    X = rng.normal(size=(n, 20))
    scores = X @ rng.normal(size=(20, K)) / np.sqrt(20) + rng.normal(size=(n, K)) - 1.0
    sets = (scores > 0).astype(np.int64)
    return X, satisfying_sets(constraint_rows(constraints, np.arange(K)), sets)


def fitted(rng, K, n_constraints, edges, n):
    """Return a trained model."""
    constraints = random_constraints(rng, K, n_constraints)
    X, Y = data(rng, K, n, constraints)
    model = MultilabelSSVM(constraints=constraints, edges=edges, max_iter=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, Y)


def measure(model, X):
    """Return the CPU seconds of each prediction, and whether it is proven."""
    rows = model._model["constraints"]
    edges = model.edges_
    decoder = label_decoder("exact", rows.shape[1] - 2, edges, None, constraints=rows)
    seconds, proven = [], []
    for row in X:
        begin = time.process_time()
        labels = model.predict(row[None])[0]
        seconds.append(time.process_time() - begin)
        code, _, exact = best_set(
            decoder, model.coef_ @ row + model.intercept_, np.ravel(model.edge_coef_)
        )
        assert ((code == 2) == labels).all() or not exact
        proven.append(exact)
    return np.array(seconds), np.array(proven)


def pairs(rng, K, count):
    every = np.stack(np.triu_indices(K, 1), axis=1)
    return every[rng.permutation(len(every))[:count]]


def n_violating(rng, count):
    """Return the number of predictions that violate a constraint, for random models."""
    total, per_model = 0, 10_000
    for _ in range(count // per_model):
        model = fitted(rng, 25, 15, pairs(rng, 25, 50), 100)
        sets = model.predict(3 * rng.normal(size=(per_model, 20)))
        rows = model._model["constraints"]
        sums = sets @ rows[:, 2:].T
        total += int(((sums < rows[:, 0]) | (sums > rows[:, 1])).any(axis=1).sum())
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--predictions", type=int, default=1_000_000)
    arguments = parsed(parser)
    table = Table(arguments.output / "label_constraints.csv", ["labels", "pairs"])
    where = origin(command(), arguments.load)
    rng = np.random.default_rng(0)
    for name, edges in (("none", None), ("tree", "tree"), ("400", pairs(rng, 200, 400))):
        model = fitted(rng, 200, 100, edges, 100)
        seconds, proven = measure(model, rng.normal(size=(arguments.rows, 20)))
        figures = {
            "labels": 200,
            "constraints": 100,
            "pairs": name,
            "predictions": len(seconds),
            "median_ms": f"{1e3 * np.median(seconds):.3g}",
            "largest_ms": f"{1e3 * seconds.max():.3g}",
            "proven": f"{proven.mean():.4g}",
            "violating": "",
        }
        table.put(figures | where)
        print(*figures.values(), flush=True)
    count = arguments.predictions
    begin = time.process_time()
    wrong = n_violating(rng, count)
    figures = dict(labels=25, constraints=15, pairs="50", predictions=count)
    median = f"{1e3 * (time.process_time() - begin) / count:.3g}"
    figures |= dict(median_ms=median, largest_ms="", proven="", violating=wrong)
    table.put(figures | where)
    print(*figures.values())


if __name__ == "__main__":
    main()
