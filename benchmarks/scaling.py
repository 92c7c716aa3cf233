#!/usr/bin/env python3
"""Growth of complete fits with threads and with the data.

    python benchmarks/scaling.py threads [--sets "OCR letters, lam 0.01" USPS] [--rounds 5]
    python benchmarks/scaling.py growth [--of samples labels] [--largest 1000000]

threads: default fits, to a relative gap of 0.01, including packing and certificates. Two worker
processes hold the same data. Each round fits in the first one with one thread and with two threads,
in both concurrently with one thread each, and in the first one with one thread again. The control
is the throughput of two processes on this machine at that time, t1/ta + t1/tb. Medians over rounds
of wall-clock time; short fits are repeated. `visits` and `decoders` are the fractions of a fit with
one thread that are spent in exact and approximate passes, and in full passes. doc/charts.py uses
them in a model: the rest is serial, `decoders` use all cores, and `visits` up to four, with the
efficiency observed for two threads. The data sets are defined in defaults_data.py (SSTRUCT_DATA).

growth: default fits of ChainSSVM, to a relative gap of 0.01, on synthetic sequences, one thread:
CPU seconds (medians of --repeats below a hundred thousand nodes, otherwise one fit), passes, and
the maximum memory in addition to the data. One of the following grows, and the others are constant:
samples (3 to 11 nodes, 10 labels, 20 features), labels, features, nodes of a sequence. "samples,
noisy" has three times as much noise, as an example of difficult data. The slopes of seconds, in
logarithms, are printed. Each fit runs in a separate process. Linux only, since it reads /proc.

Each measurement replaces its row of scaling.csv or growth.csv in --output, so that data sets can be
measured separately; --load is the description of other load on the machine.
"""

import argparse
import ctypes
import gc
import json
import math
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from unittest import mock

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import reports
from worker_pair import WorkerPair

from sstruct import ChainSSVM, Sequences
from sstruct._solvers.core import solver
from sstruct._solvers.frank_wolfe import block_coordinate
from sstruct.datasets import make_sequences

# Minimum wall-clock seconds of a measurement.
MIN_SECONDS = 0.3


def ocr_letters(lam):
    """Return folds 1-9 of the OCR letters with a lambda; 0 stands for 1/n."""
    from defaults_data import ocr

    trial = ocr(False)
    return trial.kind, trial.X, trial.y, {"lam": lam or 1 / len(trial.X)}


def default_set(name):
    """Return one of the data sets of defaults_data.py, complete."""
    from defaults_data import SETS

    trial = SETS[name]()
    return trial.kind, trial.X, trial.y, {}


SETS = {
    name: lambda name=name: default_set(name)
    for name in (
        "CoNLL-2000",
        "EWT tags",
        "horses, superpixels",
        "horses, pixels",
        "yeast",
        "USPS",
    )
} | {
    "OCR letters, lam 0.01": lambda: ocr_letters(0.01),
    "OCR letters, lam 0.001": lambda: ocr_letters(0.001),
    "OCR letters, lam 1/n": lambda: ocr_letters(0.0),
}


@dataclass(frozen=True)
class Data:
    """Numbers and sizes of synthetic sequences."""

    n: int
    labels: int = 10
    features: int = 20
    shortest: int = 3
    longest: int = 11
    noise: float = 1.0

    @property
    def nodes(self):
        """Return the average number of nodes of a sequence."""
        return (self.shortest + self.longest) / 2


N = 5000
SERIES = {
    "samples": {n: Data(n) for n in (10**3, 10**4, 10**5, 10**6)},
    "samples, noisy": {n: Data(n, noise=3.0) for n in (10**3, 10**4, 10**5, 10**6)},
    "labels": {k: Data(N, labels=k) for k in (4, 8, 16, 32, 64, 128)},
    "features": {f: Data(N, features=f) for f in (10, 20, 40, 80, 160, 320)},
    "nodes": {m: Data(N, shortest=m, longest=m) for m in (4, 8, 16, 32, 64, 128)},
}


# Rows ---------------------------------------------------------------------------------------------


def origin(what, load):
    """Return the columns that describe how a row was measured."""
    return reports.origin(f"python benchmarks/scaling.py {what}", load)


# Threads ------------------------------------------------------------------------------------------


def shares(fit):
    """Return the fractions of a fit in visits (passes over blocks) and decoders (full passes)."""
    spent = dict.fromkeys(("exact_pass", "approximate_pass", "full_pass"), 0.0)

    def timed(name, one_pass):
        def run(*arguments, **keywords):
            begin = time.perf_counter()
            try:
                return one_pass(*arguments, **keywords)
            finally:
                spent[name] += time.perf_counter() - begin

        return run

    with ExitStack() as stack:
        for name in spent:
            for module in (block_coordinate, solver):
                if hasattr(module, name):
                    one_pass = timed(name, getattr(module, name))
                    stack.enter_context(mock.patch.object(module, name, one_pass))
        begin = time.perf_counter()
        fit()
        total = time.perf_counter() - begin
    visits = spent["exact_pass"] + spent["approximate_pass"]
    return visits / total, spent["full_pass"] / total


def work(pipe, name):
    """Reply to (threads, repeats) with seconds per fit, passes and status, in a `WorkerPair`."""
    kind, X, y, more = SETS[name]()
    fit = kind(random_state=0, **more).fit
    fit(X, y)
    gc.collect()
    pipe.send(shares(lambda: fit(X, y)))
    while (call := pipe.recv()) is not None:
        n_jobs, repeats = call
        begin = time.perf_counter()
        for _ in range(repeats):
            model = kind(n_jobs=n_jobs, random_state=0, **more).fit(X, y)
        pipe.send(((time.perf_counter() - begin) / repeats, model.n_iter_, model.status_))


def measure_threads(name, rounds, limit):
    """Return the row of a set."""
    with WorkerPair(work, name) as workers:
        first = workers.run_first(1, 1)[0]  # warms up, too
        repeats = max(1, math.ceil(MIN_SECONDS / first))
        rounds = max(1, min(rounds, int(limit / (4 * repeats * first))))
        one, two, control = [], [], []
        for _ in range(rounds):
            # One thread before and after, because the speed of the machine varies.
            before = workers.run_first(1, repeats)[0]
            two.append(workers.run_first(2, repeats)[0])
            both = [seconds for seconds, *_ in workers.run_both(1, repeats)]
            after, passes, status = workers.run_first(1, repeats)
            mean = (before + after) / 2
            control.append(mean / both[0] + mean / both[1])
            one.append(mean)
    speed_up = median(a / b for a, b in zip(one, two, strict=True))
    visits, decoders = workers.first_message
    return {
        "set": name,
        "passes": passes,
        "status": status,
        "seconds_one_thread": round(median(one), 4),
        "seconds_two_threads": round(median(two), 4),
        "speed_up": round(speed_up, 3),
        "two_processes": round(median(control), 3),
        "visits": round(visits, 3),
        "decoders": round(decoders, 3),
        "rounds": rounds,
    }


def compare_threads(arguments):
    """Measure the selected data sets; print and store a row for each."""
    table = reports.Table(arguments.output / "scaling.csv", ["set"], [(name,) for name in SETS])
    print(f"{'':28s}{'1 thread':>10s}{'2 threads':>11s}{'speed-up':>10s}{'control':>9s}", end="")
    print(f"{'of it':>7s}{'visits':>8s}{'decoders':>10s}{'passes':>8s}")
    for name in arguments.sets or SETS:
        row = measure_threads(name, arguments.rounds, arguments.limit)
        table.put(row | origin(f"threads --rounds {arguments.rounds}", arguments.load))
        print(
            f"{name:28s}{row['seconds_one_thread']:9.3f}s{row['seconds_two_threads']:10.3f}s"
            f"{row['speed_up']:10.3f}{row['two_processes']:9.3f}"
            f"{row['speed_up'] / row['two_processes']:7.2f}"
            f"{row['visits']:8.2f}{row['decoders']:10.2f}{row['passes']:8d}  {row['status']}",
            flush=True,
        )


# Growth -------------------------------------------------------------------------------------------


def memory(name):
    """Read an entry of this process's status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))


def job(data, repeats):
    """Generate data and fit; return the measurements."""
    made = make_sequences(
        data.n,
        n_labels=data.labels,
        n_features=data.features,
        min_length=data.shortest,
        max_length=data.longest,
        noise=data.noise,
        random_state=0,
    )
    X, y = map(Sequences.from_list, made)
    del made
    # Free the memory of the generation, so that the fit cannot reuse it.
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # reset the maximum memory
    before = memory("VmRSS")
    spent = []
    for k in range(repeats):
        begin = time.process_time()
        model = ChainSSVM(random_state=k).fit(X, y)
        spent.append(time.process_time() - begin)
        if k == 0:
            most = memory("VmHWM")
    return {
        "feature_bytes": round(X.flat.nbytes / data.n),
        "seconds": round(median(spent), 4),
        "passes": model.n_iter_,
        "status": model.status_,
        "bytes_a_sequence": round((most - before) / data.n),
    }


def run(data, repeats):
    """Run a job in a separate process."""
    call = json.dumps([asdict(data), repeats])
    done = subprocess.run(
        [sys.executable, __file__, "--job", call], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def slope(rows):
    """Return the slope of the least-squares line of seconds, in logarithms."""
    x, t = ([float(row[name]) for row in rows] for name in ("value", "seconds"))
    return float(np.polyfit(np.log(x), np.log(t), 1)[0])


def compare_growth(arguments):
    """Measure the selected series; print and store a row for each fit."""
    order = [(of, str(value)) for of, series in SERIES.items() for value in series]
    table = reports.Table(arguments.output / "growth.csv", ["of", "value"], order)
    for of in arguments.of or SERIES:
        print(f"{of:18s}{'seconds':>10s}{'us/node':>10s}{'passes':>8s}{'bytes a sequence':>18s}")
        for value, data in SERIES[of].items():
            if data.n > arguments.largest:
                continue
            repeats = arguments.repeats if data.n * data.nodes < 1e5 else 1
            row = {"of": of, "value": value, **asdict(data), **run(data, repeats)}
            table.put(row | origin(f"growth --repeats {arguments.repeats}", arguments.load))
            print(
                f"{value:18d}{row['seconds']:10.3f}"
                f"{1e6 * row['seconds'] / (data.n * data.nodes):10.2f}{row['passes']:8d}"
                f"{row['bytes_a_sequence']:18d}  {row['status']}",
                flush=True,
            )
        rows = [row for key, row in table.rows.items() if key[0] == of]
        if len(rows) > 1:
            print(f"seconds grow with {of} to the power {slope(rows):.2f}\n")


def main():
    if sys.argv[1:2] == ["--job"]:
        data, repeats = json.loads(sys.argv[2])
        print(json.dumps(job(Data(**data), repeats)))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = parser.add_subparsers(required=True)
    threads = parts.add_parser("threads", help="one and two threads, two processes")
    threads.add_argument("--sets", nargs="*", choices=SETS, metavar="SET", help=", ".join(SETS))
    threads.add_argument("--rounds", type=int, default=5)
    threads.add_argument(
        "--limit", type=float, default=150, help="approximate seconds per data set"
    )
    threads.set_defaults(compare=compare_threads)
    growth = parts.add_parser("growth", help="samples, labels, features, nodes")
    growth.add_argument("--of", nargs="*", choices=SERIES, metavar="WHAT", help=", ".join(SERIES))
    growth.add_argument("--repeats", type=int, default=3)
    growth.add_argument("--largest", type=int, default=10**6, help="most samples")
    growth.set_defaults(compare=compare_growth)
    for part in (threads, growth):
        reports.add_load(part)
        reports.add_output(part)
    arguments = parser.parse_args()
    arguments.compare(arguments)


if __name__ == "__main__":
    main()
