"""A local cluster of two workers, shared by all tests in this folder."""

import time
from pathlib import Path

import numpy as np
import pytest

# Run by workers at their start, so that they can import functions of the tests.
ROOT = Path(__file__).parents[2]
PRELOAD = f"import sys; sys.path.append({str(ROOT)!r})"


# It is closed after the last test of this folder, since idle workers use CPU time, too.
@pytest.fixture(scope="package")
def cluster_client():
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    with (
        # On a busy machine, a killed worker may take longer to restart than the default timeout,
        # after which it would be closed, even if the next test used it already. Profiles every
        # 10 ms and frequent measurements of memory and CPU time cost more than most tests.
        dask.config.set(
            {
                "distributed.deploy.lost-worker-timeout": "120s",
                "distributed.worker.profile.enabled": False,
                "distributed.worker.memory.monitor-interval": "5s",
                "distributed.admin.system-monitor.interval": "10s",
            }
        ),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0",
            silence_logs=50, preload=[PRELOAD],
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        yield client


@pytest.fixture
def client(cluster_client):
    """Return a client of the cluster with at least two workers; lost workers are replaced."""
    if not wait(cluster_client, 30):
        # The nanny does not restart the worker.
        cluster = cluster_client.cluster
        missing = max(2 - len(cluster_client.nthreads()), 0)  # it may be available by now
        cluster.scale(len(cluster.worker_spec) + missing)
        assert wait(cluster_client, 60), "no workers"
    return cluster_client


def wait(client, seconds):
    """Wait for two workers; return whether they are available."""
    end = time.monotonic() + seconds
    while len(client.nthreads()) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    return len(client.nthreads()) >= 2


@pytest.fixture(scope="module")
def rows():
    """Return features, label sets and classes of rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 5))
    Y = (X[:, :4] + X[:, 1:] + 0.5 * rng.standard_normal((120, 4)) > 0.5).astype(int)
    names = np.array(["c", "a", "b"])
    return X, Y, names[(X[:, :3] + rng.standard_normal((120, 3))).argmax(axis=1)]
