#!/usr/bin/env python3
"""Time of training with slack rescaling by several methods.

    python benchmarks/slack_training.py [--data yeast] [--lam 0.01] [--limit 30]

As in figure 4 of Choi, Meshi and Srebro (2015): sets of labels with all pairs interacting. Methods:
the package's default, the subgradient method with angular search (the paper's best), and cutting
planes with angular and with bisecting search. CPU seconds to objectives 10 % and 1 % above the
highest lower bound of all methods; certificates are computed in every pass and timed. A fit ends at
a relative gap of 0.01 or with the first pass that ends after --limit seconds. Data are read from
SSTRUCT_DATA; needs clarabel. Writes a table to the screen and slack_training.csv into --output.
"""

import argparse
import os
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from reports import Table, command, origin, parsed
from slack_search import rows_of

from sstruct import MultilabelSSVM
from sstruct.solvers import MPBCFW, Subgradient

METHODS = {
    "sstruct": {"solver": MPBCFW(certificate_every=1)},
    "subgradient, angular": {"solver": Subgradient(certificate_every=1), "search": "angular"},
    "cutting plane, angular": {"solver": "cutting-plane", "search": "angular"},
    "cutting plane, bisecting": {"solver": "cutting-plane", "search": "bisecting"},
}
LEVELS = (0.1, 0.01)


def curve(X, Y, lam, limit, parameters):
    """Fit; return CPU seconds, least objective and best bound so far by pass, and the model."""
    rows, begin = [], time.process_time()

    def record(info):
        seconds = time.process_time() - begin
        if not np.isnan(info["primal"]):
            rows.append((seconds, info["primal"], info["dual"]))
        return seconds >= limit

    model = MultilabelSSVM(
        edges="full",
        loss="hamming-count",
        rescaling="slack",
        lam=lam,
        max_iter=10**6,
        random_state=0,
        **parameters,
    ).set_callbacks(record)
    model.fit(X, Y)
    rows.append((time.process_time() - begin, model.objective_, model.dual_objective_))
    seconds, primal, dual = np.array(rows).T
    return seconds, np.minimum.accumulate(primal), np.fmax.accumulate(dual), model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=("yeast", "rcv1"), default=["yeast"])
    parser.add_argument("--n", type=int, default=1500)
    parser.add_argument("--labels", type=int, default=30, help="number of labels of RCV1")
    parser.add_argument("--lam", type=float, default=0.01)
    parser.add_argument("--limit", type=float, default=30.0)
    arguments = parsed(parser)
    warnings.simplefilter("ignore")
    table = Table(arguments.output / "slack_training.csv", ["data", "lam", "method"])
    for name in arguments.data:
        X, Y = rows_of(name, arguments.n, arguments.labels)
        curves = {
            method: curve(X, Y, arguments.lam, arguments.limit, parameters)
            for method, parameters in METHODS.items()
        }
        lower = max(np.nanmax(dual, initial=-np.inf) for _, _, dual, _ in curves.values())
        print(f"{name}, {X.shape[0]} rows, {Y.shape[1]} labels, lower bound {lower:.4f}")
        for method, (seconds, primal, _, model) in curves.items():
            row = {"data": name, "rows": X.shape[0], "lam": arguments.lam, "method": method}
            for level in LEVELS:
                reached = primal <= lower * (1 + level)
                row[f"seconds_{level}"] = f"{seconds[reached][0]:.3g}" if reached.any() else ""
            row["stopped_after"] = f"{seconds[-1]:.3g}"
            row["passes"] = model.n_iter_
            row["objective"] = f"{primal[-1]:.4f}"
            row["inference"] = model.inference_
            print(*row.values(), sep="  ", flush=True)
            table.put(row | origin(command(), arguments.load))


if __name__ == "__main__":
    main()
