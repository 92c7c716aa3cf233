#!/usr/bin/env python3
"""What do cached planes save where the oracle is dear: MP-BCFW against BCFW?

    python benchmarks/costly_oracle.py [--lam 0.01 0] [--limit 300] [--seeds 1]

OCR small (fold 0); each oracle call waits ``--wait`` seconds (1 ms), busy, the GIL released, and
declares them as its work. Batches of one call: both methods are the papers' sequential ones.
MP-BCFW with default options against ``solver="bcfw", step="fw"`` (which averages, as is its
default), blocks in a new random order each pass for both, as in the paper on MP-BCFW. Reported at
relative gap ``--gap``: oracle calls, wall clock, and the share of it in oracles (the wait, and what
the plain oracle takes in a full pass), where the paper has 99 % for BCFW and 25 % for MP-BCFW. Gaps
are computed between passes on the plain problem, off the clock.

BCFW would run for hours. Its path does not depend on what a call costs, so its calls are those of a
fit of the plain problem (``--plain-limit`` seconds of it). The costly fit itself runs for at most
``--limit`` seconds; its duals must be the plain fit's to the bit. Where the gap is not reached by
then, its seconds are predicted: the calls times what a call took so far. And where the plain fit
does not reach it either, what is shown is a lower bound, marked ">". ``--lam 0`` means 1/n.
Writes a table to the screen and JSON into --output.
"""

import argparse
import json
import os
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from benchmark_problems import machine, packed
from observed_fit import options_of, watch

from sstruct._problems._costly import CostlyProblem
from sstruct._problems._crew import Crew
from sstruct._solvers._full_pass import full_pass

BCFW = {"solver": "bcfw", "step": "fw", "sampling": "permutation"}
PAPER = {"mp-bcfw": "25 %", "bcfw": "99 %"}


def plain_call(data, w):
    """Seconds of one call of the plain oracle, from full passes (which add a score)."""
    crew, times = Crew(data.problem, 1), []
    for _ in range(9):
        begin = time.perf_counter()
        full_pass(crew, w, data.block_weight)
        times.append(time.perf_counter() - begin)
    return median(times) / data.n


def compare(data, wait, gap, limit, plain_limit, seed):
    """Run both methods once; return their figures."""
    costly = replace(data, problem=CostlyProblem(data.problem, wait, batch_size=1))
    call = wait + plain_call(data, np.zeros(data.problem.n_weights))
    data.problem.batch_size = 1
    figures = {}
    options = options_of(data, seed)
    curve = watch(costly, options, limit, gap, plain=data.problem, clock="wall")
    figures["mp-bcfw"] = figure(curve, curve, gap, call)
    options = options_of(data, seed, **BCFW)
    path = watch(data, options, plain_limit, gap)
    curve = watch(costly, options, limit, gap, plain=data.problem, clock="wall")
    same = min(len(path.dual), len(curve.dual))
    # The last pass of a fit may be cut short by its limit.
    if not np.array_equal(path.dual[: same - 1], curve.dual[: same - 1]):
        raise AssertionError("BCFW's path depends on what its oracle costs")
    figures["bcfw"] = figure(path, curve, gap, call)
    return figures


def figure(path, costly, gap, call):
    """Calls from `path`, seconds from `costly`, which may have been stopped earlier."""
    at, end = path.reach(gap), costly.reach(gap)
    calls = path.calls[-1 if at is None else at]
    measured = end if end is not None else -1
    seconds, made = costly.wall[measured], costly.calls[measured]
    return {
        "reached": at is not None,
        "measured": end is not None,
        "calls": calls,
        "seconds": seconds if end is not None else calls * seconds / made,
        "seconds_run": costly.wall[-1],
        "share_in_oracles": made * call / seconds,
        "gap_at_end": path.gaps()[-1],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lam", type=float, nargs="*", default=[0.01, 0.0])
    parser.add_argument("--wait", type=float, default=1e-3)
    parser.add_argument("--gap", type=float, default=0.01)
    parser.add_argument("--limit", type=float, default=300, help="seconds of a costly fit")
    parser.add_argument("--plain-limit", type=float, default=120, help="seconds of a plain fit")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="short waits and limits: does it run?")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.wait, arguments.limit, arguments.plain_limit = 1e-5, 3, 3
        arguments.gap = 0.1
    report = {"machine": machine(), "wait": arguments.wait, "gap": arguments.gap, "lams": {}}
    print(report["machine"])
    for data in packed("ocr-small", arguments.lam):
        runs = [
            compare(
                data,
                arguments.wait,
                arguments.gap,
                arguments.limit,
                arguments.plain_limit,
                seed,
            )
            for seed in range(arguments.seeds)
        ]
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
    arguments.output.mkdir(parents=True, exist_ok=True)
    target = arguments.output / "costly_oracle.json"
    target.write_text(json.dumps(report, indent=1))
    print(f"\nwrote {target}")


if __name__ == "__main__":
    main()
