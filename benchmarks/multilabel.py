#!/usr/bin/env python3
"""Do interactions between labels pay? MultilabelSSVM beside independent linear SVMs.

    python benchmarks/multilabel.py [--data yeast enron ...] [--edges independent full tree pairs]

Each label alone: scikit-learn's OneVsRestClassifier(LinearSVC()). MultilabelSSVM with the losses of
labels added up ("hamming-count"), so that lam = 1 / (C n) asks for as much, and with edges

    independent   none
    full          all pairs of labels
    tree          the tree of largest mutual information
    pairs         the `--pairs` pairs of largest mutual information in training

C and lam are chosen from one grid by the same cross-validation on the training part, for the
highest micro-averaged F1; then both are fitted to all of it and scored on the test part. Sets
without a split of their own are halved; sparse rows are brought to unit length, for all models.
Seconds are CPU seconds of that last fit, one thread; the peak is the memory of the process, which
fits one data set, at its end. Data are read from SSTRUCT_DATA. Writes a table to the screen and
JSON into --output.
"""

import argparse
import json
import multiprocessing
import os
import resource
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, f1_score, hamming_loss
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from sstruct import MultilabelSSVM, datasets
from sstruct._estimators.label_set.interactions import mutual_information

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
HALVED = ("rcv1", "corel16k", "reuters")
EDGES = ("independent", "full", "tree", "pairs")
SCORES = ("micro-F1", "macro-F1", "Hamming", "subset")


def split(name):
    """Training and test part: X, Y, X, Y; both CSR."""
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
    """What MultilabelSSVM takes as `edges`."""
    if kind != "pairs":
        return None if kind == "independent" else kind
    u, v = np.triu_indices(Y.shape[1], 1)
    best = np.argsort(-mutual_information(Y, np.ones(Y.shape[0]))[u, v], kind="stable")[:n_pairs]
    return np.column_stack([u, v])[np.sort(best)]


def scores_of(truth, predicted):
    """The four scores, in the order of SCORES."""
    return [
        f1_score(truth, predicted, average="micro", zero_division=0),
        f1_score(truth, predicted, average="macro", zero_division=0),
        hamming_loss(truth, predicted),
        accuracy_score(truth, predicted),
    ]


def models(arguments):
    """Name and a function (C, Y) -> estimator of each model."""

    def alone(C, Y):
        return OneVsRestClassifier(LinearSVC(C=C, random_state=0))

    yield "LinearSVC", alone
    for kind in arguments.edges:

        def together(C, Y, kind=kind):
            return MultilabelSSVM(
                edges=edges_of(kind, Y, arguments.pairs),
                pairwise=arguments.pairwise,
                loss="hamming-count",
                lam=1 / (C * Y.shape[0]),
                tol=arguments.tol,
                max_iter=arguments.max_iter,
                random_state=0,
            )

        yield kind, together


def compare(name, arguments):
    """Rows of one data set: what was chosen, seconds, and scores on the test part."""
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=FETCH, default=list(FETCH)[:5])
    parser.add_argument("--edges", nargs="+", choices=EDGES, default=list(EDGES[:3]))
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--pairwise", choices=("and", "full"), default="and")
    parser.add_argument("--C", type=float, nargs="+", default=[0.01, 0.03, 0.1, 0.3, 1.0, 3.0])
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--tol", type=float, default=0.01)
    parser.add_argument("--max-iter", type=int, default=200)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    arguments = parser.parse_args()
    print(
        f"{'data':10}{'model':12}{'C':>7}{'CPU s':>9}{'iter':>6}{'gap':>8}"
        + "".join(f"{name:>10}" for name in SCORES)
    )
    report = {}
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name in arguments.data:
        # A process each, so that peaks are its own.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            report[name] = pool.apply(compare, (name, arguments))
        (arguments.output / "multilabel.json").write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
