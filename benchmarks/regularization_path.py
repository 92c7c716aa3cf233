#!/usr/bin/env python3
"""Cost of a regularization path compared with a grid of 31 lambdas, figures 4 and 8 of [O16].

    python benchmarks/regularization_path.py [--data ocr-small horses-superpixels] [--eps 0.1]

Cumulative CPU seconds (of one thread) and passes (n oracle calls each, certificates included) until
each lambda is reached, down to 2^-15: the certified path and the 31 values 2^15 ... 2^-15, each to
the same absolute gap, with warm starts from w or from dual weights, or cold starts. With --search,
also compares PathCV with GridSearchCV over the 31 values: seconds, the selected lambda, its
cross-validation score, the test score of the best estimator, and the test score of a fit with this
lambda to a relative gap of 0.001 ("refit"), which compares only the lambdas. Test samples of
ocr-small are the words of the other nine folds. Writes a table to the screen, and
regularization_path.csv, JSON and a picture into --output. Data from SSTRUCT_DATA.
"""

import argparse
import os
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from benchmark_problems import LOADERS, machine
from reports import Table, command, origin, parsed, write
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sstruct import ChainSSVM, GraphCRFSSVM, MulticlassSSVM, PathCV, ssvm_path
from sstruct._estimators.path.along_lambda import LambdaGrid, Sweep

LAMS = 2.0 ** np.arange(15, -16, -1)
METHODS = ("path", "grid, w kept", "grid, dual kept", "grid, anew")


def horses():
    """Return the superpixels of Weizmann horses, as in segmentation.py."""
    from segmentation import Pictures

    pictures = Pictures("horses-superpixels")
    return pictures.X["train"], pictures.y["train"], pictures.X["test"], pictures.y["test"]


def load(name):
    """Return training and test samples, and an estimator."""
    if name == "horses-superpixels":
        return GraphCRFSSVM(pairwise="contrast", loss="hamming", random_state=0), horses()
    X, y = LOADERS[name]()
    order = np.random.default_rng(0).permutation(len(y))
    cut = len(y) * 2 // 3
    parts = [[part[i] for i in rows] for rows in (order[:cut], order[cut:]) for part in (X, y)]
    if name == "ocr-small":
        parts[2:] = LOADERS["ocr-large"]()
    kind = MulticlassSSVM if name in ("digits", "usps", "yeast") else ChainSSVM
    return kind(loss="hamming", random_state=0), parts


def sweep(method, estimator, X, y, eps):
    """Run a method; return the path or grid and the CPU seconds of all of it."""
    begin = time.process_time()
    if method == "path":
        found = ssvm_path(estimator, X, y, eps=eps, lam_min=LAMS[-1])
    else:
        keep = {"w kept": "primal", "dual kept": "dual", "anew": False}[method.split(", ")[1]]
        found = LambdaGrid(Sweep(estimator, X, y, None), LAMS, eps, keep)
    return found, time.process_time() - begin


def compare(estimator, X, y, eps, methods):
    rows = {}
    for method in methods:
        found, seconds = sweep(method, estimator, X, y, eps)
        history = found.history_
        rows[method] = {
            "cpu_seconds": seconds,
            "passes": float(history["passes"][-1]),
            "values": len(found.lams_),
            "status": found.status_,
            "first": float(found.lams_[0]),
            "end": float(getattr(found, "lam_end_", found.lams_[-1])),
            "guarantee": getattr(found, "guarantee_", "certified"),
            "megabytes": found.ws_.nbytes / 1e6,
            "lam": history["lam"].tolist(),
            "cumulative_seconds": history["seconds"].tolist(),
            "cumulative_passes": history["passes"].tolist(),
        }
        row = rows[method]
        print(
            f"  {method:18s}{row['cpu_seconds']:9.2f} s{row['passes']:9.1f} passes"
            f"{row['values']:6d} values{row['megabytes']:9.1f} MB  from {row['first']:.3g} to "
            f"{row['end']:.3g}, {row['status']}, {row['guarantee']}",
            flush=True,
        )
    return rows


def search(estimator, X, y, X_test, y_test, eps):
    """Run PathCV and GridSearchCV with five folds."""
    searches = {
        "PathCV": PathCV(clone(estimator), eps=eps, lam_min=LAMS[-1]),
        "PathCV, one-se": PathCV(clone(estimator), eps=eps, lam_min=LAMS[-1], rule="one-se"),
        "PathCV(lams)": PathCV(clone(estimator), eps=eps, lams=LAMS),
        "GridSearchCV": GridSearchCV(clone(estimator), {"lam": LAMS}, cv=5),
    }
    rows = {}
    for name, one in searches.items():
        begin = time.process_time()
        one.fit(X, y)
        rows[name] = {
            "cpu_seconds": time.process_time() - begin,
            "lam": float(one.best_params_["lam"]),
            "held_out": float(one.best_score_),
            "test": float(one.score(X_test, y_test)),
        }
        tight = clone(estimator).set_params(lam=rows[name]["lam"], tol=1e-3)
        rows[name]["refit"] = float(tight.fit(X, y).score(X_test, y_test))
        row = rows[name]
        print(
            f"  {name:18s}{row['cpu_seconds']:9.2f} s   lam {row['lam']:<10.4g}held out "
            f"{row['held_out']:.4f}   test {row['test']:.4f}   refit {row['refit']:.4f}",
            flush=True,
        )
    return rows


def picture(report, names, target):
    """Plot cumulative passes and seconds against lambda."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, len(names), squeeze=False, figsize=(5 * len(names), 7))
    for column, name in enumerate(names):
        for method, row in report[name]["sweeps"].items():
            for ax, what in zip(axes[:, column], ("seconds", "passes")):
                ax.plot(row["lam"], row[f"cumulative_{what}"], label=method)
                ax.set(xscale="log", yscale="log", xlabel="lambda", ylabel=f"{what} so far")
        axes[0, column].set_title(name)
        for ax in axes[:, column]:
            ax.invert_xaxis()
            ax.legend()
    figure.tight_layout()
    figure.savefig(target)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [*LOADERS, "horses-superpixels"]
    parser.add_argument("--data", nargs="*", choices=names, default=["ocr-small"])
    parser.add_argument("--eps", type=float, default=0.1)
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=[*METHODS])
    parser.add_argument("--search", action="store_true")
    arguments = parsed(parser)
    warnings.simplefilter("ignore")
    table = Table(arguments.output / "regularization_path.csv", ["data", "eps", "method"])
    report = {"machine": machine(), "eps": arguments.eps}
    print(report["machine"])
    for name in arguments.data:
        estimator, (X, y, X_test, y_test) = load(name)
        print(f"{name}, {len(y)} samples, eps {arguments.eps:g}")
        sweeps = compare(estimator, X, y, arguments.eps, arguments.methods)
        report[name] = {"sweeps": sweeps}
        for method, row in sweeps.items():
            table.put(
                {
                    "data": name,
                    "eps": arguments.eps,
                    "method": method,
                    "passes": f"{row['passes']:.1f}",
                    "cpu_seconds": f"{row['cpu_seconds']:.3f}",
                    "values": row["values"],
                    "status": row["status"],
                }
                | origin(command(), arguments.load)
            )
        if arguments.search:
            report[name]["search"] = search(estimator, X, y, X_test, y_test, arguments.eps)
    target = write(report, arguments.output, "regularization_path")
    picture(report, arguments.data, target.with_suffix(".png"))


if __name__ == "__main__":
    main()
