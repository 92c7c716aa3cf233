#!/usr/bin/env python3
"""Which solver should "auto" be for label sets? MP-BCFW and GDMM with all pairs of labels.

    python benchmarks/label_solvers.py [--data rcv1 ... made-100 few-100 ...] [--samples 2000]
        [--losses hamming hamming-count] [--lams 0.1 1 10] [--limit 40]

Fits of MultilabelSSVM with inference="relaxed", so that both solve the same problem, and otherwise
default parameters; lam in units of 1/n. made-K: make_multilabel_pairwise with K labels and 50
features, a quarter of the labels on; few-K: make_multilabel_classification of scikit-learn with 500
features, about three labels on. Rows are scaled to unit length, except for made-K. A fit ends at a
relative gap of 0.01, the default tolerance, or with the first pass that ends after ``--limit``
seconds.

Seconds are CPU seconds of whole fits in one thread, including packing and certificates. For each
fit: seconds to relative gaps of 0.1 and 0.01 ("-": not reached), the last gap and the seconds until
it was certified. Data are read from SSTRUCT_DATA. Writes a table to the screen and
label_solvers.csv into --output.
"""

import argparse
import os
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from multilabel import FETCH
from reports import Table, command, origin, parsed
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.preprocessing import normalize

from sstruct import MultilabelSSVM
from sstruct.datasets import make_multilabel_pairwise

LEVELS = (0.1, 0.01)
METHODS = ("mp-bcfw", "gdmm")


def label_sets(name, n):
    """Return at most n rows and their label sets."""
    if name.startswith("made-"):
        K = int(name.removeprefix("made-"))
        return make_multilabel_pairwise(n, n_labels=K, n_features=50, random_state=0)
    if name.startswith("few-"):
        X, Y = make_multilabel_classification(
            n, n_features=500, n_classes=int(name.removeprefix("few-")), n_labels=3, random_state=0
        )
        return normalize(X), Y
    fetch = FETCH[name]
    whole = name in ("rcv1", "corel16k", "reuters")
    X, Y = fetch(subset="all" if whole else "train", return_X_y=True)
    chosen = np.random.default_rng(0).permutation(X.shape[0])[:n]
    Y = Y[chosen].toarray() if sparse.issparse(Y) else Y[chosen]
    return normalize(X[chosen]), np.asarray(Y)


def certificates(solver, X, Y, loss, lam, limit):
    """Fit; return the relative gap between the best bounds so far at each certificate."""
    rows, begin = [], time.process_time()

    def record(info):
        seconds = time.process_time() - begin
        if not np.isnan(info["primal"]):
            primal = min([info["primal"], *(row["primal"] for row in rows)])
            gap = 1 - info["dual"] / primal
            rows.append({"seconds": seconds, "primal": primal, "dual": info["dual"], "gap": gap})
        return seconds >= limit

    model = MultilabelSSVM(
        solver=solver, inference="relaxed", loss=loss, lam=lam, max_iter=10**6, random_state=0
    ).set_callbacks(record)
    model.fit(X, Y)
    seconds = time.process_time() - begin
    primal = min([model.objective_, *(row["primal"] for row in rows)])
    rows.append({"seconds": seconds, "primal": primal, "dual": model.dual_objective_,
                 "gap": 1 - model.dual_objective_ / primal})  # fmt: skip
    return rows


def reach(rows, level):
    """Return the seconds until the first certificate of a gap, or None."""
    return next((row["seconds"] for row in rows if row["gap"] <= level), None)


def format_seconds(seconds):
    """Format seconds as a cell."""
    return f"{seconds:9.2f}" if seconds is not None else f"{'-':>9}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["bibtex", "rcv1", "reuters", "few-100"])
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--losses", nargs="+", default=["hamming", "hamming-count"])
    parser.add_argument("--lams", type=float, nargs="+", default=[0.1, 1.0, 10.0])
    parser.add_argument("--limit", type=float, default=40.0)
    arguments = parsed(parser)
    warnings.simplefilter("ignore")
    keys = ["data", "rows", "loss", "lam_n", "solver"]
    table = Table(arguments.output / "label_solvers.csv", keys)
    print(f"{'data':12}{'n':>6}{'K':>5} {'loss':14}{'lam n':>6}  {'solver':8}"
          f"{'to 0.1':>9}{'to 0.01':>9}{'seconds':>9}{'gap':>8}")  # fmt: skip
    for name in arguments.data:
        X, Y = label_sets(name, arguments.samples)
        n, K = Y.shape
        for loss in arguments.losses:
            for lam in arguments.lams:
                for solver in METHODS:
                    rows = certificates(solver, X, Y, loss, lam / n, arguments.limit)
                    times = "".join(format_seconds(reach(rows, level)) for level in LEVELS)
                    print(f"{name:12}{n:6}{K:5} {loss:14}{lam:6g}  {solver:8}{times}"
                          f"{format_seconds(rows[-1]['seconds'])}{rows[-1]['gap']:8.3f}",
                          flush=True)  # fmt: skip
                    row = {"data": name, "rows": n, "labels": K, "loss": loss, "lam_n": lam}
                    row["solver"] = solver
                    for level in LEVELS:
                        seconds = reach(rows, level)
                        row[f"seconds_{level}"] = "" if seconds is None else f"{seconds:.2f}"
                    row["seconds"] = f"{rows[-1]['seconds']:.2f}"
                    row["gap"] = f"{rows[-1]['gap']:.4f}"
                    table.put(row | origin(command(), arguments.load))


if __name__ == "__main__":
    main()
