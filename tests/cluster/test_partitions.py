"""Test rounds, reproducibility and errors of ChainSSVM with partitions on a Dask cluster."""

import operator
import os
import pickle
import signal
import subprocess
import sys
import threading
from copy import deepcopy
from itertools import pairwise
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import sstruct
from sstruct import (
    ChainSSVM,
    GridCRFSSVM,
    MulticlassSSVM,
    MultilabelSSVM,
    PathCV,
    Sequences,
    StructuredSVM,
    TypedGraphCRFSSVM,
)
from sstruct._cluster.dask_partitions import DaskPartitions
from sstruct._estimators.core.parted_fit import PartOfFit
from sstruct.calibration import CalibratedSSVM
from sstruct.constraints import at_most, implies
from sstruct.datasets import make_grids, make_sequences
from sstruct.solvers import MPBCFW
from tests.estimators.custom.choices import Sign
from tests.estimators.typed_graph.random_constraints import satisfying
from tests.estimators.typed_graph.test_typed_graph import make as typed_samples
from tests.registry import FIRST, TRAINED

dask = pytest.importorskip("dask")

# On Windows, os.kill ends a process at once with this signal.
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)

CUTS = [0, 0, 30, 50, 90]
ALLOWED = ~np.eye(3, dtype=bool)[::-1]
PARAMETERS = {"lam": 0.5, "random_state": 0}
# Further parameters of examples of the registry.
OPTIONS = {
    "label sets": [
        {"edges": None, "loss": "hamming-count"},
        {"bounds": "submodular"},
        {"class_weight": [{0: 1, 1: 2}] * 3},
        {"inference": "relaxed"},
    ],
    "rows": [{"class_weight": {0: 2.0}}],
    "candidates": [{"loss": "hamming"}, {"rescaling": "slack"}],
    "maps": [{"loss": "hamming"}, {"rescaling": "slack"}],
}


@pytest.fixture(scope="module")
def data():
    X, y = make_sequences(90, n_labels=3, n_features=6, random_state=0)
    names = np.array(["a", "b", "c"])
    return X, [names[labels] for labels in y]


def partitions(values):
    return [dask.delayed(values[a:b]) for a, b in pairwise(CUTS)]


def assert_same_model(one, other):
    np.testing.assert_array_equal(one.w_, other.w_)
    assert (one.objective_, one.dual_objective_) == (other.objective_, other.dual_objective_)
    np.testing.assert_array_equal(one.history_["dual"], other.history_["dual"])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bounds": np.full((2, 36), [[-0.1], [0.1]])},
        {"rescaling": "slack", "loss": "hamming"},
        {"pairwise_scale": 3.0},
        {"pairwise_scale": 3.0, "bounds": np.full((2, 36), [[-0.1], [0.1]])},
        {"ignore_label": "c", "solver": MPBCFW(average=False)},
        {"window_size": 3},
        {"transition_mask": ALLOWED, "classes": ["c", "a", "b"]},
        {"transitions": operator.eq},
        {"transitions": np.triu(np.ones((3, 3), dtype=int)), "window_size": 3},
    ],
    ids=lambda options: "-".join(options) or "plain",
)
def test_a_fit_to_partitions_has_the_optimum_of_a_local_fit(client, data, options):
    X, y = data
    if "transition_mask" in options:
        X = [x[:1] for x in X]
        y = [labels[:1] for labels in y]
    weights = np.arange(90) % 3
    options = {**PARAMETERS, "tol": 0.02, **options}
    local = ChainSSVM(**options).fit(X, y, weights)
    remote = ChainSSVM(**options).fit(partitions(X), partitions(y), weights)
    assert remote.converged_
    assert remote.classes_.tolist() == local.classes_.tolist()
    assert remote.inference_.split(";")[0] == local.inference_.split(";")[0]
    assert abs(remote.objective_ - local.objective_) <= 0.02 * local.objective_
    assert remote.dual_objective_ <= local.objective_ * (1 + 1e-12)
    assert local.dual_objective_ <= remote.objective_ * (1 + 1e-12)
    copy = pickle.loads(pickle.dumps(remote))
    for one, other in zip(copy.predict(X[:5]), remote.predict(X[:5])):
        np.testing.assert_array_equal(one, other)
    history = remote.history_
    assert (np.diff(history["dual"]) >= -1e-12).all()
    assert (np.diff(history["bytes_received"]) > 0).all()


@pytest.mark.parametrize(
    "options",
    [{}, {"rescaling": "slack"}, {"loss": "hamming"}, {"pairwise_scale": "auto"}],
)
def test_lam_auto_uses_all_samples(client, data, options):
    X, y = data
    weights = np.arange(90) % 3
    local = ChainSSVM(max_iter=1, tol=0.99, random_state=0, **options).fit(X, y, weights)
    remote = clone(local).fit(partitions(X), partitions(y), weights)
    assert remote.lam == "auto"
    assert remote.lam_ == pytest.approx(local.lam_, rel=1e-12)
    assert remote.pairwise_scale_ == pytest.approx(local.pairwise_scale_, rel=1e-12)


# The examples that fits to partitions support, without oracles of users. The fast tests fit each
# estimator once with its defaults; the slow ones cover other forms of input and parameters.
EXAMPLES = [
    pytest.param(
        example,
        parameters,
        id=f"{name}-{parameters}",
        marks=[]
        if example is FIRST[example.estimator] and parameters == {"lam": "auto"}
        else pytest.mark.slow,
    )
    for name, example in TRAINED.items()
    for parameters in [{"lam": "auto"}, *example.variants()[1:], *OPTIONS.get(name, [])]
    if "oracle" not in example.required
    and example.estimator._structure_class.fits_partitions
    and "couple_windows" not in str(parameters)
    and parameters.get("edges") != "tree"
]


@pytest.mark.parametrize("example, parameters", EXAMPLES)
def test_every_estimator_fits_to_partitions(client, example, parameters):
    X, y = example.samples(90)
    weights = np.arange(90) % 3
    model = example.unfitted(**{"tol": 0.02, "max_iter": 1000} | parameters)
    local = clone(model).fit(X, y, weights)
    remote = clone(model).fit(partitions(X), partitions(y), weights)
    assert remote.converged_
    assert remote.lam_ == pytest.approx(local.lam_, rel=1e-12)
    assert remote.inference_ == local.inference_
    if "approximate" not in local.inference_:
        assert remote.dual_objective_ <= local.objective_ * (1 + 1e-12)
        assert local.dual_objective_ <= remote.objective_ * (1 + 1e-12)
        assert (np.diff(remote.history_["dual"]) >= -1e-12).all()
    if parameters == {"lam": "auto"}:
        check_warm_start(model.set_params(lam=0.1), X, y, partitions)


@pytest.mark.slow
def test_costly_oracles(client):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=(4, 40, 40))
    X = np.eye(3)[y] + rng.standard_normal((4, 40, 40, 3))
    model = GridCRFSSVM(lam=0.1, tol=0.1, window_size=None, random_state=0)
    parts = [[dask.delayed(list(own[a : a + 2])) for a in (0, 2)] for own in (X, y)]
    found = model.fit(*parts)
    assert found.dual_objective_ <= clone(model).fit(X, y).objective_ * (1 + 1e-9)


@pytest.mark.parametrize("options", [{}, {"loss": "hamming"}, {"ignore_label": 1}])
def test_nodes_of_several_types(client, rng, options):
    X, y = typed_samples(rng, 90)
    model = TypedGraphCRFSSVM(lam=0.1, tol=0.02, random_state=0, **options)
    remote = clone(model).fit(partitions(X), partitions(y))
    for own, expected in zip(remote.classes_, clone(model).fit(X, y).classes_, strict=True):
        np.testing.assert_array_equal(own, expected)
    given = clone(model).set_params(classes=[None, remote.classes_[1].tolist(), None])
    assert_same_model(given.fit(partitions(X), partitions(y)), remote)
    fewer = [labels[:2] for labels in y[:30]]
    with pytest.raises(ValueError, match="the same number of node types in each partition"):
        clone(model).fit(partitions(X), partitions([*fewer, *y[30:]]))
    constraints = [at_most(1, [1, 2], nodes=0), implies(0, 1, nodes=(1, 0))]
    some = list(zip(*satisfying(constraints, X, y), strict=True))
    some_X, some_y = zip(*(some * 3)[:90], strict=True)
    constrained = clone(model).set_params(constraints=constraints)
    if "ignore_label" not in options:
        found = clone(constrained).fit(partitions(some_X), partitions(some_y))
        best = clone(constrained).fit(some_X, some_y).objective_
        assert found.dual_objective_ <= best
        assert found.objective_ <= 1.03 * best
        with pytest.raises(ValueError, match=r"y\[\d+\] violates constraints"):
            clone(constrained).fit(partitions(X), partitions(y))
    hidden = [[own[0], np.full_like(own[1], -1), own[2]] for own in y]
    with pytest.raises(ValueError, match="no labeled node of type 1"):
        clone(model).set_params(ignore_label=-1).fit(partitions(X), partitions(hidden))


def test_certificate_covers_all_samples(client, data):
    X, y = data
    model = ChainSSVM(pairwise_scale=1, **PARAMETERS).fit(partitions(X), partitions(y))
    codes = [np.searchsorted(model.classes_, labels) for labels in y]
    scores = [np.asarray(x) @ model.coef_.T + model.intercept_ for x in X]
    hinge = 0.0
    for unary, truth in zip(scores, codes):
        unary = unary.copy()
        unary[0] += model.start_coef_
        unary[-1] += model.end_coef_
        right = unary[np.arange(len(truth)), truth].sum()
        right += model.edge_coef_[truth[:-1], truth[1:]].sum()
        unary += 1
        unary[np.arange(len(truth)), truth] -= 1
        best = unary[0]
        for row in unary[1:]:
            best = (best[:, np.newaxis] + model.edge_coef_).max(axis=0) + row
        hinge += best.max() - right
    objective = hinge / len(X) + 0.25 * model.w_ @ model.w_
    assert abs(model.objective_ - objective) <= 1e-10 * objective


def test_data_warnings_cover_all_partitions(client, data):
    X, y = [x[:1] for x in data[0]], [labels[:1] for labels in data[1]]
    model = ChainSSVM(**PARAMETERS)
    with pytest.warns(UserWarning, match="learns no transitions: each sequence in X has one node"):
        model.fit(partitions(X), partitions(y))
    for values, given in ((X, data[0]), (y, data[1])):  # one partition has transitions
        values[:30] = given[:30]
    model.fit(partitions(X), partitions(y))
    rows = [dask.delayed(np.concatenate(values))[a : a + 40] for values in data for a in (0, 40)]
    with pytest.warns(UserWarning, match="learns no transitions: X is 2-D"):
        model.fit(rows[:2], rows[2:])


@pytest.mark.parametrize("bounded", [False, True])
def test_priors(client, data, bounded, tmp_path):
    X, y = data
    old = ChainSSVM(**PARAMETERS).fit(X[:50], y[:50])
    bounds = None
    if bounded:
        bounds = np.repeat([[-0.05], [0.1]], len(old.w_), axis=1)
    parameters = {"lam": 0.5, "random_state": 0, "bounds": bounds, "tol": 1e-3, "prior": old}
    local = ChainSSVM(**parameters).fit(X, y)
    model = ChainSSVM(**parameters).fit(partitions(X), partitions(y))
    assert model.converged_
    assert model.objective_ == pytest.approx(local.objective_, rel=2e-3)
    assert model.dual_objective_ <= local.objective_ * (1 + 1e-9)
    assert local.dual_objective_ <= model.objective_ * (1 + 1e-9)
    plain = ChainSSVM(**PARAMETERS, bounds=bounds).fit(X, y)
    assert plain.objective_ != pytest.approx(model.objective_, rel=0.02)
    cut = clone(model).set_params(solver=MPBCFW(checkpoint=tmp_path / "fit"), max_iter=2)
    with pytest.warns(ConvergenceWarning):
        cut.fit(partitions(X), partitions(y))
    cut.set_params(max_iter=1000).fit(partitions(X), partitions(y))
    np.testing.assert_array_equal(cut.w_, model.w_)
    with pytest.raises(ValueError, match="prior has 3 weights"):
        clone(model).set_params(prior=np.ones(3)).fit(partitions(X), partitions(y))


def test_bags_futures_and_the_number_of_workers_do_not_change_the_fit(client, data):
    import dask.bag
    import distributed

    X, y = data
    delayed = ChainSSVM(**PARAMETERS).fit(partitions(X), partitions(y))
    futures = [client.compute(part) for part in partitions(list(zip(X, y)))]
    assert_same_model(ChainSSVM(**PARAMETERS).fit(futures, None), delayed)
    bag = dask.bag.from_delayed(partitions(list(zip(X, y))))
    assert_same_model(ChainSSVM(**PARAMETERS).fit(bag, None), delayed)
    address = sorted(client.nthreads())[0]
    one = [client.submit(list, part, workers=[address]) for part in futures]
    distributed.wait(one)
    assert_same_model(ChainSSVM(**PARAMETERS).fit(one, None), delayed)


def test_lists_are_divided_into_n_jobs_partitions(client, data):
    X, y = data
    cuts = [0, 30, 60, 90]
    parts = [[dask.delayed(part[a:b]) for a, b in pairwise(cuts)] for part in (X, y)]
    expected = ChainSSVM(**PARAMETERS).fit(*parts)
    local = ChainSSVM(**PARAMETERS).fit(X, y)
    with joblib.parallel_config(backend="dask", n_jobs=3):
        assert_same_model(ChainSSVM(**PARAMETERS).fit(X, y), expected)
        given = Sequences.from_list(X), Sequences.from_list(y)
        assert_same_model(ChainSSVM(**PARAMETERS).fit(*given), expected)
        # Warm starts (more samples would be divided differently), unsupported parameters, and rows
        # that are chains of one node are trained in this process.
        assert "rounds" not in ChainSSVM(**PARAMETERS, warm_start=True).fit(X, y).history_
        single = ChainSSVM(**PARAMETERS).fit(np.vstack(X), np.concatenate(y))
        assert "rounds" not in single.history_
        with pytest.raises(ValueError, match="X has 90 samples but y has 89"):
            ChainSSVM(**PARAMETERS).fit(X, y[1:])
    with joblib.parallel_config(backend="dask"):
        assert_same_model(ChainSSVM(**PARAMETERS).fit(X, y), local)


def test_features_that_workers_map_from_files(client, data, tmp_path):
    X, y = data
    expected = ChainSSVM(**PARAMETERS).fit(partitions(X)[1:], partitions(y)[1:])
    paths = [tmp_path / f"{k}.npy" for k in range(3)]
    for path, (a, b) in zip(paths, pairwise(CUTS[1:])):
        np.save(path, np.vstack(X[a:b]))
    files = [dask.delayed(str(path)) for path in paths]
    model = ChainSSVM(**PARAMETERS).fit(files, partitions(y)[1:])
    assert_same_model(model, expected)
    assert model.score(files, partitions(y)[1:]) == pytest.approx(model.score(X, y))
    with pytest.raises(ValueError, match="partition 2 of X: "):
        ChainSSVM(**PARAMETERS).fit(files, [*partitions(y)[1:3], dask.delayed(y[51:])])


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(10))
def test_lost_workers_do_not_change_the_fit(client, data, rng, moment):
    # The worker ends within the rounds after this pass, each of which takes some milliseconds.
    first, seconds = int(rng.integers(1, 8)), rng.uniform(0, 0.06)
    X, y = data
    parameters = {**PARAMETERS, "tol": 1e-5, "solver": MPBCFW(certificate_every=4)}
    undisturbed = ChainSSVM(**parameters).fit(partitions(X), partitions(y))
    victim = client.run(os.getpid)[sorted(client.nthreads())[0]]
    ended = threading.Event()

    def end():
        os.kill(victim, KILL)
        ended.set()

    def begin(info):
        if info["passes"] == first:
            threading.Timer(seconds, end).start()
        if info["passes"] == first + 4:
            assert ended.wait(30)

    model = ChainSSVM(**parameters).set_callbacks(begin)
    assert_same_model(model.fit(partitions(X), partitions(y)), undisturbed)
    assert ended.is_set()


def changes(k, folder, values, other):
    """Return a partition whose values differ in every call after the first."""
    path = folder / f"{k} was computed"
    values = other if path.exists() else values
    path.touch()
    return values


def n_actors(dask_worker):
    return len(dask_worker.state.actors)


def nudged(x):
    x = x.copy()
    x[0, 0] = np.nextafter(x[0, 0], np.inf)
    return x


@pytest.mark.parametrize(
    "change",
    ["a feature", *(pytest.param(c, marks=pytest.mark.slow) for c in ("a label", "a sample"))],
)
def test_error_if_partition_changes_after_loss_of_worker(client, data, tmp_path, change):
    X, y = data
    sets = {"a feature": X, "a label": y}
    difference = "found digest .*, expected .*fixed seeds, and read files that do not change"

    def parts(values, name):
        found = []
        for k, (a, b) in enumerate(pairwise(CUTS)):
            some, other = values[a:b], values[a:b]
            if a < b and change == "a sample":
                other = some[:-1]
            elif a < b and values is sets[change]:
                last = nudged(some[-1]) if name == "X" else np.where(some[-1] == "a", "b", "a")
                other = [*some[:-1], last]
            found.append(dask.delayed(changes)(f"{name}{k}", tmp_path, some, other))
        return found

    if change == "a sample":
        difference = "found .* samples, expected .*"
    # Parts of earlier fits may not have been removed yet.
    ended, before = [], client.run(n_actors)

    def end(info):
        if info["passes"] == 3:
            count = client.run(n_actors)
            added = {worker: n - before.get(worker, 0) for worker, n in count.items()}
            os.kill(client.run(os.getpid)[max(added, key=added.get)], KILL)
            ended.append(info["dual"])

    model = ChainSSVM(**PARAMETERS | {"tol": 1e-6}).set_callbacks(end)
    with pytest.raises(ValueError, match=rf"partition \d was computed again.*{difference}"):
        model.fit(parts(X, "X"), parts(y, "y"))
    assert ended
    # The model so far is kept, without a certificate, since the data have changed.
    assert model.status_ == "INTERRUPTED"
    assert model.objective_ == np.inf
    undisturbed = ChainSSVM(**PARAMETERS | {"tol": 1e-6}).fit(X, y)
    assert model.dual_objective_ <= undisturbed.objective_


PACKED = {
    "chains": (ChainSSVM(), make_sequences(6, n_labels=3, n_features=2, random_state=0)),
    "images": (GridCRFSSVM(), make_grids(6, shape=(2, 3), n_features=2, random_state=0)),
    "classes": (MulticlassSSVM(), (np.arange(12.0).reshape(6, 2), np.arange(6) % 3)),
    "sets": (MultilabelSSVM(), (np.arange(12.0).reshape(6, 2), np.eye(6, 3, dtype=int))),
}


@pytest.mark.parametrize("kind", PACKED)
def test_digest_detects_any_change(kind):
    model, (X, y) = PACKED[kind]

    def digest(X, y):
        part = PartOfFit(X, y, clone(model)._structure(), list(range(6)), np.ones(6), 6, 4)
        part.pack(None, False)
        return part, part.digest

    part, expected = digest(X, y)
    part.share(6.0, None, expected)
    assert digest(deepcopy(X), deepcopy(y))[1] == expected
    for i in range(6):
        for which in (0, 1):
            changed = deepcopy([X, y])
            values = np.asarray(changed[which][i])
            if which == 0:
                values.flat[-1] = np.nextafter(values.flat[-1], np.inf)
            else:
                values = 1 - values if kind == "sets" else (values + 1) % 3
            changed[which][i] = values
            part, found = digest(*changed)
            assert found != expected
            with pytest.raises(
                ValueError, match=f"partition 4 .* digest {found}, expected {expected}"
            ):
                part.share(6.0, None, expected)


CLUSTER = """
import distributed, sys
if __name__ == "__main__":
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups on this platform")
def test_a_fit_that_loses_its_scheduler_keeps_the_model_so_far(data):
    import distributed

    X, y = data
    process = subprocess.Popen(
        [sys.executable, "-c", CLUSTER],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    seen = {}

    def end(info):
        seen[info["passes"]] = info["dual"]
        if info["passes"] == 3:
            os.killpg(process.pid, signal.SIGKILL)

    try:
        with distributed.Client(process.stdout.readline().strip()):
            model = ChainSSVM(**PARAMETERS | {"tol": 1e-6}).set_callbacks(end)
            with pytest.raises(RuntimeError, match="the scheduler of the cluster is not available"):
                model.fit(partitions(X), partitions(y))
    finally:
        process.kill()
        process.communicate()
    assert (model.status_, max(seen)) == ("INTERRUPTED", 3)
    assert model.dual_objective_ >= seen[3]
    assert model.objective_ == np.inf  # no worker can compute hinge losses
    assert model.score(X, y) > 0.5


class Enough(Exception):
    """A user-defined exception."""


@pytest.mark.slow
def test_resumed_fit_equals_uninterrupted_fit(client, data, tmp_path):
    X, y = partitions(data[0]), partitions(data[1])
    file = tmp_path / "fit.ckpt"
    parameters = {**PARAMETERS, "tol": 1e-3, "solver": MPBCFW(certificate_every=2)}
    parameters["bounds"] = np.full((2, 36), [[-0.3], [0.3]])
    whole = ChainSSVM(**parameters).fit(X, y)
    assert whole.n_iter_ > 6
    parameters["solver"] = MPBCFW(certificate_every=2, checkpoint=file)

    def leave(info):
        if info["passes"] == 6:
            raise Enough

    with pytest.raises(Enough):
        ChainSSVM(**parameters).set_callbacks(leave).fit(X, y)
    # Written after the first certificate, since saving is limited to a small share of the time.
    first = file.read_bytes()
    resumed = ChainSSVM(**parameters).fit(X, y)
    assert_same_model(resumed, whole)
    assert not file.exists()
    for last in (4, 5):  # with and without a certificate before the final one
        with pytest.warns(ConvergenceWarning):
            ChainSSVM(**parameters, max_iter=last).fit(X, y)
        assert_same_model(ChainSSVM(**parameters).fit(X, y), whole)
    stopped = ChainSSVM(**parameters).set_callbacks(lambda info: info["passes"] == 5).fit(X, y)
    assert stopped.status_ == "STOPPED_BY_CALLBACK"
    assert_same_model(ChainSSVM(**parameters).fit(X, y), whole)
    file.write_bytes(first)
    for other in ((X[:3], y[:3]), (partitions([2 * x for x in data[0]]), y)):
        with pytest.raises(ValueError, match="the checkpoint of a fit with other data"):
            ChainSSVM(**parameters).fit(*other)
    assert file.read_bytes() == first


WARM = {**PARAMETERS, "tol": 1e-2, "warm_start": True, "classes": ["a", "b", "c"]}


def check_warm_start(model, X, y, cut, sample_weight=None, **later):
    """Continue a fit to the first three partitions: on the same ones, then on all with `later` set.

    cut : function that divides values into four partitions
    """
    model = clone(model).set_params(warm_start=model.warm_start or True)
    model.fit(cut(X)[:3], cut(y)[:3])
    assert model.converged_
    value = model.dual_objective_
    # One pass more: the dual weights are those of the first fit, up to rounding.
    model = pickle.loads(pickle.dumps(model)).set_params(max_iter=1)
    model.fit(cut(X)[:3], cut(y)[:3])
    assert model.converged_
    assert model.dual_objective_ >= value * (1 - 1e-12)
    model.set_params(max_iter=1000, **later).fit(cut(X), cut(y), sample_weight)
    cold = clone(model).set_params(warm_start=False).fit(cut(X), cut(y), sample_weight)
    assert model.converged_
    assert model.dual_objective_ <= cold.objective_ * (1 + 1e-12)
    assert cold.dual_objective_ <= model.objective_ * (1 + 1e-12)


BOUNDS = {"bounds": np.full((2, 36), [[-0.2], [0.2]])}


@pytest.mark.parametrize(
    "kind, options",
    [
        (True, {"rescaling": "slack"}),
        (True, BOUNDS),
        ("primal", {}),
        ("primal", BOUNDS),
        # With {}, test_every_estimator_fits_to_partitions continues from dual weights.
        pytest.param("primal", {"rescaling": "slack"}, marks=pytest.mark.slow),
    ],
    ids=lambda value: "-".join(value) or "plain" if isinstance(value, dict) else str(value),
)
@pytest.mark.slow
def test_warm_start_continues_from_the_last_fit(client, data, kind, options):
    model = ChainSSVM(**{**WARM, **options, "warm_start": kind})
    check_warm_start(model, *data, partitions, 1.0 + np.arange(90) % 3, lam=0.4)


@pytest.mark.slow
def test_a_cluster_lost_at_the_end_of_a_fit_leaves_the_model(client, data, monkeypatch):
    X, y = partitions(data[0]), partitions(data[1])
    ask = DaskPartitions.ask

    def lose(self, name, arguments):
        if name == "export_state":
            self.failure = RuntimeError("the scheduler of the cluster is not available")
            raise self.failure
        return ask(self, name, arguments)

    model = ChainSSVM(**WARM)
    with monkeypatch.context() as patch:
        patch.setattr(DaskPartitions, "ask", lose)
        with pytest.raises(RuntimeError, match="scheduler of the cluster is not available"):
            model.fit(X, y)
    assert model.converged_
    assert model.score(*data) > 0.5
    # No state is left, so the fit starts from scratch.
    assert_same_model(model.fit(X, y), ChainSSVM(**WARM).fit(X, y))


def test_a_warm_started_fit_resumes_from_a_file_and_moves_between_workers(client, data, tmp_path):
    X, y = partitions(data[0]), partitions(data[1])
    begun = ChainSSVM(**WARM).fit(X, y)

    def again(checkpoint=None, **more):
        solver = MPBCFW(certificate_every=2, checkpoint=checkpoint)
        return pickle.loads(pickle.dumps(begun)).set_params(lam=0.1, solver=solver, **more)

    whole = again().fit(X, y)
    assert whole.n_iter_ > 4
    file = tmp_path / "fit.ckpt"
    with pytest.warns(ConvergenceWarning):
        again(checkpoint=file, max_iter=3).fit(X, y)
    assert_same_model(again(checkpoint=file).fit(X, y), whole)
    assert not file.exists()
    victim = client.run(os.getpid)[sorted(client.nthreads())[0]]

    def end(info):
        if info["passes"] == 1:
            os.kill(victim, KILL)

    assert_same_model(again().set_callbacks(end).fit(X, y), whole)


@pytest.mark.slow
def test_a_warm_start_needs_its_partitions(client, data):
    X, y = data
    model = ChainSSVM(**WARM).fit(partitions(X), partitions(y))
    twice = [2 * x for x in X]
    for parts, message in [
        ((partitions(X)[:3], partitions(y)[:3]), "had 90 samples, but this one has only 50"),
        ((partitions([*X[:30], *X[31:]]), partitions([*y[:30], *y[31:]])), "this one has only 89"),
        ((partitions(twice), partitions(y)), "new partitions after the existing ones"),
        ((partitions(X)[::-1], partitions(y)[::-1]), "new partitions after the existing ones"),
        ((X, y), "differ within the first 90 samples"),
    ]:
        before = model.w_
        with pytest.raises(ValueError, match=f"warm_start continues from the last fit.*{message}"):
            model.fit(*parts)
        np.testing.assert_array_equal(model.w_, before)
    moved = [dask.delayed(list(X[a:b])) for a, b in pairwise([0, 31, 50, 90])]
    labels = [dask.delayed(list(y[a:b])) for a, b in pairwise([0, 31, 50, 90])]
    with pytest.raises(ValueError, match="into new partitions after"):
        model.fit(moved, labels)
    other = ChainSSVM(**{**WARM, "classes": None}).fit(partitions(X), partitions(y))
    more = dask.delayed([X[0]]), dask.delayed([np.full(len(X[0]), "d")])
    with pytest.raises(ValueError, match=r"requires its classes, but \['d'\] is new"):
        other.fit([*partitions(X), more[0]], [*partitions(y), more[1]])
    # A model that was fitted locally has no partitions.
    local = ChainSSVM(**WARM).fit(X, y)
    with pytest.raises(ValueError, match="into new partitions after"):
        local.fit(partitions(X), partitions(y))


@pytest.mark.parametrize("field", ["parts_alpha", "parts_rounds", "length_code", "parts_code"])
def test_modified_file_raises(client, data, tmp_path, field):
    X, y = partitions(data[0]), partitions(data[1])
    file = tmp_path / "fit.ckpt"
    model = ChainSSVM(**PARAMETERS, tol=1e-4, max_iter=2, solver=MPBCFW(checkpoint=file))
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    with np.load(file) as kept:
        arrays = dict(kept)
    arrays[field][-1] += 2**40 if arrays[field].dtype == np.int64 else 7
    with open(file, "wb") as out:
        np.savez(out, **arrays)
    with pytest.raises(ValueError, match=f"fit.ckpt is damaged.*{field.partition('_')[2]}"):
        model.fit(X, y)


def test_certificates_do_not_rely_on_the_weights_in_a_file(client, data, tmp_path):
    X, y = partitions(data[0]), partitions(data[1])
    file = tmp_path / "fit.ckpt"
    model = ChainSSVM(**PARAMETERS, tol=1e-3, max_iter=2, solver=MPBCFW(checkpoint=file))
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    value = model.dual_objective_
    with np.load(file) as kept:
        arrays = dict(kept)
    arrays["v"] *= 1.5
    with open(file, "wb") as out:
        np.savez(out, **arrays)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)  # which only certifies the state in the file
    assert model.dual_objective_ == pytest.approx(value, rel=1e-12)
    whole = ChainSSVM(**PARAMETERS, tol=1e-3).fit(X, y)
    model.set_params(max_iter=1000).fit(X, y)
    # The repaired weights differ by rounding errors, after which passes may take other steps. The
    # objective is strongly convex: a certificate bounds the distance to the optimum.
    radii = [np.sqrt(2 * each.dual_gap_ / PARAMETERS["lam"]) for each in (model, whole)]
    assert np.linalg.norm(model.w_ - whole.w_) <= sum(radii)


def _other_version():
    import sstruct

    sstruct.__version__ = "0.0.1"


def _invalid_answers(number):
    from sstruct._estimators.core.parted_fit import PartOfFit

    calls, advance = [], PartOfFit.advance

    def other(self, *news):
        calls.append(None)
        return advance(self, *news) if len(calls) < number else (None, np.zeros(7), np.zeros(5))

    PartOfFit.advance = other
    PartOfFit.original_advance = advance


def _restore(version):
    import sstruct
    from sstruct._estimators.core.parted_fit import PartOfFit

    sstruct.__version__ = version
    if "original_advance" in vars(PartOfFit):
        PartOfFit.advance = PartOfFit.original_advance
        del PartOfFit.original_advance


@pytest.fixture
def other_code(client):
    """Yield a function that replaces code on all workers, any of which may have all partitions."""
    yield client.run
    client.run(_restore, sstruct.__version__)


def test_error_for_worker_of_another_version(data, other_code):
    other_code(_other_version)
    with pytest.raises(
        RuntimeError, match=r"the worker has version 0\.0\.1 of sstruct and the caller"
    ):
        ChainSSVM(**PARAMETERS).fit(partitions(data[0]), partitions(data[1]))


def test_invalid_answers_of_a_worker_leave_the_model_so_far(data, other_code):
    other_code(_invalid_answers, 9)
    model = ChainSSVM(**PARAMETERS, tol=1e-6)
    with pytest.raises(RuntimeError, match=r"partition \d returned an invalid reply to 'advance'"):
        model.fit(partitions(data[0]), partitions(data[1]))
    assert model.status_ == "INTERRUPTED"
    assert model.dual_objective_ > 0
    assert model.score(*data) > 0.5


def test_errors_name_partition_and_sample(client, data):
    X, y = data
    wrong = [*y[:55], y[55][:-1], *y[56:]]
    with pytest.raises(ValueError, match=r"partition 3: X\[5\] has"):
        ChainSSVM(**PARAMETERS).fit(partitions(X), partitions(wrong))
    wrong = [*X[:31], X[31] * np.nan, *X[32:]]
    with pytest.raises(ValueError, match=r"partition 2: X\[1\]"):
        ChainSSVM(**PARAMETERS).fit(partitions(wrong), partitions(y))
    wrong = [*X[:50], *[x[:, :-1] for x in X[50:]]]
    with pytest.raises(
        ValueError, match="partition 3: n_features_in_ is 5, but it is 6 in partition"
    ):
        ChainSSVM(**PARAMETERS).fit(partitions(wrong), partitions(y))
    wrong = [*y[:40], 7, *y[41:]]
    with pytest.raises(TypeError, match=r"partition 2: y\[10\]"):
        ChainSSVM(**PARAMETERS).fit(partitions(X), partitions(wrong))
    with pytest.raises(ValueError, match="sample_weight"):
        ChainSSVM(**PARAMETERS).fit(partitions(X), partitions(y), np.ones(3))


@pytest.mark.parametrize(
    "parameter",
    [
        {"solver": MPBCFW(early_stopping=True)},
        {"solver": MPBCFW(couple_windows=True)},
        {"loss": "balanced"},
        {"class_weight": "balanced"},
        {"solver": "ssg"},
        {"solver": MPBCFW(average=True)},
        {"solver": MPBCFW(schedule="clock")},
        {"solver": MPBCFW(sampling="gap")},
        {"solver": MPBCFW(cache=True)},
    ],
    ids=str,
)
def test_unsupported_parameters_raise_before_the_fit(parameter):
    part = [dask.delayed([])]
    model = ChainSSVM(**{**PARAMETERS, **parameter})
    with pytest.raises(ValueError, match=r"\w+=.* is not supported for partitions"):
        model.fit(part, part)


COMPILED = SimpleNamespace(problem=len, predict=len, losses=len)


@pytest.mark.parametrize(
    "use, message",
    [
        (lambda X: ChainSSVM().fit(X, X, X_val=[], y_val=[]), "X_val and y_val are not supported"),
        (lambda X: PathCV(ChainSSVM()).fit(X, X, sample_weight=[1]), "sample_weight is not"),
        (lambda X: CalibratedSSVM(ChainSSVM()).fit(X, X), "not supported by CalibratedSSVM; pass"),
        (
            lambda X: StructuredSVM(COMPILED).fit(X, X),
            "only for oracles in Python, found SimpleNam",
        ),
        (
            lambda X: StructuredSVM(Sign(), solver=MPBCFW(early_stopping=True)).fit(X, X),
            "cannot draw validation samples from partitions on a cluster; pass X_val and y_val",
        ),
        (
            lambda X: StructuredSVM(Sign()).fit([np.ones(2)], [1]).predict(X),
            r"X is on a cluster; use X\.map_partitions\(model\.predict\)",
        ),
    ],
)
def test_uses_that_do_not_support_partitions(use, message):
    with pytest.raises((ValueError, TypeError), match=message):
        use([dask.delayed([])])


@pytest.mark.usefixtures("client")
def test_numbers_and_equal_strings_in_other_partitions():
    X = [dask.delayed([np.eye(2)]) for _ in range(2)]
    y = [dask.delayed([labels]) for labels in ([0, 1], ["0", "1"])]
    with pytest.raises(ValueError, match="y contains 0 and '0', which would be two classes"):
        ChainSSVM().fit(X, y)
