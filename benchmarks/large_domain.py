#!/usr/bin/env python3
"""GDMM compared with Frank-Wolfe and subgradient methods for many labels.

    python benchmarks/large_domain.py [--panels pos characters bibtex rcv1] [--limit 60]
        [--figure panels.png]
    python benchmarks/large_domain.py --domain [45 300 1000 3000] [--methods gdmm mp-bcfw bcfw]
        [--tokens 5000] [--limit 300] [--factor-limit 60] [--every 2] [--figure domain.png]

The panels follow the paper: English part-of-speech tags (Universal Dependencies, with words as the
only features), make_large_domain_sequences (`--labels` labels, 86 dense features), bibtex, and a
subset of RCV1; all with loss="hamming-count" and lam = 1/n, and with ``--samples`` samples for
training and for testing. Methods: gdmm (with sublinear searches), gdmm-exhaustive (whose searches
consider every pair or edge), soft-bcfw (gdmm without multipliers, penalty 10), bcfw, mp-bcfw, ssg.
For label sets, the objective of all methods is that of the relaxation over the local polytope.

After passes, the objective and the test error are computed, and this time is not counted.
Certificates of gdmm, one in `--every` passes, are part of the method and are counted; other methods
make none. Seconds are CPU seconds of one thread. A fit ends at relative gap 0.001, or with the
first pass after ``--limit`` seconds. ``--factor-limit`` is another limit for gdmm and soft-bcfw;
with --domain, there may be a ``--limit`` for each K.

--domain: one model for each number of labels, with the same number of training tokens; gdmm with
``--parts`` label parts (1: every label is searched at every visit of a pass with searches). For
each K and method: seconds to test errors above the smallest error of all methods, and to fractions
of the best lower bound of all methods; "-": not reached. Then, for gdmm and each other method, the
seconds of both to the highest bound and the smallest error that both reach. The objective is not
computed, since a pass of dense Viterbi takes longer than everything else.

Prints tables, and writes JSON and large_domain.csv or, with --domain, labels.csv into --output, and
with --figure a plot: a row for each panel or K, with the best objective (solid) and lower bound
(dashed) so far on the left, and the test error on the right, against seconds.
"""

import argparse
import gzip
import json
import os
import re
import time
import warnings
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from benchmark_problems import machine, shared_file
from reports import Table, command, origin, parsed
from sklearn.base import clone
from sklearn.preprocessing import normalize

from sstruct import ChainSSVM, MultilabelSSVM
from sstruct._estimators.core.fit import chosen_options, prepare_training
from sstruct._estimators.core.training import Samples
from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._solvers.core._full_pass import full_pass
from sstruct._solvers.core._state import squared_norm
from sstruct._solvers.core.solver import Setup
from sstruct._solvers.frank_wolfe.block_coordinate import FrankWolfeFit
from sstruct._solvers.gdmm.on_chains import GDMMFit
from sstruct._solvers.gdmm.on_label_sets import LabelGDMM
from sstruct._solvers.online.subgradient import StochasticSubgradient
from sstruct.datasets import fetch_bibtex, fetch_rcv1_subset, make_large_domain_sequences
from sstruct.preprocessing import SequenceVectorizer
from sstruct.solvers import BCFW, MPBCFW

OF_FACTORS = {
    "gdmm": {},
    "gdmm-exhaustive": {"exhaustive": True},
    "soft-bcfw": {"rho": 10.0, "multiplier_step": 0.0},
}
METHODS = (*OF_FACTORS, "mp-bcfw", "bcfw", "ssg")
NEVER = 10**9
MIN_GAP = 1e-3
# Ratio of the times of successive passes that are evaluated. Evaluating the objective of label sets
# takes a pass of the decoder, which may be slower than a hundred passes of the fit.
SPACING = {"chains": 1.1, "sets": 1.4}
# --domain: targets, as errors above the smallest one and fractions of the best bound.
ABOVE = (0.05, 0.02, 0.01)
SHARES = (0.5, 0.65, 0.8, 0.9, 0.95)


def pos(n):
    """Return sentences of the English Web Treebank: words and Penn tags."""
    sentences, words, tags = [], [], []
    with gzip.open(shared_file("ud_english_ewt_train.txt.gz"), "rt") as lines:
        for line in lines:
            if line.strip():
                word, _, tag = line.split("\t")[:3]
                words.append({"word=" + word.lower(): 1.0})
                tags.append(tag)
            elif words:
                sentences.append((words, tags))
                words, tags = [], []
    chosen = np.random.default_rng(0).permutation(len(sentences))[: 2 * n]
    X = [sentences[i][0] for i in chosen]
    y = [sentences[i][1] for i in chosen]
    rows = SequenceVectorizer(min_count=1).fit(X[:n])
    return rows.transform(X[:n]), y[:n], rows.transform(X[n:]), y[n:]


def characters(n, n_labels):
    """Return synthetic sequences, half of them for testing."""
    X, y = make_large_domain_sequences(2 * n, n_labels, random_state=0)
    return X[:n], y[:n], X[n:], y[n:]


def label_sets(fetch, n):
    """Return rows of unit length and label sets of a data set."""
    X, Y = fetch(subset="all", return_X_y=True)
    chosen = np.random.default_rng(0).permutation(X.shape[0])[: 2 * n]
    X, Y = normalize(X[chosen]), np.asarray(Y[chosen].todense())
    return X[:n], Y[:n], X[n:], Y[n:]


def panel(name, arguments):
    """Return the training and the test part."""
    n = arguments.samples
    if name == "pos":
        return pos(n)
    if name == "characters":
        return characters(n, arguments.labels)
    return label_sets(fetch_bibtex if name == "bibtex" else fetch_rcv1_subset, n)


class Run:
    """One method on packed data, with a row per pass, whose computation is not timed.

    Parameters
    ----------
    estimator : ChainSSVM or MultilabelSSVM
    parts : tuple
        X and y for training, X and y for testing.
    method : str
    limit : float
    every : int
        Passes between certificates of gdmm.
    primal : bool
        Whether the objective of each row is computed, by a pass of the decoder; otherwise, the
        solver's value is used.
    n_parts : int
        Label parts of gdmm on chains.
    """

    def __init__(self, estimator, parts, method, limit, every, primal=True, n_parts=1):
        X, y, self.X_test, self.y_test = parts
        self.estimator, self.method, self.limit = estimator, method, limit
        self.primal = primal
        self.chains = isinstance(estimator, ChainSSVM)
        self.kept = prepare_training(estimator._structure(), Samples(X, y))
        self.problem = self.kept.problem
        self.lam = 1 / self.problem.n_blocks
        self.weights = self.kept.block_weight
        self.pool = ThreadPool(self.problem, 1)
        of_factors = method in OF_FACTORS
        solver = MPBCFW() if method == "mp-bcfw" else BCFW()
        self.options = replace(
            chosen_options(estimator._structure(), solver, self.problem),
            seed=0, tol=0.0, max_iter=NEVER, certificate_every=every if of_factors else NEVER,
            parts=n_parts,
        )  # fmt: skip
        self.rows, self.aside, self.w = [], 0.0, None
        self.spacing = SPACING["chains" if self.chains else "sets"]

    def solver(self):
        """Return the solver of the method."""
        setup = Setup(self.problem, self.lam, self.weights, self.options, callback=self.record)
        if self.method == "ssg":
            return StochasticSubgradient(setup)
        if self.method in OF_FACTORS:
            setup.options = replace(self.options, **OF_FACTORS[self.method])
            return (GDMMFit if self.chains else LabelGDMM)(setup)
        return FrankWolfeFit(setup)

    def error(self, w):
        """Return the fraction of wrong nodes or labels of the test part at w."""
        model = clone(self.estimator)
        fitted = {
            "_w": w, "lam_": self.lam, "solver_": self.method, "status_": "MAX_ITER",
            "converged_": False, "n_iter_": 0, "n_oracle_calls_": 0, "history_": {},
        }  # fmt: skip
        found = self.kept.known | fitted
        model.__dict__.update({name: value for name, value in found.items() if value is not None})
        if self.chains:
            return 1 - model.score(self.X_test, self.y_test)
        return float(np.mean(np.asarray(model.predict(self.X_test)) != self.y_test))

    def record(self, info, solution):
        """Record a pass; return whether the fit has to stop."""
        begin = time.process_time()
        seconds = begin - self.begin - self.aside
        over = seconds >= self.limit
        if self.rows and not over and seconds < self.spacing * self.rows[-1]["seconds"]:
            return False
        now = solution()
        w = np.ascontiguousarray(now.w)
        primal = now.primal
        # Between certificates, solvers on factors have the w of the last one.
        same = self.w is not None and np.array_equal(w, self.w)
        self.w = w.copy()
        if self.primal and same:
            primal = self.rows[-1]["primal"]
        elif self.primal:
            hinge, _ = full_pass(self.pool, w, self.weights)
            primal = 0.5 * self.lam * squared_norm(w) + hinge
        error = self.rows[-1]["error"] if same else self.error(w)
        dual = now.dual if np.isfinite(now.dual) else float("-inf")
        self.rows.append({"seconds": seconds, "primal": primal, "dual": dual, "error": error})
        self.aside += time.process_time() - begin
        return over or primal - dual <= MIN_GAP * primal

    def curve(self):
        """Run the solver and return the rows."""
        self.begin = time.process_time()
        self.solver().solve()
        return self.rows


def reach(rows, good):
    """Return the seconds of the first row that is good, or None."""
    return next((row["seconds"] for row in rows if good(row)), None)


def meeting(curves, a, b):
    """Compare two methods by seconds to the highest bound and the least error that both reach."""
    rows = [curves[a], curves[b]]
    dual = min(max(row["dual"] for row in each) for each in rows)
    error = max(min(row["error"] for row in each) for each in rows)
    to_dual = [reach(each, lambda row: row["dual"] >= dual) for each in rows]
    to_error = [reach(each, lambda row: row["error"] <= error) for each in rows]
    print(f"{a} and {b} to the bound {dual:.5g}:{''.join(map(format_seconds, to_dual))}, "
          f"to the error {error:.4f}:{''.join(map(format_seconds, to_error))}",
          flush=True)  # fmt: skip
    return {"methods": [a, b], "dual": dual, "seconds_to_dual": to_dual,
            "error": error, "seconds_to_error": to_error}  # fmt: skip


def format_seconds(seconds):
    """Format seconds as a cell."""
    return f"{seconds:10.2f}" if seconds is not None else f"{'-':>10}"


def limit_of(method, limit, arguments):
    """Return the time limit of a fit."""
    return arguments.factor_limit or limit if method in OF_FACTORS else limit


def cell(value):
    """Return a number as a cell of a CSV file, which is empty for None and nonfinite numbers."""
    return "" if value is None or not np.isfinite(value) else f"{value:.4g}"


def panels(arguments):
    """Run all methods on all panels."""
    report = {}
    table = Table(arguments.output / "large_domain.csv", ["panel", "method"])
    for name in arguments.panels:
        parts = panel(name, arguments)
        chains = name in ("pos", "characters")
        if chains:
            classes = sorted({label for labels in [*parts[1], *parts[3]] for label in labels})
            estimator = ChainSSVM(loss="hamming-count", classes=classes)
        else:
            estimator = MultilabelSSVM(loss="hamming-count", inference="relaxed")
        report[name] = {}
        print(f"\n{name}\n{'method':16}{'rows':>8}{'seconds':>10}{'objective':>12}{'bound':>12}"
              f"{'error':>9}{'least':>9}")  # fmt: skip
        for method in arguments.methods:
            limit = limit_of(method, arguments.limit[0], arguments)
            rows = Run(estimator, parts, method, limit, arguments.every).curve()
            report[name][method] = rows
            last, errors = rows[-1], [row["error"] for row in rows]
            primal, dual = min(r["primal"] for r in rows), max(r["dual"] for r in rows)
            print(f"{method:16}{len(rows):8}{last['seconds']:10.2f}{primal:12.5g}{dual:12.5g}"
                  f"{errors[-1]:9.4f}{min(errors):9.4f}", flush=True)  # fmt: skip
        best = min(row["primal"] for rows in report[name].values() for row in rows)
        for method, rows in report[name].items():
            row = {"panel": name, "method": method}
            for percent in (10, 2):
                target = best * (1 + percent / 100)
                row[f"seconds_to_{percent}"] = cell(
                    reach(rows, lambda row, target=target: row["primal"] <= target)
                )
            row["objective"] = cell(min(r["primal"] for r in rows))
            row["bound"] = cell(max(r["dual"] for r in rows))
            row["error"] = cell(rows[-1]["error"])
            row["stopped_after"] = cell(rows[-1]["seconds"])
            table.put(row | origin(command(), arguments.load))
    return report


def domains(arguments):
    """Measure seconds by the number of labels."""
    report = {}
    table = Table(arguments.output / "labels.csv", ["labels", "solver"])
    limits = arguments.limit * (len(arguments.domain) if len(arguments.limit) == 1 else 1)
    for K, limit in zip(arguments.domain, limits, strict=True):
        # Sequences have 14.5 tokens on average.
        parts = characters(max(round(arguments.tokens / 14.5), 2), K)
        estimator = ChainSSVM(loss="hamming-count", classes=range(K))
        curves = {}
        for method in arguments.methods:
            curves[method] = Run(
                estimator, parts, method, limit_of(method, limit, arguments), arguments.every,
                primal=False, n_parts=arguments.parts,
            ).curve()  # fmt: skip
        error = min(row["error"] for rows in curves.values() for row in rows)
        dual = max(row["dual"] for rows in curves.values() for row in rows)
        report[K] = {"error": error, "dual": dual, "parts": arguments.parts, "curves": curves}
        print(f"\nK = {K}, least error {error:.4f}, best bound {dual:.5g}")
        print(f"{'':10}{'seconds to error + ...':>30}{'to a share of the bound':>50}")
        print(f"{'method':10}" + "".join(f"{level:10}" for level in (*ABOVE, *SHARES))
              + f"{'seconds':>10}{'error':>9}{'bound':>11}")  # fmt: skip
        for method, rows in curves.items():
            times = [reach(rows, lambda row, x=error + x: row["error"] <= x) for x in ABOVE]
            times += [reach(rows, lambda row, x=dual * x: row["dual"] >= x) for x in SHARES]
            print(f"{method:10}" + "".join(map(format_seconds, times))
                  + f"{rows[-1]['seconds']:10.2f}{min(row['error'] for row in rows):9.4f}"
                  f"{rows[-1]['dual']:11.5g}", flush=True)  # fmt: skip
        report[K]["meetings"] = [
            meeting(curves, a, b) for a in curves for b in curves if a in OF_FACTORS and a != b
        ]
        for method, rows in curves.items():
            row = {"labels": K, "solver": method}
            for share in SHARES:
                seconds = reach(rows, lambda row, x=dual * share: row["dual"] >= x)
                row[f"seconds_to_{100 * share:g}"] = cell(seconds)
            row["least_error"] = cell(min(r["error"] for r in rows))
            row["error"] = cell(rows[-1]["error"])
            # Seconds of this method and of GDMM to the highest bound that both reach.
            both = [
                found for found in report[K]["meetings"] if found["methods"] == ["gdmm", method]
            ]
            gdmm, own = both[0]["seconds_to_dual"] if both else (None, None)
            row["seconds_to_common_bound"], row["gdmm_to_common_bound"] = cell(own), cell(gdmm)
            row["stopped_after"] = cell(rows[-1]["seconds"])
            table.put(row | origin(command(), arguments.load))
    return report


def draw(curves, target):
    """Plot rows of methods by panels: {panel: {method: rows}}."""
    try:
        import matplotlib
    except ImportError:
        print("matplotlib is missing: no plot")
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        len(curves), 2, figsize=(11, 3.4 * len(curves)), squeeze=False, layout="constrained"
    )
    for (left, right), (title, methods) in zip(axes, curves.items(), strict=True):
        for i, (method, rows) in enumerate(methods.items()):
            seconds = [row["seconds"] for row in rows]
            primal = np.fmin.accumulate([row["primal"] for row in rows])
            dual = np.fmax.accumulate([row["dual"] for row in rows])
            primal[~np.isfinite(primal)] = dual[~(dual > 0)] = np.nan
            left.plot(seconds, primal, color=f"C{i}")
            left.plot(seconds, dual, "--", color=f"C{i}")
            right.plot(seconds, [row["error"] for row in rows], color=f"C{i}", label=method)
        # Outliers would compress the rest of the plot.
        best = np.nanmax([row["dual"] for rows in methods.values() for row in rows])
        if best > 0:
            left.set_ylim(best / 4, best * 4)
        left.set(title=title, xscale="log", yscale="log", ylabel="objective and bound")
        right.set(title=title, xscale="log", ylabel="test error")
        right.legend(fontsize="small")
    for ax in axes[-1]:
        ax.set_xlabel("CPU seconds")
    figure.savefig(target, dpi=100)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = ("pos", "characters", "bibtex", "rcv1")
    parser.add_argument("--panels", nargs="+", choices=names, default=list(names))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--labels", type=int, default=300)
    parser.add_argument("--domain", type=int, nargs="*")
    parser.add_argument("--tokens", type=int, default=5000)
    parser.add_argument("--limit", type=float, nargs="+", default=[60.0])
    parser.add_argument("--factor-limit", type=float)
    parser.add_argument("--parts", type=int, default=1)
    parser.add_argument("--every", type=int, default=5)
    parser.add_argument("--figure", type=Path, help="file to which a plot is written")
    arguments = parsed(parser)
    warnings.simplefilter("ignore")
    arguments.output.mkdir(parents=True, exist_ok=True)
    if arguments.domain is None:
        name, report = "large_domain", panels(arguments)
        curves = report
    else:
        arguments.domain = arguments.domain or [45, 300, 1000, 3000]
        name, report = "large_domain_labels", domains(arguments)
        curves = {f"K = {K}": found["curves"] for K, found in report.items()}
    found = {"machine": machine(), "report": report}
    text = re.sub("-?Infinity|NaN", "null", json.dumps(found, indent=1))
    (arguments.output / f"{name}.json").write_text(text)
    if arguments.figure is not None:
        draw(curves, arguments.figure)


if __name__ == "__main__":
    main()
