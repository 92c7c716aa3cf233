#!/usr/bin/env python3
"""What do windows save in training on few, long sequences, and what do they cost?

    python benchmarks/windows.py [--sizes 5x20000 50x20000 1x1000000] [--windows whole 50 200 500]

Made sequences (n x length): 12 labels that last 50 nodes on average, and 32 Gaussian features that
alone tell 55 % of them. ChainSSVM with `window_size` as given, ``max_time=100`` and defaults, and
logistic regression with Viterbi on counted transitions (add-one smoothing). Error: share of wrong
labels in another sequence of 200,000 nodes. Seconds: CPU time of training, one thread. Share lost:
how far the objective of whole sequences is above the least one that any of the fits has found.
Writes a table to the screen and windows.csv into --output.
"""

import argparse
import os
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from reports import Table, add_load, add_output, command, origin
from sklearn.linear_model import LogisticRegression

from sstruct import ChainSSVM
from sstruct.inference import viterbi

K, F, STAY, DISTANCE = 12, 32, 0.98, 0.3
N_TEST = 200_000
NAMES = {"whole": None, "auto": "auto"}


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", default=["5x20000", "50x20000", "1x1000000"])
    parser.add_argument("--windows", nargs="+", default=["whole", "50", "200", "500"])
    add_output(parser)
    add_load(parser)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    table = Table(arguments.output / "windows.csv", ["data", "method"])
    model = make_model()
    x_test, y_test = make(model, N_TEST, 10**6)
    for size in arguments.sizes:
        n, length = map(int, size.split("x"))
        X, y = map(list, zip(*(make(model, length, seed) for seed in range(n)), strict=True))
        rows = []
        for window in arguments.windows:
            window_size = NAMES[window] if window in NAMES else int(window)
            fit = ChainSSVM(window_size=window_size, max_time=100, random_state=0)
            begin = time.process_time()
            fit.fit(X, y)
            seconds = time.process_time() - begin
            rows.append(
                {
                    "data": size,
                    "method": f"window_size={window_size}",
                    "seconds": f"{seconds:.2f}",
                    "error": f"{1 - fit.score([x_test], [y_test]):.4f}",
                    "passes": fit.n_iter_,
                    "gap": f"{fit.dual_gap_ / fit.objective_:.4f}",
                    "bound": f"{fit.objective_:.6g}",
                    "objective": getattr(fit, "whole_objective_", fit.objective_),
                }
            )
        begin = time.process_time()
        predict = counted(X, y)
        seconds = time.process_time() - begin
        least = min(row["objective"] for row in rows)
        for row in rows:
            row["share_lost"] = f"{row['objective'] / least - 1:.4f}"
            row["objective"] = f"{row['objective']:.6g}"
        empty = dict.fromkeys(rows[0], "")
        error = f"{(predict(x_test) != y_test).mean():.4f}"
        baseline = {"data": size, "method": "logistic regression, counted transitions"}
        rows.append(empty | baseline | {"seconds": f"{seconds:.2f}", "error": error})
        for row in rows:
            print(*row.values(), sep="  ", flush=True)
            table.put(row | origin(command(), arguments.load))


if __name__ == "__main__":
    main()
