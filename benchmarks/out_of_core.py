#!/usr/bin/env python3
"""Fits to chains in a memory-mapped file: bytes read from disk, and anonymous memory.

Writes synthetic chains of 12 nodes to a file, and fits in separate processes: mapped, with the
pages of the file removed from memory before ("cold") or read before ("warm"); "limited": cold, in a
memory cgroup of --limit gigabytes, if this process may create one; with --compare also in memory.
Reports the bytes read from disk in units of the size of the data (/proc/self/io), RssAnon (maximum,
sampled every 0.2 s), and CPU and wall-clock seconds. --working-memory is scikit-learn's setting, in
MB.

    python benchmarks/out_of_core.py --gigabytes 6 --limit 2 [--folder DIR] [--output FOLDER]
    python benchmarks/out_of_core.py --gigabytes 1 --compare [--folder DIR] [--output FOLDER]
"""

import argparse
import csv
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import sklearn
from reports import origin, parsed

from sstruct import ChainSSVM, Sequences
from sstruct.mapped import open_mapped
from sstruct.solvers import MPBCFW

LENGTH, FEATURES, LABELS = 12, 256, 6
PR_SET_PDEATHSIG = 1


def write(folder, gigabytes):
    """Write X.npy and y.npy; a few thousand chains at a time."""
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
    X.flush()
    np.save(folder / "y.npy", labels.ravel())


class MemoryLimit:
    """Context manager with a memory cgroup for a new process.

    Raises OSError if this process may not create one.
    """

    def __init__(self, gigabytes):
        old, new = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
        root, name = (old, "limit_in_bytes") if old.is_dir() else (new, "max")
        self.group = root / f"sstruct_{os.getpid()}"
        self.file, self.size = self.group / f"memory.{name}", int(gigabytes * 1e9)

    def __enter__(self):
        self.group.mkdir()
        self.file.write_text(str(self.size))
        return self

    def __exit__(self, *_):
        self.group.rmdir()

    def enter(self):
        """Add the new process, which ends with its parent."""
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        (self.group / "cgroup.procs").write_text(str(os.getpid()))


def anonymous():
    """Return RssAnon of this process in GB."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssAnon")) * 1024e-9


def read_bytes():
    """Return the bytes that this process has read from disk."""
    with open("/proc/self/io") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("read_bytes"))


def fit(folder, way, arguments):
    """Fit in this process; return the measurements."""
    warnings.simplefilter("ignore")
    y = np.load(folder / "y.npy")
    offsets = np.arange(len(y) // LENGTH + 1) * LENGTH
    peak, done = [anonymous()], threading.Event()

    def poll():
        while not done.wait(0.2):
            peak[0] = max(peak[0], anonymous())

    if way in ("cold", "limited"):
        with open(folder / "X.npy") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    X = np.load(folder / "X.npy") if way == "memory" else open_mapped(folder / "X.npy")
    if way == "warm":
        float(np.sum(X[:, 0]))
    thread = threading.Thread(target=poll)
    thread.start()
    cpu, clock, read = time.process_time(), time.perf_counter(), read_bytes()
    sklearn.set_config(working_memory=arguments.working_memory)
    model = ChainSSVM(
        lam=arguments.lam if arguments.lam == "auto" else float(arguments.lam),
        loss="hamming",
        tol=arguments.tol,
        max_iter=arguments.passes,
        max_time=arguments.seconds,
        solver=MPBCFW(sampling="sequential" if way == "memory" else "auto"),
        random_state=0,
    ).fit(Sequences(X, offsets), Sequences(y, offsets))
    cpu, clock, read = time.process_time() - cpu, time.perf_counter() - clock, read_bytes() - read
    done.set()
    thread.join()
    return {
        "way": way,
        "gigabytes": round(X.nbytes / 1e9, 3),
        "limit": arguments.limit if way == "limited" else None,
        "working_memory": arguments.working_memory,
        "lam": model.lam_,
        "status": model.status_,
        "passes": model.n_iter_,
        "approximate_passes": int(model.history_["approximate_passes"][-1]),
        "certificates": int(np.isfinite(model.history_["gap"]).sum()),
        "relative_gap": round(model.dual_gap_ / model.objective_, 4),
        "objective": model.objective_,
        "readings": round(read / X.nbytes, 2),
        "peak_anonymous_gigabytes": round(peak[0], 3),
        "cpu_seconds": round(cpu, 1),
        "seconds": round(clock, 1),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=6)
    parser.add_argument("--limit", type=float, help="gigabytes of a memory cgroup")
    parser.add_argument("--working-memory", type=float, default=1024)
    parser.add_argument("--passes", type=int, default=1000)
    parser.add_argument("--tol", type=float, default=0.05)
    parser.add_argument("--seconds", type=float, help="maximum seconds of a fit")
    parser.add_argument("--lam", default="auto")
    parser.add_argument("--folder", default=tempfile.gettempdir())
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--fit", help=argparse.SUPPRESS)
    arguments = parsed(parser)
    if arguments.fit:
        print(json.dumps(fit(Path(arguments.folder), arguments.fit, arguments)))
        return
    rows = []
    ways = ["limited"] if arguments.limit else []
    ways += ["cold", "warm", "memory"] if arguments.compare else ["cold"]
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        write(Path(folder), arguments.gigabytes)
        for way in ways:
            command = [sys.executable, __file__, *sys.argv[1:], "--folder", folder, "--fit", way]
            keywords = {"capture_output": True, "text": True, "check": True}
            if way == "limited":
                try:
                    with MemoryLimit(arguments.limit) as limit:
                        done = subprocess.run(command, preexec_fn=limit.enter, **keywords)
                except OSError as error:
                    print(f"not measured in a memory cgroup: {error}")
                    continue
            else:
                done = subprocess.run(command, **keywords)
            rows.append(json.loads(done.stdout))
            print(rows[-1], flush=True)
    size = f"--gigabytes {arguments.gigabytes:g}"
    size += f" --limit {arguments.limit:g}" if arguments.limit else ""
    how = origin(f"python benchmarks/out_of_core.py {size}", arguments.load)
    arguments.output.mkdir(parents=True, exist_ok=True)
    with open(arguments.output / "out_of_core.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], *how], lineterminator="\n")
        writer.writeheader()
        writer.writerows({**row, **how} for row in rows)


if __name__ == "__main__":
    main()
