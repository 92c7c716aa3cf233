"""Run a fixed set of fuzz cases, in parts that can run in parallel."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource")  # limits of child processes: not on Windows

ROOT = Path(__file__).resolve().parents[2]
# The root folder is last in the path, so that the installed package is imported.
START = (
    "import sys, runpy; sys.path.append(sys.argv.pop(1)); "
    "runpy.run_module('tests.hostile', run_name='__main__', alter_sys=True)"
)
# Domain, seed and number of cases. Parts with seed 1 take a few seconds; the others are slow tests.
PIECES = [
    ("estimators", 1, 220), ("estimators", 2, 2000), ("estimators", 3, 2000),
    ("functions", 1, 300), ("functions", 2, 2500),
    ("files", 1, 200), ("files", 2, 1500),
    ("checkpoints", 1, 120), ("checkpoints", 2, 1500),
    ("models", 1, 170), ("models", 2, 1500),
    ("stored", 1, 170), ("stored", 2, 1500),
    ("latent", 1, 60), ("latent", 2, 500),
]  # fmt: skip


def attack(*arguments):
    command = [sys.executable, "-P", "-c", START, str(ROOT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


@pytest.mark.parametrize(
    "domain, seed, cases",
    [piece if piece[1] == 1 else pytest.param(*piece, marks=pytest.mark.slow) for piece in PIECES],
)
def test_there_are_no_findings(domain, seed, cases):
    result = attack("--domains", domain, "--seed", seed, "--cases", cases, "--workers", 1)
    assert result.returncode == 0, result.stdout[-10_000:] + result.stderr[-2000:]
    assert f"{cases} cases" in result.stdout
