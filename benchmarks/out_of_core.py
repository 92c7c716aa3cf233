#!/usr/bin/env python3
"""Chains in a file that is mapped into memory: anonymous memory of a fit, and what the file costs.

Makes synthetic chains of 12 nodes in a file, and fits in processes of their own: mapped, with the
file's pages dropped from memory first ("cold") or read before ("warm"); with --compare also in
memory. Reports RssAnon (its peak, every 0.2 s), seconds of CPU and of the clock.

    python benchmarks/out_of_core.py --gigabytes 6 --folder DIR [--json FILE]
    python benchmarks/out_of_core.py --gigabytes 1 --folder DIR --compare [--json FILE]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from sstruct import ChainSSVM, Sequences
from sstruct.mapped import open_mapped

LENGTH, FEATURES, LABELS = 12, 256, 6


def write(folder, gigabytes):
    """Write X.npy and y.npy; some thousand chains at a time."""
    n = int(gigabytes * 1e9 / (4 * LENGTH * FEATURES))
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((LABELS, FEATURES)).astype(np.float32)
    X = np.lib.format.open_memmap(
        folder / "X.npy", mode="w+", dtype=np.float32, shape=(n * LENGTH, FEATURES)
    )
    labels = np.empty((n, LENGTH), dtype=np.int32)
    for a in range(0, n, 4000):
        drawn = rng.integers(0, LABELS, (min(4000, n - a), LENGTH))
        stay = rng.random(drawn.shape) < 0.6
        for k in range(1, LENGTH):
            drawn[:, k] = np.where(stay[:, k], drawn[:, k - 1], drawn[:, k])
        labels[a : a + 4000] = drawn
        noise = rng.standard_normal((drawn.size, FEATURES), dtype=np.float32)
        first = a * LENGTH
        X[first : first + drawn.size] = 4 * noise + 0.35 * centers[drawn.ravel()]
    np.save(folder / "y.npy", labels.ravel())


def anonymous():
    """RssAnon of this process in GB."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssAnon")) * 1024e-9


def fit(folder, way, passes):
    """Fit in this process; return what was measured."""
    warnings.simplefilter("ignore")
    y = np.load(folder / "y.npy")
    offsets = np.arange(len(y) // LENGTH + 1) * LENGTH
    peak, done = [anonymous()], threading.Event()

    def watch():
        while not done.wait(0.2):
            peak[0] = max(peak[0], anonymous())

    if way == "cold":
        with open(folder / "X.npy") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    X = np.load(folder / "X.npy") if way == "memory" else open_mapped(folder / "X.npy")
    if way == "warm":
        float(np.sum(X[:, 0]))
    thread = threading.Thread(target=watch)
    thread.start()
    cpu, clock = time.process_time(), time.perf_counter()
    model = ChainSSVM(
        lam=1e-4,
        loss="hamming",
        tol=1e-6,
        max_iter=passes,
        sampling="sequential",
        random_state=0,
    ).fit(Sequences(X, offsets), Sequences(y, offsets))
    cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
    done.set()
    thread.join()
    return {
        "way": way,
        "gigabytes": X.nbytes / 1e9,
        "passes": model.n_iter_,
        "relative_gap": model.dual_gap_ / model.objective_,
        "objective": model.objective_,
        "peak_anonymous_gigabytes": peak[0],
        "cpu_seconds": cpu,
        "seconds": clock,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=6)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--folder", default=tempfile.gettempdir())
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--fit", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.fit:
        print(json.dumps(fit(Path(arguments.folder), arguments.fit, arguments.passes)))
        return
    rows = []
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        write(Path(folder), arguments.gigabytes)
        for way in ("cold", "warm", "memory") if arguments.compare else ("cold",):
            command = [sys.executable, __file__, "--folder", folder, "--fit", way]
            command += ["--passes", str(arguments.passes)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            rows.append(json.loads(done.stdout))
            print(rows[-1], flush=True)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
