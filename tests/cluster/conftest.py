"""One cluster of two workers for all tests here, on loopback."""

import time

import pytest


@pytest.fixture(scope="session")
def cluster_client():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None,
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        yield client


@pytest.fixture
def client(cluster_client):
    """The cluster's client, its workers all there: one that a test has ended comes back."""
    end = time.monotonic() + 60
    while len(cluster_client.nthreads()) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    return cluster_client
