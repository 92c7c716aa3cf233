#!/usr/bin/env python3
"""Compare change points found with learned penalties and with ruptures: F1 score and time.

    python benchmarks/change_points.py [--kinds mean variance trend] [--seeds 16] [--first 0]

For each kind of make_change_points and each seed, there are 20 signals for training and 60 for
testing. Reports the F1 score of change points within 5 nodes, and the seconds to predict the test
signals, for these methods:

* "learned": ChangePointSSVM with its default parameters, and "learned, one cost": with the cost of
  the kind and without weights of durations;
* "chosen": Pelt of ruptures with the cost of the kind ("l2", "normal", or "linear" with time as a
  regressor) and the one of 8 penalties with the best F1 score on the training signals;
* "chosen, scaled": the same on signals divided by their noise level;
* "BIC": Pelt with the penalty of the Bayesian information criterion for each signal: the number of
  parameters of a segment, including its start, times log(length), for squared errors divided by
  the estimated variance of the noise.

The decoder of ChangePointSSVM minimizes the same costs and penalties as ruptures (with min_size=2
and jump=1), but ruptures takes hundreds of times as long. Therefore ruptures only predicts the test
signals of the first seed, and the decoder is used for the other seeds and the training signals.
"agree" is the fraction of the signals for which both find the same change points.

Each kind and method is a row of change_points.csv in --output, with means over seeds, and
"difference", the F1 of "learned" minus that of the method, with its standard error. Requires
ruptures.
"""

import argparse
import os
from time import perf_counter

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import ruptures
from reports import Table, command, origin, parsed

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
# ruptures adds this to variances; the decoder uses it as their minimum.
MIN_VARIANCE = 1e-6
# In units of the noise variance; for kind "variance", of twice the log-likelihood.
PENALTIES = np.geomspace(6, 60, 8)


def noise_level_of(x):
    return float(noise_level(x[:, np.newaxis])[0])


def predict_by_ruptures(kind, x, penalty):
    """Return the change points of a signal by Pelt."""
    if kind == "trend":
        x = np.column_stack([x, np.arange(len(x)), np.ones(len(x))])
    pelt = ruptures.Pelt(model=MODELS[kind][0], min_size=MIN_SIZE, jump=1).fit(x)
    return pelt.predict(penalty)[:-1]


def predict_by_decoder(kind, x, penalty):
    """Return the change points of a signal by the decoder of ChangePointSSVM."""
    length = np.array([len(x)])
    x = (x - np.median(x))[:, np.newaxis]
    sums = SignalSums.from_signals(x, length, np.full((1, 1), MIN_VARIANCE), kind == "trend")
    kinds = np.array([COSTS.index(MODELS[kind][1])], dtype=np.int32)
    problem = ChangePointProblem(sums, ChangePointModel(kinds, MIN_SIZE, 2**40))
    codes = decode(problem, np.array([1.0, penalty]), 1)
    return changes_of_codes(codes, length)[0].tolist()


def predict_all(predict, kind, X, penalties):
    return [predict(kind, x, float(pen)) for x, pen in zip(X, penalties, strict=True)]


def evaluate_penalties(kind, X, y, penalties, calls_ruptures):
    """Return test F1, and seconds and agreement of the decoder with ruptures, or NaN."""
    found, seconds, agree = predict_all(predict_by_decoder, kind, X, penalties), np.nan, np.nan
    if calls_ruptures:
        start = perf_counter()
        expected = predict_all(predict_by_ruptures, kind, X, penalties)
        seconds = perf_counter() - start
        agree = np.mean([a == b for a, b in zip(found, expected, strict=True)])
        found = expected
    return boundary_f1_score(y, found), seconds, agree


def evaluate_chosen(kind, train, test, scale, calls_ruptures):
    """Evaluate the penalty with the best F1 score on the training signals."""
    X, y = train
    # Without scaling, penalties are relative to the noise variance of the training signals.
    unit = 1.0 if scale or kind == "variance" else np.median([noise_level_of(x) for x in X]) ** 2
    X, X_test = (
        [x / noise_level_of(x) if scale else x for x in signals] for signals in (X, test[0])
    )
    best = max(
        unit * PENALTIES,
        key=lambda pen: boundary_f1_score(
            y, predict_all(predict_by_decoder, kind, X, [pen] * len(X))
        ),
    )
    return evaluate_penalties(kind, X_test, test[1], [best] * len(X_test), calls_ruptures)


def evaluate_bic(kind, test, calls_ruptures):
    X, y = test
    variance = [1.0 if kind == "variance" else noise_level_of(x) ** 2 for x in X]
    penalties = [N_PARAMETERS[kind] * v * np.log(len(x)) for x, v in zip(X, variance, strict=True)]
    return evaluate_penalties(kind, X, y, penalties, calls_ruptures)


def evaluate_learned(train, test, **options):
    model = ChangePointSSVM(**options).fit(*train)
    start = perf_counter()
    found = model.predict(test[0])
    return boundary_f1_score(test[1], found), perf_counter() - start, np.nan


def measure(kind, seed, calls_ruptures):
    """Return test F1, seconds and agreement by method."""
    X, y = make_change_points(N_TRAIN + N_TEST, kind=kind, random_state=seed)
    train, test = (X[:N_TRAIN], y[:N_TRAIN]), (X[N_TRAIN:], y[N_TRAIN:])
    results = {
        "learned": evaluate_learned(train, test),
        "learned, one cost": evaluate_learned(train, test, costs=kind, duration_bins=None),
        "chosen": evaluate_chosen(kind, train, test, False, calls_ruptures),
        "BIC": evaluate_bic(kind, test, calls_ruptures),
    }
    if kind != "variance":  # scaling does not change its result
        results["chosen, scaled"] = evaluate_chosen(kind, train, test, True, calls_ruptures)
    return results


def format_value(value, form):
    return "" if np.isnan(value) else format(value, form)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", nargs="+", choices=[*MODELS], default=[*MODELS])
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parsed(parser)
    table = Table(options.output / "change_points.csv", ("kind", "method"))
    for kind in options.kinds:
        results = [measure(kind, options.first + k, k == 0) for k in range(options.seeds)]
        for method in results[0]:
            f1, seconds, agree = np.array([each[method] for each in results]).T
            difference = np.array([each["learned"][0] for each in results]) - f1
            error = difference.std(ddof=1) / np.sqrt(len(f1)) if len(f1) > 1 else np.nan
            row = {"kind": kind, "method": method, "seeds": len(f1), "f1": f"{f1.mean():.4f}"}
            row |= {"difference": f"{difference.mean():+.4f}", "error": format_value(error, ".4f")}
            row |= {"seconds": f"{np.nanmean(seconds):.3g}", "agree": format_value(agree[0], ".3f")}
            table.put(row | origin(command(), options.load))
            print(*row.values(), flush=True)


if __name__ == "__main__":
    main()
