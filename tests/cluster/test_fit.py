"""Fits on a Dask cluster equal local fits to the bit, also if workers are lost."""

import os
import time
from copy import copy
from itertools import pairwise

import joblib
import numpy as np
import pytest

from sstruct import StructuredSVM
from sstruct._cluster import dask_cluster
from sstruct._cluster.answers import Pinged
from sstruct._cluster.dask_cluster import MAX_LOSSES, Cluster, Losses, WorkerGroup, WorkerLost
from sstruct._cluster.partition import Partition
from tests.estimators.custom.choices import (
    Choice,
    ConstrainedChoice,
    Fails,
    OracleError,
    make_choices,
)
from tests.estimators.custom.test_custom_jobs import OPTIONS, fit
from tests.estimators.same_bits import assert_same_bits

pytestmark = pytest.mark.filterwarnings("ignore:.*stopped at relative duality gap")


def fit_on_cluster(X, y, oracle=None, **parameters):
    with joblib.parallel_config(backend="dask"):
        return fit(X, y, oracle, **parameters)


@pytest.mark.parametrize(
    "options", [*OPTIONS, {"batch_size": 9}], ids=lambda p: "-".join(map(str, p.values()))
)
def test_fits_on_a_cluster_equal_local_fits(client, rng, options):
    X, y = make_choices(rng, n=40)
    assert_same_bits(fit_on_cluster(X, y, **options), fit(X, y, **options))


def test_sparse_features_slack_rescaling_and_warm_starts(client, rng):
    X, y = make_choices(rng, n=40)
    weights = rng.integers(0, 3, 40)
    for oracle, options in (
        (Choice(as_sparse=True), {}),
        (ConstrainedChoice(), {"rescaling": "slack"}),
    ):
        local = StructuredSVM(oracle, lam=0.02, max_iter=1, random_state=0, **options)
        local.set_params(warm_start=True).fit(X, y, weights)
        with joblib.parallel_config(backend="dask"):
            remote = StructuredSVM(**local.get_params()).fit(X, y, weights)
        assert_same_bits(remote, local)
        # Continue the fit on the cluster locally, and vice versa.
        with joblib.parallel_config(backend="dask"):
            local.fit(X, y, weights)
        assert_same_bits(remote.fit(X, y, weights), local)


def partitions(client, X, y, kind):
    """Return the samples in partitions of unequal size, one of them empty."""
    import dask
    import dask.bag

    cuts = [0, 3, 3, 20, len(X)]
    parts = [(X[a:b], y[a:b]) for a, b in pairwise(cuts)]
    if kind == "bag":
        return dask.bag.from_sequence(list(zip(X, y)), npartitions=3), None
    if kind == "bags":
        return tuple(dask.bag.from_sequence(list(v), npartitions=3).map(copy) for v in (X, y))
    if kind == "delayed":
        return tuple([dask.delayed(part[k]) for part in parts] for k in (0, 1))
    if kind == "arrays":
        arrays = [np.array(part[1]) for part in parts]
        return [client.submit(same, part[0]) for part in parts], client.scatter(arrays)
    return [client.submit(same, list(zip(*part))) for part in parts], None


def same(value):
    return value


@pytest.mark.parametrize("kind", ["bag", "bags", "delayed", "arrays", "pairs"])
def test_partitions_are_samples_one_after_another(client, rng, kind):
    X, y = make_choices(rng, n=40)
    weights = rng.integers(0, 3, 40)
    local = StructuredSVM(Choice(), lam=0.02, max_iter=1, random_state=0)
    remote = StructuredSVM(**local.get_params())
    remote.fit(*partitions(client, X, y, kind), weights)
    assert_same_bits(remote, local.fit(X, y, weights))


class Ends(Choice):
    """An oracle that terminates its process once for each file in `flags`."""

    def __init__(self, *flags):
        super().__init__()
        self.flags = flags

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        for k, flag in enumerate(self.flags):
            if np.abs(w).max() > 0.2 * k + 0.1:
                try:
                    os.unlink(flag)
                except FileNotFoundError:  # another worker has removed it
                    continue
                os._exit(1)
        return super().argmax(x, w, y_true, loss_weight)


@pytest.mark.parametrize("kind", ["lists", "bag"])
@pytest.mark.slow
def test_lost_workers_do_not_change_the_fit(client, rng, tmp_path, kind):
    X, y = make_choices(rng, n=40)
    local = fit(X, y)
    given = (X, y) if kind == "lists" else partitions(client, X, y, kind)
    flags = [str(tmp_path / name) for name in ("first", "second")][: 2 if kind == "lists" else 1]
    for flag in flags:
        open(flag, "w").close()
    assert_same_bits(fit_on_cluster(*given, Ends(*flags)), local)
    assert not any(map(os.path.exists, flags))


def later_others(k, folder, samples):
    """Return a partition whose labels differ in every call after the first."""
    path = folder / f"{k} was computed"
    if path.exists():
        x, y = samples[-1]
        samples = [*samples[:-1], (x, (y + 1) % len(x))]
    path.touch()
    return samples


def fewer_later(k, folder, samples):
    path = folder / f"{k} was computed"
    samples = samples[:-1] if path.exists() else samples
    path.touch()
    return samples


@pytest.mark.parametrize(
    "load, difference",
    [
        (later_others, "sample 19 or its labeling is"),
        (fewer_later, "found 19 samples, expected 20"),
    ],
)
@pytest.mark.slow
def test_error_if_partition_changes_after_loss_of_worker(client, rng, tmp_path, load, difference):
    import dask

    X, y = make_choices(rng, n=40)
    flag = str(tmp_path / "flag")
    open(flag, "w").close()
    pairs = list(zip(X, y))
    parts = [dask.delayed(load)(k, tmp_path, pairs[20 * k : 20 * k + 20]) for k in range(2)]
    model = StructuredSVM(Ends(flag), lam=0.02, max_iter=3, random_state=0)
    with pytest.raises(ValueError, match=f"partition . was computed again.*{difference}"):
        model.fit(parts)
    assert model.status_ == "INTERRUPTED"


class EndsAlways(Choice):
    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        if w.any():
            os._exit(1)
        return super().argmax(x, w, y_true, loss_weight)


def test_error_for_lost_data_keeps_the_state(client, rng, tmp_path):
    X, y = make_choices(rng, n=40)
    # Data scattered by the user cannot be recomputed.
    held = client.scatter([list(zip(X, y))])
    flag = str(tmp_path / "once")
    open(flag, "w").close()
    model = StructuredSVM(Ends(flag), lam=0.02, random_state=0, max_iter=3)
    with pytest.raises(RuntimeError, match="partition 0 was lost with its worker"):
        model.fit(held)
    assert model.status_ == "INTERRUPTED"


def test_error_for_data_lost_before_the_fit(client):
    held = client.scatter([[(1, 2)], [(3, 4)]])
    held[1].cancel()
    with pytest.raises(RuntimeError, match="partition 1 was lost with its worker"):
        StructuredSVM(Choice()).fit(held)


def test_error_for_data_lost_before_assignment(client):
    future = client.scatter([[1, 2]])[0]
    cluster = Cluster.__new__(Cluster)
    cluster.client, cluster.groups, cluster.losses = client, [], Losses("why?")
    future.cancel()
    with pytest.raises(RuntimeError, match="partition 3 was lost with its worker"):
        cluster._addresses([Partition(3, future)], [])


@pytest.mark.slow
def test_an_oracle_that_ends_every_worker_ends_the_fit(client, rng):
    X, y = make_choices(rng, n=40)
    with pytest.raises(RuntimeError, match="does the oracle end its process"):
        fit_on_cluster(X, y, EndsAlways())


class Listing:
    """A mock client whose scheduler returns the given sets of workers, one after the other."""

    def __init__(self, *listed):
        self.listed = list(listed)

    def wait_for_workers(self, n, timeout):
        pass

    def nthreads(self):
        names = self.listed.pop(0) if len(self.listed) > 1 else self.listed[0]
        return dict.fromkeys(names, 1)


def numbered(*numbers):
    return [Partition(k, None) for k in numbers]


def test_repeated_notices_of_a_lost_worker_count_once():
    losses = Losses("why?")
    for _ in range(10 * MAX_LOSSES):  # the scheduler still lists it and assigns partitions to it
        losses.add(numbered(3, 4), "a")
    for k in range(50):  # many workers are lost at once, with one partition each
        losses.add(numbered(10 + k), f"worker {k}")
    losses.clear()
    for k in range(MAX_LOSSES):
        losses.add(numbered(3), f"worker {k}")
    with pytest.raises(RuntimeError, match=f"lost {MAX_LOSSES + 1} times with partition 3.*why"):
        losses.add(numbered(3), "another")


def test_a_worker_that_came_back_at_its_address_counts_again():
    losses = Losses("why?")
    for _ in range(MAX_LOSSES):
        losses.add(numbered(3), "a", made=time.monotonic())
    with pytest.raises(RuntimeError, match=f"lost {MAX_LOSSES + 1} times with partition 3"):
        losses.add(numbered(3), "a", made=time.monotonic())


def test_workers_without_an_actor_count_as_lost_after_a_timeout(monkeypatch):
    monkeypatch.setattr(dask_cluster, "FIRST", -1)
    losses = Losses("why?")
    for _ in range(MAX_LOSSES):
        losses.add(numbered(3), "a")
    with pytest.raises(RuntimeError, match="with partition 3"):
        losses.add(numbered(3), "a")


def test_partitions_of_a_lost_worker_move_to_others_while_it_is_listed(monkeypatch):
    losses = Losses("why?")
    assert losses.threads(Listing("ab")) == {"a": 1, "b": 1}
    losses.add(numbered(3), "a")
    assert losses.threads(Listing("ab")) == {"b": 1}
    # Without another worker, wait for a new one; after the timeout, use the listed one.
    assert losses.threads(Listing("a", "a", "ac")) == {"c": 1}
    monkeypatch.setattr(dask_cluster, "REPLACEMENT", 0.01)
    assert losses.threads(Listing("a")) == {"a": 1}
    losses.clear()
    assert losses.threads(Listing("ab")) == {"a": 1, "b": 1}


class Sleeper(Pinged):
    def sleep(self, seconds):
        time.sleep(seconds)
        return "rested"


def unreadable():
    raise MemoryError


class Unreadable:
    def __reduce__(self):
        return unreadable, ()


@pytest.mark.slow
def test_a_worker_that_cannot_unpickle_a_call_is_lost(client, monkeypatch):
    monkeypatch.setattr(dask_cluster, "CHECK", 0.05)
    monkeypatch.setattr(dask_cluster, "TRANSFER", 0.3)
    address = min(client.nthreads())
    future = client.submit(Sleeper, actor=True, workers=[address], pure=False)
    group = WorkerGroup([], future, address)
    group.wait(client)
    with pytest.raises(WorkerLost):
        group.result(group.call("sleep", Unreadable()))
    # Long calls are not lost, nor calls that wait for them.
    calls = [group.call("sleep", 1.0), group.call("sleep", 0.0)]
    assert [group.result(call) for call in calls] == ["rested", "rested"]


def test_error_for_cluster_without_workers(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(dask_cluster, "FIRST", 0.2)
    with (
        distributed.LocalCluster(
            n_workers=0,
            processes=False,
            protocol="tcp://",
            host="127.0.0.1",
            dashboard_address=":0",
        ) as empty,
        distributed.Client(empty) as client,
    ):
        with pytest.raises(RuntimeError, match=r"no worker was available within 0\.2 seconds$"):
            dask_cluster.threads_there(client)
        # A nanny no longer restarts a worker that has ended too often.
        with pytest.raises(RuntimeError, match="does the oracle end its process"):
            dask_cluster.threads_there(client, dask_cluster.SUSPECT)


class Changes(Choice):
    """An oracle that writes to its samples in late calls."""

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        found = super().argmax(x, w, y_true, loss_weight)
        if np.abs(w).max() > 0.1 and x.flags.writeable:
            x[0, 0] += 1e-9
        return found


class Holds(Choice):
    """An oracle whose exception cannot be pickled."""

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        error = ValueError("with a lock")
        error.lock = __import__("threading").Lock()
        raise error


def test_errors_of_the_oracle_are_raised_and_keep_the_state(client, rng):
    X, y = make_choices(rng, n=40)
    model = StructuredSVM(Fails(), lam=0.02, tol=1e-6, random_state=0)
    with joblib.parallel_config(backend="dask"):
        with pytest.raises(OracleError) as caught:
            model.fit(X, y)
        local = StructuredSVM(Fails(), lam=0.02, tol=1e-6, random_state=0)
    assert caught.value.args == ("six", 6)
    assert model.status_ == "INTERRUPTED"
    with pytest.raises(OracleError) as expected:
        local.fit(X, y)
    assert caught.value.__notes__[0] == expected.value.__notes__[0]
    assert "on a worker" in caught.value.__notes__[1]
    np.testing.assert_array_equal(model.w_, local.w_)
    with pytest.raises(ValueError, match=r"X\[\d+\]: the oracle has changed the sample"):
        fit_on_cluster(X, y, Changes())
    with pytest.raises(RuntimeError, match="ValueError: with a lock"):
        fit_on_cluster(X, y, Holds())


def test_invalid_samples_are_reported_before_the_fit(client, rng):
    X, y = make_choices(rng, n=40)
    wrong = [*y[:33], len(X[33]), *y[34:]]
    with pytest.raises(IndexError) as caught:
        fit_on_cluster(X, wrong)
    assert "X[33]" in caught.value.__notes__[0]
    with pytest.raises(ValueError, match=r"X\[5\]: joint_feature returned shape \(3,\)"):
        fit_on_cluster([*X[:5], X[5][:, :3], *X[6:]], y)


def test_invalid_partitions(client, rng):
    import dask.array

    X, y = make_choices(rng, n=8)
    future = client.submit(same, X)
    model = StructuredSVM(Choice())
    with pytest.raises(ValueError, match="partition 0 has 8 samples in X and 7 in y"):
        model.fit([future], [client.submit(same, y[1:])])
    with pytest.raises(ValueError, match="X has 1 partitions and y has 2"):
        model.fit([future], [future, future])
    with pytest.raises(TypeError, match="partition 0: item 0 must be a pair"):
        model.fit([client.submit(same, y)])
    with pytest.raises(TypeError, match=r"X\[1\] must be a partition"):
        model.fit([future, X], [future, future])
    with pytest.raises(TypeError, match="partition 0 of y must be a list"):
        model.fit([future], [client.submit(same, "labelings")])
    with pytest.raises(TypeError, match=r"X must be a dask\.bag or a list"):
        model.fit(dask.array.ones((8, 2)), y)
    with pytest.raises(ValueError, match="target y is None"):
        model.fit(X)
    assert not hasattr(model, "w_")


def in_a_task(X, y):
    """Fit in a task, in which waiting for other workers is not possible."""
    import distributed

    with joblib.parallel_config(backend="dask"):
        w = fit(X, y).w_
    try:
        StructuredSVM(Choice()).fit([distributed.get_client().submit(same, X)])
    except ValueError as error:
        return w, str(error)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_fit_in_a_task_does_not_wait_for_workers(client, rng):
    X, y = make_choices(rng, n=24)
    tasks = [client.submit(in_a_task, X, y, pure=False) for _ in range(3)]
    for w, error in client.gather(tasks):
        np.testing.assert_array_equal(w, fit(X, y).w_)
        assert "the task would wait for its own worker" in error
