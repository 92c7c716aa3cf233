#!/usr/bin/env python3
"""A model of fits over partitions on a cluster, compared with measurements of two and four workers.

    python benchmarks/parted_model.py [--workers 2 4] [--samples 40000] [--repeats 3]

The time of a fit of R(W) rounds over W partitions, one per worker, is

    T(W) = (p + C(W)) / s(W) + R(W) (a + b W)

p: seconds of packing in one process. R(W): rounds of the same partitions in this process, called in
sequence. C(W): W times the seconds of the slowest partition of each call, for passes and
certificates. a, b: seconds of a round, and of each worker in it with its messages, from fits of 64
samples on clusters of 1, 2 and 4 workers. s(W): work of W concurrent processes divided by the work
of one, measured on this machine, where four processes share two cores; on W machines it is W.

Predictions for more workers assume one machine per worker. R and C grow as a power of W, estimated
from partitions in this process (1 to 16). More samples per partition might require fewer rounds,
which is not modeled.
"""

import argparse
import multiprocessing
import os
import time
import warnings
from contextlib import contextmanager
from itertools import pairwise
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from parted_fits import parts, shuffled, timed
from sklearn.exceptions import ConvergenceWarning

from sstruct import ChainSSVM
from sstruct._estimators.core.fit import chosen_options, prepare_training
from sstruct._estimators.core.training import Samples
from sstruct._solvers.core.solver import Setup
from sstruct._solvers.rounds.distributed_fit import DistributedFit
from sstruct._solvers.rounds.partitioned_blocks import (
    LocalPartitions,
    PartitionedBlocks,
    facts_of,
    size_of,
)
from sstruct.datasets import make_sequences
from sstruct.solvers import MPBCFW


def made(n):
    """Return synthetic sentences with 45 labels and 50 features."""
    return shuffled(
        *make_sequences(
            n_samples=n, n_labels=45, n_features=50, noise=2.0, min_length=5, max_length=25,
            random_state=0,
        )
    )  # fmt: skip


class Timed(LocalPartitions):
    """Partitions in this process; adds up W times the seconds of the slowest one in each call."""

    seconds = 0.0

    def ask(self, name, arguments):
        found, seconds = [], []
        for part, some in zip(self.parts, arguments, strict=True):
            begin = time.perf_counter()
            found.append(getattr(part, name)(*some))
            seconds.append(time.perf_counter() - begin)
        self.seconds += len(seconds) * max(seconds)
        self.sent, self.received = self.sent + size_of(arguments), self.received + size_of(found)
        return found


def in_one_process(model, X, y, n_parts):
    """Return seconds of packing and of all calls, rounds, and bytes sent and received."""
    begin = time.perf_counter()
    cuts = np.linspace(0, len(X), n_parts + 1).astype(int)
    trained = [
        prepare_training(model._structure(), Samples(X[a:b], y[a:b])) for a, b in pairwise(cuts)
    ]
    packing = time.perf_counter() - begin
    here = Timed([(part.problem, part.sample_weight / len(X)) for part in trained])
    blocks = PartitionedBlocks(here, [facts_of(part.problem) for part in trained])
    options = chosen_options(model._structure(), MPBCFW(), trained[0].problem)
    solver = DistributedFit(Setup(blocks, model.lam, np.full(len(X), 1 / len(X)), options))
    solver.solve()
    return packing, here.seconds, solver.n_rounds, here.sent + here.received


def _wait_for(all_there):
    global barrier
    barrier = all_there


def seconds_of_fits(n_samples):
    """Return the seconds of two fits of a number of samples, after all processes have started."""
    X, y = made(n_samples)
    model = ChainSSVM(lam=0.001, tol=0, max_iter=4, random_state=0)
    warnings.simplefilter("ignore", ConvergenceWarning)
    model.fit(X[:100], y[:100])
    barrier.wait()
    begin = time.perf_counter()
    model.fit(X, y).fit(X, y)
    return time.perf_counter() - begin


def speed(n, n_samples):
    """Return the work of n concurrent processes, divided by the work of one."""
    context, seconds = multiprocessing.get_context("spawn"), []
    for k in (1, n):
        shared = _wait_for, (context.Barrier(k),)
        with context.Pool(k, *shared) as pool:
            seconds.append(median(pool.map(seconds_of_fits, [n_samples] * k, chunksize=1)))
    return min(n * seconds[0] / seconds[1], os.cpu_count())


@contextmanager
def cluster_of(n):
    """Start a cluster of n workers on this machine; yield its client."""
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=n, threads_per_worker=1, dashboard_address=":0", host="127.0.0.1",
            memory_limit=0,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        yield client


def round_cost(counts=(1, 2, 4)):
    """Return the seconds a + b W of a round with hardly any work, as a, b."""
    X, y = made(64)
    model, seconds = ChainSSVM(lam=1e-4, tol=0, max_iter=40, random_state=0), []
    for n in counts:
        with cluster_of(n) as client:
            held = client.scatter(parts(X, y, n), hash=False)
            found = [timed(model, held, None)[1].history_ for _ in range(3)]
        seconds.append(min(history["seconds"][-1] / history["rounds"][-1] for history in found))
        print(f"a round of {n} workers: {1000 * seconds[-1]:.1f} ms", flush=True)
    b, a = np.polyfit(counts, seconds, 1)
    return a, b


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", nargs="+", type=int, default=[2, 4])
    parser.add_argument("--samples", type=int, default=40_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    X, y = made(arguments.samples)
    tokens = sum(map(len, y))
    model = ChainSSVM(random_state=0)
    model.set_params(lam=model.fit(X, y).lam_)
    counts = sorted({1, 2, 4, 8, 16, *arguments.workers})
    found = {W: in_one_process(model, X, y, W) for W in counts}
    for W, (packing, seconds, rounds, sent) in found.items():
        print(f"{W} parts here: packing {packing:.2f} s, passes {seconds:.2f} s, {rounds} rounds, "
              f"{sent / rounds / W / 1000:.0f} kB a round and part", flush=True)  # fmt: skip
    a, b = round_cost()
    print(f"a = {1000 * a:.1f} ms, b = {1000 * b:.1f} ms", flush=True)
    for W in arguments.workers:
        packing, seconds, rounds, _ = found[W]
        s = speed(W, arguments.samples // W)
        predicted = (packing + seconds) / s + rounds * (a + b * W)
        with cluster_of(W) as client:
            held = client.scatter(parts(X, y, W), hash=False)
            taken = median(timed(model, held, None)[0] for _ in range(arguments.repeats))
        print(f"{W} workers: s = {s:.2f}, predicted {predicted:.2f} s, taken {taken:.2f} s, "
              f"{predicted / taken:.2f}", flush=True)  # fmt: skip
    # 10^9 tokens, with one machine per worker.
    growth = np.polyfit(np.log(counts), np.log([found[W][2] for W in counts]), 1)[0]
    work = np.polyfit(np.log(counts), np.log([found[W][1] for W in counts]), 1)[0]
    packing, seconds, rounds, sent = found[1]
    size = sent / rounds / 2
    print(f"rounds grow as W^{growth:.2f}, seconds of all passes as W^{work:.2f}")
    print("10^9 tokens: workers, seconds of a round, rounds, hours, times as fast as one, "
          "GB of weights sent and received by the caller, GB a worker")  # fmt: skip
    one = (packing + seconds) * 1e9 / tokens
    for W in (1, 4, 16, 64, 256, 1000):
        passes = seconds * 1e9 / tokens * W**work / W
        n_rounds, travel = rounds * W**growth, 2 * size * W
        cluster = n_rounds * (a + b * W) if W > 1 else 0.0
        total = packing * 1e9 / tokens / W + passes + cluster
        print(f"{W:5d} {total / n_rounds:8.2f} {n_rounds:6.0f} {total / 3600:8.2f} "
              f"{one / total:8.1f} {n_rounds * travel / 1e9:8.1f} "
              f"{1e9 / W * (8 * X[0].shape[1] + 60) / 1e9:8.1f}")  # fmt: skip


if __name__ == "__main__":
    main()
