"""Test the method "toulbar2" against enumeration; skipped without the package pytoulbar2."""

import signal
import threading
from importlib.util import find_spec

import numpy as np
import pytest

from sstruct.inference import MRF, map_mrf
from sstruct.inference._methods import separate_process, toulbar2
from tests.inference.random_models import check

requires_package = pytest.mark.skipif(
    find_spec("pytoulbar2") is None, reason="pytoulbar2 is not installed"
)


def spin_glass(n, rng):
    at = np.arange(n * n).reshape(n, n)
    edges = np.concatenate([
        np.column_stack([at.ravel(), np.roll(at, -1, axis).ravel()]) for axis in (0, 1)
    ])  # fmt: skip
    tables = rng.normal(size=(len(edges), 1, 1)) * np.eye(2)
    return MRF(np.zeros((n * n, 2)), edges, list(tables))


@requires_package
@pytest.mark.parametrize("seed", range(12))
def test_results_equal_enumeration(seed):
    wrong, statuses = check(seed, [("toulbar2", "any")])
    # toulbar2 does not prove that a model is infeasible.
    wrong = [row for row in wrong if row[-1] != "infeasible"]
    assert not wrong
    assert {status for _, _, status in statuses} <= {"PROVEN", "INFEASIBLE", "STALLED"}


@requires_package
def test_the_time_limit_and_ctrl_c_leave_a_valid_result(rng):
    model = spin_glass(24, rng)
    best = map_mrf(model, max_time=60)
    assert best.status == "PROVEN"
    for interrupts in (False, True):
        timer = threading.Timer(1.0, signal.raise_signal, [signal.SIGINT])
        if interrupts:
            timer.start()
        result = map_mrf(model, "toulbar2", max_time=60 if interrupts else 1.5)
        timer.cancel()
        assert result.status == ("INTERRUPTED" if interrupts else "TIME_LIMIT")
        assert result.energy == model.energy(result.labels)
        assert result.energy >= best.energy - 1e-6
        assert result.lower_bound <= best.energy + 1e-6


@requires_package
def test_large_models_and_failures_are_reported(rng, monkeypatch):
    model = spin_glass(3, rng)
    with monkeypatch.context() as patch:
        patch.setattr(toulbar2, "MAX_ENTRIES", 10)
        with pytest.raises(ValueError, match="at most 10 table entries, but the model has 90"):
            map_mrf(model, "toulbar2")
    with monkeypatch.context() as patch:
        patch.setattr(toulbar2, "PROGRAM", "raise SystemExit(3)")
        with pytest.raises(OSError, match="toulbar2 process ended with code 3"):
            map_mrf(model, "toulbar2")
    monkeypatch.setattr(separate_process.spawn, "get_executable", lambda: "/nowhere/python")
    with pytest.raises(OSError, match="requires a separate process"):
        map_mrf(model, "toulbar2")


def test_error_without_package(monkeypatch):
    monkeypatch.setattr(toulbar2, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'pip install "sstruct\[exact\]"'):
        map_mrf(MRF([[0.0, 1.0]], [], []), "toulbar2")
