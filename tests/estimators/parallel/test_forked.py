"""Fits in processes that are forked from a process with workers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, signal, warnings
import numpy as np
from sstruct import StructuredSVM

warnings.simplefilter("ignore")

class Choice:
    def joint_feature(self, x, y):
        return x[y]

    def loss(self, y_true, y):
        return float(y_true != y)

    def argmax(self, x, w, y_true=None, loss_weight=1.0):
        scores = x @ w
        if y_true is not None:
            scores = scores + loss_weight * (np.arange(len(x)) != y_true)
        return int(scores.argmax())

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    X, y = list(rng.standard_normal((8, 3, 2))), rng.integers(0, 3, 8).tolist()
    fit = lambda: StructuredSVM(Choice(), lam=0.1, n_jobs=2, max_iter=3, random_state=0).fit(X, y)
    first = fit()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        same = False
        try:
            model = fit()
            same = (model.w_ == first.w_).all() and list(model.predict(X)) == list(first.predict(X))
        finally:
            os._exit(0 if same else 1)
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.slow
def test_fork_does_not_wait_for_worker_processes(tmp_path):
    program = tmp_path / "forked.py"
    program.write_text(PROGRAM)
    folder = Path(__file__).resolve().parents[3]
    paths = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    child = subprocess.run(
        [sys.executable, str(program)], env=os.environ | {"PYTHONPATH": paths}, timeout=120
    )
    assert child.returncode == 0
