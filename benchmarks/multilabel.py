#!/usr/bin/env python3
"""Compare MultilabelSSVM with independent linear SVMs, tuned or with fixed rules.

    python benchmarks/multilabel.py [--data yeast enron ...] [--edges independent full tree pairs]
    python benchmarks/multilabel.py --rules default asymmetric tree:0.6:0:1.5 ... [--test]

Do interactions between labels improve scores? The first command tunes C and lam.

The baseline is OneVsRestClassifier(LinearSVC()) of scikit-learn, a classifier for each label.
MultilabelSSVM uses the sum of the losses of labels ("hamming-count"), so lam = 1 / (C n) is
the same regularization, and edges

    independent   none
    full          all pairs of labels
    tree          the tree of largest mutual information
    pairs         the `--pairs` pairs of largest mutual information in training

C and lam are chosen from one grid by the same cross-validation on the training part, for the
highest micro-averaged F1; then the models are fitted to the whole training part and scored on the
test part. Data sets without a published split are halved; sparse rows are scaled to unit length,
for all models. Seconds are CPU seconds of the last fit, one thread; the peak is the largest memory
of the process, which fits only one data set. Data are read from SSTRUCT_DATA. Writes a table to the
screen and JSON into --output.

Which rule for lam, edges and loss is best without tuning? The second command compares rules with
LinearSVC() per label. A rule is "default", "asymmetric" (the default with that loss), one of these
with tuned thresholds, such as "default+f1_micro" (TunedThresholdSSVM with this `scoring`), or
EDGES:STRENGTH:POWER:MISSED: the default with these edges, with another constant and power of the
number of samples in lam="auto", and with this cost of a missed label, where a false one costs 1.
Two thirds of each set (at most 3,000 rows of delicious), drawn with --seeds, are for training
(`workload_data.py`). Without --test, each rule is scored by cross-validation inside this part; with
--test, on the last third. Sets called "made" are drawn from models of scikit-learn and sstruct.
Rows replace those in label_sets.csv of --output. Scorings of one rule share the fits of the splits,
whose seconds are those of the first scoring. The summary shows micro F1, macro F1 and Hamming
loss of each rule, in percent relative to LinearSVC, and for the real sets the geometric mean and
the shortfall: the mean of how far micro and macro F1 are below those of LinearSVC, and the Hamming
loss more than 3 % above, in log ratios.
"""

import argparse
import json
import multiprocessing
import os
import resource
import time
import warnings
from functools import partial
from itertools import product
from unittest.mock import patch

os.environ.setdefault("OMP_NUM_THREADS", "1")

import joblib
import numpy as np
from reports import Table, origin, parsed
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, f1_score, hamming_loss
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC
from workload_data import label_sets

from sstruct import MultilabelSSVM, datasets
from sstruct._estimators.core import lam_from_scale
from sstruct._estimators.label_set.interactions import mutual_information
from sstruct._input import losses
from sstruct.calibration import TunedThresholdSSVM, _held_out

FETCH = {
    "yeast": datasets.fetch_yeast,
    "scene": datasets.fetch_scene,
    "enron": datasets.fetch_enron,
    "bibtex": datasets.fetch_bibtex,
    "rcv1": datasets.fetch_rcv1_subset,
    "corel5k": datasets.fetch_corel5k,
    "corel16k": datasets.fetch_corel16k,
    "reuters": datasets.fetch_reuters_k500,
    "tmc2007": datasets.fetch_tmc2007,
    "delicious": datasets.fetch_delicious,
}
MADE = {
    "made 12 labels": lambda **_: make_multilabel_classification(
        3000, 60, n_classes=12, n_labels=3, length=30, random_state=0
    ),
    "made 60 labels": lambda **_: make_multilabel_classification(
        3000, 200, n_classes=60, n_labels=3, length=40, random_state=0
    ),
    "made pairs 8 labels": lambda **_: datasets.make_multilabel_pairwise(
        1500, n_features=10, n_labels=8, random_state=0
    ),
    "made pairs 30 labels": lambda **_: datasets.make_multilabel_pairwise(
        3000, n_features=30, n_labels=30, random_state=0
    ),
}
HALVED = ("rcv1", "corel16k", "reuters")
EDGES = ("independent", "full", "tree", "pairs")
SCORES = ("micro-F1", "macro-F1", "Hamming", "subset")


def split(name):
    """Return features and label sets of the training and of the test part: X, Y, X, Y."""
    fetch = FETCH[name]
    if name not in HALVED:
        parts = *fetch(subset="train", return_X_y=True), *fetch(subset="test", return_X_y=True)
    else:
        X, Y = fetch(subset="all", return_X_y=True)
        order = np.random.default_rng(0).permutation(X.shape[0])
        fit, test = np.split(order, [X.shape[0] // 2])
        parts = X[fit], Y[fit], X[test], Y[test]
    X, Y, X_test, Y_test = parts
    if sparse.issparse(X):
        X, X_test = normalize(X), normalize(X_test)
    return X, Y, X_test, Y_test


def edges_of(kind, Y, n_pairs):
    """Return the parameter `edges` of MultilabelSSVM."""
    if kind != "pairs":
        return None if kind == "independent" else kind
    u, v = np.triu_indices(Y.shape[1], 1)
    best = np.argsort(-mutual_information(Y, np.ones(Y.shape[0]))[u, v], kind="stable")[:n_pairs]
    return np.column_stack([u, v])[np.sort(best)]


def scores_of(truth, predicted):
    """Return the four scores, in the order of SCORES."""
    return [
        f1_score(truth, predicted, average="micro", zero_division=0),
        f1_score(truth, predicted, average="macro", zero_division=0),
        hamming_loss(truth, predicted),
        accuracy_score(truth, predicted),
    ]


def models(arguments):
    """Yield the name of each model and a function (C, Y) -> estimator."""

    def independent(C, Y):
        return OneVsRestClassifier(LinearSVC(C=C, random_state=0))

    yield "LinearSVC", independent
    for kind in arguments.edges:

        def structured(C, Y, kind=kind):
            return MultilabelSSVM(
                edges=edges_of(kind, Y, arguments.pairs),
                pairwise=arguments.pairwise,
                loss="hamming-count",
                lam=1 / (C * Y.shape[0]),
                tol=arguments.tol,
                max_iter=arguments.max_iter,
                random_state=0,
            )

        yield kind, structured


def compare(name, arguments):
    """Return the rows of a data set: the chosen C, seconds, and scores on the test part."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.filterwarnings("ignore", message="Label not")  # rare labels, in folds
    X, Y, X_test, Y_test = split(name)
    rows = {}
    for model, make in models(arguments):
        chosen = {}
        for C in arguments.C:
            found = []
            for fit, held in KFold(arguments.folds, shuffle=True, random_state=0).split(X):
                fitted = make(C, Y[fit]).fit(X[fit], Y[fit])
                found.append(scores_of(Y[held], fitted.predict(X[held]))[0])
            chosen[C] = float(np.mean(found))
        best = max(chosen, key=chosen.get)
        begin = time.process_time()
        fitted = make(best, Y).fit(X, Y)
        seconds = time.process_time() - begin
        rows[model] = {
            "C": best,
            "validation": chosen,
            "seconds": seconds,
            "scores": dict(zip(SCORES, scores_of(Y_test, fitted.predict(X_test)))),
            "inference": getattr(fitted, "inference_", "-"),
            "gap": getattr(fitted, "dual_gap_", 0) / getattr(fitted, "objective_", 1),
            "n_iter": int(np.max(getattr(fitted, "n_iter_", 0))),
        }
        cells = "".join(f"{value:10.4f}" for value in rows[model]["scores"].values())
        print(
            f"{name:10}{model:12}{best:7g}{seconds:9.2f}{rows[model]['n_iter']:6}"
            f"{rows[model]['gap']:8.3f}{cells}  {rows[model]['inference']}",
            flush=True,
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{name:10}{X.shape[0]} x {X.shape[1]}, {Y.shape[1]} labels; peak {peak:.0f} MB", flush=True
    )
    return {"n": X.shape[0], "labels": Y.shape[1], "peak_mb": peak, "models": rows}


# Rules --------------------------------------------------------------------------------------------

fit_rows = _held_out._fit_rows
KEYS = ("part", "data", "rule", "seed")
COLUMNS = ("micro F1", "macro F1", "Hamming loss", "sample F1", "cpu_seconds")
TOLERATED = 0.03  # of Hamming loss, in the shortfall
CONSTANTS = lam_from_scale.LABEL_SET_STRENGTH, lam_from_scale.SAMPLES_POWER, losses.MISSED


def by_rule(rule):
    """Return an estimator; set the constants of sstruct to those of the rule or the defaults."""
    if rule == "LinearSVC":
        return OneVsRestClassifier(LinearSVC(random_state=0))
    rule, _, scoring = rule.partition("+")
    if scoring:
        return TunedThresholdSSVM(by_rule(rule), scoring=scoring)
    loss = "hamming-count" if rule == "default" else "asymmetric"
    edges, *numbers = rule.split(":") if ":" in rule else ("auto", *CONSTANTS)
    strength, power, losses.MISSED = map(float, numbers)
    lam_from_scale.LABEL_SET_STRENGTH, lam_from_scale.SAMPLES_POWER = strength, power
    edges = None if edges == "independent" else edges
    return MultilabelSSVM(edges=edges, loss=loss, random_state=0, max_time=60)


def tried(rule, X, Y, X_test, Y_test):
    """Fit; return the scores of the first four COLUMNS, CPU seconds and whether it converged."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.filterwarnings("ignore", message="Label not")  # rare labels, in folds
    model = by_rule(rule)
    begin = time.process_time()
    model.fit(X, Y)
    seconds = time.process_time() - begin
    predicted = model.predict(X_test)
    scores = scores_of(Y_test, predicted)[:3]
    scores.append(f1_score(Y_test, predicted, average="samples", zero_division=0))
    model = getattr(model, "estimator_", model)
    return [*scores, seconds, getattr(model, "converged_", True)]


def shared_fit(fits, estimator, X, y, weights, rows):
    """Fit to the training rows of a split, once for all scorings of a rule."""
    key = joblib.hash((X, rows))
    if key not in fits:
        fits[key] = fit_rows(estimator, X, y, weights, rows)
    return fits[key]


def rule_row(rule, task, arguments):
    """Return the scores of a rule, and the other columns that it has in label_sets.csv."""
    if arguments.test:
        found = [tried(rule, task.X, task.y, task.X_test, task.y_test)]
    else:
        folds = KFold(arguments.folds, shuffle=True, random_state=0).split(task.X)
        found = [
            tried(rule, task.X[fit], task.y[fit], task.X[held], task.y[held]) for fit, held in folds
        ]
    means = np.mean(found, axis=0)
    row = {column: f"{value:.5g}" for column, value in zip(COLUMNS, means)}
    return row | {"converged": str(bool(means[-1] == 1))}


def compare_rules(arguments):
    """Add the rows of all rules to label_sets.csv and print the summary."""
    table = Table(arguments.output / "label_sets.csv", KEYS)
    part = "test" if arguments.test else f"{arguments.folds} folds"
    how = "--test" if arguments.test else f"--folds {arguments.folds}"
    for name, seed in product(arguments.data, arguments.seeds):
        fetch, most = MADE.get(name) or FETCH[name], 3000 if name == "delicious" else None
        task = label_sets(seed, fetch, n=most, unit=name not in MADE)
        fits = {}
        for rule in dict.fromkeys(("LinearSVC", *arguments.rules)):
            of_rule = fits.setdefault(rule.partition("+")[0], {})
            with patch.object(_held_out, "_fit_rows", partial(shared_fit, of_rule)):
                row = dict(zip(KEYS, (part, name, rule, seed))) | rule_row(rule, task, arguments)
            print(*row.values(), sep="  ", flush=True)
            command = f"python benchmarks/multilabel.py --data {name!r} --rules {rule} {how}"
            table.put(row | origin(f"{command} --seeds {seed}", arguments.load))
    rows = [row for row in table.rows.values() if row["part"] == part]
    print_rules(rows)
    print_tuned(rows)


def values_of(rows, columns):
    """Return the values of all seeds by rule and data set."""
    values = {}
    for row in rows:
        found = [float(row.get(column) or np.nan) for column in columns]
        values.setdefault((row["rule"], row["data"]), []).append(found)
    return values


def print_tuned(rows):
    """Print rules with tuned thresholds below the same rule without tuning, in means over seeds."""
    values = values_of(rows, COLUMNS[:4])
    tuned = [key for key in values if "+" in key[0]]
    for base, data in dict.fromkeys((rule.partition("+")[0], data) for rule, data in tuned):
        print(f"\n{data}, {base}: {', '.join(COLUMNS[:4])}")
        for rule in dict.fromkeys((base, *(rule for rule, _ in tuned))):
            if (rule, data) not in values or rule.partition("+")[0] != base:
                continue
            cells = "".join(f"{value:9.4f}" for value in np.mean(values[rule, data], axis=0))
            print(f"  {rule:28}{cells}")


def print_rules(rows):
    """Print each rule relative to LinearSVC, in means over seeds."""
    values = values_of(rows, COLUMNS[:3])
    means = {key: np.maximum(np.mean(found, axis=0), 1e-6) for key, found in values.items()}
    for rule in dict.fromkeys(rule for rule, _ in means if rule != "LinearSVC"):
        logs = {
            data: np.log(means[rule, data] / means["LinearSVC", data])
            for name, data in means
            if name == rule
        }
        print(f"\n{rule}: micro F1, macro F1, Hamming loss in percent relative to LinearSVC")
        for data, ratios in logs.items():
            print(f"  {data:24}" + "".join(f"{100 * np.expm1(ratio):8.1f}" for ratio in ratios))
        real = np.array([ratios for data, ratios in logs.items() if data not in MADE])
        if len(real):
            behind = np.maximum(np.c_[-real[:, :2], real[:, 2] - TOLERATED], 0)
            cells = "".join(f"{100 * np.expm1(ratio):8.1f}" for ratio in real.mean(axis=0))
            print(f"  {'geometric mean, real':24}{cells}   shortfall {behind.sum(1).mean():.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=[*FETCH, *MADE], default=list(FETCH)[:5])
    parser.add_argument("--edges", nargs="+", choices=EDGES, default=list(EDGES[:3]))
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--pairwise", choices=("and", "full"), default="and")
    parser.add_argument("--C", type=float, nargs="+", default=[0.01, 0.03, 0.1, 0.3, 1.0, 3.0])
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--tol", type=float, default=0.01)
    parser.add_argument("--max-iter", type=int, default=200)
    parser.add_argument("--rules", nargs="+", metavar="RULE", help="compare these rules")
    parser.add_argument("--test", action="store_true", help="score rules on the test parts")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], help="of rules' splits")
    arguments = parsed(parser)
    if arguments.rules:
        compare_rules(arguments)
        return
    print(
        f"{'data':10}{'model':12}{'C':>7}{'CPU s':>9}{'iter':>6}{'gap':>8}"
        + "".join(f"{name:>10}" for name in SCORES)
    )
    report = {}
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name in arguments.data:
        # A process for each data set, so that its peak memory is measured.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            report[name] = pool.apply(compare, (name, arguments))
        (arguments.output / "multilabel.json").write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
