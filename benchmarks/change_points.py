#!/usr/bin/env python3
"""Does a learned penalty find more change points than a penalty of ruptures, and how fast?

    python benchmarks/change_points.py [--kinds mean variance trend] [--seeds 16] [--first 0]

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

min_size is 2 and jump 1 for ruptures. Since it takes hundreds of times as long, it predicts the
test signals of the first seed only; "agree" is the fraction of these with the same change points as
by the decoder of ChangePointSSVM, which minimizes the same costs and penalties. That decoder is
used for the other seeds, and for training signals.

Each kind and method is a row of change_points.csv in --output, with means over seeds, and
"difference", the F1 of "learned" minus that of the method, with its standard error. Needs ruptures.
"""

import argparse
import os
from time import perf_counter

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import ruptures
from reports import Table, add_load, add_output, command, origin

from sstruct import ChangePointSSVM
from sstruct._estimators.segment.change_samples import changes_of_codes, noise_level
from sstruct._problems.core._decode import decode
from sstruct._problems.segment._change_problem import ChangePointProblem
from sstruct._problems.segment.change_arguments import COSTS, ChangePointModel, SignalSums
from sstruct.datasets import make_change_points
from sstruct.metrics import boundary_f1_score

N_TRAIN, N_TEST = 20, 60
# Costs of ruptures and of ChangePointSSVM.
MODELS = {"mean": ("l2", "mean"), "variance": ("normal", "normal"), "trend": ("linear", "trend")}
N_PARAMETERS = {"mean": 2, "variance": 3, "trend": 3}
MIN_SIZE = 2
SMALLEST_VARIANCE = 1e-6  # of ruptures
# In units of the variance of the noise, or of twice the log-likelihood.
PENALTIES = np.geomspace(6, 60, 8)


def level_of(x):
    return float(noise_level(x[:, np.newaxis])[0])


def by_ruptures(kind, x, penalty):
    """Return the change points of a signal by Pelt."""
    if kind == "trend":
        x = np.column_stack([x, np.arange(len(x)), np.ones(len(x))])
    pelt = ruptures.Pelt(model=MODELS[kind][0], min_size=MIN_SIZE, jump=1).fit(x)
    return pelt.predict(penalty)[:-1]


def by_decoder(kind, x, penalty):
    """Return the change points of a signal by the decoder of ChangePointSSVM."""
    length = np.array([len(x)])
    x = (x - np.median(x))[:, np.newaxis]
    sums = SignalSums.of(x, length, np.full((1, 1), SMALLEST_VARIANCE), kind == "trend")
    kinds = np.array([COSTS.index(MODELS[kind][1])], dtype=np.int32)
    problem = ChangePointProblem(sums, ChangePointModel(kinds, MIN_SIZE, 2**40))
    codes = decode(problem, np.array([1.0, penalty]), 1)
    return changes_of_codes(codes, length)[0].tolist()


def found_by(decoder, kind, X, penalties):
    return [decoder(kind, x, float(pen)) for x, pen in zip(X, penalties, strict=True)]


def penalized(kind, X, y, penalties, calls_ruptures):
    """Return test F1, seconds, and how often the decoder agrees with ruptures, or NaN."""
    found, seconds, agree = found_by(by_decoder, kind, X, penalties), np.nan, np.nan
    if calls_ruptures:
        start = perf_counter()
        expected = found_by(by_ruptures, kind, X, penalties)
        seconds = perf_counter() - start
        agree = np.mean([a == b for a, b in zip(found, expected, strict=True)])
        found = expected
    return boundary_f1_score(y, found), seconds, agree


def chosen(kind, train, test, scale, calls_ruptures):
    """Return the result of the best penalty on the training signals."""
    X, y = train
    # Without scaling, the unit of a signal may be anything.
    unit = 1.0 if scale or kind == "variance" else np.median([level_of(x) for x in X]) ** 2
    X, X_test = ([x / level_of(x) if scale else x for x in of_part] for of_part in (X, test[0]))
    best = max(
        unit * PENALTIES,
        key=lambda pen: boundary_f1_score(y, found_by(by_decoder, kind, X, [pen] * len(X))),
    )
    return penalized(kind, X_test, test[1], [best] * len(X_test), calls_ruptures)


def bic(kind, test, calls_ruptures):
    X, y = test
    variance = [1.0 if kind == "variance" else level_of(x) ** 2 for x in X]
    penalties = [N_PARAMETERS[kind] * v * np.log(len(x)) for x, v in zip(X, variance, strict=True)]
    return penalized(kind, X, y, penalties, calls_ruptures)


def learned(train, test, **options):
    model = ChangePointSSVM(**options).fit(*train)
    start = perf_counter()
    found = model.predict(test[0])
    return boundary_f1_score(test[1], found), perf_counter() - start, np.nan


def measured(kind, seed, calls_ruptures):
    """Return test F1, seconds and agreement by method."""
    X, y = make_change_points(N_TRAIN + N_TEST, kind=kind, random_state=seed)
    train, test = (X[:N_TRAIN], y[:N_TRAIN]), (X[N_TRAIN:], y[N_TRAIN:])
    results = {
        "learned": learned(train, test),
        "learned, one cost": learned(train, test, costs=kind, duration_bins=None),
        "chosen": chosen(kind, train, test, False, calls_ruptures),
        "BIC": bic(kind, test, calls_ruptures),
    }
    if kind != "variance":  # whose cost does not depend on the unit
        results["chosen, scaled"] = chosen(kind, train, test, True, calls_ruptures)
    return results


def shown(value, form):
    return "" if np.isnan(value) else format(value, form)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", nargs="+", choices=[*MODELS], default=[*MODELS])
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    add_output(parser)
    add_load(parser)
    options = parser.parse_args()
    table = Table(options.output / "change_points.csv", ("kind", "method"))
    for kind in options.kinds:
        results = [measured(kind, options.first + k, k == 0) for k in range(options.seeds)]
        for method in results[0]:
            f1, seconds, agree = np.array([each[method] for each in results]).T
            difference = np.array([each["learned"][0] for each in results]) - f1
            error = difference.std(ddof=1) / np.sqrt(len(f1)) if len(f1) > 1 else np.nan
            row = {"kind": kind, "method": method, "seeds": len(f1), "f1": f"{f1.mean():.4f}"}
            row |= {"difference": f"{difference.mean():+.4f}", "error": shown(error, ".4f")}
            row |= {"seconds": f"{np.nanmean(seconds):.3g}", "agree": shown(agree[0], ".3f")}
            table.put(row | origin(command(), options.load))
            print(*row.values(), flush=True)


if __name__ == "__main__":
    main()
