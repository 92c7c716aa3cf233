#!/usr/bin/env python3
"""Slack and margin rescaling for label sets: which predicts better?

    python benchmarks/slack_margin.py [--data yeast enron rcv1] [--C 0.03 0.1 0.3 1 3] [--folds 3]

As in tables 2 and 3 of Choi, Meshi and Srebro (2015): yeast and the 30 most frequent labels of the
RCV1 subset with all pairs of labels (exact: enumeration; relaxed: roof duality), and enron, whose
labels form a tree by their names ("A.A1" below "A"), with the potentials of all ancestors. lam = 1
/ (C n) is chosen by cross-validation on the training part, for the highest micro-averaged F1, from
the same grid for both. Accuracy is the mean ratio of the number of labels that are both predicted
and true to the number of those that are predicted or true; the loss is the Hamming loss. Data are
read from SSTRUCT_DATA. Writes a table to the screen, and slack_margin.csv and JSON into --output.
"""

import argparse
import os
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from multilabel import split
from reports import Table, command, origin, parsed, write
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score, hamming_loss, jaccard_score
from sklearn.model_selection import KFold

from sstruct import MultilabelSSVM
from sstruct.datasets import fetch_enron
from sstruct.preprocessing import hierarchical_labels

SCORES = ("accuracy", "Hamming", "micro-F1", "macro-F1")
# Tables 2 and 3, in the order of SCORES; the hierarchy there is of SWIKI-2011.
PAPER = {
    "yeast": {"slack": (0.54, 0.205, 0.661, 0.651), "margin": (0.545, 0.204, 0.666, 0.654)},
    "rcv1": {"slack": (0.676, 0.023, 0.755, 0.747), "margin": (0.662, 0.023, 0.753, 0.742)},
}


def problem(name, n_labels):
    """Return the training and the test part, and the parameter `edges`."""
    X, Y, X_test, Y_test = split(name)
    if name == "enron":
        names = fetch_enron(subset="train").target_names
        Y, _, parents = hierarchical_labels(Y, names)
        Y_test, _, _ = hierarchical_labels(Y_test, names)
        return X, Y, X_test, Y_test, parents
    if name == "rcv1":
        counts = np.asarray(Y.sum(axis=0)).ravel()
        frequent = np.sort(np.argsort(-counts, kind="stable")[:n_labels])
        Y, Y_test = Y[:, frequent], Y_test[:, frequent]
    return X, Y, X_test, Y_test, "full"


def scores_of(truth, predicted):
    """Return the four scores, in the order of SCORES."""
    return [
        jaccard_score(truth, predicted, average="samples", zero_division=1.0),
        hamming_loss(truth, predicted),
        f1_score(truth, predicted, average="micro", zero_division=0),
        f1_score(truth, predicted, average="macro", zero_division=0),
    ]


def compare(name, arguments):
    """Return the rows of a data set."""
    X, Y, X_test, Y_test, edges = problem(name, arguments.labels)
    rows = {}
    for rescaling in ("margin", "slack"):

        def fit(C, X, Y, rescaling=rescaling):
            return MultilabelSSVM(
                edges=edges,
                rescaling=rescaling,
                loss="hamming-count",
                lam=1 / (C * X.shape[0]),
                tol=arguments.tol,
                max_iter=arguments.max_iter,
                random_state=0,
            ).fit(X, Y)

        chosen = {}
        for C in arguments.C:
            folds = KFold(arguments.folds, shuffle=True, random_state=0).split(X)
            chosen[C] = float(np.mean([
                scores_of(Y[held], fit(C, X[known], Y[known]).predict(X[held]))[2]
                for known, held in folds
            ]))  # fmt: skip
        best = max(chosen, key=chosen.get)
        begin = time.process_time()
        model = fit(best, X, Y)
        seconds = time.process_time() - begin
        scores = scores_of(Y_test, model.predict(X_test))
        gap = model.dual_gap_ / model.objective_
        rows[rescaling] = {
            "C": best,
            "validation": chosen,
            "seconds": seconds,
            "gap": gap,
            "inference": model.inference_,
            "scores": dict(zip(SCORES, scores)),
        }
        paper = PAPER.get(name, {}).get(rescaling)
        print(
            f"{name:8}{rescaling:8}{best:6g}{seconds:8.2f}{gap:8.4f}"
            + "".join(f"{value:10.4f}" for value in scores)
            + (f"   paper: {paper}" if paper else "")
            + f"   {model.inference_}",
            flush=True,
        )
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", nargs="+", choices=("yeast", "enron", "rcv1"), default=["yeast", "enron", "rcv1"]
    )
    parser.add_argument("--C", type=float, nargs="+", default=[0.01, 0.03, 0.1, 0.3, 1.0, 3.0])
    parser.add_argument("--labels", type=int, default=30, help="number of labels of RCV1")
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--tol", type=float, default=0.01)
    parser.add_argument("--max-iter", type=int, default=200)
    arguments = parsed(parser)
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(
        f"{'data':8}{'':8}{'C':>6}{'CPU s':>8}{'gap':>8}"
        + "".join(f"{name:>10}" for name in SCORES)
    )
    table = Table(arguments.output / "slack_margin.csv", ["data", "rescaling"])
    report = {}
    for name in arguments.data:
        report[name] = compare(name, arguments)
        for rescaling, row in report[name].items():
            key = {"data": name, "rescaling": rescaling, "C": row["C"]}
            scores = {score: f"{value:.4f}" for score, value in row["scores"].items()}
            cost = {"cpu_seconds": f"{row['seconds']:.2f}", "gap": f"{row['gap']:.4f}"}
            table.put(key | scores | cost | origin(command(), arguments.load))
    write(report, arguments.output, "slack_margin")


if __name__ == "__main__":
    main()
