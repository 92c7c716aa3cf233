#!/usr/bin/env python3
"""Cost of a round of oracle calls on a Dask cluster, and a model of fits.

Measured on a LocalCluster on loopback, with an oracle that sleeps, so that workers do not compete
for the cores of this machine and only the overhead of the cluster is measured.

1. Latency: seconds of a round in which each of 1, 2, ... workers receives one sample.
2. Bandwidth: seconds of rounds that send all of w, by its size.
3. A fit: bytes sent and received per pass and worker, compared with the size of the data; its
   seconds compared with the model.
4. The model, up to 1,000 workers: seconds of a pass of n calls in batches of B,

       T(W) = n / B (l + (m + r) asked(B, W) + c most(B, W)) + parent n

   c: seconds of a call; l: seconds of a round; m: CPU seconds of caller and scheduler for each
   worker that is called; r: bytes of the changes of w in a round divided by the bandwidth;
   asked(B, W) and most(B, W): expected number of W workers with samples of a batch, and expected
   largest number of such samples of a worker; parent: seconds of the caller for each sample.

The minimum times are used, since other load on the machine only increases them.

    python benchmarks/cluster.py [--workers 1 2 4] [--json FILE]
"""

import argparse
import json
import os
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import joblib
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sstruct import StructuredSVM
from sstruct._cluster.dask_cluster import Cluster
from sstruct._cluster.partition import choose, sent_parts
from sstruct._cluster.processes import cloudpickle
from sstruct.solvers import MPBCFW


class Sleeps:
    """Oracle of classes with sparse features; a call sleeps for some seconds."""

    def __init__(self, seconds=0.0, K=4, d=1000):
        self.seconds, self.K, self.d = seconds, K, d
        self.work = max(seconds, 1e-4) * 1e9

    def joint_feature(self, x, y):
        from scipy import sparse

        index, value = x
        return sparse.coo_array((value, (np.zeros_like(index), y * self.d + index)),
                                shape=(1, self.K * self.d))  # fmt: skip

    def loss(self, y_true, y):
        return float(y_true != y)

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        time.sleep(self.seconds)
        index, value = x
        scores = w.reshape(self.K, -1)[:, index] @ value
        if y_true is not None:
            scores += loss_weight * (np.arange(self.K) != y_true)
        return int(np.argmax(scores))


def samples(n, d, size=20, K=4):
    rng = np.random.default_rng(0)
    X = [(rng.choice(d, size, replace=False), rng.standard_normal(size)) for _ in range(n)]
    return X, rng.integers(0, K, n).tolist()


def cluster_of(client, oracle, n, W):
    X, y = samples(n, oracle.d)
    parts, lengths = sent_parts(X, y, W)
    return Cluster(client, oracle, choose(parts, lengths, np.ones(n)))


def nothing(i):
    return np.empty(0, dtype=np.uint64)


def latency(client, W, rounds=50):
    """Return wall-clock and CPU seconds of a round: one new weight, one sample per worker."""
    oracle = Sleeps()
    cluster, w = cluster_of(client, oracle, W, W), np.zeros(oracle.K * oracle.d)
    times, cpu = [], time.process_time()
    for k in range(rounds):
        w[k] = 1
        begin = time.perf_counter()
        cluster.ask_all(list(range(W)), np.frombuffer(w.tobytes()), 1.0, nothing)
        times.append(time.perf_counter() - begin)
    return min(times), (time.process_time() - cpu) / rounds


def whole(client, d, rounds=10):
    """Return the seconds of a round with one worker that sends d weights."""
    oracle = Sleeps(K=2, d=d // 2)
    cluster, rng, times = cluster_of(client, oracle, 1, 1), np.random.default_rng(0), []
    for _ in range(rounds):
        w = np.frombuffer(rng.standard_normal(d).tobytes())
        begin = time.perf_counter()
        cluster.ask_all([0], w, 1.0, nothing)
        times.append(time.perf_counter() - begin)
    return min(times)


def fit(oracle, n, passes):
    """Return the seconds of a fit, the model, its cluster, if any, and the bytes of the data."""
    X, y = samples(n, oracle.d)
    seen, create = [], Cluster.__init__

    def made(self, *arguments):
        create(self, *arguments)
        seen.append(self)

    Cluster.__init__ = made
    model = StructuredSVM(
        oracle, lam=0.01, tol=0.0, max_iter=passes, random_state=0,
        solver=MPBCFW(cache=False, certificate_every=passes),
    )  # fmt: skip
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
    finally:
        Cluster.__init__ = create
    data = len(cloudpickle.dumps((X, y)))
    return time.perf_counter() - begin, model, seen[0] if seen else None, data


def shares(B, W, draws=50):
    """Return the mean number of W workers with samples of a batch, and the mean largest number."""
    rng = np.random.default_rng(0)
    counts = [np.bincount(rng.integers(0, W, B)) for _ in range(draws)]
    return np.mean([(np.count_nonzero(count), count.max()) for count in counts], axis=0)


def seconds_of_a_pass(n, B, c, W, one):
    """Return the seconds of a pass by the model."""
    asked, most = shares(B, W)
    return n / B * (one["l"] + (one["m"] + one["r"]) * asked + c * most) + one["parent"] * n


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--milliseconds", type=float, default=5.0)
    parser.add_argument("--samples", type=int, default=512)
    parser.add_argument("--passes", type=int, default=4)
    parser.add_argument("--json")
    given = parser.parse_args()
    from distributed import Client, LocalCluster

    c, n = given.milliseconds / 1e3, given.samples
    out = {"load": os.getloadavg(), "cores": os.cpu_count(), "latency": {}, "fits": {}}
    _, local, _, _ = fit(Sleeps(), n, given.passes)
    for W in given.workers:
        with (
            LocalCluster(
                n_workers=W, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0",
                silence_logs=50,
            ) as workers,
            Client(workers) as client,
            joblib.parallel_config(backend="dask"),
        ):  # fmt: skip
            out["latency"][W] = latency(client, W)
            seconds, cpu = out["latency"][W]
            print(f"{W} workers: a round {1e3 * seconds:.1f} ms, caller {1e3 * cpu:.1f} ms of CPU")
            if W == given.workers[0]:
                out["whole"] = {d: whole(client, d) for d in (1000, 100_000, 1_000_000)}
                for d, seconds in out["whole"].items():
                    print(f"a round with all of {d} weights {1e3 * seconds:.1f} ms")
            seconds, model, cluster, data = fit(Sleeps(c), n, given.passes)
            rounds = given.passes * -(-n // min(64, n // 8))
            out["fits"][W] = {
                "seconds": float(model.history_["seconds"][-1]),
                "certificate_seconds": float(model.history_["certificate_seconds"][-1]),
                "setup_seconds": seconds - float(model.history_["seconds"][-1]),
                "same_bits": bool(np.array_equal(model.w_, again(Sleeps(c), n, given.passes))),
                "sent": cluster.sent / given.passes / W,
                "received": cluster.received / given.passes / W,
                "data": data,
            }
            found = out["fits"][W]
            print(
                f"{W} workers, {given.milliseconds:g} ms, {n} samples, {given.passes} passes in "
                f"{rounds} rounds: {found['seconds'] - found['certificate_seconds']:.2f} s and "
                f"{found['certificate_seconds']:.2f} s of certificates; a pass and worker "
                f"{found['sent'] / 1e3:.1f} kB sent, {found['received'] / 1e3:.1f} kB received, "
                f"data {data / 1e3:.0f} kB; same bits: {found['same_bits']}"
            )
    by_worker = {W: cpu / W for W, (_, cpu) in out["latency"].items()}
    sizes = sorted(out["whole"])
    bandwidth = 8 * (sizes[-1] - sizes[0]) / (out["whole"][sizes[-1]] - out["whole"][sizes[0]])
    parent = float(local.history_["seconds"][-1] - local.history_["certificate_seconds"][-1])
    changes = out["fits"][given.workers[0]]["sent"] / -(-n // min(64, n // 8))
    one = {
        "l": out["latency"][given.workers[0]][0],
        "m": min(by_worker.values()),
        "r": changes / bandwidth,
        "parent": parent / given.passes / n,
    }
    out["model"] = {**one, "bandwidth": bandwidth, "passes": {}}
    print(
        f"model: l = {1e3 * one['l']:.1f} ms, m = {1e3 * one['m']:.2f} ms, bandwidth "
        f"{bandwidth / 1e6:.0f} MB/s, r = {1e6 * one['r']:.0f} us, caller "
        f"{1e6 * one['parent']:.0f} us a sample"
    )
    for w in given.workers:
        found = out["fits"][w]
        measured = (found["seconds"] - found["certificate_seconds"]) / given.passes
        expected = seconds_of_a_pass(n, min(64, n // 8), c, w, one)
        print(f"{w} workers: a pass {measured:.2f} s, by the model {expected:.2f} s")
    counts = (1, 2, 4, 16, 64, 256, 1000)
    for B in (64, 12_500):
        print(f"model, 100,000 samples, batches of {B}: speed-up of a pass over one process")
        print("call      " + "".join(f"{W:>8}" for W in counts))
        for call in (1e-3, 5e-3, 5e-2, 1.0, 10.0):
            alone = 1e5 * (call + one["parent"])
            ups = [alone / seconds_of_a_pass(100_000, B, call, W, one) for W in counts]
            out["model"]["passes"][f"{B} {call:g}"] = ups
            print(f"{call:7g} s " + "".join(f"{up:8.1f}" for up in ups))
    if given.json:
        with open(given.json, "w") as file:
            json.dump(out, file, indent=1)


def again(oracle, n, passes):
    """Return the weights of the same fit without a cluster; its calls do not sleep."""
    quick = Sleeps(0.0)
    quick.work = oracle.work
    with joblib.parallel_config(backend="sequential"):
        return fit(quick, n, passes)[1].w_


if __name__ == "__main__":
    main()
