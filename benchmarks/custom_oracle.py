#!/usr/bin/env python3
"""Overhead of an oracle in Python, and speed-up by workers.

1. CPU time of an oracle call of StructuredSVM whose oracle does nothing.
2. An oracle of some milliseconds of pure Python: a fit with two worker processes, compared with two
   independent processes that make the same fit at the same time. Both use two cores, so other load
   on the machine affects both equally. Efficiency: half of the time of the two independent fits,
   divided by the time of the fit with workers; 1 means no overhead. The two are measured
   alternately, and the median is reported, because the speed of a shared machine varies within
   seconds.

    python benchmarks/custom_oracle.py [--repeats 15] [--milliseconds 5] [--samples 512]
"""

import argparse
import multiprocessing
import os
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

from sstruct import StructuredSVM
from sstruct._problems.core._thread_pool import ThreadPool
from sstruct._problems.custom._callable import CallableProblem
from sstruct._problems.custom.oracle_calls import OracleCalls
from sstruct._solvers.core._full_pass import full_pass
from sstruct.solvers import MPBCFW


class Nothing:
    """Two labelings with fixed features."""

    def __init__(self, d):
        self.features = np.zeros(d), np.ones(d)

    def joint_feature(self, x, y):
        return self.features[y]

    def loss(self, y_true, y):
        return float(y_true != y)

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        return 1


class Slow:
    """Classes, with a loop of a given number of iterations in each call."""

    def __init__(self, turns, K=4):
        self.turns, self.K = turns, K

    def joint_feature(self, x, y):
        out = np.zeros((self.K, len(x)))
        out[y] = x
        return out.ravel()

    def loss(self, y_true, y):
        return float(y_true != y)

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        total = 0
        for k in range(self.turns):
            total += k
        scores = w.reshape(self.K, -1) @ x
        if y_true is not None:
            scores += loss_weight * (np.arange(self.K) != y_true)
        return int(np.argmax(scores))


def overhead(d, n=2000):
    """Return the CPU microseconds per call, excluding the oracle."""
    calls = OracleCalls(Nothing(d), [0] * n, [0] * n, list(range(n)))
    pool, w, q = ThreadPool(CallableProblem(calls), 1), np.zeros(d), np.full(n, 1 / n)
    full_pass(pool, w, q)
    begin = time.process_time()
    full_pass(pool, w, q)
    return (time.process_time() - begin) / n * 1e6


def turns_of(seconds):
    """Return the number of iterations of the loop that take a given CPU time."""
    oracle, x, w = Slow(100_000), np.ones(10), np.zeros(40)
    begin = time.process_time()
    for _ in range(10):
        oracle.argmax(x, w)
    return int(seconds / ((time.process_time() - begin) / 10) * 100_000)


def data(n):
    rng = np.random.default_rng(0)
    X = [rng.standard_normal(10) for _ in range(n)]
    hidden = rng.standard_normal((4, 10))
    return X, [int(np.argmax(hidden @ x + 2 * rng.standard_normal(4))) for x in X]


def fit(turns, n, n_jobs=None, passes=1):
    """Return the seconds of a fit with a given number of passes, and the model."""
    X, y = data(n)
    model = StructuredSVM(
        Slow(turns),
        lam=0.01,
        tol=0.0,
        max_iter=passes,
        solver=MPBCFW(cache=False),
        n_jobs=n_jobs,
        random_state=0,
    )
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    return time.perf_counter() - begin, model


def independent_fit(turns, n, barrier, queue):
    barrier.wait()
    queue.put(fit(turns, n)[0])


def two_independent_fits(turns, n):
    """Return the seconds until two processes have finished their fits."""
    context = multiprocessing.get_context("spawn")
    barrier, queue = context.Barrier(3), context.Queue()
    arguments = turns, n, barrier, queue
    processes = [context.Process(target=independent_fit, args=arguments) for _ in range(2)]
    for process in processes:
        process.start()
    barrier.wait()
    times = [queue.get() for _ in processes]
    for process in processes:
        process.join()
    return max(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--milliseconds", type=float, default=5.0)
    parser.add_argument("--samples", type=int, default=512)
    given = parser.parse_args()
    for d in (10, 100, 1000, 10_000):
        print(f"an oracle that does nothing, {d} weights: {overhead(d):.1f} us of CPU a call")
    turns = turns_of(given.milliseconds / 1e3)
    # Start worker processes that import all modules.
    Parallel(n_jobs=2)(delayed(fit)(1, 16) for _ in range(4))
    efficiencies = []
    for repeat in range(given.repeats):
        both = two_independent_fits(turns, given.samples) if repeat % 2 else None
        together, _ = fit(turns, given.samples, n_jobs=2)
        both = both or two_independent_fits(turns, given.samples)
        efficiencies.append(both / 2 / together)
        print(
            f"{given.milliseconds:g} ms, {given.samples} samples, a pass: two workers "
            f"{together:.2f} s, two independent fits {both:.2f} s, efficiency "
            f"{efficiencies[-1]:.2f}"
        )
    print(f"median efficiency {np.median(efficiencies):.2f}")
    same = fit(turns // 50, given.samples)[1].w_
    again = fit(turns // 50, given.samples, n_jobs=2)[1].w_
    print(f"same bits: {np.array_equal(same, again)}")


if __name__ == "__main__":
    main()
