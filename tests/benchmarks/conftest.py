"""Import the scripts of the benchmarks, and run them as from the command line."""

import csv
import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def script(monkeypatch):
    """Return a function that imports a script by its name."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Return a function that runs a script with a folder for output, and returns its table."""

    def run_main(module, *arguments, table=None):
        given = [f"{module.__name__}.py", *arguments, "--output", str(tmp_path)]
        monkeypatch.setattr(sys, "argv", given)
        module.main()
        with open(tmp_path / f"{table or module.__name__}.csv", newline="") as lines:
            return list(csv.DictReader(lines))

    return run_main
