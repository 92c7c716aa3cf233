#!/usr/bin/env python3
"""Exact training of graphs, compared with other decoders: time, test error and certificates.

    python benchmarks/exact_training.py [--data horses regions noisy] [--repeat 3]
        [--decoders expansion exact fwmap]

Fits GraphCRFSSVM with each decoder until a relative gap of 0.01. Data: superpixel graphs of
Weizmann horses with two labels that may repel each other (``pairwise="full"``); and planar graphs
of 300 regions with 8 labels, whose features are noisy. The gap of alpha-expansion is not certified.
Columns: CPU seconds (median), their ratio to alpha-expansion, status, objective and dual objective,
test error (of nodes), and the share of training samples whose loss-augmented decoding at the final
weights is proven. One thread. Reads weizmann_horses.npz from SSTRUCT_DATA. Writes a table to the
screen and a CSV into --output.
"""

import argparse
import os
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from reports import Table, command, machine, origin, parsed
from scipy.spatial import Delaunay, cKDTree
from segmentation import Pictures

from sstruct import GraphCRFSSVM

DECODERS = ("expansion", "exact", "fwmap")
LIMIT = 120


def regions(n_images, noise, seed, n_labels=8, n_nodes=300):
    """Return planar graphs of random points in rows, and labels that are constant in regions."""
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(99).normal(size=(n_labels, 5))
    X, y = [], []
    for _ in range(n_images):
        points = rng.random((n_nodes, 2))
        points = points[np.lexsort((points[:, 0], np.floor(17 * points[:, 1])))]
        corners = Delaunay(points).simplices
        edges = np.vstack([corners[:, pair] for pair in ([0, 1], [1, 2], [0, 2])])
        labels = rng.integers(0, n_labels, 14)
        labels = labels[cKDTree(rng.random((14, 2))).query(points)[1]]
        X.append((
            means[labels] + noise * rng.normal(size=(n_nodes, 5)),
            np.unique(np.sort(edges, axis=1), axis=0),
        ))  # fmt: skip
        y.append(labels)
    return X, y


def samples(name):
    """Return the parameters of the model, and the training and test samples."""
    if name == "horses":
        pictures = Pictures("horses-superpixels")
        train, test = ((pictures.X[part], pictures.y[part]) for part in ("train", "test"))
        return {"pairwise": "full", "lam": 0.1, "loss": "hamming"}, train, test
    noise = {"regions": 1.0, "noisy": 2.0}[name]
    return {"pairwise": "potts"}, regions(60, noise, 0), regions(40, noise, 1)


def proven_share(model, X, y):
    """Return the share of samples whose loss-augmented decoding at the weights is proven."""
    problem = model._structure().train(X, y, None).problem
    w = problem.layout.padded(model.w_)
    return np.mean([bool(problem.best_code(i, w, 1.0)[3]) for i in range(problem.n_blocks)])


def measure(name, decoders, repeat):
    """Yield a row for each decoder; the first one is the reference of the ratios."""
    parameters, train, test = samples(name)
    reference = None
    for inference in decoders:
        seconds = []
        for _ in range(repeat):
            begin = time.thread_time()
            model = GraphCRFSSVM(
                inference=inference, random_state=0, max_time=LIMIT, **parameters
            ).fit(*train)
            seconds.append(time.thread_time() - begin)
        wrong = [a != b for a, b in zip(model.predict(test[0]), test[1])]
        row = {
            "data": name,
            "decoder": inference,
            "seconds": float(np.median(seconds)),
            "status": str(model.status_),
            "passes": int(model.n_iter_),
            "objective": float(model.objective_),
            "dual_objective": float(model.dual_objective_),
            "test_error": float(np.concatenate(wrong).mean()),
            "proven": float(proven_share(model, *train)),
        }
        reference = reference or row["seconds"]
        row["ratio"] = row["seconds"] / reference
        print(
            f"{name:10s}{inference:12s}{row['seconds']:9.2f}{row['ratio']:7.1f}"
            f"{row['objective']:12.5g}{row['dual_objective']:12.5g}{row['test_error']:9.4f}"
            f"{row['proven']:8.2f}  {row['status']}",
            flush=True,
        )
        yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = ("horses", "regions", "noisy")
    parser.add_argument("--data", nargs="*", choices=names, default=names)
    parser.add_argument("--decoders", nargs="*", choices=DECODERS, default=DECODERS)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parsed(parser)
    warnings.simplefilter("ignore")
    print(machine())
    print(
        f"{'':22s}{'seconds':>9s}{'ratio':>7s}{'objective':>12s}{'dual':>12s}{'error':>9s}"
        f"{'proven':>8s}"
    )
    table = Table(arguments.output / "exact_training.csv", ("data", "decoder"))
    for name in arguments.data:
        for row in measure(name, arguments.decoders, arguments.repeat):
            table.put(row | origin(command(), arguments.load))


if __name__ == "__main__":
    main()
