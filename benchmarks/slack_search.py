#!/usr/bin/env python3
"""Searches of slack rescaling: how often they find a violating label set, and number of queries.

    python benchmarks/slack_search.py [--data yeast rcv1] [--n 160] [--passes 8] [--labels 30]

As in table 1 of Choi, Meshi and Srebro (2015). The weights are those of a fit with angular search
after each of its first passes. For each example and these weights, xi is the largest product of
loss and score of the labelings that angular search has found for the example so far. If the largest
product of all labelings exceeds xi by more than a thousandth of the largest loss, there is a
violating labeling; a search succeeds if it finds one. Success is given as a fraction of all
searches, as in the paper, and of the searches for which there is a violating labeling. Queries are
calls of the lambda-oracle; milliseconds are CPU time of a search. Searches:

    angular     best first, with the constrained lambda-oracle: exact
    bisecting   with the lambda-oracle
    binary      the same, only on the bound
    sarawagi    golden section on max h + lam g - 2 sqrt(xi lam), which needs xi (Sarawagi and
                Gupta 2008)

Each search of the package starts from the last one of the same example, as in training. The
models are pairwise over all pairs of labels: on yeast with the exact oracle (enumeration of 14
labels) and with the relaxed one (roof duality), on the most frequent labels of the RCV1 subset with
the relaxed one: its fractional labelings count as labelings, as in the paper. Data are read from
SSTRUCT_DATA. Writes a table to the screen, and slack_search.csv and JSON into --output.
"""

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from reports import Table, command, origin, parsed, write

from sstruct import MultilabelSSVM
from sstruct._problems.slack._slack_problem import SlackProblem
from sstruct._solvers.core._state import DualState
from sstruct._solvers.core.solver import Options, Setup
from sstruct._solvers.frank_wolfe.block_coordinate import FrankWolfeFit
from sstruct._testing import _problem_access as access
from sstruct.datasets import fetch_rcv1_subset, fetch_yeast

# Figures of the paper: success in percent of all searches, and queries.
PAPER = {
    "yeast": {"angular": (22.4, 3.8), "bisecting": (16.5, 10.3), "sarawagi": (16.4, 43.2)},
    "rcv1": {"angular": (25.6, 4.8), "bisecting": (18.2, 12.7), "sarawagi": (18.0, 49.0)},
}
GOLDEN = (np.sqrt(5) - 1) / 2


def rows_of(name, n, n_labels):
    """Return rows and label sets."""
    if name == "yeast":
        X, Y = fetch_yeast(subset="train", return_X_y=True)
        return X[:n], Y[:n]
    X, Y = fetch_rcv1_subset(subset="all", return_X_y=True)
    frequent = np.sort(np.argsort(-np.asarray(Y.sum(axis=0)).ravel(), kind="stable")[:n_labels])
    chosen = np.random.default_rng(0).choice(X.shape[0], n, replace=False)
    return X[chosen], Y[chosen][:, frequent]


def packed(X, Y, inference):
    """Return the problem whose losses a fit rescales, and its block weights."""
    model = MultilabelSSVM(
        loss="hamming-count", edges="full", inference=inference, rescaling="slack"
    )
    training = model._structure().train(X, Y, None)
    return training.problem, training.block_weight


class Sarawagi:
    """Golden section over lam: max_y h - xi / g <= min_lam max_y h + lam g - 2 sqrt(xi lam)."""

    def __init__(self, problem, ratio=1.02):
        self.problem, self.ratio = problem, ratio

    def search(self, i, w, xi):
        """Return the largest product found and the number of queries."""
        problem, best, count = self.problem, 0.0, 0
        truth = problem.true_code(i)

        def bound(lam):
            nonlocal best, count
            count += 1
            code, *_ = problem.best_code(i, w, lam)
            pair = access.scores(problem, i, w, np.stack([code, truth]), 0.0)
            h, g = 1 + pair[0] - pair[1], problem.code_loss(i, code)
            if h > 0:
                best = max(best, h * g)
            return h + lam * g - 2 * np.sqrt(xi * lam)

        low, high = -7.0, 7.0  # limits of log lam
        a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        at_a, at_b = bound(np.exp(a)), bound(np.exp(b))
        while high - low > np.log(self.ratio):
            if min(at_a, at_b) < 0:  # no labeling violates
                break
            if at_a < at_b:
                high, b, at_b = b, a, at_a
                a = high - GOLDEN * (high - low)
                at_a = bound(np.exp(a))
            else:
                low, a, at_a = a, b, at_b
                b = low + GOLDEN * (high - low)
                at_b = bound(np.exp(b))
        return best, count


def trajectory(problem, block_weight, lam, n_passes):
    """Return the weights after each of the first passes of a fit with angular search."""
    state = DualState(problem, lam, block_weight, 0)
    found = []

    def keep(info, _):
        found.append(state.w)
        return False

    options = Options(max_iter=n_passes, certificate_every=n_passes, tol=0.0)
    FrankWolfeFit(Setup(problem, lam, block_weight, options, callback=keep), state).solve()
    return found


def measure(problem, block_weight, lam, n_passes):
    """Return rows of the table: success, queries and milliseconds of each search."""
    exact = SlackProblem(problem.fork(), "angular")
    searches = {
        name: SlackProblem(problem.fork(), name) for name in ("angular", "bisecting", "binary")
    }
    golden = Sarawagi(problem.fork())
    largest = [problem.code_loss(i, problem.best_code(i, np.zeros(problem.n_weights))[0])
               for i in range(problem.n_blocks)]  # fmt: skip
    known = [[problem.true_code(i)] for i in range(problem.n_blocks)]
    tally = {name: [] for name in (*searches, "sarawagi")}
    for w in trajectory(SlackProblem(problem.fork(), "angular"), block_weight, lam, n_passes):
        for i in range(problem.n_blocks):
            code, best, *_ = access.search(exact, i, w)
            xi = max(0.0, max(access.scores(exact, i, w, np.array(known[i][-64:]))))
            least = xi + 1e-3 * largest[i]
            violates = best > least
            for name, search in searches.items():
                begin = time.thread_time()
                _, value, _, _, queries = access.search(search, i, w)
                spent = time.thread_time() - begin
                tally[name].append((violates, value > least, queries, spent))
            begin = time.thread_time()
            value, queries = golden.search(i, w, max(xi, 1e-12))
            tally["sarawagi"].append((violates, value > least, queries, time.thread_time() - begin))
            known[i].append(code)
    rows = {}
    for name, entries in tally.items():
        violates, found, queries, spent = map(np.array, zip(*entries))
        rows[name] = {
            "searches": len(entries),
            "violating": int(violates.sum()),
            "success": float(found.mean()),
            "success_of_violating": float(found[violates].mean()) if violates.any() else None,
            "queries": float(queries.mean()),
            "milliseconds": 1e3 * float(spent.mean()),
        }
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=PAPER, default=list(PAPER))
    parser.add_argument("--n", type=int, default=160)
    parser.add_argument("--passes", type=int, default=8)
    parser.add_argument("--labels", type=int, default=30, help="number of labels of RCV1")
    parser.add_argument("--lam", type=float, default=0.01)
    arguments = parsed(parser)
    table = Table(arguments.output / "slack_search.csv", ["data", "inference", "search"])
    report = []
    for name in arguments.data:
        X, Y = rows_of(name, arguments.n, arguments.labels)
        for inference in ("enumeration", "relaxed") if Y.shape[1] <= 16 else ("relaxed",):
            problem, weight = packed(X, Y, inference)
            rows = measure(problem, weight, arguments.lam, arguments.passes)
            print(f"\n{name}, {X.shape[0]} examples, {Y.shape[1]} labels, {inference}")
            print(
                f"{'search':12}{'success':>9}{'of violating':>14}{'queries':>9}{'ms':>9}"
                "   paper: success, queries"
            )
            for search, row in rows.items():
                share = row["success_of_violating"]
                of_violating = "-" if share is None else f"{100 * share:.1f}%"
                paper = "{:9.1f}%{:9.1f}".format(*PAPER[name].get(search, (np.nan, np.nan)))
                print(
                    f"{search:12}{100 * row['success']:8.1f}%{of_violating:>14}"
                    f"{row['queries']:9.1f}{row['milliseconds']:9.3f}{paper}",
                    flush=True,
                )
                key = {"data": name, "inference": inference, "search": search}
                figures = {
                    "searches": row["searches"],
                    "violating": row["violating"],
                    "success": f"{row['success']:.4f}",
                    "success_of_violating": "" if share is None else f"{share:.4f}",
                    "queries": f"{row['queries']:.2f}",
                    "milliseconds": f"{row['milliseconds']:.4f}",
                }
                table.put(key | figures | origin(command(), arguments.load))
            print(f"{row['violating']} of {row['searches']} had a violating labeling")
            report.append({"data": name, "inference": inference, "rows": rows})
    write(report, arguments.output, "slack_search")


if __name__ == "__main__":
    main()
