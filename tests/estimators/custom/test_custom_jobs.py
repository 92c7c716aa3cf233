"""Test results, exceptions and data transfer of oracles in joblib's workers."""

import errno
import os
import threading
import time
from concurrent.futures import Future

import joblib
import numpy as np
import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError

from sstruct import StructuredSVM, ssvm_path
from sstruct._cluster import processes as oracle_workers
from sstruct._cluster.processes import Workers
from sstruct._kernels import _interruption
from sstruct._kernels._interruption import GracePeriod
from sstruct._problems.custom.oracle_calls import OracleCalls
from sstruct.solvers import BCFW, MPBCFW
from tests.estimators.custom.choices import (
    Choice,
    ConstrainedChoice,
    Fails,
    OracleError,
    make_choices,
)
from tests.estimators.equal import equal
from tests.estimators.same_bits import assert_same_bits


def fit(X, y, oracle=None, **parameters):
    # Few passes, since joblib waits in steps of 10 ms.
    defaults = {"lam": 0.02, "tol": 1e-5, "max_iter": 3, "random_state": 0}
    return StructuredSVM(oracle or Choice(), **{**defaults, **parameters}).fit(X, y)


pytestmark = pytest.mark.filterwarnings("ignore:.*stopped at relative duality gap")

OPTIONS = [
    {},
    {"solver": BCFW(step="pairwise", sampling="uniform", cache=False)},
    {"solver": MPBCFW(sampling="permutation", cache=True, average=True)},
    {"solver": "fw"},
    {"solver": "ssg", "max_iter": 1},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda p: "-".join(map(str, p.values())))
@pytest.mark.parametrize("n_jobs", [2, 4])
def test_threads_do_not_change_the_fit(rng, n_jobs, options):
    X, y = make_choices(rng, n=32)
    sequential = fit(X, y, **options)
    with joblib.parallel_config(backend="threading"):
        assert_same_bits(fit(X, y, n_jobs=n_jobs, **options), sequential)


@pytest.mark.parametrize(
    "as_sparse",
    [pytest.param(False, id="dense"), pytest.param(True, id="sparse", marks=pytest.mark.slow)],
)
def test_processes_do_not_change_the_fit(rng, as_sparse):
    X, y = make_choices(rng, n=32)
    oracle = Choice(as_sparse)
    sequential = fit(X, y, oracle)
    for n_jobs in (2, 4) if as_sparse else (2,):
        assert_same_bits(fit(X, y, oracle, n_jobs=n_jobs), sequential)
    model = fit(X, y, oracle, n_jobs=2, max_iter=1)
    sequential = fit(X, y, oracle, max_iter=1)
    assert model.predict(X).tolist() == sequential.predict(X).tolist()
    # A local class is pickled by value.
    scale = 2.0

    class Scaled(Choice):
        def joint_feature(self, x, y):
            return scale * super().joint_feature(x, y)

        def argmax(self, x, w, y_true=None, loss_weight=1.0):
            return super().argmax(scale * x, w, y_true, loss_weight)

    if as_sparse:
        sequential = fit(X, y, Scaled(), max_iter=1)
        assert_same_bits(fit(X, y, Scaled(), n_jobs=2, max_iter=1), sequential)


class Meets(ConstrainedChoice):
    """An oracle that waits until `n` workers have called it."""

    def __init__(self, folder, n):
        super().__init__()
        self.folder, self.n = folder, n

    def constrained_argmax(self, *args, **keywords):
        with open(os.path.join(self.folder, f"{os.getpid()}-{threading.get_ident()}"), "w"):
            end = time.monotonic() + 60
        while len(os.listdir(self.folder)) < self.n and time.monotonic() < end:
            time.sleep(0.001)
        return super().constrained_argmax(*args, **keywords)


@pytest.mark.parametrize("backend, n_jobs", [("threading", 2), ("threading", 4), ("loky", 2)])
def test_searches_of_slack_rescaling_use_all_workers(rng, tmp_path, backend, n_jobs):
    X, y = make_choices(rng, n=40)
    sequential = fit(X, y, ConstrainedChoice(), rescaling="slack")
    with joblib.parallel_config(backend=backend):
        parallel = fit(X, y, Meets(str(tmp_path), n_jobs), rescaling="slack", n_jobs=n_jobs)
        assert_same_bits(parallel, sequential)
        callers = {tuple(name.split("-")) for name in os.listdir(tmp_path)}
        assert len(callers) >= n_jobs
        assert (str(os.getpid()) in {pid for pid, _ in callers}) == (backend == "threading")
        # Bisecting search calls argmax.
        options = {"rescaling": "slack", "solver": "fw", "max_iter": 2}
        parallel, sequential = (
            fit(X, y, Choice(True), n_jobs=n, **options) for n in (n_jobs, None)
        )
    assert_same_bits(parallel, sequential)
    assert "bisecting" in sequential.inference_


def test_workers_do_not_change_paths(rng):
    X, y = make_choices(rng, n=16)
    with joblib.parallel_config(backend="threading"):
        model = StructuredSVM(Choice(), random_state=0)
        path, parallel = (
            ssvm_path(model.set_params(n_jobs=n), X, y, eps=0.2, lam_min=0.05) for n in (None, 2)
        )
    np.testing.assert_array_equal(path.lams_, parallel.lams_)
    for a, b in zip(path.ws_, parallel.ws_, strict=True):
        np.testing.assert_array_equal(a, b)


class Wrong(Choice):
    def loss(self, y_true, y):
        return -1.0 if y != y_true else 0.0


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_errors_of_workers_are_raised_and_keep_the_state(rng, backend, rescaling):
    X, y = make_choices(rng, n=40)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        model = StructuredSVM(Fails(), lam=0.02, rescaling=rescaling, tol=1e-6, random_state=0)
        with pytest.raises(OracleError) as caught:
            model.fit(X, y)
        assert caught.value.args == ("six", 6)
        assert "argmax of the oracle at X[" in caught.value.__notes__[0]
        assert model.status_ == "INTERRUPTED"
        with pytest.raises(ValueError, match=r"X\[\d+\]: loss returned -1.0"):
            fit(X, y, Wrong(), rescaling=rescaling)


class Dies(Choice):
    """An oracle that terminates its process once, after w is no longer small."""

    def __init__(self, path):
        super().__init__()
        self.path = path

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        if w.any() and abs(w).max() > 0.01 and not os.path.exists(self.path):
            open(self.path, "w").close()
            os._exit(1)
        return super().argmax(x, w, y_true, loss_weight)


def test_dead_process_raises_and_is_replaced(rng, tmp_path, monkeypatch):
    # Processes start slowly on a busy machine.
    monkeypatch.setattr(_interruption, "GRACE_CPU_SECONDS", 1000.0)
    monkeypatch.setattr(_interruption, "GRACE_SECONDS", 1000.0)
    X, y = make_choices(rng, n=40)
    model = StructuredSVM(Dies(str(tmp_path / "died")), lam=0.02, random_state=0, n_jobs=2)
    with joblib.parallel_config(backend="loky"):
        with pytest.raises(TerminatedWorkerError):
            model.fit(X, y)
        # The state is kept, and new processes compute its certificate.
        assert model.w_.any()
        assert np.isfinite(model.dual_gap_)
        model.fit(X, y)
    assert_same_bits(model, StructuredSVM(Choice(), lam=0.02, random_state=0).fit(X, y))


def test_data_are_sent_once(rng, monkeypatch):
    X = [rng.standard_normal((5, 200)) for _ in range(30)]
    y = rng.integers(0, 5, 30).tolist()
    calls = OracleCalls(Choice(), X, y, list(range(30)))
    workers = Workers(calls, 2)
    path = workers.path
    # Arrays of the file are memory-mapped, so a process has views of them.
    loaded = oracle_workers._load(path)
    assert not loaded.X[0].flags.owndata
    assert not loaded.X[0].flags.writeable
    w = np.frombuffer(rng.standard_normal(200).tobytes())
    for k in range(30):
        np.testing.assert_array_equal(loaded.X[k], X[k])
    # Like a worker, which has no data of this process.
    monkeypatch.setattr(oracle_workers, "_own", {})
    answers = oracle_workers._ask(workers.token, path, list(range(30)), w, 1.0)
    again = [calls.ask(i, w, 1.0) for i in range(30)]
    for a, b in zip(answers, again, strict=True):
        assert equal(a, b)
    # The file is not read again.
    monkeypatch.setattr(oracle_workers, "_load", None)
    oracle_workers._ask(workers.token, path, [3], w, 1.0)
    assert os.path.exists(path)
    del workers
    assert not os.path.exists(path) or os.name == "nt"  # mapped by this process


def test_processes_store_the_data_of_few_fits(rng, monkeypatch):
    X, y = make_choices(rng, n=4)
    calls = OracleCalls(Choice(), X, y, list(range(4)))
    monkeypatch.setattr(oracle_workers, "_read", type(oracle_workers._read)())
    paths = [oracle_workers._write(calls, f"{k}") for k in range(6)]
    for k, path in enumerate(paths):
        oracle_workers._calls(f"{k}", path)
        oracle_workers._remove(path)
    assert list(oracle_workers._read) == ["2", "3", "4", "5"]


def test_a_file_in_use_is_removed_at_exit(rng, monkeypatch):
    X, y = make_choices(rng, n=2)
    workers = oracle_workers.Workers(OracleCalls(Choice(), X, y, [0, 1]), 2)
    path, unlink, later = workers.path, oracle_workers.Path.unlink, []

    def in_use(self, missing_ok=False):
        raise PermissionError(errno.EACCES, "in use")

    monkeypatch.setattr(oracle_workers.Path, "unlink", in_use)
    monkeypatch.setattr(
        oracle_workers.atexit, "register", lambda *args, **keywords: later.append((args, keywords))
    )
    del workers  # without an error
    assert os.path.exists(path)
    [((remove, *args), keywords)] = later
    remove(*args, **keywords)  # still in use
    assert len(later) == 1
    monkeypatch.setattr(oracle_workers.Path, "unlink", unlink)
    remove(*args, **keywords)
    assert not os.path.exists(path)


def test_processes_are_started_once_per_fit(rng, monkeypatch):
    # joblib keeps some memory of each call until the process ends.
    calls, configure = [], joblib.parallel.LokyBackend.configure

    def spy(self, *arguments, **keywords):
        calls.append(None)
        return configure(self, *arguments, **keywords)

    monkeypatch.setattr(joblib.parallel.LokyBackend, "configure", spy)
    X, y = make_choices(rng, n=32)
    model = fit(X, y, n_jobs=2, tol=0, max_iter=5)
    assert model.n_iter_ == 5
    assert len(calls) == 1


def test_size_of_batches(rng):
    class Notes(Choice):
        _asked = []  # noqa: RUF012

        def argmax(self, x, w, y_true=None, loss_weight=1.0):
            self._asked.append(w.tobytes())
            return super().argmax(x, w, y_true, loss_weight)

    X, y = make_choices(rng, n=40)
    for size, runs in ((10, [10, 10, 10, 10]), (40, [40]), ("auto", [5] * 8)):
        Notes._asked.clear()
        fit(X, y, Notes(), solver=BCFW(step="fw", cache=False), max_iter=1, batch_size=size)
        # The first pass; w changes with every batch.
        changes = [k for k in range(1, 40) if Notes._asked[k] != Notes._asked[k - 1]]
        assert np.diff([0, *changes, 40]).tolist() == runs
    for wrong in (0, 2.5, "all"):
        with pytest.raises((TypeError, ValueError), match="batch_size must be"):
            StructuredSVM(Choice(), batch_size=wrong).fit(X, y)


def test_processes_are_not_awaited_for_long_after_a_signal(monkeypatch):
    monkeypatch.setattr(oracle_workers.Processes, "renew", lambda self: None)
    monkeypatch.setattr(_interruption, "GRACE_SECONDS", 0.01)
    workers = oracle_workers.Processes(2, "token", "path")
    workers.submit = lambda task: Future()  # never has a result
    with pytest.raises(KeyboardInterrupt, match="take too long"), GracePeriod():
        workers.ask_all([[0], [1]], np.zeros(3), 1.0)
    assert workers.pending == []
