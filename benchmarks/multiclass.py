#!/usr/bin/env python3
"""Time of a multiclass SVM to within 1e-3 of its optimum: MulticlassSSVM and LIBLINEAR.

    python benchmarks/multiclass.py [--data digits usps texts sparse] [--lam 0.001 0] [--seeds 5]

Both minimize Crammer and Singer's objective without intercept, on scikit-learn's digits (pixels
divided by 16), on USPS (SSTRUCT_DATA; 7291 rows) and on two synthetic CSR sets of 10,000 rows,
50,000 features, about 100 nonzeros per row and 20 classes: texts (words by Zipf's law, including
words of each class, tf-idf, rows of norm 1) and sparse (uniform columns, normal values, classes by
a linear model with noise). Each program is run with decreasing tolerances. Reported are the CPU
seconds, including input validation, of the first fit whose objective, computed from its weights, is
at most (1 + --excess) times the optimum. The optimum is the dual bound of a fit with tol 1e-8. The
two alternate, one thread each; medians over seeds. ``--lam 0`` means 1/n. Prints a table, and
writes JSON into --output.
"""

import argparse
import os
import platform
import time
import warnings
from functools import partial
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from benchmark_problems import LOADERS
from reports import add_output, write
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.svm import LinearSVC

from sstruct import MulticlassSSVM
from sstruct.solvers import BCFW, MPBCFW

OUR_TOLERANCES = (0.03, 1e-2, 7e-3, 5e-3, 3.5e-3, 2.5e-3, 1.8e-3, 1.3e-3, 1e-3, 7e-4)
LIBLINEAR_TOLERANCES = (1.0, 0.3, 0.1, 0.05, 0.03, 0.02, 0.015, 0.01, 0.007, 0.005, 0.003, 0.001)
OPTIONS = {
    "default": {},
    "mp-bcfw, pairwise": {"solver": MPBCFW(step="pairwise")},
    "mp-bcfw, uniform": {"solver": MPBCFW(sampling="uniform")},
    "bcfw, corrective": {"solver": BCFW(step="corrective")},
    "bcfw, pairwise": {"solver": BCFW(step="pairwise")},
}


SIZES = 10_000, 50_000, 20


def texts(rng):
    """Make rows of words by Zipf's law; two in five are words of a class, half of them its own."""
    n, n_features, n_classes = SIZES
    y = rng.integers(0, n_classes, n)
    rows = np.repeat(np.arange(n), rng.lognormal(np.log(100), 0.5, n).astype(int) + 5)
    words = np.floor(n_features ** rng.random(len(rows))).astype(int) % n_features
    topic = np.where(rng.random(len(rows)) < 0.5, y[rows], rng.integers(0, n_classes, len(rows)))
    own = np.array([rng.permutation(n_features) for _ in range(n_classes)])
    words = np.where(rng.random(len(rows)) < 0.4, own[topic, words], words)
    X = sparse.csr_matrix((np.ones(len(rows)), (rows, words)), shape=(n, n_features))
    return TfidfTransformer(sublinear_tf=True).fit_transform(X), y


def uniform(rng):
    """Make rows of uniform columns and normal values, with classes by a linear model with noise."""
    n, n_features, n_classes = SIZES
    X = sparse.random(
        n, n_features, 0.002, format="csr", random_state=0, data_rvs=rng.standard_normal
    )
    scores = X @ rng.standard_normal((n_features, n_classes))
    return X, (scores + 0.7 * scores.std() * rng.gumbel(size=scores.shape)).argmax(axis=1)


MADE = {"texts": texts, "sparse": uniform}
NAMES = ["digits", "usps", *MADE]


def load(name):
    """Return X and y of a data set."""
    return MADE[name](np.random.default_rng(0)) if name in MADE else LOADERS[name]()


def objective(coef, X, y, lam):
    """Compute lam/2 |w|^2 + mean of max_y [y != truth] + <w_y - w_truth, x>."""
    scores, rows = X @ coef.T, np.arange(len(y))
    augmented = scores + 1
    augmented[rows, y] -= 1
    return 0.5 * lam * np.sum(coef**2) + np.mean(augmented.max(axis=1) - scores[rows, y])


def ours(lam, tol, seed, **options):
    """Return an estimator of this package."""
    return MulticlassSSVM(
        lam=lam, tol=tol, fit_intercept=False, max_iter=10**5, random_state=seed, **options
    )


def liblinear(lam, tol, seed, n):
    """Return scikit-learn's wrapper of LIBLINEAR with the same objective."""
    return LinearSVC(
        multi_class="crammer_singer",
        C=1 / (lam * n),
        fit_intercept=False,
        tol=tol,
        max_iter=10**6,
        random_state=seed,
    )


def first_good(make, tolerances, X, y, lam, wanted):
    """Fit with each tolerance in turn; return the first fit that is good enough, or None."""
    for tol in tolerances:
        model = make(tol)
        begin = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - begin
        found = objective(model.coef_, X, y, lam)
        if found <= wanted:
            passes = int(np.max(model.n_iter_))
            return {"seconds": seconds, "tol": tol, "objective": found, "passes": passes}
    return None


def compare(X, y, lam, seeds, excess, names):
    """Run both with decreasing tolerances, alternately, once per seed."""
    n = len(y)
    best = ours(lam, 1e-8, 0).fit(X, y)
    wanted = best.dual_objective_ * (1 + excess)
    methods = {
        name: lambda tol, seed, options=OPTIONS[name]: ours(lam, tol, seed, **options)
        for name in names
    }
    methods["LIBLINEAR"] = lambda tol, seed: liblinear(lam, tol, seed, n)
    runs = {name: [] for name in methods}
    for seed in range(seeds):
        for name, make in methods.items():
            ladder = LIBLINEAR_TOLERANCES if name == "LIBLINEAR" else OUR_TOLERANCES
            runs[name].append(first_good(partial(make, seed=seed), ladder, X, y, lam, wanted))
    return {"optimum": best.dual_objective_, "optimum_gap": best.dual_gap_, "runs": runs}


def show(result):
    """Print a row for each method."""
    print(f"{'':24s}{'seconds':>9s}{'spread':>16s}{'excess':>9s}{'tol':>8s}{'/ LIBLINEAR':>13s}")
    reference = None
    for name in reversed(result["runs"]):
        runs = result["runs"][name]
        if None in runs:
            print(f"{name:24s}{'-':>9s}")
            continue
        seconds = [run["seconds"] for run in runs]
        reference = median(seconds) if name == "LIBLINEAR" else reference
        excess = median(run["objective"] for run in runs) / result["optimum"] - 1
        ratio = f"{median(seconds) / reference:.2f}" if reference else "-"
        print(
            f"{name:24s}{median(seconds):9.3f}{min(seconds):9.3f}-{max(seconds):<6.3f}"
            f"{excess:9.1e}{median(run['tol'] for run in runs):8.2g}{ratio:>13s}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", default=NAMES, choices=NAMES)
    parser.add_argument("--lam", type=float, nargs="*", default=[0.001, 0.0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--excess", type=float, default=1e-3)
    parser.add_argument("--options", nargs="*", default=["default"], choices=[*OPTIONS, "all"])
    add_output(parser)
    arguments = parser.parse_args()
    names = list(OPTIONS) if "all" in arguments.options else arguments.options
    warnings.simplefilter("ignore", FutureWarning)  # multi_class of LinearSVC is deprecated
    report = {"machine": platform.processor(), "excess": arguments.excess, "results": []}
    for data in arguments.data:
        X, y = load(data)
        for lam in arguments.lam:
            value = lam or 1 / len(y)
            result = compare(X, y, value, arguments.seeds, arguments.excess, names)
            print(
                f"\n{data}, {len(y)} rows, lam {value:.3g}: optimum {result['optimum']:.7f}, CPU "
                f"seconds to {arguments.excess:g} above it (median of {arguments.seeds})"
            )
            show(result)
            report["results"].append({"data": data, "lam": value, **result})
    write(report, arguments.output, "multiclass")


if __name__ == "__main__":
    main()
