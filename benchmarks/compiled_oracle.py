#!/usr/bin/env python3
"""Overhead of an oracle call: C functions and Python methods.

The oracle selects one of five candidates (choices.py and choice.c in tests/estimators/custom/). CPU
time of a call of the max-oracle, including features, loss and bookkeeping; minimum of several
repeats.

    python benchmarks/compiled_oracle.py [--features 4 100] [--calls 20000] [--json FILE]
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # after an installed sstruct

import numpy as np

from sstruct._problems.custom._callable import CallableProblem
from sstruct._problems.custom.oracle_calls import OracleCalls
from tests.estimators.custom.choices import Choice
from tests.estimators.custom.compiled_choices import compiled_choice

SOURCE = Path(__file__).parents[1] / "tests" / "estimators" / "custom" / "choice.c"


def cost(problem, w, calls, repeats=3):
    """Return the CPU seconds of a call of the max-oracle from Python, the best of several."""
    best = np.inf
    for _ in range(repeats):
        begin = time.process_time()
        for k in range(calls):
            problem.best_code(k % problem.n_blocks, w)
        best = min(best, (time.process_time() - begin) / calls)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--features", type=int, nargs="+", default=[4, 100])
    parser.add_argument("--calls", type=int, default=20000)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "choice.so"
        command = ["cc", "-O2", "-shared", "-fPIC", SOURCE, "-o", library]
        subprocess.run(command, check=True)
        for d in arguments.features:
            X = [rng.standard_normal((5, d)) for _ in range(100)]
            y = rng.integers(0, 5, 100).tolist()
            w, rows_of = rng.standard_normal(d), list(range(100))
            c = compiled_choice(library, d).problem(X, y, rows_of)
            python = CallableProblem(OracleCalls(Choice(), X, y, rows_of))
            # This includes the call from Python, which returns a code in a tuple.
            row = {
                "features": d,
                "c": cost(c, w, arguments.calls),
                "python": cost(python, w, arguments.calls),
            }
            rows.append(row)
            print(f"d = {d}: C {row['c'] * 1e6:.2f} us, Python {row['python'] * 1e6:.2f} us")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
