"""Fits on clusters of three and four workers with two threads have the same bits as local fits."""

import joblib
import pytest

from tests.cluster.conftest import PRELOAD
from tests.estimators.custom.choices import Choice, ConstrainedChoice, make_choices
from tests.estimators.custom.test_custom_jobs import fit
from tests.estimators.same_bits import assert_same_bits

pytestmark = pytest.mark.filterwarnings("ignore:.*stopped at relative duality gap")

FITS = [
    (Choice(), {}),
    (Choice(as_sparse=True), {"batch_size": 11}),
    (ConstrainedChoice(), {"rescaling": "slack"}),
]


@pytest.mark.slow
@pytest.mark.parametrize("processes", [False, True], ids=["threads", "processes"])
def test_the_size_of_a_cluster_does_not_change_the_fit(rng, processes):
    distributed = pytest.importorskip("distributed")
    X, y = make_choices(rng, n=40)
    local = [fit(X, y, oracle, **options) for oracle, options in FITS]
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=2, processes=processes, protocol="tcp://",
            host="127.0.0.1", dashboard_address=":0", silence_logs=50,
            preload=[PRELOAD],
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        for n_workers in (3, 4):
            cluster.scale(n_workers)
            client.wait_for_workers(n_workers, timeout=60)
            assert list(client.nthreads().values()) == [2] * n_workers
            for expected, (oracle, options) in zip(local, FITS):
                with joblib.parallel_config(backend="dask"):
                    assert_same_bits(fit(X, y, oracle, **options), expected)
