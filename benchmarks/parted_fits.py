#!/usr/bin/env python3
"""ChainSSVM with partitions on a Dask cluster of this machine, compared with a single process.

    python benchmarks/parted_fits.py [--problem made conll ocr] [--workers 2] [--repeats 3]

Fits have the default gap of 0.01 and one thread per worker. Fits on the cluster and in this process
alternate. Columns: seconds of whole fits, including packing and certificates, and their ratio;
passes and rounds; bytes sent and received per round and worker. Samples are shuffled first, because
a partition whose labels differ from those of other partitions makes worse moves.
"""

import argparse
import os
import time
from itertools import pairwise
from pathlib import Path
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from benchmark_problems import chunking, ocr_letters
from reports import Table, add_load, origin
from sklearn.base import clone

from sstruct import ChainSSVM
from sstruct.datasets import make_sequences

RESULTS = Path(__file__).parent / "results" / "parted_fits.csv"


def made():
    """Return synthetic sentences with 45 labels and 50 features; fits to them require 20 GB."""
    return make_sequences(
        n_samples=460_000, n_labels=45, n_features=50, noise=2.0, min_length=5, max_length=25,
        random_state=0,
    )  # fmt: skip


PROBLEMS = {
    "made": (made, None),
    "ocr": (lambda: ocr_letters(False), 0.005),
    "conll": (chunking, 0.00125),
}


def shuffled(X, y):
    """Return the samples as lists, in random order."""
    order = np.random.default_rng(0).permutation(len(y))
    return [X[i] for i in order], [y[i] for i in order]


def parts(X, y, n_parts):
    cuts = np.linspace(0, len(X), n_parts + 1).astype(int).tolist()
    return [list(zip(X[a:b], y[a:b], strict=True)) for a, b in pairwise(cuts)]


def timed(model, X, y):
    """Return the seconds of a whole fit, and the fitted model."""
    model, begin = clone(model), time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - begin, model


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problem", nargs="+", choices=PROBLEMS, default=["made"])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    add_load(parser)
    arguments = parser.parse_args()
    import distributed

    table = Table(RESULTS, ("problem", "workers"))
    for name in arguments.problem:
        make, lam = PROBLEMS[name]
        X, y = shuffled(*make())
        model = ChainSSVM(lam="auto" if lam is None else lam, random_state=0)
        with (
            distributed.LocalCluster(
                n_workers=arguments.workers, threads_per_worker=1, dashboard_address=":0",
                host="127.0.0.1", memory_limit=0,
            ) as cluster,
            distributed.Client(cluster) as client,
        ):  # fmt: skip
            held = client.scatter(parts(X, y, arguments.workers), hash=False)
            here, there = [], []
            for _ in range(arguments.repeats):
                here.append(timed(model, X, y))
                there.append(timed(model, held, None))
                print(f"{name}: {here[-1][0]:.2f} s, cluster {there[-1][0]:.2f} s", flush=True)
        one, two = here[-1][1], there[-1][1]
        rounds = two.history_["rounds"][-1]
        row = {
            "problem": name,
            "workers": arguments.workers,
            "lam": f"{one.lam_:.3g}",
            "seconds": f"{median(seconds for seconds, _ in here):.2f}",
            "cluster_seconds": f"{median(seconds for seconds, _ in there):.2f}",
            "ratio": f"{median(b / a for (a, _), (b, _) in zip(here, there, strict=True)):.3f}",
            "repeats": arguments.repeats,
            "passes": f"{one.history_['passes'][-1]:.0f}",
            "approximate_passes": f"{one.history_['approximate_passes'][-1]:.0f}",
            "cluster_passes": f"{two.history_['passes'][-1]:.0f}",
            "cluster_approximate_passes": f"{two.history_['approximate_passes'][-1]:.0f}",
            "rounds": f"{rounds:.0f}",
            "sent": f"{two.history_['bytes_sent'][-1] / rounds / arguments.workers:.0f}",
            "received": f"{two.history_['bytes_received'][-1] / rounds / arguments.workers:.0f}",
            "gap": f"{two.dual_gap_ / two.objective_:.4f}",
            "least_share": f"{two.history_['least_share'].min():.2f}",
        }
        command = f"python benchmarks/parted_fits.py --problem {name}"
        table.put(row | origin(f"{command} --workers {arguments.workers}", arguments.load))
        print(row)


if __name__ == "__main__":
    main()
