"""Test the size of the messages of a fit on a cluster."""

import joblib
import numpy as np
import pytest

from sstruct import StructuredSVM
from sstruct._cluster import dask_cluster as cluster
from sstruct._cluster.processes import cloudpickle
from sstruct.solvers import MPBCFW
from tests.estimators.custom.choices import Choice
from tests.estimators.same_bits import assert_same_bits

pytestmark = pytest.mark.filterwarnings("ignore:.*stopped at relative duality gap")

# Bytes of a call besides its arrays: names, headers and numbers.
OVERHEAD = 2000


def large_choices(rng, n, d=2000, per_row=20):
    """Return samples of 12 candidates as dense arrays with few nonzeros: 0.2 MB per sample."""
    X = []
    for _ in range(n):
        x = np.zeros((12, d))
        for row in x:
            row[rng.choice(d, per_row, replace=False)] = rng.standard_normal(per_row)
        X.append(x)
    return X, rng.integers(0, 12, n).tolist()


def test_size_of_calls_depends_on_changes(client, rng, monkeypatch):
    distributed = pytest.importorskip("distributed")
    X, y = large_choices(rng, n=48)
    data = sum(x.nbytes for x in X)
    asked, answered, last = [], [], {}
    call, result, clusters = cluster.WorkerGroup.call, cluster.WorkerGroup.result, []
    create = cluster.Cluster.__init__

    def made(self, *arguments):
        create(self, *arguments)
        clusters.append(self)

    def called(self, name, *arguments):
        if name == "ask":
            w = clusters[-1].weights.w
            before = last.get(self)
            changed = len(w) if before is None else np.count_nonzero(w != before)
            last[self] = w
            n_known = len(arguments[3][1])
            most = min(12 * changed, 8 * len(w)) + 8 * len(arguments[2]) + 8 * n_known
            size = len(cloudpickle.dumps(arguments))
            assert size <= most + OVERHEAD
            asked.append((changed, len(arguments[2]), n_known, size))
        return call(self, name, *arguments)

    def resulted(self, waiting):
        found = result(self, waiting)
        if isinstance(found[2], tuple) and len(found[2]) == 6:
            kinds, sizes, *_ = found[2]
            size = len(cloudpickle.dumps(found))
            assert size <= 9 * len(kinds) + 12 * len(sizes) + 12 * sizes.sum() + OVERHEAD
            answered.append((len(kinds), len(sizes), sizes.sum(), size))
        return found

    total = [0]
    write = distributed.comm.tcp.TCP.write

    async def written(self, *arguments, **keywords):
        size = await write(self, *arguments, **keywords)
        total[0] += size
        return size

    monkeypatch.setattr(cluster.Cluster, "__init__", made)
    monkeypatch.setattr(cluster.WorkerGroup, "call", called)
    monkeypatch.setattr(cluster.WorkerGroup, "result", resulted)
    monkeypatch.setattr(distributed.comm.tcp.TCP, "write", written)
    passes = 4
    options = {
        "lam": 0.01,
        "tol": 0.0,
        "max_iter": passes,
        "solver": MPBCFW(cache=False, max_approximate_passes=0),
        "random_state": 0,
    }
    with joblib.parallel_config(backend="dask"):
        model = StructuredSVM(Choice(as_sparse=True), **options).fit(X, y)
    monkeypatch.undo()
    assert_same_bits(model, StructuredSVM(Choice(as_sparse=True), **options).fit(X, y))
    # Most of w stays as it is from one batch to the next, and some answers are known.
    assert sum(changed for changed, *_ in asked) < 0.5 * len(asked) * 2000
    assert sum(new for _, new, *_ in answered) < sum(n for n, *_ in answered)
    # Calls are therefore smaller than w; their number depends on which workers are busy.
    assert sum(size for *_, size in asked) < 0.75 * len(asked) * 8 * 2000
    # The data are sent once, through the scheduler. All other messages, including those of the
    # scheduler itself, are small in comparison.
    assert data < total[0] < 2.5 * data
