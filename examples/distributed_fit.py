"""
Fit a StructuredSVM on a Dask cluster
=====================================

A user-defined oracle runs on the workers of a cluster, here two processes on this machine. Samples
are sent to the workers once, or created there. Each round of oracle calls sends the changes of the
weights, and receives differences of joint features and losses. The result is bitwise identical to a
fit without a cluster.

Run it as a script: ``python examples/distributed_fit.py``. It requires ``sstruct[distributed]``.
"""

import joblib
import numpy as np

from sstruct import StructuredSVM


class Ranking:
    """Samples are arrays (m, d) of items; labelings are the positions of the items."""

    work = 5e5  # nanoseconds per call

    def joint_feature(self, x, y):
        # Sum over pairs of items (a before b) of x_a - x_b.
        return (len(y) - 1 - 2 * y) @ x

    def loss(self, y_true, y):
        pairs = len(y) * (len(y) - 1) / 2
        return np.abs(y - y_true).sum() / (2 * pairs)

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        from scipy.optimize import linear_sum_assignment

        m = len(x)
        gain = np.outer(x @ w, m - 1 - 2 * np.arange(m))
        if y_true is not None:
            gain += loss_weight * np.abs(np.arange(m) - y_true[:, None]) / (m * (m - 1))
        return linear_sum_assignment(gain, maximize=True)[1]


def samples(seed, n=30, m=6, d=10):
    """Return pairs of items and their positions, ranked by a hidden score with noise."""
    hidden = np.random.default_rng(0).standard_normal(d)
    rng = np.random.default_rng([1, seed])
    X = [rng.standard_normal((m, d)) for _ in range(n)]
    scores = [x @ hidden + rng.standard_normal(m) for x in X]
    return list(zip(X, [np.argsort(np.argsort(-score)) for score in scores]))


def main():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        model = StructuredSVM(Ranking(), lam=0.01, random_state=0)
        # Lists are sent to the workers in parts.
        X, y = zip(*[pair for seed in range(4) for pair in samples(seed)])
        with joblib.parallel_config(backend="dask"):
            model.fit(list(X), list(y))
        print(f"from lists: gap {model.dual_gap_:.4f}, {model.n_oracle_calls_} oracle calls")
        # Partitions are created on the workers, and created again if a worker is lost.
        parts = client.map(samples, range(4))
        there = StructuredSVM(Ranking(), lam=0.01, random_state=0).fit(parts)
        print(f"from partitions: same bits: {np.array_equal(model.w_, there.w_)}")
        X, y = zip(*samples(4))
        print(f"loss of test samples: {1 - there.score(list(X), list(y)):.3f}")


if __name__ == "__main__":
    main()
