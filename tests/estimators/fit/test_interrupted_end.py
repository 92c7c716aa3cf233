"""Ctrl-C between the last pass and the end of ``fit`` leaves a fitted model."""

import _thread
import operator
import signal
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import sstruct
from sstruct import ChainSSVM
from sstruct._estimators.chain.chain_structure import ChainStructure
from sstruct.solvers import MPBCFW

FOLDER = str(Path(sstruct.__file__).parent)
# In these functions Ctrl-C is raised at every instruction, in others at every line.
CLOSE = ("_fit", "end", "_publish", "solve", "_run_to_end", "begin", "__exit__", "_end_early")
PARAMETERS = {
    "plain": {},
    "averages and a warm start": {"solver": MPBCFW(average=True), "warm_start": True},
    "gdmm": {"solver": "gdmm"},
    "fw": {"solver": "fw"},
    "checkpoint": {},
}


class Press:
    """A trace function that raises Ctrl-C at the given event after the passes."""

    def __init__(self, at):
        self.at, self.count, self.begun = at, 0, False

    def __call__(self, frame, event, _):
        if not frame.f_code.co_filename.startswith(FOLDER):
            return None
        self.begun |= frame.f_code.co_name == "_iterate"
        frame.f_trace_opcodes = frame.f_code.co_name in CLOSE
        if self.begun and event != "exception":
            self.count += 1
            if self.count == self.at:
                signal.raise_signal(signal.SIGINT)
        return self


def fit_with_ctrl_c(model, X, y, at):
    """Return whether Ctrl-C was raised, and the number of events."""
    press, before = Press(at), signal.getsignal(signal.SIGINT)
    previous = sys.gettrace()
    interrupted = False
    sys.settrace(press)
    try:
        model.fit(X, y)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        sys.settrace(previous)
    assert signal.getsignal(signal.SIGINT) is before
    return interrupted, press.count


@pytest.mark.parametrize(
    "name, step",
    [*((name, 13) for name in PARAMETERS), pytest.param("plain", 1, marks=pytest.mark.slow)],
)
@pytest.mark.usefixtures("sigint")
def test_ctrl_c_at_any_moment_leaves_a_model(tiny_chains, name, step, tmp_path):
    X, y = tiny_chains
    parameters = dict(PARAMETERS[name])
    if name == "checkpoint":
        parameters["solver"] = MPBCFW(checkpoint=tmp_path / "fit")
    at, ends = 1, set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # If Ctrl-C is between ``open`` and ``with``, the finalizer closes the file.
        warnings.simplefilter("ignore", ResourceWarning)
        while True:
            model = ChainSSVM(lam=0.1, tol=0, max_iter=2, random_state=0, **parameters)
            interrupted, count = fit_with_ctrl_c(model, X, y, at)
            (tmp_path / "fit").unlink(missing_ok=True)
            if count < at:
                break
            assert interrupted, at
            ends.add(model.status_)
            assert model.dual_objective_ <= model.objective_ * (1 + 1e-12)
            assert len(model.predict(X)) == len(X)
            at += step
    assert not interrupted
    assert at > 500
    # The signal came in a pass and after the last one.
    assert ends == {"INTERRUPTED", "MAX_ITER"}


@pytest.mark.usefixtures("sigint")
def test_ctrl_c_between_solution_and_attributes(tiny_chains, monkeypatch):
    def pressed(structure, attributes):
        signal.raise_signal(signal.SIGINT)
        return attributes

    X, y = tiny_chains
    model = ChainSSVM(lam=0.1, random_state=0)
    with monkeypatch.context() as patch:
        patch.setattr(ChainStructure, "describe", pressed)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    assert model.status_ == "CONVERGED"
    same = ChainSSVM(lam=0.1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.w_, same.w_)


@pytest.mark.usefixtures("sigint")
def test_other_threads_do_not_change_signal_handlers(tiny_chains, monkeypatch):
    X, y = tiny_chains
    before, found = signal.getsignal(signal.SIGINT), []

    def record(structure, attributes):
        found.append(signal.getsignal(signal.SIGINT))
        return attributes

    monkeypatch.setattr(ChainStructure, "describe", record)
    thread = threading.Thread(target=ChainSSVM(lam=0.1, random_state=0).fit, args=(X, y))
    thread.start()
    thread.join()
    assert found == [before]


@pytest.mark.usefixtures("sigint")
def test_ctrl_c_while_a_model_is_deleted_is_not_lost(tiny_chains):
    models = [ChainSSVM().fit(*tiny_chains)]
    models[0].predict(tiny_chains[0])  # its state is recorded
    with pytest.raises(KeyboardInterrupt):
        # Both are called from C. Python checks for an interrupt when it enters a Python function.
        list(map(operator.call, [_thread.interrupt_main, models.clear]))
    assert not models
