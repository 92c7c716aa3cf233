#!/usr/bin/env python3
"""Time to send 20,000 chains to the worker processes of a grid search.

    python benchmarks/dispatch.py [--samples 20000] [--repeats 5]

Runs GridSearchCV (2 values, 4 folds, 2 processes) with an estimator that does nothing, on lists of
arrays and on Sequences, alternating, after the workers have been started and have imported the
package. Prints a table and JSON.
"""

import argparse
import json
import time
import warnings
from statistics import median

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV

from sstruct import Sequences


class Nothing(BaseEstimator):
    """An estimator whose only cost is to receive its data."""

    def __init__(self, lam=1.0):
        self.lam = lam

    def fit(self, X, y):
        """Do nothing."""
        return self

    def score(self, X, y):
        """Return 0."""
        return 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=20000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    n, length, n_features = arguments.samples, 20, 50
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(n * length, n_features)), rng.integers(0, 5, n * length)
    lengths = np.full(n, length)
    data = {
        "Sequences": (
            Sequences.from_lengths(rows, lengths),
            Sequences.from_lengths(labels, lengths),
        ),
        "lists": (list(rows.reshape(n, length, -1)), list(labels.reshape(n, length))),
    }
    search = GridSearchCV(Nothing(), {"lam": [1.0, 0.1]}, cv=4, n_jobs=2, refit=False)
    warnings.simplefilter("ignore")
    seconds = {name: [] for name in data}
    small = Sequences.from_lengths(rows[:400], np.full(20, 20))
    search.fit(small, list(range(20)))
    for _ in range(arguments.repeats):
        for name, (X, y) in data.items():
            begin = time.perf_counter()
            search.fit(X, y)
            seconds[name].append(time.perf_counter() - begin)
    for name, values in seconds.items():
        print(f"{name:12s} median {median(values):.3f} s   worst {max(values):.3f} s")
    print(json.dumps(seconds))


if __name__ == "__main__":
    main()
