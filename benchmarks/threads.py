#!/usr/bin/env python3
"""Speed-up of two threads compared with two processes, and the cost of batch sizes.

    python benchmarks/threads.py [--problems ocr-large conll costly] [--batch-size 32]
    python benchmarks/threads.py --convergence 1 8 32 128

Jobs: a certificate (full pass) and a prediction at the weights of a short fit, and exact passes
with pairwise steps, the 4th to the 13th of a fit. Two worker processes hold the same problem. Each
round runs the job in the first worker with one thread and with two threads, and in both workers
concurrently with one thread each: the control. Its speed-up, t1/ta + t1/tb, is the throughput of
two cores on this machine at that time. Medians over rounds of wall-clock time.

The steps of an exact pass are serial. Their fraction s of a pass with one thread is measured as 1 -
(full pass with block gaps at the same weights) / (exact pass), both with one thread: such a full
pass does the work of the threads in an exact pass, an oracle call and the scores of the working set
for each block (and one more score, of the truth; and it visits the blocks in order). The Amdahl
bound is 1 / (s + (1 - s) / c), where c is the speed-up of the control for the same job.

``--batch-size`` (default: from the problem) is the number of oracles of an exact pass that run at
the same w; with 1, there is no parallelism. ``--convergence`` fits with each of the given sizes
instead and prints their cost: the dual after equal numbers of exact passes as a fraction of the
best one, and the passes, oracle calls and CPU seconds of MP-BCFW to relative gaps.

"costly" is OCR small with a busy wait of ``--wait`` seconds in each call. The script also prints
whether the results with 1, 2 and 3 threads are bitwise identical. Prints tables, and writes JSON
into --output.
"""

import argparse
import math
import os
import time
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from benchmark_problems import LAMS, machine, packed
from reports import add_output, write
from worker_pair import WorkerPair

from sstruct._problems.core._decode import decode
from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._solvers.core._full_pass import full_pass
from sstruct._solvers.core._state import DualState
from sstruct._solvers.core.solver import Options, Setup
from sstruct._solvers.frank_wolfe._approximate_pass import PassPlan, Sampling
from sstruct._solvers.frank_wolfe._exact_pass import exact_pass
from sstruct._solvers.frank_wolfe._steps import StepKind
from sstruct._solvers.frank_wolfe.block_coordinate import FrankWolfeFit
from sstruct._testing._costly import CostlyProblem

PROBLEMS = ("ocr-large", "conll", "costly", "ocr-small", "conll-500")
KEEP = 10
# Exact passes are timed after the first ones and before steps become rare; then a new fit starts.
WARM_PASSES, TIMED_PASSES = 3, 10


class Job:
    """A problem and a short fit of it, with the jobs that are timed."""

    def __init__(self, name, batch_size, wait):
        source = "ocr-small" if name == "costly" else name
        self.data = packed(source, LAMS.get(source, (0.0,))[-1:])[0]
        self.problem = self.data.problem
        if name == "costly":
            self.problem = CostlyProblem(self.problem, wait)
        if batch_size is not None:
            self.problem.batch_size = batch_size
        self.pools = {k: ThreadPool(self.problem, k) for k in (1, 2, 3)}
        self.begin_fit(1)
        self.w = self.state.w

    def begin_fit(self, n_threads):
        """Start a fit and make its first passes."""
        self.state = DualState(self.problem, self.data.lam, self.data.block_weight, 0)
        self.passes = 0
        for _ in range(WARM_PASSES):
            self.exact(n_threads)

    def exact(self, n_threads):
        """Make the next exact pass."""
        self.passes += 1
        exact_pass(
            self.state,
            self.pools[n_threads],
            PassPlan(StepKind.PAIRWISE, Sampling.PERMUTATION, self.passes, KEEP, math.inf),
            False,
        )

    def gaps(self, n_threads):
        """Make a full pass that computes the block gaps too."""
        full_pass(self.pools[n_threads], self.state.live_w, self.data.block_weight, self.state)

    def certificate(self, n_threads):
        """Make a full pass that only computes hinge losses."""
        return full_pass(self.pools[n_threads], self.w, self.data.block_weight)[0]

    def predict(self, n_threads):
        """Decode every block."""
        return decode(self.problem, self.w, n_threads)

    def seconds(self, job, n_threads, repeats):
        """Return the mean wall-clock seconds of a job; exact passes are passes of a new fit."""
        run, spent = getattr(self, job), 0.0
        for k in range(repeats):
            if job == "exact" and k % TIMED_PASSES == 0:
                self.begin_fit(n_threads)
            begin = time.perf_counter()
            run(n_threads)
            spent += time.perf_counter() - begin
        return spent / repeats

    def serial_share(self, repeats):
        """Return the fraction of exact passes with one thread that is not a full pass."""
        oracles = whole = 0.0
        for k in range(repeats):
            if k % TIMED_PASSES == 0:
                self.begin_fit(1)
            begin = time.perf_counter()
            self.gaps(1)
            between = time.perf_counter()
            self.exact(1)
            oracles += between - begin
            whole += time.perf_counter() - between
        return max(1 - oracles / whole, 0.0)

    def bits(self, n_threads):
        """Return all results that must not depend on the number of threads."""
        self.begin_fit(n_threads)
        self.gaps(n_threads)
        self.exact(n_threads)
        return (
            self.state.w.tobytes(),
            self.state.dual,
            self.state.estimated_gap,
            self.certificate(n_threads),
            self.predict(n_threads).tobytes(),
        )


def work(pipe, *arguments):
    """Reply to (method of Job, arguments), in a `WorkerPair`."""
    job = Job(*arguments)
    pipe.send((job.problem.batch_size, job.data.n))
    while (call := pipe.recv()) is not None:
        pipe.send(getattr(job, call[0])(*call[1:]))


def measure(workers, job, rounds, seconds):
    """Time a job with one thread, with two threads and in two processes, alternately."""
    first = workers.run_first("seconds", job, 1, 1)
    repeats = max(1, math.ceil(seconds / first))
    times = {"one": [], "two": [], "control": [], "speed-up": []}
    shares = []
    for _ in range(rounds):
        # One thread before and after, because the speed of the machine varies.
        before = workers.run_first("seconds", job, 1, repeats)
        times["two"].append(workers.run_first("seconds", job, 2, repeats))
        both = workers.run_both("seconds", job, 1, repeats)
        after = workers.run_first("seconds", job, 1, repeats)
        one = (before + after) / 2
        times["one"].append(one)
        times["control"].append(one / both[0] + one / both[1])
        times["speed-up"].append(one / times["two"][-1])
        if job == "exact":
            shares.append(workers.run_first("serial_share", repeats))
    result = {name: median(values) for name, values in times.items()}
    result["bound"] = result["control"]
    if job == "exact":
        serial = result["serial share"] = median(shares)
        result["bound"] = 1 / (serial + (1 - serial) / result["control"])
    result["of bound"] = result["speed-up"] / result["bound"]
    result["rounds"] = times
    return result


def compare_threads(names, arguments):
    """Print and return a table of speed-ups."""
    print(f"{'':28s}{'ms':>9s}{'2 threads':>11s}{'control':>9s}{'serial':>8s}{'bound':>7s}", end="")
    print(f"{'of bound':>10s}{'wanted':>8s}   (medians of {arguments.rounds})")
    report = {}
    for name in names:
        with WorkerPair(work, name, arguments.batch_size, arguments.wait) as workers:
            batch_size, n = workers.first_message
            report[name] = {"n": n, "batch_size": batch_size, "jobs": {}}
            for job, wanted in (("certificate", 0.9), ("predict", 0.9), ("exact", 0.85)):
                row = measure(workers, job, arguments.rounds, arguments.seconds)
                title = f"{name}, {job}" + (f", B = {batch_size}" if job == "exact" else "")
                serial = f"{row['serial share']:8.3f}" if job == "exact" else f"{'':8s}"
                verdict = "reached" if row["of bound"] >= wanted else "missed"
                print(
                    f"{title:28s}{1000 * row['one']:9.2f}{row['speed-up']:11.3f}"
                    f"{row['control']:9.3f}{serial}{row['bound']:7.3f}{row['of bound']:10.3f}"
                    f"{wanted:8.2f} {verdict}",
                    flush=True,
                )
                report[name]["jobs"][job] = {**row, "wanted": wanted}
            bits = [workers.run_first("bits", n_threads) for n_threads in (1, 2, 3)]
            same = report[name]["same_bits"] = bits[0] == bits[1] == bits[2]
            found = "the same bits" if same else "DIFFERENT BITS"
            print(f"{name}: 1, 2 and 3 threads give {found}")
    return report


def curve(data, options, max_passes, limit):
    """Fit once; return dual, relative gap, CPU seconds and oracle calls, with a row per pass.

    The gap is computed between passes, and this time is not counted.
    """
    state = DualState(data.problem, data.lam, data.block_weight, options.seed)
    pool = ThreadPool(data.problem, 1)
    rows = []
    spent, mark = 0.0, time.thread_time()

    def observe(info, _):
        nonlocal spent, mark
        spent += time.thread_time() - mark
        primal = 0.5 * data.lam * float(state.live_w @ state.live_w)
        primal += full_pass(pool, state.live_w, data.block_weight)[0]
        gap = (primal - state.dual) / primal
        rows.append((state.dual, gap, spent, info["oracle_calls"]))
        mark = time.thread_time()
        return gap <= 0.001 or spent > limit or len(rows) >= max_passes

    setup = Setup(data.problem, state.lam, data.block_weight, options, callback=observe)
    FrankWolfeFit(setup, state).solve()
    return np.array(rows)


def compare_batches(names, arguments):
    """Print and return the effect of batch sizes on convergence, with one thread."""
    report = {}
    columns = [f"{n} passes" for n in (3, 10, 30)] + ["ms/pass"]
    for name in names:
        source = "ocr-small" if name == "costly" else name
        for data in packed(source, LAMS.get(source, (0.0,))):
            table = {}
            for size in arguments.convergence:
                exact, whole = [], []
                for seed in range(arguments.seeds):
                    data.problem.batch_size = size
                    common = {"seed": seed, "tol": 0.0, "certificate_every": 10**9}
                    options = Options(multi_plane=False, **common)
                    exact.append(curve(data, options, 31, arguments.limit))
                    options = Options(**common)
                    whole.append(curve(data, options, 10**6, arguments.limit))
                table[size] = summary(exact, whole)
            best = {
                n: max((row["dual"].get(n, -math.inf) for row in table.values()), default=1)
                for n in (3, 10, 30)
            }
            print(f"\n{name}, {data.n} blocks, lam {data.lam:.3g}: only exact passes: dual /")
            print("greatest dual; MP-BCFW: passes, calls / n, CPU seconds to relative gaps")
            print(f"{'B':>5s}" + "".join(f"{c:>11s}" for c in columns) + f"{'to 0.1':>24s}", end="")
            print(f"{'to 0.01':>24s}{'to 0.001':>24s}")
            for size, row in table.items():
                cells = [
                    f"{row['dual'][n] / best[n]:11.5f}" if n in row["dual"] else f"{'-':>11s}"
                    for n in (3, 10, 30)
                ]
                reached = [
                    "-"
                    if row["reach"][gap] is None
                    else "{:.0f}, {:.1f}, {:.3f}".format(*row["reach"][gap])
                    for gap in (0.1, 0.01, 0.001)
                ]
                print(
                    f"{size:5d}{''.join(cells)}{row['pass'] * 1000:11.2f}"
                    + "".join(f"{cell:>24s}" for cell in reached),
                    flush=True,
                )
            report[f"{name}, lam {data.lam:.3g}"] = table
    return report


def summary(exact, whole):
    """Return the medians over seeds that `compare_batches` prints."""

    def reach(rows, gap):
        at = np.flatnonzero(rows[:, 1] <= gap)
        # Calls in passes: the first pass makes n.
        return (at[0] + 1, rows[at[0], 3] / rows[0, 3], rows[at[0], 2]) if len(at) else None

    out = {
        "dual": {
            n: median(float(rows[n - 1, 0]) for rows in exact)
            for n in (3, 10, 30)
            if all(len(rows) >= n for rows in exact)
        },
        "pass": median(float(np.median(np.diff(rows[:, 2]))) for rows in exact),
        "reach": {},
    }
    for gap in (0.1, 0.01, 0.001):
        found = [reach(rows, gap) for rows in whole]
        out["reach"][gap] = (
            None if None in found else [float(np.median(column)) for column in zip(*found)]
        )
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="*", choices=PROBLEMS, default=PROBLEMS[:3])
    parser.add_argument("--batch-size", type=int, help="of exact passes; default: the problem's")
    parser.add_argument("--wait", type=float, default=1e-3, help="seconds of a costly call")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="least time of a measurement")
    parser.add_argument("--convergence", type=int, nargs="+", metavar="B", help="batch sizes")
    parser.add_argument("--seeds", type=int, default=3, help="of each fit with --convergence")
    parser.add_argument("--limit", type=float, default=20, help="CPU seconds of such a fit")
    parser.add_argument("--quick", action="store_true", help="one short round, as a test")
    add_output(parser)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds, arguments.seconds, arguments.seeds = 1, 0.05, 1
        arguments.limit, arguments.wait = 1.0, 1e-4
    print(machine())
    compare = compare_batches if arguments.convergence else compare_threads
    report = {"machine": machine(), "problems": compare(arguments.problems, arguments)}
    write(report, arguments.output, "batches" if arguments.convergence else "threads")


if __name__ == "__main__":
    main()
