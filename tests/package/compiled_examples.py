"""Build the Cython examples as users build them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sstruct

EXAMPLES = Path(__file__).parents[2] / "examples"


def build(name, folder):
    """Copy an example to a folder and compile it there, with the sources that sstruct ships."""
    pytest.importorskip("Cython")
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    for path in (EXAMPLES / name).glob("*.py*"):
        shutil.copy(path, folder)
    package = Path(sstruct.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(package), "CFLAGS": "-O1"}
    done = subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace"],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
