#!/usr/bin/env python3
"""Windows for training on few, large samples: time and error.

    python benchmarks/windows.py [--sizes 5x20000 50x20000 1x1000000] [--windows whole 50 200 500]
    python benchmarks/windows.py --images 20x256x2 20x512x2 20x256x8 [--windows whole 32 64]

`--windows coupled` is the default size with ``MPBCFW(couple_windows=True)``.

Synthetic sequences (n x length): 12 labels that last 50 nodes on average, and 32 Gaussian features,
by which 55 % of single nodes are recognized. ChainSSVM with `window_size` as given,
``max_time=100`` and defaults, and logistic regression with Viterbi on counted transitions (add-one
smoothing). Error: share of wrong labels in another sequence of 200,000 nodes. Seconds: CPU time of
training, one thread.

Images (n x side x labels): images of `make_grids`, and ten more for testing. GridCRFSSVM with tiles
of the given number of pixels a side, and a Potts model on the log probabilities of logistic
regression, by minimum cuts or alpha-expansion; its weight, and whether probabilities are divided by
class frequencies, are chosen by the error on the last four training images. Share lost: the
objective of the fit on whole images, relative to the smallest one of all fits, minus 1.

Prints a table, and writes windows.csv into --output.
"""

import argparse
import os
import time
import warnings
from itertools import product

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from reports import Table, command, origin, parsed
from sklearn.linear_model import LogisticRegression

from sstruct import ChainSSVM, GridCRFSSVM
from sstruct._problems.graph.grid_edges import grid_edges
from sstruct.datasets import make_grids
from sstruct.inference import alpha_expansion, graph_cut, viterbi
from sstruct.solvers import MPBCFW

K, F, STAY, DISTANCE = 12, 32, 0.98, 0.3
N_TEST = 200_000
NAMES = {"whole": None, "auto": "auto", "coupled": "auto"}
N_IMAGES = 10
COSTS = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)


def make(model, length, seed):
    """Return features and labels of one sequence of a model (centers, transitions)."""
    centers, transitions = model
    rng = np.random.default_rng(seed)
    ends = np.flatnonzero(np.append(rng.random(length - 1) > STAY, True)) + 1
    labels = np.empty(len(ends), dtype=np.int64)
    label = rng.integers(K)
    for i in range(len(ends)):
        labels[i] = label = rng.choice(K, p=transitions[label])
    y = np.repeat(labels, np.diff(ends, prepend=0))
    return centers[y] + rng.standard_normal((length, F)), y


def make_model():
    rng = np.random.default_rng(0)
    transitions = rng.dirichlet(np.full(K, 0.3), size=K)
    np.fill_diagonal(transitions, 0)
    transitions /= transitions.sum(axis=1, keepdims=True)
    return DISTANCE * rng.standard_normal((K, F)), transitions


def counted(X, y):
    """Train the baseline; return a function that decodes one sequence."""
    flat = np.concatenate(y)
    classifier = LogisticRegression().fit(np.concatenate(X), flat)
    pairs = np.ones((K, K))
    for labels in y:
        np.add.at(pairs, (labels[:-1], labels[1:]), 1)
    edges = np.log(pairs / pairs.sum(axis=1, keepdims=True))
    prior = np.log(np.bincount(flat, minlength=K) / len(flat))
    return lambda x: viterbi(classifier.predict_log_proba(x) - prior, edges)[0]


def cut(X, y):
    """Train the baseline of images; return a function that decodes them."""
    classifier = LogisticRegression().fit(X.reshape(-1, X.shape[-1]), y.ravel())
    edges = grid_edges(*y[0].shape)

    log_prior = np.log(np.bincount(y.ravel()) / y.size)

    def decoded(x, chosen):
        cost, prior_weight = chosen
        scores = -classifier.predict_log_proba(x.reshape(-1, x.shape[-1]))
        scores += prior_weight * log_prior
        costs = np.full(len(edges), cost)
        if scores.shape[1] == 2:
            labels, _ = graph_cut(scores, edges, costs)
        else:
            labels, _ = alpha_expansion(scores, edges, costs, random_state=0, n_starts=1)
        return labels.reshape(x.shape[:2])

    def error(chosen):
        return np.mean([decoded(x, chosen) != labels for x, labels in zip(X[-4:], y[-4:])])

    best = min(product(COSTS, (0.0, 1.0)), key=error)
    return lambda X: np.array([decoded(x, best) for x in X])


def sequences(size):
    """Return training data, a test set, the estimator, and the baseline with its name."""
    n, length = map(int, size.split("x"))
    model = make_model()
    X, y = map(list, zip(*(make(model, length, seed) for seed in range(n)), strict=True))
    x_test, y_test = make(model, N_TEST, 10**6)
    baseline = "logistic regression, counted transitions"
    return X, y, [x_test], [y_test], ChainSSVM, baseline, lambda X, y: list_of(counted(X, y))


def list_of(predict):
    return lambda X: [predict(x) for x in X]


def images(size):
    """Return the same as `sequences`."""
    n, side, n_labels = map(int, size.split("x"))
    X, y = make_grids(n + N_IMAGES, shape=(side, side), n_labels=n_labels, random_state=0)
    return X[:n], y[:n], X[n:], y[n:], GridCRFSSVM, "logistic regression, cut", cut


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", default=["5x20000", "50x20000", "1x1000000"])
    parser.add_argument("--images", nargs="+", help="images instead of sequences")
    parser.add_argument("--windows", nargs="+")
    arguments = parsed(parser)
    warnings.simplefilter("ignore")
    table = Table(arguments.output / "windows.csv", ["data", "method"])
    makes = images if arguments.images else sequences
    windows = ["whole", "32", "64"] if arguments.images else ["whole", "50", "200", "500"]
    for size in arguments.images or arguments.sizes:
        X, y, X_test, y_test, estimator, baseline, train = makes(size)
        rows = []
        for window in arguments.windows or windows:
            window_size = NAMES[window] if window in NAMES else int(window)
            if arguments.images and isinstance(window_size, int):
                window_size **= 2
            more = {"solver": MPBCFW(couple_windows=True)} if window == "coupled" else {}
            fit = estimator(window_size=window_size, max_time=100, random_state=0, **more)
            begin = time.process_time()
            fit.fit(X, y)
            seconds = time.process_time() - begin
            rows.append(
                {
                    "data": size,
                    "method": ", ".join(
                        f"{name}={value}"
                        for name, value in ({"window_size": window_size} | more).items()
                    ),
                    "seconds": f"{seconds:.2f}",
                    "error": f"{1 - fit.score(X_test, y_test):.5f}",
                    "passes": fit.n_iter_,
                    "gap": f"{fit.dual_gap_ / fit.objective_:.4f}",
                    "bound": f"{fit.objective_:.6g}",
                    "objective": getattr(fit, "whole_objective_", fit.objective_),
                }
            )
        begin = time.process_time()
        predict = train(X, y)
        seconds = time.process_time() - begin
        least = min(row["objective"] for row in rows)
        for row in rows:
            # For sequences, lam="auto" depends on the windows, so objectives are not comparable.
            row["share_lost"] = f"{row['objective'] / least - 1:.4f}" if arguments.images else ""
            row["objective"] = f"{row['objective']:.6g}"
        empty = dict.fromkeys(rows[0], "")
        wrong = [found != labels for found, labels in zip(predict(X_test), y_test, strict=True)]
        found = {"seconds": f"{seconds:.2f}", "error": f"{np.mean(wrong):.5f}"}
        rows.append(empty | {"data": size, "method": baseline} | found)
        for row in rows:
            print(*row.values(), sep="  ", flush=True)
            table.put(row | origin(command(), arguments.load))


if __name__ == "__main__":
    main()
