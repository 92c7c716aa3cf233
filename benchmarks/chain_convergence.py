#!/usr/bin/env python3
"""How fast does the duality gap of a chain SVM fall, in seconds and in passes?

    python benchmarks/chain_convergence.py [--lam 0.01 0.001 0] [--seeds 3] [--yardstick PROGRAM]

Trains on the OCR letters (folds 1-9; SSTRUCT_DATA or a download) with each combination of options,
``certificate_every=1`` and one thread, and reports medians over seeds of the seconds and passes to
given relative gaps; certificate passes are not timed. Then compares the wall-clock time of a whole
fit with default parameters with its solver time. ``--lam 0`` means 1/n.

PROGRAM is run alternately with the default options in the same session:

    PROGRAM --lam L --step pairwise --approx 50 --seconds S --seed K

and must print a JSON line whose "seconds_to_gap" maps gaps to seconds. Writes a table to the
screen and JSON and a plot into --output.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import warnings
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from reports import add_output, write
from sklearn.exceptions import ConvergenceWarning

from sstruct import ChainSSVM
from sstruct.datasets import fetch_ocr_letters
from sstruct.solvers import BCFW, MPBCFW

OPTIONS = {
    "default": MPBCFW(),
    "bcfw, fw, uniform": BCFW(step="fw", sampling="uniform"),
    "bcfw, fw": BCFW(step="fw"),
    "bcfw, pairwise": BCFW(step="pairwise"),
    "bcfw, corrective": BCFW(step="corrective"),
    "mp-bcfw, fw": MPBCFW(step="fw"),
    "mp-bcfw, corrective": MPBCFW(step="corrective"),
    "mp-bcfw, uniform": MPBCFW(sampling="uniform"),
}
GAPS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)


def run(X, y, lam, seed, tol, limit, solver):
    """Fit once; return its solver seconds, passes and relative gaps, and the model."""
    model = ChainSSVM(
        lam=lam,
        loss="hamming",
        solver=solver.set_params(certificate_every=1),
        tol=tol,
        max_iter=10**6,
        max_time=limit,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    history = model.history_
    return {
        "seconds": history["seconds"] - history["certificate_seconds"],
        "passes": history["passes"],
        "gap": history["gap"] / history["primal"],
    }, model


def reach(curve, key):
    """Return the first value of a column at which each gap is reached, or None."""
    out = {}
    for gap in GAPS:
        at = np.flatnonzero(curve["gap"] <= gap)
        out[gap] = float(curve[key][at[0]]) if len(at) else None
    return out


def median_reach(reaches):
    """Return the median over seeds for each gap; None if a seed did not reach it."""
    return {
        gap: None if any(r[gap] is None for r in reaches) else median(r[gap] for r in reaches)
        for gap in GAPS
    }


def run_yardstick(program, lam, seed, limit):
    """Run the program once; return its seconds to each gap."""
    command = [sys.executable, program] if program.endswith(".py") else [program]
    command += ["--lam", str(lam), "--step", "pairwise", "--approx", "50"]
    command += ["--seconds", str(limit), "--seed", str(seed)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds = json.loads(done.stdout.strip().splitlines()[-1])["seconds_to_gap"]
    return {gap: seconds.get(str(gap)) for gap in GAPS}


def show(title, rows):
    """Print a table with a row for each method and a column for each gap."""
    print(f"\n{title}")
    print(f"{'':34s}" + "".join(f"{gap:>9g}" for gap in GAPS))
    for name, row in rows.items():
        cells = ("-" if row[gap] is None else f"{row[gap]:.3g}" for gap in GAPS)
        print(f"{name:34s}" + "".join(f"{cell:>9s}" for cell in cells))


def whole_fit(X, y, X_test, y_test, lam, seed):
    """Fit with the default certificates; compare the wall clock with the solver's time."""
    begin = time.perf_counter()
    model = ChainSSVM(lam=lam, loss="hamming", random_state=seed).fit(X, y)
    whole = time.perf_counter() - begin
    history = model.history_
    return {
        "fit_seconds": whole,
        "solver_seconds": float(history["seconds"][-1] - history["certificate_seconds"][-1]),
        "test_error": 1 - model.score(X_test, y_test),
        "status": model.status_,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lam", type=float, nargs="*", default=[0.01, 0.001, 0.0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tol", type=float, default=0.001)
    parser.add_argument("--limit", type=float, default=60, help="maximum seconds of a fit")
    parser.add_argument("--options", nargs="*", default=["default"], choices=[*OPTIONS, "all"])
    parser.add_argument("--yardstick", help="a program to run in the same session")
    parser.add_argument("--yardstick-seconds", type=float, default=120)
    add_output(parser)
    arguments = parser.parse_args()
    names = list(OPTIONS) if "all" in arguments.options else arguments.options

    letters = fetch_ocr_letters()
    train = np.flatnonzero(letters.fold != 0)
    test = np.flatnonzero(letters.fold == 0)
    X, y = [letters.data[i] for i in train], [letters.target[i] for i in train]
    X_test, y_test = [letters.data[i] for i in test], [letters.target[i] for i in test]
    report = {"machine": platform.processor(), "n": len(X), "lams": {}}
    curves = {}
    for lam in arguments.lam:
        value = lam or 1 / len(X)
        seconds = {name: [] for name in names}
        passes = {name: [] for name in names}
        yardstick, whole, pass_seconds = [], [], []
        for seed in range(arguments.seeds):
            for name in names:
                curve, _ = run(X, y, value, seed, arguments.tol, arguments.limit, OPTIONS[name])
                curves[value, name] = curve
                seconds[name].append(reach(curve, "seconds"))
                passes[name].append(reach(curve, "passes"))
            if arguments.yardstick:
                yardstick.append(
                    run_yardstick(arguments.yardstick, lam, seed, arguments.yardstick_seconds)
                )
            whole.append(whole_fit(X, y, X_test, y_test, value, seed))
            exact, _ = run(X, y, value, seed, 0.0, 0.5, BCFW())
            pass_seconds.append(float(np.median(np.diff(exact["seconds"]))))
        rows = {name: median_reach(seconds[name]) for name in names}
        if yardstick:
            rows["yardstick"] = median_reach(yardstick)
            for name in names:
                rows[f"{name} / yardstick"] = {
                    gap: rows[name][gap] / rows["yardstick"][gap]
                    if rows[name][gap] and rows["yardstick"][gap]
                    else None
                    for gap in GAPS
                }
        show(f"lam {value:.3g}: solver seconds to relative gap (median of {len(whole)})", rows)
        passes = {name: median_reach(passes[name]) for name in names}
        show(f"lam {value:.3g}: passes", passes)
        ratio = median(w["fit_seconds"] / w["solver_seconds"] for w in whole)
        print(
            f"whole fit {median(w['fit_seconds'] for w in whole):.3f} s = {ratio:.3f} x solver "
            f"time; one exact pass {median(pass_seconds):.4f} s; test error "
            f"{median(w['test_error'] for w in whole):.4f}"
        )
        report["lams"][value] = {
            "seconds": rows,
            "passes": passes,
            "yardstick_runs": yardstick,
            "whole_fit": whole,
            "exact_pass_seconds": median(pass_seconds),
        }
    write(report, arguments.output, "chain_convergence")
    draw(curves, arguments.output / "chain_convergence.png")


def draw(curves, target):
    """Plot the gap of the last seed's runs against seconds and passes."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print("matplotlib is missing: no plot")
        return
    lams = sorted({lam for lam, _ in curves}, reverse=True)
    figure, axes = plt.subplots(2, len(lams), figsize=(4.5 * len(lams), 7), squeeze=False)
    for column, lam in enumerate(lams):
        for row, key in enumerate(("seconds", "passes")):
            ax = axes[row, column]
            for (value, name), curve in curves.items():
                if value == lam:
                    ax.loglog(curve[key], curve["gap"], label=name)
            ax.set(title=f"lam {lam:.3g}", xlabel=f"solver {key}", ylabel="relative gap")
    axes[0, 0].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(target, dpi=120)
    print(f"wrote {target}")


if __name__ == "__main__":
    main()
