#!/usr/bin/env python3
"""Peak memory of large images and of many small graphs, beside their data.

    python benchmarks/graph_memory.py

Noisy shapes (make_grids) of 512 x 512 pixels with three float32 features, and ten thousand cycles
of 2 to 7 nodes. Each job runs in a process of its own; what is reported is the peak of its resident
memory above what the interpreter and the data took before the fit. Writes a table to the screen
and JSON into --output.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from reports import add_output, write

from sstruct import GraphCRFSSVM, GridCRFSSVM
from sstruct.datasets import make_grids

JOBS = {
    "one image, Potts, 4 neighbors": (1, {"pairwise": "potts"}, 2),
    "one image, contrast, 8 neighbors": (1, {"pairwise": "contrast", "connectivity": 8}, 2),
    "ten images, Potts, 4 neighbors": (10, {"pairwise": "potts"}, 2),
    "one image, five labels, Potts": (1, {"pairwise": "potts"}, 5),
    "10,000 small graphs, Potts": (10_000, {}, 3),
}


def peak_megabytes():
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e6


def job(name):
    """Fit and predict; print figures as JSON."""
    n, parameters, n_labels = JOBS[name]
    rng = np.random.default_rng(0)
    if n == 10_000:
        sizes = rng.integers(2, 8, n)
        edges = [np.array([(v, (v + 1) % m) for v in range(m - (m == 2))]) for m in sizes]
        y = [np.sort(rng.integers(0, n_labels, m)) for m in sizes]
        X = [
            (np.eye(n_labels)[labels] + rng.normal(size=(len(labels), n_labels)), pairs)
            for labels, pairs in zip(y, edges)
        ]
        model = GraphCRFSSVM(lam=0.01, loss="hamming", random_state=0, **parameters)
    else:
        X, y = make_grids(n, shape=(512, 512), n_labels=n_labels, n_shapes=12, random_state=0)
        X = X.astype(np.float32)
        model = GridCRFSSVM(lam=1000.0, loss="hamming-count", random_state=0, **parameters)
    before, begin = peak_megabytes(), time.perf_counter()
    model.fit(X, y)
    seconds, fitted = time.perf_counter() - begin, peak_megabytes()
    begin = time.perf_counter()
    score = model.score(X, y)
    print(
        json.dumps(
            {
                "before_megabytes": before,
                "fit_megabytes": fitted - before,
                "all_megabytes": peak_megabytes() - before,
                "fit_seconds": seconds,
                "score_seconds": time.perf_counter() - begin,
                "oracle_calls": int(model.n_oracle_calls_),
                "status": str(model.status_),
                "inference": model.inference_,
                "score": score,
            }
        )
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--job", choices=[*JOBS])
    add_output(parser)
    arguments = parser.parse_args()
    if arguments.job:
        job(arguments.job)
        return
    report = {}
    print(f"{'MB above':36s}{'before':>8s}{'fit':>8s}{'all':>8s}{'fit s':>8s}{'calls':>8s}")
    for name in JOBS:
        command = [sys.executable, __file__, "--job", name]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        row = report[name] = json.loads(done.stdout.splitlines()[-1])
        print(
            f"{name:36s}{row['before_megabytes']:8.0f}{row['fit_megabytes']:8.0f}"
            f"{row['all_megabytes']:8.0f}{row['fit_seconds']:8.2f}{row['oracle_calls']:8d}  "
            f"{row['status']}, {row['inference']}, accuracy {row['score']:.3f}",
            flush=True,
        )
    write(report, arguments.output, "graph_memory")


if __name__ == "__main__":
    main()
