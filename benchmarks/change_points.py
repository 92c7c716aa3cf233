#!/usr/bin/env python3
"""Does a learned penalty find more change points than a penalty of ruptures, and how fast?

    python benchmarks/change_points.py [--kinds mean variance trend] [--seeds 1]

For each kind of make_change_points and each seed, 20 signals for training and 60 for the test. The
F1 score of change points within 5 nodes, and the seconds to predict the test signals, of

* "learned": ChangePointSSVM with its default parameters, and "learned, one cost": with the cost of
  the kind and without weights of durations;
* "chosen": Pelt of ruptures with the cost of the kind ("l2", "normal", or "linear" on time) and the
  one of 8 penalties with the best F1 score on the training signals;
* "chosen, scaled": the same on signals divided by their noise level;
* "BIC": Pelt with the penalty of the Bayesian information criterion for each signal: the number of
  parameters of a segment, including its start, times log(length), for squared errors divided by
  the estimated variance of the noise.

min_size is 2 and jump 1 for ruptures. Each kind and method is a row of change_points.csv in
--output, with means over seeds. Needs ruptures.
"""

import argparse
import os
from time import perf_counter

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import ruptures
from reports import Table, add_load, add_output, command, origin

from sstruct import ChangePointSSVM
from sstruct._estimators.segment.change_samples import noise_level
from sstruct.datasets import make_change_points
from sstruct.metrics import boundary_f1_score

N_TRAIN, N_TEST = 20, 60
MODELS = {"mean": "l2", "variance": "normal", "trend": "linear"}
N_PARAMETERS = {"mean": 2, "variance": 3, "trend": 3}
# In units of the variance of the noise, or of twice the log-likelihood.
PENALTIES = np.geomspace(6, 60, 8)


def scaled(x):
    return x / noise_level(x[:, np.newaxis])


def fitted(kind, x):
    """Return Pelt for one signal."""
    if kind == "trend":
        x = np.column_stack([x, np.arange(len(x)), np.ones(len(x))])
    return ruptures.Pelt(model=MODELS[kind], min_size=2, jump=1).fit(x)


def found_by(kind, X, penalties):
    """Return the change points of each signal, and the seconds of a call."""
    start = perf_counter()
    found = [fitted(kind, x).predict(pen)[:-1] for x, pen in zip(X, penalties, strict=True)]
    return found, perf_counter() - start


def chosen(kind, train, test, scale):
    """Return test F1 and seconds of the best penalty on the training signals."""
    X, y = train
    # Without scaling, the unit of a signal may be anything.
    unit = (
        1.0 if scale or kind == "variance" else np.median([noise_level(x[:, None]) for x in X]) ** 2
    )
    X, X_test = ([scaled(x) if scale else x for x in of_part] for of_part in (X, test[0]))
    models = [fitted(kind, x) for x in X]
    best = max(
        unit * PENALTIES,
        key=lambda pen: boundary_f1_score(y, [model.predict(pen)[:-1] for model in models]),
    )
    found, seconds = found_by(kind, X_test, [best] * len(X_test))
    return boundary_f1_score(test[1], found), seconds


def bic(kind, test):
    X, y = test
    variance = [1.0 if kind == "variance" else float(noise_level(x[:, None])[0]) ** 2 for x in X]
    penalties = [N_PARAMETERS[kind] * v * np.log(len(x)) for x, v in zip(X, variance, strict=True)]
    found, seconds = found_by(kind, X, penalties)
    return boundary_f1_score(y, found), seconds


def learned(train, test, **options):
    model = ChangePointSSVM(**options).fit(*train)
    start = perf_counter()
    found = model.predict(test[0])
    return boundary_f1_score(test[1], found), perf_counter() - start


def measured(kind, seed):
    """Return test F1 and seconds by method."""
    X, y = make_change_points(N_TRAIN + N_TEST, kind=kind, random_state=seed)
    train, test = (X[:N_TRAIN], y[:N_TRAIN]), (X[N_TRAIN:], y[N_TRAIN:])
    scores = {
        "learned": learned(train, test),
        "learned, one cost": learned(train, test, costs=kind, duration_bins=None),
        "chosen": chosen(kind, train, test, False),
        "BIC": bic(kind, test),
    }
    if kind != "variance":  # whose cost does not depend on the unit
        scores["chosen, scaled"] = chosen(kind, train, test, True)
    return scores


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", nargs="+", choices=[*MODELS], default=[*MODELS])
    parser.add_argument("--seeds", type=int, default=1)
    add_output(parser)
    add_load(parser)
    options = parser.parse_args()
    table = Table(options.output / "change_points.csv", ("kind", "method"))
    for kind in options.kinds:
        found = {}
        for seed in range(options.seeds):
            for method, result in measured(kind, seed).items():
                found.setdefault(method, []).append(result)
                f1, seconds = np.mean(found[method], axis=0)
                row = {"kind": kind, "method": method, "seeds": len(found[method])}
                row |= {"f1": f"{f1:.3f}", "seconds": f"{seconds:.3g}"}
                table.put(row | origin(command(), options.load))
                print(*row.values(), f"{result[0]:.3f}", flush=True)


if __name__ == "__main__":
    main()
