#!/usr/bin/env python3
"""MP-BCFW compared with BCFW for a costly oracle: the effect of cached planes.

    python benchmarks/costly_oracle.py [--lam 0.01 0] [--limit 300] [--seeds 1]

OCR small (fold 0). Each oracle call waits ``--wait`` seconds (1 ms) without the GIL, as a busy
wait, and declares this time as its work. Batches have one call, so that both methods are sequential
as in the papers. MP-BCFW with default options is compared with ``solver="bcfw", step="fw"`` (which
averages by default); both visit the blocks in a new random order in each pass, as in the paper on
MP-BCFW. Reported at relative gap ``--gap``: oracle calls, wall-clock time, and its fraction in
oracles (the wait, and the time of the plain oracle in a full pass), for which the paper reports
99 % for BCFW and 25 % for MP-BCFW. Gaps are computed between passes on the plain problem, and this
time is not counted.

BCFW would take hours. Its iterates do not depend on the duration of calls, so the number of its
calls is taken from a fit of the plain problem (of ``--plain-limit`` seconds), and its seconds are
predicted: the CPU time of that fit plus the wait for each call. Other load on the machine increases
the measured seconds of MP-BCFW, but not these. The costly fit is run only if this takes less than
``--limit`` seconds, and otherwise for ``--check`` seconds, in which its dual values must be bitwise
identical to the plain fit. If the plain fit does not reach the gap, the result is a lower bound,
marked ">". ``--lam 0`` means 1/n. Prints a table, and writes its rows into published_methods.csv,
and JSON, into --output.
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
from reports import Table, command, origin, parsed, write

from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._solvers.core._full_pass import full_pass
from sstruct._testing._costly import CostlyProblem
from sstruct.solvers import BCFW

BCFW = {"solver": BCFW(step="fw", sampling="permutation")}
PAPER = {"mp-bcfw": "25 %", "bcfw": "99 %"}


def plain_call(data, w):
    """Return the seconds of a call of the plain oracle, from full passes (which add a score)."""
    pool, times = ThreadPool(data.problem, 1), []
    for _ in range(9):
        begin = time.perf_counter()
        full_pass(pool, w, data.block_weight)
        times.append(time.perf_counter() - begin)
    return median(times) / data.n


def compare(data, arguments, seed):
    """Run both methods once; return the results."""
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
        raise AssertionError("the iterates of BCFW depend on the time of its oracle")
    if curve.reach(gap) is not None:
        figures["bcfw"] = figure(curve, curve.wall, gap, call)
    else:
        figures["bcfw"] = {**figure(path, predicted, gap, call), "measured": False}
    return figures


def figure(curve, seconds, gap, call):
    """Return the calls and seconds to the gap, or to the end."""
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
        "--check", type=float, default=30, help="seconds of BCFW if it takes more than --limit"
    )
    parser.add_argument("--plain-limit", type=float, default=120, help="seconds of a plain fit")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="short waits and limits, as a test")
    arguments = parsed(parser)
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
            verdict = ("met" if ratio <= 1 / 3 else "not met") if known else "gap not reached"
            sign = "=" if bound else "<"
            print(f"{key}: mp-bcfw / bcfw {sign} {ratio:.3f}; wanted at most 1/3: {verdict}")
        report["lams"][data.lam] = {"runs": runs, "median": middle}
    write(report, arguments.output, "costly_oracle")


if __name__ == "__main__":
    main()
