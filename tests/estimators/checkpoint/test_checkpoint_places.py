"""Checkpoints that cannot be written, and concurrent fits with the same file."""

import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sstruct import ChainSSVM
from sstruct._solvers.core import checkpoint
from sstruct._solvers.core.checkpoint import Checkpoint
from sstruct.solvers import MPBCFW
from tests.estimators.same_bits import assert_same_bits

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
PASSES = 12
UNWRITABLE = "fit could not be written .* The fit continues"
locks = pytest.mark.skipif(checkpoint.fcntl is None, reason="no locks on this platform")


@pytest.fixture
def every_pass(monkeypatch):
    """Save after every pass."""
    monkeypatch.setattr(Checkpoint, "due", lambda self: True)


@pytest.fixture
def whole(tiny_chains):
    return model(None).fit(*tiny_chains)


def model(path, callback=None, certificate_every=10, **parameters):
    defaults = {"lam": 0.01, "tol": 1e-12, "max_iter": PASSES, "random_state": 0}
    solver = MPBCFW(checkpoint=path, certificate_every=certificate_every)
    made = ChainSSVM(solver=solver, **{**defaults, **parameters})
    return made if callback is None else made.set_callbacks(callback)


def failing(monkeypatch, fails, error=None):
    """Make writing fail if `fails(number)`, after a part of the file; return the numbers."""
    savez, written = np.savez, []

    def save(file, **arrays):
        written.append(len(written))
        savez(file, **arrays)
        if fails(written[-1]):
            file.truncate(100)
            raise error or OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(np, "savez", save)
    return written


@pytest.mark.parametrize("fails", [lambda k: True, lambda k: k == 0, lambda k: 2 <= k < 6])
def test_fits_continue_if_the_disk_is_full(
    tiny_chains, tmp_path, monkeypatch, every_pass, whole, fails
):
    path = tmp_path / "fit"
    written = failing(monkeypatch, fails)
    with pytest.warns(RuntimeWarning) as caught:
        assert_same_bits(model(path).fit(*tiny_chains), whole)
    messages = [str(w.message) for w in caught if w.category is RuntimeWarning]
    assert len(messages) == 1, "one warning, until writing succeeds"
    assert f"{path} could not be written (No space left on device)" in messages[0]
    assert len(written) >= PASSES, "each pass tries again"
    assert [p.name for p in tmp_path.iterdir()] == ["fit"] * (not fails(written[-1]))
    monkeypatch.undo()
    longer = {"max_iter": 2 * PASSES}
    resumed = model(path, **longer).fit(*tiny_chains)
    assert_same_bits(resumed, model(None, **longer).fit(*tiny_chains))


def test_failures_with_successes_between_are_two_warnings(
    tiny_chains, tmp_path, monkeypatch, every_pass
):
    failing(monkeypatch, lambda k: k in (1, 2, 4))
    with pytest.warns(RuntimeWarning) as caught:
        model(tmp_path / "fit").fit(*tiny_chains)
    assert sum(w.category is RuntimeWarning for w in caught) == 2


def test_a_directory_that_disappears_and_comes_back(tiny_chains, tmp_path, every_pass, whole):
    folder, seen = tmp_path / "folder", []

    def change(info):
        if info["passes"] == 3:
            for found in folder.iterdir():
                found.unlink()
            folder.rmdir()
        if info["passes"] == 7:
            folder.mkdir()
        seen.append((folder / "fit").exists())

    folder.mkdir()
    with pytest.warns(RuntimeWarning, match=UNWRITABLE):
        fitted = model(folder / "fit", change).fit(*tiny_chains)
    assert_same_bits(fitted, whole)
    assert seen[2:8] == [False] * 5 + [True]
    # If it does not come back, there is one warning, and the end of the fit needs no file.
    (folder / "fit").unlink()

    def remove(info):
        if info["passes"] == 3:
            for found in folder.iterdir():
                found.unlink()
            folder.rmdir()

    with pytest.warns(RuntimeWarning, match=UNWRITABLE) as caught:
        fitted = model(folder / "fit", remove, tol=0.5, certificate_every=5).fit(*tiny_chains)
    assert len(caught) == 1
    assert fitted.converged_


def test_a_file_that_cannot_be_removed_is_a_warning(tiny_chains, tmp_path, monkeypatch, every_pass):
    unlink = type(tmp_path).unlink

    def unlink_or_raise(path, missing_ok=False):
        if path.name == "fit":
            raise PermissionError(errno.EACCES, "Permission denied")
        unlink(path, missing_ok)

    monkeypatch.setattr(type(tmp_path), "unlink", unlink_or_raise)
    with pytest.warns(RuntimeWarning, match="fit could not be removed.*Remove it before"):
        fitted = model(tmp_path / "fit", tol=0.5).fit(*tiny_chains)
    assert fitted.converged_


def test_warnings_as_errors_leave_a_model(tiny_chains, tmp_path, monkeypatch, every_pass):
    failing(monkeypatch, lambda k: k == 4)
    interrupted = model(tmp_path / "fit")
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(RuntimeWarning, match=UNWRITABLE):
            interrupted.fit(*tiny_chains)
    assert interrupted.status_ == "INTERRUPTED"
    assert interrupted.n_iter_ == 5
    assert interrupted.dual_objective_ <= interrupted.objective_
    interrupted.predict(tiny_chains[0])


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "full")])
def test_ctrl_c_leaves_a_model_and_the_last_complete_file(
    tiny_chains, tmp_path, monkeypatch, every_pass, error
):
    path = tmp_path / "fit"
    # Ctrl-C while the sixth file is written, or after the sixth and seventh have failed.
    in_write = isinstance(error, KeyboardInterrupt)
    failing(monkeypatch, lambda k: k >= 5, error)

    def press(info):
        if info["passes"] == 8:
            raise KeyboardInterrupt

    interrupted = model(path, press)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(KeyboardInterrupt):
            interrupted.fit(*tiny_chains)
    assert (interrupted.status_, interrupted.n_iter_) == ("INTERRUPTED", 6 if in_write else 8)
    assert os.listdir(tmp_path) == ["fit"]
    monkeypatch.undo()
    assert_same_bits(model(path).fit(*tiny_chains), model(None).fit(*tiny_chains))


@locks
def test_second_fit_with_the_same_path_raises(tiny_chains, tmp_path, every_pass, whole):
    path, second, messages = tmp_path / "fit", model(tmp_path / "." / "fit"), []

    def start(info):
        with pytest.raises(BlockingIOError, match="is in use by another fit") as caught:
            second.fit(*tiny_chains)
        messages.append(str(caught.value))

    assert_same_bits(model(path, start).fit(*tiny_chains), whole)
    assert len(messages) >= PASSES
    assert str(path) in messages[0]
    assert not hasattr(second, "status_")
    assert os.listdir(tmp_path) == ["fit"]
    assert_same_bits(second.fit(*tiny_chains), whole)  # the first has ended


RUNNING = """
import sys, time, numpy as np
from sstruct import ChainSSVM
from sstruct.solvers import MPBCFW
rng = np.random.default_rng(0)
X = [rng.standard_normal((4, 3)) for _ in range(14)]
y = [rng.integers(0, 3, 4) for _ in X]

def wait(info):
    if info["passes"] == 2:
        print("running", flush=True)
        time.sleep(600)

solver = MPBCFW(checkpoint=sys.argv[1])
model = ChainSSVM(lam=0.01, tol=0, max_iter=6, random_state=0, solver=solver)
(model.set_callbacks(wait) if len(sys.argv) == 3 else model).fit(X, y)
"""


@locks
@pytest.mark.slow
def test_a_killed_process_does_not_block_later_fits(tmp_path):
    path = tmp_path / "fit"
    command = [sys.executable, "-W", "ignore", "-c", RUNNING, path]
    with subprocess.Popen([*command, "wait"], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"running\n"
        second = subprocess.run(command, capture_output=True, text=True)
        assert "BlockingIOError" in second.stderr
        process.kill()
    assert (tmp_path / "fit.lock").exists(), "the lock file stays, its lock does not"
    remains = [tmp_path / "fit.0123456789abcdef.tmp", tmp_path / "fit.notes.tmp"]
    for each in remains:
        each.write_text("a part of a file")
    subprocess.run(command, check=True)
    assert sorted(os.listdir(tmp_path)) == ["fit", "fit.notes.tmp"]


@locks
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_does_not_keep_the_lock(tiny_chains, tmp_path):
    context, processes = multiprocessing.get_context("fork"), []

    def fork(info):
        if not processes:
            processes.append(context.Process(target=signal.pause))
            processes[0].start()

    path = tmp_path / "fit"
    model(path, fork).fit(*tiny_chains)
    try:
        model(path, max_iter=2 * PASSES).fit(*tiny_chains)
    finally:
        processes[0].kill()
        processes[0].join()


@locks
def test_lock_files_that_are_not_ours_are_left_alone(tiny_chains, tmp_path, whole):
    path, lock = tmp_path / "fit", tmp_path / "fit.lock"
    lock.write_text("something")
    assert_same_bits(model(path).fit(*tiny_chains), whole)
    assert lock.read_text() == "something"
    path.unlink()
    lock.unlink()
    (tmp_path / "else").write_text("")
    lock.symlink_to(tmp_path / "else")  # which is not followed
    assert_same_bits(model(path).fit(*tiny_chains), whole)
    assert lock.is_symlink()
    path.unlink()
    lock.unlink()
    os.mkfifo(lock)  # which would wait for a reader
    assert_same_bits(model(path).fit(*tiny_chains), whole)


@pytest.mark.parametrize("lacks", ["fcntl", "locks"])
def test_without_locks_the_last_complete_file_remains(
    tiny_chains, tmp_path, monkeypatch, every_pass, whole, lacks
):
    if lacks == "fcntl":
        monkeypatch.setattr(checkpoint, "fcntl", None)
    else:
        pytest.importorskip("fcntl")

        def flock(*_):
            raise OSError(errno.ENOLCK, "No locks available")

        monkeypatch.setattr(checkpoint.fcntl, "flock", flock)
    path = tmp_path / "fit"
    barrier, models = threading.Barrier(2), [model(path) for _ in range(2)]

    def fit(one):
        barrier.wait()
        one.fit(*tiny_chains)

    for _ in range(3):
        threads = [threading.Thread(target=fit, args=(one,)) for one in models]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for one in models:
            np.testing.assert_array_equal(one.w_, whole.w_)
        assert "fit" in os.listdir(tmp_path)
        assert not any(name.endswith(".tmp") for name in os.listdir(tmp_path))
        assert_same_bits(model(path).fit(*tiny_chains), whole)
        path.unlink()


def test_of_two_concurrent_fits_at_least_one_succeeds(tiny_chains, tmp_path, whole):
    path, outcomes = tmp_path / "fit", []

    def fit(barrier):
        one = model(path)
        barrier.wait()
        try:
            one.fit(*tiny_chains)
            np.testing.assert_array_equal(one.w_, whole.w_)
            outcomes.append("fitted")
        except Exception as error:
            outcomes.append(type(error).__name__)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for _ in range(20):
            barrier = threading.Barrier(2)
            threads = [threading.Thread(target=fit, args=(barrier,)) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            np.testing.assert_array_equal(model(path).fit(*tiny_chains).w_, whole.w_)
            path.unlink()
    assert len(outcomes) == 40
    assert outcomes.count("fitted") >= 20
    assert set(outcomes) <= {"fitted", "BlockingIOError"}
