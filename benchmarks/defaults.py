#!/usr/bin/env python3
"""Are the defaults good? Default fits of all estimators compared with grids of lam.

    python benchmarks/defaults.py [--data iris "CoNLL-2000" ...] [--output folder]
    python benchmarks/defaults.py --choose [--output folder]

For each data set (`defaults_data.py`; only the training part is used), the held-out error (fraction
of wrong nodes or labels; poses: mean distance loss) of the default fit and of fits at nine values
of lam: 10 to 0.001 times S / n in steps of half a decade, where S is the mean squared norm of the
features of a node, including a 1 for the intercept. Prints the error of the default fit and the
smallest error of the grid, the excess of the former (*: a fit at the best lam did not reach its
tolerance), the CPU seconds of the default fit divided by those at the best lam, and its passes.
`workloads.py` compares with baselines.

Each measurement is a row of defaults.csv in --output; existing rows are not measured again.
--choose reads them and selects the constants c, a and b of lam = c V^a m^b / n with the smallest
excess (limited to 0.5) in the mean over all sets, by interpolation in log lam. m is the number of
nodes of a sample, and V is the sum of the variances of the features of a node, or S. It also prints
the excess of each set with constants selected on the other sets. One thread. Needs SSTRUCT_DATA.
"""

import argparse
import csv
import os
import time
import warnings
from itertools import product
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from benchmark_problems import machine
from defaults_data import SETS, taken
from scipy import sparse

from sstruct import GraphCRFSSVM, MultilabelSSVM, Sequences, TreeSSVM
from sstruct._estimators.core.lam_from_scale import TrainedNodes, feature_spread, scale_of

COLUMNS = (
    *("data", "what", "n", "nodes", "S", "V", "lam"),
    *("error", "seconds", "converged", "passes"),
)
LONGEST = 40  # maximum seconds of a fit of the grid
STEPS = tuple(range(2, -7, -1))  # half decades of lam n / S


def node_features(trial):
    """Return the features of all nodes as one matrix, and the number of nodes per sample."""
    X, y, kind = trial.X, trial.y, type(trial.kind())
    if kind is TreeSSVM:
        rows = [np.reshape(x["features"], (-1, np.shape(x["features"])[-1])) for x in X]
        return np.concatenate(rows), np.mean([(np.asarray(v) >= 0).sum() for v in y])
    if isinstance(X, Sequences):
        return X.flat, X.flat.shape[0] / len(X)
    if kind is MultilabelSSVM:
        return X, y.shape[1]
    if hasattr(X, "shape") and X.ndim == 2:
        return X, 1
    rows = [x[0] if kind is GraphCRFSSVM else x for x in X]
    rows = [np.reshape(x, (-1, x.shape[-1])) for x in rows]
    return np.concatenate(rows), np.mean([len(x) for x in rows])


def error_of(model, X, y):
    """Return the fraction of wrong nodes or labels; for poses, the mean distance loss."""
    if isinstance(model, MultilabelSSVM):
        return (model.predict(X) != y).sum() / np.prod(y.shape)
    if not (isinstance(model, TreeSSVM) and "scale" in X[0]):
        return 1 - model.score(X, y)
    losses = []
    for x, found, truth in zip(X, model.predict(X), y):
        known, width = np.asarray(truth) >= 0, np.shape(x["features"])[2]
        off = np.stack([found % width - truth % width, found // width - truth // width])[:, known]
        losses.append(np.minimum(1, (off**2).sum(axis=0) / x["scale"] ** 2))
    return np.concatenate(losses).mean()


def measure_lam(trial, lam):
    """Return error, CPU seconds, fraction of converged fits and passes: means over folds."""
    rows = []
    for fit, held in trial.folds():
        chosen = {} if lam is None else {"lam": lam, "max_time": LONGEST}
        model = trial.kind(random_state=0, **chosen)
        data = taken(trial.X, fit), taken(trial.y, fit)
        begin = time.process_time()
        model.fit(*data)
        seconds = time.process_time() - begin
        wrong = error_of(model, taken(trial.X, held), taken(trial.y, held))
        rows.append([wrong, seconds, model.converged_, model.n_iter_, model.lam_])
    return np.mean(rows, axis=0)


class Measurements:
    """The rows of defaults.csv; new rows are appended to the file."""

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.path, self.rows = folder / "defaults.csv", {}
        if self.path.exists():
            with self.path.open(newline="", encoding="utf-8") as lines:
                for row in csv.DictReader(lines):
                    number = {k: float(v) for k, v in row.items() if k not in COLUMNS[:2]}
                    self.rows[row["data"], row["what"]] = row | number

    def add(self, **row):
        new = not self.path.exists()
        with self.path.open("a", newline="", encoding="utf-8") as lines:
            writer = csv.DictWriter(lines, COLUMNS)
            if new:
                writer.writeheader()
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
        self.rows[row["data"], row["what"]] = row

    def grid(self, name):
        """Return the rows of the grid of a set, in the order of lam."""
        found = [self.rows.get((name, str(step))) for step in reversed(STEPS)]
        return [row for row in found if row]


def measure(name, found):
    """Make the missing measurements of a set."""
    wanted = [what for what in ("default", *map(str, STEPS)) if (name, what) not in found.rows]
    if not wanted:
        return
    trial = SETS[name]()
    features, nodes = node_features(trial)
    squares = features.multiply(features) if sparse.issparse(features) else features**2
    S = float(squares.sum() / features.shape[0]) + 1
    ones = np.ones(features.shape[0])
    trained = TrainedNodes(features, ones, n_nodes=1.0, mean_cost=1.0, bias=True)
    V = feature_spread(scale_of(trained, 1.0).moments, 1.0)
    n = float(np.mean([len(fit) for fit, _ in trial.folds()]))
    about = {"data": name, "n": n, "nodes": float(nodes), "S": S, "V": V}
    for what in wanted:
        lam = None if what == "default" else S / n * 10 ** (int(what) / 2)
        results = measure_lam(trial, lam)
        keys = ("error", "seconds", "converged", "passes", "lam")
        found.add(what=what, **about, **dict(zip(keys, map(float, results))))


def line(name, found):
    """Print the row of a set; return its excess and its time relative to that at the best lam."""
    default, best = found.rows[name, "default"], min(found.grid(name), key=lambda r: r["error"])
    excess = default["error"] / best["error"] - 1
    times = default["seconds"] / best["seconds"]
    n, V = default["n"], default["V"]
    print(
        f"{name:23}{n:6.0f}{default['nodes']:7.1f}{V:9.3g}{default['lam'] * n:9.3g}"
        f"{best['lam'] * n:9.3g}{default['error']:9.4f}{best['error']:8.4f}{100 * excess:7.1f} %"
        f"{' *'[best['converged'] < 1]}{default['seconds']:8.3f}{times:7.2f}"
        f"{default['passes']:6.0f} {' !'[default['converged'] < 1]}",
        flush=True,
    )
    return excess, times


def interpolated(rows, lam_n, key="error"):
    """Return the value of a grid at a lam n, by linear interpolation in log lam."""
    x = np.log([row["lam"] * row["n"] for row in rows])
    return np.interp(np.log(lam_n), x, [row[key] for row in rows])


def choose(found):
    """Print the best constants, and their excess on sets that were left out."""
    names = [name for name in SETS if len(found.grid(name)) == len(STEPS)]
    strengths = np.geomspace(0.05, 3, 21)

    def excesses(c, a, b, scale):
        out = []
        for name in names:
            rows = found.grid(name)
            lam_n = c * rows[0][scale] ** a * rows[0]["nodes"] ** b
            out.append(interpolated(rows, lam_n) / min(row["error"] for row in rows) - 1)
        return np.array(out)

    for scale, powers, counts in (
        ("V", [1], [0.2]), ("V", [1], [0]), ("S", [1], [0]),
        ("V", [0.5, 0.75, 1, 1.25], np.arange(-0.4, 0.3, 0.1)),
    ):  # fmt: skip
        rules = list(product(strengths, powers, counts))
        table = np.array([excesses(*rule, scale) for rule in rules])
        cut = np.minimum(table, 0.5)
        best = cut.mean(axis=1).argmin()
        left = [(cut.sum(axis=1) - cut[:, i]).argmin() for i in range(len(names))]
        out = table[left, np.arange(len(names))]
        c, a, b = rules[best]
        print(
            f"lam = c {scale}^a m^b / n, a in {np.round(powers, 2)}, b in {np.round(counts, 1)}: "
            f"c={c:.2f} a={a} b={b:.1f}\n"
            f"  median excess {100 * np.median(table[best]):.1f} %, sets left out "
            f"{100 * np.median(out):.1f} %, with c from {rules[min(left)][0]:.2f} to "
            f"{rules[max(left)][0]:.2f}; left out above 20 %:",
            *(f"{name} {100 * x:.0f} %;" for name, x in zip(names, out) if x > 0.2),
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", choices=[*SETS], default=[*SETS])
    parser.add_argument("--choose", action="store_true")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    found = Measurements(arguments.output)
    if arguments.choose:
        choose(found)
        return
    print(machine())
    print(
        f"{'data':23}{'n':>6}{'nodes':>7}{'V':>9}{'lam n':>9}{'best':>9}{'error':>9}{'best':>8}"
        f"{'excess':>9} {'CPU s':>9}{'ratio':>7}{'passes':>7}"
    )
    lines = []
    for name in arguments.data:
        measure(name, found)
        lines.append(line(name, found))
    excess, times = np.array(lines).T
    print(
        f"\nexcess: median {100 * np.median(excess):.1f} %, largest {100 * excess.max():.1f} %; "
        f"time over that of the best lam: largest {times.max():.2f}"
    )


if __name__ == "__main__":
    main()
