"""Test each instruction set of this machine in a separate process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sstruct._oracles.chain._viterbi import instructions

SETS = ["default", "x86-64-v3", "x86-64-v4"]
TESTS = Path(__file__).parents[1] / "oracles"
GRAPHS = Path(__file__).parents[1] / "estimators" / "graph"
FACTORS = Path(__file__).parents[1] / "solvers"
MODELS = Path(__file__).parents[1] / "inference"
FILES = [
    f"{TESTS / 'test_wide_labels.py'}",
    f"{TESTS / 'test_chain_sums.py'}",
    f"{TESTS / 'test_viterbi.py'}::test_every_padded_width_equals_enumeration",
    f"{TESTS / 'test_sum_constraint.py'}::test_long_rays",
    f"{TESTS / 'test_branch_and_bound.py'}::test_searches_equal_enumeration",
    f"{GRAPHS / 'test_graph_exact.py'}::test_every_number_of_labels_equals_enumeration",
    f"{FACTORS / 'test_gdmm_kernels.py'}::test_steps_of_many_edges",
    f"{MODELS / 'test_map_mrf.py'}::test_messages_of_tables_equal_their_definition",
]


PRINT = "from sstruct._oracles.chain._viterbi import instructions; print(instructions())"
TEST = f"{PRINT}; import pytest, sys; sys.stdout.flush(); sys.exit(pytest.main(sys.argv[1:]))"


def run(highest, *arguments):
    """Run Python with instruction sets up to `highest` only; "" for no limit."""
    environment = {**os.environ, "SSTRUCT_INSTRUCTIONS": highest}
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def best():
    return run("", "-c", PRINT).stdout.strip()


# Sets that the other tests do not use are tested in the slow run.
@pytest.mark.parametrize(
    "highest",
    [
        name if name == instructions() else pytest.param(name, marks=pytest.mark.slow)
        for name in SETS
    ],
)
def test_kernels_are_right_with_every_instruction_set(highest, request):
    command = PRINT  # this process runs the same tests with its own instruction set
    if highest != instructions():
        command, best = TEST, request.getfixturevalue("best")
        if SETS.index(highest) > SETS.index(best):
            pytest.skip(f"this machine or build supports no instruction set above {best}")
    done = run(highest, "-c", command, "-q", "-p", "no:cacheprovider", *FILES)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split(maxsplit=1)[0] == highest


def test_unknown_instruction_set():
    done = run("avx2", "-c", "import sstruct")
    assert done.returncode != 0
    assert "SSTRUCT_INSTRUCTIONS" in done.stderr
    assert "default, x86-64-v3, x86-64-v4" in done.stderr


def test_instructions_are_shown(capsys):
    import sstruct

    sstruct.show_versions()
    assert f"instructions {instructions()}" in capsys.readouterr().out


def test_versions_of_optional_packages_are_shown(capsys, monkeypatch):
    import importlib.metadata

    import sstruct

    def version(name):
        if name == "clarabel":  # which ChangePointSSVM uses if it is installed
            return "0.0.1"
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    sstruct.show_versions()
    shown = capsys.readouterr().out.splitlines()
    assert "clarabel 0.0.1" in shown
    assert "pandas not installed" in shown
