"""Commands in README and the manual refer to existing scripts, and run."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *(p for p in sorted((ROOT / "doc").rglob("*.rst")) if "generated" not in p.parts),
]
SCRIPT = re.compile(r"(?:benchmarks|examples)/[a-z_/]+\.py\b")
# Up to a comment or the end of the code; a backslash continues a line.
COMMAND = re.compile(r"python ((?:benchmarks|examples)/[a-z_/]+\.py(?:\\\n|[^\n`#])*)")
# The table of claims names scripts of benchmarks without their folder.
TABLE = ROOT / "doc" / "explanation" / "claims_table.inc"
CLAIMS = re.compile(r"``([a-z_]+\.py[^`]*)``")


def named_scripts():
    """Return the scripts that a page names, each with one of these pages."""
    found = {}
    for page in PAGES:
        text = page.read_text()
        for script in SCRIPT.findall(text):
            found.setdefault(script, page.name)
    for line in CLAIMS.findall(TABLE.read_text()):
        found.setdefault(f"benchmarks/{line.split()[0]}", TABLE.name)
    return found


def commands():
    """Return the command lines of all pages as tuples: a script and its arguments."""
    lines = [line for page in PAGES for line in COMMAND.findall(page.read_text())]
    lines += [f"benchmarks/{line}" for line in CLAIMS.findall(TABLE.read_text())]
    return sorted({tuple(shlex.split(line.replace("\\\n", " "))) for line in lines})


SCRIPTS = named_scripts()
# Examples are run by Sphinx, by setuptools or by test_examples.py.
RUN = [script for script in SCRIPTS if script.startswith("benchmarks/")]


def run(script, *arguments):
    """Run a script of this clone, which is not on the path, with the installed sstruct."""
    return subprocess.run(
        [sys.executable, ROOT / script, *arguments], capture_output=True, text=True, check=False
    )


def test_scripts_are_found():
    assert {"benchmarks/cuts.py", "benchmarks/threads.py", "benchmarks/slack_search.py"} <= set(RUN)
    assert ("benchmarks/expansion.py", "--repeats", "7") in commands()


def test_no_argument_is_a_file_that_is_missing():
    for _, *arguments in commands():
        for argument in arguments:
            assert not argument.endswith(".py") or (ROOT / argument).is_file(), argument


@pytest.mark.parametrize("script", SCRIPTS)
def test_named_scripts_exist(script):
    assert (ROOT / script).is_file(), f"{SCRIPTS[script]} names {script}, which does not exist"


@pytest.mark.slow
@pytest.mark.parametrize("script", RUN)
def test_scripts_have_the_documented_options(script):
    done = run(script, "--help")
    if "ModuleNotFoundError" in done.stderr:
        missing = re.findall("No module named '([^']+)'", done.stderr)[-1]
        assert not missing.startswith(("sstruct", "tests")), done.stderr
        pytest.skip(f"{missing} is not installed")
    assert done.returncode == 0, done.stderr
    for name, *arguments in commands():
        options = {a.partition("=")[0] for a in arguments if a.startswith("--")}
        if name == script:
            missing = {option for option in options if not re.search(rf"{option}\b", done.stdout)}
            assert not missing, f"python {' '.join([name, *arguments])}"
