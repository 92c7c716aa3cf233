#!/usr/bin/env python3
"""What do cached planes save where the oracle is costly: MP-BCFW against BCFW?

    python benchmarks/costly_oracle.py [--lam 0.01 0] [--limit 300] [--seeds 1]

OCR small (fold 0); each oracle call waits ``--wait`` seconds (1 ms), busy, the GIL released, and
declares them as its work. Batches of one call: both methods are the papers' sequential ones.
MP-BCFW with default options against ``solver="bcfw", step="fw"`` (which averages, as is its
default), blocks in a new random order each pass for both, as in the paper on MP-BCFW. Reported at
relative gap ``--gap``: oracle calls, wall clock, and the share of it in oracles (the wait, and what
the plain oracle takes in a full pass), where the paper has 99 % for BCFW and 25 % for MP-BCFW. Gaps
are computed between passes on the plain problem, off the clock.

BCFW would run for hours. Its path does not depend on what a call costs, so its calls are those of a
fit of the plain problem (``--plain-limit`` seconds of it), and its seconds are predicted: the CPU
time of that fit, and the wait for each call. A busy machine makes MP-BCFW's measured seconds more,
but not these. The costly fit itself runs only where that is less than ``--limit`` seconds; else for
``--check`` seconds, by which its duals must be the plain fit's to the bit. Where the plain fit does
not reach the gap either, what is shown is a lower bound, marked ">". ``--lam 0`` means 1/n.
Writes a table to the screen, its rows into published_methods.csv, and JSON, into --output.
"""

import argparse
import os
import time
from dataclasses import replace
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from benchmark_problems import machine, packed
from observed_fit import options_of, watch
from reports import Table, add_load, add_output, command, origin, write

from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._solvers.core._full_pass import full_pass
from sstruct._testing._costly import CostlyProblem
from sstruct.solvers import BCFW

BCFW = {"solver": BCFW(step="fw", sampling="permutation")}
PAPER = {"mp-bcfw": "25 %", "bcfw": "99 %"}


def plain_call(data, w):
    """Seconds of one call of the plain oracle, from full passes (which add a score)."""
    pool, times = ThreadPool(data.problem, 1), []
    for _ in range(9):
        begin = time.perf_counter()
        full_pass(pool, w, data.block_weight)
        times.append(time.perf_counter() - begin)
    return median(times) / data.n


def compare(data, arguments, seed):
    """Run both methods once; return their figures."""
    wait, gap, limit = arguments.wait, arguments.gap, arguments.limit
    costly = replace(data, problem=CostlyProblem(data.problem, wait, batch_size=1))
    call = wait + plain_call(data, np.zeros(data.problem.n_weights))
    data.problem.batch_size = 1
    figures = {}
    options = options_of(data, seed)
    curve = watch(costly, options, limit, gap, plain=data.problem, clock="wall")
    figures["mp-bcfw"] = figure(curve, curve.wall, gap, call)
    options = options_of(data, seed, **BCFW)
    path = watch(data, options, arguments.plain_limit, gap)
    predicted = path.seconds + wait * path.calls
    reachable = path.reach(gap) is not None and predicted[-1] < limit
    spell = limit if reachable else min(limit, arguments.check)
    curve = watch(costly, options, spell, gap, plain=data.problem, clock="wall")
    # The last pass of a fit may be cut short by its limit.
    same = min(len(path.dual), len(curve.dual)) - 1
    if not np.array_equal(path.dual[:same], curve.dual[:same]):
        raise AssertionError("BCFW's path depends on what its oracle costs")
    if curve.reach(gap) is not None:
        figures["bcfw"] = figure(curve, curve.wall, gap, call)
    else:
        figures["bcfw"] = {**figure(path, predicted, gap, call), "measured": False}
    return figures


def figure(curve, seconds, gap, call):
    """Calls and seconds to the gap, or to the end."""
    at = curve.reach(gap)
    end = -1 if at is None else at
    return {
        "reached": at is not None,
        "measured": True,
        "calls": curve.calls[end],
        "seconds": seconds[end],
        "share_in_oracles": curve.calls[end] * call / seconds[end],
        "gap_at_end": float(curve.gaps()[-1]),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lam", type=float, nargs="*", default=[0.01, 0.0])
    parser.add_argument("--wait", type=float, default=1e-3)
    parser.add_argument("--gap", type=float, default=0.01)
    parser.add_argument("--limit", type=float, default=300, help="seconds of a costly fit")
    parser.add_argument(
        "--check", type=float, default=30, help="where BCFW takes longer than --limit"
    )
    parser.add_argument("--plain-limit", type=float, default=120, help="seconds of a plain fit")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="short waits and limits: does it run?")
    add_output(parser)
    add_load(parser)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.wait, arguments.limit, arguments.plain_limit = 1e-5, 5, 3
        arguments.gap = 0.1
    table = Table(arguments.output / "published_methods.csv", ["problem", "lam", "gap", "method"])
    report = {"machine": machine(), "wait": arguments.wait, "gap": arguments.gap, "lams": {}}
    print(report["machine"])
    for data in packed("ocr-small", arguments.lam):
        runs = [compare(data, arguments, seed) for seed in range(arguments.seeds)]
        print(
            f"\nOCR small, n {data.n}, lam {data.lam:.3g}, {1000 * arguments.wait:g} ms a call, to "
            f"relative gap {arguments.gap:g} (median of {arguments.seeds})"
        )
        print(
            f"{'':12s}{'calls / n':>12s}{'seconds':>12s}{'':>12s}{'in oracles':>12s}{'paper':>8s}"
        )
        middle = {}
        for name in runs[0]:
            rows = [run[name] for run in runs]
            reached = all(row["reached"] for row in rows)
            measured = all(row["measured"] for row in rows)
            middle[name] = row = {
                key: median(row[key] for row in rows)
                for key in ("calls", "seconds", "share_in_oracles")
            }
            how = ("" if reached else "more, ") + ("measured" if measured else "projected")
            table.put(
                {
                    "problem": f"OCR letters, {1000 * arguments.wait:g} ms a call",
                    "lam": f"{data.lam:.3g}",
                    "gap": arguments.gap,
                    "method": {"mp-bcfw": "sstruct", "bcfw": "BCFW as published"}[name],
                    "calls_per_sample": f"{row['calls'] / data.n:.4g}",
                    "seconds": f"{row['seconds']:.4g}",
                    "percent_in_oracles": f"{100 * row['share_in_oracles']:.1f}",
                    "how": how,
                }
                | origin(command(), arguments.load)
            )
            more = " " if reached else ">"
            print(
                f"{name:12s}{more:>4s}{row['calls'] / data.n:8.1f}{more:>4s}{row['seconds']:8.1f}"
                f"{'measured' if measured else 'predicted':>12s}"
                f"{100 * row['share_in_oracles']:10.1f} %{PAPER[name]:>8s}",
                flush=True,
            )
        known = all(run["mp-bcfw"]["reached"] for run in runs)
        for key in ("calls", "seconds"):
            ratio = middle["mp-bcfw"][key] / middle["bcfw"][key]
            bound = all(run["bcfw"]["reached"] for run in runs)
            verdict = ("met" if ratio <= 1 / 3 else "not met") if known else "mp-bcfw not there"
            sign = "=" if bound else "<"
            print(f"{key}: mp-bcfw / bcfw {sign} {ratio:.3f}; wanted at most 1/3: {verdict}")
        report["lams"][data.lam] = {"runs": runs, "median": middle}
    write(report, arguments.output, "costly_oracle")


if __name__ == "__main__":
    main()
